//! The file of records in which a table keeps its changes.
//!
//! ```text
//! file    = header record*
//! header  = "chaletJ1" id committed checksum zeros       64 bytes; rewritten in place after each write
//! record  = length checksum bytes                        8 bytes each, then as many as `length` says
//! ```
//!
//! Behind the last record there may be zeros: room for the next ones, so that a write does not make the file longer, which the
//! disk would have to note too. All numbers are little-endian, with 8 bytes; checksums are XXH3 with 64 bits, of what precedes in the header, and of the
//! bytes of a record with `id` and the place of the record mixed in. A record is acknowledged when it is on disk; only then,
//! and without waiting for the disk, `committed` becomes the length of the file. So what is behind it is whole, or the
//! beginning of a record that nobody was told of; what is amiss before it is damage. A journal that has become long for what it
//! still says is written anew, under another `id`, and takes the place of the old one.

use crate::disk::TableFolder;
use crate::disk::durable::{cannot_open, cannot_read, cannot_write, next_of, take_next};
use crate::disk::fs::{self, Access, File};
use chalet_base::{Result, bail, ensure, err};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const MAGIC: &[u8; 8] = b"chaletJ1";
const HEADER: u64 = 64;
const HEAD: usize = 16;
const NAME: &str = "journal";
/// Bytes of room that are made at once.
const ROOM: u64 = 1 << 16;

/// How often a header is read that another process is just writing.
const ATTEMPTS: usize = 10;

/// The journal of a table.
pub(super) struct Journal {
    folder: Arc<TableFolder>,
    path: PathBuf,
    file: File,
    id: u64,
    end: u64,
    /// How far the file has room.
    allocated: u64,
}

/// What was found in a journal.
pub(super) struct Found {
    /// The bytes of each record.
    pub records: Vec<Vec<u8>>,
    /// Bytes behind the last whole record.
    pub dropped: u64,
}

impl Journal {
    /// A new journal with one record.
    pub fn create(folder: Arc<TableFolder>, first: &[u8]) -> Result<Journal> {
        let path = folder.path().join(NAME);
        Journal::write_new(folder, path, first)
    }

    fn write_new(folder: Arc<TableFolder>, path: PathBuf, first: &[u8]) -> Result<Journal> {
        let next = next_of(&path);
        let id = new_id();
        let written = (|| {
            let file = File::open(&next, Access::Create)?;
            let record = record(first, id, HEADER);
            let end = HEADER + record.len() as u64;
            file.write_all_at(&header(id, end), 0)?;
            file.write_all_at(&record, HEADER)?;
            file.sync_all()?;
            Ok((file, end))
        })();
        let (file, end) = written.map_err(|e| cannot_write(&next, &e)).inspect_err(|_| {
            let _ = fs::remove_file(&next);
        })?;
        take_next(&path).inspect_err(|_| folder.lose())?;
        Ok(Journal { folder, path, file, id, end, allocated: end })
    }

    /// Opens the journal of a folder to go on with it, and reads what is in it.
    pub fn open(folder: Arc<TableFolder>) -> Result<(Journal, Found)> {
        let path = folder.path().join(NAME);
        folder.settle()?;
        let _ = fs::remove_file(&next_of(&path));
        let file = File::open(&path, Access::Write).map_err(|e| cannot_open(&path, &e))?;
        let bytes = read_file(&file, &path)?;
        let head = parse_header(&bytes);
        // A header that cannot be read was damaged, unless the machine went down while it was rewritten: then all records are whole.
        let id = match head {
            Some((id, _)) => id,
            None => u64_at(&bytes, 8).ok_or_else(|| damaged(&path, "its header cannot be read"))?,
        };
        let (records, end) = walk(&bytes, HEADER, id);
        let len = bytes.len() as u64;
        match head {
            Some((_, committed)) => ensure!(
                end >= committed,
                CHECKSUM_DOESNT_MATCH,
                "The file {} is damaged: the record at byte {end} cannot be read",
                path.display()
            ),
            None => ensure!(
                bytes[end as usize..].iter().all(|&byte| byte == 0),
                CHECKSUM_DOESNT_MATCH,
                "The file {} is damaged: its header cannot be read",
                path.display()
            ),
        }
        let rest = &bytes[end as usize..];
        let dropped = rest.iter().rposition(|&byte| byte != 0).map_or(0, |last| last as u64 + 1);
        // Records that were not acknowledged may not be on disk yet, and what they say is done from now on.
        let is_settled = head.is_some_and(|(_, committed)| committed == end) && dropped == 0;
        if !is_settled {
            let settle = || {
                file.set_len(end)?;
                file.sync_all()?;
                file.write_all_at(&header(id, end), 0)?;
                file.sync_all()
            };
            settle().map_err(|e| cannot_write(&path, &e))?;
        }
        let records = records.into_iter().map(|range| bytes[range].to_vec()).collect();
        let allocated = if is_settled { len } else { end };
        Ok((Journal { folder, path, file, id, end, allocated }, Found { records, dropped }))
    }

