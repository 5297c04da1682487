//! `polygonAreaCartesian`, `polygonPerimeterCartesian` and their kin: areas and lengths of boundaries, in the plane and on the unit sphere.

use super::ring::Point;
use super::shape::{Shapes, geometry, is_area};
use crate::plain::Plain;
use chalet_base::{Result, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, SeveralTypes};
use chalet_types::{DataType, Geometry};

macro_rules! measures {
    ($($name:literal, $measure:ident, $points:literal, $summary:literal, $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Plain] = &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(geometry)"),
                examples: &[Example { sql: $sql, result: $result }],
                several_types: if $points { SeveralTypes::Seen } else { SeveralTypes::EachType },
                ..Record::DEFAULT
            },
            bind: |name, args, ctx| bind(name, args, ctx, $points),
            execute: |call| execute(call, $measure),
        }),*];
    };
}

measures! {
    "areaCartesian", area, true, "The area in the plane; positive when the boundary runs clockwise, and 0 of a point.",
        "SELECT areaCartesian([(0., 0.), (0., 5.), (5., 5.), (5., 0.)])" => "25";
    "polygonAreaCartesian", area, false, "The area of a ring, polygon or multipolygon in the plane; positive when the boundary runs clockwise.",
        "SELECT polygonAreaCartesian([[[(0., 0.), (0., 5.), (5., 5.), (5., 0.)]]])" => "25";
    "perimeterCartesian", length, true, "The length of the boundary in the plane as it is written, and 0 of a point.",
        "SELECT perimeterCartesian([(0., 0.), (0., 5.), (5., 5.), (5., 0.), (0., 0.)])" => "20";
    "polygonPerimeterCartesian", length, false, "The length of the boundary of a ring, polygon or multipolygon in the plane, as it is written.",
        "SELECT polygonPerimeterCartesian([[[(0., 0.), (0., 5.), (5., 5.), (5., 0.), (0., 0.)]]])" => "20";
    "areaSpherical", spherical_area, true, "The area on the unit sphere of coordinates in degrees; positive when the boundary runs clockwise.",
        "SELECT round(areaSpherical([(0., 0.), (0., 5.), (5., 5.), (5., 0.)]), 6)" => "0.007611";
    "polygonAreaSpherical", spherical_area, false, "The area of a ring, polygon or multipolygon on the unit sphere, of coordinates in degrees.",
        "SELECT round(polygonAreaSpherical([[[(0., 0.), (0., 5.), (5., 5.), (5., 0.)]]]), 6)" => "0.007611";
    "perimeterSpherical", spherical_length, true, "The length of the boundary on the unit sphere, of coordinates in degrees.",
        "SELECT round(perimeterSpherical([(0., 0.), (0., 5.)]), 6)" => "0.087266";
    "polygonPerimeterSpherical", spherical_length, false, "The length of the boundary of a ring, polygon or multipolygon on the unit sphere.",
        "SELECT round(polygonPerimeterSpherical([(0., 0.), (0., 5.)]), 6)" => "0.087266";
}

fn bind(name: &'static str, args: &[Argument], _: &Context, points: bool) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    let found = geometry(&args[0].ty).map_err(|error| match points {
        true => err!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument of function {name} should be Geometry, got {}",
            args[0].ty
        ),
        false => error,
    })?;
    ensure!(
        points || found != Geometry::Point,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The argument of function {name} must not be Point"
    );
    ensure!(
        found != Geometry::Any || args[0].ty.geometry().is_some(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "First argument of function {name} should be Geometry, got {}",
        args[0].ty
    );
    Ok(DataType::Float64.into())
}

fn execute(call: &Call, measure: fn(&[Point]) -> f64) -> Result<Column> {
    let shapes = Shapes::of(&call.args[0])?;
    // What is no area has neither area nor boundary. Holes run the other way round, so that their areas are negative.
    let sum = |row| match shapes.shape(row) {
        Some(shape) if is_area(shape.geometry) => shape.lists().map(measure).sum::<f64>(),
        _ => 0.0,
    };
    Ok(Vector::from((0..call.n_rows).map(sum).collect::<Vec<f64>>()).into())
}

/// The sum of the strips between each edge and the vertical axis. A ring that is not closed lacks the strip of its last edge, as in the
/// kernel.
fn area(ring: &[Point]) -> f64 {
    ring.windows(2).map(|pair| (pair[0].0 + pair[1].0) * (pair[0].1 - pair[1].1) / 2.0).sum::<f64>() + 0.0
}

fn length(ring: &[Point]) -> f64 {
    ring.windows(2).map(|pair| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1)).sum::<f64>() + 0.0
}

/// The sum of the spherical excesses of the strips between each edge and the equator.
fn spherical_area(ring: &[Point]) -> f64 {
    let strip = |pair: &[Point]| {
        let (a, b) = (pair[0], pair[1]);
        let half = ((b.0 - a.0).to_radians() / 2.0).tan();
        let (p, q) = ((a.1.to_radians() / 2.0).tan(), (b.1.to_radians() / 2.0).tan());
        2.0 * (half * (p + q) / (1.0 + p * q)).atan()
    };
    ring.windows(2).map(strip).sum::<f64>() + 0.0
}

/// By the haversine formula.
fn spherical_length(ring: &[Point]) -> f64 {
    let distance = |pair: &[Point]| {
        let (a, b) = (pair[0], pair[1]);
        let (low, high) = (a.1.to_radians(), b.1.to_radians());
        let haversine = |angle: f64| (angle / 2.0).sin().powi(2);
        let h = haversine(high - low) + low.cos() * high.cos() * haversine((b.0 - a.0).to_radians());
        2.0 * h.sqrt().min(1.0).asin()
    };
    ring.windows(2).map(distance).sum::<f64>() + 0.0
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
