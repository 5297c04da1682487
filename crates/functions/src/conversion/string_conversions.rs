//! Other text forms: `toJSONString`, `toDecimalString`, `toStringCutToZero`; and `toLowCardinality`.

use super::cast::text_of;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Parts, StringBuilder};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, Registry, ScalarFunction,
    SeveralTypes,
};
use chalet_text::{Style, Writer};
use chalet_types::DataType;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(ToJsonString);
    registry.add_scalar(ToDecimalString);
    registry.add_scalar(CutToZero);
    registry.add_scalar(ToLowCardinality);
}

const TO_JSON_STRING: Record = Record {
    name: "toJSONString",
    summary: "The value as JSON.",
    syntax: "toJSONString(x)",
    examples: &[Example { sql: "SELECT toJSONString(map('a', [1, 2]))", result: "{\"a\":[1,2]}" }],
    ..Record::DEFAULT
};

struct ToJsonString;

impl ScalarFunction for ToJsonString {
    fn record(&self) -> &'static Record {
        &TO_JSON_STRING
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(TO_JSON_STRING.name, args.len(), 1..=1)?;
        Ok(DataType::String.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let settings = crate::text::output_settings(call.ctx);
        let writer = Writer::new(call.args[0].ty, Style::Json, &settings);
        let mut out = StringBuilder::with_capacity(call.n_rows);
        for row in 0..call.n_rows {
            out.push_with(|bytes| writer.write(bytes, call.vector(0), row));
        }
        Ok(Column::Flat(out.finish().into()))
    }
}

const TO_DECIMAL_STRING: Record = Record {
    name: "toDecimalString",
    case_insensitive: true,
    summary: "A number with a fixed count of digits behind the point.",
    syntax: "toDecimalString(x, digits)",
    examples: &[Example {
        sql: "SELECT toDecimalString(2.5, 3), toDecimalString(7, 1)",
        result: "2.500\t7.0",
    }],
    ..Record::DEFAULT
};

struct ToDecimalString;

