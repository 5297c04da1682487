//! The rows of an INSERT, sorted and cut into parts as large as the kernel's.

use super::background;
use super::deduplication;
use super::key_program::KeyProgram;
use super::row_rules::TableRule;
use crate::projections::program::{ProjectionProgram, programs};
use crate::projections::write;
use crate::query_context::QueryContext;
use crate::skip_indexes;
use chalet_base::hash::{HashMap, combine, hash_bytes};
use chalet_base::{Result, ensure};
use chalet_binder::row_rule::MergePurpose;
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_exec::operators::sort_buffer::SortBuffer;
use chalet_exec::pipeline::Position;
use chalet_memory::Reservation;
use chalet_storage::merge_tree::part::Part;
use chalet_storage::merge_tree::skip_index::SkipIndexProgram;
use chalet_storage::merge_tree::{MergeTree, PartsInserter};
use chalet_storage::{Inserter, Table};
use std::sync::Arc;

/// The number of rows of a part, at most: they are numbered with 32 bits.
const MOST_ROWS: u64 = 1 << 31;

/// How much is sorted at once: a part is cut when it has so many rows, or so many bytes.
struct PartSize {
    rows: u64,
    bytes: u64,
}

impl PartSize {
    fn of(ctx: &QueryContext) -> PartSize {
        // 0 sets no bound.
        let least = |name, most: u64| {
            let given = ctx.state.settings.get(name).and_then(|text| text.parse::<u64>().ok());
            given.filter(|&n| n > 0).map_or(most, |n| n.min(most))
        };
        PartSize {
            rows: least("min_insert_block_size_rows", MOST_ROWS),
            bytes: least("min_insert_block_size_bytes", u64::MAX),
        }
    }
}

/// What an INSERT runs, made of the table's definition and the settings: kept for the next one.
struct Programs {
    keys: KeyProgram,
    /// What becomes of rows whose keys are equal, where an INSERT merges them.
    rule: Option<TableRule>,
    indexes: Arc<[SkipIndexProgram]>,
    projections: Arc<[ProjectionProgram]>,
    size: PartSize,
    /// Is the same INSERT not to be done again?
    is_once: bool,
}

impl Programs {
    /// Those of an INSERT; `ctx` is what expressions are bound with.
    fn new(table: &MergeTree, insert: &QueryContext, ctx: &QueryContext) -> Result<Programs> {
        let merges = insert.state.settings.flag("optimize_on_insert").unwrap_or(true);
        Ok(Programs {
            keys: KeyProgram::new(&table.definition().keys, &table.schema(), ctx)?,
            rule: if merges {
                TableRule::of(table, &table.schema(), MergePurpose::Store, ctx)?
            } else {
                None
            },
            indexes: skip_indexes::programs_of_insert(table, insert, ctx)?,
            projections: programs(table, ctx)?,
            size: PartSize::of(insert),
            is_once: deduplication::is_on(table, insert),
        })
    }
}

/// Begins an INSERT into a table.
pub(crate) fn inserter(table: &MergeTree, ctx: &QueryContext) -> Result<Box<dyn Inserter>> {
    let under = &ctx.exec.scan.conditions_under;
    let make = || Programs::new(table, ctx, &QueryContext::of_definition()?);
    let programs = match table.insert_programs().get_or_make(under, make) {
        Ok(programs) => programs,
        // What asks dictionaries or functions made by SQL is bound with them, each time.
        Err(_) => Arc::new(Programs::new(table, ctx, ctx)?),
    };
    let inner = table.insert_parts(programs.indexes.clone())?;
    Ok(Box::new(Sorted {
        inner: if programs.rule.is_some() { inner.of_merged_rows() } else { inner },
        part: SortBuffer::default(),
        appeared: HashMap::default(),
        bytes: 0,
        memory: Reservation::new(ctx.control.memory.clone()),
        token: deduplication::token(ctx).map(|token| hash_bytes(token.as_bytes())),
        rows_hash: 0,
        table: table.clone(),
        ctx: ctx.clone(),
        programs,
    }))
}

