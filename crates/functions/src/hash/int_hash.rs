//! `intHash32`, `intHash64`: mixers of 64-bit integers.

use crate::lanes::{Operand, unary};
use chalet_base::table_order::murmur_mix;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const HASH32: Record = Record {
    name: "intHash32",
    summary: "A 32-bit hash of an integer.",
    syntax: "intHash32(x)",
    examples: &[Example { sql: "SELECT intHash32(42)", result: "1228623923" }],
    total: true,
    ..Record::DEFAULT
};

const HASH64: Record = Record {
    name: "intHash64",
    summary: "A 64-bit hash of an integer.",
    syntax: "intHash64(x)",
    examples: &[Example { sql: "SELECT intHash64(1)", result: "10577349846663553072" }],
    total: true,
    ..Record::DEFAULT
};

/// With the kernel's salt.
pub fn mix_salted(x: u64) -> u64 {
    murmur_mix(x ^ 0x4cf2_d2ba_ae6d_a887)
}

/// 64 bits into 32, with the kernel's salt.
pub fn mix_32(x: u64) -> u32 {
    let x = x ^ 0x75d9_543d_e018_bf45;
    let mut x = (!x).wrapping_add(x << 18);
    x ^= x.rotate_right(31);
    x = x.wrapping_mul(21);
    x ^= x.rotate_right(11);
    x = x.wrapping_add(x << 6);
    x ^= x.rotate_right(22);
    x as u32
}

pub struct IntHash {
    record: &'static Record,
    wide: bool,
}

pub const HASH32_FUNCTION: IntHash = IntHash { record: &HASH32, wide: false };
pub const HASH64_FUNCTION: IntHash = IntHash { record: &HASH64, wide: true };

impl ScalarFunction for IntHash {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        let narrow = ty.physical().width().is_some_and(|width| width <= 8) && ty.is_comparable_by_number();
        ensure!(
            narrow && !ty.is_float(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of function {name}"
        );
        Ok(if self.wide { DataType::UInt64 } else { DataType::UInt32 }.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        Ok(if self.wide {
            Vector::from(unary::<u64, u64>(x, n, mix_salted)?)
        } else {
            Vector::from(unary::<u64, u32>(x, n, mix_32)?)
        }
        .into())
    }
}
