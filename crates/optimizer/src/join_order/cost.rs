//! Rows of a set of relations, and the cost of a tree of joins.

use super::frequent::Frequent;
use super::graph::{Graph, Member, Set};
use crate::estimate::{Distinct, estimate, match_probability};
use crate::rewriter::{JoinSides, unconverted};
use chalet_base::hash::HashMap;
use chalet_plan::{ColumnId, Expr, GroupingKind, Plan};

/// Costs of a row, in rows probed.
const BUILD_ROW: f64 = 3.0;
const OUTPUT_ROW: f64 = 1.0;
/// Of a row that is grouped before it is joined.
const GROUPED_ROW: f64 = 3.0;
/// Of one that is sorted for a window, in rows grouped.
const SORTED_ROW: f64 = 3.0;
/// Of a column of a row that is built or put out.
const COLUMN: f64 = 0.15;

/// How relations are joined: the right side of each join is built, the left one streams past it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Relation(usize),
    Join(Box<Tree>, Box<Tree>),
}

impl Tree {
    /// So many relations, joined one after the other.
    pub fn of_relations(n: usize) -> Tree {
        (1..n)
            .fold(Tree::Relation(0), |tree, next| Tree::Join(Box::new(tree), Box::new(Tree::Relation(next))))
    }

    pub fn set(&self) -> Set {
        match self {
            Tree::Relation(number) => 1 << number,
            Tree::Join(left, right) => left.set() | right.set(),
        }
    }
}

/// What connects two relations.
struct Pair {
    relations: (usize, usize),
    /// Keys, by the number of their class, with the distinct values on both sides.
    keys: Vec<(usize, Distinct, Distinct)>,
    match_probability: f64,
}

pub(super) struct Costs<'a> {
    graph: &'a Graph,
    sides: JoinSides,
    /// Those that leave the fewest rows first.
    pairs: Vec<Pair>,
    /// Of each relation, those that are connected with it by a key.
    neighbours: Vec<Set>,
    /// Number of classes; edges have numbers behind them.
    n_keys: usize,
    /// Of each class, where samples were asked.
    frequent: Vec<Frequent>,
    rows: HashMap<Set, f64>,
    /// Of each relation that groups rows: its cost, and the numbers of keys by which a run-time filter spares it rows.
    grouped: Vec<Option<(f64, Vec<usize>)>>,
}

impl<'a> Costs<'a> {
    pub fn new(graph: &'a Graph, sides: JoinSides) -> Costs<'a> {
        let mut pairs: Vec<Pair> = Vec::new();
        let mut connect = |number: usize, a: (usize, Distinct), b: (usize, Distinct)| {
            let (a, b) = if a.0 < b.0 { (a, b) } else { (b, a) };
            let key = (number, a.1, b.1);
            match pairs.iter_mut().find(|pair| pair.relations == (a.0, b.0)) {
                Some(pair) => pair.keys.push(key),
                None => pairs.push(Pair { relations: (a.0, b.0), keys: vec![key], match_probability: 1.0 }),
            }
        };
        for (number, class) in graph.classes.iter().enumerate() {
            for (i, a) in class.iter().enumerate() {
                for b in &class[i + 1..] {
                    connect(number, (a.relation, a.distinct), (b.relation, b.distinct));
                }
            }
        }
        for (number, edge) in graph.edges.iter().enumerate() {
            let (a, b) = (&edge.left, &edge.right);
            connect(graph.classes.len() + number, (a.relation, a.distinct), (b.relation, b.distinct));
        }
        let mut neighbours = vec![0; graph.relations.len()];
        for Pair { relations: (a, b), .. } in &pairs {
            neighbours[*a] |= 1 << b;
            neighbours[*b] |= 1 << a;
        }
        let n_keys = graph.classes.len() + graph.edges.len();
        let grouped = (0..graph.relations.len()).map(|relation| grouped(graph, relation)).collect();
        let (rows, frequent) = (HashMap::default(), Vec::new());
        let mut costs = Costs { graph, sides, pairs, neighbours, n_keys, frequent, rows, grouped };
        for at in 0..costs.pairs.len() {
            let all: Vec<usize> = (0..costs.pairs[at].keys.len()).collect();
            costs.pairs[at].match_probability = costs.probability(&costs.pairs[at], &all);
        }
        costs.pairs.sort_by(|a, b| a.match_probability.total_cmp(&b.match_probability));
        costs
    }

    /// Asks samples which values of keys are frequent.
    pub fn with_frequent_values(self) -> Costs<'a> {
        let frequent = self.graph.classes.iter().map(|class| Frequent::of(class, self.graph)).collect();
        Costs { frequent, ..self }
    }

