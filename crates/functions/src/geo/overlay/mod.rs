//! Areas that two areas make: union, intersection, difference. Their boundaries are cut where they meet, the pieces that bound the
//! result are kept, and put together to rings. Rings begin where those of Boost.Geometry do, and come in its order.

mod surface;
mod turns;

pub use surface::{Plane, Sphere, Surface, arc_distance, distance_to_arc, is_inside};

use super::ring::Point;
use std::collections::HashMap;
use turns::{Edge, Found};

/// Polygons of rings that are closed, outer ones clockwise and holes counter-clockwise.
pub type Areas = Vec<Vec<Vec<Point>>>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Union,
    Intersection,
    /// The first without the second, whose rings are given the other way round.
    Difference,
}

impl Operation {
    /// Does a piece of a boundary bound the result when it is inside of the other area, or outside?
    fn keeps(self, source: usize, inside: bool) -> bool {
        match self {
            Operation::Union => !inside,
            Operation::Intersection => inside,
            Operation::Difference => inside == (source == 1),
        }
    }
}

/// An area as its edges.
struct Boundary {
    rings: Vec<Vec<Point>>,
    edges: Vec<Edge>,
    /// Of each ring, the numbers of its edges.
    spans: Vec<std::ops::Range<usize>>,
}

impl Boundary {
    fn of(areas: &Areas) -> Boundary {
        let mut boundary = Boundary { rings: Vec::new(), edges: Vec::new(), spans: Vec::new() };
        for points in areas.iter().flatten() {
            let ring = boundary.rings.len();
            let start = boundary.edges.len();
            let pairs = points.windows(2).filter(|pair| pair[0] != pair[1]);
            boundary.edges.extend(pairs.map(|pair| Edge { from: pair[0], to: pair[1], ring }));
            boundary.spans.push(start..boundary.edges.len());
            boundary.rings.push(points.clone());
        }
        boundary
    }

    fn is_inside<S: Surface>(&self, point: Point) -> Option<bool> {
        let rings: Vec<&[Point]> = self.rings.iter().map(Vec::as_slice).collect();
        surface::is_inside::<S>(&rings, point)
    }
}

type Bits = (u64, u64);

fn bits(point: Point) -> Bits {
    // Adding 0 makes one zero of both.
    ((point.0 + 0.0).to_bits(), (point.1 + 0.0).to_bits())
}

/// A part of an edge between two cuts.
struct Piece {
    from: Point,
    to: Point,
    edge: usize,
    /// Does it end where its edge does?
    to_corner: bool,
}

/// The pieces of a boundary, and the number of the first one of each edge.
struct Pieces {
    pieces: Vec<Piece>,
    starts: Vec<usize>,
}

impl Pieces {
    fn of(boundary: &Boundary, cuts: &[Vec<Point>]) -> Pieces {
        let (mut pieces, mut starts) = (Vec::new(), Vec::new());
        for (number, (edge, cuts)) in boundary.edges.iter().zip(cuts).enumerate() {
            starts.push(pieces.len());
            let (dx, dy) = (edge.to.0 - edge.from.0, edge.to.1 - edge.from.1);
            let along = |point: &Point| (point.0 - edge.from.0) * dx + (point.1 - edge.from.1) * dy;
            let mut inner: Vec<Point> =
                cuts.iter().copied().filter(|point| *point != edge.from && *point != edge.to).collect();
            inner.sort_by(|a, b| along(a).total_cmp(&along(b)));
            inner.dedup();
            let mut from = edge.from;
            for to in inner {
                pieces.push(Piece { from, to, edge: number, to_corner: false });
                from = to;
            }
            pieces.push(Piece { from, to: edge.to, edge: number, to_corner: true });
        }
        Pieces { pieces, starts }
    }

