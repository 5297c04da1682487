//! Aggregating projections in the place of GROUP BY: the groups of the query are made of the groups of the parts, whose states
//! are merged, and of rows of parts that have none.

use super::program::{Groups, ProjectionProgram, columns_of_scan};
use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_aggregates::resolve::resolve;
use chalet_base::{Result, bail};
use chalet_function_api::Argument;
use chalet_function_api::aggregate::OfAllRows;
use chalet_plan::{
    Aggregate, AggregateCall, AggregateName, ColumnId, Expr, Field, Filter, Plan, ScanNode, Union,
};
use chalet_storage::Table;
use chalet_storage::merge_tree::part::Part;
use chalet_storage::merge_tree::{MergeTree, PartSet};
use chalet_syntax::ast::ExprKind;
use chalet_types::DataType;
use std::sync::Arc;

/// A GROUP BY over the rows of a table, with all expressions over the columns of the scan.
pub(crate) struct GroupBy<'a> {
    pub node: &'a Aggregate,
    pub scan: &'a ScanNode,
    pub keys: Vec<Expr>,
    pub args: Vec<Vec<Expr>>,
    filters: Vec<Expr>,
}

impl<'a> GroupBy<'a> {
    /// `None` where something else stands between the two.
    pub fn of(node: &'a Aggregate) -> Option<GroupBy<'a>> {
        let mut keys: Vec<Expr> = node.keys.iter().map(|(_, expr)| expr.clone()).collect();
        let mut args: Vec<Vec<Expr>> = node.calls.iter().map(|call| call.args.clone()).collect();
        let mut filters: Vec<Expr> = Vec::new();
        let mut below = &*node.input;
        loop {
            match below {
                Plan::Project(project) => {
                    if !project.exprs.iter().all(|(_, expr)| expr.is_deterministic()) {
                        return None;
                    }
                    let under = |expr: &Expr| {
                        expr.replace(&mut |e| {
                            let id = e.as_column();
                            let found = project.exprs.iter().find(|(field, _)| Some(field.id) == id);
                            Ok(found.map(|(_, expr)| expr.clone()))
                        })
                    };
                    for expr in keys.iter_mut().chain(args.iter_mut().flatten()).chain(&mut filters) {
                        *expr = under(expr).ok()?;
                    }
                    below = &project.input;
                }
                Plan::Filter(filter) => {
                    filters.push(filter.condition.clone());
                    below = &filter.input;
                }
                Plan::Scan(scan) => {
                    let is_plain = scan.limit.is_none() && scan.row_id.is_none();
                    let all = keys.iter().chain(args.iter().flatten()).chain(&filters).chain(&scan.filter);
                    let is_fixed = all.clone().all(Expr::is_deterministic);
                    return (is_plain && is_fixed).then_some(GroupBy { node, scan, keys, args, filters });
                }
                _ => return None,
            }
        }
    }

    /// Is it answered from what is known of the table without reading it?
    pub fn is_known(&self) -> bool {
        self.keys.is_empty()
            && self.filters.is_empty()
            && self.scan.filter.is_none()
            && self.node.calls.iter().all(is_known)
    }

    /// Is it answered from the partitions alone: counted under conditions over columns whose values make partitions?
    pub fn is_of_partitions(&self) -> bool {
        let Some(keys) = self.scan.table.keys().filter(|keys| !keys.partition.is_empty()) else {
            return false;
        };
        let Ok(partition) = chalet_syntax::parse_expression(&keys.partition) else { return false };
        let parts = match &partition.kind {
            ExprKind::Call(call) if call.name == "tuple" => &call.args[..],
            _ => std::slice::from_ref(&partition),
        };
        let is_part = |name: &str| {
            parts.iter().any(
                |part| matches!(&part.kind, ExprKind::Identifier(id) if id.len() == 1 && id[0].name == name),
            )
        };
        let read: Vec<_> = self.conditions().map(Expr::columns).collect();
        let mut scanned =
            self.scan.columns.iter().filter(|(_, f)| read.iter().any(|ids| ids.contains(&f.id)));
        self.keys.is_empty()
            && self.node.calls.iter().all(is_known)
            && scanned.all(|(_, field)| is_part(&field.name))
    }

    /// Do its conditions read nothing but keys, so that whole granules meet them and the rest is little?
    pub fn is_exact(&self, ctx: &QueryContext) -> Result<bool> {
        let Some(keys) = self.scan.table.keys() else { return Ok(false) };
        let known = self.node.calls.iter().all(is_known);
        if !self.keys.is_empty() || !known {
            return Ok(false);
        }
        let schema = self.scan.table.schema();
        let texts =
            keys.all().map(|(text, _)| text).take(keys.n_primary + usize::from(!keys.partition.is_empty()));
        let (fields, bound) = bind_stored(texts, &schema, ctx)?;
        let in_keys: Vec<_> = bound.iter().map(Expr::columns).collect();
        let is_key = |name: &str| {
            fields.iter().any(|f| *f.name == *name && in_keys.iter().any(|ids| ids.contains(&f.id)))
        };
        let read: Vec<_> = self.conditions().map(Expr::columns).collect();
        let mut scanned =
            self.scan.columns.iter().filter(|(_, f)| read.iter().any(|ids| ids.contains(&f.id)));
        Ok(scanned.all(|(_, field)| is_key(&field.name)))
    }

    /// What rows must meet.
    pub fn conditions(&self) -> impl Iterator<Item = &Expr> {
        self.filters.iter().chain(&self.scan.filter)
    }

    /// How the groups of a projection answer it; `None` where they do not.
    pub fn matched(
        &self,
        program: &ProjectionProgram,
        groups: &Groups,
        schema: &chalet_storage::TableSchema,
        ctx: &QueryContext,
    ) -> Option<Match> {
        let names = columns_of_scan(&groups.fields, self.scan, schema);
        let keys: Vec<Expr> = groups.keys.iter().map(|key| key.rename(&names)).collect();
        let fields: Vec<Field> = keys.iter().map(|key| ctx.ids.field("", key.ty().clone())).collect();
        let mut used = vec![false; keys.len()];
        let mut over_keys = |expr: &Expr| -> Option<Expr> {
            let replaced = expr.replace(&mut |e| {
                Ok(keys.iter().position(|key| key == e).map(|at| {
                    used[at] = true;
                    Expr::Column(fields[at].id, fields[at].ty.clone())
                }))
            });
            let replaced = replaced.ok()?;
            replaced.columns().iter().all(|id| fields.iter().any(|field| field.id == *id)).then_some(replaced)
        };
        let of_query = self.keys.iter().map(&mut over_keys).collect::<Option<Vec<_>>>()?;
        let mut conditions = Vec::new();
        self.conditions().for_each(|condition| condition.clone().conjuncts(&mut conditions));
        if let Some(own) = &program.condition {
            conditions = own.rest_of(conditions, self.scan, schema)?;
        }
        let conditions = conditions.iter().map(&mut over_keys).collect::<Option<Vec<_>>>()?;
        let mut calls = Vec::new();
        for (call, args) in self.node.calls.iter().zip(&self.args) {
            let counts_rows = call.aggregate.of_all_rows() == Some(OfAllRows::Count)
                && !args.iter().any(|arg| arg.ty().is_nullable());
            let function = call.function.as_ref()?;
            let at = groups.calls.iter().position(|known| {
                let known_args: Vec<Expr> = known.args.iter().map(|arg| arg.rename(&names)).collect();
                let is_same = known_args == *args || counts_rows && known_args.is_empty();
                is_same && known.function == *function
            })?;
            calls.push(at);
        }
        let used: Vec<usize> = (0..keys.len()).filter(|&at| used[at]).collect();
        // Without columns nothing says how many groups there are.
        if used.is_empty() && calls.is_empty() {
            return None;
        }
        Some(Match { keys, fields, used, of_query, conditions, calls })
    }
}

/// How a query is answered from groups.
pub(crate) struct Match {
    /// The keys of the groups over the columns of the scan, and as columns.
    keys: Vec<Expr>,
    fields: Vec<Field>,
    /// Which of them are read.
    used: Vec<usize>,
    /// The keys of the query over these columns, and its conditions.
    of_query: Vec<Expr>,
    conditions: Vec<Expr>,
    /// For each aggregate of the query, which of the projection it is.
    calls: Vec<usize>,
}

impl Match {
    /// The scan of the groups that parts have.
    pub fn scan(
        &self,
        by: &GroupBy<'_>,
        program: &ProjectionProgram,
        groups: &Groups,
        parts: Vec<Arc<Part>>,
        ctx: &QueryContext,
    ) -> Result<(ScanNode, Vec<(usize, Field)>)> {
        let Some(table) = by.scan.table.as_any().downcast_ref::<MergeTree>() else {
            bail!(LOGICAL_ERROR, "A projection of something else than a MergeTree")
        };
        let mut columns: Vec<(usize, Field)> =
            self.used.iter().map(|&at| (at, self.fields[at].clone())).collect();
        let mut states: Vec<(usize, Field)> = Vec::new();
        for &call in &self.calls {
            if states.iter().all(|(known, _)| *known != call) {
                states.push((call, ctx.ids.field("", groups.calls[call].state.clone())));
            }
        }
        columns.extend(states.iter().map(|(call, field)| (groups.keys.len() + call, field.clone())));
        let table = MergeTree::of(program.stored.definition.clone(), table.parts().clone());
        let scan = ScanNode {
            table: Arc::new(PartSet { table, parts }),
            name: format!("{} ({})", by.scan.name, program.stored.name).into(),
            columns,
            filter: all_of(&self.conditions, ctx)?,
            selectivity: None,
            only_filtered: Vec::new(),
            only_lengths: Vec::new(),
            limit: None,
            row_id: None,
            limits: by.scan.limits.clone(),
            skip_indexes: Arc::default(),
            forced_indexes: Arc::default(),
        };
        Ok((scan, states))
    }

