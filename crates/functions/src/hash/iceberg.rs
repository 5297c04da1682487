//! `icebergHash`, `icebergBucket`, `icebergTruncate`: the transforms of Iceberg's partitions, as its specification has them.

use super::murmur::murmur3_32;
use crate::conversion::cast::{Mode, Rules, convert};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, StringBuilder, Strings, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::{DataType, I256, Value};

fn check_hashed(ty: &DataType) -> Result<()> {
    match ty {
        DataType::UInt128 | DataType::UInt256 | DataType::Int128 | DataType::Int256 => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Type `{ty}` is not supported by icebergHash: the Iceberg specification only defines hashing for `int` (32-bit), \
             `long` (64-bit), and `decimal(P,S)` with P <= 38"
        ),
        DataType::Decimal { precision, .. } if *precision > 38 => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Type `{ty}` is not supported by icebergHash: the Iceberg specification only defines `decimal(P,S)` with P <= 38"
        ),
        DataType::DateTime64(6 | 9, _) => Ok(()),
        DataType::DateTime64(..) => bail!(
            BAD_ARGUMENTS,
            "Unsupported scale for DateTime64 in IcebergHash function. Supports only microseconds and nanoseconds"
        ),
        DataType::Bool | DataType::String | DataType::FixedString(_) | DataType::Uuid => Ok(()),
        DataType::Date | DataType::Date32 | DataType::Float32 | DataType::Float64 => Ok(()),
        ty if ty.is_integer() || ty.is_decimal() => Ok(()),
        _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Unsupported data type `{ty}` for icebergHash"),
    }
}

/// The fewest bytes of the number's two's complement, the highest first.
fn of_unscaled(number: i128) -> i32 {
    let bytes = number.to_be_bytes();
    let is_spare = |at: usize| {
        let sign = if number < 0 { 0xff } else { 0 };
        bytes[at] == sign && (bytes[at + 1] ^ sign) < 0x80
    };
    let start = (0..bytes.len() - 1).find(|at| !is_spare(*at)).unwrap_or(bytes.len() - 1);
    of_bytes(&bytes[start..])
}

fn of_bytes(bytes: &[u8]) -> i32 {
    murmur3_32(bytes, 0) as i32
}

fn of_long(number: i64) -> i32 {
    of_bytes(&number.to_le_bytes())
}

fn of_double(number: f64) -> i32 {
    let bits = if number == 0.0 {
        0
    } else if number.is_nan() {
        f64::NAN.to_bits()
    } else {
        number.to_bits()
    };
    of_long(bits as i64)
}

fn hashes(vector: &Vector, ty: &DataType, ctx: &Context) -> Result<Vec<i32>> {
    let rules = Rules::new(Mode::Cast, ctx);
    let to = |wanted: DataType| convert(vector, ty, &wanted, &rules);
    Ok(match ty {
        DataType::String => vector.strings()?.iter().map(of_bytes).collect(),
        DataType::FixedString(_) | DataType::Uuid => vector.fixed()?.iter().map(of_bytes).collect(),
        DataType::Float32 | DataType::Float64 => {
            to(DataType::Float64)?.values::<f64>()?.iter().map(|x| of_double(*x)).collect()
        }
        DataType::Date => vector.values::<u16>()?.iter().map(|days| of_long((*days).into())).collect(),
        DataType::Date32 => vector.values::<i32>()?.iter().map(|days| of_long((*days).into())).collect(),
        DataType::DateTime64(scale, _) => {
            // Microseconds, whatever else there is.
            let divisor = if *scale == 9 { 1000 } else { 1 };
            vector.values::<i64>()?.iter().map(|ticks| of_long(ticks.div_euclid(divisor))).collect()
        }
        DataType::Decimal { .. } => {
            let unscaled = |row| vector.value(row).as_i256().unwrap_or(I256::ZERO);
            (0..vector.len()).map(|row| of_unscaled(unscaled(row).as_i128())).collect()
        }
        _ => to(DataType::Int64)?.values::<i64>()?.iter().map(|x| of_long(*x)).collect(),
    })
}

fn bind_hash(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    check_hashed(&args[0].ty)?;
    Ok(DataType::Int32.into())
}

/// The constant that the first argument is.
fn constant<'a>(name: &str, args: &'a [Argument]) -> Result<&'a Value> {
    match &args[0].constant {
        Some(value) => Ok(value),
        None => bail!(ILLEGAL_COLUMN, "Argument at index 0 for function {name} must be constant"),
    }
}

struct Buckets(u32);

fn bind_bucket(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let value = constant(name, args)?;
    let ty = &args[0].ty;
    ensure!(ty.is_integer() || *ty == DataType::Bool, BAD_GET, "Bad get: has {ty}, requested Int64");
    let buckets = value.as_i64().and_then(|n| u32::try_from(n).ok()).filter(|n| i32::try_from(*n).is_ok());
    let Some(buckets) = buckets.filter(|n| *n > 0) else {
        bail!(
            BAD_ARGUMENTS,
            "Function IcebergBucket accepts only positive bucket size which is suitable to Int32"
        );
    };
    check_hashed(&args[1].ty)?;
    Ok(Bound::with_state(DataType::UInt32, Buckets(buckets)))
}

