//! Aggregates over rows that a group of joins reads itself are windows over these rows, which are then read once: "WinMagic:
//! Subquery Elimination Using Window Aggregation" (Zuzarte, Pirahesh, Ma, Cheng, Liu and Wong, 2003).
//!
//! ```text
//! Filter l_quantity < a                        Filter l_quantity < a
//!   Join on l_partkey = p_partkey = key          Join on l_partkey = p_partkey
//!     Scan lineitem                                Window by l_partkey: avg(l_quantity) as a
//!     Scan part where p_brand = 'x'       =>         Scan lineitem
//!     Aggregate by l_partkey as key:               Scan part where p_brand = 'x'
//!       avg(l_quantity) as a
//!       Scan lineitem
//! ```
//!
//! Such aggregates are what [correlated sub-queries](crate::unnest_subqueries) become. What is grouped may be a join, if the group has
//! its relations and conditions too. Whatever else the group asks for is asked of the rows that the window puts out.
//!
//! All rows of a window are sorted, so that it pays only where another relation leaves few of its partitions: its run-time filter
//! reaches the tables below.

use super::build;
use super::cost::{Tree, bits};
use super::graph::{Condition, Graph, Member, Names, Relation, Set};
use crate::eager_aggregation::groups_as_it_joins;
use crate::estimate::estimate;
use crate::push_down_filter::substitute;
use crate::rewriter::{Rewriter, placeholder, unconverted};
use crate::windows_over_groups::PART_LEFT;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_base::hash::{HashMap, HashSet};
use chalet_base::switches::{self, Switch};
use chalet_function_api::aggregate::RowOrder;
use chalet_plan::{
    Aggregate, ColumnId, Expr, Field, Filter, FrameBound, FrameSpec, FrameUnit, GroupingKind, Plan, Project,
    ScanNode, Window, WindowCall, WindowImpl,
};
use chalet_types::DataType;

/// Fewer rows are grouped and joined in no time.
const MIN_ROWS: f64 = 10_000.0;

/// The graph with a window in place of each aggregate that can be one, and a tree of its relations.
pub(super) fn over_windows(mut graph: Graph, mut written: Tree, with: &Rewriter) -> Result<(Graph, Tree)> {
    if !switches::is_on(Switch::SubqueryWindows) {
        return Ok((graph, written));
    }
    while let Some(repeated) = Repeated::find(&graph, with)? {
        events::count(Event::SubqueriesToWindows);
        graph = repeated.replaced(graph, with)?;
        written = Tree::of_relations(graph.relations.len());
    }
    Ok((graph, written))
}

/// An aggregate whose rows the group has itself.
struct Repeated {
    /// Its relation.
    aggregate: usize,
    node: Aggregate,
    /// What the relation puts out, over the fields of the aggregate.
    outputs: Names,
    /// Fields of the relation that are keys of the aggregate.
    keys: HashSet<ColumnId>,
    /// What is grouped, its columns being those of the group's relations.
    input: Graph,
    /// The columns of the aggregate's input, over the group's relations.
    names: Names,
    /// The group's relations, in the order of those of `input`.
    relations: Vec<usize>,
}

impl Repeated {
    fn find(graph: &Graph, with: &Rewriter) -> Result<Option<Repeated>> {
        for aggregate in 0..graph.relations.len() {
            let Some((node, outputs)) = peeled(&graph.relations[aggregate].plan)? else { continue };
            let Some((input, _, names)) = Graph::of(&node.input, with)? else { continue };
            let Some((relations, renamed)) = found_again(&input, graph, aggregate)? else { continue };
            let Some(input) = renamed_graph(input, &renamed) else { continue };
            let names = names.into_iter().map(|(field, expr)| (field, expr.rename(&renamed))).collect();
            let node = node.clone();
            let mut repeated =
                Repeated { aggregate, node, outputs, keys: HashSet::default(), input, names, relations };
            if repeated.has_its_conditions(graph) && repeated.is_joined_by_keys(graph)? {
                return Ok(Some(repeated));
            }
        }
        Ok(None)
    }

