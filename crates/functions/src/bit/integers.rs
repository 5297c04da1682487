//! `bitAnd`, `bitOr`, `bitXor`, shifts, rotations and `bitNot`.

use crate::arithmetic::{as_number, as_numbers};
use crate::lanes::{Operand, binary, try_binary, unary};
use crate::number::Integer;
use crate::with_integer;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Data, Fixed, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction,
};
use chalet_types::{DataType, promotion};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    RotateLeft,
    RotateRight,
}

struct Bits {
    record: Record,
    kind: Kind,
}

macro_rules! bits {
    ($($name:literal, $kind:ident, $summary:literal, $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Bits] = &[$(Bits {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(a, b)"),
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                ..Record::DEFAULT
            },
            kind: Kind::$kind,
        }),*];
    };
}

bits! {
    "bitAnd", And, "The bits that are set in both.", "SELECT bitAnd(5, 3)" => "1";
    "bitOr", Or, "The bits that are set in either.", "SELECT bitOr(5, 3)" => "7";
    "bitXor", Xor, "The bits that are set in one of both.", "SELECT bitXor(5, 3)" => "6";
    "bitShiftLeft", ShiftLeft, "Shifts the bits of a number or a string to the left.", "SELECT bitShiftLeft(1, 3)" => "8";
    "bitShiftRight", ShiftRight, "Shifts the bits of a number or a string to the right.", "SELECT bitShiftRight(255, 3)" => "31";
    "bitRotateLeft", RotateLeft, "Rotates the bits of a number to the left.", "SELECT bitRotateLeft(129, 1)" => "3";
    "bitRotateRight", RotateRight, "Rotates the bits of a number to the right.", "SELECT bitRotateRight(1, 1)" => "128";
}

fn width(ty: &DataType) -> u32 {
    8 * ty.physical().width().unwrap_or(1) as u32
}

impl Bits {
    fn shifts(&self) -> bool {
        matches!(self.kind, Kind::ShiftLeft | Kind::ShiftRight)
    }

    fn rotates(&self) -> bool {
        matches!(self.kind, Kind::RotateLeft | Kind::RotateRight)
    }
}

impl ScalarFunction for &'static Bits {
    fn record(&self) -> &'static Record {
        let function: &'static Bits = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 2..=2)?;
        let (a, b) = (&args[0].ty, &args[1].ty);
        let illegal =
            || err!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal types {a} and {b} of arguments of function {name}");
        match (a, b) {
            (DataType::FixedString(x), DataType::FixedString(y))
                if x == y && !self.shifts() && !self.rotates() =>
            {
                return Ok(a.clone().into());
            }
            _ if a.is_string() && b.is_narrow_integer() && self.shifts() => return Ok(a.clone().into()),
            _ => {}
        }
        let (x, y) = (as_number(a), as_number(b));
        ensure!(x.is_integer() && y.is_integer(), ILLEGAL_TYPE_OF_ARGUMENT, "{}", illegal().message());
        ensure!(
            !self.shifts() || y.is_narrow_integer(),
            NOT_IMPLEMENTED,
            "{} is not implemented for big integers as second argument",
            self.record.name
        );
        let bits = width(&x).max(width(&y));
        ensure!(
            !self.rotates() || bits <= 64,
            NOT_IMPLEMENTED,
            "Bit rotate is not implemented for big integers"
        );
        let signed = x.is_signed() || y.is_signed();
        let result = if signed { promotion::signed_of_bits(bits) } else { promotion::unsigned_of_bits(bits) };
        Ok(result.ok_or_else(illegal)?.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (a, b, n) = (Operand::of(call, 0), Operand::of(call, 1), call.n_rows);
        if call.result.is_string() {
            return strings(self.kind, a, b, n);
        }
        let (x, y) = (as_numbers(a.vector), as_numbers(b.vector));
        let (a, b) = (Operand { vector: &x, ..a }, Operand { vector: &y, ..b });
        with_integer!(call.result.physical(), C => integers::<C>(self.kind, a, b, n),
            _ => bail!(LOGICAL_ERROR, "{} has no bits", call.result))
    }
}

