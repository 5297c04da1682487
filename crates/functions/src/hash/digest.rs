//! Cryptographic digests: `MD4`, `MD5`, `SHA1` to `SHA512_256`, `RIPEMD160`, `keccak256`; and the checksums `CRC32`, `CRC64`.

use super::digest_lanes::digests;
use super::md5_lanes::Md5;
use super::sha;
use super::sha1_lanes::{Sha1, pays};
use super::sha1_pairs;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Fixed, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_types::DataType;
use md5::Digest;

struct OfBytes {
    record: Record,
    result: DataType,
    run: Run,
}

#[derive(Clone, Copy)]
enum Run {
    /// Appends what a string makes.
    Each(fn(&[u8], &mut Vec<u8>)),
    /// Many strings at once.
    Md5,
    /// Many strings at once where they are short.
    Sha1,
}

fn of<D: Digest>(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&D::digest(text));
}

macro_rules! digests {
    ($($name:literal, $width:literal, $digest:expr, $summary:literal, $sql:literal => $result:literal;)*) => {
        static DIGESTS: &[OfBytes] = &[$(OfBytes {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(s)"),
                examples: &[Example { sql: $sql, result: $result }],
                total: true,
                ..Record::DEFAULT
            },
            result: DataType::FixedString($width),
            run: Run::Each($digest),
        }),*];
    };
}

digests! {
    "MD4", 16, of::<md4::Md4>, "The MD4 digest of a string.", "SELECT hex(MD4('a'))" => "BDE52CB31DE33E46245E05FBDBD6FB24";
    "SHA224", 28, sha::sha224, "The SHA-224 digest of a string.",
        "SELECT hex(SHA224('a'))" => "ABD37534C7D9A2EFB9465DE931CD7055FFDB8879563AE98078D6D6D5";
    "SHA256", 32, sha::sha256, "The SHA-256 digest of a string.",
        "SELECT hex(SHA256('a'))" => "CA978112CA1BBDCAFAC231B39A23DC4DA786EFF8147C4E72B9807785AFEE48BB";
    "SHA384", 48, sha::sha384, "The SHA-384 digest of a string.", "SELECT length(SHA384('a'))" => "48";
    "SHA512", 64, sha::sha512, "The SHA-512 digest of a string.", "SELECT length(SHA512('a'))" => "64";
    "SHA512_256", 32, sha::sha512_256, "The SHA-512/256 digest of a string.",
        "SELECT hex(SHA512_256('a'))" => "455E518824BC0601F9FB858FF5C37D417D67C2F8E0DF2BABE4808858AEA830F8";
    "RIPEMD160", 20, of::<ripemd::Ripemd160>, "The RIPEMD-160 digest of a string.",
        "SELECT hex(RIPEMD160('a'))" => "0BDC9D2D256B3EE9DAAE347BE6F4DC835A467FFE";
    "keccak256", 32, of::<sha3::Keccak256>, "The Keccak-256 digest of a string.",
        "SELECT hex(keccak256('a'))" => "3AC225168DF54212A25C1C01FD35BEBFEA408FDAC2E31DDD6F80A4BBF9A5F1CB";
}

static MD5: OfBytes = OfBytes {
    record: Record {
        name: "MD5",
        summary: "The MD5 digest of a string.",
        syntax: "MD5(s)",
        examples: &[Example { sql: "SELECT hex(MD5('a'))", result: "0CC175B9C0F1B6A831C399E269772661" }],
        total: true,
        ..Record::DEFAULT
    },
    result: DataType::FixedString(16),
    run: Run::Md5,
};

static SHA1: OfBytes = OfBytes {
    record: Record {
        name: "SHA1",
        summary: "The SHA-1 digest of a string.",
        syntax: "SHA1(s)",
        examples: &[Example {
            sql: "SELECT hex(SHA1('a'))",
            result: "86F7E437FAA5A7FCE15D1DDCB9EAEAEA377667B8",
        }],
        total: true,
        ..Record::DEFAULT
    },
    result: DataType::FixedString(20),
    run: Run::Sha1,
};

/// A table of a reflected CRC.
const fn table(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ polynomial } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

static CRC64_ECMA: [u64; 256] = table(0xc96c_5795_d787_0f42);

