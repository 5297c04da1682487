//! `encrypt`, `decrypt`, `tryDecrypt` and the variants that are compatible with MySQL.

use super::cipher::{BLOCK, Chaining, Cipher, Mode};
use crate::plain::Plain;
use crate::string_args::{StringArg, check_type, constant_text};
use chalet_base::{Result, bail, discard_messages, ensure};
use chalet_columns::{BooleanBuffer, Column, NullBuffer, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Example, Record, Registry};
use chalet_types::DataType;
use std::borrow::Cow;

/// What the functions differ in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Encrypt,
    Decrypt,
    /// NULL where `Decrypt` fails.
    TryDecrypt,
    MySqlEncrypt,
    MySqlDecrypt,
}

impl Task {
    fn is_mysql(self) -> bool {
        matches!(self, Task::MySqlEncrypt | Task::MySqlDecrypt)
    }

    fn encrypts(self) -> bool {
        matches!(self, Task::Encrypt | Task::MySqlEncrypt)
    }
}

macro_rules! functions {
    ($($name:literal $task:ident $syntax:literal $summary:literal $sql:literal => $result:literal;)*) => {
        &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                constant_arguments: &[0],
                secret_from: Some(1),
                ..Record::DEFAULT
            },
            bind: |name, args, _| bind(name, args, Task::$task),
            execute: |call| execute(call, Task::$task),
        }),*]
    };
}

static FUNCTIONS: &[Plain] = functions! {
    "encrypt" Encrypt "encrypt(mode, plaintext, key[, iv[, aad]])"
        "Encrypts a string with AES. The mode is aes-128, aes-192 or aes-256 and -ecb, -cbc, -ofb, -ctr, -cfb, -cfb8, -cfb1 or -gcm."
        "SELECT hex(encrypt('aes-128-ecb', 'text', '1234567812345678'))" => "726824ED4C0E866701B0703BA73D80A3";
    "decrypt" Decrypt "decrypt(mode, ciphertext, key[, iv[, aad]])"
        "Decrypts what encrypt made. Fails on a wrong key where the mode can tell."
        "SELECT decrypt('aes-128-ecb', unhex('726824ED4C0E866701B0703BA73D80A3'), '1234567812345678')" => "text";
    "tryDecrypt" TryDecrypt "tryDecrypt(mode, ciphertext, key[, iv[, aad]])"
        "Decrypts what encrypt made, to NULL where that fails."
        "SELECT tryDecrypt('aes-128-ecb', 'text', '1234567812345678')" => "\\N";
    "aes_encrypt_mysql" MySqlEncrypt "aes_encrypt_mysql(mode, plaintext, key[, iv])"
        "Encrypts a string as AES_ENCRYPT of MySQL does: a longer key is folded, of a longer IV the beginning is used."
        "SELECT hex(aes_encrypt_mysql('aes-128-ecb', 'text', '1234567812345678'))" => "726824ED4C0E866701B0703BA73D80A3";
    "aes_decrypt_mysql" MySqlDecrypt "aes_decrypt_mysql(mode, ciphertext, key[, iv])"
        "Decrypts a string as AES_DECRYPT of MySQL does: a longer key is folded, of a longer IV the beginning is used."
        "SELECT aes_decrypt_mysql('aes-128-ecb', unhex('726824ED4C0E866701B0703BA73D80A3'), '1234567812345678')" => "text";
};

fn bind(name: &'static str, args: &[Argument], task: Task) -> Result<Bound> {
    check_arity(name, args.len(), 3..=if task.is_mysql() { 4 } else { 5 })?;
    for (index, arg) in args.iter().enumerate() {
        check_type(arg.ty.is_string(), name, index, "String", &arg.ty)?;
    }
    let text = constant_text(name, args, 0)?;
    let shown = String::from_utf8_lossy(text);
    let Some(mode) = Mode::named(text) else { bail!(BAD_ARGUMENTS, "Invalid mode: {shown}") };
    ensure!(
        !task.is_mysql() || !matches!(mode.chaining, Chaining::Gcm | Chaining::Ctr),
        BAD_ARGUMENTS,
        "Unsupported cipher mode"
    );
    ensure!(args.len() < 4 || mode.chaining != Chaining::Ecb, BAD_ARGUMENTS, "{shown} does not support IV");
    ensure!(
        args.len() < 5 || mode.chaining == Chaining::Gcm,
        BAD_ARGUMENTS,
        "AAD can be only set for GCM-mode"
    );
    let result = if task == Task::TryDecrypt { DataType::String.nullable() } else { DataType::String };
    Ok(Bound::with_state(result, mode))
}

