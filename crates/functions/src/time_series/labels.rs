//! Names and numbers as Prometheus writes them.

use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, ensure};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Column, Data, StringBuilder};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;

static SUFFIXES: Plain = Plain {
    record: Record {
        name: "timeSeriesMetricTypeToSuffixes",
        summary: "The suffixes of the names of the series that a metric of a type has.",
        syntax: "timeSeriesMetricTypeToSuffixes(type)",
        examples: &[Example {
            sql: "SELECT timeSeriesMetricTypeToSuffixes('histogram')",
            result: "['_bucket','_count','_sum']",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        ensure!(
            args[0].ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'type' to function '{name}'. Expected: String, got: {}",
            args[0].ty
        );
        Ok(DataType::String.array().into())
    },
    execute: |call: &Call| -> Result<Column> {
        let types = StringArg::of(call, 0)?;
        let mut out = Builder::new(call.result);
        for row in 0..call.n_rows {
            let suffixes: &[&str] = match types.get(row) {
                b"counter" => &["", "_total"],
                b"histogram" => &["_bucket", "_count", "_sum"],
                b"summary" => &["", "_count", "_sum"],
                b"info" => &["", "_info"],
                b"gaugehistogram" => &["_bucket", "_gcount", "_gsum"],
                _ => &[""],
            };
            if let Values::List(list) = &mut out.values {
                if let Values::Str(texts) = &mut list.values.values {
                    suffixes.iter().for_each(|suffix| texts.push(suffix.as_bytes()));
                }
                list.close();
            }
        }
        Ok(out.finish().into())
    },
};

static VALUE_TO_STRING: Plain = Plain {
    record: Record {
        name: "timeSeriesPrometheusValueToString",
        summary: "A number as Prometheus writes it: never with an exponent.",
        syntax: "timeSeriesPrometheusValueToString(value)",
        examples: &[Example { sql: "SELECT timeSeriesPrometheusValueToString(1e-7)", result: "0.0000001" }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        ensure!(
            matches!(args[0].ty, DataType::Float32 | DataType::Float64),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument #1 of function {name} has wrong type {}, expected Float32 or Float64",
            args[0].ty
        );
        Ok(DataType::String.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let mut out = StringBuilder::default();
        let mut push = |x: f64| {
            if x.is_nan() {
                out.push(b"NaN");
            } else if x.is_infinite() {
                out.push(if x > 0.0 { b"+Inf" } else { b"-Inf" });
            } else {
                out.push(format!("{x}").as_bytes());
            }
        };
        match &call.vector(0).data {
            Data::F32(values) => values.iter().for_each(|&x| push(x.into())),
            _ => call.vector(0).values::<f64>()?.iter().for_each(|&x| push(x)),
        }
        Ok(chalet_columns::Vector::from(Data::Str(out.finish())).into())
    },
};

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&SUFFIXES);
    registry.add_scalar(&VALUE_TO_STRING);
}