fn crc(table: &[u64; 256], start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |crc, &byte| table[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

static CHECKSUMS: &[OfBytes] = &[
    OfBytes {
        record: Record {
            name: "CRC32",
            case_insensitive: true,
            summary: "The CRC-32 checksum of a string as zlib computes it.",
            syntax: "CRC32(s)",
            examples: &[Example { sql: "SELECT CRC32('a')", result: "3904355907" }],
            total: true,
            ..Record::DEFAULT
        },
        result: DataType::UInt32,
        run: Run::Each(|bytes, out| {
            out.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
        }),
    },
    OfBytes {
        record: Record {
            name: "CRC32IEEE",
            case_insensitive: true,
            summary: "The CRC-32 checksum of a string without the initial and final inversion.",
            syntax: "CRC32IEEE(s)",
            examples: &[Example { sql: "SELECT CRC32IEEE('a')", result: "984961486" }],
            total: true,
            ..Record::DEFAULT
        },
        result: DataType::UInt32,
        run: Run::Each(|bytes, out| {
            // A sum that is 0 before it is inverted.
            let mut hasher = crc32fast::Hasher::new_with_initial(u32::MAX);
            hasher.update(bytes);
            out.extend_from_slice(&(!hasher.finalize()).to_le_bytes());
        }),
    },
    OfBytes {
        record: Record {
            name: "CRC64",
            case_insensitive: true,
            summary: "The CRC-64 checksum of a string with the ECMA polynomial.",
            syntax: "CRC64(s)",
            examples: &[Example { sql: "SELECT CRC64('a')", result: "3219832958944941148" }],
            total: true,
            ..Record::DEFAULT
        },
        result: DataType::UInt64,
        run: Run::Each(|bytes, out| out.extend_from_slice(&crc(&CRC64_ECMA, 0, bytes).to_le_bytes())),
    },
];

/// Two by two, where the processor has instructions for the digest, else one by one.
fn sha1_each<'a>(strings: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    sha1_pairs::digests(strings.clone()).unwrap_or_else(|| {
        let mut bytes = Vec::new();
        strings.for_each(|text| sha::sha1(text, &mut bytes));
        bytes
    })
}

impl ScalarFunction for &'static OfBytes {
    fn record(&self) -> &'static Record {
        let function: &'static OfBytes = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        let digest = matches!(self.result, DataType::FixedString(_));
        ensure!(
            ty.is_string() || digest && *ty == DataType::IPv6,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of function {name}"
        );
        Ok(self.result.clone().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let width = self.result.physical().width().unwrap_or(1);
        let mut bytes = Vec::with_capacity(call.n_rows * width);
        match (self.run, &call.vector(0).data) {
            (Run::Each(run), Data::Str(strings)) => strings.iter().for_each(|s| run(s, &mut bytes)),
            (Run::Each(run), Data::Fixed(fixed)) => fixed.iter().for_each(|s| run(s, &mut bytes)),
            (Run::Md5, Data::Str(strings)) => bytes = digests::<4, Md5>(strings.iter()),
            (Run::Md5, Data::Fixed(fixed)) => bytes = digests::<4, Md5>(fixed.iter()),
            (Run::Sha1, Data::Str(strings)) if pays(strings.iter()) => {
                bytes = digests::<5, Sha1>(strings.iter());
            }
            (Run::Sha1, Data::Fixed(fixed)) if pays(fixed.iter()) => {
                bytes = digests::<5, Sha1>(fixed.iter());
            }
            (Run::Sha1, Data::Str(strings)) => bytes = sha1_each(strings.iter()),
            (Run::Sha1, Data::Fixed(fixed)) => bytes = sha1_each(fixed.iter()),
            _ => bail!(LOGICAL_ERROR, "{} is no string", call.args[0].ty),
        }
        Ok(match self.result {
            DataType::UInt32 => Vector::from(
                bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect::<Vec<u32>>(),
            ),
            DataType::UInt64 => Vector::from(
                bytes.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect::<Vec<u64>>(),
            ),
            _ => Data::Fixed(Fixed { width, bytes: bytes.into() }).into(),
        }
        .into())
    }
}

pub fn register(registry: &mut Registry) {
    DIGESTS.iter().chain(CHECKSUMS).chain([&MD5, &SHA1]).for_each(|function| registry.add_scalar(function));
}
