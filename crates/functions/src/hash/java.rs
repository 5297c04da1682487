//! `javaHash`, `javaHashUTF16LE`, `hiveHash`, `jumpConsistentHash`: hashes that other systems compute.
//!
//! Java hashes text and integers. Of another value the kernel hashes the bytes that hold it, as text.

use crate::conversion::bytes_of;
use crate::lanes::{Operand, try_binary, unary};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const JAVA: Record = Record {
    name: "javaHash",
    summary: "The hash code that Java gives a string or an integer; of other values it is that of their bytes.",
    syntax: "javaHash(x)",
    examples: &[Example { sql: "SELECT javaHash('Hello, world!')", result: "-1880044555" }],
    ..Record::DEFAULT
};

const JAVA_UTF16: Record = Record {
    name: "javaHashUTF16LE",
    summary: "The hash code that Java gives a string, of its UTF-16LE bytes.",
    syntax: "javaHashUTF16LE(s)",
    examples: &[Example {
        sql: "SELECT javaHashUTF16LE(convertCharset('test', 'utf-8', 'utf-16le'))",
        result: "3556498",
    }],
    ..Record::DEFAULT
};

const HIVE: Record = Record {
    name: "hiveHash",
    summary: "The hash that Hive gives a string: javaHash without its sign bit.",
    syntax: "hiveHash(s)",
    examples: &[Example { sql: "SELECT hiveHash('Hello, world!')", result: "267439093" }],
    ..Record::DEFAULT
};

const JUMP: Record = Record {
    name: "jumpConsistentHash",
    summary: "The bucket of a number by Google's jump consistent hash.",
    syntax: "jumpConsistentHash(x, buckets)",
    examples: &[Example { sql: "SELECT jumpConsistentHash(256, 10)", result: "3" }],
    constant_arguments: &[1],
    constants_before_types: true,
    ..Record::DEFAULT
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Java,
    JavaUtf16,
    Hive,
}

pub struct Foreign {
    record: &'static Record,
    kind: Kind,
}

pub const JAVA_FUNCTION: Foreign = Foreign { record: &JAVA, kind: Kind::Java };
pub const JAVA_UTF16_FUNCTION: Foreign = Foreign { record: &JAVA_UTF16, kind: Kind::JavaUtf16 };
pub const HIVE_FUNCTION: Foreign = Foreign { record: &HIVE, kind: Kind::Hive };

fn java(units: impl Iterator<Item = i32>) -> i32 {
    units.fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit))
}

/// Bytes count as signed, which they are in Java.
fn java_bytes(s: &[u8]) -> i32 {
    java(s.iter().map(|&byte| i32::from(byte as i8)))
}

impl ScalarFunction for Foreign {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        let system = if self.kind == Kind::Hive { "Hive" } else { "Java" };
        let Some(first) = args.first() else { return Ok(DataType::Int32.into()) };
        let ty = &first.ty;
        if self.kind == Kind::Java && unsigned(ty) {
            bail!(NOT_IMPLEMENTED, "Unsigned types are not supported");
        }
        ensure!(
            args.len() == 1 && !matches!(ty, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..)),
            NOT_IMPLEMENTED,
            "{system} hash is not combineable for multiple arguments"
        );
        ensure!(
            ty.is_string() || ty.physical().width().is_some(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of function {name}"
        );
        Ok(DataType::Int32.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        if call.args.is_empty() {
            // The kernel's seed of these hashes, cut to 32 bits.
            return Ok(Column::constant(Vector::from(vec![-31_267_812i32]), call.n_rows));
        }
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let narrow = x.ty.is_signed() && x.ty.physical().width().unwrap_or(16) <= 8;
        if self.kind == Kind::Java && narrow {
            let wide = *x.ty == DataType::Int64;
            let fold = |x: i64| if wide { (x ^ ((x as u64) >> 32) as i64) as i32 } else { x as i32 };
            return Ok(Vector::from(unary::<i64, i32>(x, n, fold)?).into());
        }
        let bytes;
        let strings: Vec<&[u8]> = match &x.vector.data {
            Data::Str(strings) => strings.iter().collect(),
            _ => {
                bytes = bytes_of(x.vector, x.ty)?;
                bytes.1.windows(2).map(|range| &bytes.0[range[0]..range[1]]).collect()
            }
        };
        Ok(match self.kind {
            Kind::Java => Vector::from(strings.into_iter().map(java_bytes).collect::<Vec<i32>>()),
            Kind::Hive => {
                Vector::from(strings.into_iter().map(|s| java_bytes(s) & i32::MAX).collect::<Vec<i32>>())
            }
            Kind::JavaUtf16 => {
                let mut hashes = Vec::with_capacity(n);
                for s in strings {
                    ensure!(
                        s.len() % 2 == 0,
                        BAD_ARGUMENTS,
                        "Arguments for javaHashUTF16LE must be in the form of UTF-16"
                    );
                    let units = s.as_chunks::<2>().0.iter().map(|unit| i32::from(u16::from_le_bytes(*unit)));
                    hashes.push(java(units));
                }
                Vector::from(hashes)
            }
        }
        .into())
    }
}

/// Integers without a sign, and what is stored as one.
fn unsigned(ty: &DataType) -> bool {
    ty.is_unsigned() || matches!(ty, DataType::Date | DataType::DateTime(_))
}

pub struct Jump;

impl ScalarFunction for Jump {
    fn record(&self) -> &'static Record {
        &JUMP
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(JUMP.name, args.len(), 2..=2)?;
        for arg in args {
            ensure!(
                arg.ty.is_integer(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument of function jumpConsistentHash",
                arg.ty
            );
        }
        Ok(DataType::Int32.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let buckets = try_binary::<u64, i64, i32>(
            Operand::of(call, 0),
            Operand::of(call, 1),
            call.n_rows,
            |mut key, buckets| {
                ensure!(
                    buckets > 0 && buckets <= i64::from(i32::MAX),
                    BAD_ARGUMENTS,
                    "The second argument of function jumpConsistentHash (number of buckets) must be positive number"
                );
                let (mut bucket, mut next) = (-1i64, 0i64);
                while next < buckets {
                    bucket = next;
                    key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
                    let step = (1u64 << 31) as f64 / ((key >> 33) + 1) as f64;
                    next = ((bucket + 1) as f64 * step) as i64;
                }
                Ok(bucket as i32)
            },
        )?;
        Ok(Vector::from(buckets).into())
    }
}
