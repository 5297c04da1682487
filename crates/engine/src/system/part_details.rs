//! What `system.parts` tells of a part that depends on expressions of its table: when its rows expire, what its primary key takes in
//! memory, the projections that it has.

use super::structures::SparseRow;
use crate::merge_tree::ttl;
use crate::projections::program::{ProjectionProgram, programs};
use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_base::Result;
use chalet_columns::{Block, Column};
use chalet_exec::expression::{Program, layout};
use chalet_plan::Expr;
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::part::Part;
use chalet_storage::{Table, TableSchema};
use chalet_syntax::ast::TtlAction;
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// The expressions of a table, bound once for all of its parts. None of a table that refers to what is gone.
#[derive(Default)]
pub(super) struct PartDetails {
    primary: Vec<PrimaryColumn>,
    ttl: Vec<TtlBounds>,
    projections: Arc<[ProjectionProgram]>,
}

impl PartDetails {
    pub fn of(table: &MergeTree, ctx: &QueryContext) -> Result<PartDetails> {
        let schema = table.schema();
        let keys = &table.definition().keys;
        let primary = keys.sorting[..keys.n_primary].iter();
        let mut ttl = Vec::new();
        for rule in ttl::parsed(&keys.ttl)? {
            let names = match rule.action {
                TtlAction::Delete if rule.where_.is_none() => Names::DELETE,
                TtlAction::GroupBy { .. } => Names::GROUP_BY,
                TtlAction::Recompress(_) => Names::RECOMPRESS,
                _ => continue,
            };
            ttl.extend(TtlBounds::new(&rule.expr.to_string(), names, &schema, ctx)?);
        }
        Ok(PartDetails {
            primary: primary.map(|key| PrimaryColumn::new(&key.expr, &schema, ctx)).collect::<Result<_>>()?,
            ttl,
            projections: if schema.projections.is_empty() { Arc::new([]) } else { programs(table, ctx)? },
        })
    }

    /// Columns of the row of a part that has so many marks.
    pub fn row(&self, table: &MergeTree, part: &Arc<Part>, marks: u64) -> Result<SparseRow> {
        let bytes = self.primary.iter().map(|column| column.bytes(table, part)).sum::<u64>() * marks;
        let has = |one: &&ProjectionProgram| part.has_projection(one.stored.key());
        let projections = self.projections.iter().filter(has).map(|one| Value::from(&*one.stored.name));
        let mut row: SparseRow = vec![
            ("primary_key_bytes_in_memory", Value::UInt(bytes)),
            ("projections", Value::Array(projections.collect())),
        ];
        for names in [Names::DELETE, Names::GROUP_BY, Names::RECOMPRESS] {
            let of_kind = self.ttl.iter().filter(|ttl| ttl.names == names);
            let known = of_kind.map(|ttl| Ok((&*ttl.text, ttl.of_part(table, part)?)));
            let known = known.collect::<Result<Vec<_>>>()?;
            let time = |second: u32| Value::UInt(second.into());
            match names.expression {
                // Of several rules the last one that is known counts, as one column has room for one alone.
                None => {
                    if let Some((_, (min, max))) = known.last() {
                        row.extend([(names.min, time(*min)), (names.max, time(*max))]);
                    }
                }
                Some(expression) => {
                    let all = |value: fn(&(&str, (u32, u32))) -> Value| {
                        Value::Array(known.iter().map(value).collect())
                    };
                    row.extend([
                        (expression, all(|one| Value::from(one.0))),
                        (names.min, all(|one| Value::UInt(one.1.0.into()))),
                        (names.max, all(|one| Value::UInt(one.1.1.into()))),
                    ]);
                }
            }
        }
        Ok(row)
    }
}

/// One expression of the primary key.
struct PrimaryColumn {
    /// Bytes of a value, where all have as many.
    width: Option<usize>,
    /// Where it is in the schema, if it is a column as it is.
    column: Option<usize>,
}

