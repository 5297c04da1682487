//! A temporary file of compressed pieces. It has no name, so that it is gone with the process whatever happens.

use super::Purpose;
use crate::control::QueryControl;
use chalet_base::events::{self, Event};
use chalet_base::{Error, Result, ensure, err, lz4};
use chalet_columns::Block;
use chalet_columns::raw::{is_packed, write_block};
use chalet_columns::wire::take_array;
use chalet_memory::profile;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

/// A temporary file: pieces are written one behind the other and read in any order.
pub struct TempFile {
    file: Mutex<File>,
    len: u64,
    purpose: Purpose,
    control: Arc<QueryControl>,
    /// What is written next; kept, so that it is allocated once.
    buffer: Vec<u8>,
    backoff: CompressionBackoff,
}

/// How often frames are compressed: seldom, while that wins nothing.
#[derive(Default)]
struct CompressionBackoff {
    /// Frames up to the next one that is compressed.
    skipped: u32,
    /// How many these are when the next one does not get smaller.
    penalty: u32,
}

impl CompressionBackoff {
    /// Is the next frame to be compressed?
    fn tries(&mut self) -> bool {
        self.skipped = self.skipped.saturating_sub(1);
        self.skipped == 0
    }

    /// Takes note of what compressing a frame did, of which at most so many bytes were to be left.
    fn tried(&mut self, stored: usize, most: usize) {
        let is_worth_it = stored < most;
        self.penalty = if is_worth_it { 0 } else { (2 * self.penalty).clamp(1, CompressionBackoff::MOST) };
        self.skipped = self.penalty;
    }

    const MOST: u32 = 64;
}

/// Where a piece is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    start: u64,
    stored: usize,
    /// Bytes before compression.
    raw: usize,
}

impl Place {
    /// Bytes of the piece before compression.
    pub fn bytes(&self) -> usize {
        self.raw
    }
}

/// Memory for reading one piece after another, which is not made anew for each.
#[derive(Default)]
pub struct ReadBuffers {
    stored: Vec<u8>,
    bytes: Vec<u8>,
}

/// So many first bytes of a buffer that grows where it is too short.
fn at_least(buffer: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
    &mut buffer[..len]
}

/// Bytes that are compressed together, at most.
const FRAME: usize = 16 << 20;
/// Compressing pays where at most so many of 16 parts of the bytes are left. Packed integers have many short matches: reading
/// them takes longer than a disk that is three times slower than memory.
const MOST_LEFT: usize = 14;
const MOST_OF_PACKED: usize = 6;
/// Before each frame: its bytes before and after compression, which are the same where it is not compressed.
const HEAD: usize = 8;

impl TempFile {
    /// An empty file in the system's folder for temporary files. Fails where none can be made.
    pub fn new(purpose: Purpose, control: &Arc<QueryControl>) -> Result<TempFile> {
        let file = tempfile::tempfile().map_err(|error| no_disk(purpose, &error))?;
        events::count(Event::ExternalProcessingFilesTotal);
        Ok(TempFile {
            file: Mutex::new(file),
            len: 0,
            purpose,
            control: control.clone(),
            buffer: Vec::new(),
            backoff: CompressionBackoff::default(),
        })
    }

    /// Writes the rows of a block as a piece; `bytes` is for its bytes and is used again. Fails as [`write`](Self::write) does.
    pub fn write_block(&mut self, block: &Block, bytes: &mut Vec<u8>) -> Result<Place> {
        bytes.clear();
        write_block(block, bytes);
        self.write_piece(bytes, if is_packed(block) { MOST_OF_PACKED } else { MOST_LEFT })
    }

    /// Writes a piece behind the others. Fails when the disk does or when the query has written as much as it may.
    pub fn write(&mut self, bytes: &[u8]) -> Result<Place> {
        self.write_piece(bytes, MOST_LEFT)
    }

    /// Writes a piece whose frames are compressed where that leaves at most so many of 16 parts of their bytes.
    fn write_piece(&mut self, bytes: &[u8], most_left: usize) -> Result<Place> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        for frame in bytes.chunks(FRAME) {
            compress(frame, most_left, &mut self.backoff, &mut buffer)?;
        }
        let place = Place { start: self.len, stored: buffer.len(), raw: bytes.len() };
        self.charge(buffer.len() as u64)?;
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Readers may have moved on from the end.
        let written = file.seek(SeekFrom::Start(place.start)).and_then(|_| file.write_all(&buffer));
        written.map_err(|error| no_disk(self.purpose, &error))?;
        events::add(Event::ExternalProcessingCompressedBytesTotal, place.stored as u64);
        events::add(Event::ExternalProcessingUncompressedBytesTotal, place.raw as u64);
        profile::count_spilled(place.stored as u64);
        let counters = self.purpose.counters();
        events::add(counters.compressed, place.stored as u64);
        events::add(counters.uncompressed, place.raw as u64);
        self.buffer = buffer;
        Ok(place)
    }

    /// Counts that the operator has written all that it held.
    pub fn count_part(&self) {
        events::count(self.purpose.counters().write_part);
    }

    /// What was written at a place.
    pub fn read(&self, place: &Place) -> Result<Vec<u8>> {
        let mut buffers = ReadBuffers::default();
        self.read_with(place, &mut buffers)?;
        buffers.bytes.truncate(place.raw);
        Ok(buffers.bytes)
    }

    /// As [`read`](Self::read), in buffers that were used before.
    pub fn read_with<'a>(&self, place: &Place, buffers: &'a mut ReadBuffers) -> Result<&'a [u8]> {
        let ReadBuffers { stored, bytes } = buffers;
        let stored = at_least(stored, place.stored);
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            let read = file.seek(SeekFrom::Start(place.start)).and_then(|_| file.read_exact(stored));
            read.map_err(|error| {
                let operator = self.purpose.name();
                err!(
                    CANNOT_READ_FROM_FILE_DESCRIPTOR,
                    "{operator} cannot read its temporary data back: {error}"
                )
            })?;
        }
        let mut rest = &*stored;
        let bytes = at_least(bytes, place.raw);
        let mut left = &mut *bytes;
        while !rest.is_empty() {
            left = decompress(&mut rest, left)?;
        }
        ensure!(left.is_empty(), CORRUPTED_DATA, "Temporary data came back with another size");
        Ok(bytes)
    }

    fn charge(&mut self, bytes: u64) -> Result<()> {
        let on_disk = &self.control.temporary_bytes;
        let total = on_disk.fetch_add(bytes, Relaxed) + bytes;
        self.len += bytes;
        let most = self.control.limits.max_temporary_data_on_disk_size;
        ensure!(
            most == 0 || total <= most,
            TOO_MANY_ROWS_OR_BYTES,
            "Limit for temporary files size exceeded (would consume {total} / {most} bytes)"
        );
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        self.control.temporary_bytes.fetch_sub(self.len, Relaxed);
    }
}

