//! Rings of points: is a point inside, and is the ring a polygon's boundary?

use chalet_base::{Result, bail, ensure};

pub type Point = (f64, f64);

/// A closed ring: the last point is joined to the first.
#[derive(Clone, Debug, Default)]
pub struct Ring {
    points: Vec<Point>,
    low: Point,
    high: Point,
}

/// Where a point lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Inside,
    Boundary,
    Outside,
}

/// Twice the area of a triangle: positive when the turn at `b` is to the left.
pub fn turn(a: Point, b: Point, c: Point) -> f64 {
    (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
}

/// Twice the area, positive when the boundary runs clockwise; the last point is joined to the first.
pub fn doubled_area(points: &[Point]) -> f64 {
    let next = points.iter().cycle().skip(1);
    points.iter().zip(next).map(|(a, b)| (a.0 + b.0) * (a.1 - b.1)).sum()
}

/// The points of a ring, closed, clockwise if it is the outer one and else counter-clockwise.
pub fn corrected(points: &[Point], outer: bool) -> Vec<Point> {
    let mut points = points.to_vec();
    if points.len() > 2 && points.first() != points.last() {
        points.push(points[0]);
    }
    let area = doubled_area(&points);
    if if outer { area < 0.0 } else { area > 0.0 } {
        points.reverse();
    }
    points
}

impl Ring {
    pub fn new(mut points: Vec<Point>) -> Ring {
        if points.len() > 1 && points.first() == points.last() {
            points.pop();
        }
        let fold = |f: fn(f64, f64) -> f64, start: f64| {
            points.iter().fold((start, start), |(x, y), point| (f(x, point.0), f(y, point.1)))
        };
        let (low, high) = (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY));
        Ring { points, low, high }
    }

    /// Each point and the next one.
    pub fn edges(&self) -> impl Iterator<Item = (Point, Point)> + '_ {
        let next = self.points.iter().cycle().skip(1);
        self.points.iter().copied().zip(next.copied())
    }

    /// Counts the edges that a ray to the right crosses.
    pub fn place(&self, point: Point) -> Place {
        let (x, y) = point;
        let within = x >= self.low.0 && x <= self.high.0 && y >= self.low.1 && y <= self.high.1;
        if !within || self.points.len() < 3 {
            return Place::Outside;
        }
        let mut inside = false;
        for (a, b) in self.edges() {
            if (a.1 > y) == (b.1 > y) {
                // Only an edge along the ray, or one that ends in the point, can hold it.
                let along = a.1 == y && b.1 == y && x >= a.0.min(b.0) && x <= a.0.max(b.0);
                if along || a == point || b == point {
                    return Place::Boundary;
                }
                continue;
            }
            let side = turn(a, b, point);
            if side == 0.0 {
                return Place::Boundary;
            }
            inside ^= (side > 0.0) == (b.1 > a.1);
        }
        if inside { Place::Inside } else { Place::Outside }
    }

    /// Fails as the kernel does for what bounds no area: too few points, or edges that cross.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.points.iter().all(|(x, y)| x.is_finite() && y.is_finite()),
            BAD_ARGUMENTS,
            "The coordinates of the point are such that subsequent calculations cannot be performed correctly. Most likely they are very large in modulus"
        );
        ensure!(self.points.len() >= 3, BAD_ARGUMENTS, "Polygon is not valid: Geometry has too few points");
        let edges: Vec<(Point, Point)> = self.edges().collect();
        for (i, &(a, b)) in edges.iter().enumerate() {
            for &(c, d) in &edges[i + 1..] {
                let crosses = turn(a, b, c) * turn(a, b, d) < 0.0 && turn(c, d, a) * turn(c, d, b) < 0.0;
                if crosses {
                    bail!(BAD_ARGUMENTS, "Polygon is not valid: Geometry has invalid self-intersections");
                }
            }
        }
        Ok(())
    }
}

/// A boundary and holes in what it bounds.
#[derive(Clone, Debug, Default)]
pub struct Polygon {
    pub rings: Vec<Ring>,
}

impl Polygon {
    /// Boundaries, also of holes, belong to the polygon.
    pub fn covers(&self, point: Point) -> bool {
        let Some((outer, holes)) = self.rings.split_first() else { return false };
        outer.place(point) != Place::Outside && holes.iter().all(|hole| hole.place(point) != Place::Inside)
    }

    pub fn check(&self) -> Result<()> {
        ensure!(!self.rings.is_empty(), BAD_ARGUMENTS, "Polygon is not valid: Geometry has too few points");
        self.rings.iter().try_for_each(Ring::check)
    }
}