fn integers<C: Integer>(kind: Kind, a: Operand, b: Operand, n: usize) -> Result<Column> {
    let values: Vec<C> = match kind {
        Kind::And => binary::<C, C>(a, b, n, C::bit_and)?,
        Kind::Or => binary::<C, C>(a, b, n, C::bit_or)?,
        Kind::Xor => binary::<C, C>(a, b, n, C::bit_xor)?,
        Kind::ShiftLeft | Kind::ShiftRight => try_binary::<C, i64, C>(a, b, n, |x, count| {
            let count = shift_count(count)?;
            Ok(match kind {
                _ if count >= u64::from(C::BITS) => C::ZERO,
                Kind::ShiftLeft => x.shl(count as u32),
                _ => x.shr(count as u32),
            })
        })?,
        Kind::RotateLeft | Kind::RotateRight => try_binary::<C, i64, C>(a, b, n, |x, count| {
            let bits = i64::from(C::BITS);
            let left = if kind == Kind::RotateLeft { count } else { count.wrapping_neg() };
            Ok(x.rotate_left(left.rem_euclid(bits) as u32))
        })?,
    };
    Ok(Vector::from(values).into())
}

fn shift_count(count: i64) -> Result<u64> {
    u64::try_from(count).map_err(|_| {
        err!(ARGUMENT_OUT_OF_BOUND, "The number of shift positions needs to be a non-negative value")
    })
}

fn strings(kind: Kind, a: Operand, b: Operand, n: usize) -> Result<Column> {
    if let (Data::Fixed(x), Data::Fixed(y)) = (&a.vector.data, &b.vector.data) {
        let mut bytes = Vec::with_capacity(n * x.width);
        for row in 0..n {
            let pairs = x.get(a.row(row)).iter().zip(y.get(b.row(row)));
            bytes.extend(pairs.map(|(x, y)| match kind {
                Kind::And => x & y,
                Kind::Or => x | y,
                _ => x ^ y,
            }));
        }
        return Ok(Vector::from(Data::Fixed(Fixed { width: x.width, bytes: bytes.into() })).into());
    }
    let counts = unary::<i64, i64>(b, n, |x| x)?;
    if let Data::Fixed(x) = &a.vector.data {
        let mut bytes = Vec::with_capacity(n * x.width);
        let mut shifted = Vec::new();
        for (row, &count) in counts.iter().enumerate() {
            shifted.clear();
            shift(x.get(a.row(row)), kind, shift_count(count)?, &mut shifted);
            // A fixed width keeps the last bytes of a left shift and fills a right shift up in front.
            let skip = shifted.len().saturating_sub(x.width);
            bytes.resize(bytes.len() + x.width - (shifted.len() - skip), 0);
            bytes.extend_from_slice(&shifted[skip..]);
        }
        return Ok(Vector::from(Data::Fixed(Fixed { width: x.width, bytes: bytes.into() })).into());
    }
    let texts = a.vector.strings()?;
    let mut out = StringBuilder::with_capacity(n);
    for (row, &count) in counts.iter().enumerate() {
        let count = shift_count(count)?;
        out.push_with(|bytes| shift(texts.get(a.row(row)), kind, count, bytes));
    }
    Ok(Vector::from(out.finish()).into())
}

/// Appends a string as one big-endian number, shifted: it grows to the left, and loses bytes to the right.
fn shift(s: &[u8], kind: Kind, count: u64, out: &mut Vec<u8>) {
    if count >= 8 * s.len() as u64 {
        return;
    }
    // Each byte of the result is made of two neighbours.
    let pairs = |s: &'_ [u8], f: fn(u16, u32) -> u8, bits: u32, out: &mut Vec<u8>| {
        out.extend(s.windows(2).map(|pair| f(u16::from_be_bytes([pair[0], pair[1]]), bits)));
    };
    let (bytes, bits) = ((count / 8) as usize, (count % 8) as u32);
    if kind == Kind::ShiftRight {
        out.push(s[0] >> bits);
        return pairs(&s[..s.len() - bytes], |word, bits| (word >> bits) as u8, bits, out);
    }
    if bits > 0 {
        out.push(s[0] >> (8 - bits));
    }
    pairs(s, |word, bits| (word << bits >> 8) as u8, bits, out);
    out.push(s[s.len() - 1] << bits);
    out.resize(out.len() + bytes, 0);
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
