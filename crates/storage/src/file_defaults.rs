//! DEFAULT of the columns of files: computed for the rows that leave them out, when they are read.

use crate::merge_tree::Defaults;
use crate::{ColumnSchema, TableSchema};
use chalet_base::{Result, bail, err};
use chalet_columns::{Block, BooleanBuffer, Column};
use std::sync::Arc;

/// The columns of a file as they were declared, and how their defaults are computed.
#[derive(Clone)]
pub struct FileDefaults {
    pub schema: TableSchema,
    pub defaults: Arc<dyn Defaults>,
}

/// What a scan computes, and of what.
#[derive(Default)]
pub(crate) struct Filling {
    /// Those that others are computed of stand before them.
    steps: Vec<Step>,
    /// So many columns were asked for; those behind them are read for defaults alone.
    n_asked: usize,
}

struct Step {
    column: ColumnSchema,
    /// Among the columns that are read.
    at: usize,
    inputs: Vec<usize>,
}

impl FileDefaults {
    /// May rows lack this column, by its position among the file's own, and have its default?
    pub fn has_default(&self, column: usize) -> bool {
        self.schema.columns.get(column).is_some_and(|column| column.default.is_some())
    }

    /// Adds what defaults of the columns read to `wanted`.
    pub(crate) fn filling(&self, wanted: &mut Vec<usize>) -> Result<Filling> {
        let mut filling = Filling { steps: Vec::new(), n_asked: wanted.len() };
        for at in 0..filling.n_asked {
            self.add(wanted[at], wanted, &mut filling.steps, &mut Vec::new())?;
        }
        Ok(filling)
    }

    /// `above`: the columns whose defaults ask for this one.
    fn add(
        &self,
        position: usize,
        wanted: &mut Vec<usize>,
        steps: &mut Vec<Step>,
        above: &mut Vec<usize>,
    ) -> Result<()> {
        let column = &self.schema.columns[position];
        let at = wanted.iter().position(|&known| known == position).unwrap_or_else(|| {
            wanted.push(position);
            wanted.len() - 1
        });
        if column.default.is_none() || steps.iter().any(|step| step.at == at) {
            return Ok(());
        }
        if above.contains(&position) {
            bail!(CYCLIC_ALIASES, "Cyclic alias detected in column DEFAULT expressions: {}", column.name);
        }
        above.push(position);
        let mut inputs = Vec::new();
        for name in self.defaults.reads(column, &self.schema)?.iter() {
            let read = self.schema.index_of(name);
            let read = read.ok_or_else(|| err!(LOGICAL_ERROR, "Column {name} is not of the file"))?;
            self.add(read, wanted, steps, above)?;
            inputs.extend(wanted.iter().position(|&known| known == read));
        }
        above.pop();
        steps.push(Step { column: column.clone(), at, inputs });
        Ok(())
    }

    /// The columns that were asked for; `omitted` is what the reader says of the block, which has all that are read, and
    /// behind them what else there is.
    pub(crate) fn filled(
        &self,
        block: Block,
        omitted: &[Option<BooleanBuffer>],
        filling: &Filling,
        n_read: usize,
    ) -> Result<Block> {
        let n_rows = block.n_rows();
        let mut columns = block.into_columns();
        for step in &filling.steps {
            let Some(Some(rows)) = omitted.get(step.at) else { continue };
            let inputs = step.inputs.iter().map(|&at| columns[at].clone()).collect();
            let default = self.defaults.compute(&step.column, &self.schema, &Block::new(inputs, n_rows))?;
            columns[step.at] = chosen(rows, &columns[step.at], default);
        }
        columns.drain(filling.n_asked..n_read);
        Ok(Block::new(columns, n_rows))
    }
}

/// The default in the rows that are marked, else what was given.
fn chosen(rows: &BooleanBuffer, given: &Column, default: Column) -> Column {
    if rows.count_set_bits() == rows.len() {
        return default;
    }
    let n = rows.len() as u32;
    let both = Column::concat(&[given, &default]).into_flat();
    let places = rows.iter().zip(0..n).map(|(is_omitted, row)| if is_omitted { n + row } else { row });
    Column::Flat(both.gather(&places.collect::<Vec<_>>()))
}
