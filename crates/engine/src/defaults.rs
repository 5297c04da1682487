//! Rows as a table stores them: columns that are not given, or whose values were left out, get their defaults.

use crate::query_context::QueryContext;
use crate::stored_columns::nested_prefix;
use chalet_base::{Result, bail};
use chalet_binder::table_columns::bind_default;
use chalet_binder::{BoundQuery, Environment};
use chalet_columns::{Block, BooleanBuffer, Column, Vector};
use chalet_formats::input::BlockReader;
use chalet_plan::{Expr, Field, Plan, Project, Values};
use chalet_storage::{ColumnSchema, TableSchema};
use chalet_types::DataType;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Rows that leave nothing out.
pub(crate) struct AllGiven;

impl BlockReader for AllGiven {
    fn next_block(&mut self, _: usize) -> Result<Option<Block>> {
        Ok(None)
    }
}

/// The block as the table stores it.
pub(crate) fn with_defaults(
    unit: &dyn BlockReader,
    block: Block,
    given: &[ColumnSchema],
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<Vec<Block>> {
    let omitted = unit.omitted();
    let stored: Vec<&ColumnSchema> = schema.stored().collect();
    let any_omitted = omitted.iter().any(Option::is_some) && given.iter().any(|c| c.default.is_some());
    let same = stored.len() == given.len() && stored.iter().zip(given).all(|(a, b)| a.name == b.name);
    if same && !any_omitted {
        return Ok(vec![block]);
    }
    let n_rows = block.n_rows();
    let mut fields: Vec<Field> = given.iter().map(|c| ctx.ids.field(c.name.clone(), c.ty.clone())).collect();
    let named = fields.iter().map(|f| (f.name.to_string(), Expr::Column(f.id, f.ty.clone()))).collect();
    let mut columns = block.into_columns();
    let mut masks = Vec::new();
    for (column, rows) in given.iter().zip(omitted) {
        let Some(rows) = rows else { continue };
        let field = ctx.ids.field("omitted", DataType::UInt8);
        masks.push((column.name.to_string(), Expr::Column(field.id, field.ty.clone())));
        columns.push(Column::Flat(mask_column(rows)));
        fields.push(field);
    }
    let values = Values { fields: fields.clone(), block: Block::new(columns, n_rows) };
    let source = BoundQuery { plan: Plan::Values(values), fields };
    let plan = complete(source, named, &masks, schema, ctx)?;
    ctx.run(plan)
}

fn mask_column(rows: &BooleanBuffer) -> Vector {
    Vector::from(rows.iter().map(u8::from).collect::<Vec<u8>>())
}

/// The plan whose columns are those that the table stores: given ones, and defaults of the others.
pub(crate) fn complete(
    source: BoundQuery,
    given: Vec<(String, Expr)>,
    omitted: &[(String, Expr)],
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<Plan> {
    let mut known = Known::default();
    for (name, expr) in given {
        // Of a name that is given twice the first counts.
        if known.get(&name).is_none() {
            known.set(name, expr);
        }
    }
    let omitted: HashMap<&str, &Expr> = omitted.iter().map(|(name, mask)| (&**name, mask)).collect();
    let mut waiting: Vec<&ColumnSchema> = Vec::new();
    for column in schema.columns.iter().filter(|c| !c.is_virtual) {
        let is_given = known.get(&column.name).is_some();
        let may_be_omitted = omitted.contains_key(&*column.name);
        if !is_given || (may_be_omitted && column.default.is_some()) {
            waiting.push(column);
        }
    }
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut later = Vec::new();
        let mut failure = None;
        for column in waiting {
            match default_expr(column, &known, ctx) {
                Ok(default) => add_default(column, default, &omitted, &mut known, ctx)?,
                Err(error) => {
                    failure = Some(error);
                    later.push(column);
                }
            }
        }
        if later.len() == before
            && let Some(error) = failure
        {
            return Err(error);
        }
        waiting = later;
    }
    let mut exprs: Vec<(Field, Expr)> = Vec::new();
    for column in schema.stored() {
        let Some(expr) = known.get(&column.name).cloned() else {
            bail!(LOGICAL_ERROR, "Column {} has no value", column.name)
        };
        exprs.push((ctx.ids.field(column.name.clone(), column.ty.clone()), expr));
    }
    Ok(Plan::Project(Project { input: Box::new(source.plan), exprs }))
}

/// What a default sees: the given columns, and the defaults of those that are not.
#[derive(Default)]
struct Known {
    columns: Vec<(String, Expr)>,
    places: HashMap<String, usize>,
}

impl Known {
    fn get(&self, name: &str) -> Option<&Expr> {
        self.places.get(name).map(|&place| &self.columns[place].1)
    }

    fn set(&mut self, name: String, expr: Expr) {
        match self.places.get(&name) {
            Some(&place) => self.columns[place].1 = expr,
            None => {
                self.places.insert(name.clone(), self.columns.len());
                self.columns.push((name, expr));
            }
        }
    }

    fn without(&self, name: &str) -> Cow<'_, [(String, Expr)]> {
        if !self.places.contains_key(name) {
            return Cow::Borrowed(&self.columns);
        }
        self.columns.iter().filter(|(known, _)| known != name).cloned().collect()
    }
}

fn default_expr(column: &ColumnSchema, known: &Known, ctx: &QueryContext) -> Result<Expr> {
    match &column.default {
        Some((_, text)) if !text.is_empty() => {
            bind_default(text, &column.ty, &known.without(&column.name), ctx, &ctx.ids)
        }
        _ => {
            let default = Vector::unsaid(&column.ty, 1);
            let literal = chalet_plan::Literal { value: Arc::new(default), ty: column.ty.clone() };
            let default = Expr::Literal(literal);
            match nested_sibling(column, known) {
                // An array of a Nested is as long as its siblings.
                Some(sibling) => {
                    let columns = [("empty".to_string(), default), ("sibling".to_string(), sibling.clone())];
                    let text = "arrayResize(empty, length(sibling))";
                    bind_default(text, &column.ty, &columns, ctx, &ctx.ids)
                }
                None => Ok(default),
            }
        }
    }
}

/// A given array of the same Nested.
fn nested_sibling<'e>(column: &ColumnSchema, known: &'e Known) -> Option<&'e Expr> {
    if !matches!(column.ty, DataType::Array(_)) {
        return None;
    }
    let prefix = nested_prefix(&column.name)?;
    let is_sibling = |(name, expr): &&(String, Expr)| {
        let is_other = **name != *column.name;
        is_other && nested_prefix(name) == Some(prefix) && matches!(expr.ty(), DataType::Array(_))
    };
    known.columns.iter().find(is_sibling).map(|(_, expr)| expr)
}

/// The default for a column that is not given at all, or for the rows that left it out.
fn add_default(
    column: &ColumnSchema,
    default: Expr,
    omitted: &HashMap<&str, &Expr>,
    known: &mut Known,
    ctx: &QueryContext,
) -> Result<()> {
    let chosen = match (omitted.get(&*column.name), known.get(&column.name)) {
        (Some(&mask), Some(given)) => {
            let columns = [
                ("mask".to_string(), mask.clone()),
                ("default".to_string(), default),
                ("given".to_string(), given.clone()),
            ];
            bind_default("if(mask, default, given)", &column.ty, &columns, ctx, &ctx.ids)?
        }
        _ => default,
    };
    known.set(column.name.to_string(), chosen);
    Ok(())
}
