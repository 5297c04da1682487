//! A group of inner joins as a graph of relations and of what connects them.

use super::cost::{Tree, bits};
use crate::cross_join_to_inner::{equal_as_keys, equality};
use crate::estimate::{Distinct, Estimate, estimate};
use crate::push_down_filter::substitute;
use crate::rewriter::{Rewriter, placeholder, unconverted};
use chalet_base::Result;
use chalet_base::hash::{HashMap, HashSet, hash_u64};
use chalet_plan::{ColumnId, Expr, Field, Filter, Join, JoinKey, JoinKind, JoinStrictness, Plan};

/// A set of relations, a bit for each.
pub(super) type Set = u64;

/// More relations than a set has bits are not reordered.
const MAX_RELATIONS: usize = 64;

pub(super) struct Graph {
    pub relations: Vec<Relation>,
    /// Keys that are all equal to one another, of two relations at least.
    pub classes: Vec<Vec<Member>>,
    /// Equalities of two relations that are not transitive: of NULLs, of types with several equal values.
    pub edges: Vec<Edge>,
    /// What else must hold, in the order in which it is written, of several relations each.
    pub conditions: Vec<Condition>,
}

pub(super) struct Relation {
    pub plan: Plan,
    pub estimate: Estimate,
}

impl Relation {
    /// Stands where one was taken away.
    pub fn none() -> Relation {
        Relation { plan: placeholder(), estimate: Estimate::default() }
    }
}

/// A key of a relation.
#[derive(Clone)]
pub(super) struct Member {
    pub relation: usize,
    pub expr: Expr,
    pub distinct: Distinct,
}

pub(super) struct Edge {
    pub left: Member,
    pub right: Member,
    pub null_safe: bool,
}

pub(super) struct Condition {
    pub expr: Expr,
    pub relations: Set,
    /// Which part of the rows passes.
    pub selectivity: f64,
}

/// Inner joins, conditions over them, and projections that only rename what they put out.
pub(super) fn is_group(plan: &Plan) -> bool {
    match plan {
        Plan::Join(join) => is_plain(join),
        Plan::Filter(filter) => filter.condition.is_deterministic() && is_group(&filter.input),
        Plan::Project(project) => {
            project.exprs.iter().all(|(field, expr)| expr.as_column().is_some() && field.ty == *expr.ty())
                && is_group(&project.input)
        }
        _ => false,
    }
}

/// A join that gives all pairs of rows that meet its conditions, and nothing else.
fn is_plain(join: &Join) -> bool {
    let sources = join.left.fields().into_iter().chain(join.right.fields());
    matches!(join.kind, JoinKind::Inner | JoinKind::Cross)
        && join.strictness == JoinStrictness::All
        && join.asof.is_none()
        && join.residual.as_ref().is_none_or(Expr::is_deterministic)
        && join.on.iter().all(|key| key.left.is_deterministic() && key.right.is_deterministic())
        && join.fields.iter().zip(sources).all(|(field, source)| field.ty == source.ty)
}

/// What a column of the group is, over the columns of the relations.
pub(super) type Names = Vec<(Field, Expr)>;

#[derive(Default)]
struct Collector {
    relations: Vec<Plan>,
    keys: Vec<JoinKey>,
    conditions: Vec<Expr>,
}

impl Collector {
    /// Takes a group apart. Gives what its columns are, and how it is joined.
    fn take(&mut self, plan: &Plan) -> Result<(Names, Tree)> {
        if !is_group(plan) {
            self.relations.push(plan.clone());
            let names = plan.fields().into_iter().map(|f| (f.clone(), Expr::Column(f.id, f.ty)));
            return Ok((names.collect(), Tree::Relation(self.relations.len() - 1)));
        }
        match plan {
            Plan::Join(join) => {
                let (mut names, left) = self.take(&join.left)?;
                let (others, right) = self.take(&join.right)?;
                names.extend(others);
                for key in &join.on {
                    let (left, right) = (substitute(&key.left, &names)?, substitute(&key.right, &names)?);
                    self.keys.push(JoinKey { left, right, null_safe: key.null_safe });
                }
                if let Some(residual) = &join.residual {
                    substitute(residual, &names)?.conjuncts(&mut self.conditions);
                }
                let names = join.fields.iter().cloned().zip(names.into_iter().map(|(_, expr)| expr));
                Ok((names.collect(), Tree::Join(Box::new(left), Box::new(right))))
            }
            Plan::Filter(filter) => {
                let (names, tree) = self.take(&filter.input)?;
                substitute(&filter.condition, &names)?.conjuncts(&mut self.conditions);
                Ok((names, tree))
            }
            Plan::Project(project) => {
                let (names, tree) = self.take(&project.input)?;
                let renamed = project.exprs.iter();
                let renamed = renamed.map(|(field, expr)| Ok((field.clone(), substitute(expr, &names)?)));
                Ok((renamed.collect::<Result<_>>()?, tree))
            }
            _ => Ok((Names::new(), Tree::Relation(0))),
        }
    }
}