    /// Bytes so far.
    pub fn len(&self) -> u64 {
        self.end
    }

    /// Appends records. When this returns they are on disk, all of them or none.
    pub fn append(&mut self, records: &[Vec<u8>]) -> Result<()> {
        self.folder.check_writable()?;
        let mut bytes = Vec::new();
        for one in records {
            let at = self.end + bytes.len() as u64;
            bytes.extend(record(one, self.id, at));
        }
        self.make_room(bytes.len() as u64)?;
        if let Err(error) = self.file.write_all_at(&bytes, self.end) {
            match self.file.set_len(self.end) {
                Ok(()) => self.allocated = self.end,
                Err(_) => self.folder.lose(),
            }
            return Err(cannot_write(&self.path, &error));
        }
        if let Err(error) = self.file.sync_data() {
            // Whether the bytes are on disk is not known, nor would the next attempt tell.
            self.folder.lose();
            let _ = self.file.set_len(self.end);
            return Err(err!(CANNOT_FSYNC, "Cannot fsync {}: {error}", self.path.display()));
        }
        self.end += bytes.len() as u64;
        // The records are there without it: whoever opens the file finds them.
        let _ = self.file.write_all_at(&header(self.id, self.end), 0);
        Ok(())
    }

    /// Makes the file long enough for so many bytes more.
    fn make_room(&mut self, len: u64) -> Result<()> {
        if self.end + len <= self.allocated {
            return Ok(());
        }
        let allocated = self.end + len + ROOM;
        let zeros = vec![0; (allocated - self.allocated) as usize];
        let grow = self.file.write_all_at(&zeros, self.allocated).and_then(|()| self.file.sync_all());
        // Where there is no room for more, there may be enough for the record.
        match grow {
            Ok(()) => self.allocated = allocated,
            Err(_) => self.file.set_len(self.allocated).map_err(|e| cannot_write(&self.path, &e))?,
        }
        Ok(())
    }

    /// Puts a journal with this one record in the place of this one.
    pub fn replace(&mut self, content: &[u8]) -> Result<()> {
        self.folder.check_writable()?;
        *self = Journal::write_new(self.folder.clone(), self.path.clone(), content)?;
        Ok(())
    }
}

/// The journal of a table that another process may be writing.
#[derive(Default)]
pub(super) struct Follower {
    id: u64,
    end: u64,
}

/// What a follower has found.
pub(super) struct News {
    /// The records are of another journal than before.
    pub is_anew: bool,
    /// Acknowledged, behind those that it knew.
    pub records: Vec<Vec<u8>>,
    /// Records behind these that are about to be acknowledged, or had no time to. They may still go again.
    pub tentative: Vec<Vec<u8>>,
}

