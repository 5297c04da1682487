//! Rows that a table does not take: those that violate a constraint, and Nested columns whose arrays differ in length.

use crate::merge_tree;
use crate::query_context::QueryContext;
use crate::stored_columns::{bind_stored, nested_prefix};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Block, Column, Data, Vector};
use chalet_exec::expression::{Program, layout};
use chalet_plan::Field;
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::{Constraint, Inserter, Table, TableSchema};
use chalet_types::DataType;
use std::sync::Arc;

/// The table's inserter, behind the checks that its definition asks for.
pub(crate) fn inserter(table: &dyn Table, name: &str, ctx: &QueryContext) -> Result<Box<dyn Inserter>> {
    let schema = table.schema();
    let nested = nested_groups(&schema);
    let checks = schema.constraints.iter().filter(|c| !c.is_assumed);
    let checks = checks.map(|c| Check::new(c, &schema, ctx)).collect::<Result<Vec<_>>>()?;
    let inner = match table.as_any().downcast_ref::<MergeTree>() {
        Some(table) => merge_tree::insert::inserter(table, ctx)?,
        None => table.insert()?,
    };
    if nested.is_empty() && checks.is_empty() {
        return Ok(inner);
    }
    Ok(Box::new(Checked { inner, table: name.into(), nested, checks }))
}

/// Arrays that belong together, by position among the stored columns: `n.a` and `n.b`.
fn nested_groups(schema: &TableSchema) -> Vec<Vec<(usize, Arc<str>)>> {
    let mut groups: Vec<(String, Vec<(usize, Arc<str>)>)> = Vec::new();
    for (index, column) in schema.stored().enumerate() {
        let (Some(prefix), DataType::Array(_)) = (nested_prefix(&column.name), &column.ty) else { continue };
        let member = (index, column.name.clone());
        match groups.iter_mut().find(|(known, _)| known == prefix) {
            Some((_, members)) => members.push(member),
            None => groups.push((prefix.to_string(), vec![member])),
        }
    }
    groups.into_iter().map(|(_, members)| members).filter(|members| members.len() > 1).collect()
}

struct Checked {
    inner: Box<dyn Inserter>,
    table: Arc<str>,
    nested: Vec<Vec<(usize, Arc<str>)>>,
    checks: Vec<Check>,
}

impl Inserter for Checked {
    fn write(&mut self, block: Block) -> Result<()> {
        for group in &self.nested {
            same_lengths(&block, group)?;
        }
        for check in &self.checks {
            check.run(&block, &self.table)?;
        }
        self.inner.write(block)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.inner.finish()
    }
}

fn same_lengths(block: &Block, group: &[(usize, Arc<str>)]) -> Result<()> {
    let vectors: Vec<(Vector, &str)> =
        group.iter().map(|(index, name)| (block.column(*index).clone().into_flat(), &**name)).collect();
    let Some(((first, first_name), rest)) = vectors.split_first() else { return Ok(()) };
    let length = |vector: &Vector, row: usize| match &vector.data {
        Data::List(list) => list.range(row).len(),
        _ => 0,
    };
    for (other, name) in rest {
        let same = (0..block.n_rows()).all(|row| length(first, row) == length(other, row));
        let prefix = nested_prefix(name).unwrap_or(name);
        ensure!(
            same,
            SIZES_OF_ARRAYS_DONT_MATCH,
            "Elements '{first_name}' and '{name}' of Nested data structure '{prefix}' (Array columns) have different array \
             sizes"
        );
    }
    Ok(())
}

/// A constraint as a program over the stored columns.
struct Check {
    constraint: Constraint,
    program: Program,
    result: DataType,
    /// The columns that it reads, for the message.
    reads: Vec<(usize, Field)>,
}

impl Check {
    fn new(constraint: &Constraint, schema: &TableSchema, ctx: &QueryContext) -> Result<Check> {
        let (fields, mut bound) = bind_stored([&*constraint.expr], schema, ctx)?;
        let expr = bound.swap_remove(0);
        let program = Program::new(&[&expr], &layout(&fields), &ctx.functions)?;
        let read = expr.columns();
        let reads = fields.into_iter().enumerate().filter(|(_, f)| read.contains(&f.id)).collect();
        Ok(Check { constraint: constraint.clone(), program, result: expr.ty().clone(), reads })
    }

    fn run(&self, block: &Block, table: &str) -> Result<()> {
        let (name, expr) = (&self.constraint.name, &self.constraint.expr);
        ensure!(
            matches!(self.result.bare(), DataType::UInt8 | DataType::Bool) || self.result.is_only_null(),
            UNSUPPORTED_METHOD,
            "Constraint `{name}` does not return a value of type UInt8"
        );
        let column: Column = self.program.evaluate(block)?.swap_remove(0);
        let column = column.into_flat();
        for row in 0..block.n_rows() {
            if column.is_null(row) {
                bail!(
                    VIOLATED_CONSTRAINT,
                    "Constraint `{name}` for table {table} is violated. Expression: ({expr}). Constraint expression returns \
                     nullable column that contains null value"
                );
            }
            if column.value(row).as_u64() != Some(0) {
                continue;
            }
            let values: Vec<String> = self
                .reads
                .iter()
                .map(|(index, field)| {
                    format!("{} = {}", field.name, shown(block.column(*index), row, &field.ty))
                })
                .collect();
            bail!(
                VIOLATED_CONSTRAINT,
                "Constraint `{name}` for table {table} is violated at row {}. Expression: ({expr}). Column values: {}",
                row + 1,
                values.join(", ")
            );
        }
        Ok(())
    }
}

/// A value as a literal.
fn shown(column: &Column, row: usize, ty: &DataType) -> String {
    let (vector, row) = column.locate(row);
    let mut out = Vec::new();
    let settings = chalet_text::TextSettings::default();
    chalet_text::write_value(&mut out, vector, row, ty, chalet_text::Style::Quoted, &settings);
    String::from_utf8_lossy(&out).into_owned()
}
