//! Frames to blocks. Workers take runs of frames; of large frames they read only the columns that are asked for.

use super::file::Snapshot;
use super::layout::{Head, StoredColumn, head_len};
use super::walk::Frame;
use crate::disk::durable::cannot_read;
use crate::scan::{ScanContext, TaskQueue};
use crate::{Morsel, Scan, ScanWorker};
use chalet_base::events::{Event, add, count};
use chalet_base::{Result, bail, ensure, err, lz4};
use chalet_columns::{Block, Column, Vector};
use chalet_formats::binary::Cursor;
use chalet_formats::native::read_column;
use chalet_types::DataType;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xxhash_rust::xxh3::xxh3_64;

/// Frames are put together until they have so many rows. One INSERT of a row makes a frame of its own.
const TASK_ROWS: u64 = 1 << 16;
/// Neighbouring frames of no more bytes than this are read at once, with the columns that nobody needs.
const SMALL: u64 = 1 << 16;

/// A scan of some columns of a snapshot, frame by frame.
pub struct LogScan {
    shared: Arc<Shared>,
}

struct Shared {
    snapshot: Snapshot,
    types: Vec<DataType>,
    /// Positions among the stored columns.
    columns: Vec<usize>,
    /// Runs of frames.
    tasks: Vec<Range<usize>>,
    queue: TaskQueue,
    context: ScanContext,
}

impl LogScan {
    /// A scan of the columns at these positions among `types`, those of all stored columns.
    pub fn new(
        snapshot: Snapshot,
        types: Vec<DataType>,
        columns: Vec<usize>,
        context: &ScanContext,
    ) -> LogScan {
        count(Event::FileOpen);
        let mut tasks: Vec<Range<usize>> = Vec::new();
        let mut rows = TASK_ROWS;
        for (i, frame) in snapshot.frames.iter().enumerate() {
            match tasks.last_mut() {
                Some(task) if rows + frame.n_rows <= TASK_ROWS => task.end = i + 1,
                _ => {
                    tasks.push(i..i + 1);
                    rows = 0;
                }
            }
            rows += frame.n_rows;
        }
        let (queue, context) = (TaskQueue::default(), context.clone());
        LogScan { shared: Arc::new(Shared { snapshot, types, columns, tasks, queue, context }) }
    }
}

impl Scan for LogScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { shared: self.shared.clone(), current: None }))
    }

    fn parallelism(&self) -> usize {
        self.shared.tasks.len()
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.shared.snapshot.n_rows)
    }
}

struct Worker {
    shared: Arc<Shared>,
    /// Rows of a task, how many of them have been given, task and number of the next morsel.
    current: Option<(Block, usize, u32, u32)>,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            let (block, start, task, number) = match self.current.take() {
                Some(current) => current,
                None => match self.shared.queue.take(self.shared.tasks.len()) {
                    Some(task) => (self.shared.read(self.shared.tasks[task].clone())?, 0, task as u32, 0),
                    None => return Ok(None),
                },
            };
            let len = (block.n_rows() - start).min(self.shared.context.max_block_size.max(1));
            if len == 0 {
                continue;
            }
            let whole = len == block.n_rows();
            let morsel = if whole { block.clone() } else { block.slice(start, len) };
            self.current = Some((block, start + len, task, number + 1));
            return Ok(Some(Morsel { block: morsel, task, number }));
        }
    }
}

impl Shared {
    /// The rows of a run of frames.
    fn read(&self, frames: Range<usize>) -> Result<Block> {
        let frames = &self.snapshot.frames[frames];
        let mut blocks = Vec::with_capacity(frames.len());
        let mut rest = frames;
        while let [first, ..] = rest {
            let small = rest.iter().take_while(|frame| frame.end - first.offset <= SMALL).count();
            let (now, later) = rest.split_at(small.max(1));
            rest = later;
            if small > 0 || self.columns.len() == self.types.len() {
                let end = now.last().map_or(first.end, |frame| frame.end);
                let bytes = self.bytes(first.offset..end)?;
                for frame in now {
                    let range = (frame.offset - first.offset) as usize..(frame.end - first.offset) as usize;
                    blocks.push(self.frame(frame, &bytes[range])?);
                }
            } else {
                blocks.push(self.columns_of(first)?);
            }
        }
        Ok(Block::concat(&blocks))
    }

