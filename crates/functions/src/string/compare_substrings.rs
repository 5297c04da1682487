//! `compareSubstrings`: how parts of two strings sort against each other.

use crate::plain::Plain;
use crate::string_args::{StringArg, check_type};
use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;
use std::cmp::Ordering;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "compareSubstrings",
        summary: "Compares parts of two strings, each given by an offset from 0, of at most the given number of bytes: -1, 0 or 1.",
        syntax: "compareSubstrings(s1, s2, offset1, offset2, num_bytes)",
        examples: &[Example {
            sql: "SELECT compareSubstrings('Saxony', 'Anglo-Saxon', 0, 6, 5)",
            result: "0",
        }],
        constants: Constants::Seen,
        null_before_arity: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

/// Offsets into both strings, and the number of bytes.
struct Window([u64; 3]);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 5..=5)?;
    let mut numbers = [0; 3];
    for (index, arg) in args.iter().enumerate() {
        let (fits, expected) = match index {
            0 | 1 => (arg.ty.is_string(), "String"),
            _ => (arg.ty.is_unsigned(), "const UInt*"),
        };
        check_type(fits, name, index, expected, &arg.ty)?;
        if index >= 2 {
            let Some(number) = arg.constant.as_ref().and_then(|value| value.as_u64()) else {
                bail!(
                    ILLEGAL_COLUMN,
                    "A value of illegal type was provided as argument {} to function '{name}'. Expected: {expected}, got: {}",
                    index + 1,
                    arg.ty
                );
            };
            numbers[index - 2] = number;
        }
    }
    Ok(Bound::with_state(DataType::Int8, Window(numbers)))
}

/// A FixedString counts without the zeros that fill it up.
fn filled<'a>(call: &Call, index: usize, text: &'a [u8]) -> &'a [u8] {
    match call.args[index].ty {
        DataType::FixedString(_) => {
            let zeros = text.iter().rev().take_while(|b| **b == 0).count();
            &text[..text.len() - zeros]
        }
        _ => text,
    }
}

fn execute(call: &Call) -> Result<Column> {
    let Window([first, second, bytes]) = *call.state()?;
    let (a, b) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
    let part = |text: &[u8], from: u64| -> std::ops::Range<usize> {
        let len = text.len() as u64;
        let start = from.min(len);
        start as usize..start.saturating_add(bytes).min(len) as usize
    };
    let compare = |row: usize| {
        let (x, y) = (filled(call, 0, a.get(row)), filled(call, 1, b.get(row)));
        match x[part(x, first)].cmp(&y[part(y, second)]) {
            Ordering::Less => -1i8,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
    };
    Ok(Vector::from((0..call.n_rows).map(compare).collect::<Vec<i8>>()).into())
}
