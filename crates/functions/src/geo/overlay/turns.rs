//! The points where the boundaries of two geometries meet, in the order in which Boost.Geometry finds them: by sections of the
//! boundaries, and where there are many of these by halves of the plane. That order decides where rings of a result begin.

use super::super::ring::Point;
use super::surface::Surface;

/// One edge of a boundary.
#[derive(Clone, Copy)]
pub struct Edge {
    pub from: Point,
    pub to: Point,
    /// The number of its ring.
    pub ring: usize,
}

/// A point that two boundaries share, with the edges that arrive there or pass it.
pub struct Turn {
    pub point: Point,
    pub edges: [usize; 2],
}

/// Turns, and for each edge of both boundaries the points to cut it at.
pub struct Found {
    pub turns: Vec<Turn>,
    pub cuts: [Vec<Vec<Point>>; 2],
}

#[derive(Clone, Copy)]
struct Box2 {
    low: Point,
    high: Point,
}

impl Box2 {
    const NONE: Box2 =
        Box2 { low: (f64::INFINITY, f64::INFINITY), high: (f64::NEG_INFINITY, f64::NEG_INFINITY) };

    fn of<S: Surface>(edge: &Edge) -> Box2 {
        let (low, high) = S::extent(edge.from, edge.to);
        Box2 { low, high }
    }

    fn join(&mut self, other: &Box2) {
        self.low = (self.low.0.min(other.low.0), self.low.1.min(other.low.1));
        self.high = (self.high.0.max(other.high.0), self.high.1.max(other.high.1));
    }

    fn meets(&self, other: &Box2) -> bool {
        self.low.0 <= other.high.0
            && other.low.0 <= self.high.0
            && self.low.1 <= other.high.1
            && other.low.1 <= self.high.1
    }

    fn halves(&self, vertical: bool) -> (Box2, Box2) {
        let (mut lower, mut upper) = (*self, *self);
        if vertical {
            let middle = f64::midpoint(self.low.1, self.high.1);
            (lower.high.1, upper.low.1) = (middle, middle);
        } else {
            let middle = f64::midpoint(self.low.0, self.high.0);
            (lower.high.0, upper.low.0) = (middle, middle);
        }
        (lower, upper)
    }
}

/// Edges one after another that run in the same directions.
struct Section {
    edges: std::ops::Range<usize>,
    extent: Box2,
}

fn sections<S: Surface>(edges: &[Edge]) -> Vec<Section> {
    /// So many edges a section has before another one begins.
    const MOST: usize = 10;
    let direction = |edge: &Edge| {
        let sign = |from: f64, to: f64| i32::from(to > from) - i32::from(to < from);
        (edge.ring, sign(edge.from.0, edge.to.0), sign(edge.from.1, edge.to.1))
    };
    let mut all: Vec<Section> = Vec::new();
    for (at, edge) in edges.iter().enumerate() {
        let same = at > 0 && direction(&edges[at - 1]) == direction(edge);
        match all.last_mut().filter(|last| same && last.edges.len() <= MOST) {
            Some(last) => last.edges.end = at + 1,
            None => all.push(Section { edges: at..at + 1, extent: Box2::NONE }),
        }
        if let Some(last) = all.last_mut() {
            last.extent.join(&Box2::of::<S>(edge));
        }
    }
    all
}

struct Finder<'a> {
    sections: [Vec<Section>; 2],
    visit: &'a mut dyn FnMut(&Section, &Section),
}

/// With fewer sections on one side, all pairs are looked at.
const FEWEST: usize = 16;
const DEEPEST: usize = 100;