    /// The query over the groups of some parts and the rows of the others.
    pub fn plan(
        &self,
        by: &GroupBy<'_>,
        groups: &Groups,
        (scan, states): (ScanNode, Vec<(usize, Field)>),
        rest: Vec<Arc<Part>>,
        ctx: &QueryContext,
    ) -> Result<Plan> {
        let fields: Vec<Field> = scan.columns.iter().map(|(_, field)| field.clone()).collect();
        let scan = Plan::Scan(scan);
        let (input, renamed) = match rest.is_empty() {
            true => (scan, fields.clone()),
            false => {
                let out: Vec<Field> =
                    fields.iter().map(|field| ctx.ids.field("", field.ty.clone())).collect();
                let rest = self.of_rows(by, groups, &states, rest, ctx)?;
                (Plan::Union(Union { inputs: vec![scan, rest], fields: out.clone() }), out)
            }
        };
        let names: Vec<(ColumnId, (ColumnId, DataType))> =
            fields.iter().zip(&renamed).map(|(from, to)| (from.id, (to.id, to.ty.clone()))).collect();
        let keys = by.node.keys.iter().zip(&self.of_query);
        let keys = keys.map(|((field, _), expr)| (field.clone(), expr.rename(&names))).collect();
        let mut calls = Vec::with_capacity(self.calls.len());
        for (call, at) in by.node.calls.iter().zip(&self.calls) {
            let Some((_, state)) = states.iter().find(|(known, _)| known == at) else {
                bail!(LOGICAL_ERROR, "A projection lacks a state")
            };
            let arg = Expr::Column(state.id, state.ty.clone()).rename(&names);
            let function = &groups.calls[*at].function;
            let aggregate = aggregate(function, "Merge", &[Argument::of_type(state.ty.clone())], ctx)?;
            calls.push(AggregateCall { aggregate, args: vec![arg], function: None, ..call.clone() });
        }
        Ok(Plan::Aggregate(Aggregate { input: Box::new(input), keys, calls, ..by.node.clone() }))
    }

