//! `printf`: values in the places of percent signs, as in C.

use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use crate::string_args::{constant_text, try_build};
use crate::text::settings;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_text::{Style, Writer};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "printf",
        summary: "The constant pattern with its specifiers (%d, %5.2f, %s, %x, ...) replaced by the other arguments, as in C.",
        syntax: "printf(format, x1, ...)",
        examples: &[Example {
            sql: "SELECT printf('%5d|%-4s|%.2f|%x', 42, 'ab', 3.14159, 255)",
            result: "   42|ab  |3.14|ff",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

#[derive(Clone, Copy, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    conversion: u8,
}

enum Piece {
    Literal(Vec<u8>),
    Value(Spec),
}

struct Pattern(Vec<Piece>);

/// Wider fields than this are refused.
const MAX_WIDTH: usize = 1 << 16;

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=usize::MAX)?;
    ensure!(
        args[0].ty == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of argument 1 of function {name}, expected String",
        args[0].ty
    );
    let pieces = parse(constant_text(name, args, 0)?)?;
    let specs =
        pieces.iter().filter_map(|piece| if let Piece::Value(spec) = piece { Some(spec) } else { None });
    let mut given = 1;
    for spec in specs {
        let Some(arg) = args.get(given) else { return Err(wrong_number(args)) };
        let fits = match spec.conversion {
            b's' => arg.ty.is_string(),
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => arg.ty.is_float(),
            _ => arg.ty.is_integer(),
        };
        ensure!(
            fits,
            BAD_ARGUMENTS,
            "The format of argument {given} of function {name} does not match its type {}",
            arg.ty
        );
        given += 1;
    }
    if given != args.len() {
        return Err(wrong_number(args));
    }
    Ok(Bound::with_state(DataType::String, Pattern(pieces)))
}

fn wrong_number(args: &[Argument]) -> Error {
    let format = args[0].constant.as_ref().and_then(|value| value.as_bytes()).unwrap_or_default();
    err!(
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Number of arguments for function printf doesn't match: passed {}, but format is {}",
        args.len(),
        String::from_utf8_lossy(format)
    )
}

fn parse(pattern: &[u8]) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut literal = Vec::new();
    let mut bytes = pattern.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            literal.push(byte);
            continue;
        }
        let mut spec = Spec::default();
        while let Some(flag) = bytes.next_if(|b| b"-+ 0#".contains(b)) {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'0' => spec.zero = true,
                _ => spec.alternate = true,
            }
        }
        let number = |bytes: &mut std::iter::Peekable<_>| {
            let mut n = 0usize;
            while let Some(digit) = std::iter::Peekable::next_if(bytes, |b: &u8| b.is_ascii_digit()) {
                n = (n * 10 + usize::from(digit - b'0')).min(MAX_WIDTH + 1);
            }
            n
        };
        spec.width = number(&mut bytes);
        if bytes.next_if_eq(&b'.').is_some() {
            spec.precision = Some(number(&mut bytes));
        }
        ensure!(
            spec.width <= MAX_WIDTH && spec.precision.is_none_or(|p| p <= MAX_WIDTH),
            BAD_ARGUMENTS,
            "A width or precision of function printf is too large, maximum is {MAX_WIDTH}"
        );
        match bytes.next() {
            Some(b'%') => literal.push(b'%'),
            Some(
                conversion @ (b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b'c' | b's' | b'f' | b'F' | b'e'
                | b'E' | b'g' | b'G' | b'a' | b'A'),
            ) => {
                spec.conversion = conversion;
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                pieces.push(Piece::Value(spec));
            }
            other => bail!(
                BAD_ARGUMENTS,
                "Invalid conversion specifier {:?} of function printf",
                other.map(char::from).unwrap_or(' ')
            ),
        }
    }
    pieces.push(Piece::Literal(literal));
    Ok(pieces)
}

enum Value<'a> {
    Integers(Vec<i128>),
    Floats(Vec<f64>),
    Text(Writer, Operand<'a>),
}

fn execute(call: &Call) -> Result<Column> {
    let Pattern(pieces) = call.state()?;
    let settings = settings(call.ctx);
    let mut values = Vec::with_capacity(call.args.len());
    for index in 1..call.args.len() {
        let operand = Operand::of(call, index);
        values.push(match operand.ty {
            ty if ty.is_integer() => Value::Integers(unary::<i128, i128>(operand, call.n_rows, |x| x)?),
            ty if ty.is_float() => Value::Floats(unary::<f64, f64>(operand, call.n_rows, |x| x)?),
            ty => Value::Text(Writer::new(ty, Style::Plain, &settings), operand),
        });
    }
    try_build(call.n_rows, |row, out| {
        let mut values = values.iter();
        for piece in pieces {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Value(spec) => match values.next() {
                    Some(Value::Integers(numbers)) => integer(out, spec, numbers[row]),
                    Some(Value::Floats(numbers)) => float(out, spec, numbers[row]),
                    Some(Value::Text(writer, operand)) => {
                        let mut text = Vec::new();
                        writer.write(&mut text, operand.vector, operand.row(row));
                        text.truncate(spec.precision.unwrap_or(usize::MAX));
                        padded(out, &Spec { zero: false, ..*spec }, b"", &text);
                    }
                    None => bail!(LOGICAL_ERROR, "printf lacks an argument"),
                },
            }
        }
        Ok(())
    })
}

