//! `polygonsWithinCartesian`, `polygonsIntersectCartesian`, `polygonsEqualsCartesian`, `polygonsDistanceCartesian`: how two areas of the
//! plane lie to each other.

use super::ring::{Place, Point, Polygon, turn};
use super::shape::{Shapes, check_area};
use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;

macro_rules! relations {
    ($($name:literal, $result_type:ident, $execute:expr, $summary:literal, $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Plain] = &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(polygon1, polygon2)"),
                examples: &[Example { sql: $sql, result: $result }],
                ..Record::DEFAULT
            },
            bind: |name, args, ctx| bind(name, args, ctx, DataType::$result_type),
            execute: $execute,
        }),*];
    };
}

relations! {
    "polygonsWithinCartesian", UInt8, |call| each_pair(call, |a, b| u8::from(within(a, b))),
        "Does the first area lie within the second one? Both are rings, polygons or multipolygons in the plane.",
        "SELECT polygonsWithinCartesian([(2., 2.), (2., 3.), (3., 3.)], [(0., 0.), (0., 5.), (5., 5.), (5., 0.)])" => "1";
    "polygonsIntersectCartesian", UInt8, |call| each_pair(call, |a, b| u8::from(intersect(a, b))),
        "Do two areas have a point in common? Both are rings, polygons or multipolygons in the plane.",
        "SELECT polygonsIntersectCartesian([(4., 4.), (4., 6.), (6., 6.)], [(0., 0.), (0., 5.), (5., 5.), (5., 0.)])" => "1";
    "polygonsEqualsCartesian", UInt8, |call| each_pair(call, |a, b| u8::from(normal_form(a) == normal_form(b))),
        "Are two areas the same? Both are rings, polygons or multipolygons in the plane.",
        "SELECT polygonsEqualsCartesian([(0., 0.), (0., 5.), (5., 5.)], [(5., 5.), (0., 0.), (0., 5.)])" => "1";
    "polygonsDistanceCartesian", Float64, |call| each_pair(call, distance),
        "The least distance between two areas, 0 when they have a point in common.",
        "SELECT polygonsDistanceCartesian([(0., 0.), (0., 1.), (1., 1.)], [(4., 5.), (4., 6.), (6., 6.)])" => "5";
}

fn bind(name: &'static str, args: &[Argument], _: &Context, result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    for arg in args {
        check_area(name, &arg.ty)?;
    }
    Ok(result.into())
}

fn each_pair<T>(call: &Call, relation: impl Fn(&[Polygon], &[Polygon]) -> T) -> Result<Column>
where
    Vector: From<Vec<T>>,
{
    let (a, b) = (Shapes::of(&call.args[0])?, Shapes::of(&call.args[1])?);
    let results = (0..call.n_rows).map(|row| relation(&a.areas(row), &b.areas(row)));
    Ok(Vector::from(results.collect::<Vec<T>>()).into())
}

type Edge = (Point, Point);

fn edges(polygons: &[Polygon]) -> Vec<Edge> {
    polygons.iter().flat_map(|polygon| &polygon.rings).flat_map(|ring| ring.edges()).collect()
}

fn covers(polygons: &[Polygon], point: Point) -> bool {
    polygons.iter().any(|polygon| polygon.covers(point))
}

fn is_between(a: Point, b: Point, point: Point) -> bool {
    turn(a, b, point) == 0.0
        && point.0 >= a.0.min(b.0)
        && point.0 <= a.0.max(b.0)
        && point.1 >= a.1.min(b.1)
        && point.1 <= a.1.max(b.1)
}

fn edges_meet((a, b): Edge, (c, d): Edge) -> bool {
    let opposite = |x: f64, y: f64| x > 0.0 && y < 0.0 || x < 0.0 && y > 0.0;
    opposite(turn(a, b, c), turn(a, b, d)) && opposite(turn(c, d, a), turn(c, d, b))
        || is_between(a, b, c)
        || is_between(a, b, d)
        || is_between(c, d, a)
        || is_between(c, d, b)
}

/// Boundaries that meet, or an area that lies in the other one as a whole.
fn intersect(a: &[Polygon], b: &[Polygon]) -> bool {
    let (own, other) = (edges(a), edges(b));
    own.iter().any(|edge| other.iter().any(|with| edges_meet(*edge, *with)))
        || own.iter().any(|edge| covers(b, edge.0))
        || other.iter().any(|edge| covers(a, edge.0))
}