    /// The piece that follows a point of an edge.
    fn after(&self, boundary: &Boundary, edge: usize, point: Point) -> Option<usize> {
        let end = self.starts.get(edge + 1).copied().unwrap_or(self.pieces.len());
        let found = (self.starts[edge]..end).find(|at| self.pieces[*at].to == point)?;
        if found + 1 < end {
            return Some(found + 1);
        }
        let span = &boundary.spans[boundary.edges[edge].ring];
        let next = if edge + 1 < span.end { edge + 1 } else { span.start };
        Some(self.starts[next])
    }
}

/// A piece that bounds the result, of one boundary or of both.
struct Kept {
    from: Point,
    to: Point,
    of: [Option<usize>; 2],
    used: bool,
}

/// The result of an operation.
pub fn overlay<S: Surface>(a: &Areas, b: &Areas, operation: Operation) -> Areas {
    combine::<S>(a, b, operation, &HashMap::new())
}

/// The union of areas whose corners are computed, so that those which are meant to be the same differ in their last digits. They
/// meet, and keep their digits.
pub fn union_of_computed<S: Surface>(a: &Areas, b: &Areas) -> Areas {
    /// Of the magnitude of coordinates.
    const TOLERANCE: f64 = 1e-12;
    let mut corners: Vec<Point> = a.iter().flatten().flatten().copied().collect();
    corners.sort_by(|p, q| p.0.total_cmp(&q.0).then(p.1.total_cmp(&q.1)));
    corners.dedup();
    let mut own_digits = HashMap::new();
    let mut met = b.clone();
    for point in met.iter_mut().flatten().flatten() {
        let width = TOLERANCE * point.0.abs().max(point.1.abs()).max(1.0);
        let start = corners.partition_point(|corner| corner.0 < point.0 - width);
        let near = corners[start..].iter().take_while(|corner| corner.0 <= point.0 + width);
        let near: Vec<&Point> = near.filter(|corner| (corner.1 - point.1).abs() <= width).collect();
        let Some(corner) = near.iter().find(|corner| ***corner == *point).or(near.first()) else { continue };
        // What differs by no more than rounding is the same to Boost.Geometry.
        let same = |a: f64, b: f64| (a - b).abs() <= f64::EPSILON * a.abs().max(b.abs()).max(1.0);
        if !same(corner.0, point.0) || !same(corner.1, point.1) {
            own_digits.insert(bits(**corner), *point);
        }
        *point = **corner;
    }
    combine::<S>(a, &met, Operation::Union, &own_digits)
}

/// `own_digits`: corners of the second area by the points that stand for them.
fn combine<S: Surface>(
    a: &Areas,
    b: &Areas,
    operation: Operation,
    own_digits: &HashMap<Bits, Point>,
) -> Areas {
    let boundaries = [Boundary::of(a), Boundary::of(b)];
    let Found { turns, cuts } = turns::find::<S>(&boundaries[0].edges, &boundaries[1].edges);
    let pieces = [Pieces::of(&boundaries[0], &cuts[0]), Pieces::of(&boundaries[1], &cuts[1])];
    let mut turned = [vec![false; boundaries[0].rings.len()], vec![false; boundaries[1].rings.len()]];
    for turn in &turns {
        for source in [0, 1] {
            turned[source][boundaries[source].edges[turn.edges[source]].ring] = true;
        }
    }
    let mut rings = Vec::new();
    // Rings that meet none of the other area are kept or dropped as a whole.
    for source in [0, 1] {
        let (own, other) = (&boundaries[source], &boundaries[1 - source]);
        for (ring, points) in own.rings.iter().enumerate() {
            if turned[source][ring] || points.len() < 4 {
                continue;
            }
            let inside = points.iter().find_map(|point| other.is_inside::<S>(*point)).unwrap_or(false);
            if operation.keeps(source, inside) {
                rings.push(points.clone());
            }
        }
    }
    let kept = keep::<S>(&boundaries, &pieces, &turned, operation);
    let mut tracer = Tracer {
        boundaries: &boundaries,
        pieces: &pieces,
        kept,
        own_digits,
        at: HashMap::new(),
        turns: HashMap::new(),
    };
    tracer.prepare(&turns);
    // Where boundaries meet but almost nothing begins, unless that is all there is.
    for last_resort in [false, true] {
        for turn in &turns {
            if own_digits.contains_key(&bits(turn.point)) != last_resort {
                continue;
            }
            for source in [0, 1] {
                let next = pieces[source].after(&boundaries[source], turn.edges[source], turn.point);
                if let Some(start) = next.and_then(|piece| tracer.find(source, piece, turn.point)) {
                    rings.extend(tracer.ring::<S>(start, source));
                }
            }
        }
    }
    assemble::<S>(rings)
}

