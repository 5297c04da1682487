//! `HMAC`: a digest of a message that only who has the key can make (RFC 2104).

use crate::plain::Plain;
use crate::string_args::{StringArg, build, check_type, constant_text};
use chalet_base::bail;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Bound, Constants, Example, Record};
use chalet_types::DataType;
use md5::Digest;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "HMAC",
        case_insensitive: true,
        summary: "The message authentication code of a message under a key, with the hash algorithm of the given name: md4, md5, \
                  ripemd160, sha1, sha224 to sha512-256, or sha3-224 to sha3-512.",
        syntax: "HMAC(algorithm, message, key)",
        examples: &[Example {
            sql: "SELECT hex(HMAC('md5', 'a', 'k'))",
            result: "DDCF3D210049E7135F61AFFAE73731CD",
        }],
        constants: Constants::Seen,
        secret_from: Some(2),
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 3..=3)?;
        for (index, arg) in args.iter().enumerate() {
            check_type(arg.ty.is_string(), name, index, "String", &arg.ty)?;
        }
        let algorithm = constant_text(name, args, 0)?;
        let Some(code) = code_of(algorithm) else {
            bail!(BAD_ARGUMENTS, "Invalid hash algorithm: '{}'", String::from_utf8_lossy(algorithm));
        };
        Ok(Bound::with_state(DataType::String, Algorithm(code)))
    },
    execute: |call| {
        let Algorithm(code) = *call.state()?;
        let (messages, keys) = (StringArg::of(call, 1)?, StringArg::of(call, 2)?);
        Ok(build(call.n_rows, |row, out| code(keys.get(row), messages.get(row), out)))
    },
};

/// Appends the code of a message, given the key and the message.
type Code = fn(&[u8], &[u8], &mut Vec<u8>);

#[derive(Clone, Copy)]
struct Algorithm(Code);

fn code_of(name: &[u8]) -> Option<Code> {
    Some(match name.to_ascii_lowercase().as_slice() {
        b"md4" => code::<md4::Md4, 64>,
        b"md5" => code::<md5::Md5, 64>,
        b"ripemd" | b"ripemd160" | b"rmd160" => code::<ripemd::Ripemd160, 64>,
        b"sha1" | b"sha-1" => code::<sha1::Sha1, 64>,
        b"sha224" | b"sha-224" | b"sha2-224" => code::<sha2::Sha224, 64>,
        b"sha256" | b"sha-256" | b"sha2-256" => code::<sha2::Sha256, 64>,
        b"sha384" | b"sha-384" | b"sha2-384" => code::<sha2::Sha384, 128>,
        b"sha512" | b"sha-512" | b"sha2-512" => code::<sha2::Sha512, 128>,
        b"sha512-224" | b"sha-512/224" | b"sha2-512/224" => code::<sha2::Sha512_224, 128>,
        b"sha512-256" | b"sha-512/256" | b"sha2-512/256" => code::<sha2::Sha512_256, 128>,
        b"sha3-224" => code::<sha3::Sha3_224, 144>,
        b"sha3-256" => code::<sha3::Sha3_256, 136>,
        b"sha3-384" => code::<sha3::Sha3_384, 104>,
        b"sha3-512" => code::<sha3::Sha3_512, 72>,
        _ => return None,
    })
}

/// The digest of the key and of the digest of the key and the message; `BLOCK` are the bytes that the digest takes at a time.
fn code<D: Digest, const BLOCK: usize>(key: &[u8], message: &[u8], out: &mut Vec<u8>) {
    let mut block = [0u8; BLOCK];
    if key.len() > BLOCK {
        let digest = D::digest(key);
        block[..digest.len()].copy_from_slice(&digest);
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = D::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    let outer = D::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(&inner).finalize();
    out.extend_from_slice(&outer);
}