/// Where along an edge, from 0 to 1, others meet it.
fn cuts((a, b): Edge, others: &[Edge]) -> Vec<f64> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let along = |point: Point| if dx.abs() > dy.abs() { (point.0 - a.0) / dx } else { (point.1 - a.1) / dy };
    let mut cuts = vec![0.0, 1.0];
    for &(c, d) in others {
        let (from, to) = (turn(a, b, c), turn(a, b, d));
        if from == 0.0 {
            cuts.push(along(c));
        }
        if to == 0.0 {
            cuts.push(along(d));
        }
        if from * to < 0.0 {
            let share = from / (from - to);
            cuts.push(along((c.0 + share * (d.0 - c.0), c.1 + share * (d.1 - c.1))));
        }
    }
    cuts.retain(|cut| (0.0..=1.0).contains(cut));
    cuts.sort_by(f64::total_cmp);
    cuts
}

/// Points inside each piece of the edges of `own` between where `other` meets them.
fn piece_centres(own: &[Edge], other: &[Edge]) -> Vec<Point> {
    let mut centres = Vec::new();
    for &(a, b) in own.iter().filter(|(a, b)| a != b) {
        for pair in cuts((a, b), other).windows(2).filter(|pair| pair[0] < pair[1]) {
            let middle = f64::midpoint(pair[0], pair[1]);
            centres.push((a.0 + middle * (b.0 - a.0), a.1 + middle * (b.1 - a.1)));
        }
    }
    centres
}

/// Nothing of the boundary of `a` is outside of `b`, and nothing of that of `b` inside of `a`.
fn within(a: &[Polygon], b: &[Polygon]) -> bool {
    if a.is_empty() || b.is_empty() {
        return false;
    }
    let (own, other) = (edges(a), edges(b));
    let inside = |point: Point| {
        a.iter().any(|polygon| {
            let Some((outer, holes)) = polygon.rings.split_first() else { return false };
            outer.place(point) == Place::Inside
                && holes.iter().all(|hole| hole.place(point) == Place::Outside)
        })
    };
    // Rounding puts the centre of a piece of a common boundary next to it.
    let on_boundary = |point: Point, edges: &[Edge]| {
        let scale = point.0.abs().max(point.1.abs()).max(1.0);
        edges.iter().any(|&(c, d)| to_edge(point, (c, d)) <= 1e-12 * scale)
    };
    piece_centres(&own, &other).into_iter().all(|point| covers(b, point) || on_boundary(point, &other))
        && piece_centres(&other, &own).into_iter().all(|point| !inside(point) || on_boundary(point, &own))
}

/// From a point to an edge.
fn to_edge(point: Point, (a, b): Edge) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let squares = dx * dx + dy * dy;
    let share = if squares == 0.0 { 0.0 } else { ((point.0 - a.0) * dx + (point.1 - a.1) * dy) / squares };
    let share = share.clamp(0.0, 1.0);
    (point.0 - a.0 - share * dx).hypot(point.1 - a.1 - share * dy)
}

fn distance(a: &[Polygon], b: &[Polygon]) -> f64 {
    if intersect(a, b) {
        return 0.0;
    }
    let (own, other) = (edges(a), edges(b));
    let pairs = own.iter().flat_map(|edge| other.iter().map(move |with| (*edge, *with)));
    let least = pairs.map(|(edge, with)| {
        let from_own = to_edge(edge.0, with).min(to_edge(edge.1, with));
        from_own.min(to_edge(with.0, edge)).min(to_edge(with.1, edge))
    });
    let least = least.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// Equal areas have equal forms: rings without points on straight lines, in one direction from the least point, sorted.
fn normal_form(polygons: &[Polygon]) -> Vec<Vec<Vec<(u64, u64)>>> {
    let ring = |points: Vec<Point>| {
        let n = points.len();
        let corner = |i: &usize| turn(points[(i + n - 1) % n], points[*i], points[(i + 1) % n]) != 0.0;
        let mut corners: Vec<Point> = (0..n).filter(corner).map(|i| points[i]).collect();
        let area: f64 =
            corners.iter().zip(corners.iter().cycle().skip(1)).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum();
        if area < 0.0 {
            corners.reverse();
        }
        let order = |a: &Point, b: &Point| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
        let least = (0..corners.len()).min_by(|&i, &j| order(&corners[i], &corners[j])).unwrap_or(0);
        corners.rotate_left(least);
        // Adding 0 makes one zero of both.
        corners.into_iter().map(|(x, y)| ((x + 0.0).to_bits(), (y + 0.0).to_bits())).collect::<Vec<_>>()
    };
    let polygon = |polygon: &Polygon| {
        let mut rings: Vec<_> =
            polygon.rings.iter().map(|one| ring(one.edges().map(|edge| edge.0).collect())).collect();
        rings[1..].sort();
        rings
    };
    let mut all: Vec<_> = polygons.iter().map(polygon).collect();
    all.sort();
    all
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
