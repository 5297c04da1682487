//! `polygonConvexHullCartesian`: the least convex polygon around all points.

use super::ring::{Point, turn};
use super::shape::{Shapes, geometry};
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Builder, Column};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{Geometry, Value};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "polygonConvexHullCartesian",
        summary: "The convex hull of a ring, polygon or multipolygon in the plane, clockwise from its leftmost point.",
        syntax: "polygonConvexHullCartesian(geometry)",
        examples: &[Example {
            sql: "SELECT polygonConvexHullCartesian([(0., 0.), (0., 5.), (5., 5.), (5., 0.), (2., 3.)])",
            result: "[[(0,0),(0,5),(5,5),(5,0),(0,0)]]",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        ensure!(
            geometry(&args[0].ty)? != Geometry::Point,
            BAD_ARGUMENTS,
            "The argument of function {name} must not be a Point"
        );
        Ok(Geometry::Polygon.data_type().into())
    },
    execute: |call: &Call| -> Result<Column> {
        let shapes = Shapes::of(&call.args[0])?;
        let mut out = Builder::new(call.result);
        for row in 0..call.n_rows {
            // Holes lie inside of their polygons.
            let outer = shapes.parts(row).into_iter().filter_map(|rings| rings.into_iter().next());
            let point = |(x, y)| Value::Tuple(vec![Value::Float(x), Value::Float(y)]);
            let hull = hull(outer.flatten().collect()).into_iter().map(point).collect();
            out.push_value(&Value::Array(vec![Value::Array(hull)]))?;
        }
        Ok(out.finish().into())
    },
};

/// Andrew's monotone chain: the upper side from left to right, the lower one back, closed.
fn hull(mut points: Vec<Point>) -> Vec<Point> {
    /// A closed ring has at least so many points.
    const FEWEST: usize = 4;
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup();
    let Some(&first) = points.first() else { return Vec::new() };
    let side = |points: &mut dyn Iterator<Item = Point>| {
        let mut chain: Vec<Point> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..]
                && turn(a, b, point) >= 0.0
            {
                chain.pop();
            }
            chain.push(point);
        }
        chain
    };
    let mut ring = side(&mut points.iter().copied());
    ring.pop();
    ring.extend(side(&mut points.iter().rev().copied()));
    while ring.len() < FEWEST {
        ring.push(first);
    }
    ring
}
