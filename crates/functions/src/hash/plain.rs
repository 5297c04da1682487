//! Hashes that need no more than a function of bytes: murmurHash, xxHash, farmHash, metroHash, wyHash, halfMD5.

use super::any_hash::{AnyHash, Hasher, NOTHING, NULL};
use super::city::hash_16;
use super::int_hash::{mix_32, mix_salted};
use super::metro::metro_hash64;
use super::murmur::{murmur2_32, murmur2_64, murmur3_32, murmur3_128};
use super::wyhash::wyhash64;
use chalet_function_api::{Example, Record, Registry};
use chalet_types::DataType;
use md5::Digest;

/// How hashes combine.
#[derive(Clone, Copy)]
enum Combine {
    /// By hashing the bytes of both.
    Bytes,
    /// By mixing the first one into the second.
    Mix,
    /// As FarmHash makes fingerprints of two words.
    Farm,
    /// As CityHash folds two words.
    City,
}

struct Plain32 {
    hash: fn(&[u8]) -> u32,
}

impl Hasher for Plain32 {
    type Hash = u32;

    fn bytes(&self, bytes: &[u8]) -> u32 {
        (self.hash)(bytes)
    }

    fn combine(&self, a: u32, b: u32) -> u32 {
        mix_32(a.into()) ^ b
    }

    fn number(&self, x: u64) -> u32 {
        mix_32(x)
    }

    fn nothing(&self) -> u32 {
        NOTHING as u32
    }

    fn null(&self) -> u32 {
        NULL as u32
    }
}

/// `MIXES`: numbers are mixed instead of hashed as bytes.
struct Plain64<const MIXES: bool> {
    hash: fn(&[u8]) -> u64,
    combine: Combine,
}

impl<const MIXES: bool> Hasher for Plain64<MIXES> {
    type Hash = u64;
    const MIXES_NUMBERS: bool = MIXES;

    fn bytes(&self, bytes: &[u8]) -> u64 {
        (self.hash)(bytes)
    }

