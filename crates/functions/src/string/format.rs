//! `format`: values in the places of braces.

use crate::plain::Plain;
use crate::string_args::{build, constant_text};
use crate::text::settings;
use chalet_base::{Result, bail, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_text::{Style, Writer};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "format",
        summary: "The constant pattern with its `{}`, or `{0}`, `{1}`, ..., replaced by the text forms of the other arguments. `{{` and `}}` stand for single braces.",
        syntax: "format(pattern, x0, x1, ...)",
        examples: &[Example {
            sql: "SELECT format('{1} {0} {1}', 'World', 'Hello'), format('{} {}', 'a', 1)",
            result: "Hello World Hello\ta 1",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

enum Piece {
    Literal(Vec<u8>),
    /// The number of an argument behind the pattern.
    Value(usize),
}

struct Pattern(Vec<Piece>);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=usize::MAX)?;
    ensure!(
        args[0].ty == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of argument 1 of function {name}, expected String",
        args[0].ty
    );
    let pattern = parse(constant_text(name, args, 0)?, args.len() - 1)?;
    Ok(Bound::with_state(DataType::String, Pattern(pattern)))
}

fn parse(pattern: &[u8], n_values: usize) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut literal = Vec::new();
    let (mut automatic, mut manual) = (0, false);
    let mut place = 0;
    while place < pattern.len() {
        let byte = pattern[place];
        let doubled = pattern.get(place + 1) == Some(&byte);
        match byte {
            b'{' | b'}' if doubled => {
                literal.push(byte);
                place += 2;
            }
            b'}' => bail!(BAD_ARGUMENTS, "Closed curly brace without open one at position {place}"),
            b'{' => {
                let Some(len) = pattern[place..].iter().position(|&b| b == b'}') else {
                    bail!(BAD_ARGUMENTS, "Last open curly brace is not closed");
                };
                let inside = &pattern[place + 1..place + len];
                let index = if inside.is_empty() {
                    ensure!(
                        !manual,
                        BAD_ARGUMENTS,
                        "Cannot switch from manual field specification to automatic field numbering"
                    );
                    automatic += 1;
                    automatic - 1
                } else {
                    let digits =
                        std::str::from_utf8(inside).ok().filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
                    let Some(index) = digits.and_then(|digits| digits.parse::<usize>().ok()) else {
                        bail!(BAD_ARGUMENTS, "Not a number in curly braces at position {}", place + 1);
                    };
                    ensure!(
                        automatic == 0,
                        BAD_ARGUMENTS,
                        "Cannot switch from automatic field numbering to manual field specification"
                    );
                    manual = true;
                    index
                };
                ensure!(
                    index < n_values,
                    BAD_ARGUMENTS,
                    "Not enough arguments to fill the placeholders in the format string"
                );
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                pieces.push(Piece::Value(index));
                place += len + 1;
            }
            _ => {
                literal.push(byte);
                place += 1;
            }
        }
    }
    // Once a number was given, a lack of one earlier is an error of its own.
    ensure!(
        !(manual && automatic > 0),
        BAD_ARGUMENTS,
        "Cannot switch from automatic field numbering to manual field specification"
    );
    pieces.push(Piece::Literal(literal));
    Ok(pieces)
}

fn execute(call: &Call) -> Result<Column> {
    let Pattern(pieces) = call.state()?;
    let settings = settings(call.ctx);
    let writers: Vec<Writer> =
        call.args.iter().map(|arg| Writer::new(arg.ty, Style::Plain, &settings)).collect();
    Ok(build(call.n_rows, |row, out| {
        for piece in pieces {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Value(index) => {
                    let arg = &call.args[index + 1];
                    writers[index + 1].write(out, &arg.vector, if arg.constant { 0 } else { row });
                }
            }
        }
    }))
}