    pub fn n_relations(&self) -> usize {
        self.neighbours.len()
    }

    pub fn neighbours_of(&self, set: Set) -> Set {
        bits(set).fold(0, |all, relation| all | self.neighbours[relation]) & !set
    }

    /// Is there a key between them?
    pub fn are_connected(&self, a: Set, b: Set) -> bool {
        self.neighbours_of(a) & b != 0
    }

    /// That rows of a pair are equal in some of its keys.
    fn probability(&self, pair: &Pair, keys: &[usize]) -> f64 {
        let base = |relation: usize| self.graph.relations[relation].estimate.base_rows;
        let (a, b) = pair.relations;
        let left = Distinct::together(keys.iter().map(|&key| pair.keys[key].1), base(a));
        let right = Distinct::together(keys.iter().map(|&key| pair.keys[key].2), base(b));
        match_probability(left, right)
    }

    /// Of all relations of the set joined, whatever the order.
    pub fn rows(&mut self, set: Set) -> f64 {
        if let Some(rows) = self.rows.get(&set) {
            return *rows;
        }
        let mut rows = self.filtered_rows(set);
        // Each key of n relations in the set is n - 1 conditions: those of the pairs that it connects first.
        let n = self.neighbours.len();
        let mut parts: Vec<u8> = (0..self.n_keys).flat_map(|_| 0..n as u8).collect();
        for pair in &self.pairs {
            let (a, b) = pair.relations;
            if set >> a & 1 == 0 || set >> b & 1 == 0 {
                continue;
            }
            let mut fresh = Vec::new();
            for (at, (number, ..)) in pair.keys.iter().enumerate() {
                let parts = &mut parts[number * n..(number + 1) * n];
                let (from, to) = (parts[a], parts[b]);
                if from != to {
                    fresh.push(at);
                    parts.iter_mut().filter(|part| **part == from).for_each(|part| *part = to);
                }
            }
            if !fresh.is_empty() {
                rows *= self.probability(pair, &fresh);
            }
        }
        for condition in self.graph.conditions.iter().filter(|c| c.relations & !set == 0) {
            rows *= condition.selectivity;
        }
        let frequent: f64 = self.frequent.iter().map(|frequent| frequent.factor(set)).product();
        let rows = (rows * frequent).max(1.0);
        self.rows.insert(set, rows);
        rows
    }

    /// All combinations of rows of the relations that conditions on single relations leave.
    fn filtered_rows(&self, set: Set) -> f64 {
        let mut rows = 1.0;
        let mut parts: Vec<f64> = Vec::new();
        for relation in bits(set) {
            let estimate = &self.graph.relations[relation].estimate;
            let all = estimate.base_rows.max(estimate.rows).max(1.0);
            rows *= all;
            parts.push(estimate.rows.max(1.0) / all);
        }
        parts.sort_by(f64::total_cmp);
        // Conditions on relations that are joined mostly go together: what all but the strongest leave counts less and less.
        let weight = |at: usize| 0.5f64.powi(at as i32);
        rows * parts.iter().enumerate().map(|(at, part)| part.powf(weight(at))).product::<f64>()
    }

    fn width(&self, set: Set) -> f64 {
        bits(set).map(|relation| self.graph.relations[relation].estimate.n_columns() as f64).sum()
    }

    /// Of one join, without what is below.
    pub fn of_join(&mut self, probe: Set, build: Set) -> f64 {
        let (left, right, out) = (self.rows(probe), self.rows(build), self.rows(probe | build));
        let built = right * (BUILD_ROW + COLUMN * self.width(build));
        let product = if self.are_connected(probe, build) { 0.0 } else { left * right };
        let grouped = self.grouping(build, 1.0) + self.grouping(probe, self.passing(probe, build, right));
        left + built + out * (OUTPUT_ROW + COLUMN * self.width(probe | build)) + product + grouped
    }

    /// The cost of grouping the rows of a relation, of which this part passes run-time filters. Of joins nothing: it is part of the
    /// joins below.
    fn grouping(&self, set: Set, passing: f64) -> f64 {
        if set.count_ones() != 1 {
            return 0.0;
        }
        self.grouped[set.trailing_zeros() as usize].as_ref().map_or(0.0, |(cost, _)| cost * passing)
    }

