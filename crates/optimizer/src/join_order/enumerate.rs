//! The search for the cheapest tree: dynamic programming over connected sub-graphs (DPccp of Moerkotte and Neumann), or
//! greedy operator ordering where there are too many relations for that.

use super::cost::{Costs, Tree, bits};
use super::graph::Set;
use chalet_base::hash::HashMap;

/// Pairs of sub-graphs that are looked at, at most; dense graphs of few relations have many.
const MAX_PAIRS: usize = 100_000;

/// The best tree found. Relations that no key connects are paired at the end, the largest streaming.
pub(super) fn best(costs: &mut Costs, limit: usize) -> Tree {
    let all = (0..costs.n_relations()).fold(0, |set: Set, relation| set | 1 << relation);
    let mut rest = all;
    let mut trees = Vec::new();
    while rest != 0 {
        let component = costs.component(rest & rest.wrapping_neg());
        rest &= !component;
        let tree = match component.count_ones() as usize {
            n if n <= limit => Search::default().best(costs, component),
            _ => None,
        };
        trees.push(tree.unwrap_or_else(|| greedy(costs, component)));
    }
    // A product with the fewest rows first: conditions on both may be many.
    while trees.len() > 1 {
        let mut least = (f64::INFINITY, 0, 1);
        for i in 0..trees.len() {
            for j in i + 1..trees.len() {
                let rows = costs.rows(trees[i].set() | trees[j].set());
                if rows < least.0 {
                    least = (rows, i, j);
                }
            }
        }
        let second = trees.remove(least.2);
        let first = trees.remove(least.1);
        let joined = join(costs, first, second);
        trees.insert(least.1, joined);
    }
    trees.pop().unwrap_or(Tree::Relation(0))
}

fn join(costs: &mut Costs, first: Tree, second: Tree) -> Tree {
    match costs.builds_first(first.set(), second.set()) {
        true => Tree::Join(Box::new(second), Box::new(first)),
        false => Tree::Join(Box::new(first), Box::new(second)),
    }
}

/// Joins the connected pair with the fewest rows, until there is one tree.
fn greedy(costs: &mut Costs, component: Set) -> Tree {
    let mut trees: Vec<Tree> = bits(component).map(Tree::Relation).collect();
    while trees.len() > 1 {
        let mut least = (f64::INFINITY, 0, 1);
        for i in 0..trees.len() {
            for j in i + 1..trees.len() {
                let (a, b) = (trees[i].set(), trees[j].set());
                if costs.are_connected(a, b) {
                    let cost = costs.of_join(a, b).min(costs.of_join(b, a));
                    if cost < least.0 {
                        least = (cost, i, j);
                    }
                }
            }
        }
        let second = trees.remove(least.2);
        let first = trees.remove(least.1);
        let joined = join(costs, first, second);
        trees.push(joined);
    }
    trees.pop().unwrap_or(Tree::Relation(0))
}

#[derive(Default)]
struct Search {
    /// Of each connected set its cheapest cost, and the sides (probe, build) that have it.
    plans: HashMap<Set, (f64, Option<(Set, Set)>)>,
    pairs: usize,
}

impl Search {
    /// `None` where there are too many pairs of sub-graphs.
    fn best(mut self, costs: &mut Costs, component: Set) -> Option<Tree> {
        for relation in bits(component) {
            self.plans.insert(1 << relation, (0.0, None));
        }
        let relations: Vec<usize> = bits(component).collect();
        for &relation in relations.iter().rev() {
            let start = 1 << relation;
            self.complements(costs, start, component)?;
            self.grow(costs, start, up_to(relation), component)?;
        }
        self.tree(component)
    }

    /// All connected sets that grow out of one, without what is excluded.
    fn grow(&mut self, costs: &mut Costs, set: Set, excluded: Set, component: Set) -> Option<()> {
        let neighbours = costs.neighbours_of(set) & !excluded;
        for part in subsets(neighbours) {
            self.complements(costs, set | part, component)?;
        }
        for part in subsets(neighbours) {
            self.grow(costs, set | part, excluded | neighbours, component)?;
        }
        Some(())
    }

    /// All connected sets that a set can be joined with, those with a lower number than its lowest aside.
    fn complements(&mut self, costs: &mut Costs, set: Set, component: Set) -> Option<()> {
        let excluded = set | up_to(set.trailing_zeros() as usize);
        let neighbours = costs.neighbours_of(set) & !excluded & component;
        let mut order: Vec<usize> = bits(neighbours).collect();
        order.reverse();
        for relation in order {
            let start = 1 << relation;
            self.pair(costs, set, start)?;
            self.grow_complement(costs, set, start, excluded | (up_to(relation) & neighbours))?;
        }
        Some(())
    }

    fn grow_complement(&mut self, costs: &mut Costs, set: Set, other: Set, excluded: Set) -> Option<()> {
        let neighbours = costs.neighbours_of(other) & !excluded & !set;
        for part in subsets(neighbours) {
            let grown = other | part;
            if self.plans.contains_key(&grown) && costs.are_connected(set, grown) {
                self.pair(costs, set, grown)?;
            }
        }
        for part in subsets(neighbours) {
            self.grow_complement(costs, set, other | part, excluded | neighbours)?;
        }
        Some(())
    }

    fn pair(&mut self, costs: &mut Costs, a: Set, b: Set) -> Option<()> {
        self.pairs += 1;
        if self.pairs > MAX_PAIRS {
            return None;
        }
        let below = self.plans.get(&a)?.0 + self.plans.get(&b)?.0;
        let (probe, build) = if costs.builds_first(a, b) { (b, a) } else { (a, b) };
        let cost = below + costs.of_join(probe, build);
        let known = self.plans.entry(a | b).or_insert((f64::INFINITY, None));
        if cost < known.0 {
            *known = (cost, Some((probe, build)));
        }
        Some(())
    }

    fn tree(&self, set: Set) -> Option<Tree> {
        Some(match self.plans.get(&set)?.1 {
            None => Tree::Relation(set.trailing_zeros() as usize),
            Some((probe, build)) => Tree::Join(Box::new(self.tree(probe)?), Box::new(self.tree(build)?)),
        })
    }
}

/// The relations up to this one.
fn up_to(relation: usize) -> Set {
    Set::MAX >> (Set::BITS as usize - 1 - relation)
}

/// All subsets but the empty one, each after those that it contains.
fn subsets(set: Set) -> impl Iterator<Item = Set> {
    let mut next = 0;
    std::iter::from_fn(move || {
        next = (next as Set).wrapping_sub(set) & set;
        (next != 0).then_some(next)
    })
}