impl ScalarFunction for ToDecimalString {
    fn record(&self) -> &'static Record {
        &TO_DECIMAL_STRING
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = TO_DECIMAL_STRING.name;
        check_arity(name, args.len(), 2..=2)?;
        ensure!(
            args[0].ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'Value' to function '{name}'. Expected: Number, got: {}",
            args[0].ty
        );
        ensure!(
            args[1].ty.is_integer(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 2nd argument 'precision' to function '{name}'. Expected: const \
             Integer, got: {}",
            args[1].ty
        );
        ensure!(
            args[1].constant.is_some(),
            ILLEGAL_COLUMN,
            "A value of illegal type was provided as 2nd argument 'precision' to function '{name}'. Expected: const \
             Integer, got: {}",
            args[1].ty
        );
        Ok(DataType::String.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let ty = call.args[0].ty;
        let most = if ty.is_float() { 60 } else { 77 };
        let settings = chalet_text::TextSettings::default();
        let plain = Writer::new(ty, Style::Plain, &settings);
        let mut out = StringBuilder::with_capacity(call.n_rows);
        for row in 0..call.n_rows {
            let digits = call.vector(1).value(row).as_u64().unwrap_or(u64::MAX);
            if digits > most {
                bail!(
                    CANNOT_PRINT_FLOAT_OR_DOUBLE_NUMBER,
                    "Too many fractional digits requested, shall not be more than {most}"
                );
            }
            let digits = digits as usize;
            let vector = call.vector(0);
            out.push_with(|bytes| match &vector.data {
                Data::F64(v) => fixed_point(bytes, v[row], digits),
                Data::F32(v) => fixed_point(bytes, v[row].into(), digits),
                Data::BF16(v) => fixed_point(bytes, v[row].into(), digits),
                _ => {
                    let start = bytes.len();
                    plain.write(bytes, vector, row);
                    let text = &bytes[start..];
                    let fraction = text.iter().position(|b| *b == b'.').map(|point| text.len() - point - 1);
                    match fraction {
                        Some(given) if given > digits => {
                            let text = rounded(text, given - digits, digits);
                            bytes.truncate(start);
                            bytes.extend_from_slice(&text);
                        }
                        Some(given) => bytes.resize(bytes.len() + digits - given, b'0'),
                        None if digits > 0 => {
                            bytes.push(b'.');
                            bytes.resize(bytes.len() + digits, b'0');
                        }
                        None => {}
                    }
                }
            });
        }
        Ok(Column::Flat(out.finish().into()))
    }
}

/// A float with digits behind the point; halves are rounded away from zero.
fn fixed_point(out: &mut Vec<u8>, x: f64, digits: usize) {
    // Formatting rounds exact halves to even: a hair more takes them the other way.
    let half = digits <= 15 && (x.abs() * 10f64.powi(digits as i32)).fract() == 0.5;
    let hair = if x > 0.0 { x.next_up() } else { x.next_down() };
    let exact =
        half && (x.abs() * 10f64.powi(digits as i32)) / 10f64.powi(digits as i32) == x.abs() && is_dyadic(x);
    let x = if exact { hair } else { x };
    if !put_fixed_point(out, x, digits) {
        out.extend_from_slice(format!("{x:.digits$}").as_bytes());
    }
}

/// The float with so many digits behind the point, exact halves rounded to even; not where the digits take more than 128 bits.
fn put_fixed_point(out: &mut Vec<u8>, x: f64, digits: usize) -> bool {
    const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = x.to_bits();
    let exponent = (bits >> MANTISSA & 0x7ff) as i32 - 1023 - MANTISSA as i32;
    // 53 binary digits and those of a power of ten up to 10^22 are at most 127.
    if digits > 22 || !(-126..=0).contains(&exponent) {
        return false;
    }
    let mantissa = bits & ((1 << MANTISSA) - 1) | 1 << MANTISSA;
    let shift = exponent.unsigned_abs();
    let scaled = u128::from(mantissa) * 10u128.pow(digits as u32);
    let (whole, rest, half) = (scaled >> shift, scaled & ((1 << shift) - 1), (1u128 << shift) >> 1);
    let up = shift > 0 && (rest > half || rest == half && whole & 1 == 1);
    let Ok(rounded) = i128::try_from(whole + u128::from(up)) else { return false };
    if x.is_sign_negative() {
        out.push(b'-');
    }
    chalet_text::write::number::decimal(out, rounded, digits as u8, true);
    true
}

/// Has the float so few binary digits that scaling it by a power of ten is exact?
fn is_dyadic(x: f64) -> bool {
    (x * 1024.0).fract() == 0.0
}

/// Decimal text without its last `drop` digits, rounded half away from zero.
fn rounded(text: &[u8], drop: usize, digits: usize) -> Vec<u8> {
    let mut kept = text[..text.len() - drop].to_vec();
    let up = text[text.len() - drop] >= b'5';
    if digits == 0 {
        // The point goes too.
        kept.pop();
    }
    if up {
        let mut at = kept.len();
        loop {
            if at == 0 || kept[at - 1] == b'-' {
                kept.insert(at, b'1');
                break;
            }
            at -= 1;
            match kept[at] {
                b'.' => {}
                b'9' => kept[at] = b'0',
                _ => {
                    kept[at] += 1;
                    break;
                }
            }
        }
    }
    kept
}

const CUT_TO_ZERO: Record = Record {
    name: "toStringCutToZero",
    summary: "A string up to its first zero byte.",
    syntax: "toStringCutToZero(s)",
    examples: &[Example { sql: "SELECT toStringCutToZero(toFixedString('ab', 5))", result: "ab" }],
    ..Record::DEFAULT
};

struct CutToZero;

impl ScalarFunction for CutToZero {
    fn record(&self) -> &'static Record {
        &CUT_TO_ZERO
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(CUT_TO_ZERO.name, args.len(), 1..=1)?;
        ensure!(
            args[0].ty.is_string(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument of function toStringCutToZero",
            args[0].ty
        );
        Ok(DataType::String.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let texts = text_of(call.vector(0))?;
        let mut out = Parts::of(&texts, call.n_rows);
        for (row, text) in texts.iter().enumerate() {
            out.push(row, 0..memchr::memchr(0, text).unwrap_or(text.len()));
        }
        Ok(Column::Flat(out.finish().into()))
    }
}

const TO_LOW_CARDINALITY: Record = Record {
    name: "toLowCardinality",
    summary: "The same values, dictionary-coded.",
    syntax: "toLowCardinality(x)",
    examples: &[Example { sql: "SELECT toLowCardinality('a')", result: "a" }],
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::Decoded,
    several_types: SeveralTypes::Seen,
    ..Record::DEFAULT
};

struct ToLowCardinality;

impl ScalarFunction for ToLowCardinality {
    fn record(&self) -> &'static Record {
        &TO_LOW_CARDINALITY
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(TO_LOW_CARDINALITY.name, args.len(), 1..=1)?;
        // The text form knows which types are refused.
        let ty: DataType = format!("LowCardinality({})", args[0].ty).parse()?;
        Ok(ty.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        Ok(call.vector(0).clone().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_rounded_as_by_the_formatter() {
        let mut bits = 0x3ff0_0000_0000_0001u64;
        let few = [0.5, 1.5, 2.5, 0.125, -0.125, -0.0001, 1e15, 4503599627370497.5, 123456.789, 1e-300, 0.1];
        let many = (0..20_000).map(|i| {
            bits = bits.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let x = (bits >> 12) as f64 / 2f64.powi(i % 70 - 5);
            if i % 3 == 0 { -x } else { x }
        });
        let mut quick = 0;
        for x in few.into_iter().chain(many) {
            for digits in [0, 1, 2, 3, 6, 15, 22, 23] {
                let mut out = Vec::new();
                if put_fixed_point(&mut out, x, digits) {
                    quick += 1;
                    assert_eq!(String::from_utf8_lossy(&out), format!("{x:.digits$}"), "{x:?} {digits}");
                }
            }
        }
        assert!(quick > 50_000, "{quick}");
    }
}