impl PrimaryColumn {
    fn new(expr: &str, schema: &TableSchema, ctx: &QueryContext) -> Result<PrimaryColumn> {
        let bound = bind_stored([expr], schema, ctx)?.1.swap_remove(0);
        let is_column = matches!(bound, Expr::Column(..));
        let column = if is_column { schema.index_of(expr.trim_matches('`')) } else { None };
        Ok(PrimaryColumn { width: bound.ty().physical().width(), column })
    }

    /// What a mark takes of it. A value without a fixed width takes its offset, and as many bytes as the mean of the least and the
    /// greatest one in the part.
    fn bytes(&self, table: &MergeTree, part: &Arc<Part>) -> u64 {
        if let Some(width) = self.width {
            return width as u64;
        }
        let bounds = self.column.and_then(|column| table.column_bounds(part, column));
        let length = |value: &Value| value.as_bytes().map_or(0, <[u8]>::len) as u64;
        size_of::<u64>() as u64
            + bounds.map_or(0, |(least, greatest)| (length(&least) + length(&greatest)) / 2)
    }
}

/// The columns that tell of a kind of rules.
#[derive(Clone, Copy, PartialEq)]
struct Names {
    expression: Option<&'static str>,
    min: &'static str,
    max: &'static str,
}

impl Names {
    const DELETE: Names = Names { expression: None, min: "delete_ttl_info_min", max: "delete_ttl_info_max" };
    const GROUP_BY: Names = Names {
        expression: Some("group_by_ttl_info.expression"),
        min: "group_by_ttl_info.min",
        max: "group_by_ttl_info.max",
    };
    const RECOMPRESS: Names = Names {
        expression: Some("recompression_ttl_info.expression"),
        min: "recompression_ttl_info.min",
        max: "recompression_ttl_info.max",
    };
}

/// A rule of a TTL that only shifts a column by an interval: its bounds in a part are those of the column, shifted.
struct TtlBounds {
    text: String,
    names: Names,
    column: usize,
    ty: DataType,
    /// Seconds since 1970.
    seconds: Program,
}

impl TtlBounds {
    /// `None` where the rule is another expression, whose bounds only reading the rows would tell.
    fn new(expr: &str, names: Names, schema: &TableSchema, ctx: &QueryContext) -> Result<Option<TtlBounds>> {
        let (fields, bound) = bind_stored([expr], schema, ctx)?;
        let column = match &bound[0] {
            Expr::Column(id, _) => *id,
            Expr::Call { args, .. } => match &args[..] {
                [Expr::Column(id, _), by]
                    if by.columns().is_empty() && matches!(by.ty(), DataType::Interval(_)) =>
                {
                    *id
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let Some(field) = fields.iter().find(|field| field.id == column) else { return Ok(None) };
        let Some(column) = schema.index_of(&field.name) else { return Ok(None) };
        let alone = TableSchema::new(vec![schema.columns[column].clone()]);
        let text = format!("toInt64(toDateTime64({}, 0))", ttl::widened(expr, schema)?);
        let (fields, bound) = bind_stored([&*text], &alone, ctx)?;
        let seconds = Program::new(&bound.iter().collect::<Vec<_>>(), &layout(&fields), &ctx.functions)?;
        let ty = schema.columns[column].ty.clone();
        Ok(Some(TtlBounds { text: expr.to_owned(), names, column, ty, seconds }))
    }

    /// The first and the last second at which rows expire, as the 32 bits that there is room for; 0 where that is not known.
    fn of_part(&self, table: &MergeTree, part: &Arc<Part>) -> Result<(u32, u32)> {
        let Some((least, greatest)) = table.column_bounds(part, self.column) else { return Ok((0, 0)) };
        let least = Column::of_value(&least, &self.ty, 1)?;
        let greatest = Column::of_value(&greatest, &self.ty, 1)?;
        let rows = Block::new(vec![Column::concat(&[&least, &greatest])], 2);
        let seconds = self.seconds.evaluate(&rows)?.swap_remove(0);
        let second = |row: usize| seconds.value(row).as_i64().unwrap_or(0) as u32;
        Ok((second(0), second(1)))
    }
}
