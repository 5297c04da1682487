//! GROUP BY and DISTINCT over tables of servers: each server groups its own rows, and what it sends, keys and states of aggregates, is
//! merged here. So groups travel instead of rows.

use super::RemoteTable;
use super::sql::{Made, exactly, quoted_name};
use crate::projections::groups::{GroupBy, aggregate};
use crate::query_context::QueryContext;
use chalet_aggregates::resolve::resolve;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_exec::expression::layout;
use chalet_exec::ranges::exact_range;
use chalet_function_api::Argument;
use chalet_plan::{Aggregate, AggregateCall, Distinct, Expr, Field, GroupingKind, Plan, Project, ScanNode};
use chalet_storage::{ColumnSchema, TableSchema};
use chalet_types::DataType;
use std::sync::Arc;

/// The setting that switches it off.
const SETTING: &str = "chalet_push_down_groups";

/// Lets servers begin what they can begin of a plan. Before the optimizer, which takes aggregates apart.
pub(crate) fn push_down(plan: &mut Plan, ctx: &QueryContext) -> Result<()> {
    let is_off = |name| ctx.state.settings.flag(name) == Some(false);
    if is_off(SETTING) || is_off("query_plan_enable_optimizations") {
        return Ok(());
    }
    below(plan, ctx)
}

fn below(plan: &mut Plan, ctx: &QueryContext) -> Result<()> {
    let replaced = match plan {
        Plan::Aggregate(node) => groups(node, ctx)?,
        Plan::Distinct(node) => distinct(node, ctx)?,
        _ => None,
    };
    match replaced {
        Some(replaced) => {
            *plan = replaced;
            events::count(Event::RemoteGroups);
            Ok(())
        }
        None => plan.inputs_mut().into_iter().try_for_each(|input| below(input, ctx)),
    }
}

/// `Aggregate(calls) over Scan` as `Aggregate(merged calls) over Scan(groups of the servers)`.
fn groups(node: &Aggregate, ctx: &QueryContext) -> Result<Option<Plan>> {
    let is_plain = node.grouping == GroupingKind::Plain && node.sets.is_empty() && node.set_number.is_none();
    // Of no rows a server makes one row, as long as there are no keys.
    if !is_plain || node.is_partial || node.empty_if_no_rows {
        return Ok(None);
    }
    let Some(by) = GroupBy::of(node) else { return Ok(None) };
    let Some(mut draft) = Draft::of(&by, ctx) else { return Ok(None) };
    let mut calls = Vec::with_capacity(node.calls.len());
    for (call, args) in node.calls.iter().zip(&by.args) {
        let Some(merged) = draft.call(call, args, ctx)? else { return Ok(None) };
        calls.push(merged);
    }
    // Without columns nothing says how many rows there are.
    if draft.columns.is_empty() {
        return Ok(None);
    }
    let keys = node.keys.iter().zip(&draft.keys);
    let keys = keys.map(|((field, _), key)| (field.clone(), column(key))).collect();
    let input = Box::new(draft.scan(false));
    Ok(Some(Plan::Aggregate(Aggregate { input, keys, calls, ..node.clone() })))
}

/// `Distinct over Scan`, where all columns decide.
fn distinct(node: &Distinct, ctx: &QueryContext) -> Result<Option<Plan>> {
    let fields = node.input.fields();
    if !fields.iter().all(|field| node.on.contains(&field.id)) {
        return Ok(None);
    }
    let keys = fields.iter().map(|field| (field.clone(), column(field)));
    let all = Aggregate::plain(node.input.clone(), keys.collect(), Vec::new());
    let Some(by) = GroupBy::of(&all) else { return Ok(None) };
    let Some(draft) = Draft::of(&by, ctx).filter(|draft| !draft.columns.is_empty()) else { return Ok(None) };
    let exprs = fields.into_iter().zip(draft.keys.iter().map(column)).collect();
    let input = Plan::Project(Project { input: Box::new(draft.scan(true)), exprs });
    Ok(Some(Plan::Distinct(Distinct { input: Box::new(input), ..node.clone() })))
}

/// A condition in which strings that are compared with other values are those values: `date < '2019-02-01'`.
fn with_parsed_literals(condition: &Expr) -> Expr {
    let parsed = |expr: &Expr| -> Option<Expr> {
        let Expr::Call { function, args } = expr else { return None };
        let (at, value) = function.parsed_literal()?;
        let other = args.get(1 - at)?.ty().bare().clone();
        let mut args = args.clone();
        args[at] = Expr::literal(&value, other).ok()?;
        Some(Expr::Call { function: function.clone(), args })
    };
    condition.replace(&mut |expr| Ok(parsed(expr))).unwrap_or_else(|_| condition.clone())
}

fn column(field: &Field) -> Expr {
    Expr::Column(field.id, field.ty.clone())
}

/// What servers are asked for.
struct Draft<'a> {
    table: &'a RemoteTable,
    scan: &'a ScanNode,
    conditions: Vec<String>,
    /// The columns of the answer, as SQL and as fields: keys, each once, then states.
    columns: Vec<(String, Field)>,
    n_keys: usize,
    /// For each key of the query its column.
    keys: Vec<Field>,
}