/// The key as the cipher takes it.
fn sized_key(key: &[u8], mode: Mode, task: Task) -> Result<Cow<'_, [u8]>> {
    let size = mode.key_size;
    if task.is_mysql() && key.len() > size {
        let mut folded = key[..size].to_vec();
        key[size..].iter().enumerate().for_each(|(i, byte)| folded[i % size] ^= byte);
        return Ok(folded.into());
    }
    ensure!(key.len() == size, BAD_ARGUMENTS, "Invalid key size: {} expected {size}", key.len());
    Ok(key.into())
}

/// The IV as the cipher takes it; empty where none is given.
fn sized_iv(iv: &[u8], mode: Mode, task: Task) -> Result<&[u8]> {
    if mode.chaining == Chaining::Gcm {
        ensure!(!iv.is_empty(), BAD_ARGUMENTS, "Invalid IV size {} != expected size 12", iv.len());
        return Ok(iv);
    }
    if task.is_mysql() && iv.len() > BLOCK {
        return Ok(&iv[..BLOCK]);
    }
    ensure!(
        iv.is_empty() || iv.len() == BLOCK,
        BAD_ARGUMENTS,
        "Invalid IV size: {} expected {BLOCK}",
        iv.len()
    );
    Ok(iv)
}

fn execute(call: &Call, task: Task) -> Result<Column> {
    let mode: Mode = *call.state()?;
    let (texts, keys) = (StringArg::of(call, 1)?, StringArg::of(call, 2)?);
    let optional = |index: usize| (index < call.args.len()).then(|| StringArg::of(call, index)).transpose();
    let (ivs, additions) = (optional(3)?, optional(4)?);
    let cipher = |row: usize| {
        let key = sized_key(keys.get(row), mode, task)?;
        let iv = sized_iv(ivs.map_or(&[][..], |ivs| ivs.get(row)), mode, task)?;
        Cipher::new(mode, &key, iv, additions.map_or(&[][..], |additions| additions.get(row)))
    };
    let same = |arg: Option<StringArg>| arg.is_none_or(|arg| arg.constant().is_some());
    let shared = if same(Some(keys)) && same(ivs) && same(additions) && call.n_rows > 0 {
        Some(cipher(0)?)
    } else {
        None
    };
    let mut out = StringBuilder::with_capacity(call.n_rows);
    let (mut scratch, mut valid) = (Vec::new(), Vec::with_capacity(call.n_rows));
    for row in 0..call.n_rows {
        scratch.clear();
        let own = if shared.is_none() { Some(cipher(row)?) } else { None };
        let Some(cipher) = shared.as_ref().or(own.as_ref()) else { continue };
        let text = texts.get(row);
        let mut is_valid = true;
        if task.encrypts() {
            cipher.encrypt(text, &mut scratch);
        } else if !text.is_empty() {
            // An empty string stands for an empty string, whatever the key.
            let mut decrypt = || cipher.decrypt(text, &mut scratch);
            if task != Task::TryDecrypt {
                decrypt()?;
            } else if discard_messages(decrypt).is_err() {
                scratch.clear();
                is_valid = false;
            }
        }
        valid.push(is_valid);
        out.push(&scratch);
    }
    let vector = Vector::from(out.finish());
    Ok(match task {
        Task::TryDecrypt => {
            vector.with_nulls(Some(&NullBuffer::new(valid.into_iter().collect::<BooleanBuffer>())))
        }
        _ => vector,
    }
    .into())
}

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
