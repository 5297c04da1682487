//! Bytes as text of 64 digits (RFC 4648).

/// The digits of the usual form.
pub const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// The digits of the form for URLs.
pub const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Two digits for each 12 bits.
type Pairs = [[u8; 2]; 1 << 12];

const fn pairs(alphabet: &[u8; 64]) -> Pairs {
    let mut pairs = [[0; 2]; 1 << 12];
    let mut bits = 0;
    while bits < pairs.len() {
        pairs[bits] = [alphabet[bits >> 6], alphabet[bits & 63]];
        bits += 1;
    }
    pairs
}

static PAIRS: Pairs = pairs(STANDARD);
static URL_PAIRS: Pairs = pairs(URL);

/// Appends bytes as digits, four for three bytes; the last ones with `=` behind them, with `pad`.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>, alphabet: &[u8; 64], pad: bool) {
    let pairs = if alphabet == STANDARD { &PAIRS } else { &URL_PAIRS };
    let (whole, rest) = bytes.as_chunks::<3>();
    let start = out.len();
    out.resize(start + 4 * whole.len(), 0);
    for (&[a, b, c], place) in whole.iter().zip(out[start..].as_chunks_mut::<4>().0) {
        let word = u32::from_be_bytes([0, a, b, c]) as usize;
        let ([d, e], [f, g]) = (pairs[word >> 12], pairs[word & 0xfff]);
        *place = [d, e, f, g];
    }
    for chunk in rest.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            if i <= chunk.len() {
                out.push(alphabet[(word >> (18 - 6 * i) & 63) as usize]);
            } else if pad {
                out.push(b'=');
            }
        }
    }
}

/// Appends the bytes that digits stand for; none where they are not base64. With `padded`, there are four digits for three bytes.
pub fn decode(text: &[u8], out: &mut Vec<u8>, alphabet: &[u8; 64], padded: bool) -> Option<()> {
    if padded && !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take(2).take_while(|&&byte| byte == b'=').count();
    let digits = &text[..text.len() - padding];
    if digits.len() % 4 == 1 || padding > 0 && (digits.len() + padding) % 4 != 0 {
        return None;
    }
    let mut table = [255u8; 256];
    alphabet.iter().enumerate().for_each(|(value, &digit)| table[usize::from(digit)] = value as u8);
    for chunk in digits.chunks(4) {
        let mut word = 0u32;
        for &digit in chunk {
            let value = table[usize::from(digit)];
            if value == 255 {
                return None;
            }
            word = word << 6 | u32::from(value);
        }
        word <<= 6 * (4 - chunk.len());
        out.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    Some(())
}
