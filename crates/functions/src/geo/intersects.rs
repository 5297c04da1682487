//! `geometryIntersectCartesian`, `geometryIntersectSpherical`, and relations of areas on the sphere: do geometries have a point in
//! common, is an area within another one, how far are they apart?

use super::overlay::{Plane, Sphere, Surface, arc_distance, is_inside};
use super::ring::Point;
use super::shape::{Shape, Shapes, check_area, geometry, is_area};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::{DataType, Geometry};

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "geometryIntersectCartesian",
            summary: "Do two geometries of any kind have a point in common, in the plane? Their types have names.",
            syntax: "geometryIntersectCartesian(geometry1, geometry2)",
            examples: &[Example {
                sql: "SELECT geometryIntersectCartesian([(0., 0.), (3., 3.)]::LineString, [(0., 2.), (3., 0.)]::LineString)",
                result: "1",
            }],
            ..Record::DEFAULT
        },
        bind: bind_any,
        execute: |call| each_pair(call, |a, b| u8::from(intersect::<Plane>(a, b))),
    },
    Plain {
        record: Record {
            name: "geometryIntersectSpherical",
            summary: "Do two geometries of any kind have a point in common, on the sphere? Coordinates are longitudes and latitudes in degrees.",
            syntax: "geometryIntersectSpherical(geometry1, geometry2)",
            examples: &[Example {
                sql: "SELECT geometryIntersectSpherical((1., 1.)::Point, [(0., 0.), (0., 2.), (2., 2.), (2., 0.)]::Ring)",
                result: "1",
            }],
            ..Record::DEFAULT
        },
        bind: bind_any,
        execute: |call| each_pair(call, |a, b| u8::from(intersect::<Sphere>(a, b))),
    },
    Plain {
        record: Record {
            name: "polygonsIntersectSpherical",
            summary: "Do two areas have a point in common, on the sphere? Coordinates are longitudes and latitudes in degrees.",
            syntax: "polygonsIntersectSpherical(polygon1, polygon2)",
            examples: &[Example {
                sql: "SELECT polygonsIntersectSpherical([(4., 4.), (4., 6.), (6., 6.)], [(0., 0.), (0., 5.), (5., 5.), (5., 0.)])",
                result: "1",
            }],
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], ctx: &Context| {
            bind_areas(name, args, ctx, DataType::UInt8)
        },
        execute: |call| each_pair(call, |a, b| u8::from(intersect::<Sphere>(a, b))),
    },
    Plain {
        record: Record {
            name: "polygonsWithinSpherical",
            summary: "Does the first area lie within the second one, on the sphere? Coordinates are longitudes and latitudes in degrees.",
            syntax: "polygonsWithinSpherical(polygon1, polygon2)",
            examples: &[Example {
                sql: "SELECT polygonsWithinSpherical([(2., 2.), (2., 3.), (3., 3.)], [(0., 0.), (0., 5.), (5., 5.), (5., 0.)])",
                result: "1",
            }],
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], ctx: &Context| {
            bind_areas(name, args, ctx, DataType::UInt8)
        },
        execute: |call| each_pair(call, |a, b| u8::from(within(a, b))),
    },
    Plain {
        record: Record {
            name: "polygonsDistanceSpherical",
            summary: "The least distance between two areas on the unit sphere, 0 when they have a point in common. Coordinates are longitudes and latitudes in degrees.",
            syntax: "polygonsDistanceSpherical(polygon1, polygon2)",
            examples: &[Example {
                sql: "SELECT round(polygonsDistanceSpherical([(0., 0.), (0., 1.), (1., 1.)], [(4., 5.), (4., 6.), (6., 6.)]), 6)",
                result: "0.087217",
            }],
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], ctx: &Context| {
            bind_areas(name, args, ctx, DataType::Float64)
        },
        execute: |call| each_pair(call, distance),
    },
];

fn bind_any(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    for arg in args {
        let ty = &arg.ty;
        let Ok(found) = geometry(ty) else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument of function {name} has type {ty} which is not a geometry type"
            );
        };
        let candidates = match found.depth() {
            _ if ty.geometry().is_some() => continue,
            Some(1) => "Ring, LineString and MultiPoint",
            Some(2) => "Polygon and MultiLineString",
            _ => continue,
        };
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument of function {name} has type {ty} which is ambiguous between {candidates}. Cast it to an explicit geometry type"
        );
    }
    Ok(DataType::UInt8.into())
}

fn bind_areas(name: &'static str, args: &[Argument], _: &Context, result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    args.iter().try_for_each(|arg| check_area(name, &arg.ty))?;
    Ok(result.into())
}

fn each_pair<T: Default>(call: &Call, relation: impl Fn(&Shape, &Shape) -> T) -> Result<Column>
where
    Vector: From<Vec<T>>,
{
    let (a, b) = (Shapes::of(&call.args[0])?, Shapes::of(&call.args[1])?);
    let mut results = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        results.push(match (a.shape(row), b.shape(row)) {
            (Some(a), Some(b)) => {
                a.check_finite()?;
                b.check_finite()?;
                relation(&a, &b)
            }
            _ => T::default(),
        });
    }
    ensure!(results.len() == call.n_rows, LOGICAL_ERROR, "A relation of fewer rows");
    Ok(Vector::from(results).into())
}

type Edge = (Point, Point);

