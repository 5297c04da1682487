//! `sipHash64`, `sipHash128` and their variants: SipHash-2-4.

use super::any_hash::{AnyHash, Hasher, KeyedHash, NOTHING, NULL};
use super::int_hash::{mix_32, mix_salted};
use chalet_base::sip_hash::Sip;
use chalet_function_api::{Example, Record, Registry};
use chalet_types::DataType;

/// The state after the 64-bit ending.
#[inline]
fn sip(key: (u64, u64), bytes: &[u8]) -> [u64; 4] {
    Sip::new(key).whole(bytes, 0xff).words()
}

#[inline]
pub fn sip_hash64(key: (u64, u64), bytes: &[u8]) -> u64 {
    let v = sip(key, bytes);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

/// The kernel's own 128-bit variant: both halves out of the state after the 64-bit ending.
fn sip_hash128(key: (u64, u64), bytes: &[u8]) -> u128 {
    let v = sip(key, bytes);
    u128::from(v[0] ^ v[1]) | u128::from(v[2] ^ v[3]) << 64
}

/// The 128-bit variant of the authors of SipHash.
fn sip_hash128_reference(key: (u64, u64), bytes: &[u8]) -> u128 {
    let (low, high) = Sip::new_reference_128(key).whole(bytes, 0xee).halves();
    u128::from(low) | u128::from(high) << 64
}

#[derive(Default)]
struct Sip64(u64, u64);

impl Hasher for Sip64 {
    type Hash = u64;

    fn bytes(&self, bytes: &[u8]) -> u64 {
        sip_hash64((self.0, self.1), bytes)
    }

    fn combine(&self, a: u64, b: u64) -> u64 {
        self.bytes((u128::from(a) | u128::from(b) << 64).to_le_bytes().as_slice())
    }

    fn number(&self, x: u64) -> u64 {
        mix_salted(x)
    }

    fn nothing(&self) -> u64 {
        NOTHING
    }

    fn null(&self) -> u64 {
        NULL as u64
    }
}

/// Either of the 128-bit variants.
struct Sip128 {
    key: (u64, u64),
    hash: fn((u64, u64), &[u8]) -> u128,
}

impl Hasher for Sip128 {
    type Hash = u128;

    fn bytes(&self, bytes: &[u8]) -> u128 {
        (self.hash)(self.key, bytes)
    }

    fn combine(&self, a: u128, b: u128) -> u128 {
        let mut bytes = [0u8; 32];
        bytes[..16].copy_from_slice(&a.to_le_bytes());
        bytes[16..].copy_from_slice(&b.to_le_bytes());
        self.bytes(&bytes)
    }

    fn number(&self, x: u64) -> u128 {
        mix_32(x).into()
    }

    fn nothing(&self) -> u128 {
        NOTHING.into()
    }

    fn null(&self) -> u128 {
        NULL
    }
}

const BASE: Record = Record {
    name: "sipHash64",
    summary: "SipHash-2-4 of any number of arguments of any types.",
    syntax: "sipHash64(x, ...)",
    examples: &[Example {
        sql: "SELECT sipHash64('a'), sipHash64(1, 2)",
        result: "10863254463029944905\t13747979201178469747",
    }],
    total: true,
    ..Record::DEFAULT
};

const KEYED: Record = Record {
    name: "sipHash64Keyed",
    summary: "SipHash-2-4 under a key, which is a tuple of two UInt64.",
    syntax: "sipHash64Keyed((k0, k1), x, ...)",
    examples: &[Example {
        sql: "SELECT sipHash64Keyed((toUInt64(0), toUInt64(0)), 'a') = sipHash64('a')",
        result: "1",
    }],
    total: false,
    ..BASE
};

const WIDE: Record = Record {
    name: "sipHash128",
    summary: "The kernel's 128-bit variant of SipHash-2-4 of any number of arguments.",
    syntax: "sipHash128(x, ...)",
    examples: &[Example { sql: "SELECT hex(sipHash128('a'))", result: "71315E763CCB60893893CDBB5CC3A21F" }],
    ..BASE
};

const WIDE_KEYED: Record = Record {
    name: "sipHash128Keyed",
    summary: "As sipHash128, under a key.",
    syntax: "sipHash128Keyed((k0, k1), x, ...)",
    examples: &[Example {
        sql: "SELECT sipHash128Keyed((toUInt64(0), toUInt64(0)), 'a') = sipHash128('a')",
        result: "1",
    }],
    ..KEYED
};

const REFERENCE: Record = Record {
    name: "sipHash128Reference",
    summary: "The original 128-bit variant of SipHash-2-4 of any number of arguments.",
    syntax: "sipHash128Reference(x, ...)",
    examples: &[Example {
        sql: "SELECT hex(sipHash128Reference('a'))",
        result: "FFCC4E749C37A0BEE6C404890ECD7325",
    }],
    ..BASE
};

const REFERENCE_KEYED: Record = Record {
    name: "sipHash128ReferenceKeyed",
    summary: "As sipHash128Reference, under a key.",
    syntax: "sipHash128ReferenceKeyed((k0, k1), x, ...)",
    examples: &[Example {
        sql: "SELECT sipHash128ReferenceKeyed((toUInt64(0), toUInt64(0)), 'a') = sipHash128Reference('a')",
        result: "1",
    }],
    ..KEYED
};

pub fn register(registry: &mut Registry) {
    let wide = DataType::FixedString(16);
    registry.add_scalar(AnyHash { record: &BASE, hasher: Sip64(0, 0), result: DataType::UInt64 });
    registry.add_scalar(KeyedHash { record: &KEYED, hasher: Sip64, result: DataType::UInt64 });
    let of = |hash| Sip128 { key: (0, 0), hash };
    registry.add_scalar(AnyHash { record: &WIDE, hasher: of(sip_hash128), result: wide.clone() });
    registry.add_scalar(AnyHash {
        record: &REFERENCE,
        hasher: of(sip_hash128_reference),
        result: wide.clone(),
    });
    registry.add_scalar(KeyedHash {
        record: &WIDE_KEYED,
        hasher: |k0, k1| Sip128 { key: (k0, k1), hash: sip_hash128 },
        result: wide.clone(),
    });
    registry.add_scalar(KeyedHash {
        record: &REFERENCE_KEYED,
        hasher: |k0, k1| Sip128 { key: (k0, k1), hash: sip_hash128_reference },
        result: wide,
    });
}
