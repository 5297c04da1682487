//! CityHash64 of version 1.0.2, which the kernel's sketches hash strings with: their answers depend on it.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn half(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word).into()
}

fn mix(x: u64) -> u64 {
    x ^ (x >> 47)
}

/// Two words to one.
pub fn join(low: u64, high: u64) -> u64 {
    const MULTIPLIER: u64 = 0x9ddf_ea08_eb38_2d69;
    let a = mix((low ^ high).wrapping_mul(MULTIPLIER));
    mix((high ^ a).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER)
}

/// 32 bytes and two seeds to two words.
fn weak(bytes: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let [w, x, y, z] = [0, 8, 16, 24].map(|step| word(bytes, at + step));
    let start = a.wrapping_add(w);
    let b = b.wrapping_add(start).wrapping_add(z).rotate_right(21);
    let a = start.wrapping_add(x).wrapping_add(y);
    (a.wrapping_add(z), b.wrapping_add(a.rotate_right(44)).wrapping_add(start))
}

pub fn city_hash64(s: &[u8]) -> u64 {
    match s.len() {
        0..=16 => up_to_16(s),
        17..=32 => up_to_32(s),
        33..=64 => up_to_64(s),
        _ => long(s),
    }
}

fn up_to_16(s: &[u8]) -> u64 {
    let n = s.len();
    let len = n as u64;
    match n {
        0 => K2,
        1..=3 => {
            let y = u64::from(s[0]) + (u64::from(s[n >> 1]) << 8);
            let z = len + (u64::from(s[n - 1]) << 2);
            mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K3)).wrapping_mul(K2)
        }
        4..=8 => join(len + (half(s, 0) << 3), half(s, n - 4)),
        _ => {
            let b = word(s, n - 8);
            join(word(s, 0), b.wrapping_add(len).rotate_right(n as u32)) ^ b
        }
    }
}

fn up_to_32(s: &[u8]) -> u64 {
    let n = s.len();
    let a = word(s, 0).wrapping_mul(K1);
    let b = word(s, 8);
    let c = word(s, n - 8).wrapping_mul(K2);
    let d = word(s, n - 16).wrapping_mul(K0);
    join(
        a.wrapping_sub(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d),
        a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(n as u64),
    )
}

fn up_to_64(s: &[u8]) -> u64 {
    let n = s.len();
    // Both ends of the string go through the same steps.
    let half = |a: u64, z: u64, second: u64, third: u64| {
        let b = a.wrapping_add(z).rotate_right(52);
        let c = a.rotate_right(37);
        let a = a.wrapping_add(second);
        let c = c.wrapping_add(a.rotate_right(7));
        let a = a.wrapping_add(third);
        (a.wrapping_add(z), b.wrapping_add(a.rotate_right(31)).wrapping_add(c))
    };
    let start = word(s, 0).wrapping_add((n as u64).wrapping_add(word(s, n - 16)).wrapping_mul(K0));
    let (vf, vs) = half(start, word(s, 24), word(s, 8), word(s, 16));
    let start = word(s, 16).wrapping_add(word(s, n - 32));
    let (wf, ws) = half(start, word(s, n - 8), word(s, n - 24), word(s, n - 16));
    let r = mix(vf.wrapping_add(ws).wrapping_mul(K2).wrapping_add(wf.wrapping_add(vs).wrapping_mul(K0)));
    mix(r.wrapping_mul(K0).wrapping_add(vs)).wrapping_mul(K2)
}

fn long(s: &[u8]) -> u64 {
    let n = s.len();
    let len = n as u64;
    let mut x = word(s, 0);
    let mut y = word(s, n - 16) ^ K1;
    let mut z = word(s, n - 56) ^ K0;
    let mut v = weak(s, n - 64, len, y);
    let mut w = weak(s, n - 32, len.wrapping_mul(K1), K0);
    z = z.wrapping_add(mix(v.1).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    for at in (0..(n - 1) & !63).step_by(64) {
        x = x
            .wrapping_add(y)
            .wrapping_add(v.0)
            .wrapping_add(word(s, at + 16))
            .rotate_right(37)
            .wrapping_mul(K1);
        y = y.wrapping_add(v.1).wrapping_add(word(s, at + 48)).rotate_right(42).wrapping_mul(K1);
        x ^= w.1;
        y ^= v.0;
        z = (z ^ w.0).rotate_right(33);
        v = weak(s, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak(s, at + 32, z.wrapping_add(w.1), y);
        std::mem::swap(&mut z, &mut x);
    }
    join(join(v.0, w.0).wrapping_add(mix(y).wrapping_mul(K1)).wrapping_add(z), join(v.1, w.1).wrapping_add(x))
}