    /// The groups of the rows of parts, with the columns of the scan of groups.
    fn of_rows(
        &self,
        by: &GroupBy<'_>,
        groups: &Groups,
        states: &[(usize, Field)],
        parts: Vec<Arc<Part>>,
        ctx: &QueryContext,
    ) -> Result<Plan> {
        let Some(table) = by.scan.table.as_any().downcast_ref::<MergeTree>() else {
            bail!(LOGICAL_ERROR, "A projection of something else than a MergeTree")
        };
        let table: Arc<dyn Table> = Arc::new(PartSet { table: table.clone(), parts });
        let mut input = Plan::Scan(ScanNode { table, ..by.scan.clone() });
        for condition in &by.filters {
            input = Plan::Filter(Filter { input: Box::new(input), condition: condition.clone() });
        }
        let keys = self.used.iter().map(|&at| {
            let key = &self.keys[at];
            (ctx.ids.field("", key.ty().clone()), key.clone())
        });
        let mut calls = Vec::with_capacity(states.len());
        for (at, state) in states {
            let known = &groups.calls[*at];
            // The arguments are those of the query.
            let Some(call) = self.calls.iter().position(|call| call == at) else {
                bail!(LOGICAL_ERROR, "A state that nobody reads")
            };
            let mut args = by.args[call].clone();
            args.truncate(known.args.len());
            let given: Vec<Argument> = args.iter().map(|arg| Argument::of_type(arg.ty().clone())).collect();
            calls.push(AggregateCall {
                field: ctx.ids.field("", state.ty.clone()),
                aggregate: aggregate(&known.function, "State", &given, ctx)?,
                args,
                ..by.node.calls[call].clone()
            });
        }
        let plain = Aggregate::plain(Box::new(input), keys.collect(), calls);
        Ok(Plan::Aggregate(Aggregate { empty_if_no_rows: true, ..plain }))
    }
}

/// The aggregate with a combinator.
pub(crate) fn aggregate(
    function: &AggregateName,
    combinator: &str,
    args: &[Argument],
    ctx: &QueryContext,
) -> Result<Arc<dyn chalet_function_api::Aggregate>> {
    let name = format!("{}{combinator}", function.name);
    match resolve(&ctx.registry, &name, &function.parameters, args, &ctx.functions)? {
        Some(resolved) => Ok(resolved.aggregate),
        None => bail!(UNKNOWN_AGGREGATE_FUNCTION, "Aggregate function with name `{name}` does not exist"),
    }
}

/// The conditions as one.
fn all_of(conditions: &[Expr], ctx: &QueryContext) -> Result<Option<Expr>> {
    let mut all: Option<Expr> = None;
    for condition in conditions {
        all = Some(match all {
            None => condition.clone(),
            Some(before) => chalet_binder::make_call(ctx, "and", vec![before, condition.clone()])?,
        });
    }
    Ok(all)
}

/// Do tables with keys mostly know the result over all rows?
fn is_known(call: &AggregateCall) -> bool {
    call.aggregate.of_all_rows().is_some_and(|known| known != OfAllRows::CountOfValues)
}
