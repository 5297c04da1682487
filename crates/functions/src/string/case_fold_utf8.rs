//! `caseFoldUTF8`: text in the form in which Unicode compares it without regard to case.

use crate::plain::Plain;
use crate::string_args::{StringArg, build};
use chalet_base::{Result, bail};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "caseFoldUTF8",
        summary: "The text after Unicode's case folding: texts that differ in case only become equal.",
        syntax: "caseFoldUTF8(s)",
        examples: &[Example { sql: "SELECT caseFoldUTF8('Straße')", result: "strasse" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        match &args[0].ty {
            DataType::String => Ok(DataType::String.into()),
            DataType::FixedString(_) => {
                bail!(ILLEGAL_COLUMN, "Cannot apply function {name} to fixed string")
            }
            ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}"),
        }
    },
    execute: |call: &Call| -> Result<Column> {
        let texts = StringArg::of(call, 0)?;
        Ok(build(call.n_rows, |row, out| {
            let text = texts.get(row);
            if text.is_ascii() {
                return out.extend(text.iter().map(u8::to_ascii_lowercase));
            }
            let mut bytes = [0; 4];
            for c in String::from_utf8_lossy(text).chars() {
                fold(c, &mut |c| out.extend_from_slice(c.encode_utf8(&mut bytes).as_bytes()));
            }
        }))
    },
};

/// The full folding of a character: the lower case of its upper case, with Unicode's exceptions.
pub(super) fn fold(c: char, put: &mut dyn FnMut(char)) {
    match c {
        // Dotless i folds to itself, for its capital is that of i.
        'ı' => put(c),
        // Cherokee folds to capitals, which were there first.
        '\u{13a0}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}' => c.to_uppercase().for_each(put),
        _ => {
            let upper = c.to_lowercase().flat_map(char::to_uppercase);
            upper.flat_map(char::to_lowercase).for_each(put);
        }
    }
}
