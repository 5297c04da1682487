//! From head to head through a file.

use super::layout::{Head, head_len};
use crate::disk::fs::File;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// Where a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub offset: u64,
    pub end: u64,
    pub n_rows: u64,
}

/// What was found on a walk.
#[derive(Default)]
pub struct Walked {
    /// Frames of whole INSERTs.
    pub frames: Vec<Frame>,
    /// Where the last of them ends.
    pub end: u64,
    pub n_rows: u64,
}

/// Many heads are read at once where frames are small. Bytes.
const WINDOW: u64 = 1 << 16;

/// Frames in a range of a file, as far as they belong to INSERTs that are whole.
///
/// `check_columns`: a frame counts only when the checksums of its columns match.
pub fn walk(file: &File, from: u64, to: u64, n_columns: usize, check_columns: bool) -> io::Result<Walked> {
    let mut walked = Walked { end: from, ..Walked::default() };
    let mut window = Window { file, to, start: 0, bytes: Vec::new() };
    // Of the INSERT whose last frame has not come yet.
    let (mut frames, mut n_rows) = (Vec::new(), 0);
    let mut at = from;
    while let Some(bytes) = window.get(at, head_len(n_columns))? {
        let Some(head) = Head::decode(bytes, n_columns) else { break };
        let end = at + head.frame_len();
        if end > to || (check_columns && !are_columns_whole(&mut window, at, &head)?) {
            break;
        }
        frames.push(Frame { offset: at, end, n_rows: head.n_rows });
        n_rows += head.n_rows;
        at = end;
        if head.is_last {
            walked.frames.append(&mut frames);
            walked.n_rows += std::mem::take(&mut n_rows);
            walked.end = at;
        }
    }
    Ok(walked)
}

fn are_columns_whole(window: &mut Window, frame: u64, head: &Head) -> io::Result<bool> {
    let mut at = frame + head_len(head.columns.len()) as u64;
    for column in &head.columns {
        match window.get(at, column.stored as usize)? {
            Some(bytes) if xxh3_64(bytes) == column.checksum => {}
            _ => return Ok(false),
        }
        at += u64::from(column.stored);
    }
    Ok(true)
}

/// A part of the file in memory.
struct Window<'a> {
    file: &'a File,
    /// Nothing is read from here on.
    to: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// `None` where the file has not so many bytes.
    fn get(&mut self, offset: u64, len: usize) -> io::Result<Option<&[u8]>> {
        let end = offset + len as u64;
        if end > self.to {
            return Ok(None);
        }
        if offset < self.start || end > self.start + self.bytes.len() as u64 {
            let wanted = WINDOW.max(len as u64).min(self.to - offset);
            self.bytes = self.file.read_vec(offset, wanted as usize)?;
            self.start = offset;
        }
        let start = (offset - self.start) as usize;
        Ok(self.bytes.get(start..start + len))
    }
}