    /// Which part of the rows that a relation groups passes the run-time filter of a build of so many rows.
    fn passing(&self, probe: Set, build: Set, built: f64) -> f64 {
        let probe = probe.trailing_zeros() as usize;
        let Some((_, keys)) = &self.grouped[probe] else { return 1.0 };
        let mut passing = 1.0f64;
        for pair in &self.pairs {
            let (first, second) = pair.relations;
            let (is_first, other) = if first == probe { (true, second) } else { (false, first) };
            if first != probe && second != probe || build >> other & 1 == 0 {
                continue;
            }
            for (_, first, second) in pair.keys.iter().filter(|(number, ..)| keys.contains(number)) {
                let (own, others) = if is_first { (first, second) } else { (second, first) };
                passing = passing.min(built.min(others.number()) / own.number());
            }
        }
        passing
    }

    /// Is one of them a relation that groups rows?
    pub fn groups_rows(&self, set: Set) -> bool {
        bits(set).any(|relation| self.grouped[relation].is_some())
    }

    /// Which of two sides had better be built: true for the first.
    pub fn builds_first(&mut self, first: Set, second: Set) -> bool {
        match self.sides {
            // The one that is written first streams.
            JoinSides::Written => first.trailing_zeros() > second.trailing_zeros(),
            _ => self.of_join(second, first) < self.of_join(first, second),
        }
    }

    pub fn of_tree(&mut self, tree: &Tree) -> f64 {
        match tree {
            Tree::Relation(_) => 0.0,
            Tree::Join(left, right) => {
                self.of_tree(left) + self.of_tree(right) + self.of_join(left.set(), right.set())
            }
        }
    }

    /// Are there sides without a key between them, although one leads from the one to the other?
    pub fn has_avoidable_product(&self, tree: &Tree) -> bool {
        match tree {
            Tree::Relation(_) => false,
            Tree::Join(left, right) => {
                let (a, b) = (left.set(), right.set());
                !self.are_connected(a, b) && self.component(a) & b != 0
                    || self.has_avoidable_product(left)
                    || self.has_avoidable_product(right)
            }
        }
    }

    /// All relations that keys connect with these.
    pub fn component(&self, set: Set) -> Set {
        let mut all = set;
        loop {
            let more = self.neighbours_of(all);
            if more == 0 {
                return all;
            }
            all |= more;
        }
    }
}

/// What it costs to group the rows of a relation that does, and which classes have one of its grouping keys.
fn grouped(graph: &Graph, relation: usize) -> Option<(f64, Vec<usize>)> {
    let (rows, keys) = grouping_keys(&graph.relations[relation].plan)?;
    let has_key = |class: &Vec<Member>| {
        let own = class.iter().find(|member| member.relation == relation);
        own.and_then(|member| unconverted(&member.expr).as_column()).is_some_and(|id| keys.contains(&id))
    };
    let classes = graph.classes.iter().enumerate().filter(|(_, class)| has_key(class));
    Some((rows * GROUPED_ROW, classes.map(|(number, _)| number).collect()))
}

/// How many rows a plan groups, or what takes as long, and which of its columns are what it groups them by.
fn grouping_keys(plan: &Plan) -> Option<(f64, Vec<ColumnId>)> {
    match plan {
        Plan::Filter(node) => grouping_keys(&node.input),
        Plan::Project(node) => {
            let (rows, keys) = grouping_keys(&node.input)?;
            let is_key = |expr: &Expr| expr.as_column().is_some_and(|id| keys.contains(&id));
            let kept = node.exprs.iter().filter(|(_, expr)| is_key(expr)).map(|(field, _)| field.id);
            Some((rows, kept.collect()))
        }
        Plan::Window(node) => {
            let keys = node.partition_by.iter().filter_map(Expr::as_column).collect();
            Some((estimate(&node.input).rows * SORTED_ROW, keys))
        }
        Plan::Aggregate(node) if node.grouping == GroupingKind::Plain && node.totals.is_none() => {
            Some((estimate(&node.input).rows, node.keys.iter().map(|(field, _)| field.id).collect()))
        }
        _ => None,
    }
}

/// The numbers of the relations of a set.
pub(super) fn bits(set: Set) -> impl Iterator<Item = usize> {
    (0..Set::BITS as usize).filter(move |bit| set >> bit & 1 == 1)
}