impl Graph {
    /// The graph of a group, its tree as it is written, and what its columns are; `None` where it has too many relations,
    /// or keys that are of several relations.
    pub fn of(plan: &Plan, with: &Rewriter) -> Result<Option<(Graph, Tree, Names)>> {
        let mut found = Collector::default();
        let (names, tree) = found.take(plan)?;
        let mut relation_of: HashMap<ColumnId, usize> = HashMap::default();
        for (number, relation) in found.relations.iter().enumerate() {
            for field in relation.fields() {
                if relation_of.insert(field.id, number).is_some() {
                    return Ok(None);
                }
            }
        }
        if found.relations.len() > MAX_RELATIONS {
            return Ok(None);
        }
        let relations = found.relations.into_iter().map(|plan| {
            let estimate = estimate(&plan);
            Relation { plan, estimate }
        });
        let mut graph = Graph {
            relations: relations.collect(),
            classes: Vec::new(),
            edges: Vec::new(),
            conditions: Vec::new(),
        };
        for JoinKey { left, right, null_safe } in found.keys {
            let sides = (relations_of(&left, &relation_of), relations_of(&right, &relation_of));
            let (Some(left), Some(right)) = (graph.member(left, sides.0), graph.member(right, sides.1))
            else {
                return Ok(None);
            };
            graph.connect(left, right, null_safe);
        }
        for condition in found.conditions {
            let relations = relations_of(&condition, &relation_of);
            match equality(&condition, with)? {
                Some((left, right)) if relations.count_ones() == 2 => {
                    let sides = (relations_of(&left, &relation_of), relations_of(&right, &relation_of));
                    match (graph.member(left, sides.0), graph.member(right, sides.1)) {
                        (Some(left), Some(right)) => graph.connect(left, right, false),
                        _ => graph.condition(condition, relations),
                    }
                }
                _ => graph.condition(condition, relations),
            }
        }
        graph.equate_within_relations(with)?;
        graph.filter_relations();
        Ok(Some((graph, tree, names)))
    }

    /// Puts random numbers of rows in place of the estimated ones, from one to ten million.
    pub fn draw_rows(&mut self, seed: u64) {
        for (number, relation) in self.relations.iter_mut().enumerate() {
            let drawn = hash_u64(seed.wrapping_add(number as u64)) % 700;
            relation.estimate.rows = 10f64.powf(drawn as f64 / 100.0);
        }
    }

    fn condition(&mut self, expr: Expr, relations: Set) {
        let estimates = bits(relations).map(|relation| &self.relations[relation].estimate);
        let selectivity = Estimate::combined(estimates).selectivity(&expr);
        self.conditions.push(Condition { expr, relations, selectivity });
    }

    /// A key of one relation.
    fn member(&self, expr: Expr, relations: Set) -> Option<Member> {
        if relations.count_ones() != 1 {
            return None;
        }
        let relation = relations.trailing_zeros() as usize;
        let distinct = self.relations[relation].estimate.of(&expr).distinct;
        Some(Member { relation, expr, distinct })
    }

    fn connect(&mut self, left: Member, right: Member, null_safe: bool) {
        let transitive = [&left, &right].iter().all(|member| equal_as_keys(member.expr.ty().bare()));
        if null_safe || !transitive || left.expr.ty().bare() != right.expr.ty().bare() {
            self.edges.push(Edge { left, right, null_safe });
            return;
        }
        // What is Nullable for nobody's sake is equal to the same keys. Dictionaries stay: a key is no code.
        let is_plain = |expr: &Expr| *expr.ty().without_low_cardinality() == *expr.ty();
        let [left, right] = [left, right].map(|member| match unconverted(&member.expr) {
            expr if is_plain(expr) => Member { expr: expr.clone(), ..member },
            _ => member,
        });
        // The classes of both become one.
        let mut joined: Vec<Member> = Vec::new();
        self.classes.retain_mut(|class| {
            let meets = class.iter().any(|member| member.expr == left.expr || member.expr == right.expr);
            if meets {
                joined.append(class);
            }
            !meets
        });
        for member in [left, right] {
            if !joined.iter().any(|other| other.expr == member.expr) {
                joined.push(member);
            }
        }
        self.classes.push(joined);
    }

    /// Two members of a class that are of one relation are a condition on it; the first of them stands for both.
    pub(super) fn equate_within_relations(&mut self, with: &Rewriter) -> Result<()> {
        for class in std::mem::take(&mut self.classes) {
            let mut firsts: Vec<Member> = Vec::new();
            for member in class {
                match firsts.iter().find(|first| first.relation == member.relation) {
                    None => firsts.push(member),
                    Some(first) => {
                        let equal = (with.call)("equals", vec![first.expr.clone(), member.expr])?;
                        self.condition(equal, 1 << member.relation);
                    }
                }
            }
            if firsts.len() > 1 {
                self.classes.push(firsts);
            }
        }
        Ok(())
    }

    /// Conditions on one relation are part of it. Those on none are the first's.
    pub(super) fn filter_relations(&mut self) {
        for condition in std::mem::take(&mut self.conditions) {
            if condition.relations.count_ones() > 1 {
                self.conditions.push(condition);
                continue;
            }
            let number = bits(condition.relations).next().unwrap_or(0);
            let relation = &mut self.relations[number];
            let input = std::mem::replace(&mut relation.plan, placeholder());
            relation.plan = Plan::Filter(Filter { input: Box::new(input), condition: condition.expr });
            relation.estimate = estimate(&relation.plan);
        }
    }
}

/// The relations whose columns an expression reads.
fn relations_of(expr: &Expr, relation_of: &HashMap<ColumnId, usize>) -> Set {
    let columns: HashSet<ColumnId> = expr.columns();
    columns.iter().filter_map(|id| relation_of.get(id)).fold(0, |set, relation| set | 1 << relation)
}
