//! TTL: what merges do to rows and values whose time has passed. Rows go, runs of rows become one, values become defaults, in this
//! order, as in ClickHouse.

use super::key_program::KeyProgram;
use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_base::{Result, bail};
use chalet_binder::{Environment, bind_query};
use chalet_columns::keys::{RowKeys, group_keys};
use chalet_columns::{Block, Column, Vector};
use chalet_exec::expression::{Program, layout};
use chalet_exec::operators::sort_buffer::SortBuffer;
use chalet_exec::pipeline::Position;
use chalet_storage::catalog::in_backquotes;
use chalet_storage::fixed::FixedTable;
use chalet_storage::{ColumnSchema, Entry, Table, TableSchema};
use chalet_syntax::ast::{self, TtlAction, TtlItem};
use chalet_syntax::print::string_literal;
use chalet_types::DataType;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The rules of a TTL clause.
pub(crate) fn parsed(clause: &str) -> Result<Vec<TtlItem>> {
    if clause.is_empty() {
        return Ok(Vec::new());
    }
    let text = format!("CREATE TABLE t (a UInt8) ENGINE = MergeTree TTL {clause}");
    match chalet_syntax::parse_printed(&text)?.pop().map(|statement| statement.kind) {
        Some(ast::StatementKind::CreateTable(create)) => Ok(create.storage.ttl),
        _ => bail!(LOGICAL_ERROR, "The TTL of a table cannot be read: {clause}"),
    }
}

/// Rules as the clause that SHOW CREATE prints.
pub(crate) fn shown(rules: &[TtlItem]) -> String {
    chalet_syntax::print::ttl_rules(rules)
}

/// Do rows or values of a table expire?
pub(crate) fn has_ttl(table: &dyn Table) -> bool {
    let has_rule = table.keys().is_some_and(|keys| !keys.ttl.is_empty());
    has_rule || table.schema().columns.iter().any(|column| column.ttl.is_some())
}

/// What the TTL of a table says, as code over blocks of its stored columns.
pub(crate) struct TtlProgram {
    /// Rows for which it is true stay.
    stays: Option<Program>,
    groups: Vec<GroupRule>,
    /// All stored columns, of values that have not expired.
    values: Option<Program>,
}

