//! The rows of an INSERT in the order of the table's keys, as a MergeTree keeps them: sorted in parts as large as the
//! kernel's.

use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_columns::keys::{Order, sort_keys};
use chalet_exec::QueryControl;
use chalet_exec::expression::{Program, layout};
use chalet_exec::operators::sort_buffer::SortBuffer;
use chalet_exec::pipeline::Position;
use chalet_memory::Reservation;
use chalet_storage::merge_tree::TableKeys;
use chalet_storage::{Inserter, TableSchema};
use std::sync::Arc;

/// How much is sorted at once: a part is cut when it has so many rows, or so many bytes.
pub(super) struct PartSize {
    rows: u64,
    bytes: u64,
}

impl PartSize {
    /// All rows; those of a part are numbered with 32 bits.
    pub const WHOLE: PartSize = PartSize { rows: 1 << 31, bytes: u64::MAX };

    /// That of an INSERT.
    pub fn of_insert(ctx: &QueryContext) -> PartSize {
        // 0 sets no bound.
        let least = |name, most: u64| {
            let given = ctx.state.settings.get(name).and_then(|text| text.parse::<u64>().ok());
            given.filter(|&n| n > 0).map_or(most, |n| n.min(most))
        };
        PartSize {
            rows: least("min_insert_block_size_rows", PartSize::WHOLE.rows),
            bytes: least("min_insert_block_size_bytes", PartSize::WHOLE.bytes),
        }
    }
}

/// Sorts what is written to `inner` in parts.
pub(super) fn inserter(
    inner: Box<dyn Inserter>,
    keys: &TableKeys,
    schema: &TableSchema,
    ctx: &QueryContext,
    size: PartSize,
) -> Result<Box<dyn Inserter>> {
    let (texts, descending): (Vec<&str>, Vec<bool>) = keys.all().unzip();
    if texts.is_empty() {
        return Ok(inner);
    }
    let (fields, bound) = bind_stored(texts, schema, ctx)?;
    let keys = Program::new(&bound.iter().collect::<Vec<_>>(), &layout(&fields), &ctx.functions)?;
    let orders = descending.into_iter().map(|descending| Order { descending, nulls_first: false }).collect();
    let memory = Reservation::new(ctx.control.memory.clone());
    Ok(Box::new(Sorted {
        inner,
        keys,
        orders,
        part: SortBuffer::default(),
        bytes: 0,
        size,
        memory,
        control: ctx.control.clone(),
    }))
}

struct Sorted {
    inner: Box<dyn Inserter>,
    keys: Program,
    orders: Vec<Order>,
    /// What is gathered for the next part.
    part: SortBuffer,
    bytes: u64,
    size: PartSize,
    memory: Reservation,
    control: Arc<QueryControl>,
}

impl Sorted {
    fn cut_part(&mut self) -> Result<()> {
        self.bytes = 0;
        let check = || self.control.check_with_interrupt();
        if let Some(block) = std::mem::take(&mut self.part).sorted(usize::MAX, &check)? {
            self.inner.write(block)?;
        }
        self.memory.resize(0)
    }
}

impl Inserter for Sorted {
    fn write(&mut self, block: Block) -> Result<()> {
        let columns = self.keys.evaluate(&block)?;
        let ordered: Vec<_> = columns.iter().zip(self.orders.iter().copied()).collect();
        let keys = sort_keys(&ordered, block.n_rows());
        let position = Position { number: self.part.n_blocks() as u32, ..Position::default() };
        self.bytes += block.memory() as u64;
        self.memory.grow(block.memory() + keys.memory())?;
        self.part.push(position, block, keys);
        match self.part.n_rows() as u64 >= self.size.rows || self.bytes >= self.size.bytes {
            true => self.cut_part(),
            false => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.cut_part()?;
        self.inner.finish()
    }
}
