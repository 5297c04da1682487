//! `sqr`: a number times itself.

use super::operation::{Kind, Operation};
use crate::lanes::Operand;
use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};

const PRODUCT: Operation = Operation::new("multiply", Kind::Multiply);

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "sqr",
        case_insensitive: true,
        summary: "The square of a number, of the type of the product.",
        syntax: "sqr(x)",
        examples: &[Example { sql: "SELECT sqr(5), sqr(-1.5)", result: "25\t2.25" }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], ctx: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        if !ty.is_number() {
            return Err(PRODUCT.illegal(ty, ty));
        }
        Ok(PRODUCT.result(ty, ty, ctx)?.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let x = Operand::of(call, 0);
        Ok(PRODUCT.run(x, x, call.result, call.n_rows, call.ctx)?.into())
    },
};