/// The pieces that bound the result.
fn keep<S: Surface>(
    boundaries: &[Boundary; 2],
    pieces: &[Pieces; 2],
    turned: &[Vec<bool>; 2],
    operation: Operation,
) -> Vec<Kept> {
    let mut kept: Vec<Kept> = Vec::new();
    let of_second: HashMap<(Bits, Bits), usize> =
        pieces[1].pieces.iter().enumerate().map(|(at, p)| ((bits(p.from), bits(p.to)), at)).collect();
    let of_first: HashMap<(Bits, Bits), usize> =
        pieces[0].pieces.iter().enumerate().map(|(at, p)| ((bits(p.from), bits(p.to)), at)).collect();
    for source in [0, 1] {
        let (own, other) = (&boundaries[source], &boundaries[1 - source]);
        for (at, piece) in pieces[source].pieces.iter().enumerate() {
            if !turned[source][own.edges[piece.edge].ring] {
                continue;
            }
            let (from, to) = (bits(piece.from), bits(piece.to));
            let shared = if source == 0 { &of_second } else { &of_first };
            let mut of = [None, None];
            of[source] = Some(at);
            if let Some(same) = shared.get(&(from, to)) {
                if source == 0 {
                    of[1] = Some(*same);
                    kept.push(Kept { from: piece.from, to: piece.to, of, used: false });
                }
                continue;
            }
            if shared.contains_key(&(to, from)) {
                continue;
            }
            let inside = other.is_inside::<S>(S::middle(piece.from, piece.to)).unwrap_or(false);
            if operation.keeps(source, inside) {
                kept.push(Kept { from: piece.from, to: piece.to, of, used: false });
            }
        }
    }
    kept
}

/// Puts pieces together to rings.
struct Tracer<'a> {
    boundaries: &'a [Boundary; 2],
    pieces: &'a [Pieces; 2],
    kept: Vec<Kept>,
    own_digits: &'a HashMap<Bits, Point>,
    /// The kept pieces that begin at a point.
    at: HashMap<Bits, Vec<usize>>,
    /// Of points that are turns: do both boundaries go on together there?
    turns: HashMap<Bits, bool>,
}

