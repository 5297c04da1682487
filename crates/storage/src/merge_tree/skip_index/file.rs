//! Granules of an index as a file of its own, written once.
//!
//! ```text
//! magic (8), XXH3 of all that follows (8), checksum of the part's own file (8), identity, rows of the part,
//! rows of a granule, granules, and those as their kind has them
//! ```

use super::definition::{SkipCondition, SkipIndexProgram};
use super::filter::Filters;
use super::granules::Granules;
use super::kind::SkipIndexKind;
use super::minmax::MinMax;
use super::sets::Sets;
use crate::disk::TableFolder;
use crate::disk::durable::cannot_write;
use crate::disk::fs::{self, Access, File};
use crate::mapped::mapped;
use crate::merge_tree::columns::put_text;
use chalet_base::{Result, ensure, err};
use chalet_formats::Buffer;
use chalet_formats::binary::{Cursor, put_var_uint};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"CHSKIP\0\x01";
/// Of the names of index files.
const SUFFIX: &str = ".idx";
/// Of those that are being written.
const NEW: &str = "idx_new";

/// The name of the file of an index of a part.
pub fn file_name(part: u64, key: u64) -> String {
    format!("{part}.{key:016x}{SUFFIX}")
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

/// Of what part an index is.
#[derive(Clone, Copy)]
pub struct Of {
    pub number: u64,
    pub rows: u64,
    /// The checksum of the checksums of its file.
    pub checksum: u64,
}

/// Puts the index of a part on disk, as a whole.
pub fn write(
    folder: &TableFolder,
    of: Of,
    program: &SkipIndexProgram,
    n_granules: usize,
    granules: &[u8],
) -> Result<()> {
    let mut body = Vec::with_capacity(granules.len() + 256);
    body.extend(of.checksum.to_le_bytes());
    put_text(&mut body, &program.identity);
    put_var_uint(&mut body, of.rows);
    put_var_uint(&mut body, program.granule_rows as u64);
    put_var_uint(&mut body, n_granules as u64);
    body.extend(granules);
    let path = folder.path().join(file_name(of.number, program.key()));
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

/// The bytes of the index of a part, if there is one, and it is whole and of this part.
pub fn load(folder: &TableFolder, of: Of, key: u64) -> Option<Buffer> {
    let path = folder.path().join(file_name(of.number, key));
    let bytes = mapped(&path, &File::open(&path, Access::Read).ok()?).ok()?.into_bytes().ok()?;
    let sum = u64::from_le_bytes(*bytes.get(8..)?.first_chunk()?);
    let is_whole = bytes.get(..8)? == MAGIC && sum == xxh3_64(&bytes[16..]);
    let is_of_part = of.checksum == u64::from_le_bytes(*bytes.get(16..)?.first_chunk()?);
    (is_whole && is_of_part).then_some(bytes)
}

/// The granules of an index for a condition, and how many rows each has.
pub fn decode(bytes: &Buffer, of: Of, condition: &SkipCondition) -> Result<(Granules, usize)> {
    let mut from = Cursor::new(bytes.get(24..).unwrap_or(&[]));
    ensure!(from.text()? == &*condition.identity, INCORRECT_DATA, "The index is another one");
    let (rows, granule_rows, n_granules) = (from.var_uint()?, from.var_uint()?, from.var_uint()?);
    let is_sound = rows == of.rows && granule_rows > 0 && n_granules == rows.div_ceil(granule_rows);
    ensure!(is_sound, INCORRECT_DATA, "The index is of other rows");
    let narrow = |n: u64| usize::try_from(n).map_err(|_| err!(INCORRECT_DATA, "The index is too large: {n}"));
    let (granule_rows, n_granules) = (narrow(granule_rows)?, narrow(n_granules)?);
    let types = &condition.types;
    let granules = match condition.kind {
        SkipIndexKind::MinMax => Granules::MinMax(MinMax::decode(&mut from, types, n_granules)?),
        SkipIndexKind::Set { .. } => Granules::Sets(Sets::decode(&mut from, types, n_granules)?),
        _ => Granules::Filters(Filters::decode(&mut from, bytes, types.len(), n_granules)?),
    };
    Ok((granules, granule_rows))
}