#[cold]
fn no_disk(purpose: Purpose, error: &std::io::Error) -> Error {
    let folder = std::env::temp_dir();
    let (folder, operator) = (folder.display(), purpose.name());
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            err!(NOT_ENOUGH_SPACE, "{operator} needs more space for temporary data in {folder}: {error}")
        }
        _ => {
            err!(
                CANNOT_WRITE_TO_FILE_DESCRIPTOR,
                "{operator} cannot keep temporary data in {folder}: {error}"
            )
        }
    }
}

/// Appends a frame of at most [`FRAME`] bytes.
fn compress(raw: &[u8], most_left: usize, backoff: &mut CompressionBackoff, out: &mut Vec<u8>) -> Result<()> {
    let most = raw.len() / 16 * most_left;
    let start = out.len();
    out.resize(start + HEAD, 0);
    if backoff.tries() {
        out.resize(start + HEAD + lz4::max_packed_len(raw.len()), 0);
        let n = lz4::pack_into(raw, &mut out[start + HEAD..])
            .map_err(|error| err!(CANNOT_COMPRESS, "Cannot compress temporary data: {error}"))?;
        backoff.tried(n, most);
        out.truncate(start + HEAD + if n < most { n } else { 0 });
    }
    if out.len() == start + HEAD {
        out.extend_from_slice(raw);
    }
    let stored = (out.len() - start - HEAD) as u32;
    out[start..start + 4].copy_from_slice(&(raw.len() as u32).to_le_bytes());
    out[start + 4..start + HEAD].copy_from_slice(&stored.to_le_bytes());
    Ok(())
}

/// Takes a frame off the front and puts what it holds into `out`; what is left of that.
fn decompress<'a>(bytes: &mut &[u8], out: &'a mut [u8]) -> Result<&'a mut [u8]> {
    let raw = u32::from_le_bytes(take_array(bytes)?) as usize;
    let stored = u32::from_le_bytes(take_array(bytes)?) as usize;
    let frame = chalet_columns::wire::take(bytes, stored)?;
    ensure!(raw <= out.len(), CORRUPTED_DATA, "Temporary data came back damaged");
    let (frame_out, left) = out.split_at_mut(raw);
    if stored == raw {
        frame_out.copy_from_slice(frame);
        return Ok(left);
    }
    let n = lz4::unpack_into(frame, frame_out)
        .map_err(|error| err!(CANNOT_DECOMPRESS, "Cannot decompress temporary data: {error}"))?;
    ensure!(n == raw, CORRUPTED_DATA, "Temporary data came back damaged");
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn control(most: u64) -> Arc<QueryControl> {
        let limits = Limits { max_temporary_data_on_disk_size: most, ..Limits::default() };
        Arc::new(QueryControl::new(limits, None, None))
    }

    #[test]
    fn pieces_come_back_in_any_order() {
        let mut file = TempFile::new(Purpose::Sort, &control(0)).unwrap();
        let noise: Vec<u8> = (0..100_000u64).map(|i| chalet_base::hash::hash_u64(i) as u8).collect();
        let pieces = [vec![], vec![7; FRAME + 10], noise, vec![1, 2, 3]];
        let places: Vec<Place> = pieces.iter().map(|piece| file.write(piece).unwrap()).collect();
        for (piece, place) in pieces.iter().zip(&places).rev() {
            assert_eq!(&file.read(place).unwrap(), piece);
        }
        assert!(places[1].stored < 1 << 20);
    }

    #[test]
    fn a_query_may_not_write_without_end() {
        let control = control(10_000);
        let mut file = TempFile::new(Purpose::Join, &control).unwrap();
        let noise: Vec<u8> = (0..6000u64).map(|i| chalet_base::hash::hash_u64(i) as u8).collect();
        file.write(&noise).unwrap();
        let error = file.write(&noise).unwrap_err();
        assert_eq!(error.code().number, 396, "{error}");
        drop(file);
        assert_eq!(control.temporary_bytes.load(Relaxed), 0);
        TempFile::new(Purpose::Join, &control).unwrap().write(&noise).unwrap();
    }
}
