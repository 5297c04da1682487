//! `regexpPosition`: where in a string a regular expression matches.

use super::regexp::in_rust_syntax;
use super::shared_regex::SharedRegex;
use crate::plain::Plain;
use crate::string_args::{StringArg, check_type, constant_text, integers};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;
use regex::bytes::{Regex, RegexBuilder};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "regexpPosition",
        any_case_aliases: &["regexpInstr", "regexp_instr"],
        summary: "The position of the byte where a match begins (or with `return_option` 1, of the byte behind it), from 1; 0 when there is \
                  none. Of several matches the `occurrence`-th from `position` on, of a match a group.",
        syntax: "regexpPosition(haystack, pattern[, position[, occurrence[, return_option[, flags[, subexpression]]]]])",
        examples: &[Example {
            sql: "SELECT regexpPosition('hello world', 'o'), regexpPosition('hello world', 'o', 1, 2)",
            result: "5\t8",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=7)?;
    check_type(args[0].ty == DataType::String, name, 0, "String", &args[0].ty)?;
    for index in [1, 5] {
        let Some(arg) = args.get(index) else { continue };
        check_type(arg.ty == DataType::String, name, index, "const String", &arg.ty)?;
        ensure!(
            arg.constant.is_some(),
            ILLEGAL_COLUMN,
            "Argument {} of function {name} must be constant",
            index + 1
        );
    }
    for index in [2, 3, 4, 6] {
        let Some(arg) = args.get(index) else { continue };
        check_type(arg.ty.is_integer(), name, index, "Integer", &arg.ty)?;
    }
    let flags = if args.len() > 5 { constant_text(name, args, 5)? } else { b"" };
    Ok(Bound::with_state(DataType::UInt64, compile(name, constant_text(name, args, 1)?, flags)?))
}

fn compile(name: &str, pattern: &[u8], flags: &[u8]) -> Result<SharedRegex> {
    let (mut any_case, mut lines, mut dots) = (false, false, false);
    for flag in flags {
        match flag {
            b'i' => any_case = true,
            b'c' => any_case = false,
            b'm' | b'n' => lines = true,
            b's' => dots = true,
            _ => bail!(BAD_ARGUMENTS, "Unknown flag '{}' of function {name}", char::from(*flag)),
        }
    }
    RegexBuilder::new(&in_rust_syntax(pattern))
        .case_insensitive(any_case)
        .multi_line(lines)
        .dot_matches_new_line(dots)
        .size_limit(64 << 20)
        .build()
        .map(SharedRegex::from)
        .map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let pattern = String::from_utf8_lossy(pattern);
            err!(
                CANNOT_COMPILE_REGEXP,
                "OptimizedRegularExpression: cannot compile re2: {pattern}, error: {reason}"
            )
        })
}

fn execute(call: &Call) -> Result<Column> {
    let regex = &call.state::<SharedRegex>()?.of_thread();
    let texts = StringArg::of(call, 0)?;
    let numbers = |index: usize, default: i64| match call.args.get(index) {
        Some(_) => integers(call, index),
        None => Ok(vec![default; call.n_rows]),
    };
    let (positions, occurrences) = (numbers(2, 1)?, numbers(3, 1)?);
    let (options, groups) = (numbers(4, 0)?, numbers(6, 0)?);
    let mut found = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let (position, occurrence, option, group) =
            (positions[row], occurrences[row], options[row], groups[row]);
        ensure!(
            position > 0 && occurrence > 0,
            BAD_ARGUMENTS,
            "Arguments position and occurrence of function regexpPosition must be positive"
        );
        ensure!(
            matches!(option, 0 | 1),
            BAD_ARGUMENTS,
            "Argument return_option of function regexpPosition must be 0 or 1, got {option}"
        );
        let group = usize::try_from(group).ok().filter(|&group| group < regex.captures_len());
        let Some(group) = group else {
            bail!(
                INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE,
                "Subexpression of function regexpPosition is out of range, the pattern has {} groups",
                regex.captures_len() - 1
            );
        };
        found.push(place(regex, texts.get(row), position as u64 - 1, occurrence as u64, option == 1, group));
    }
    Ok(Vector::from(found).into())
}

/// The position of a match from 1, or 0. An empty pattern matches everywhere, another one that matches nothing ends the search.
fn place(regex: &Regex, text: &[u8], start: u64, occurrence: u64, behind: bool, group: usize) -> u64 {
    if start > text.len() as u64 {
        return 0;
    }
    if regex.as_str().is_empty() {
        let place = start.saturating_add(occurrence - 1);
        return if place > text.len() as u64 { 0 } else { place + 1 };
    }
    let mut start = start as usize;
    let mut left = occurrence;
    loop {
        let Some(whole) = regex.find_at(text, start).filter(|whole| !whole.is_empty()) else { return 0 };
        left -= 1;
        if left == 0 && group == 0 {
            return if behind { whole.end() } else { whole.start() } as u64 + 1;
        }
        if left == 0 {
            break;
        }
        start = whole.end();
    }
    let captures = regex.captures_at(text, start);
    let part = captures.as_ref().and_then(|captures| captures.get(group));
    part.map_or(0, |part| if behind { part.end() } else { part.start() } as u64 + 1)
}
