//! `groupConcat`: the texts of values, one after the other with a delimiter between them.

use crate::arrays::parameters::positive;
use crate::collect::{Collector, collecting};
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::strings::{Parts, StringBuilder, Strings};
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::aggregate::RowOrder;
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_text::{Style, TextSettings, Writer};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "groupConcat",
    any_case_aliases: &["group_concat", "string_agg"],
    summary: "The texts of all values, or of the first `limit` ones, with a delimiter between them.",
    syntax: "groupConcat([delimiter[, limit]])(x) or groupConcat(x, delimiter)",
    examples: &[Example {
        sql: "SELECT groupConcat(', ')(number), groupConcat(number, '-') FROM numbers(3)",
        result: "0, 1, 2\t0-1-2",
    }],
    row_order: RowOrder::Merged,
    // The kernel's are one text, in which an empty one alone is none.
    own_states: true,
    string_is_parameter: true,
    ..AggregateRecord::DEFAULT
};

pub struct GroupConcat;

impl AggregateFunction for GroupConcat {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        ensure!(
            matches!(args.len(), 1 | 2),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires single argument"
        );
        ensure!(
            parameters.len() <= 2,
            TOO_MANY_ARGUMENTS_FOR_FUNCTION,
            "Incorrect number of parameters for aggregate function {name}, should be 0, 1 or 2, got: {}",
            parameters.len()
        );
        let delimiter = match (args.get(1), parameters.first()) {
            (Some(arg), _) => match arg.constant.as_ref().and_then(Value::as_bytes) {
                Some(bytes) => bytes.to_vec(),
                None => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Second argument of aggregate function {name} should be a constant string"
                ),
            },
            (None, Some(parameter)) => match parameter.as_bytes() {
                Some(bytes) => bytes.to_vec(),
                None => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "First parameter for aggregate function {name} should be string"
                ),
            },
            (None, None) => Vec::new(),
        };
        let limit = parameters.get(1).map_or(Ok(usize::MAX), |limit| positive(name, limit))?;
        let settings = TextSettings { time_zone: ctx.time_zone.clone(), ..TextSettings::default() };
        Ok(collecting(Concat { ty: args[0].ty.clone(), delimiter, limit, settings }, args))
    }
}

struct Concat {
    ty: DataType,
    delimiter: Vec<u8>,
    limit: usize,
    settings: TextSettings,
}

impl Collector for Concat {
    fn result_type(&self) -> DataType {
        DataType::String
    }

    fn limit(&self) -> usize {
        self.limit
    }

    fn kept_types(&self) -> Option<Vec<DataType>> {
        Some(vec![DataType::String])
    }

    fn keep(&self, args: &[Vector]) -> Result<Vec<Vector>> {
        if self.ty == DataType::String {
            return Ok(args.to_vec());
        }
        let values = &args[0];
        let writer = Writer::new(&self.ty, Style::Raw, &self.settings);
        let is_fixed = matches!(self.ty.without_nullable(), DataType::FixedString(_));
        let mut texts = StringBuilder::with_capacity(values.len());
        for row in 0..values.len() {
            texts.push_with(|text| {
                let start = text.len();
                writer.write(text, values, row);
                if is_fixed {
                    // Without the zeros that fill the string up.
                    let len = text[start..].iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                    text.truncate(start + len);
                }
            });
        }
        Ok(vec![texts.finish().into()])
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let Values::Str(strings) = &mut out.values else {
            bail!(LOGICAL_ERROR, "groupConcat does not make a string");
        };
        let strings_of = args[0].strings()?;
        strings.push_with(|text| self.write(strings_of, rows, text, |_| {}));
        Ok(())
    }

    fn finish_growing(&self, args: &[Vector], rows: &[u32], ends: &[usize]) -> Result<Vector> {
        // One text, of which all results are beginnings. Views of 32 bits point into it.
        let (mut text, mut lengths) = (Vec::new(), vec![0]);
        self.write(args[0].strings()?, &rows[..ends.last().copied().unwrap_or(0)], &mut text, |len| {
            lengths.push(len)
        });
        ensure!(
            u32::try_from(text.len()).is_ok(),
            TOO_LARGE_STRING_SIZE,
            "Too large string size {}",
            text.len()
        );
        let mut whole = StringBuilder::default();
        whole.push_with(|to| *to = text);
        let whole = whole.finish();
        let mut results = Parts::of(&whole, ends.len());
        ends.iter().for_each(|&end| results.push(0, 0..lengths[end]));
        Ok(Data::Str(results.finish()).into())
    }
}

impl Concat {
    /// Appends the texts of rows, and calls `ended` with the length so far after each.
    fn write(&self, texts: &Strings, rows: &[u32], to: &mut Vec<u8>, mut ended: impl FnMut(usize)) {
        let start = to.len();
        for &row in rows {
            // None stands behind empty texts with which the whole begins.
            if to.len() > start {
                to.extend_from_slice(&self.delimiter);
            }
            to.extend_from_slice(texts.get(row as usize));
            ended(to.len());
        }
    }
}
