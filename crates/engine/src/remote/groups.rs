//! GROUP BY and DISTINCT over tables of servers: each server groups its own rows, and what it sends, keys and states of aggregates, is
//! merged here. So groups travel instead of rows.

use super::RemoteTable;
use super::expression::{Sayable, is_portable};
use super::sql::{Made, Narrowing, quoted_name};
use crate::projections::groups::{GroupBy, aggregate};
use crate::query_context::QueryContext;
use chalet_aggregates::resolve::{portable_base, resolve};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_function_api::Argument;
use chalet_plan::{
    Aggregate, AggregateCall, AggregateName, Distinct, Expr, Field, GroupingKind, Plan, Project, ScanNode,
};
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
    if let Some(finished) = finished(node, &by, ctx) {
        return Ok(Some(finished));
    }
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

/// The same over one shard, which has the groups as a whole: it gives results, which are smaller than states.
fn finished(node: &Aggregate, by: &GroupBy<'_>, ctx: &QueryContext) -> Option<Plan> {
    let mut draft = Draft::of(by, ctx)?;
    // A shard that is left out would have made a row without keys; totals are made of states.
    let reach = &draft.sayable.table.reach;
    if reach.shards.len() != 1 || reach.skips_unavailable || node.totals.is_some() {
        return None;
    }
    let keys: Vec<_> =
        node.keys.iter().zip(&draft.keys).map(|((field, _), key)| (field.clone(), column(key))).collect();
    let mut exprs = keys;
    for (call, args) in node.calls.iter().zip(&by.args) {
        let function = call.function.as_ref().filter(|function| function.parameters.is_empty())?;
        let (base, is_conditional) = portable_base(&ctx.registry, &function.name)?;
        let said = draft.said_call(base, is_conditional, args)?;
        // Of NULLs and decimals old servers have results of other types.
        let ty = &call.field.ty;
        if ty.is_nullable() || !is_portable(ty) || said.types.iter().any(DataType::is_decimal) {
            return None;
        }
        let result = draft.field(said.call, ty, ctx);
        exprs.push((call.field.clone(), column(&result)));
    }
    if draft.columns.is_empty() {
        return None;
    }
    Some(Plan::Project(Project { input: Box::new(draft.scan(false)), exprs }))
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

fn column(field: &Field) -> Expr {
    Expr::Column(field.id, field.ty.clone())
}

/// What servers are asked for.
struct Draft<'a> {
    sayable: Sayable<'a>,
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
        let sayable = Sayable { table, scan: by.scan };
        let mut draft =
            Draft { sayable, conditions: Vec::new(), columns: Vec::new(), n_keys: 0, keys: Vec::new() };
        let mut conjuncts = Vec::new();
        by.conditions().for_each(|condition| condition.clone().conjuncts(&mut conjuncts));
        for conjunct in &conjuncts {
            draft.conditions.push(draft.sayable.condition(conjunct)?);
        }
        for key in &by.keys {
            // Columns group as their server groups them, whatever their type is.
            let said =
                draft.sayable.column(key).map(|(name, _)| name).or_else(|| draft.sayable.value(key))?;
            let field = draft.field(said, key.ty(), ctx);
            draft.keys.push(field);
        }
        draft.n_keys = draft.columns.len();
        Some(draft)
    }

    /// The column of the answer that is this, which is asked for once.
    fn field(&mut self, said: String, ty: &DataType, ctx: &QueryContext) -> Field {
        let found = self.columns.iter().find(|(known, _)| *known == said).map(|(_, field)| field.clone());
        found.unwrap_or_else(|| {
            let field = ctx.ids.field(said.trim_matches('`'), ty.clone());
            self.columns.push((said, field.clone()));
            field
        })
    }

    /// An aggregate over states that the servers make; `None` where they may make others than we do.
    fn call(
        &mut self,
        call: &AggregateCall,
        args: &[Expr],
        ctx: &QueryContext,
    ) -> Result<Option<AggregateCall>> {
        let Some(function) = &call.function else { return Ok(None) };
        let Some((base, is_conditional)) = portable_base(&ctx.registry, &function.name) else {
            return Ok(None);
        };
        if !function.parameters.is_empty() {
            return Ok(None);
        }
        let Some(said) = self.said_call(base, is_conditional, args) else { return Ok(None) };
        // In the sets of old servers decimals are hashes: what counts values stays here, what computes with them does not.
        let has_decimals = said.types.iter().any(DataType::is_decimal);
        let result = call.field.ty.bare();
        if has_decimals && !result.is_decimal() && !result.is_float() {
            return Ok(None);
        }
        let given: Vec<Argument> = said.types.into_iter().map(Argument::of_type).collect();
        let Some(state) = resolve(&ctx.registry, &format!("{base}State"), &[], &given, &ctx.functions)?
        else {
            return Ok(None);
        };
        let state = self.field(said.state, &state.result, ctx);
        let of_state = Argument::of_type(state.ty.clone());
        // Whether there was a value at all is not in the state.
        let (combinator, given, args) = match call.field.ty.is_nullable() {
            false => ("Merge", vec![of_state], vec![column(&state)]),
            true => {
                let Some(passing) = said.passing else { return Ok(None) };
                let any = self.field(format!("max({passing})"), &DataType::UInt8, ctx);
                let given = vec![of_state, Argument::of_type(DataType::UInt8)];
                ("MergeOrNullIf", given, vec![column(&state), column(&any)])
            }
        };
        let function = AggregateName { name: base.into(), parameters: function.parameters.clone() };
        let merge = aggregate(&function, combinator, &given, ctx)?;
        let is_same = merge.result_type() == call.field.ty;
        Ok(is_same.then(|| AggregateCall { aggregate: merge, args, function: None, ..call.clone() }))
    }

    /// How a call is said: servers of different ages have states of different types over Nullable values, so that they are asked
    /// for states of the values alone.
    fn said_call(&self, base: &str, is_conditional: bool, args: &[Expr]) -> Option<SaidCall> {
        let (condition, values) = match is_conditional {
            true => args.split_last().map(|(last, values)| (Some(last), values))?,
            false => (None, args),
        };
        let mut passing = Vec::new();
        let mut said = Vec::with_capacity(args.len());
        let mut types = Vec::with_capacity(args.len());
        for value in values {
            let ty = value.ty();
            if *ty.bare() == DataType::Bool || !is_portable(ty) {
                return None;
            }
            let mut text = self.sayable.value(value)?;
            if ty.is_nullable() {
                passing.push(format!("isNotNull({text})"));
                text = format!("assumeNotNull({text})");
            }
            // Of what is calculated servers may have a narrower type, and states of that.
            let is_calculated = value.as_column().is_none();
            if is_calculated && (ty.bare().is_integer() || ty.bare().is_float()) {
                text = format!("to{}({text})", ty.bare());
            } else if is_calculated && ty.bare().is_decimal() {
                text = format!("CAST({text} AS {})", ty.bare());
            }
            said.push(text);
            types.push(ty.bare().clone());
        }
        if let Some(condition) = condition {
            passing.push(self.sayable.truth(condition)?);
        }
        if passing.is_empty() {
            let args = said.join(", ");
            let (state, call) = (format!("{base}State({args})"), format!("{base}({args})"));
            return Some(SaidCall { state, call, types, passing: None });
        }
        let passing = match &passing[..] {
            [one] => one.clone(),
            several => format!("and({})", several.join(", ")),
        };
        said.push(passing.clone());
        let args = said.join(", ");
        let (state, call) = (format!("{base}StateIf({args})"), format!("{base}If({args})"));
        Some(SaidCall { state, call, types, passing: Some(passing) })
    }

    /// The answers of the servers.
    fn scan(self, is_distinct: bool) -> Plan {
        let keys = self.columns[..self.n_keys].iter().map(|(name, _)| name.clone());
        let made = Made {
            keys: if is_distinct { Vec::new() } else { keys.collect() },
            columns: self.columns.iter().map(|(sql, _)| sql.clone()).collect(),
            is_distinct,
        };
        let schema =
            self.columns.iter().map(|(_, field)| ColumnSchema::new(field.name.clone(), field.ty.clone()));
        let Sayable { table, scan } = self.sayable;
        let table = RemoteTable {
            schema: TableSchema::new(schema.collect()),
            made: Some(Arc::new(made)),
            narrowing: Narrowing { conditions: self.conditions, ..table.narrowing.clone() },
            division: None,
            ..table.clone()
        };
        Plan::Scan(ScanNode {
            table: Arc::new(table),
            columns: self.columns.into_iter().map(|(_, field)| field).enumerate().collect(),
            filter: None,
            only_filtered: Vec::new(),
            only_lengths: Vec::new(),
            ..scan.clone()
        })
    }
}

impl RemoteTable {
    /// The name of a column as SQL.
    pub(super) fn quoted(&self, at: usize) -> String {
        quoted_name(&self.schema.columns[at].name)
    }
}

/// A call of an aggregate function as servers are asked for it.
struct SaidCall {
    state: String,
    /// The result instead of the state.
    call: String,
    /// Of the arguments of the state.
    types: Vec<DataType>,
    /// Which rows count, where not all do.
    passing: Option<String>,
}
