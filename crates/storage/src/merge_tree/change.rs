//! Changes of a table as records of its journal: parts that go and parts that come, at once.

use super::Partition;
use super::checksums::Checksums;
use super::columns::{ColumnsVersion, KeptBlocks, put_text};
use super::part::{Part, PartData, PartInfo};
use super::tokens::Token;
use crate::disk::TableFolder;
use chalet_base::{Result, bail, ensure, err, lz4};
use chalet_columns::Block;
use chalet_formats::binary::{Cursor, put_var_uint};
use chalet_formats::native::{read_column, write_column};
use std::sync::Arc;

/// What becomes of a table, as a whole.
#[derive(Clone, Default)]
pub struct Change {
    /// Versions of the columns that are new; the last is that of parts from now on.
    pub columns: Vec<Arc<ColumnsVersion>>,
    /// By number.
    pub removed: Vec<u64>,
    pub added: Vec<Arc<Part>>,
    /// By number: parts that are taken away, and kept aside.
    pub detached: Vec<u64>,
    /// By number: parts that were kept aside, and go.
    pub dropped_detached: Vec<u64>,
    /// Of the added parts of an INSERT that is asked to be done once.
    pub tokens: Vec<Token>,
    /// Are the rows that go in another table now? An INSERT of them stays done.
    pub is_move: bool,
    /// Parts in the journal, by number, that have or no longer have the projection of a key.
    pub projected: Vec<(u64, u64)>,
    pub unprojected: Vec<(u64, u64)>,
    /// Among how many of the last tokens these are looked for.
    pub token_window: usize,
}

const COLUMNS: u64 = 1;
const REMOVED: u64 = 2;
const ADDED_FILE: u64 = 3;
const ADDED_ROWS: u64 = 4;
/// Of a whole INSERT, as earlier versions wrote it: which parts it made is not known.
const TOKEN_OF_INSERT: u64 = 5;
const DETACHED: u64 = 6;
const DROPPED_DETACHED: u64 = 7;
const COLUMNS_OF_DEFINITION: u64 = 8;
const PROJECTED: u64 = 9;
const UNPROJECTED: u64 = 10;
const TOKEN: u64 = 11;
const MOVE: u64 = 12;

impl Change {
    /// Appends the change as bytes.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        for columns in &self.columns {
            match columns.definition {
                0 => put_var_uint(out, COLUMNS),
                definition => {
                    put_var_uint(out, COLUMNS_OF_DEFINITION);
                    put_var_uint(out, definition);
                }
            }
            columns.encode(out)?;
        }
        for number in &self.removed {
            put_var_uint(out, REMOVED);
            put_var_uint(out, *number);
        }
        for part in &self.added {
            put_var_uint(out, if part.resident().is_some() { ADDED_ROWS } else { ADDED_FILE });
            encode_info(&part.info, out);
            match &part.data {
                PartData::Resident(block) => encode_rows(block, &part.columns, out)?,
                PartData::File(_, checksums) => checksums.encode(out),
            }
        }
        let added = self
            .added
            .iter()
            .flat_map(|part| part.projections.declared().into_iter().map(|key| (part.info.number, key)));
        let projected = added.chain(self.projected.iter().copied()).map(|pair| (PROJECTED, pair));
        for (kind, (number, key)) in projected.chain(self.unprojected.iter().map(|&pair| (UNPROJECTED, pair)))
        {
            put_var_uint(out, kind);
            put_var_uint(out, number);
            put_var_uint(out, key);
        }
        for (kind, numbers) in [(DETACHED, &self.detached), (DROPPED_DETACHED, &self.dropped_detached)] {
            for number in numbers {
                put_var_uint(out, kind);
                put_var_uint(out, *number);
            }
        }
        if self.is_move {
            put_var_uint(out, MOVE);
        }
        for token in &self.tokens {
            put_var_uint(out, TOKEN);
            put_var_uint(out, token.hash);
            put_text(out, &token.partition);
            put_var_uint(out, token.block);
        }
        Ok(())
    }

    /// The change of some bytes. `versions` are those that there are so far.
    pub fn decode(
        bytes: &[u8],
        versions: &[Arc<ColumnsVersion>],
        folder: Option<&Arc<TableFolder>>,
    ) -> Result<Change> {
        let mut from = Cursor::new(bytes);
        let mut change = Change::default();
        while !from.rest.is_empty() {
            match from.var_uint()? {
                COLUMNS => change.columns.push(Arc::new(ColumnsVersion::decode(&mut from)?)),
                COLUMNS_OF_DEFINITION => {
                    let definition = from.var_uint()?;
                    let columns = ColumnsVersion::decode(&mut from)?;
                    change.columns.push(Arc::new(ColumnsVersion { definition, ..columns }));
                }
                REMOVED => change.removed.push(from.var_uint()?),
                kind @ (ADDED_FILE | ADDED_ROWS) => {
                    let info = decode_info(&mut from)?;
                    let known = change.columns.iter().chain(versions).find(|v| v.number == info.columns);
                    let Some(columns) = known.cloned() else {
                        bail!(
                            INCORRECT_DATA,
                            "Part {} has columns of version {}, which is not known",
                            info.name(),
                            info.columns
                        )
                    };
                    let columns = columns.with_blocks(info.blocks);
                    let data = match kind {
                        ADDED_ROWS => PartData::Resident(decode_rows(&mut from, &columns, info.rows)?),
                        _ => {
                            let Some(folder) = folder else {
                                bail!(LOGICAL_ERROR, "A table in memory has no files")
                            };
                            let checksums = Arc::new(Checksums::decode(&mut from)?);
                            PartData::File(super::part_file::path_of(folder, info.number), checksums)
                        }
                    };
                    change.added.push(Arc::new(Part::new(info, columns, data, folder.cloned())));
                }
                PROJECTED => change.projected.push((from.var_uint()?, from.var_uint()?)),
                UNPROJECTED => change.unprojected.push((from.var_uint()?, from.var_uint()?)),
                DETACHED => change.detached.push(from.var_uint()?),
                DROPPED_DETACHED => change.dropped_detached.push(from.var_uint()?),
                MOVE => change.is_move = true,
                TOKEN_OF_INSERT => _ = from.var_uint()?,
                TOKEN => change.tokens.push(Token {
                    hash: from.var_uint()?,
                    partition: from.text()?.into(),
                    block: from.var_uint()?,
                }),
                other => bail!(INCORRECT_DATA, "A change of an unknown kind: {other}"),
            }
        }
        Ok(change)
    }
}

