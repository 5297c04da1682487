//! `arrayStringConcat`: the elements of an array as one string.

use crate::lists::{array_element, list_of};
use crate::plain::Plain;
use crate::text::settings;
use crate::widen::without_padding;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Data, List, StringBuilder, Strings, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_text::{Style, Writer};
use chalet_types::{DataType, Value};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayStringConcat",
        any_case_aliases: &["array_to_string"],
        summary: "The text forms of the elements of an array with a separator between them (none when left out). NULL is left out.",
        syntax: "arrayStringConcat(arr[, separator])",
        examples: &[Example { sql: "SELECT arrayStringConcat(['12', NULL, '3'], ',')", result: "12,3" }],
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

struct Separator(Box<[u8]>);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    array_element(name, args, 0)?;
    let separator = match args.get(1).map(|arg| (&arg.ty, &arg.constant)) {
        None => Box::default(),
        Some((_, Some(Value::Bytes(separator)))) => separator.clone(),
        Some((ty, None)) if ty.is_string() => {
            bail!(ILLEGAL_COLUMN, "Argument 2 of function {name} must be constant string")
        }
        Some((ty, _)) => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 2nd argument 'separator' to function '{name}'. Expected: const String, got: {ty}"
        ),
    };
    Ok(Bound::with_state(DataType::String, Separator(separator)))
}

/// Of elements that are texts.
fn texts_concat(rows: &List, texts: &Strings, separator: &[u8], n_rows: usize) -> Column {
    let has_nulls = rows.values.validity.is_some();
    let mut out = StringBuilder::with_capacity(n_rows);
    for range in rows.ranges() {
        out.push_with(|bytes| {
            let mut elements = range.filter(|&e| !has_nulls || !rows.values.is_null(e));
            let Some(first) = elements.next() else { return };
            bytes.extend_from_slice(texts.get(first));
            for e in elements {
                bytes.extend_from_slice(separator);
                bytes.extend_from_slice(texts.get(e));
            }
        });
    }
    Vector::from(out.finish()).into()
}

fn execute(call: &Call) -> Result<Column> {
    let Separator(separator) = call.state()?;
    let rows = list_of(&call.args[0], call.n_rows)?;
    let element = call.args[0].ty.element().unwrap_or(DataType::Nothing);
    let fixed = matches!(element.bare(), DataType::FixedString(_));
    let writer = Writer::new(&element, Style::Plain, &settings(call.ctx));
    if let Data::Str(texts) = &rows.values.data
        && element.bare().is_string()
    {
        return Ok(texts_concat(&rows, texts, separator, call.n_rows));
    }
    let nothing = *element.bare() == DataType::Nothing;
    let mut out = StringBuilder::with_capacity(call.n_rows);
    for range in rows.ranges() {
        out.push_with(|bytes| {
            let mut first = true;
            for e in range {
                if nothing || rows.values.is_null(e) {
                    continue;
                }
                if !std::mem::take(&mut first) {
                    bytes.extend_from_slice(separator);
                }
                match &rows.values.data {
                    Data::Fixed(texts) if fixed => bytes.extend_from_slice(without_padding(texts.get(e))),
                    _ => writer.write(bytes, &rows.values, e),
                }
            }
        });
    }
    Ok(Vector::from(out.finish()).into())
}