    fn combine(&self, a: u64, b: u64) -> u64 {
        match self.combine {
            Combine::Bytes => self.bytes(&(u128::from(a) | u128::from(b) << 64).to_le_bytes()),
            Combine::Mix => mix_salted(a) ^ b,
            Combine::Farm => farm_fingerprint(a, b),
            Combine::City => hash_16(a, b),
        }
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

struct Plain128 {
    hash: fn(&[u8]) -> u128,
}

impl Hasher for Plain128 {
    type Hash = u128;

    fn bytes(&self, bytes: &[u8]) -> u128 {
        (self.hash)(bytes)
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

/// So short a function that calling it by a pointer would take as long as it does.
struct Wy;

impl Hasher for Wy {
    type Hash = u64;

    #[inline(always)]
    fn bytes(&self, bytes: &[u8]) -> u64 {
        wyhash64(bytes)
    }

    fn combine(&self, a: u64, b: u64) -> u64 {
        self.bytes(&(u128::from(a) | u128::from(b) << 64).to_le_bytes())
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

/// The first half of MD5 as a big-endian number.
fn half_md5(bytes: &[u8]) -> u64 {
    let digest = md5::Md5::digest(bytes);
    digest.iter().take(8).fold(0, |hash, &byte| hash << 8 | u64::from(byte))
}

fn murmur128(bytes: &[u8]) -> u128 {
    let (low, high) = murmur3_128(bytes);
    u128::from(low) | u128::from(high) << 64
}

macro_rules! records {
    ($($constant:ident: $name:literal, $summary:literal, $sql:literal => $result:literal;)*) => {$(
        const $constant: Record = Record {
            name: $name,
            summary: $summary,
            syntax: concat!($name, "(x, ...)"),
            examples: &[Example { sql: $sql, result: $result }],
            total: true,
            ..Record::DEFAULT
        };
    )*};
}

records! {
    MURMUR2_32: "murmurHash2_32", "MurmurHash2 of any number of arguments, 32 bits.",
        "SELECT murmurHash2_32('a')" => "2456313694";
    MURMUR2_64: "murmurHash2_64", "MurmurHash64A of any number of arguments.",
        "SELECT murmurHash2_64('a')" => "510903276987443985";
    MURMUR3_32: "murmurHash3_32", "MurmurHash3 of any number of arguments, 32 bits.",
        "SELECT murmurHash3_32('a')" => "1009084850";
    MURMUR3_64: "murmurHash3_64", "Both halves of the 128-bit MurmurHash3, folded.",
        "SELECT murmurHash3_64('a')" => "7196874446409822675";
    MURMUR3_128: "murmurHash3_128", "MurmurHash3 of any number of arguments, 128 bits.",
        "SELECT hex(murmurHash3_128('a'))" => "897859F6655555855A890E51483AB5E6";
    GCC_MURMUR: "gccMurmurHash", "MurmurHash64A with the seed that gcc uses.",
        "SELECT gccMurmurHash('a')" => "4993892634952068459";
    KAFKA_MURMUR: "kafkaMurmurHash", "MurmurHash2 with the seed that Kafka uses, 32 bits.",
        "SELECT kafkaMurmurHash('a')" => "584102524";
    XX32: "xxHash32", "xxHash of any number of arguments, 32 bits.", "SELECT xxHash32('a')" => "1426945110";
    XX64: "xxHash64", "xxHash of any number of arguments, 64 bits.",
        "SELECT xxHash64('a')" => "15154266338359012955";
    XX3: "xxh3", "XXH3 of any number of arguments, 64 bits.", "SELECT xxh3('a')" => "16629034431890738719";
    XX3_128: "xxh3_128", "XXH3 of any number of arguments, 128 bits.",
        "SELECT hex(xxh3_128('a'))" => "A96FAF705AF16834E6C632B61E964E1F";
    FARM: "farmHash64", "FarmHash of any number of arguments.", "SELECT farmHash64('a')" => "12917804110809363939";
    FARM_FINGERPRINT: "farmFingerprint64", "The fingerprint of FarmHash, the same on every machine.",
        "SELECT farmFingerprint64('a')" => "12917804110809363939";
    METRO: "metroHash64", "MetroHash of any number of arguments.", "SELECT metroHash64('a')" => "6759146875928959315";
    WY: "wyHash64", "wyhash of any number of arguments.", "SELECT wyHash64('a')" => "7852112099385141351";
    HALF_MD5: "halfMD5", "The first 8 bytes of MD5 as a big-endian number.",
        "SELECT halfMD5('a')" => "919145239626757800";
}

pub fn register(registry: &mut Registry) {
    let small = |record, hash| AnyHash { record, hasher: Plain32 { hash }, result: DataType::UInt32 };
    registry.add_scalar(small(&MURMUR2_32, |bytes| murmur2_32(bytes, 0)));
    registry.add_scalar(small(&MURMUR3_32, |bytes| murmur3_32(bytes, 0)));
    registry.add_scalar(small(&KAFKA_MURMUR, |bytes| murmur2_32(bytes, 0x9747_b28c) & 0x7fff_ffff));
    registry.add_scalar(small(&XX32, |bytes| xxhash_rust::xxh32::xxh32(bytes, 0)));

    let plain = |record, hash: fn(&[u8]) -> u64, combine| AnyHash {
        record,
        hasher: Plain64::<false> { hash, combine },
        result: DataType::UInt64,
    };
    registry.add_scalar(plain(&MURMUR2_64, |bytes| murmur2_64(bytes, 0), Combine::Mix));
    registry.add_scalar(plain(
        &MURMUR3_64,
        |bytes| {
            let (low, high) = murmur3_128(bytes);
            low ^ high
        },
        Combine::Mix,
    ));
    registry.add_scalar(plain(&GCC_MURMUR, |bytes| murmur2_64(bytes, 0xc70f_6907), Combine::Mix));
    registry.add_scalar(plain(&XX64, |bytes| xxhash_rust::xxh64::xxh64(bytes, 0), Combine::City));
    registry.add_scalar(plain(&XX3, xxhash_rust::xxh3::xxh3_64, Combine::City));
    registry.add_scalar(plain(&HALF_MD5, half_md5, Combine::Bytes));
    registry.add_scalar(AnyHash { record: &WY, hasher: Wy, result: DataType::UInt64 });

    let mixed = |record, hash: fn(&[u8]) -> u64, combine| AnyHash {
        record,
        hasher: Plain64::<true> { hash, combine },
        result: DataType::UInt64,
    };
    registry.add_scalar(mixed(&FARM, farmhash::hash64, Combine::City));
    registry.add_scalar(mixed(&FARM_FINGERPRINT, farmhash::fingerprint64, Combine::Farm));
    registry.add_scalar(mixed(&METRO, metro_hash64, Combine::City));

    let wide =
        |record, hash: fn(&[u8]) -> u128, result| AnyHash { record, hasher: Plain128 { hash }, result };
    registry.add_scalar(wide(&MURMUR3_128, murmur128, DataType::FixedString(16)));
    registry.add_scalar(wide(&XX3_128, xxhash_rust::xxh3::xxh3_128, DataType::UInt128));
}

fn farm_fingerprint(low: u64, high: u64) -> u64 {
    const MULTIPLIER: u64 = 0x9ddf_ea08_eb38_2d69;
    let mut a = (low ^ high).wrapping_mul(MULTIPLIER);
    a ^= a >> 47;
    let mut b = (high ^ a).wrapping_mul(MULTIPLIER);
    b ^= b >> 44;
    b = b.wrapping_mul(MULTIPLIER);
    b ^= b >> 41;
    b.wrapping_mul(MULTIPLIER)
}