    /// A frame of which all bytes were read.
    fn frame(&self, frame: &Frame, bytes: &[u8]) -> Result<Block> {
        let head = self.head(frame, bytes)?;
        let columns = self.columns.iter().map(|&column| {
            let range = place(&head, column);
            let range = range.start as usize..range.end as usize;
            self.column(frame, &head, column, &bytes[range])
        });
        Ok(Block::new(columns.collect::<Result<_>>()?, frame.n_rows as usize))
    }

    /// The same of a frame of which nothing was read.
    fn columns_of(&self, frame: &Frame) -> Result<Block> {
        let head = self.bytes(frame.offset..frame.offset + head_len(self.types.len()) as u64)?;
        let head = self.head(frame, &head)?;
        let columns = self.columns.iter().map(|&column| {
            let range = place(&head, column);
            let bytes = self.bytes(frame.offset + range.start..frame.offset + range.end)?;
            self.column(frame, &head, column, &bytes)
        });
        Ok(Block::new(columns.collect::<Result<_>>()?, frame.n_rows as usize))
    }

    fn bytes(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let len = range.end - range.start;
        let bytes = self.snapshot.file.read_vec(range.start, len as usize);
        self.context.progress.file_bytes.fetch_add(len, Relaxed);
        add(Event::ReadBufferFromFileDescriptorReadBytes, len);
        bytes.map_err(|e| cannot_read(&self.snapshot.path, &e))
    }

    fn head(&self, frame: &Frame, bytes: &[u8]) -> Result<Head> {
        match Head::decode(bytes, self.types.len()) {
            Some(head) if head.n_rows == frame.n_rows && head.frame_len() == frame.end - frame.offset => {
                Ok(head)
            }
            _ => bail!(
                CHECKSUM_DOESNT_MATCH,
                "The file {} is damaged: the frame at byte {} cannot be read",
                self.snapshot.path.display(),
                frame.offset
            ),
        }
    }

    /// The values of a column in a frame.
    fn column(&self, frame: &Frame, head: &Head, column: usize, stored: &[u8]) -> Result<Column> {
        let (ty, StoredColumn { raw, checksum, .. }) = (&self.types[column], head.columns[column]);
        let damaged = || {
            err!(
                CHECKSUM_DOESNT_MATCH,
                "The file {} is damaged: column {} of the frame at byte {} cannot be read",
                self.snapshot.path.display(),
                column + 1,
                frame.offset
            )
        };
        ensure!(
            xxh3_64(stored) == checksum,
            CHECKSUM_DOESNT_MATCH,
            "Checksum doesn't match: the file {} is damaged in column {} of the frame at byte {}",
            self.snapshot.path.display(),
            column + 1,
            frame.offset
        );
        let n_rows = frame.n_rows as usize;
        if n_rows == 0 {
            return Ok(Vector::defaults(ty, 0).into());
        }
        let unpacked;
        let values = if raw as usize == stored.len() {
            stored
        } else {
            unpacked = lz4::unpack(stored, raw as usize).map_err(|_| damaged())?;
            &unpacked
        };
        let mut cursor = Cursor::new(values);
        let read = read_column(&mut cursor, ty, n_rows).map_err(|_| damaged())?;
        ensure!(
            cursor.rest.is_empty() && read.len() == n_rows,
            CHECKSUM_DOESNT_MATCH,
            "The file {} is damaged: column {} has other values than {ty}",
            self.snapshot.path.display(),
            column + 1
        );
        Ok(read)
    }
}

/// Where the bytes of a column are, from the begin of the frame on.
fn place(head: &Head, column: usize) -> Range<u64> {
    let before: u64 = head.columns[..column].iter().map(|column| u64::from(column.stored)).sum();
    let start = head_len(head.columns.len()) as u64 + before;
    start..start + u64::from(head.columns[column].stored)
}
