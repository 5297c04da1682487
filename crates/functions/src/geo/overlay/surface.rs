//! Where edges meet, in the plane and on the sphere.

use super::super::ring::Point;

/// What an overlay asks of the surface that its polygons lie on. Coordinates on the sphere are degrees of longitude and latitude.
pub trait Surface {
    /// Positive where `point` is to the left of the edge, 0 on its line.
    fn side(a: Point, b: Point, point: Point) -> f64;
    /// Where two edges cross that are known to.
    fn crossing(a: Point, b: Point, c: Point, d: Point) -> Point;
    fn middle(a: Point, b: Point) -> Point;
    /// Is a point of the edge's line between its ends?
    fn is_between(a: Point, b: Point, point: Point) -> bool;
    /// The least and the greatest coordinates of an edge.
    fn extent(a: Point, b: Point) -> (Point, Point);
    /// Positive where the way around the ring is clockwise.
    fn area(ring: &[Point]) -> f64;
}

pub struct Plane;

impl Surface for Plane {
    fn side(a: Point, b: Point, point: Point) -> f64 {
        let (left, right) = ((b.0 - a.0) * (point.1 - a.1), (b.1 - a.1) * (point.0 - a.0));
        // The rounding of coordinates that were computed themselves.
        if (left - right).abs() <= 4.0 * f64::EPSILON * left.abs().max(right.abs()) {
            0.0
        } else {
            left - right
        }
    }

    /// By Cramer's rule, along the edge nearer to whose end the point is; of edges that are about the same in this, the shorter one.
    fn crossing(a: Point, b: Point, c: Point, d: Point) -> Point {
        /// How much lengths count beside the places on the edges.
        const WEIGHT_OF_LENGTH: f64 = 0.2;
        let (p, q) = ((b.0 - a.0, b.1 - a.1), (d.0 - c.0, d.1 - c.1));
        let w = (a.0 - c.0, a.1 - c.1);
        let cross = |u: Point, v: Point| u.0 * v.1 - u.1 * v.0;
        let denominator = cross(p, q);
        let (along_p, along_q) = (cross(q, w), cross(p, w));
        // 0 in the middle, 1 at an end.
        let nearness = |numerator: f64| (2.0 * (0.5 - numerator / denominator)).abs().min(1.0);
        let squares = (p.0 * p.0 + p.1 * p.1, q.0 * q.0 + q.1 * q.1);
        let longer = WEIGHT_OF_LENGTH * (squares.0 - squares.1) / squares.0.max(squares.1);
        let use_p = nearness(along_p) - nearness(along_q) >= longer;
        let (from, direction, numerator) = if use_p { (a, p, along_p) } else { (c, q, along_q) };
        (from.0 + numerator * direction.0 / denominator, from.1 + numerator * direction.1 / denominator)
    }

    fn middle(a: Point, b: Point) -> Point {
        (f64::midpoint(a.0, b.0), f64::midpoint(a.1, b.1))
    }

    fn is_between(a: Point, b: Point, point: Point) -> bool {
        point.0 >= a.0.min(b.0)
            && point.0 <= a.0.max(b.0)
            && point.1 >= a.1.min(b.1)
            && point.1 <= a.1.max(b.1)
    }

    fn extent(a: Point, b: Point) -> (Point, Point) {
        ((a.0.min(b.0), a.1.min(b.1)), (a.0.max(b.0), a.1.max(b.1)))
    }

    fn area(ring: &[Point]) -> f64 {
        super::super::ring::doubled_area(ring)
    }
}

/// The unit sphere; edges are arcs of great circles, less than half of one.
pub struct Sphere;

type Vector = [f64; 3];

fn vector((longitude, latitude): Point) -> Vector {
    let (lambda, phi) = (longitude.to_radians(), latitude.to_radians());
    [phi.cos() * lambda.cos(), phi.cos() * lambda.sin(), phi.sin()]
}

