//! The rows of a projection of one part on disk: a file of its own, written last, and beside it the rows where they are many.
//!
//! ```text
//! magic (8), XXH3 of all that follows (8), checksum of the part's own file (8), identity, rows of the part, number of this
//! attempt, rows, bytes, bytes in memory, 0 and the rows, or 1 and the checksums of `<part>.<key>.<attempt>.prj.parquet`
//! ```

use super::super::change::{decode_rows, encode_rows};
use super::super::checksums::Checksums;
use super::super::columns::{KeptBlocks, put_text};
use super::super::part::{Part, PartData, PartInfo};
use super::super::skip_index::Of;
use super::ProjectionDefinition;
use crate::disk::TableFolder;
use crate::disk::durable::cannot_write;
use crate::disk::fs::{self, Access, File};
use crate::mapped::mapped;
use chalet_base::{Result, bail, ensure};
use chalet_formats::binary::{Cursor, put_var_uint};
use std::path::PathBuf;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"CHPROJ\0\x01";
/// Of the names of these files.
const SUFFIX: &str = ".prj";
/// Of those that are being written.
const NEW: &str = "prj_new";
/// Of files of rows.
const ROWS: &str = ".prj.parquet";

const ROWS_INSIDE: u64 = 0;
const ROWS_BESIDE: u64 = 1;

pub fn file_name(part: u64, key: u64) -> String {
    format!("{part}.{key:016x}{SUFFIX}")
}

/// The file of the rows.
pub fn rows_path(folder: &TableFolder, part: u64, key: u64, attempt: u64) -> PathBuf {
    folder.path().join(format!("{part}.{key:016x}.{attempt}{ROWS}"))
}

/// Is it the name of a file that was never finished?
pub fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(NEW).is_some_and(|rest| rest.ends_with('.'))
}

/// The part and the key that a name is of.
pub fn parse_file_name(name: &str) -> Option<(u64, u64)> {
    let (part, key) = name.strip_suffix(SUFFIX)?.split_once('.')?;
    Some((part.parse().ok()?, u64::from_str_radix(key, 16).ok()?))
}

/// The part, the key and the attempt that a file of rows is of.
pub fn parse_rows_name(name: &str) -> Option<(u64, u64, u64)> {
    let mut fields = name.strip_suffix(ROWS)?.split('.');
    let (part, key, attempt) = (fields.next()?, fields.next()?, fields.next()?);
    Some((part.parse().ok()?, u64::from_str_radix(key, 16).ok()?, attempt.parse().ok()?))
}

/// Puts the rows that a part has of a projection on disk, those beside it being there.
pub fn write(
    folder: &TableFolder,
    of: Of,
    projection: &ProjectionDefinition,
    made: &Part,
    attempt: u64,
) -> Result<()> {
    let mut body = Vec::with_capacity(256);
    body.extend(of.checksum.to_le_bytes());
    put_text(&mut body, &projection.identity);
    for number in [of.rows, attempt, made.info.rows, made.info.bytes, made.info.raw_bytes] {
        put_var_uint(&mut body, number);
    }
    match &made.data {
        PartData::Resident(block) => {
            put_var_uint(&mut body, ROWS_INSIDE);
            encode_rows(block, &made.columns, &mut body)?;
        }
        PartData::File(_, checksums) => {
            put_var_uint(&mut body, ROWS_BESIDE);
            checksums.encode(&mut body);
        }
    }
    let path = folder.path().join(file_name(of.number, projection.key()));
    let temporary = path.with_extension(NEW);
    let written = || -> std::io::Result<()> {
        let file = File::open(&temporary, Access::Create)?;
        file.write_all_at(&[&MAGIC[..], &xxh3_64(&body).to_le_bytes()[..], &body].concat(), 0)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    written().map_err(|e| {
        let _ = fs::remove_file(&temporary);
        cannot_write(&path, &e)
    })
}

/// What a part has of a projection on disk, if it is whole and of this part.
pub fn load(
    folder: &Arc<TableFolder>,
    of: Of,
    projection: &ProjectionDefinition,
    parent: &PartInfo,
) -> Option<Arc<Part>> {
    let path = folder.path().join(file_name(of.number, projection.key()));
    let bytes = mapped(&path, &File::open(&path, Access::Read).ok()?).ok()?.into_bytes().ok()?;
    let sum = u64::from_le_bytes(*bytes.get(8..)?.first_chunk()?);
    let is_whole = bytes.get(..8)? == MAGIC && sum == xxh3_64(&bytes[16..]);
    let is_of_part = of.checksum == u64::from_le_bytes(*bytes.get(16..)?.first_chunk()?);
    if !is_whole || !is_of_part {
        return None;
    }
    decode(bytes.get(24..)?, folder, of, projection, parent).ok()
}

fn decode(
    bytes: &[u8],
    folder: &Arc<TableFolder>,
    of: Of,
    projection: &ProjectionDefinition,
    parent: &PartInfo,
) -> Result<Arc<Part>> {
    let mut from = Cursor::new(bytes);
    ensure!(from.text()? == &*projection.identity, INCORRECT_DATA, "The projection is another one");
    let mut numbers = [0; 5];
    for number in &mut numbers {
        *number = from.var_uint()?;
    }
    let [rows_of_part, attempt, rows, bytes, raw_bytes] = numbers;
    ensure!(rows_of_part == of.rows, INCORRECT_DATA, "The projection is of other rows");
    let columns = projection.definition.columns.clone();
    let data = match from.var_uint()? {
        ROWS_INSIDE => PartData::Resident(decode_rows(&mut from, &columns, rows)?),
        ROWS_BESIDE => {
            let path = rows_path(folder, of.number, projection.key(), attempt);
            ensure!(path.exists(), FILE_DOESNT_EXIST, "The rows of a projection are missing");
            PartData::File(path, Arc::new(Checksums::decode(&mut from)?))
        }
        other => bail!(INCORRECT_DATA, "Rows of a projection of an unknown kind: {other}"),
    };
    let info = PartInfo {
        rows,
        bytes,
        raw_bytes,
        columns: columns.number,
        blocks: KeptBlocks::default(),
        ..parent.clone()
    };
    Ok(Arc::new(Part::of_projection(info, columns, data, Some(folder.clone()), projection.sorted_by)))
}
