//! `countDigits`, `isDecimalOverflow`: decimal digits of integers and decimals.

use crate::lanes::{Operand, try_binary, unary};
use crate::number::{Integer, Number};
use crate::with_integer;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const COUNT_DIGITS: Record = Record {
    name: "countDigits",
    summary: "The number of decimal digits of an integer, or of a decimal without its point.",
    syntax: "countDigits(x)",
    examples: &[Example {
        sql: "SELECT countDigits(12345), countDigits(toDecimal32(1.23, 2))",
        result: "5\t3",
    }],
    total: true,
    ..Record::DEFAULT
};

const IS_OVERFLOW: Record = Record {
    name: "isDecimalOverflow",
    summary: "1 when a decimal has more digits than the given precision, or than its own.",
    syntax: "isDecimalOverflow(x[, precision])",
    examples: &[Example { sql: "SELECT isDecimalOverflow(toDecimal32(1.23, 2), 2)", result: "1" }],
    total: true,
    ..Record::DEFAULT
};

pub struct CountDigits;
pub struct IsDecimalOverflow;

fn digits<C: Integer + Number>(x: C) -> u8 {
    let mut ten = C::ONE;
    (0..9).for_each(|_| ten = ten.add(C::ONE));
    let (mut rest, mut count) = (x.div(ten), 1);
    while rest != C::ZERO {
        rest = rest.div(ten);
        count += 1;
    }
    count
}

impl ScalarFunction for CountDigits {
    fn record(&self) -> &'static Record {
        &COUNT_DIGITS
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(COUNT_DIGITS.name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        ensure!(
            ty.is_integer() || ty.is_decimal(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of function countDigits"
        );
        Ok(DataType::UInt8.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let counts = with_integer!(x.vector.data.physical(), C => unary::<C, u8>(x, n, digits::<C>)?,
            _ => bail!(LOGICAL_ERROR, "{} has no digits", x.ty));
        Ok(Vector::from(counts).into())
    }
}

impl ScalarFunction for IsDecimalOverflow {
    fn record(&self) -> &'static Record {
        &IS_OVERFLOW
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(IS_OVERFLOW.name, args.len(), 1..=2)?;
        let ty = &args[0].ty;
        ensure!(
            ty.is_decimal(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of function isDecimalOverflow"
        );
        if let Some(precision) = args.get(1) {
            ensure!(
                precision.ty == DataType::UInt8,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of second argument of function isDecimalOverflow",
                precision.ty
            );
        }
        Ok(DataType::UInt8.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let DataType::Decimal { precision, .. } = x.ty else {
            bail!(LOGICAL_ERROR, "{} is no Decimal", x.ty);
        };
        let own = Vector::from(vec![*precision]);
        let own = Operand { ty: &DataType::UInt8, vector: &own, constant: true };
        let precision = if call.args.len() > 1 { Operand::of(call, 1) } else { own };
        let over = with_integer!(x.vector.data.physical(), C => {
            try_binary::<C, u8, u8>(x, precision, n, |x, precision| Ok(u8::from(x != C::ZERO && digits::<C>(x) > precision)))?
        }, _ => bail!(LOGICAL_ERROR, "{} has no digits", x.ty));
        Ok(Vector::from(over).into())
    }
}
