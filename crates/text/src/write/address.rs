//! UUID and addresses of the Internet protocols as text.

use super::number::integer;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// `8-4-4-4-12` digits of sixteen big-endian bytes.
pub fn uuid(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut text = [b'-'; 36];
    let places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    for (byte, place) in bytes.iter().zip(places) {
        text[place..place + 2].copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
    out.extend_from_slice(&text);
}

pub fn ipv4(out: &mut Vec<u8>, address: u32) {
    for (i, byte) in address.to_be_bytes().into_iter().enumerate() {
        if i > 0 {
            out.push(b'.');
        }
        integer(out, byte);
    }
}

/// Sixteen bytes in network order. The longest run of at least two zero groups becomes `::`; addresses that embed
/// one of version 4 end in its dotted form.
pub fn ipv6(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut groups = [0u16; 8];
    for (group, pair) in groups.iter_mut().zip(bytes.chunks_exact(2)) {
        *group = u16::from_be_bytes([pair[0], pair[1]]);
    }
    let (mut best, mut best_len) = (0, 1);
    let mut i = 0;
    while i < 8 {
        let run = groups[i..].iter().take_while(|g| **g == 0).count();
        if run > best_len {
            (best, best_len) = (i, run);
        }
        i += run.max(1);
    }
    if best_len == 1 {
        best = 8;
    }
    let embeds_v4 = best == 0 && (best_len == 6 || (best_len == 5 && groups[5] == 0xffff));
    let mut i = 0;
    while i < 8 {
        if i == best {
            out.extend_from_slice(b"::");
            i += best_len;
            continue;
        }
        if i > 0 && i != best + best_len {
            out.push(b':');
        }
        if i == 6 && embeds_v4 {
            return ipv4(out, u32::from(groups[6]) << 16 | u32::from(groups[7]));
        }
        hex(out, groups[i]);
        i += 1;
    }
}

fn hex(out: &mut Vec<u8>, group: u16) {
    let digits = (16 - group.leading_zeros()).div_ceil(4).max(1);
    for i in (0..digits).rev() {
        out.push(HEX[usize::from(group >> (4 * i) & 15)]);
    }
}