fn padded(out: &mut Vec<u8>, spec: &Spec, sign: &[u8], digits: &[u8]) {
    let missing = spec.width.saturating_sub(sign.len() + digits.len());
    let fill = |out: &mut Vec<u8>, byte: u8| out.resize(out.len() + missing, byte);
    match (spec.left, spec.zero) {
        (true, _) => {
            out.extend_from_slice(sign);
            out.extend_from_slice(digits);
            fill(out, b' ');
        }
        (false, true) => {
            out.extend_from_slice(sign);
            fill(out, b'0');
            out.extend_from_slice(digits);
        }
        (false, false) => {
            fill(out, b' ');
            out.extend_from_slice(sign);
            out.extend_from_slice(digits);
        }
    }
}

fn sign_of(spec: &Spec, negative: bool) -> &'static [u8] {
    match () {
        _ if negative => b"-",
        _ if spec.plus => b"+",
        _ if spec.space => b" ",
        _ => b"",
    }
}

fn integer(out: &mut Vec<u8>, spec: &Spec, value: i128) {
    let signed = matches!(spec.conversion, b'd' | b'i');
    let digits = match spec.conversion {
        b'x' => format!("{:x}", value as u64),
        b'X' => format!("{:X}", value as u64),
        b'o' => format!("{:o}", value as u64),
        b'c' => return padded(out, &Spec { zero: false, ..*spec }, b"", &[value as u8]),
        b'u' => (value as u64).to_string(),
        _ => value.unsigned_abs().to_string(),
    };
    let digits = format!("{:0>1$}", digits, spec.precision.unwrap_or(0));
    let prefix: &[u8] = match spec.conversion {
        b'x' if spec.alternate && value != 0 => b"0x",
        b'X' if spec.alternate && value != 0 => b"0X",
        b'o' if spec.alternate => b"0",
        _ if signed => sign_of(spec, value < 0),
        _ => b"",
    };
    let spec = Spec { zero: spec.zero && spec.precision.is_none(), ..*spec };
    padded(out, &spec, prefix, digits.as_bytes());
}

fn float(out: &mut Vec<u8>, spec: &Spec, value: f64) {
    let precision = spec.precision.unwrap_or(6);
    let sign = sign_of(spec, value.is_sign_negative() && !value.is_nan());
    if !value.is_finite() {
        let text: &[u8] = if value.is_nan() { b"nan" } else { b"inf" };
        return padded(out, &Spec { zero: false, ..*spec }, sign, text);
    }
    let magnitude = value.abs();
    let digits = match spec.conversion {
        b'f' | b'F' => format!("{magnitude:.precision$}"),
        b'e' | b'E' => exponent(magnitude, precision),
        b'a' | b'A' => hexadecimal(magnitude, spec.precision),
        _ => {
            let precision = precision.max(1);
            let shown = format!("{:.*e}", precision - 1, magnitude);
            let power: i32 = shown.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
            let text = if power < -4 || power >= precision as i32 {
                exponent(magnitude, precision - 1)
            } else {
                format!("{:.*}", (precision as i32 - 1 - power).max(0) as usize, magnitude)
            };
            match text.split_once('e') {
                Some((mantissa, power)) => format!("{}e{power}", without_zeros(mantissa)),
                None => without_zeros(&text).to_string(),
            }
        }
    };
    let digits = if spec.conversion.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
    if let Some(digits) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        // The prefix stands before the zeros.
        let prefix = if spec.conversion == b'a' { &b"0x"[..] } else { b"0X" };
        return padded(out, spec, &[sign, prefix].concat(), digits.as_bytes());
    }
    padded(out, spec, sign, digits.as_bytes());
}

/// `0x1.8p+1`: all digits that are needed, or as many as told.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    const FRACTION: u32 = 52;
    if value == 0.0 {
        let zeros = "0".repeat(precision.unwrap_or(0));
        return format!("0x0{}{zeros}p+0", if zeros.is_empty() { "" } else { "." });
    }
    let bits = value.to_bits();
    let (biased, mut mantissa) = ((bits >> FRACTION) as i32, bits & ((1 << FRACTION) - 1));
    // A subnormal number has no implied one.
    let power = if biased == 0 { -1022 } else { biased - 1023 };
    let mut whole = u64::from(biased != 0);
    if let Some(digits) = precision.filter(|digits| *digits < 13) {
        let dropped = FRACTION - 4 * digits as u32;
        let all = (whole << FRACTION) | mantissa;
        let (kept, rest, half) = (all >> dropped, all & ((1 << dropped) - 1), 1u64 << (dropped - 1));
        let kept = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
        whole = kept >> (FRACTION - dropped);
        mantissa = (kept << dropped) & ((1 << FRACTION) - 1);
    }
    let mut digits = format!("{mantissa:013x}");
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(precision) => {
            digits.truncate(precision);
            digits = format!("{digits:0<precision$}");
        }
    }
    format!("0x{whole}{}{digits}p{power:+}", if digits.is_empty() { "" } else { "." })
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// As C writes it: at least two digits of the exponent, and its sign.
fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let Some((mantissa, power)) = text.split_once('e') else { return text };
    let power: i32 = power.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}