    /// Does the group ask for all that is asked of the rows that are grouped?
    fn has_its_conditions(&self, graph: &Graph) -> bool {
        let in_one_class = |class: &Vec<Member>| {
            let has =
                |outer: &Vec<Member>| class.iter().all(|member| outer.iter().any(|o| o.expr == member.expr));
            graph.classes.iter().any(has)
        };
        let is_known = |inner: &Condition| graph.conditions.iter().any(|outer| outer.expr == inner.expr);
        self.input.classes.iter().all(in_one_class) && self.input.conditions.iter().all(is_known)
    }

    /// Is each row joined with the group of its own keys, and does another relation leave few of these?
    fn is_joined_by_keys(&mut self, graph: &Graph) -> Result<bool> {
        let own: Set = self.relations.iter().fold(1 << self.aggregate, |set, relation| set | 1 << relation);
        let mut leaves_few = false;
        for (key, expr) in &self.node.keys {
            let of_rows = substitute(expr, &self.names)?;
            let field = self.outputs.iter().find(|(_, output)| output.as_column() == Some(key.id));
            let Some((field, _)) = field else { return Ok(false) };
            let has = |class: &&Vec<Member>| {
                class.iter().any(|member| unconverted(&member.expr) == unconverted(&of_rows))
                    && class.iter().any(|member| unconverted(&member.expr).as_column() == Some(field.id))
            };
            let Some(class) = graph.classes.iter().find(has) else { return Ok(false) };
            let Some(rows) = class.iter().find(|member| unconverted(&member.expr) == unconverted(&of_rows))
            else {
                return Ok(false);
            };
            let others = class.iter().filter(|member| own >> member.relation & 1 == 0);
            let left = others.map(|other| graph.relations[other.relation].estimate.rows);
            leaves_few |= left.fold(f64::MAX, f64::min) <= rows.distinct.number() * PART_LEFT;
            self.keys.insert(field.id);
        }
        let n_rows = self.relations.iter().map(|&relation| graph.relations[relation].estimate.rows);
        Ok(leaves_few && n_rows.fold(0.0, f64::max) >= MIN_ROWS)
    }

    /// The graph with the window in place of the aggregate and of the relations that are grouped.
    fn replaced(self, mut graph: Graph, with: &Rewriter) -> Result<Graph> {
        let mut gone = self.relations.clone();
        gone.push(self.aggregate);
        let inner_classes: Vec<Vec<Expr>> =
            self.input.classes.iter().map(|class| class.iter().map(|m| m.expr.clone()).collect()).collect();
        let inner_conditions: Vec<Expr> =
            self.input.conditions.iter().map(|condition| condition.expr.clone()).collect();
        let keys = self.keys.clone();
        let plan = self.window(&mut graph, with)?;
        let estimate = estimate(&plan);
        let kept: Vec<usize> = (0..graph.relations.len()).filter(|number| !gone.contains(number)).collect();
        let window = kept.len();
        let numbers: HashMap<usize, usize> = kept.iter().enumerate().map(|(new, &old)| (old, new)).collect();
        let number = |old: usize| numbers.get(&old).copied().unwrap_or(window);
        for class in &mut graph.classes {
            // The window puts a key out beside what it is a key of; what its input equates needs no condition more.
            let is_implied = |at: usize, class: &[Member]| {
                let is_first = |classes: &Vec<Expr>| {
                    let known = |member: &Member| classes.contains(&member.expr);
                    known(&class[at]) && class[..at].iter().any(known)
                };
                unconverted(&class[at].expr).as_column().is_some_and(|id| keys.contains(&id))
                    || inner_classes.iter().any(is_first)
            };
            let left = (0..class.len()).filter(|&at| !is_implied(at, class)).map(|at| class[at].clone());
            let mut left: Vec<Member> = left.collect();
            for member in &mut left {
                member.relation = number(member.relation);
                if member.relation == window {
                    member.distinct = estimate.of(&member.expr).distinct;
                }
            }
            *class = left;
        }
        graph.classes.retain(|class| class.len() > 1);
        for edge in &mut graph.edges {
            edge.left.relation = number(edge.left.relation);
            edge.right.relation = number(edge.right.relation);
        }
        graph.conditions.retain(|condition| !inner_conditions.contains(&condition.expr));
        for condition in &mut graph.conditions {
            condition.relations = bits(condition.relations).fold(0, |set, old| set | 1 << number(old));
        }
        let mut relations = std::mem::take(&mut graph.relations);
        graph.relations =
            kept.iter().map(|&old| std::mem::replace(&mut relations[old], Relation::none())).collect();
        graph.relations.push(Relation { plan, estimate });
        graph.equate_within_relations(with)?;
        graph.filter_relations();
        Ok(graph)
    }

