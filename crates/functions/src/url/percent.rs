//! Percent encoding: `encodeURLComponent`, `decodeURLComponent` and their form variants.

use crate::plain::Plain;
use crate::string_args::first_of;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Data, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    if args[0].ty != DataType::String {
        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument of function {name}", args[0].ty);
    }
    Ok(DataType::String.into())
}

/// In forms a plus sign stands for a space.
fn encode(text: &[u8], form: bool, out: &mut Vec<u8>) {
    for &b in text {
        match b {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'.' | b'~' => out.push(b),
            b' ' if form => out.push(b'+'),
            _ => {
                let hex = b"0123456789ABCDEF";
                out.extend_from_slice(&[b'%', hex[usize::from(b >> 4)], hex[usize::from(b & 15)]]);
            }
        }
    }
}

/// What is no valid escape stays as it is, with the two bytes behind its percent sign, whatever they are.
fn decode(text: &[u8], form: bool, out: &mut Vec<u8>) {
    let digit = |at: usize| text.get(at).and_then(|&b| char::from(b).to_digit(16));
    let is_special = |byte: u8| byte == b'%' || form && byte == b'+';
    let mut at = 0;
    while at < text.len() {
        let plain = first_of(&text[at..], is_special);
        out.extend_from_slice(&text[at..at + plain]);
        at += plain;
        match (text.get(at), digit(at + 1), digit(at + 2)) {
            (None, ..) => {}
            (Some(b'%'), Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 2;
            }
            (Some(b'+'), ..) => out.push(b' '),
            (Some(_), ..) => {
                let kept = &text[at..text.len().min(at + 3)];
                out.extend_from_slice(kept);
                at += kept.len() - 1;
            }
        }
        at += 1;
    }
}

fn texts(call: &Call, write: impl Fn(&[u8], &mut Vec<u8>)) -> Result<Column> {
    let mut out = StringBuilder::with_capacity(call.n_rows);
    match &call.vector(0).data {
        Data::Fixed(fixed) => fixed.iter().for_each(|text| out.push_with(|out| write(text, out))),
        _ => call.vector(0).strings()?.iter().for_each(|text| out.push_with(|out| write(text, out))),
    }
    Ok(Vector::from(out.finish()).into())
}

macro_rules! codings {
    ($($name:literal, $write:expr, $summary:literal, $sql:literal, $result:literal;)*) => {
        &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(text)"),
                examples: &[Example { sql: $sql, result: $result }],
                total: true,
                ..Record::DEFAULT
            },
            bind,
            execute: |call| texts(call, $write),
        }),*]
    };
}

static FUNCTIONS: &[Plain] = codings! {
    "encodeURLComponent", |text, out| encode(text, false, out),
        "Text with every byte as %XX that is no letter, digit or one of -_.~",
        "SELECT encodeURLComponent('a b+c')", "a%20b%2Bc";
    "encodeURLFormComponent", |text, out| encode(text, true, out),
        "Text as a form sends it: percent-encoded, with plus signs for spaces.",
        "SELECT encodeURLFormComponent('a b')", "a+b";
    "decodeURLComponent", |text, out| decode(text, false, out),
        "Text with every %XX replaced by the byte that it stands for.",
        "SELECT decodeURLComponent('a%20b%2Bc')", "a b+c";
    "decodeURLFormComponent", |text, out| decode(text, true, out),
        "Text as a form sent it: percent-decoded, with spaces for plus signs.",
        "SELECT decodeURLFormComponent('a+b%20c')", "a b c";
};

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