impl Tracer<'_> {
    fn prepare(&mut self, turns: &[turns::Turn]) {
        for (number, piece) in self.kept.iter().enumerate() {
            self.at.entry(bits(piece.from)).or_default().push(number);
        }
        for turn in turns {
            let next = |source: usize| {
                let piece =
                    self.pieces[source].after(&self.boundaries[source], turn.edges[source], turn.point)?;
                Some(bits(self.pieces[source].pieces[piece].to))
            };
            let together = next(0).is_some() && next(0) == next(1);
            self.turns.entry(bits(turn.point)).and_modify(|all| *all &= together).or_insert(together);
        }
    }

    /// The kept piece of a boundary that begins at a point and is in no ring yet.
    fn find(&self, source: usize, piece: usize, point: Point) -> Option<usize> {
        let begin = self.at.get(&bits(point))?;
        begin.iter().copied().find(|at| self.kept[*at].of[source] == Some(piece) && !self.kept[*at].used)
    }

    /// The way to go on from the end of a piece: the one furthest to the right.
    fn next(&self, from: &Kept, start: usize) -> Option<usize> {
        let begin = self.at.get(&bits(from.to))?;
        let along = (from.to.0 - from.from.0, from.to.1 - from.from.1);
        let angle = |at: &usize| {
            let piece = &self.kept[*at];
            let out = (piece.to.0 - piece.from.0, piece.to.1 - piece.from.1);
            let (sine, cosine) = (along.0 * out.1 - along.1 * out.0, along.0 * out.0 + along.1 * out.1);
            let angle = sine.atan2(cosine);
            // Back is no way to go on, if there is another one.
            if angle <= -std::f64::consts::PI { std::f64::consts::PI } else { angle }
        };
        let free = begin.iter().copied().filter(|at| !self.kept[*at].used || *at == start);
        free.min_by(|a, b| angle(a).total_cmp(&angle(b)))
    }

    fn with_own_digits(&self, source: usize, point: Point) -> Point {
        match source {
            1 => self.own_digits.get(&bits(point)).copied().unwrap_or(point),
            _ => point,
        }
    }

    fn ring<S: Surface>(&mut self, start: usize, mut source: usize) -> Vec<Vec<Point>> {
        let mut points = vec![self.with_own_digits(source, self.kept[start].from)];
        let mut current = start;
        loop {
            self.kept[current].used = true;
            let piece = &self.kept[current];
            let Some(next) = self.next(piece, start) else { return Vec::new() };
            if next == start {
                break;
            }
            let switches = self.kept[next].of[source].is_none();
            let corner = piece.of[source].is_some_and(|at| self.pieces[source].pieces[at].to_corner);
            let turns = self.turns.get(&bits(piece.to)) == Some(&false);
            if switches || corner || turns {
                points.push(self.with_own_digits(source, piece.to));
            }
            if switches {
                source = 1 - source;
            }
            current = next;
        }
        points.dedup();
        without_touches(points).into_iter().filter_map(closed::<S>).collect()
    }
}

/// A ring that comes back to one of its points, as rings that do not: the one that it begins with, then those in between.
fn without_touches(points: Vec<Point>) -> Vec<Vec<Point>> {
    let mut rings = Vec::new();
    let mut at: HashMap<Bits, usize> = HashMap::new();
    let mut open: Vec<Point> = Vec::new();
    for point in points {
        if let Some(&seen) = at.get(&bits(point)) {
            let round = open.split_off(seen);
            for inner in &round {
                at.remove(&bits(*inner));
            }
            rings.push(round);
        }
        at.insert(bits(point), open.len());
        open.push(point);
    }
    rings.insert(0, open);
    rings
}

/// The ring with its first point at the end too. It does not begin in the middle of a straight line.
fn closed<S: Surface>(mut points: Vec<Point>) -> Option<Vec<Point>> {
    while let [first, second, .., last] = points[..]
        && points.len() > 3
        && S::side(last, second, first) == 0.0
    {
        points.remove(0);
    }
    while let [first, .., before, last] = points[..]
        && points.len() > 3
        && S::side(before, first, last) == 0.0
    {
        points.pop();
    }
    if points.len() < 3 {
        return None;
    }
    points.push(points[0]);
    Some(points)
}

/// Rings as polygons: each hole belongs to the least outer ring around it.
fn assemble<S: Surface>(rings: Vec<Vec<Point>>) -> Areas {
    let measured: Vec<(f64, Vec<Point>)> =
        rings.into_iter().map(|ring| (S::area(&ring[..ring.len() - 1]), ring)).collect();
    let outer: Vec<usize> = (0..measured.len()).filter(|at| measured[*at].0 > 0.0).collect();
    let mut areas: Areas = outer.iter().map(|at| vec![measured[*at].1.clone()]).collect();
    for (_, hole) in measured.iter().filter(|(area, _)| *area <= 0.0) {
        let around = |at: &usize| {
            let ring = &measured[*at].1[..];
            hole.iter().find_map(|point| surface::is_inside::<S>(&[ring], *point)).unwrap_or(false)
        };
        let parents = (0..outer.len()).filter(|number| around(&outer[*number]));
        if let Some(parent) = parents.min_by(|a, b| measured[outer[*a]].0.total_cmp(&measured[outer[*b]].0)) {
            areas[parent].push(hole.clone());
        }
    }
    areas
}