impl<'a> Draft<'a> {
    /// With the keys; `None` where the table is none of servers, or something cannot be said to them.
    fn of(by: &GroupBy<'a>, ctx: &QueryContext) -> Option<Draft<'a>> {
        let table = by.scan.table.as_any().downcast_ref::<RemoteTable>()?;
        if table.made.is_some() {
            return None;
        }
        let (conditions, columns, keys) = (Vec::new(), Vec::new(), Vec::new());
        let mut draft = Draft { table, scan: by.scan, conditions, columns, n_keys: 0, keys };
        let mut conjuncts = Vec::new();
        by.conditions().for_each(|condition| condition.clone().conjuncts(&mut conjuncts));
        let layout = layout(&Plan::Scan(by.scan.clone()).fields());
        for conjunct in &conjuncts {
            let range = exact_range(&with_parsed_literals(conjunct), &layout)?;
            let (at, field) = &by.scan.columns[range.column];
            draft.conditions.push(exactly(&range, &table.quoted(*at), &field.ty)?);
        }
        for key in &by.keys {
            let (name, ty) = draft.name_of(key)?;
            let found =
                draft.columns.iter().find(|(known, _)| *known == name).map(|(_, field)| field.clone());
            let field = found.unwrap_or_else(|| {
                let field = ctx.ids.field(name.trim_matches('`'), ty);
                draft.columns.push((name, field.clone()));
                field
            });
            draft.keys.push(field);
        }
        draft.n_keys = draft.columns.len();
        Some(draft)
    }

    /// A column of the table as SQL, and its type.
    fn name_of(&self, expr: &Expr) -> Option<(String, DataType)> {
        let id = expr.as_column()?;
        let (at, field) = self.scan.columns.iter().find(|(_, field)| field.id == id)?;
        Some((self.table.quoted(*at), field.ty.clone()))
    }

    /// An aggregate over states that the servers make; `None` where they may make others than we do.
    fn call(
        &mut self,
        call: &AggregateCall,
        args: &[Expr],
        ctx: &QueryContext,
    ) -> Result<Option<AggregateCall>> {
        let Some(function) = &call.function else { return Ok(None) };
        let record = ctx.registry.aggregates.get(&function.name).map(|known| known.record());
        if !record.is_some_and(|record| record.portable_states) || !function.parameters.is_empty() {
            return Ok(None);
        }
        let named: Option<Vec<(String, DataType)>> = args.iter().map(|arg| self.name_of(arg)).collect();
        let Some(named) = named.filter(|named| named.iter().all(|(_, ty)| is_portable(ty))) else {
            return Ok(None);
        };
        let (names, types): (Vec<String>, Vec<DataType>) = named.into_iter().unzip();
        let sql = format!("{}State({})", function.name, names.join(", "));
        let state = match self.columns.iter().find(|(known, _)| *known == sql) {
            Some((_, field)) => field.clone(),
            None => {
                let given: Vec<Argument> = types.into_iter().map(Argument::of_type).collect();
                let name = format!("{}State", function.name);
                let Some(found) = resolve(&ctx.registry, &name, &[], &given, &ctx.functions)? else {
                    return Ok(None);
                };
                let field = ctx.ids.field(sql.as_str(), found.result);
                self.columns.push((sql, field.clone()));
                field
            }
        };
        let merge = aggregate(function, "Merge", &[Argument::of_type(state.ty.clone())], ctx)?;
        let is_same = merge.result_type() == call.field.ty;
        let args = vec![column(&state)];
        Ok(is_same.then(|| AggregateCall { aggregate: merge, args, function: None, ..call.clone() }))
    }

    /// The answers of the servers.
    fn scan(self, is_distinct: bool) -> Plan {
        let keys = self.columns[..self.n_keys].iter().map(|(name, _)| name.clone());
        let made = Made {
            keys: if is_distinct { Vec::new() } else { keys.collect() },
            columns: self.columns.iter().map(|(sql, _)| sql.clone()).collect(),
            conditions: self.conditions,
            is_distinct,
        };
        let schema =
            self.columns.iter().map(|(_, field)| ColumnSchema::new(field.name.clone(), field.ty.clone()));
        let table = RemoteTable {
            reach: self.table.reach.clone(),
            name: self.table.name.clone(),
            schema: TableSchema::new(schema.collect()),
            made: Some(made),
            division: None,
        };
        Plan::Scan(ScanNode {
            table: Arc::new(table),
            columns: self.columns.into_iter().map(|(_, field)| field).enumerate().collect(),
            filter: None,
            only_filtered: Vec::new(),
            only_lengths: Vec::new(),
            ..self.scan.clone()
        })
    }
}

impl RemoteTable {
    /// The name of a column as SQL.
    fn quoted(&self, at: usize) -> String {
        quoted_name(&self.schema.columns[at].name)
    }
}

/// Are states over values of the type the same everywhere? Those of Nullable values have other types at old servers.
fn is_portable(ty: &DataType) -> bool {
    match ty {
        DataType::String | DataType::Date | DataType::DateTime(_) | DataType::Float32 | DataType::Float64 => {
            true
        }
        ty => ty.integer_range().is_some(),
    }
}
