//! UUID and addresses of the Internet protocols from text.

use super::cursor::{Cursor, plain};
use chalet_base::{Result, bail};

fn hex(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|d| d as u8)
}

/// 32 digits, or 36 characters with dashes.
pub fn uuid(cur: &mut Cursor) -> Result<[u8; 16]> {
    let rest = cur.rest();
    let Some(first) = rest.get(..32) else {
        bail!(CANNOT_PARSE_UUID, "Cannot parse uuid {}", plain(rest));
    };
    let dashed = first[8] == b'-';
    let len = if dashed { 36 } else { 32 };
    let Some(text) = rest.get(..len) else {
        bail!(CANNOT_PARSE_UUID, "Cannot parse uuid {}", plain(rest));
    };
    let mut bytes = [0u8; 16];
    let mut n = 0;
    for (i, &c) in text.iter().enumerate() {
        if dashed && matches!(i, 8 | 13 | 18 | 23) {
            if c == b'-' {
                continue;
            }
        } else if let Some(digit) = hex(c) {
            bytes[n / 2] = bytes[n / 2] << 4 | digit;
            n += 1;
            continue;
        }
        let expected = if dashed {
            "32 or 36 hexadecimal digits with dashes at positions 8, 13, 18, 23"
        } else {
            "32 hexadecimal digits"
        };
        bail!(CANNOT_PARSE_UUID, "Cannot parse UUID from String: invalid format, expected {expected}");
    }
    cur.advance(len);
    Ok(bytes)
}

/// Four numbers of up to three digits. Consumes nothing when there is no address.
pub fn try_ipv4(cur: &mut Cursor) -> Option<u32> {
    let mut at = *cur;
    let mut address = 0u32;
    for i in 0..4 {
        if i > 0 && !at.accept(b'.') {
            return None;
        }
        let (mut value, mut n) = (0u32, 0);
        while let Some(d @ b'0'..=b'9') = at.peek() {
            if n == 3 {
                break;
            }
            value = value * 10 + u32::from(d - b'0');
            at.advance(1);
            n += 1;
        }
        if n == 0 || value > 255 {
            return None;
        }
        address = address << 8 | value;
    }
    *cur = at;
    Some(address)
}

/// As [`try_ipv4`], but no number has a zero in front: what casts, functions of addresses and IPv6 take.
pub fn try_plain_ipv4(cur: &mut Cursor) -> Option<u32> {
    let start = *cur;
    let address = try_ipv4(cur)?;
    let text = &start.rest()[..cur.position() - start.position()];
    if is_padded(text) {
        *cur = start;
        return None;
    }
    Some(address)
}

/// Has a number of an address of version 4 zeros in front?
pub fn is_padded(text: &[u8]) -> bool {
    text.split(|b| *b == b'.').any(|number| number.len() > 1 && number[0] == b'0')
}

pub fn ipv4(cur: &mut Cursor) -> Result<u32> {
    match try_ipv4(cur) {
        Some(address) => Ok(address),
        None => bail!(CANNOT_PARSE_IPV4, "Cannot parse IPv4 {}", plain(limit(cur))),
    }
}

fn limit<'a>(cur: &Cursor<'a>) -> &'a [u8] {
    &cur.rest()[..cur.rest().len().min(45)]
}

pub fn ipv6(cur: &mut Cursor) -> Result<[u8; 16]> {
    match try_ipv6(cur) {
        Some(address) => Ok(address),
        None => bail!(CANNOT_PARSE_IPV6, "Cannot parse IPv6 {}", plain(limit(cur))),
    }
}

/// Groups of hexadecimal digits with at most one `::`, the last two perhaps in dotted form; or an address of
/// version 4 alone. Consumes nothing when there is no address.
pub fn try_ipv6(cur: &mut Cursor) -> Option<[u8; 16]> {
    if let Some(v4) = try_plain_ipv4(cur) {
        return Some(mapped(v4));
    }
    let mut at = *cur;
    let (mut groups, mut len) = ([0u16; 8], 0);
    let mut gap = None;
    if at.accept_bytes(b"::") {
        gap = Some(0);
    }
    while len < 8 {
        // That the text begins with no address of version 4 is known.
        if (len > 0 || gap.is_some())
            && len <= 6
            && let Some(v4) = try_ipv4(&mut at)
        {
            groups[len..len + 2].copy_from_slice(&[(v4 >> 16) as u16, v4 as u16]);
            len += 2;
            break;
        }
        let (mut value, mut n) = (0u16, 0);
        while n < 4 {
            let Some(digit) = at.peek().and_then(hex) else { break };
            value = value << 4 | u16::from(digit);
            at.advance(1);
            n += 1;
        }
        if n == 0 {
            if gap == Some(len) {
                break;
            }
            return None;
        }
        groups[len] = value;
        len += 1;
        if len == 8 {
            break;
        }
        if at.rest().starts_with(b"::") {
            if gap.is_some() {
                return None;
            }
            at.advance(2);
            gap = Some(len);
        } else if !at.accept(b':') {
            break;
        }
    }
    match gap {
        // What is behind the gap goes to the end.
        Some(gap) if len < 8 => {
            groups.copy_within(gap..len, 8 - (len - gap));
            groups[gap..8 - (len - gap)].fill(0);
        }
        None if len == 8 => {}
        _ => return None,
    }
    let mut bytes = [0u8; 16];
    for (pair, group) in bytes.chunks_exact_mut(2).zip(groups) {
        pair.copy_from_slice(&group.to_be_bytes());
    }
    *cur = at;
    Some(bytes)
}

/// An address of version 4 inside of version 6.
pub fn mapped(v4: u32) -> [u8; 16] {
    let mut bytes = [0u8; 16];
    bytes[10..12].fill(0xff);
    bytes[12..].copy_from_slice(&v4.to_be_bytes());
    bytes
}
