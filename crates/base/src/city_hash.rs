//! CityHash 1.0.2, whose results differ from later versions: `cityHash64`, and the checksums of compressed blocks.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;
const MULTIPLIER: u64 = 0x9ddf_ea08_eb38_2d69;

#[inline(always)]
fn word(s: &[u8], at: usize) -> u64 {
    let (words, _) = s[at..at + 8].as_chunks();
    u64::from_le_bytes(words[0])
}

#[inline(always)]
fn half(s: &[u8], at: usize) -> u64 {
    let (halves, _) = s[at..at + 4].as_chunks();
    u32::from_le_bytes(halves[0]).into()
}

fn shift_mix(x: u64) -> u64 {
    x ^ (x >> 47)
}

/// Two words into one.
pub fn hash_16(low: u64, high: u64) -> u64 {
    let a = shift_mix((low ^ high).wrapping_mul(MULTIPLIER));
    let b = shift_mix((high ^ a).wrapping_mul(MULTIPLIER));
    b.wrapping_mul(MULTIPLIER)
}

fn up_to_16(s: &[u8]) -> u64 {
    let n = s.len();
    if n > 8 {
        let (a, b) = (word(s, 0), word(s, n - 8));
        return hash_16(a, b.wrapping_add(n as u64).rotate_right(n as u32)) ^ b;
    }
    if n >= 4 {
        let a = half(s, 0);
        return hash_16((n as u64).wrapping_add(a << 3), half(s, n - 4));
    }
    if n > 0 {
        let (a, b, c) = (u32::from(s[0]), u32::from(s[n >> 1]), u32::from(s[n - 1]));
        let y = u64::from(a + (b << 8));
        let z = n as u64 + u64::from(c << 2);
        return shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K3)).wrapping_mul(K2);
    }
    K2
}

