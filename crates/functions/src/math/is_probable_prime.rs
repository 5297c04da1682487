//! `isProbablePrime`: whether an unsigned integer of any width is a prime number, which for the widest is only very likely.

use super::is_prime::is_prime;
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use chalet_base::{Result, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, U256};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "isProbablePrime",
        summary: "1 when an unsigned integer is a prime number, otherwise 0: exact up to 64 bits, beyond that by as many rounds of Miller \
                  and Rabin's test as the second argument says.",
        syntax: "isProbablePrime(n[, rounds])",
        examples: &[Example {
            sql: "SELECT isProbablePrime(17), isProbablePrime(toUInt128('170141183460469231731687303715884105727'))",
            result: "1\t1",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

struct Rounds(u64);

const USUAL_ROUNDS: u64 = 25;
const MOST_ROUNDS: u64 = 256;

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    let unsigned = |ty: &DataType| ty.is_unsigned() || *ty == DataType::Bool;
    crate::string_args::check_type(unsigned(&args[0].ty), name, 0, "UInt", &args[0].ty)?;
    let mut rounds = USUAL_ROUNDS;
    if let Some(arg) = args.get(1) {
        let native = unsigned(&arg.ty) && arg.ty.physical().width().is_some_and(|width| width <= 8);
        crate::string_args::check_type(native, name, 1, "const UInt8/UInt16/UInt32/UInt64", &arg.ty)?;
        rounds = arg
            .constant
            .as_ref()
            .and_then(|value| value.as_u64())
            .ok_or_else(|| err!(ILLEGAL_COLUMN, "Argument 2 of function {name} must be constant"))?;
        ensure!(
            (1..=MOST_ROUNDS).contains(&rounds),
            BAD_ARGUMENTS,
            "Number of rounds of function {name} must be between 1 and {MOST_ROUNDS}, got {rounds}"
        );
    }
    Ok(Bound::with_state(DataType::UInt8, Rounds(rounds)))
}

fn execute(call: &Call) -> Result<Column> {
    let &Rounds(rounds) = call.state()?;
    let operand = Operand::of(call, 0);
    let wide = operand.ty.physical().width().is_some_and(|width| width > 8);
    let answers = match wide {
        false => unary::<u64, u8>(operand, call.n_rows, |n| u8::from(is_prime(n)))?,
        true => unary::<U256, u8>(operand, call.n_rows, |n| u8::from(is_probable_prime(n, rounds)))?,
    };
    Ok(Vector::from(answers).into())
}

fn is_probable_prime(n: U256, rounds: u64) -> bool {
    if let Ok(n) = u64::try_from(n) {
        return is_prime(n);
    }
    // The primes below 100 take most of the others out.
    let small = (2u64..100).filter(|&p| is_prime(p));
    if small.clone().any(|p| n % U256::from(p) == U256::ZERO) {
        return false;
    }
    let one = U256::ONE;
    let twos = (n - one).trailing_zeros();
    let odd = (n - one) >> twos;
    // Witnesses that depend on the number alone, so that equal numbers get equal answers.
    let mut seed = (n ^ (n >> 64u32) ^ (n >> 128u32) ^ (n >> 192u32)).as_u64();
    (0..rounds).all(|_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let witness = U256::from((seed >> 1) | 2);
        let mut x = power(witness, odd, n);
        if x == one || x == n - one {
            return true;
        }
        for _ in 1..twos {
            x = product(x, x, n);
            if x == n - one {
                return true;
            }
        }
        false
    })
}

fn sum(a: U256, b: U256, modulus: U256) -> U256 {
    let (total, overflowed) = a.overflowing_add(b);
    if overflowed || total >= modulus { total.wrapping_sub(modulus) } else { total }
}

/// By doubling, bit by bit: a product of 512 bits has no type here.
fn product(a: U256, b: U256, modulus: U256) -> U256 {
    let mut total = U256::ZERO;
    for bit in (0..U256::BITS - b.leading_zeros()).rev() {
        total = sum(total, total, modulus);
        if (b >> bit) & U256::ONE == U256::ONE {
            total = sum(total, a, modulus);
        }
    }
    total
}

fn power(base: U256, exponent: U256, modulus: U256) -> U256 {
    let mut result = U256::ONE;
    for bit in (0..U256::BITS - exponent.leading_zeros()).rev() {
        result = product(result, result, modulus);
        if (exponent >> bit) & U256::ONE == U256::ONE {
            result = product(result, base, modulus);
        }
    }
    result
}
