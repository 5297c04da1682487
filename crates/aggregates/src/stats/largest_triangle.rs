//! `largestTriangleThreeBuckets`: a few points whose curve looks like that of all points.

use crate::check::two_arguments;
use crate::collect::{Collector, collecting};
use crate::floats::{Floats, divisor};
use crate::quantile::push_float;
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "largestTriangleThreeBuckets",
    aliases: &["lttb"],
    summary: "At most n points, sorted by x, that form the largest triangles with their neighbours: the curve through them \
              looks like the one through all points.",
    syntax: "largestTriangleThreeBuckets(n)(x, y)",
    examples: &[Example {
        sql: "SELECT largestTriangleThreeBuckets(4)(number, number % 4 * number) FROM numbers(12)",
        result: "[(0,0),(4,0),(8,0),(11,33)]",
    }],
    ..AggregateRecord::DEFAULT
};

pub struct LargestTriangle;

/// The type in which a coordinate comes back: dates and times without their zones, everything else as floats.
fn coordinate_type(ty: &DataType) -> Option<DataType> {
    Some(match ty {
        DataType::Date | DataType::Date32 => ty.clone(),
        DataType::DateTime(_) => DataType::DateTime(None),
        DataType::DateTime64(scale, _) => DataType::DateTime64(*scale, None),
        _ if ty.is_number() => DataType::Float64,
        _ => return None,
    })
}

impl AggregateFunction for LargestTriangle {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        two_arguments(name, args)?;
        let coordinate = |index: usize, which: &str| match coordinate_type(&args[index].ty) {
            Some(ty) => Ok(ty),
            None => bail!(
                NOT_IMPLEMENTED,
                "Aggregate function {name} only supports Date, Date32, DateTime, DateTime64 and Number as the {which} argument"
            ),
        };
        let types = [coordinate(0, "first")?, coordinate(1, "second")?];
        ensure!(
            parameters.len() == 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} require one parameter"
        );
        let Value::UInt(n_points) = parameters[0] else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Aggregate function {name} require first parameter to be a UInt64"
            );
        };
        let divisors = [divisor(&args[0].ty), divisor(&args[1].ty)];
        Ok(collecting(
            Points { n_points: usize::try_from(n_points).unwrap_or(usize::MAX), types, divisors },
            args,
        ))
    }
}

struct Points {
    n_points: usize,
    types: [DataType; 2],
    divisors: [f64; 2],
}

impl Collector for Points {
    fn result_type(&self) -> DataType {
        DataType::tuple(self.types.to_vec()).array()
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let (xs, ys) = (Floats::of(&args[0], self.divisors[0])?, Floats::of(&args[1], self.divisors[1])?);
        let point = |&row: &u32| (xs.get(row as usize), ys.get(row as usize));
        let mut points: Vec<(f64, f64)> =
            rows.iter().map(point).filter(|(x, y)| !x.is_nan() && !y.is_nan()).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "Points are not a list");
        };
        for (x, y) in reduced(&points, self.n_points) {
            let Values::Struct { fields, len } = &mut list.values.values else {
                bail!(LOGICAL_ERROR, "A point is not a tuple");
            };
            push_float(x, &mut fields[0])?;
            push_float(y, &mut fields[1])?;
            *len += 1;
        }
        list.close();
        Ok(())
    }
}

/// The first and the last of sorted points, and from each bucket between them the one that forms the largest triangle with the
/// point chosen before it and the mean of the next bucket.
fn reduced(points: &[(f64, f64)], n: usize) -> Vec<(f64, f64)> {
    if points.len() <= n {
        return points.to_vec();
    }
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return Vec::new() };
    match n {
        0 => return Vec::new(),
        1 => return vec![first],
        2 => return vec![first, last],
        _ => {}
    }
    let size = (points.len() - 2) as f64 / (n - 2) as f64;
    let mut chosen = vec![first];
    let (mut start, mut center) = (1, 1 + size.floor() as usize);
    for i in 0..n - 2 {
        let end = (1 + (size * (i + 2) as f64).floor() as usize).min(points.len());
        let next = &points[center..end];
        let (mean_x, mean_y) = next.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        let (mean_x, mean_y) = (mean_x / next.len() as f64, mean_y / next.len() as f64);
        let (x, y) = chosen[chosen.len() - 1];
        let (mut best, mut greatest) = (start, 0.0);
        for (j, point) in points.iter().enumerate().take(center).skip(start) {
            let area = (0.5
                * (x * point.1 + point.0 * mean_y + mean_x * y
                    - x * mean_y
                    - point.0 * y
                    - mean_x * point.1))
                .abs();
            if area > greatest {
                (best, greatest) = (j, area);
            }
        }
        chosen.push(points[best]);
        (start, center) = (center, end);
    }
    chosen.push(last);
    chosen
}
