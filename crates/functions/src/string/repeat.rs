//! `repeat` and `space`: one string many times.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, expect, integers, try_build};
use chalet_base::{Result, ensure};
use chalet_function_api::{Constants, Example, Record};
use chalet_types::DataType;

/// The kernel's limit of repetitions.
const MAX_TIMES: i64 = 1_000_000;

pub static REPEAT: Plain = Plain {
    record: Record {
        name: "repeat",
        case_insensitive: true,
        summary: "The string as often as the number says.",
        syntax: "repeat(s, n)",
        examples: &[Example { sql: "SELECT repeat('abc', 3)", result: "abcabcabc" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        expect(name, args, 2, &[Kind::String, Kind::Integer])?;
        Ok(DataType::String.into())
    },
    execute: |call| {
        let (texts, times) = (StringArg::of(call, 0)?, integers(call, 1)?);
        try_build(call.n_rows, |row, out| {
            let (text, times) = (texts.get(row), checked(times[row])?);
            ensure!(
                (text.len() as u64).saturating_mul(times as u64) < 1 << 30,
                TOO_LARGE_STRING_SIZE,
                "Too large string size in function repeat"
            );
            out.reserve(text.len() * times);
            (0..times).for_each(|_| out.extend_from_slice(text));
            Ok(())
        })
    },
};

pub static SPACE: Plain = Plain {
    record: Record {
        name: "space",
        case_insensitive: true,
        summary: "As many spaces as the number says.",
        syntax: "space(n)",
        examples: &[Example { sql: "SELECT concat('[', space(3), ']')", result: "[   ]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        expect(name, args, 1, &[Kind::Integer])?;
        Ok(DataType::String.into())
    },
    execute: |call| {
        let times = integers(call, 0)?;
        try_build(call.n_rows, |row, out| {
            out.resize(out.len() + checked(times[row])?, b' ');
            Ok(())
        })
    },
};

fn checked(times: i64) -> Result<usize> {
    ensure!(
        times <= MAX_TIMES,
        TOO_LARGE_STRING_SIZE,
        "Too many times to repeat ({times}), maximum is: {MAX_TIMES}"
    );
    Ok(times.max(0) as usize)
}