    /// The rows that are grouped, all their columns, with what the relation of the aggregate puts out beside each.
    fn window(self, graph: &mut Graph, with: &Rewriter) -> Result<Plan> {
        let Repeated { node, outputs, mut input, names, relations, .. } = self;
        for (inner, &outer) in input.relations.iter_mut().zip(&relations) {
            inner.plan = std::mem::replace(&mut graph.relations[outer].plan, placeholder());
        }
        let column = |field: &Field| Expr::Column(field.id, field.ty.clone());
        let fields: Vec<Field> = input.relations.iter().flat_map(|relation| relation.plan.fields()).collect();
        let rows = fields.iter().map(|field| (field.clone(), column(field))).collect();
        let tree = Tree::of_relations(input.relations.len());
        let mut plan = build::plan(input, &tree, rows, with)?;
        let mut keys = Vec::new();
        for (field, expr) in &node.keys {
            let key = substitute(expr, &names)?;
            if key.ty().is_nullable() {
                // No row is joined with the group of NULL.
                let condition = (with.call)("isNotNull", vec![key.clone()])?;
                plan = Plan::Filter(Filter { input: Box::new(plan), condition });
            }
            keys.push((field.clone(), key));
        }
        let mut calls = Vec::new();
        for call in node.calls {
            calls.push(WindowCall {
                field: call.field,
                function: WindowImpl::Aggregate(call.aggregate),
                args: call.args.iter().map(|arg| substitute(arg, &names)).collect::<Result<_>>()?,
                frame: FrameSpec {
                    unit: FrameUnit::Rows,
                    start: FrameBound::UnboundedPreceding,
                    end: FrameBound::UnboundedFollowing,
                },
                row_order: call.row_order,
                name: call.name,
            });
        }
        let window = Plan::Window(Window {
            input: Box::new(plan),
            partition_by: keys.iter().map(|(_, key)| key.clone()).collect(),
            order_by: Vec::new(),
            calls,
            unread: Vec::new(),
        });
        let mut exprs: Vec<(Field, Expr)> =
            fields.iter().map(|field| (field.clone(), column(field))).collect();
        for (field, output) in outputs {
            exprs.push((field, substitute(&output, &keys)?));
        }
        Ok(Plan::Project(Project { input: Box::new(window), exprs }))
    }
}

/// The aggregate of a relation that is nothing but one, and what its columns are over that; of an aggregate that a window can be.
fn peeled(plan: &Plan) -> Result<Option<(&Aggregate, Names)>> {
    match plan {
        Plan::Project(node) if node.exprs.iter().all(|(_, expr)| expr.is_deterministic()) => {
            let Some((aggregate, below)) = peeled(&node.input)? else { return Ok(None) };
            let outputs = node.exprs.iter();
            let outputs = outputs.map(|(field, expr)| Ok((field.clone(), substitute(expr, &below)?)));
            Ok(Some((aggregate, outputs.collect::<Result<_>>()?)))
        }
        Plan::Aggregate(node) => {
            let is_plain =
                node.grouping == GroupingKind::Plain && node.totals.is_none() && node.limit.is_none();
            let is_key = |key: &Expr| key.is_deterministic() && groups_as_it_joins(key.ty());
            let fits = is_plain
                && !node.keys.is_empty()
                && node.keys.iter().all(|(_, key)| is_key(key))
                && node.calls.iter().all(|call| call.row_order == RowOrder::Free);
            let outputs = plan.fields().into_iter().map(|f| (f.clone(), Expr::Column(f.id, f.ty)));
            Ok(fits.then(|| (node, outputs.collect())))
        }
        _ => Ok(None),
    }
}

/// What columns are called among the group's relations.
type Renamed = Vec<(ColumnId, (ColumnId, DataType))>;