/// The edges of lines and of boundaries, which are closed.
fn edges(shape: &Shape) -> Vec<Edge> {
    if matches!(shape.geometry, Geometry::Point | Geometry::MultiPoint) {
        return Vec::new();
    }
    let mut edges = Vec::new();
    for list in shape.lists() {
        edges.extend(list.windows(2).map(|pair| (pair[0], pair[1])));
        if let ([first, .., last], true) = (list, is_area(shape.geometry)) {
            edges.push((*last, *first));
        }
    }
    edges.retain(|(a, b)| a != b);
    edges
}

/// Is a point in an area or on its boundary? Each polygon by itself.
fn covers<S: Surface>(shape: &Shape, point: Point) -> bool {
    is_area(shape.geometry)
        && shape.parts.iter().any(|rings| {
            let rings: Vec<&[Point]> =
                rings.iter().map(Vec::as_slice).filter(|ring| ring.len() > 2).collect();
            is_inside::<S>(&rings, point).unwrap_or(true)
        })
}

fn is_on<S: Surface>((a, b): Edge, point: Point) -> bool {
    point == a || point == b || S::side(a, b, point) == 0.0 && S::is_between(a, b, point)
}

fn edges_meet<S: Surface>(p: Edge, q: Edge) -> bool {
    let ((a, b), (c, d)) = (p, q);
    let opposite = |x: f64, y: f64| x > 0.0 && y < 0.0 || x < 0.0 && y > 0.0;
    let sides = (S::side(a, b, c), S::side(a, b, d));
    let others = (S::side(c, d, a), S::side(c, d, b));
    opposite(sides.0, sides.1) && opposite(others.0, others.1)
        || is_on::<S>(p, c)
        || is_on::<S>(p, d)
        || is_on::<S>(q, a)
        || is_on::<S>(q, b)
}

/// Do the boxes of two edges meet? Pairs of others need no closer look.
fn near<S: Surface>(p: Edge, q: Edge) -> bool {
    let ((low, high), (other_low, other_high)) = (S::extent(p.0, p.1), S::extent(q.0, q.1));
    low.0 <= other_high.0 && other_low.0 <= high.0 && low.1 <= other_high.1 && other_low.1 <= high.1
}

fn intersect<S: Surface>(a: &Shape, b: &Shape) -> bool {
    let (own, other) = (edges(a), edges(b));
    if own.iter().any(|p| other.iter().any(|q| near::<S>(*p, *q) && edges_meet::<S>(*p, *q))) {
        return true;
    }
    let lone = |shape: &Shape, with: &Shape, edges: &[Edge]| {
        let is_points = matches!(shape.geometry, Geometry::Point | Geometry::MultiPoint);
        let is_with_points = matches!(with.geometry, Geometry::Point | Geometry::MultiPoint);
        // Without a common edge, one point of each part says whether all of it is inside.
        shape.points().any(|point| {
            covers::<S>(with, point)
                || is_points && edges.iter().any(|edge| is_on::<S>(*edge, point))
                || is_points && is_with_points && with.points().any(|other| other == point)
        })
    };
    lone(a, b, &other) || lone(b, a, &own)
}

/// No piece of the boundary of `a` is outside of `b`, and none of that of `b` inside of `a`.
fn within(a: &Shape, b: &Shape) -> bool {
    let (own, other) = (edges(a), edges(b));
    if own.is_empty() || other.is_empty() {
        return false;
    }
    let inside = |shape: &Shape, point: Point| -> Option<bool> {
        let all: Vec<Option<bool>> = shape
            .parts
            .iter()
            .map(|rings| {
                let rings: Vec<&[Point]> =
                    rings.iter().map(Vec::as_slice).filter(|ring| ring.len() > 2).collect();
                is_inside::<Sphere>(&rings, point)
            })
            .collect();
        if all.contains(&Some(true)) { Some(true) } else { all.into_iter().reduce(|x, y| x.and(y)).flatten() }
    };
    pieces(&own, &other).all(|point| inside(b, point) != Some(false))
        && pieces(&other, &own).all(|point| inside(a, point) != Some(true))
}

/// The middles of the pieces into which edges are cut by others.
fn pieces<'a>(edges: &'a [Edge], others: &'a [Edge]) -> impl Iterator<Item = Point> + 'a {
    edges.iter().flat_map(move |&(a, b)| {
        let mut cuts = vec![a, b];
        for &(c, d) in others {
            if !near::<Sphere>((a, b), (c, d)) {
                continue;
            }
            let opposite = |x: f64, y: f64| x > 0.0 && y < 0.0 || x < 0.0 && y > 0.0;
            cuts.extend([c, d].into_iter().filter(|point| is_on::<Sphere>((a, b), *point)));
            if opposite(Sphere::side(a, b, c), Sphere::side(a, b, d))
                && opposite(Sphere::side(c, d, a), Sphere::side(c, d, b))
            {
                cuts.push(Sphere::crossing(a, b, c, d));
            }
        }
        let along = |point: &Point| arc_distance(a, *point);
        cuts.sort_by(|p, q| along(p).total_cmp(&along(q)));
        cuts.dedup();
        let middles: Vec<Point> = cuts.windows(2).map(|pair| Sphere::middle(pair[0], pair[1])).collect();
        middles
    })
}

fn distance(a: &Shape, b: &Shape) -> f64 {
    if intersect::<Sphere>(a, b) {
        return 0.0;
    }
    let (own, other) = (edges(a), edges(b));
    let mut least = f64::INFINITY;
    for &(p, q) in &own {
        for &(r, s) in &other {
            for (point, (from, to)) in [(p, (r, s)), (q, (r, s)), (r, (p, q)), (s, (p, q))] {
                least = least.min(super::overlay::distance_to_arc(point, from, to));
            }
        }
    }
    if least.is_finite() { least } else { 0.0 }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
