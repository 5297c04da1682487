//! Functions of transactions, which are off in the kernel's embedded form, and of a server's keeper.

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Call, Context, Example, Nulls, Record, Volatility};
use chalet_types::{DataType, TupleField};

const BASE: Record = Record { nulls: Nulls::Seen, volatility: Volatility::PerQuery, ..Record::DEFAULT };

/// `bind` of these fails.
fn never(_: &Call) -> Result<Column> {
    bail!(LOGICAL_ERROR, "The function has no value")
}

pub static TRANSACTION_ID: Plain = Plain {
    record: Record {
        name: "transactionID",
        summary: "The identifier of the transaction that the statement is in: zeros, as outside of transactions.",
        syntax: "transactionID()",
        examples: &[Example {
            sql: "SELECT transactionID()",
            result: "(0,0,'00000000-0000-0000-0000-000000000000')",
        }],
        ..BASE
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 0..=0)?;
        let fields = [DataType::UInt64, DataType::UInt64, DataType::Uuid];
        Ok(DataType::Tuple(fields.map(|ty| TupleField { name: None, ty }).into()).into())
    },
    execute: |call| Ok(Column::constant(Vector::defaults(call.result, 1), call.n_rows)),
};

macro_rules! without_transactions {
    ($($name:literal, $summary:literal;)*) => {
        pub static SNAPSHOTS: &[Plain] = &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "()"),
                examples: &[Example {
                    sql: concat!("SELECT count() FROM system.functions WHERE name = '", $name, "'"),
                    result: "1",
                }],
                ..BASE
            },
            bind: |_, _, _| bail!(NOT_IMPLEMENTED, "Transactions are not supported"),
            execute: never,
        }),*];
    };
}

without_transactions! {
    "transactionLatestSnapshot", "The newest state that a transaction could see. There are no transactions, so it fails.";
    "transactionOldestSnapshot", "The oldest state that a transaction sees. There are no transactions, so it fails.";
}

pub static SERIAL_ID: Plain = Plain {
    record: Record {
        name: "generateSerialID",
        summary: "The next number of a series that a keeper counts. There is no keeper here, so it fails when it is called.",
        syntax: "generateSerialID(series[, start])",
        examples: &[Example {
            sql: "SELECT count() FROM system.functions WHERE name = 'generateSerialID'",
            result: "1",
        }],
        volatility: Volatility::PerRow,
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| {
        check_arity(name, args.len(), 1..=2)?;
        ensure!(
            args[0].ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Type of argument 1 of function {name} doesn't match: passed {}, should be String",
            args[0].ty
        );
        Ok(DataType::UInt64.into())
    },
    execute: |_| bail!(NO_ELEMENTS_IN_CONFIG, "There is no Zookeeper configuration in server config"),
};