fn execute_bucket(call: &Call) -> Result<Column> {
    let Buckets(n) = call.state()?;
    let hashes = hashes(call.vector(1), call.args[1].ty, call.ctx)?;
    let buckets: Vec<u32> = hashes.into_iter().map(|hash| (hash as u32 & i32::MAX as u32) % n).collect();
    Ok(Vector::from(buckets).into())
}

struct Width(u64);

fn bind_truncate(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    ensure!(args[0].ty.is_unsigned(), ILLEGAL_TYPE_OF_ARGUMENT, "First argument should be UInt data type");
    let width = constant(name, args)?.as_u64().filter(|width| *width > 0);
    let Some(width) = width else {
        bail!(BAD_ARGUMENTS, "Function {name} accepts only positive width");
    };
    let bytes = |ty: &DataType| ty.physical().width().unwrap_or(8);
    let ty = &args[1].ty;
    let result = match ty {
        DataType::String | DataType::FixedString(_) => DataType::String,
        DataType::Decimal { precision: ..=18, .. } => ty.clone(),
        ty if (ty.is_integer() || *ty == DataType::Bool) && bytes(ty) <= 8 => {
            match bytes(ty).max(bytes(&args[0].ty)) {
                1 => DataType::Int16,
                2 => DataType::Int32,
                _ => DataType::Int64,
            }
        }
        _ => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Second argument must be of native integer type, String/FixedString, Decimal"
        ),
    };
    Ok(Bound::with_state(result, Width(width)))
}

/// The multiple of the width at or below a number.
fn truncated(number: i128, width: u64) -> i64 {
    (number - number.rem_euclid(width.into())) as i64
}

/// So many characters of UTF-8 from the front.
fn front(text: &[u8], width: u64) -> &[u8] {
    let is_start = |byte: &u8| byte & 0xc0 != 0x80;
    let mut ends = text.iter().enumerate().filter(|(_, byte)| is_start(byte)).map(|(at, _)| at);
    let end = usize::try_from(width).ok().and_then(|width| ends.nth(width));
    &text[..end.unwrap_or(text.len())]
}

fn execute_truncate(call: &Call) -> Result<Column> {
    let Width(width) = *call.state()?;
    let (vector, ty) = (call.vector(1), call.args[1].ty);
    let rules = Rules::new(Mode::Cast, call.ctx);
    if *call.result == DataType::String {
        let text = convert(vector, ty, &DataType::String, &rules)?;
        let strings: &Strings = text.strings()?;
        let mut out = StringBuilder::with_capacity(strings.len());
        strings.iter().for_each(|text| out.push(front(text, width)));
        return Ok(Vector::from(out.finish()).into());
    }
    let number = |row: usize| vector.value(row).as_i256().unwrap_or(I256::ZERO).as_i128();
    let numbers: Vec<i64> = (0..vector.len()).map(|row| truncated(number(row), width)).collect();
    let made = Vector::from(numbers);
    Ok(match call.result {
        // Their representation is the number without the point.
        DataType::Decimal { precision: ..=9, .. } => {
            convert(&made, &DataType::Int64, &DataType::Int32, &rules)?
        }
        DataType::Decimal { .. } => made,
        result => convert(&made, &DataType::Int64, result, &rules)?,
    }
    .into())
}

static FUNCTIONS: [Plain; 3] = [
    Plain {
        record: Record {
            name: "icebergHash",
            summary: "The 32-bit hash of a value by which Iceberg chooses buckets.",
            syntax: "icebergHash(x)",
            examples: &[Example {
                sql: "SELECT icebergHash('iceberg'), icebergHash(34)",
                result: "1210000089\t2017239379",
            }],
            ..Record::DEFAULT
        },
        bind: bind_hash,
        execute: |call| Ok(Vector::from(hashes(call.vector(0), call.args[0].ty, call.ctx)?).into()),
    },
    Plain {
        record: Record {
            name: "icebergBucket",
            summary: "The bucket, of so many, that Iceberg puts a value into.",
            syntax: "icebergBucket(n, x)",
            examples: &[Example { sql: "SELECT icebergBucket(16, 'iceberg')", result: "9" }],
            ..Record::DEFAULT
        },
        bind: bind_bucket,
        execute: execute_bucket,
    },
    Plain {
        record: Record {
            name: "icebergTruncate",
            summary: "A number rounded down to a multiple of the width, or so many characters from the front of a string.",
            syntax: "icebergTruncate(width, x)",
            examples: &[Example {
                sql: "SELECT icebergTruncate(10, -1), icebergTruncate(3, 'iceberg')",
                result: "-10\tice",
            }],
            ..Record::DEFAULT
        },
        bind: bind_truncate,
        execute: execute_truncate,
    },
];

pub fn register(registry: &mut Registry) {
    for function in &FUNCTIONS {
        registry.add_scalar(function);
    }
}
