//! `polygonsUnionCartesian`, `polygonsIntersectionCartesian`, `polygonsSymDifferenceCartesian` and their spherical kin: the area that two
//! areas make.

use super::overlay::{Areas, Operation, Plane, Sphere, Surface, overlay, union_of_computed};
use super::shape::{Shape, Shapes, check_area};
use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::{Builder, Column};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::Geometry;

macro_rules! functions {
    ($($name:literal, $combine:ident, $surface:ident, $summary:literal, $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Plain] = &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(polygon1, polygon2)"),
                examples: &[Example { sql: $sql, result: $result }],
                ..Record::DEFAULT
            },
            bind,
            execute: |call| execute::<$surface>(call, $combine::<$surface>),
        }),*];
    };
}

functions! {
    "polygonsUnionCartesian", union, Plane, "All points of one or the other area, in the plane.",
        "SELECT polygonsUnionCartesian([(0., 0.), (0., 2.), (2., 2.), (2., 0.)], [(1., 1.), (1., 3.), (3., 3.), (3., 1.)])"
        => "[[[(1,2),(1,3),(3,3),(3,1),(2,1),(2,0),(0,0),(0,2),(1,2)]]]";
    "polygonsIntersectionCartesian", intersection, Plane, "The points that two areas have in common, in the plane.",
        "SELECT polygonsIntersectionCartesian([(0., 0.), (0., 2.), (2., 2.), (2., 0.)], [(1., 1.), (1., 3.), (3., 3.), (3., 1.)])"
        => "[[[(1,2),(2,2),(2,1),(1,1),(1,2)]]]";
    "polygonsSymDifferenceCartesian", symmetric_difference, Plane, "The points of one area that are not in the other, of both, in the plane.",
        "SELECT polygonsSymDifferenceCartesian([(0., 0.), (0., 3.), (3., 3.), (3., 0.)], [(1., 1.), (1., 2.), (2., 2.), (2., 1.)])"
        => "[[[(0,0),(0,3),(3,3),(3,0),(0,0)],[(1,1),(2,1),(2,2),(1,2),(1,1)]]]";
    "polygonsUnionSpherical", union, Sphere, "All points of one or the other area, on the sphere; coordinates are longitudes and latitudes in degrees.",
        "SELECT arrayMap(p -> round(p.1, 6), polygonsUnionSpherical([(0., 0.), (0., 2.), (2., 2.), (2., 0.)], [(1., 1.), (1., 3.), (3., 3.), (3., 1.)])[1][1])"
        => "[1,1,3,3,2,2,0,0,1]";
    "polygonsIntersectionSpherical", intersection, Sphere, "The points that two areas have in common, on the sphere; coordinates are longitudes and latitudes in degrees.",
        "SELECT arrayMap(p -> round(p.1, 6), polygonsIntersectionSpherical([(0., 0.), (0., 2.), (2., 2.), (2., 0.)], [(1., 1.), (1., 3.), (3., 3.), (3., 1.)])[1][1])"
        => "[1,2,2,1,1]";
    "polygonsSymDifferenceSpherical", symmetric_difference, Sphere, "The points of one area that are not in the other, of both, on the sphere; coordinates are longitudes and latitudes in degrees.",
        "SELECT polygonsSymDifferenceSpherical([(0., 0.), (0., 3.), (3., 3.), (3., 0.)], [(1., 1.), (1., 2.), (2., 2.), (2., 1.)])"
        => "[[[(0,0),(0,3),(3,3),(3,0),(0,0)],[(1,1),(2,1),(2,2),(1,2),(1,1)]]]";
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    args.iter().try_for_each(|arg| check_area(name, &arg.ty))?;
    Ok(Geometry::MultiPolygon.data_type().into())
}

fn execute<S: Surface>(call: &Call, combine: fn(&Areas, &Areas) -> Areas) -> Result<Column> {
    let shapes = (Shapes::of(&call.args[0])?, Shapes::of(&call.args[1])?);
    let mut out = Builder::new(call.result);
    for row in 0..call.n_rows {
        let (Some(a), Some(b)) = (shapes.0.shape(row), shapes.1.shape(row)) else {
            out.push_default();
            continue;
        };
        a.check_finite()?;
        b.check_finite()?;
        let parts = combine(&corrected::<S>(&a.parts), &corrected::<S>(&b.parts));
        out.push_value(&Shape { geometry: Geometry::MultiPolygon, parts }.value())?;
    }
    Ok(out.finish().into())
}

/// Rings closed, outer ones clockwise and holes counter-clockwise, without what has no points.
fn corrected<S: Surface>(areas: &Areas) -> Areas {
    let ring = |number: usize, points: &Vec<(f64, f64)>| {
        let mut points = points.clone();
        if points.len() > 2 && points.first() != points.last() {
            points.push(points[0]);
        }
        let area = S::area(&points);
        if if number == 0 { area < 0.0 } else { area > 0.0 } {
            points.reverse();
        }
        points
    };
    let polygon = |rings: &Vec<Vec<(f64, f64)>>| -> Vec<Vec<(f64, f64)>> {
        rings
            .iter()
            .enumerate()
            .map(|(number, points)| ring(number, points))
            .filter(|r| !r.is_empty())
            .collect()
    };
    areas.iter().map(polygon).filter(|rings| !rings.is_empty()).collect()
}

fn union<S: Surface>(a: &Areas, b: &Areas) -> Areas {
    overlay::<S>(a, b, Operation::Union)
}

fn intersection<S: Surface>(a: &Areas, b: &Areas) -> Areas {
    overlay::<S>(a, b, Operation::Intersection)
}

fn symmetric_difference<S: Surface>(a: &Areas, b: &Areas) -> Areas {
    union_of_computed::<S>(&difference::<S>(a, b), &difference::<S>(b, a))
}

fn difference<S: Surface>(a: &Areas, b: &Areas) -> Areas {
    let mut reversed = b.clone();
    reversed.iter_mut().flatten().for_each(|ring| ring.reverse());
    overlay::<S>(a, &reversed, Operation::Difference)
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
