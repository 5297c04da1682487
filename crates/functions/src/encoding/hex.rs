//! `hex` and `bin`: the digits of values.

use crate::plain::Plain;
use crate::string_args::build;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Data, each_native};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static HEX: Plain = Plain {
    record: Record {
        name: "hex",
        case_insensitive: true,
        summary: "The hexadecimal digits of the bytes of a value: of integers from the highest byte that is not zero, of floats and decimals as they lie in memory.",
        syntax: "hex(x)",
        examples: &[Example { sql: "SELECT hex('abc'), hex(1000)", result: "616263\t03E8" }],
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, &HEX_DIGITS),
};

/// The digits of every byte.
static HEX_DIGITS: [[u8; 2]; 256] = {
    let mut all = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        all[byte] = [b"0123456789ABCDEF"[byte >> 4], b"0123456789ABCDEF"[byte & 15]];
        byte += 1;
    }
    all
};

static BITS: [[u8; 8]; 256] = {
    let mut all = [[b'0'; 8]; 256];
    let mut at = 0;
    while at < 256 * 8 {
        all[at / 8][at % 8] += ((at / 8) >> (7 - at % 8) & 1) as u8;
        at += 1;
    }
    all
};

pub static BIN: Plain = Plain {
    record: Record {
        name: "bin",
        case_insensitive: true,
        summary: "The binary digits of the bytes of a value: of integers from the highest byte that is not zero, of floats and decimals as they lie in memory.",
        syntax: "bin(x)",
        examples: &[Example { sql: "SELECT bin(14)", result: "00001110" }],
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, &BITS),
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    use DataType::*;
    check_arity(name, args.len(), 1..=1)?;
    let ty = &args[0].ty;
    match ty {
        String | FixedString(_) | Uuid | IPv4 | IPv6 | Date | Date32 | DateTime(_) | DateTime64(..)
        | AggregateFunction(_) => {}
        _ if ty.is_number() => {}
        _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}"),
    }
    Ok(DataType::String.into())
}

fn execute<const N: usize>(call: &Call, digits: &[[u8; N]; 256]) -> Result<Column> {
    let vector = call.vector(0);
    let ty = call.args[0].ty;
    // Floats, decimals and timestamps with fractions are shown as they lie in memory.
    let in_memory = ty.is_float() || ty.is_decimal() || matches!(ty, DataType::DateTime64(..));
    let all = |bytes: &[u8], out: &mut Vec<u8>| {
        let start = out.len();
        out.resize(start + bytes.len() * N, 0);
        let places = out[start..].as_chunks_mut::<N>().0;
        places.iter_mut().zip(bytes).for_each(|(place, &byte)| *place = digits[usize::from(byte)]);
    };
    Ok(match &vector.data {
        Data::Str(strings) => build(call.n_rows, |row, out| all(strings.get(row), out)),
        Data::Fixed(fixed) => build(call.n_rows, |row, out| all(fixed.get(row), out)),
        data => {
            let bytes = each_native!(data, values => values.as_bytes(),
                _ => bail!(LOGICAL_ERROR, "{ty} has no digits"));
            let width = ty.physical().width().unwrap_or(1);
            build(call.n_rows, |row, out| {
                let value = &bytes[row * width..(row + 1) * width];
                if in_memory {
                    return all(value, out);
                }
                let used = value.iter().rposition(|&byte| byte != 0).unwrap_or(0) + 1;
                value[..used]
                    .iter()
                    .rev()
                    .for_each(|&byte| out.extend_from_slice(&digits[usize::from(byte)]));
            })
        }
    })
}
