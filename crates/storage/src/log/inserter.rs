//! One INSERT: rows are gathered, encoded, and appended to the file at once when all are there.
//!
//! Memory: frames of 32 MiB at most, compressed; further ones wait in a file beside the table's.

use super::encode::{Encoded, encode};
use super::file::{Content, LogFile};
use crate::Inserter;
use crate::disk::durable::cannot_write;
use crate::disk::fs::{self, Access, File};
use chalet_base::{Result, bail};
use chalet_columns::Block;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A frame is cut when it has so many rows, or so many bytes in memory.
const FRAME_ROWS: usize = 1 << 16;
const FRAME_BYTES: usize = 1 << 24;
/// More bytes of frames than this are spilled to a file.
const MOST_BYTES_IN_MEMORY: usize = 1 << 25;
/// Bytes.
const COPIED_AT_ONCE: u64 = 1 << 20;

/// One INSERT: cuts the rows into frames, and appends them all when it finishes.
pub struct LogInserter {
    log: Arc<LogFile>,
    /// What the rows take the place of.
    over: Option<Content>,
    /// Rows of the next frame.
    gathered: Vec<Block>,
    gathered_rows: usize,
    gathered_bytes: usize,
    pending: Pending,
}

/// The frames of an INSERT.
#[derive(Default)]
pub struct Pending {
    /// Those that come first.
    pub spill_file: Option<SpillFile>,
    /// The last of them is the last of the INSERT.
    pub frames: Vec<Encoded>,
    pub n_rows: u64,
}

/// A file of frames that wait for the others.
pub struct SpillFile {
    file: File,
    path: PathBuf,
    len: u64,
    /// Where the frames are, for the table.
    pub frames: Vec<(u64, u64)>,
}

impl LogInserter {
    /// An inserter that appends to the file, or puts its rows in the place of the content `over`.
    pub fn new(log: Arc<LogFile>, over: Option<Content>) -> LogInserter {
        let pending = Pending::default();
        LogInserter { log, over, gathered: Vec::new(), gathered_rows: 0, gathered_bytes: 0, pending }
    }

    fn cut_frame(&mut self) -> Result<()> {
        let blocks = std::mem::take(&mut self.gathered);
        (self.gathered_rows, self.gathered_bytes) = (0, 0);
        if !blocks.is_empty() {
            encode(&Block::concat(&blocks), self.log.types(), &mut self.pending.frames)?;
        }
        Ok(())
    }
}

impl Inserter for LogInserter {
    fn write(&mut self, block: Block) -> Result<()> {
        let mut start = 0;
        while start < block.n_rows() {
            let len = (block.n_rows() - start).min(FRAME_ROWS);
            let piece = if len == block.n_rows() { block.clone() } else { block.slice(start, len) };
            start += len;
            self.pending.n_rows += len as u64;
            self.gathered_rows += len;
            self.gathered_bytes += piece.memory();
            self.gathered.push(piece);
            if self.gathered_rows >= FRAME_ROWS || self.gathered_bytes >= FRAME_BYTES {
                self.cut_frame()?;
            }
        }
        let in_memory: usize = self.pending.frames.iter().map(|frame| frame.body.len()).sum();
        if in_memory > MOST_BYTES_IN_MEMORY {
            self.pending.spill_frames(&self.log)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.cut_frame()?;
        if self.pending.frames.is_empty() {
            return Ok(());
        }
        match self.over {
            None => self.log.append(self.pending),
            Some(over) => self.log.replace(self.pending, over),
        }
    }
}

impl Pending {
    /// Writes all frames but the last, which may be the last of all.
    fn spill_frames(&mut self, log: &LogFile) -> Result<()> {
        log.folder().check_writable()?;
        let spill_file = match &mut self.spill_file {
            Some(spill_file) => spill_file,
            None => self.spill_file.insert(SpillFile::create(log)?),
        };
        let Some(last) = self.frames.pop() else { bail!(LOGICAL_ERROR, "There is no frame to keep") };
        let mut bytes = Vec::new();
        for frame in std::mem::replace(&mut self.frames, vec![last]) {
            let (start, n_rows) = (bytes.len(), frame.n_rows);
            frame.write(false, &mut bytes);
            spill_file.frames.push(((bytes.len() - start) as u64, n_rows));
        }
        spill_file.append(&bytes)
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl SpillFile {
    fn create(log: &LogFile) -> Result<SpillFile> {
        let path = log.folder().path().join(format!("insert-{}.new", NEXT.fetch_add(1, Relaxed)));
        let file = File::open(&path, Access::CreateNew).map_err(|e| cannot_write(&path, &e))?;
        Ok(SpillFile { file, path, len: 0, frames: Vec::new() })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(bytes, self.len).map_err(|e| cannot_write(&self.path, &e))?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Copies all of it to an offset of another file; returns how many bytes these are.
    pub fn copy(&self, to: &File, offset: u64) -> io::Result<u64> {
        let mut at = 0;
        while at < self.len {
            let bytes = self.file.read_vec(at, COPIED_AT_ONCE.min(self.len - at) as usize)?;
            to.write_all_at(&bytes, offset + at)?;
            at += bytes.len() as u64;
        }
        Ok(self.len)
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // What stays is removed when the table is opened again.
        let _ = fs::remove_file(&self.path);
    }
}