fn up_to_32(s: &[u8]) -> u64 {
    let n = s.len();
    let a = word(s, 0).wrapping_mul(K1);
    let b = word(s, 8);
    let c = word(s, n - 8).wrapping_mul(K2);
    let d = word(s, n - 16).wrapping_mul(K0);
    let low = a.wrapping_sub(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let high = a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(n as u64);
    hash_16(low, high)
}

fn up_to_64(s: &[u8]) -> u64 {
    let n = s.len();
    let mut z = word(s, 24);
    let mut a = word(s, 0).wrapping_add((n as u64).wrapping_add(word(s, n - 16)).wrapping_mul(K0));
    let mut b = a.wrapping_add(z).rotate_right(52);
    let mut c = a.rotate_right(37);
    a = a.wrapping_add(word(s, 8));
    c = c.wrapping_add(a.rotate_right(7));
    a = a.wrapping_add(word(s, 16));
    let vf = a.wrapping_add(z);
    let vs = b.wrapping_add(a.rotate_right(31)).wrapping_add(c);
    a = word(s, 16).wrapping_add(word(s, n - 32));
    z = word(s, n - 8);
    b = a.wrapping_add(z).rotate_right(52);
    c = a.rotate_right(37);
    a = a.wrapping_add(word(s, n - 24));
    c = c.wrapping_add(a.rotate_right(7));
    a = a.wrapping_add(word(s, n - 16));
    let wf = a.wrapping_add(z);
    let ws = b.wrapping_add(a.rotate_right(31)).wrapping_add(c);
    let r =
        shift_mix(vf.wrapping_add(ws).wrapping_mul(K2).wrapping_add(wf.wrapping_add(vs).wrapping_mul(K0)));
    shift_mix(r.wrapping_mul(K0).wrapping_add(vs)).wrapping_mul(K2)
}

/// 32 bytes from `at` on, under two seeds.
#[inline(always)]
fn weak_32(s: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let (w, x, y, z) = (word(s, at), word(s, at + 8), word(s, at + 16), word(s, at + 24));
    let a = a.wrapping_add(w);
    let b = b.wrapping_add(a).wrapping_add(z).rotate_right(21);
    let c = a;
    let a = a.wrapping_add(x).wrapping_add(y);
    let b = b.wrapping_add(a.rotate_right(44));
    (a.wrapping_add(z), b.wrapping_add(c))
}

/// The hash of 64 bits.
pub fn city_hash64(s: &[u8]) -> u64 {
    let n = s.len();
    match n {
        0..=16 => return up_to_16(s),
        17..=32 => return up_to_32(s),
        33..=64 => return up_to_64(s),
        _ => {}
    }
    let mut x = word(s, 0);
    let mut y = word(s, n - 16) ^ K1;
    let mut z = word(s, n - 56) ^ K0;
    let mut v = weak_32(s, n - 64, n as u64, y);
    let mut w = weak_32(s, n - 32, (n as u64).wrapping_mul(K1), K0);
    z = z.wrapping_add(shift_mix(v.1).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    let (blocks, _) = s[..(n - 1) & !63].as_chunks::<64>();
    for block in blocks {
        x = x
            .wrapping_add(y)
            .wrapping_add(v.0)
            .wrapping_add(word(block, 16))
            .rotate_right(37)
            .wrapping_mul(K1);
        y = y.wrapping_add(v.1).wrapping_add(word(block, 48)).rotate_right(42).wrapping_mul(K1);
        x ^= w.1;
        y ^= v.0;
        z = (z ^ w.0).rotate_right(33);
        v = weak_32(block, 0, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak_32(block, 32, z.wrapping_add(w.1), y);
        std::mem::swap(&mut z, &mut x);
    }
    hash_16(
        hash_16(v.0, w.0).wrapping_add(shift_mix(y).wrapping_mul(K1)).wrapping_add(z),
        hash_16(v.1, w.1).wrapping_add(x),
    )
}

/// The hash of 128 bits, low word first: the checksum of compressed blocks.
pub fn city_hash128(s: &[u8]) -> (u64, u64) {
    let n = s.len();
    match n {
        16.. => seeded(s, 16, (word(s, 0) ^ K3, word(s, 8))),
        8..=15 => seeded(s, n, (word(s, 0) ^ (n as u64).wrapping_mul(K0), word(s, n - 8) ^ K1)),
        _ => seeded(s, 0, (K0, K1)),
    }
}

/// The bytes from `start` on, under a seed.
fn seeded(s: &[u8], start: usize, (low, high): (u64, u64)) -> (u64, u64) {
    let n = s.len() - start;
    if n < 128 {
        return murmur(&s[start..], low, high);
    }
    let (mut x, mut y, mut z) = (low, high, (n as u64).wrapping_mul(K1));
    let v0 = (y ^ K1).rotate_right(49).wrapping_mul(K1).wrapping_add(word(s, start));
    let mut v = (v0, v0.rotate_right(42).wrapping_mul(K1).wrapping_add(word(s, start + 8)));
    let mut w = (
        y.wrapping_add(z).rotate_right(35).wrapping_mul(K1).wrapping_add(x),
        x.wrapping_add(word(s, start + 88)).rotate_right(53).wrapping_mul(K1),
    );
    let rounds = start + n / 128 * 128;
    for at in (start..rounds).step_by(64) {
        let sum = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(word(s, at + 16));
        x = sum.rotate_right(37).wrapping_mul(K1) ^ w.1;
        let sum = y.wrapping_add(v.1).wrapping_add(word(s, at + 48));
        y = sum.rotate_right(42).wrapping_mul(K1) ^ v.0;
        z = (z ^ w.0).rotate_right(33);
        v = weak_32(s, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak_32(s, at + 32, z.wrapping_add(w.1), y);
        std::mem::swap(&mut z, &mut x);
    }
    y = y.wrapping_add(w.0.rotate_right(37).wrapping_mul(K0)).wrapping_add(z);
    x = x.wrapping_add(v.0.wrapping_add(z).rotate_right(49).wrapping_mul(K0));
    // From the end backwards in steps of 32, the last of which overlaps what the rounds have taken.
    let mut done = 0;
    while done < s.len() - rounds {
        done += 32;
        let at = s.len() - done;
        y = y.wrapping_sub(x).rotate_right(42).wrapping_mul(K0).wrapping_add(v.1);
        w.0 = w.0.wrapping_add(word(s, at + 16));
        x = x.rotate_right(49).wrapping_mul(K0).wrapping_add(w.0);
        w.0 = w.0.wrapping_add(v.0);
        v = weak_32(s, at, v.0, v.1);
    }
    x = hash_16(x, v.0);
    y = hash_16(y, w.0);
    (hash_16(x.wrapping_add(v.1), w.1).wrapping_add(y), hash_16(x.wrapping_add(w.1), y.wrapping_add(v.1)))
}

/// Fewer than 128 bytes under a seed.
fn murmur(s: &[u8], mut a: u64, mut b: u64) -> (u64, u64) {
    let n = s.len();
    let (mut c, mut d);
    if n <= 16 {
        a = shift_mix(a.wrapping_mul(K1)).wrapping_mul(K1);
        c = b.wrapping_mul(K1).wrapping_add(up_to_16(s));
        d = shift_mix(a.wrapping_add(if n >= 8 { word(s, 0) } else { c }));
    } else {
        c = hash_16(word(s, n - 8).wrapping_add(K1), a);
        d = hash_16(b.wrapping_add(n as u64), c.wrapping_add(word(s, n - 16)));
        a = a.wrapping_add(d);
        for at in (0..n - 16).step_by(16) {
            a = (a ^ shift_mix(word(s, at).wrapping_mul(K1)).wrapping_mul(K1)).wrapping_mul(K1);
            b ^= a;
            c = (c ^ shift_mix(word(s, at + 8).wrapping_mul(K1)).wrapping_mul(K1)).wrapping_mul(K1);
            d ^= c;
        }
    }
    a = hash_16(a, c);
    b = hash_16(d, b);
    (a ^ b, hash_16(b, a))
}