/// A relation of the group for each that is grouped, which has the same rows and all of its columns.
fn found_again(input: &Graph, graph: &Graph, aggregate: usize) -> Result<Option<(Vec<usize>, Renamed)>> {
    let mut relations = Vec::new();
    let mut renamed = Renamed::new();
    for inner in &input.relations {
        let Some(inner) = Source::of(&inner.plan)? else { return Ok(None) };
        let mut found = None;
        for (number, outer) in graph.relations.iter().enumerate() {
            if number == aggregate || relations.contains(&number) {
                continue;
            }
            if let Some(names) = Source::of(&outer.plan)?.and_then(|outer| inner.within(&outer)) {
                found = Some((number, names));
                break;
            }
        }
        let Some((number, names)) = found else { return Ok(None) };
        relations.push(number);
        renamed.extend(names);
    }
    Ok((!relations.is_empty()).then_some((relations, renamed)))
}

/// The graph over the columns of the group's relations.
fn renamed_graph(mut graph: Graph, renamed: &Renamed) -> Option<Graph> {
    for member in graph.classes.iter_mut().flatten() {
        member.expr = member.expr.rename(renamed);
    }
    for condition in &mut graph.conditions {
        condition.expr = condition.expr.rename(renamed);
    }
    graph.edges.is_empty().then_some(graph)
}

/// A relation that reads one table.
struct Source<'p> {
    scan: &'p ScanNode,
    /// Its fields, over the columns of the scan.
    names: Names,
    /// What its rows meet, over the columns of the scan.
    conditions: Vec<Expr>,
}

impl Source<'_> {
    fn of(plan: &Plan) -> Result<Option<Source<'_>>> {
        match plan {
            Plan::Scan(scan) => {
                let picks_rows = scan.limit.is_some() || scan.row_id.is_some() || scan.limits.is_some();
                let mut conditions = Vec::new();
                scan.filter.iter().for_each(|filter| filter.clone().conjuncts(&mut conditions));
                if picks_rows || !conditions.iter().all(Expr::is_deterministic) {
                    return Ok(None);
                }
                let column = |field: &Field| (field.clone(), Expr::Column(field.id, field.ty.clone()));
                let names = scan.columns.iter().map(|(_, field)| column(field)).collect();
                Ok(Some(Source { scan, names, conditions }))
            }
            Plan::Filter(node) if node.condition.is_deterministic() => {
                let Some(mut source) = Source::of(&node.input)? else { return Ok(None) };
                substitute(&node.condition, &source.names)?.conjuncts(&mut source.conditions);
                Ok(Some(source))
            }
            Plan::Project(node) if node.exprs.iter().all(|(_, expr)| expr.is_deterministic()) => {
                let Some(source) = Source::of(&node.input)? else { return Ok(None) };
                let exprs = node.exprs.iter();
                let names = exprs.map(|(field, expr)| Ok((field.clone(), substitute(expr, &source.names)?)));
                Ok(Some(Source { names: names.collect::<Result<_>>()?, ..source }))
            }
            _ => Ok(None),
        }
    }

    /// What the columns of this relation are called in another one that has the same rows; `None` where it has not.
    fn within(&self, other: &Source) -> Option<Renamed> {
        let tables = (&self.scan.table, &other.scan.table);
        let is_same = || tables.0.identity().is_some_and(|identity| tables.1.identity() == Some(identity));
        let mut scanned = Renamed::new();
        for (position, field) in &self.scan.columns {
            if let Some((_, there)) = other.scan.columns.iter().find(|(at, _)| at == position) {
                scanned.push((field.id, (there.id, there.ty.clone())));
            }
        }
        let conditions: Vec<Expr> = self.conditions.iter().map(|expr| expr.rename(&scanned)).collect();
        let is_filtered_alike = conditions.iter().all(|condition| other.conditions.contains(condition))
            && other.conditions.iter().all(|condition| conditions.contains(condition));
        if !is_filtered_alike || !is_same() {
            return None;
        }
        let renamed = self.names.iter().map(|(field, expr)| {
            let expr = expr.rename(&scanned);
            let (there, _) = other.names.iter().find(|(_, other)| *other == expr)?;
            Some((field.id, (there.id, there.ty.clone())))
        });
        renamed.collect()
    }
}