fn point([x, y, z]: Vector) -> Point {
    (y.atan2(x).to_degrees(), z.atan2(x.hypot(y)).to_degrees())
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl Surface for Sphere {
    fn side(a: Point, b: Point, c: Point) -> f64 {
        if a == c || b == c {
            return 0.0;
        }
        let side = dot(cross(vector(a), vector(b)), vector(c));
        if side.abs() <= 4.0 * f64::EPSILON { 0.0 } else { side }
    }

    fn crossing(a: Point, b: Point, c: Point, d: Point) -> Point {
        let (a, b) = (vector(a), vector(b));
        let found = cross(cross(a, b), cross(vector(c), vector(d)));
        let middle = [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        point(if dot(found, middle) < 0.0 { found.map(|x| -x) } else { found })
    }

    fn middle(a: Point, b: Point) -> Point {
        let (a, b) = (vector(a), vector(b));
        point([a[0] + b[0], a[1] + b[1], a[2] + b[2]])
    }

    fn is_between(a: Point, b: Point, c: Point) -> bool {
        let (a, b, c) = (vector(a), vector(b), vector(c));
        let least = dot(a, b) - 4.0 * f64::EPSILON;
        dot(a, c) >= least && dot(c, b) >= least
    }

    fn extent(a: Point, b: Point) -> (Point, Point) {
        let (mut low, mut high) = Plane::extent(a, b);
        if high.0 - low.0 > 180.0 {
            // Across the meridian where longitudes begin.
            return ((-180.0, -90.0), (180.0, 90.0));
        }
        let normal = cross(vector(a), vector(b));
        let square = dot(normal, normal);
        if square > 0.0 {
            // The northernmost point of the great circle, which may be one of the arc, and the southernmost.
            let north = [-normal[0] * normal[2], -normal[1] * normal[2], square - normal[2] * normal[2]];
            if Sphere::is_between(a, b, point(north)) {
                high.1 = high.1.max(point(north).1);
            }
            let south = north.map(|x| -x);
            if Sphere::is_between(a, b, point(south)) {
                low.1 = low.1.min(point(south).1);
            }
        }
        (low, high)
    }

    fn area(ring: &[Point]) -> f64 {
        let next = ring.iter().cycle().skip(1);
        let strip = |(a, b): (&Point, &Point)| {
            let half = ((b.0 - a.0).to_radians() / 2.0).tan();
            let (p, q) = ((a.1.to_radians() / 2.0).tan(), (b.1.to_radians() / 2.0).tan());
            2.0 * (half * (p + q) / (1.0 + p * q)).atan()
        };
        ring.iter().zip(next).map(strip).sum()
    }
}

/// The angle between two places, in radians, by the haversine formula.
pub fn arc_distance(a: Point, b: Point) -> f64 {
    let (low, high) = (a.1.to_radians(), b.1.to_radians());
    let haversine = |angle: f64| (angle / 2.0).sin().powi(2);
    let h = haversine(high - low) + low.cos() * high.cos() * haversine((b.0 - a.0).to_radians());
    2.0 * h.sqrt().min(1.0).asin()
}

/// The angle between a place and the nearest one of an arc, in radians.
pub fn distance_to_arc(at: Point, a: Point, b: Point) -> f64 {
    let ends = arc_distance(at, a).min(arc_distance(at, b));
    let (start, end, place) = (vector(a), vector(b), vector(at));
    let normal = cross(start, end);
    let square = dot(normal, normal);
    if square == 0.0 {
        return ends;
    }
    // The place on the great circle that is nearest.
    let share = dot(normal, place) / square;
    let foot = [place[0] - share * normal[0], place[1] - share * normal[1], place[2] - share * normal[2]];
    let is_in_arc = dot(cross(start, foot), normal) >= 0.0 && dot(cross(foot, end), normal) >= 0.0;
    if is_in_arc { (dot(normal, place).abs() / square.sqrt()).min(1.0).asin() } else { ends }
}

/// Is a point inside of rings, an odd number of which are around it? None on a boundary.
pub fn is_inside<S: Surface>(rings: &[&[Point]], at: Point) -> Option<bool> {
    let mut inside = false;
    for ring in rings {
        for (&a, &b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            if a == at || b == at {
                return None;
            }
            // Edges that the meridian through the point crosses north of it.
            let (west, east) = if a.0 <= b.0 { (a, b) } else { (b, a) };
            if west.0 == east.0 {
                if west.0 == at.0 && at.1 >= a.1.min(b.1) && at.1 <= a.1.max(b.1) {
                    return None;
                }
                continue;
            }
            if at.0 < west.0 || at.0 > east.0 {
                continue;
            }
            let side = S::side(west, east, at);
            if side == 0.0 {
                return None;
            }
            inside ^= side < 0.0 && at.0 < east.0;
        }
    }
    Some(inside)
}
