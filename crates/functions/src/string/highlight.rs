//! `highlight`: a text with marks around the words that are looked for.

use crate::plain::Plain;
use crate::search::position::{Fold, find_prepared};
use crate::string_args::StringArg;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, Value};
use memchr::memmem::Finder;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "highlight",
        summary: "The text with marks around each place where one of the needles stands, in any case of ASCII; places that touch are one.",
        syntax: "highlight(text, needles[, open, close])",
        examples: &[Example {
            sql: "SELECT highlight('Hello world', ['world'])",
            result: "Hello <em>world</em>",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

struct Marks {
    /// Searches for the needles, which are in lower case.
    needles: Vec<Finder<'static>>,
    open: Vec<u8>,
    close: Vec<u8>,
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        matches!(args.len(), 2 | 4),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} requires 2 or 4 arguments, got {}",
        args.len()
    );
    let (text, list) = (&args[0].ty, &args[1].ty);
    ensure!(
        text.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {text} of first argument of function {name}, expected String or FixedString"
    );
    ensure!(
        *list == DataType::String.array(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {list} of second argument of function {name}, expected const Array(String)"
    );
    let Some(Value::Array(needles)) = &args[1].constant else {
        bail!(ILLEGAL_COLUMN, "Argument at index 1 for function {name} must be constant");
    };
    let needles = needles.iter().filter_map(Value::as_bytes).filter(|needle| !needle.is_empty());
    let needles = needles.map(|needle| Finder::new(&needle.to_ascii_lowercase()).into_owned()).collect();
    let mark = |index: usize, default: &str| -> Result<Vec<u8>> {
        let Some(arg) = args.get(index) else { return Ok(default.as_bytes().to_vec()) };
        ensure!(
            arg.ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument {} of function {name}, expected const String",
            arg.ty,
            index + 1
        );
        match arg.constant.as_ref().and_then(Value::as_bytes) {
            Some(text) => Ok(text.to_vec()),
            None => bail!(ILLEGAL_COLUMN, "Argument at index {index} for function {name} must be constant"),
        }
    };
    let (open, close) = (mark(2, "<em>")?, mark(3, "</em>")?);
    Ok(Bound::with_state(DataType::String, Marks { needles, open, close }))
}

/// For each byte whether a needle covers it; empty where none does.
fn cover(text: &[u8], needles: &[Finder], folded: &mut Vec<u8>, covered: &mut Vec<bool>) {
    covered.clear();
    let folded = Fold::Ascii.apply_in(text, folded);
    for needle in needles {
        let mut from = 0;
        // Places of one needle may overlap.
        while let Some(at) = find_prepared(&folded[from..], needle) {
            let start = from + at;
            covered.resize(text.len(), false);
            covered[start..start + needle.needle().len()].fill(true);
            from = start + 1;
        }
    }
}

fn execute(call: &Call) -> Result<Column> {
    let Marks { needles, open, close } = call.state()?;
    let texts = StringArg::of(call, 0)?;
    let mut out = StringBuilder::with_capacity(call.n_rows);
    let (mut folded, mut covered) = (Vec::new(), Vec::new());
    for row in 0..call.n_rows {
        let text = texts.get(row);
        cover(text, needles, &mut folded, &mut covered);
        if covered.is_empty() {
            out.push(text);
            continue;
        }
        out.push_with(|bytes| {
            let mut inside = false;
            for (byte, is_covered) in text.iter().zip(&covered) {
                if *is_covered != inside {
                    bytes.extend_from_slice(if inside { close } else { open });
                    inside = *is_covered;
                }
                bytes.push(*byte);
            }
            if inside {
                bytes.extend_from_slice(close);
            }
        });
    }
    Ok(Vector::from(out.finish()).into())
}
