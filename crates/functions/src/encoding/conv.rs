//! `conv`: numbers from one base to another, as MySQL does it.

use crate::plain::Plain;
use crate::string_args::{StringArg, check_type, integers, try_build};
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_text::{Style, TextSettings, Writer};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "conv",
        summary: "A number of up to 64 bits in another base, 2 to 36. What follows the digits is ignored; a number too great becomes the greatest.",
        syntax: "conv(number, from_base, to_base)",
        examples: &[Example {
            sql: "SELECT conv('FF', 16, 10), conv('-1', 10, 16)",
            result: "255\tFFFFFFFFFFFFFFFF",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 3..=3)?;
    let narrow = |ty: &DataType| ty.is_integer() && ty.physical().width().unwrap_or(16) <= 8;
    for (index, arg) in args.iter().enumerate() {
        let (fits, expected) = match index {
            0 => {
                (arg.ty.is_string() || narrow(&arg.ty) || arg.ty.is_float(), "String, FixedString or Number")
            }
            _ => (narrow(&arg.ty), "Integer"),
        };
        check_type(fits, name, index, expected, &arg.ty)?;
    }
    Ok(DataType::String.into())
}

fn execute(call: &Call) -> Result<Column> {
    let (from, to) = (integers(call, 1)?, integers(call, 2)?);
    let bases = |row: usize| {
        let sound = |base: i64| (2..=36).contains(&base);
        ensure!(
            sound(from[row]) && sound(to[row]),
            BAD_ARGUMENTS,
            "Base is less than 2 or greater than 36 which is not supported"
        );
        Ok((from[row] as u64, to[row] as u64))
    };
    if call.args[0].ty.is_string() {
        let texts = StringArg::of(call, 0)?;
        return try_build(call.n_rows, |row, out| {
            let (from, to) = bases(row)?;
            convert(texts.get(row), from, to, out)
        });
    }
    // Numbers go by their text, fractions and exponents included.
    let writer = Writer::new(call.args[0].ty, Style::Plain, &TextSettings::default());
    let mut text = Vec::new();
    try_build(call.n_rows, |row, out| {
        let (from, to) = bases(row)?;
        text.clear();
        writer.write(&mut text, call.vector(0), row);
        convert(&text, from, to, out)
    })
}

fn convert(text: &[u8], from: u64, to: u64, out: &mut Vec<u8>) -> Result<()> {
    ensure!(!text.is_empty(), BAD_ARGUMENTS, "Number for conversion is empty");
    let text = text.trim_ascii_start();
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let digits = digits.iter().map_while(|&digit| (digit as char).to_digit(from as u32));
    let size = digits.fold(0u64, |x, digit| {
        x.checked_mul(from).and_then(|x| x.checked_add(digit.into())).unwrap_or(u64::MAX)
    });
    let mut x = if negative { size.wrapping_neg() } else { size };
    let start = out.len();
    loop {
        out.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(x % to) as usize]);
        x /= to;
        if x == 0 {
            break;
        }
    }
    out[start..].reverse();
    Ok(())
}
