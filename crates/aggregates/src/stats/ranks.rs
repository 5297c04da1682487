//! `rankCorr` and `mannWhitneyUTest`: statistics of the ranks of values.

use crate::check::{no_parameters, two_arguments};
use crate::collect::{Collector, collecting};
use crate::floats::{Floats, divisor};
use crate::stats::special::normal_above;
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, TupleField, Value};
use std::sync::Arc;

const CORRELATION: AggregateRecord = AggregateRecord {
    name: "rankCorr",
    summary: "Spearman's coefficient of the correlation of ranks.",
    syntax: "rankCorr(x, y)",
    examples: &[Example {
        sql: "SELECT rankCorr(x, y) FROM values('x Float64, y Float64', (1, 2), (2, 5), (3, 1), (4, 9), (5, 7))",
        result: "0.6",
    }],
    ..AggregateRecord::DEFAULT
};

const MANN_WHITNEY: AggregateRecord = AggregateRecord {
    name: "mannWhitneyUTest",
    summary: "The Mann-Whitney test of two samples: the statistic U and the p-value. The second argument is 0 or 1 for \
              the two samples.",
    syntax: "mannWhitneyUTest([alternative[, continuity_correction]])(x, sample_index)",
    examples: &[Example {
        sql: "SELECT mannWhitneyUTest(x, y).1 FROM values('x Float64, y UInt8', (10, 0), (11, 0), (12, 0), (1, 1), \
              (2, 1), (3, 1))",
        result: "9",
    }],
    ..AggregateRecord::DEFAULT
};

pub struct RankCorr;
pub struct MannWhitney;

/// Ranks from 1, equal values sharing the mean of theirs; and how many values are equal, group by group.
fn ranks(values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = Vec::new();
    let mut start = 0;
    while start < order.len() {
        let equal = order[start..].iter().take_while(|&&i| values[i] == values[order[start]]).count().max(1);
        let rank = (start + 1 + start + equal) as f64 / 2.0;
        order[start..start + equal].iter().for_each(|&i| ranks[i] = rank);
        ties.push(equal as f64);
        start += equal;
    }
    (ranks, ties)
}

impl AggregateFunction for RankCorr {
    fn record(&self) -> &'static AggregateRecord {
        &CORRELATION
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(CORRELATION.name, parameters)?;
        two_arguments(CORRELATION.name, args)?;
        if args.iter().any(|arg| !arg.ty.is_number()) {
            bail!(NOT_IMPLEMENTED, "Aggregate function rankCorr only supports numerical types");
        }
        Ok(collecting(Correlation { divisors: [divisor(&args[0].ty), divisor(&args[1].ty)] }, args))
    }
}

struct Correlation {
    divisors: [f64; 2],
}

fn column(args: &[Vector], arg: usize, divisor: f64, rows: &[u32]) -> Result<Vec<f64>> {
    let values = Floats::of(&args[arg], divisor)?;
    Ok(rows.iter().map(|&row| values.get(row as usize)).collect())
}

impl Collector for Correlation {
    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let (x, _) = ranks(&column(args, 0, self.divisors[0], rows)?);
        let (y, _) = ranks(&column(args, 1, self.divisors[1], rows)?);
        let squares: f64 = x.iter().zip(&y).map(|(x, y)| (x - y) * (x - y)).sum();
        let n = rows.len() as f64;
        out.natives::<f64>()?.push(1.0 - 6.0 * squares / (n * (n * n - 1.0)));
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Alternative {
    TwoSided,
    Less,
    Greater,
}

impl AggregateFunction for MannWhitney {
    fn record(&self) -> &'static AggregateRecord {
        &MANN_WHITNEY
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = MANN_WHITNEY.name;
        two_arguments(name, args)?;
        ensure!(
            parameters.len() <= 2,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} require two parameter or less"
        );
        if args.iter().any(|arg| !arg.ty.is_number()) {
            bail!(NOT_IMPLEMENTED, "Aggregate function {name} only supports numerical types");
        }
        let alternative = match parameters.first().map(Value::as_bytes) {
            None | Some(Some(b"two-sided")) => Alternative::TwoSided,
            Some(Some(b"less")) => Alternative::Less,
            Some(Some(b"greater")) => Alternative::Greater,
            _ => bail!(
                BAD_ARGUMENTS,
                "Unknown alternative in aggregate function {name}. It must be one of: 'two-sided', 'less', 'greater'"
            ),
        };
        let corrects = match parameters.get(1).map(Value::as_u64) {
            None => true,
            Some(Some(n)) => n != 0,
            Some(None) => {
                bail!(BAD_ARGUMENTS, "Aggregate function {name} require second parameter to be a UInt64")
            }
        };
        Ok(collecting(Test { alternative, corrects, divisor: divisor(&args[0].ty) }, args))
    }
}

struct Test {
    alternative: Alternative,
    /// Half a step towards the mean, because ranks are whole numbers.
    corrects: bool,
    divisor: f64,
}

impl Collector for Test {
    fn result_type(&self) -> DataType {
        let field = |name: &str| TupleField { name: Some(name.into()), ty: DataType::Float64 };
        DataType::Tuple([field("u_statistic"), field("p_value")].into_iter().collect())
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let values = column(args, 0, self.divisor, rows)?;
        let samples = column(args, 1, 1.0, rows)?;
        let total = values.len() as f64;
        let n = samples.iter().filter(|&&sample| sample == 0.0).count() as f64;
        let m = total - n;
        ensure!(
            n > 0.0 && m > 0.0,
            BAD_ARGUMENTS,
            "Aggregate function mannWhitneyUTest require both samples to be non empty"
        );
        let (ranks, ties) = ranks(&values);
        let sum: f64 = ranks.iter().zip(&samples).filter(|(_, sample)| **sample == 0.0).map(|(r, _)| r).sum();
        let below = n * m + n * (n + 1.0) / 2.0 - sum;
        let above = n * m - below;
        let tied: f64 = ties.iter().map(|t| t * t * t - t).sum();
        let correction = 1.0 - tied / (total * total * total - total);
        let deviation = (correction * n * m * (total + 1.0) / 12.0).sqrt();
        let u = match self.alternative {
            Alternative::TwoSided => below.max(above),
            Alternative::Less => below,
            Alternative::Greater => above,
        };
        let step = if self.corrects { 0.5 } else { 0.0 };
        let z = (u - n * m / 2.0 - step) / deviation;
        let p = match self.alternative {
            Alternative::TwoSided => 2.0 * normal_above(z.abs()),
            _ => normal_above(z),
        };
        let Values::Struct { fields, len } = &mut out.values else {
            bail!(LOGICAL_ERROR, "mannWhitneyUTest does not make a tuple");
        };
        fields[0].natives::<f64>()?.push(above);
        fields[1].natives::<f64>()?.push(p.min(1.0));
        *len += 1;
        Ok(())
    }
}