struct Sorted {
    inner: PartsInserter,
    programs: Arc<Programs>,
    /// What is gathered for the next parts.
    part: SortBuffer,
    /// When each of its partitions came first: parts are numbered in this order.
    appeared: HashMap<Box<[u8]>, usize>,
    bytes: u64,
    memory: Reservation,
    token: Option<u64>,
    /// Of all rows so far, in the order in which they came, for what has no token.
    rows_hash: u64,
    table: MergeTree,
    ctx: QueryContext,
}

impl Sorted {
    /// Notes the partitions of rows that have none before.
    fn note_partitions(&mut self, block: &Block) -> Result<()> {
        let Some(keys) = self.programs.keys.partition_keys(block)? else { return Ok(()) };
        for row in 0..block.n_rows() {
            let key = keys.get(row);
            let is_known = row > 0 && keys.get(row - 1) == key || self.appeared.contains_key(key);
            if !is_known {
                self.appeared.insert(key.into(), self.appeared.len());
            }
        }
        Ok(())
    }

    /// Hashes row by row, so that it does not matter how the rows are cut into blocks.
    fn note_rows(&mut self, block: &Block) {
        if self.programs.is_once && self.token.is_none() {
            let columns: Vec<&Column> = block.columns().iter().collect();
            let rows = group_keys(&columns, block.n_rows());
            let hashes = (0..block.n_rows()).map(|row| hash_bytes(rows.get(row)));
            self.rows_hash = hashes.fold(self.rows_hash, combine);
        }
    }

    fn cut_parts(&mut self) -> Result<()> {
        self.bytes = 0;
        let (control, n_threads) = (&self.ctx.control, self.ctx.exec.settings.max_threads);
        let check = || control.check_with_interrupt();
        if let Some(rows) = std::mem::take(&mut self.part).sorted(n_threads, &check)? {
            let mut partitions = self.programs.keys.partitions(&rows)?;
            check_partitions(partitions.len() as u64, &self.ctx)?;
            let appeared = std::mem::take(&mut self.appeared);
            partitions.sort_by_key(|(.., key)| appeared.get(key).copied());
            for (partition, range, _) in partitions {
                let is_whole = range.len() == rows.n_rows();
                let of_partition = if is_whole { rows.clone() } else { rows.slice(range.start, range.len()) };
                let of_partition = match &self.programs.rule {
                    Some(rule) => rule.merged(of_partition, &self.programs.keys, &self.ctx.control.memory)?,
                    None => vec![of_partition],
                };
                if !of_partition.is_empty() {
                    let rows = Block::concat(&of_partition);
                    let partition = self.table.known_partition(partition)?;
                    let Sorted { inner, table, programs, ctx, .. } = self;
                    let complete =
                        |part: &Arc<Part>| write::complete(table, part, &programs.projections, ctx);
                    inner.write_part(partition, rows, n_threads, &complete)?;
                }
            }
        }
        self.memory.resize(0)
    }
}

/// Fails where an INSERT makes more partitions at once than it may.
fn check_partitions(n: u64, ctx: &QueryContext) -> Result<()> {
    let settings = &ctx.state.settings;
    let most = settings.number("max_partitions_per_insert_block").unwrap_or(100);
    let throws = settings.flag("throw_on_max_partitions_per_insert_block") != Some(false);
    ensure!(
        most == 0 || n <= most || !throws,
        TOO_MANY_PARTS,
        "Too many partitions for single INSERT block (more than {most}). The limit is controlled by \
         'max_partitions_per_insert_block' setting. Partitions are for dropping and moving rows, not for making queries fast: use \
         ORDER BY for that"
    );
    Ok(())
}

impl Inserter for Sorted {
    fn write(&mut self, block: Block) -> Result<()> {
        let keys = self.programs.keys.all_keys(&block)?;
        self.note_partitions(&block)?;
        self.note_rows(&block);
        let position = Position { number: self.part.n_blocks() as u32, ..Position::default() };
        self.bytes += block.memory() as u64;
        self.memory.grow(block.memory() + keys.memory())?;
        self.part.push(position, block, keys);
        match self.part.n_rows() as u64 >= self.programs.size.rows || self.bytes >= self.programs.size.bytes {
            true => self.cut_parts(),
            false => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.cut_parts()?;
        let token = self.programs.is_once.then(|| self.token.unwrap_or(self.rows_hash));
        self.inner.finish(token)?;
        background::wake(&self.table, &self.ctx);
        Ok(())
    }
}
