//! `kostikConsistentHash`: Oblakov's consistent hash, in constant time.

use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use chalet_base::{Result, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "kostikConsistentHash",
        aliases: &["yandexConsistentHash"],
        summary: "The bucket of a number by Oblakov's consistent hash, for at most 32768 buckets.",
        syntax: "kostikConsistentHash(x, buckets)",
        examples: &[Example { sql: "SELECT kostikConsistentHash(16045690984833335023, 2)", result: "1" }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

const MOST_BUCKETS: i128 = 32_768;

struct Buckets(u64);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    for arg in args {
        let native = arg.ty.is_integer() && arg.ty.physical().width().is_some_and(|width| width <= 8);
        ensure!(native, ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument of function {name}", arg.ty);
    }
    let n = args[1].constant.as_ref().and_then(|value| value.as_i256()).ok_or_else(|| {
        err!(ILLEGAL_COLUMN, "Illegal column of the second argument of function {name}, must be constant")
    })?;
    let n = i128::try_from(n).unwrap_or(0);
    ensure!(
        n > 0,
        BAD_ARGUMENTS,
        "The second argument of function {name} (number of buckets) must be positive number"
    );
    ensure!(
        n <= MOST_BUCKETS,
        BAD_ARGUMENTS,
        "The value of the second argument of function {name} (number of buckets) must not be greater than {MOST_BUCKETS}"
    );
    Ok(Bound::with_state(DataType::UInt16, Buckets(n as u64)))
}

fn execute(call: &Call) -> Result<Column> {
    let &Buckets(n) = call.state()?;
    let buckets = unary::<u64, u16>(Operand::of(call, 0), call.n_rows, |x| bucket(x, n) as u16)?;
    Ok(Vector::from(buckets).into())
}

/// The number is four blocks of 16 bits. The lowest bits of one of them choose the bucket's highest bit, the parity of their ones chooses
/// which of two other blocks gives the lower bits. Between powers of two, all remaining bits decide who moves to the new buckets.
fn bucket(x: u64, n: u64) -> u64 {
    let block = |i: u32| u64::from((x >> (16 * i)) as u16);
    let [a, b, c, d] = [block(0), block(1), block(2), block(3)];
    if n <= 1 {
        return 0;
    }
    let bits = u64::BITS - (n - 1).leading_zeros();
    let of_power = |bits: u32| {
        let chosen = c & ((1 << bits) - 1);
        if chosen < 2 {
            return chosen;
        }
        let high = 1u64 << (u64::BITS - 1 - chosen.leading_zeros());
        let low = if chosen.count_ones() % 2 == 0 { a } else { b };
        high + (low & (high - 1))
    };
    let large = of_power(bits);
    if large < n {
        return large;
    }
    let half = 1u64 << (bits - 1);
    let shift = 16 - bits;
    let mut rest = (d << shift) | (c >> bits);
    for block in [b, a] {
        rest = (rest << (shift + 1)) | (block >> (bits - 1));
    }
    let moved = ((rest % (large * (large + 1))) >> bits) + half;
    if moved < n { moved } else { of_power(bits - 1) }
}
