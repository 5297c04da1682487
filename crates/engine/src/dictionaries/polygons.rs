//! Keys that are polygons: a point has the row of the smallest polygon that it lies in.
//!
//! A point is inside where a ray along the y axis crosses the rings an odd number of times (the even-odd rule). Of an edge without
//! overlaps one side counts: the lower bound of y belongs to a polygon and the upper does not, and a corner's x belongs to
//! what is on its left, so that neighbours share no point. The layout `polygon_simple` takes all of the boundary in.

use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_types::{DataType, Value};

type Point = (f64, f64);

pub(crate) struct Polygons {
    /// The smallest first; of equal ones the first of the source.
    polygons: Vec<Polygon>,
    covers_edges: bool,
}

struct Polygon {
    /// From 1.
    row: u32,
    /// Each is closed; those behind the first are holes.
    rings: Vec<Vec<Point>>,
    area: f64,
    low: Point,
    high: Point,
}

/// How many arrays a key is, without those that are points; none for types that are no polygons.
pub(super) fn depth_of_key(ty: &DataType) -> Option<usize> {
    let (mut depth, mut ty) = (0, ty);
    while let DataType::Array(inner) = ty {
        depth += 1;
        ty = inner;
    }
    let depth = match ty {
        DataType::Float64 => depth - usize::from(depth > 0),
        DataType::Tuple(fields) => {
            let is_point = fields.len() == 2 && fields.iter().all(|field| field.ty == DataType::Float64);
            if is_point { depth } else { 0 }
        }
        _ => 0,
    };
    [1, 3].contains(&depth).then_some(depth)
}

impl Polygons {
    /// Of a column of keys, whose type [`depth_of_key`] has measured.
    pub fn new(keys: &Column, n_rows: usize, depth: usize, covers_edges: bool) -> Polygons {
        let mut polygons = Vec::new();
        for row in 0..n_rows {
            let key = keys.value(row);
            let areas: Vec<Vec<Vec<Point>>> = match depth {
                1 => vec![vec![ring(&key)]],
                _ => items(&key).iter().map(|area| items(area).iter().map(ring).collect()).collect(),
            };
            polygons.extend(areas.into_iter().filter_map(|rings| Polygon::new(row as u32 + 1, rings)));
        }
        polygons.sort_by(|a: &Polygon, b| a.area.total_cmp(&b.area));
        Polygons { polygons, covers_edges }
    }

    /// The rows of points, 0 where a point is in none.
    pub fn find(&self, xs: &Vector, ys: &Vector) -> Result<Vec<u32>> {
        let points = xs.values::<f64>()?.iter().zip(ys.values::<f64>()?.iter());
        let row = |(&x, &y): (&f64, &f64)| {
            ensure!(
                !x.is_nan() && !y.is_nan(),
                BAD_ARGUMENTS,
                "PolygonDictionary input point component must not be NaN"
            );
            ensure!(
                x.is_finite() && y.is_finite(),
                BAD_ARGUMENTS,
                "PolygonDictionary input point component must not be infinite"
            );
            let found = self.polygons.iter().find(|polygon| polygon.holds((x, y), self.covers_edges));
            Ok(found.map_or(0, |polygon| polygon.row))
        };
        points.map(row).collect()
    }
}

impl Polygon {
    fn new(row: u32, mut rings: Vec<Vec<Point>>) -> Option<Polygon> {
        rings.retain(|ring| !ring.is_empty());
        for ring in &mut rings {
            if ring.first() != ring.last() {
                ring.push(ring[0]);
            }
        }
        let outer = rings.first()?;
        let least = |of: fn(&Point) -> f64| outer.iter().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: fn(&Point) -> f64| outer.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = ((least(|p| p.0), least(|p| p.1)), (most(|p| p.0), most(|p| p.1)));
        let area = area(outer) - rings[1..].iter().map(|hole| self::area(hole)).sum::<f64>();
        Some(Polygon { row, area, low, high, rings })
    }

    fn holds(&self, (x, y): Point, covers_edges: bool) -> bool {
        if x < self.low.0 || x > self.high.0 || y < self.low.1 || y > self.high.1 {
            return false;
        }
        let mut is_inside = false;
        for edge in self.rings.iter().flat_map(|ring| ring.windows(2)) {
            let (a, b) = if edge[0] <= edge[1] { (edge[0], edge[1]) } else { (edge[1], edge[0]) };
            if covers_edges && is_between(a, b, (x, y)) {
                return true;
            }
            // The first slab has its left bound too.
            let is_in_slab = match x == self.low.0 {
                true => a.0 <= x && x < b.0,
                false => a.0 < x && x <= b.0,
            };
            is_inside ^= is_in_slab && a.1 + (b.1 - a.1) * ((x - a.0) / (b.0 - a.0)) <= y;
        }
        is_inside
    }
}

/// Does a point lie on a segment, whose bounds are in order?
fn is_between(a: Point, b: Point, (x, y): Point) -> bool {
    let cross = (b.0 - a.0) * (y - a.1) - (b.1 - a.1) * (x - a.0);
    cross == 0.0 && a.0 <= x && x <= b.0 && a.1.min(b.1) <= y && y <= a.1.max(b.1)
}

/// By the shoelace formula.
fn area(ring: &[Point]) -> f64 {
    let twice: f64 = ring.windows(2).map(|edge| edge[0].0 * edge[1].1 - edge[1].0 * edge[0].1).sum();
    twice.abs() / 2.0
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) | Value::Tuple(items) => items,
        _ => &[],
    }
}

fn ring(value: &Value) -> Vec<Point> {
    let point = |point: &Value| match items(point) {
        [x, y] => Some((x.as_f64()?, y.as_f64()?)),
        _ => None,
    };
    items(value).iter().filter_map(point).collect()
}