fn encode_info(info: &PartInfo, out: &mut Vec<u8>) {
    put_text(out, &info.partition.id);
    put_text(out, &info.partition.shown);
    let numbers = [
        info.number,
        info.min_block,
        info.max_block,
        // With what it keeps of the blocks of its rows above the level.
        u64::from(info.level) | info.blocks.bits() << 32,
        info.mutation,
        info.rows,
        info.bytes,
        info.raw_bytes,
        info.columns.into(),
        info.modified.into(),
    ];
    numbers.into_iter().for_each(|number| put_var_uint(out, number));
}

fn decode_info(from: &mut Cursor<'_>) -> Result<PartInfo> {
    let (id, shown) = (from.text()?.into(), from.text()?.into());
    let mut numbers = [0; 10];
    for number in &mut numbers {
        *number = from.var_uint()?;
    }
    let [number, min_block, max_block, level, mutation, rows, bytes, raw_bytes, columns, modified] = numbers;
    ensure!(level >> 34 == 0, INCORRECT_DATA, "The level of a part is too large: {level}");
    let narrow =
        |n: u64| u32::try_from(n).map_err(|_| err!(INCORRECT_DATA, "A number of a part is too large: {n}"));
    Ok(PartInfo {
        number,
        partition: Partition { id, shown },
        min_block,
        max_block,
        level: level as u32,
        blocks: KeptBlocks::of_bits(level >> 32),
        mutation,
        rows,
        bytes,
        raw_bytes,
        columns: narrow(columns)?,
        modified: narrow(modified)?,
    })
}

pub(super) fn encode_rows(block: &Block, columns: &ColumnsVersion, out: &mut Vec<u8>) -> Result<()> {
    let mut raw = Vec::new();
    for (column, version) in block.columns().iter().zip(columns.columns.iter()) {
        write_column(&mut raw, &version.ty, column)?;
    }
    let compressed =
        lz4::pack(&raw).map_err(|e| err!(CANNOT_COMPRESS, "Cannot compress the rows of a part: {e}"))?;
    put_var_uint(out, raw.len() as u64);
    put_var_uint(out, compressed.len() as u64);
    out.extend(compressed);
    Ok(())
}

pub(super) fn decode_rows(from: &mut Cursor<'_>, columns: &ColumnsVersion, rows: u64) -> Result<Block> {
    /// LZ4 does not compress better than this.
    const MOST: u64 = 256;
    let raw = from.var_uint()?;
    let compressed = from.var_uint()?;
    ensure!(raw / MOST <= compressed, INCORRECT_DATA, "{compressed} bytes are not {raw}");
    let compressed = from.take(compressed as usize)?;
    let raw = lz4::unpack(compressed, raw as usize)
        .map_err(|e| err!(CANNOT_DECOMPRESS, "Cannot decompress the rows of a part: {e}"))?;
    let mut values = Cursor::new(&raw);
    let read = columns.columns.iter().map(|column| read_column(&mut values, &column.ty, rows as usize));
    let read = read.collect::<Result<Vec<_>>>()?;
    ensure!(
        values.rest.is_empty(),
        INCORRECT_DATA,
        "Behind the rows of a part there are {} bytes",
        values.rest.len()
    );
    Ok(Block::new(read, rows as usize))
}