impl Finder<'_> {
    fn pairs(&mut self, a: &[usize], b: &[usize]) {
        for &i in a {
            for &j in b {
                let (p, q) = (&self.sections[0][i], &self.sections[1][j]);
                if p.extent.meets(&q.extent) {
                    (self.visit)(p, q);
                }
            }
        }
    }

    fn extent(&self, of: &[(usize, &[usize])]) -> Box2 {
        let mut extent = Box2::NONE;
        for (source, numbers) in of {
            numbers.iter().for_each(|n| extent.join(&self.sections[*source][*n].extent));
        }
        extent
    }

    fn split(&self, source: usize, numbers: &[usize], lower: &Box2, upper: &Box2) -> [Vec<usize>; 3] {
        let mut parts = [Vec::new(), Vec::new(), Vec::new()];
        for &number in numbers {
            let extent = &self.sections[source][number].extent;
            match (lower.meets(extent), upper.meets(extent)) {
                (true, true) => parts[2].push(number),
                (true, false) => parts[0].push(number),
                (false, true) => parts[1].push(number),
                (false, false) => {}
            }
        }
        parts
    }

    /// Halves the box, and looks at pairs of the sections that lie in both halves before those of each.
    fn divide(&mut self, extent: Box2, vertical: bool, a: &[usize], b: &[usize], level: usize) {
        let (lower, upper) = extent.halves(vertical);
        let [low_a, high_a, both_a] = self.split(0, a, &lower, &upper);
        let [low_b, high_b, both_b] = self.split(1, b, &lower, &upper);
        let deeper = |sides: &[&[usize]]| level < DEEPEST && sides.iter().all(|side| side.len() >= FEWEST);
        let next = |this: &mut Self, go: bool, extent: Box2, a: &[usize], b: &[usize]| match go {
            true => this.divide(extent, !vertical, a, b, level + 1),
            false => this.pairs(a, b),
        };
        if !both_a.is_empty() {
            let extent = self.extent(&[(0, &both_a), (1, &both_b)]);
            next(self, deeper(&[&both_a, &both_b]), extent, &both_a, &both_b);
            let extent = self.extent(&[(0, &both_a)]);
            let go = deeper(&[&low_b, &high_b, &both_a]);
            next(self, go, extent, &both_a, &low_b);
            next(self, go, extent, &both_a, &high_b);
        }
        if !both_b.is_empty() {
            let extent = self.extent(&[(1, &both_b)]);
            let go = deeper(&[&low_a, &high_a, &both_b]);
            next(self, go, extent, &low_a, &both_b);
            next(self, go, extent, &high_a, &both_b);
        }
        next(self, deeper(&[&low_a, &low_b]), lower, &low_a, &low_b);
        next(self, deeper(&[&high_a, &high_b]), upper, &high_a, &high_b);
    }
}

/// The turns of two boundaries.
pub fn find<S: Surface>(a: &[Edge], b: &[Edge]) -> Found {
    let mut found = Found { turns: Vec::new(), cuts: [vec![Vec::new(); a.len()], vec![Vec::new(); b.len()]] };
    let sections = [sections::<S>(a), sections::<S>(b)];
    let all = [0, 1].map(|source: usize| (0..sections[source].len()).collect::<Vec<usize>>());
    let mut visit = |p: &Section, q: &Section| {
        for i in p.edges.clone() {
            for j in q.edges.clone() {
                meet::<S>(&mut found, [i, j], &a[i], &b[j]);
            }
        }
    };
    let mut finder = Finder { sections, visit: &mut visit };
    if all.iter().all(|numbers| numbers.len() > FEWEST) {
        let extent = finder.extent(&[(0, &all[0]), (1, &all[1])]);
        finder.divide(extent, false, &all[0], &all[1], 0);
    } else {
        finder.pairs(&all[0], &all[1]);
    }
    found
}

/// Where two edges meet. A point at the start of an edge is a turn of the edge before.
fn meet<S: Surface>(found: &mut Found, edges: [usize; 2], p: &Edge, q: &Edge) {
    let (a, b, c, d) = (p.from, p.to, q.from, q.to);
    if !Box2::of::<S>(p).meets(&Box2::of::<S>(q)) {
        return;
    }
    let of_p = (S::side(a, b, c), S::side(a, b, d));
    let of_q = (S::side(c, d, a), S::side(c, d, b));
    let opposite = |(x, y): (f64, f64)| x > 0.0 && y < 0.0 || x < 0.0 && y > 0.0;
    if opposite(of_p) && opposite(of_q) {
        let point = S::crossing(a, b, c, d);
        found.cuts[0][edges[0]].push(point);
        found.cuts[1][edges[1]].push(point);
        found.turns.push(Turn { point, edges });
        return;
    }
    let on_q =
        |side: f64, point: Point| point == c || point == d || side == 0.0 && S::is_between(c, d, point);
    let on_p =
        |side: f64, point: Point| point == a || point == b || side == 0.0 && S::is_between(a, b, point);
    let (start_q, end_q) = (on_p(of_p.0, c), on_p(of_p.1, d));
    let (start_p, end_p) = (on_q(of_q.0, a), on_q(of_q.1, b));
    for (meets, point) in [(start_p, a), (end_p, b)] {
        if meets && point != c && point != d {
            found.cuts[1][edges[1]].push(point);
        }
    }
    for (meets, point) in [(start_q, c), (end_q, d)] {
        if meets && point != a && point != b {
            found.cuts[0][edges[0]].push(point);
        }
    }
    let mut ends = Vec::new();
    if end_q && d != a && d != b {
        ends.push(d);
    }
    if end_p && b != c {
        ends.push(b);
    }
    found.turns.extend(ends.into_iter().map(|point| Turn { point, edges }));
}