impl Follower {
    /// What was written since this was asked last.
    pub fn read(&mut self, folder: &TableFolder) -> Result<News> {
        let path = folder.path().join(NAME);
        let file = File::open(&path, Access::Read).map_err(|e| cannot_open(&path, &e))?;
        let mut head = None;
        for _ in 0..ATTEMPTS {
            let bytes = file.read_vec(0, HEADER as usize).map_err(|e| cannot_read(&path, &e))?;
            head = parse_header(&bytes);
            if head.is_some() {
                break;
            }
        }
        let Some((id, committed)) = head else { return Err(damaged(&path, "its header cannot be read")) };
        let is_known = id == self.id && self.end <= committed;
        let start = if is_known { self.end } else { HEADER };
        let len = file.metadata().map_err(|e| cannot_read(&path, &e))?.len();
        let bytes =
            file.read_vec(start, len.saturating_sub(start) as usize).map_err(|e| cannot_read(&path, &e))?;
        let (ranges, end) = walk_from(&bytes, start, id);
        ensure!(
            end >= committed,
            CHECKSUM_DOESNT_MATCH,
            "The file {} is damaged: the record at byte {end} cannot be read",
            path.display()
        );
        let (mut records, mut tentative) = (Vec::new(), Vec::new());
        for range in ranges {
            let is_acknowledged = start + range.end as u64 <= committed;
            if is_acknowledged { &mut records } else { &mut tentative }.push(bytes[range].to_vec());
        }
        (self.id, self.end) = (id, committed);
        Ok(News { is_anew: !is_known, records, tentative })
    }
}

fn read_file(file: &File, path: &Path) -> Result<Vec<u8>> {
    let len = file.metadata().map_err(|e| cannot_read(path, &e))?.len();
    if len < HEADER {
        bail!(CHECKSUM_DOESNT_MATCH, "The file {} is damaged: it is shorter than its header", path.display());
    }
    file.read_vec(0, len as usize).map_err(|e| cannot_read(path, &e))
}

#[cold]
fn damaged(path: &Path, how: &str) -> chalet_base::Error {
    err!(CHECKSUM_DOESNT_MATCH, "The file {} is damaged: {how}", path.display())
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn header(id: u64, committed: u64) -> [u8; HEADER as usize] {
    let mut out = [0; HEADER as usize];
    out[..8].copy_from_slice(MAGIC);
    out[8..16].copy_from_slice(&id.to_le_bytes());
    out[16..24].copy_from_slice(&committed.to_le_bytes());
    let checksum = xxh3_64(&out[..24]);
    out[24..32].copy_from_slice(&checksum.to_le_bytes());
    out
}

/// `id` and `committed`.
fn parse_header(bytes: &[u8]) -> Option<(u64, u64)> {
    let is_whole = bytes.get(..8)? == MAGIC && u64_at(bytes, 24)? == xxh3_64(&bytes[..24]);
    is_whole.then_some((u64_at(bytes, 8)?, u64_at(bytes, 16)?))
}

fn checksum(bytes: &[u8], id: u64, at: u64) -> u64 {
    xxh3_64_with_seed(bytes, id ^ at.rotate_left(32) ^ bytes.len() as u64)
}

fn record(bytes: &[u8], id: u64, at: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD + bytes.len());
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(checksum(bytes, id, at).to_le_bytes());
    out.extend_from_slice(bytes);
    out
}

/// The bytes of the whole records from a place on, and where they end.
fn walk(bytes: &[u8], start: u64, id: u64) -> (Vec<std::ops::Range<usize>>, u64) {
    let (ranges, end) = walk_from(&bytes[start as usize..], start, id);
    (ranges.into_iter().map(|r| r.start + start as usize..r.end + start as usize).collect(), end)
}

/// The same of bytes that begin at that place of the file.
fn walk_from(bytes: &[u8], start: u64, id: u64) -> (Vec<std::ops::Range<usize>>, u64) {
    let mut ranges = Vec::new();
    let mut at = 0;
    while let (Some(len), Some(expected)) = (u64_at(bytes, at), u64_at(bytes, at + 8)) {
        let body = at + HEAD;
        let Some(end) = usize::try_from(len).ok().and_then(|len| body.checked_add(len)) else { break };
        let Some(found) = bytes.get(body..end) else { break };
        if checksum(found, id, start + at as u64) != expected {
            break;
        }
        ranges.push(body..end);
        at = end;
    }
    (ranges, start + at as u64)
}

fn new_id() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    xxh3_64(&[since.as_nanos().to_le_bytes(), u128::from(std::process::id()).to_le_bytes()].concat())
}
