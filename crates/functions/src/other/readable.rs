//! `formatReadableSize`, `formatReadableDecimalSize`, `formatReadableQuantity`: numbers for people.

use crate::lanes::{Operand, unary};
use crate::math::float_function::floats;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;
use std::io::Write;

const SIZE: Record = Record {
    name: "formatReadableSize",
    any_case_aliases: &["FORMAT_BYTES"],
    summary: "A number of bytes with a binary unit: KiB, MiB, ...",
    syntax: "formatReadableSize(x[, precision])",
    examples: &[Example { sql: "SELECT formatReadableSize(192851925)", result: "183.92 MiB" }],
    total: true,
    constant_arguments: &[1],
    ..Record::DEFAULT
};

const DECIMAL_SIZE: Record = Record {
    name: "formatReadableDecimalSize",
    summary: "A number of bytes with a decimal unit: KB, MB, ...",
    syntax: "formatReadableDecimalSize(x[, precision])",
    examples: &[Example { sql: "SELECT formatReadableDecimalSize(192851925)", result: "192.85 MB" }],
    total: true,
    constant_arguments: &[1],
    ..Record::DEFAULT
};

const QUANTITY: Record = Record {
    name: "formatReadableQuantity",
    summary: "A rounded number with the word for its power of a thousand.",
    syntax: "formatReadableQuantity(x[, precision])",
    examples: &[Example { sql: "SELECT formatReadableQuantity(123456789)", result: "123.46 million" }],
    total: true,
    constant_arguments: &[1],
    ..Record::DEFAULT
};

pub struct Readable {
    record: &'static Record,
    base: f64,
    units: &'static [&'static str],
}

pub const SIZE_FUNCTION: Readable = Readable {
    record: &SIZE,
    base: 1024.0,
    units: &[" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", " ZiB", " YiB"],
};

pub const DECIMAL_SIZE_FUNCTION: Readable = Readable {
    record: &DECIMAL_SIZE,
    base: 1000.0,
    units: &[" B", " KB", " MB", " GB", " TB", " PB", " EB", " ZB", " YB"],
};

pub const QUANTITY_FUNCTION: Readable = Readable {
    record: &QUANTITY,
    base: 1000.0,
    units: &[
        "",
        " thousand",
        " million",
        " billion",
        " trillion",
        " quadrillion",
        " quintillion",
        " sextillion",
        " septillion",
        " octillion",
        " nonillion",
        " decillion",
        " undecillion",
        " duodecillion",
        " tredecillion",
        " quattuordecillion",
        " quindecillion",
        " sexdecillion",
        " septendecillion",
        " octodecillion",
        " novemdecillion",
        " vigintillion",
    ],
};

impl ScalarFunction for Readable {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=2)?;
        let ty = &args[0].ty;
        ensure!(
            ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Cannot format {ty} because it's not a native numeric type"
        );
        if let Some(precision) = args.get(1) {
            let refused = format!(
                "A value of illegal type was provided as 2nd argument 'precision' to function '{name}'. \
                 Expected: const UInt8, got: {}",
                precision.ty
            );
            ensure!(precision.ty == DataType::UInt8, ILLEGAL_TYPE_OF_ARGUMENT, "{refused}");
            ensure!(precision.constant.is_some(), ILLEGAL_COLUMN, "{refused}");
        }
        Ok(DataType::String.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let operand = Operand::of(call, 0);
        let vector = floats(operand, call.n_rows)?;
        let numbers = unary::<f64, f64>(Operand { vector: &vector, ..operand }, call.n_rows, |x| x)?;
        let digits = match call.args.get(1) {
            Some(_) => unary::<i128, i128>(Operand::of(call, 1), 1, |x| x)?[0] as usize,
            None => 2,
        };
        let mut out = StringBuilder::with_capacity(call.n_rows);
        for mut x in numbers {
            let mut unit = 0;
            while unit + 1 < self.units.len() && x.abs() >= self.base {
                x /= self.base;
                unit += 1;
            }
            // Writing to memory does not fail.
            out.push_with(|bytes| {
                if write_short(bytes, x, digits) {
                    return bytes.extend_from_slice(self.units[unit].as_bytes());
                }
                let _ = match x {
                    _ if x.is_nan() => write!(bytes, "nan{}", self.units[unit]),
                    _ => write!(bytes, "{:.digits$}{}", away_from_tie(x, digits), self.units[unit]),
                };
            });
        }
        Ok(Vector::from(out.finish()).into())
    }
}

/// Writes a number below 2^20 with so many digits behind the point, if they can be computed exactly in integers: halves go away
/// from zero.
fn write_short(out: &mut Vec<u8>, x: f64, digits: usize) -> bool {
    const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
    let magnitude = x.abs();
    // Not for NaN either.
    if digits == 0 || digits > 9 || magnitude.is_nan() || magnitude >= 1_048_576.0 {
        return false;
    }
    let whole = magnitude.trunc();
    let fraction = (magnitude - whole) * TWO_TO_64;
    if fraction.trunc() != fraction {
        return false;
    }
    let power = 10u64.pow(digits as u32);
    // The upper half are the digits, the lower one what follows them.
    let scaled = u128::from(fraction as u64) * u128::from(power);
    let rounded = (scaled >> 64) as u64 + (scaled as u64 >> 63);
    let (whole, rounded) = match rounded == power {
        true => (whole as u64 + 1, 0),
        false => (whole as u64, rounded),
    };
    if x.is_sign_negative() {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    out.extend_from_slice(buffer.format(whole).as_bytes());
    out.push(b'.');
    let behind = buffer.format(rounded).as_bytes();
    out.resize(out.len() + digits - behind.len(), b'0');
    out.extend_from_slice(behind);
    true
}

/// The number that rounds as the kernel rounds `x`: what lies just between two decimals goes away from zero.
fn away_from_tie(x: f64, digits: usize) -> f64 {
    // Such a number has one decimal digit more, which is 5, and is a multiple of a power of two of that size.
    let text = format!("{x:.*}", digits + 1);
    let is_tie = x.is_finite() && text.ends_with('5') && {
        let scaled = x * 2f64.powi(digits as i32 + 1);
        scaled.fract() == 0.0
    };
    match is_tie {
        true if x < 0.0 => x.next_down(),
        true => x.next_up(),
        false => x,
    }
}
