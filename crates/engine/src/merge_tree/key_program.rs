//! The keys of a table as programs over its stored columns.

use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_base::Result;
use chalet_base::bisect::partition_point;
use chalet_columns::keys::{Order, RowKeys, sort_keys};
use chalet_columns::{Block, Column};
use chalet_exec::expression::{Program, layout};
use chalet_storage::TableSchema;
use chalet_storage::merge_tree::{Partition, TableKeys};
use chalet_types::DataType;
use std::ops::Range;

/// Evaluates partition and sorting key.
pub(crate) struct KeyProgram {
    sorting: Program,
    orders: Vec<Order>,
    partition: Option<(Program, DataType)>,
}

impl KeyProgram {
    /// Of a table with these keys and columns.
    pub fn new(keys: &TableKeys, schema: &TableSchema, ctx: &QueryContext) -> Result<KeyProgram> {
        let program = |texts: &[&str]| {
            let (fields, bound) = bind_stored(texts.iter().copied(), schema, ctx)?;
            let program = Program::new(&bound.iter().collect::<Vec<_>>(), &layout(&fields), &ctx.functions)?;
            Ok((program, bound))
        };
        let texts: Vec<&str> = keys.sorting.iter().map(|key| &*key.expr).collect();
        let (sorting, bound) = program(&texts)?;
        let of_key = keys.sorting.iter().zip(&bound);
        let orders = of_key.map(|(key, expr)| Order::new(key.descending, false).of(expr.ty()));
        let partition = match &*keys.partition {
            "" => None,
            text => {
                let (program, bound) = program(&[text])?;
                let ty = bound[0].ty().clone();
                let is_empty = matches!(&ty, DataType::Tuple(fields) if fields.is_empty());
                (!is_empty).then_some((program, ty))
            }
        };
        Ok(KeyProgram { sorting, orders: orders.collect(), partition })
    }

    /// The sorting keys of rows.
    pub fn sorting_columns(&self, block: &Block) -> Result<Vec<Column>> {
        self.sorting.evaluate(block)
    }

    /// Keys of rows that compare as the rows are sorted.
    pub fn sorting_keys(&self, block: &Block) -> Result<RowKeys> {
        let columns = self.sorting.evaluate(block)?;
        let ordered: Vec<_> = columns.iter().zip(self.orders.iter().copied()).collect();
        Ok(sort_keys(&ordered, block.n_rows()))
    }

    /// The same with the partition in front.
    pub fn all_keys(&self, block: &Block) -> Result<RowKeys> {
        let Some((partition, _)) = &self.partition else { return self.sorting_keys(block) };
        let (first, rest) = (partition.evaluate(block)?, self.sorting.evaluate(block)?);
        let orders = std::iter::once(Order::ASCENDING).chain(self.orders.iter().copied());
        let ordered: Vec<_> = first.iter().chain(&rest).zip(orders).collect();
        Ok(sort_keys(&ordered, block.n_rows()))
    }

    /// Keys of rows that are equal where their partitions are; `None` where the table has but one.
    pub fn partition_keys(&self, block: &Block) -> Result<Option<RowKeys>> {
        let Some((program, _)) = &self.partition else { return Ok(None) };
        let values = program.evaluate(block)?.swap_remove(0);
        Ok(Some(sort_keys(&[(&values, Order::ASCENDING)], block.n_rows())))
    }

    /// The partitions of rows that are sorted by [`all_keys`](Self::all_keys), each with its
    /// [`partition_keys`](Self::partition_keys).
    pub fn partitions(&self, block: &Block) -> Result<Vec<(Partition, Range<usize>, Box<[u8]>)>> {
        let Some((program, ty)) = &self.partition else {
            return Ok(vec![(Partition::all(), 0..block.n_rows(), Box::default())]);
        };
        let values = program.evaluate(block)?.swap_remove(0);
        let keys = sort_keys(&[(&values, Order::ASCENDING)], block.n_rows());
        let mut found = Vec::new();
        let mut start = 0;
        while start < block.n_rows() {
            // Most blocks are of few partitions.
            let end = partition_point(start..block.n_rows(), |row| keys.get(row) <= keys.get(start));
            let (vector, row) = values.locate(start);
            let (value, shown) = (vector.value(row), shown(vector, row, ty));
            found.push((Partition::of(&value, ty, &shown), start..end, keys.get(start).into()));
            start = end;
        }
        Ok(found)
    }
}

/// A value as `system.parts` shows it.
pub(crate) fn shown(vector: &chalet_columns::Vector, row: usize, ty: &DataType) -> String {
    let mut out = Vec::new();
    let settings = chalet_text::TextSettings::default();
    let style = match ty.bare() {
        DataType::Tuple(_) => chalet_text::Style::Quoted,
        _ => chalet_text::Style::Raw,
    };
    chalet_text::write_value(&mut out, vector, row, ty, style, &settings);
    String::from_utf8_lossy(&out).into_owned()
}
