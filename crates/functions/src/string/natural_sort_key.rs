//! `naturalSortKey`: text in a form in which numbers within it sort by their values.

use crate::plain::Plain;
use crate::string_args::{StringArg, try_build};
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "naturalSortKey",
        any_case_aliases: &["NATURAL_SORT_KEY"],
        summary: "A key by which strings sort so that numbers in them count by their values: a2 before a10.",
        syntax: "naturalSortKey(s)",
        examples: &[Example { sql: "SELECT naturalSortKey('a2') < naturalSortKey('a10')", result: "1" }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        ensure!(
            *ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of function {name}"
        );
        Ok(DataType::String.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let texts = StringArg::of(call, 0)?;
        try_build(call.n_rows, |row, out| {
            let mut rest = texts.get(row);
            while !rest.is_empty() {
                let digit = rest[0].is_ascii_digit();
                let len = rest.iter().take_while(|byte| byte.is_ascii_digit() == digit).count();
                let (run, after) = rest.split_at(len);
                if digit {
                    push_number(run, out)?
                } else {
                    out.extend_from_slice(run)
                }
                rest = after;
            }
            Ok(())
        })
    },
};

/// Digits behind their number, without leading zeros. The numbers of digits are written so that they sort as text:
/// `0`..`7` for 1..8 digits, `80`..`91` up to 20, `920`..`998` up to 99, beyond that 999 and the number behind its own length.
fn push_number(digits: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count().min(digits.len() - 1);
    let digits = &digits[zeros..];
    let n = digits.len();
    let prefix = match n - 1 {
        p @ 0..8 => p.to_string(),
        p @ 8..20 => (p + 72).to_string(),
        p @ 20..99 => (p + 900).to_string(),
        _ => {
            let number = n.to_string();
            ensure!(
                number.len() <= 9,
                TOO_LARGE_STRING_SIZE,
                "Too long sequence of digits to encode for natural sorting, current length is {n}, maximum length is 999999999"
            );
            format!("999{}{number}", number.len())
        }
    };
    out.extend_from_slice(prefix.as_bytes());
    out.extend_from_slice(digits);
    Ok(())
}