impl TtlProgram {
    /// Over these columns; `None` where nothing ever expires.
    pub fn of(table: &dyn Table, schema: &TableSchema, ctx: &QueryContext) -> Result<Option<TtlProgram>> {
        let clause = table.keys().map_or("", |keys| &*keys.ttl);
        if !has_ttl(table) {
            return Ok(None);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let rules = parsed(clause)?;
        let mut gone = Vec::new();
        for rule in rules.iter().filter(|rule| matches!(rule.action, TtlAction::Delete)) {
            gone.push(condition(rule, schema, now, ctx)?);
        }
        let stays = format!("NOT ({})", gone.join(" OR "));
        let stays = (!gone.is_empty()).then(|| program([&*stays], schema, ctx)).transpose()?;
        let mut groups = Vec::new();
        for rule in &rules {
            if let TtlAction::GroupBy { keys, set } = &rule.action {
                groups.push(GroupRule::new(rule, keys, set, schema, now, ctx)?);
            }
        }
        let values = values(schema, now, ctx)?;
        Ok(Some(TtlProgram { stays, groups, values }))
    }

    /// What is left of rows that come sorted; rows may be held back until later ones are known.
    pub fn push(&mut self, rows: Block, keys: &KeyProgram, ctx: &QueryContext) -> Result<Option<Block>> {
        let rows = match &self.stays {
            Some(stays) => rows.filter(&stays.mask(&rows)?),
            None => rows,
        };
        self.grouped(rows, 0, keys, ctx)
    }

    /// What was held back.
    pub fn finish(&mut self, keys: &KeyProgram, ctx: &QueryContext) -> Result<Vec<Block>> {
        let mut out = Vec::new();
        for at in 0..self.groups.len() {
            let Some(held) = self.groups[at].held.take() else { continue };
            let rows = self.groups[at].merged(held, keys, ctx)?;
            out.extend(self.grouped(rows, at + 1, keys, ctx)?);
        }
        Ok(out)
    }

    /// The rules of GROUP BY from one on, and those of columns.
    fn grouped(
        &mut self,
        mut rows: Block,
        first: usize,
        keys: &KeyProgram,
        ctx: &QueryContext,
    ) -> Result<Option<Block>> {
        for group in &mut self.groups[first..] {
            match group.push(rows, keys, ctx)? {
                Some(whole) => rows = whole,
                None => return Ok(None),
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        Ok(Some(match &self.values {
            Some(values) => Block::new(values.evaluate(&rows)?, rows.n_rows()),
            None => rows,
        }))
    }
}

fn program<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<Program> {
    let (fields, bound) = bind_stored(texts, schema, ctx)?;
    Program::new(&bound.iter().collect::<Vec<_>>(), &layout(&fields), &ctx.functions)
}

/// The expression of a rule over columns with a wider range: a Date or DateTime that a long interval is added to would wrap around,
/// and rows that are to stay for a century would be gone at once.
pub(crate) fn widened(expr: &str, schema: &TableSchema) -> Result<String> {
    let mut parsed = chalet_syntax::parse_expression(expr)?;
    let mut wrong = None;
    chalet_syntax::visit::walk_mut(&mut parsed, &mut |e| {
        let ast::ExprKind::Identifier(parts) = &e.kind else { return };
        let [name] = &parts[..] else { return };
        let Some(column) = schema.index_of(&name.name).map(|at| &schema.columns[at]) else { return };
        let name = in_backquotes(&column.name);
        let wide = match column.ty.bare() {
            DataType::Date => format!("toDate32({name})"),
            DataType::DateTime(_) => format!("toDateTime64({name}, 0)"),
            _ => return,
        };
        match chalet_syntax::parse_expression(&wide) {
            Ok(wide) => e.kind = wide.kind,
            Err(error) => wrong = Some(error),
        }
    });
    wrong.map_or(Ok(parsed.to_string()), Err)
}

/// Whether a timestamp has passed, as SQL.
fn has_passed(expr: &str, ty: &DataType, now: u64) -> String {
    match ty.bare() {
        DataType::DateTime(_) => format!("(({expr}) <= toDateTime({now}))"),
        _ => format!("(toDateTime64({expr}, 0) <= toDateTime64({now}, 0))"),
    }
}

fn expired(expr: &str, schema: &TableSchema, now: u64, ctx: &QueryContext) -> Result<String> {
    // Some functions take no wider types.
    let wide = widened(expr, schema)?;
    if let Ok((_, bound)) = bind_stored([&*wide], schema, ctx) {
        return Ok(has_passed(&wide, bound[0].ty(), now));
    }
    let bound = bind_stored([expr], schema, ctx)?.1.swap_remove(0);
    Ok(has_passed(expr, bound.ty(), now))
}

/// Whether a rule is for a row, as SQL.
fn condition(rule: &TtlItem, schema: &TableSchema, now: u64, ctx: &QueryContext) -> Result<String> {
    let passed = expired(&rule.expr.to_string(), schema, now, ctx)?;
    Ok(match &rule.where_ {
        Some(wanted) => format!("if(({wanted}) AND 1, {passed}, 0)"),
        None => passed,
    })
}

/// The stored columns with defaults in the place of expired values.
fn values(schema: &TableSchema, now: u64, ctx: &QueryContext) -> Result<Option<Program>> {
    if schema.stored().all(|column| column.ttl.is_none()) {
        return Ok(None);
    }
    let mut texts = Vec::new();
    for column in schema.stored() {
        let name = in_backquotes(&column.name);
        let Some(ttl) = &column.ttl else {
            texts.push(name);
            continue;
        };
        let passed = expired(ttl, schema, now, ctx)?;
        let ty = string_literal(column.ty.to_string());
        let default = match &column.default {
            Some((_, text)) if !text.is_empty() => format!("CAST({text}, {ty})"),
            _ => format!("defaultValueOfTypeName({ty})"),
        };
        texts.push(format!("CAST(if({passed}, {default}, {name}), {ty})"));
    }
    program(texts.iter().map(String::as_str), schema, ctx).map(Some)
}

/// The name of the rows that a rule of GROUP BY puts together, and of the number of the run that each is of.
const SOURCE: &str = "__expired_rows";
const RUN: &str = "__run";

/// `GROUP BY keys SET assignments`: a run of expired rows with equal keys becomes one row. The keys are a prefix of the sorting
/// key, so rows of equal keys follow each other.
struct GroupRule {
    expired: Program,
    keys: Program,
    query: String,
    schema: TableSchema,
    /// The rows of the last keys so far.
    held: Option<Block>,
}

impl GroupRule {
    fn new(
        rule: &TtlItem,
        keys: &[ast::Expr],
        set: &[(ast::Ident, ast::Expr)],
        schema: &TableSchema,
        now: u64,
        ctx: &QueryContext,
    ) -> Result<GroupRule> {
        let condition = condition(rule, schema, now, ctx)?;
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        Ok(GroupRule {
            expired: program([&*condition], schema, ctx)?,
            keys: program(keys.iter().map(String::as_str), schema, ctx)?,
            query: group_query(set, schema),
            schema: source_schema(schema),
            held: None,
        })
    }

    /// Whole groups with those before them; the last one is held back.
    fn push(&mut self, rows: Block, keys: &KeyProgram, ctx: &QueryContext) -> Result<Option<Block>> {
        let rows = match self.held.take() {
            Some(held) => Block::concat(&[held, rows]),
            None => rows,
        };
        let Some(last) = rows.n_rows().checked_sub(1) else { return Ok(None) };
        let group = self.group_keys(&rows)?;
        let start = (0..last).rev().find(|&row| group.get(row) != group.get(last)).map_or(0, |row| row + 1);
        self.held = Some(rows.slice(start, rows.n_rows() - start));
        if start == 0 { Ok(None) } else { self.merged(rows.slice(0, start), keys, ctx).map(Some) }
    }

    fn group_keys(&self, rows: &Block) -> Result<RowKeys> {
        let columns = self.keys.evaluate(rows)?;
        Ok(group_keys(&columns.iter().collect::<Vec<_>>(), rows.n_rows()))
    }

    /// Whole groups, with each run of expired rows as one.
    fn merged(&self, rows: Block, keys: &KeyProgram, ctx: &QueryContext) -> Result<Block> {
        let mask = self.expired.mask(&rows)?;
        if mask.count_set_bits() == 0 {
            return Ok(rows);
        }
        let group = self.group_keys(&rows)?;
        let mut runs = Vec::new();
        let mut run = 0u64;
        for row in 0..rows.n_rows() {
            if !mask.value(row) {
                run += 1;
                continue;
            }
            if row > 0 && group.get(row) != group.get(row - 1) {
                run += 1;
            }
            runs.push(run);
        }
        let gone = rows.filter(&mask);
        let n_gone = gone.n_rows();
        let mut columns = gone.into_columns();
        columns.push(Column::Flat(Vector::from(runs)));
        let source = FixedTable::new("Memory", self.schema.clone(), vec![Block::new(columns, n_gone)]);
        let mut all = vec![rows.filter(&!&mask)];
        all.extend(run_over(&self.query, source, ctx)?);
        sorted(Block::concat(&all), keys, ctx)
    }
}

/// Rows in the order of the sorting key: aggregates may have changed it.
fn sorted(rows: Block, keys: &KeyProgram, ctx: &QueryContext) -> Result<Block> {
    let by = keys.sorting_keys(&rows)?;
    let mut buffer = SortBuffer::default();
    buffer.push(Position::default(), rows.clone(), by);
    let check = || ctx.control.check_with_interrupt();
    Ok(buffer.sorted(usize::MAX, &check)?.unwrap_or(rows))
}

fn source_schema(schema: &TableSchema) -> TableSchema {
    let stored = schema.stored().map(|column| ColumnSchema::new(column.name.clone(), column.ty.clone()));
    let run = ColumnSchema::new(RUN, DataType::UInt64);
    TableSchema::new(stored.chain(std::iter::once(run)).collect())
}

/// The stored columns of one row a run: what SET assigns, and any value of the others.
fn group_query(set: &[(ast::Ident, ast::Expr)], schema: &TableSchema) -> String {
    let values = schema.stored().enumerate().map(|(at, column)| {
        let assigned = set.iter().find(|(name, _)| name.name == *column.name);
        let value = match assigned {
            Some((_, value)) => value.to_string(),
            None => format!("any({})", in_backquotes(&column.name)),
        };
        format!("CAST({value}, {}) AS `__new_{at}`", string_literal(column.ty.to_string()))
    });
    let values = values.collect::<Vec<_>>().join(", ");
    format!("SELECT {values} FROM {SOURCE} GROUP BY {RUN} ORDER BY {RUN}")
}

fn source_context(source: FixedTable, ctx: &QueryContext) -> Result<QueryContext> {
    let mut settings = ctx.state.settings.clone();
    settings.set("max_threads", "1")?;
    let mut ctx = ctx.with_settings(settings)?;
    let entry = Entry { table: Arc::new(source), kind: "TABLE", definition: "".into(), comment: "".into() };
    ctx.state.temporary.insert(SOURCE.into(), entry);
    Ok(ctx)
}

fn run_over(query: &str, source: FixedTable, ctx: &QueryContext) -> Result<Vec<Block>> {
    let ctx = source_context(source, ctx)?;
    let bound = bind_query(&parsed_query(query)?, &ctx, &ctx.ids)?;
    ctx.run(bound.plan)
}

fn parsed_query(text: &str) -> Result<ast::Query> {
    match chalet_syntax::parse_printed(text)?.pop().map(|statement| statement.kind) {
        Some(ast::StatementKind::Query(query)) => Ok(*query),
        _ => bail!(LOGICAL_ERROR, "A TTL reads no rows: {text}"),
    }
}

/// Fails where the assignments of GROUP BY cannot be computed.
pub(crate) fn check_assignments(
    set: &[(ast::Ident, ast::Expr)],
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<()> {
    let source = FixedTable::new("Memory", source_schema(schema), Vec::new());
    let ctx = source_context(source, ctx)?;
    bind_query(&parsed_query(&group_query(set, schema))?, &ctx, &ctx.ids).map(drop)
}
