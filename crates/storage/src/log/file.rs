//! The file of a table: opening it, appending to it, putting an empty one in its place.

use super::inserter::{Pending, SpillFile};
use super::layout::{HEADER, Header};
use super::walk::{Frame, walk};
use crate::disk::TableFolder;
use crate::disk::durable::{cannot_open, cannot_read, cannot_write, next_of, replace, take_next, write_next};
use crate::disk::fs::{self, Access, File};
use crate::insert::changed_meanwhile;
use chalet_base::{Error, Result, codes, err};
use chalet_types::DataType;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

const ROWS: &str = "rows";

/// How often a header is read that another process is just writing.
const ATTEMPTS: usize = 10;

/// The file of one table of the Log family, shared by its scans and inserters.
pub struct LogFile {
    folder: Arc<TableFolder>,
    path: PathBuf,
    /// Of the stored columns.
    types: Vec<DataType>,
    /// Errors: the file is damaged.
    state: RwLock<Result<State>>,
    /// Held while the file is written.
    writing: Mutex<()>,
    /// What statements hold that have not ended yet.
    held: Mutex<Vec<Weak<Snapshot>>>,
}

/// The acknowledged part of the file.
#[derive(Clone)]
struct State {
    id: u64,
    end: u64,
    n_rows: u64,
    /// Found when they are first needed.
    frames: Option<Arc<Vec<Frame>>>,
}

impl State {
    fn empty(id: u64) -> State {
        State { id, end: HEADER, n_rows: 0, frames: Some(Arc::default()) }
    }

    /// Are frames known with which a file of that header begins?
    fn is_begin_of(&self, header: &Header) -> bool {
        self.id == header.id && self.end <= header.committed && self.frames.is_some()
    }

    fn header(&self) -> Header {
        Header { id: self.id, committed: self.end, n_rows: self.n_rows }
    }
}

/// What a file holds at some moment; other rows are another content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Content {
    id: u64,
    end: u64,
}

/// What a query reads, whatever becomes of the table.
#[derive(Clone)]
pub struct Snapshot {
    pub file: Arc<File>,
    pub path: PathBuf,
    pub frames: Arc<Vec<Frame>>,
    pub n_rows: u64,
}

impl LogFile {
    /// Makes an empty file in a folder.
    pub fn create(folder: Arc<TableFolder>, types: Vec<DataType>) -> Result<LogFile> {
        let path = folder.path().join(ROWS);
        let state = State::empty(next_id(0));
        replace(&path, &state.header().encode())?;
        Ok(LogFile::of(folder, path, types, state))
    }

    fn of(folder: Arc<TableFolder>, path: PathBuf, types: Vec<DataType>, state: State) -> LogFile {
        let (state, writing, held) = (RwLock::new(Ok(state)), Mutex::default(), Mutex::default());
        LogFile { folder, path, types, state, writing, held }
    }

    /// Opens the file of a folder. For writing, what an INSERT has left that was killed is dropped: so many bytes.
    ///
    /// A damaged file is no error here, but whenever it is used: the table can still be dropped.
    pub fn open(folder: Arc<TableFolder>, types: Vec<DataType>) -> Result<(LogFile, u64)> {
        let path = folder.path().join(ROWS);
        let is_read_only = folder.is_read_only();
        let mut log = LogFile::of(folder, path, types, State::empty(0));
        if is_read_only {
            // The file is looked at by each query anew.
            return Ok((log, 0));
        }
        log.folder.settle()?;
        log.remove_leftovers()?;
        let (state, dropped) = match log.recover() {
            Ok((state, dropped)) => (Ok(state), dropped),
            Err(error) => (Err(error), 0),
        };
        log.state = RwLock::new(state);
        Ok((log, dropped))
    }

    /// The folder that the file is in.
    pub fn folder(&self) -> &Arc<TableFolder> {
        &self.folder
    }

    /// The types of the stored columns.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }

    /// Rows and bytes, where they are known without reading much.
    pub fn size(&self) -> Option<(u64, u64)> {
        if self.folder.is_read_only() {
            self.refresh().ok()?;
        }
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.as_ref().ok().map(|state| (state.n_rows, state.end))
    }

    /// The rows as they are now, for one scan. Fails when the file is damaged or cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot> {
        if self.folder.is_read_only() {
            return self.refresh().or_else(|error| self.held_instead(error));
        }
        {
            // Under the lock the file is the one that the state tells of.
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            let state = state.as_ref().map_err(Error::clone)?;
            if let Some(frames) = &state.frames {
                return self.snapshot_of(self.open_file(false)?, frames.clone(), state.n_rows);
            }
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let known = state.as_mut().map_err(|error| error.clone())?;
        let file = self.open_file(false)?;
        let walked =
            walk(&file, HEADER, known.end, self.types.len(), false).map_err(|e| self.cannot_read(&e))?;
        if walked.end != known.end || walked.n_rows != known.n_rows {
            let error = self.damaged(&format!("the frame at byte {} cannot be read", walked.end));
            *state = Err(error.clone());
            return Err(error);
        }
        let frames = Arc::new(walked.frames);
        known.frames = Some(frames.clone());
        let n_rows = known.n_rows;
        self.snapshot_of(file, frames, n_rows)
    }

    /// Where another process may remove the file: opens it, so that it can be read until what this gives is dropped.
    pub fn hold(&self) -> Result<Option<Arc<Snapshot>>> {
        if !self.folder.is_read_only() {
            return Ok(None);
        }
        let snapshot = Arc::new(self.refresh()?);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|other| other.strong_count() > 0);
        held.push(Arc::downgrade(&snapshot));
        Ok(Some(snapshot))
    }

    /// What a statement holds of a file that was removed meanwhile.
    fn held_instead(&self, error: Error) -> Result<Snapshot> {
        if error.code() != codes::FILE_DOESNT_EXIST {
            return Err(error);
        }
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = held.iter().rev().find_map(Weak::upgrade);
        newest.map(|held| Snapshot::clone(&held)).ok_or(error)
    }

    fn snapshot_of(&self, file: File, frames: Arc<Vec<Frame>>, n_rows: u64) -> Result<Snapshot> {
        Ok(Snapshot { file: Arc::new(file), path: self.path.clone(), frames, n_rows })
    }

    /// What the file holds now, for a later comparison. Fails when the file is damaged.
    pub fn content(&self) -> Result<Content> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.as_ref().map(|state| Content { id: state.id, end: state.end }).map_err(Error::clone)
    }

    /// Appends the frames of an INSERT. When this returns they are on disk, all of them or none.
    pub fn append(&self, pending: Pending) -> Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.folder.check_writable()?;
        let before = self.state.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        let file = self.open_file(true)?;
        let n_rows = before.n_rows + pending.n_rows;
        let placed = Placed::behind(before.end, pending);
        if let Err(error) = placed.write(&file) {
            if file.set_len(before.end).is_err() {
                self.folder.lose();
            }
            return Err(cannot_write(&self.path, &error));
        }
        if let Err(error) = file.sync_data() {
            // Whether the bytes are on disk is not known, nor would the next attempt tell.
            self.folder.lose();
            let _ = file.set_len(before.end);
            return Err(err!(CANNOT_FSYNC, "Cannot fsync {}: {error}", self.path.display()));
        }
        let header = Header { id: before.id, committed: placed.end(), n_rows };
        // The frames are there without it: whoever opens the file finds them.
        let _ = file.write_all_at(&header.encode(), 0);
        if let Ok(state) = &mut *self.state.write().unwrap_or_else(PoisonError::into_inner) {
            (state.end, state.n_rows) = (header.committed, n_rows);
            if let Some(known) = &mut state.frames {
                // Copied only where a query reads the old ones.
                Arc::make_mut(known).extend(placed.frames);
            }
        }
        Ok(())
    }

    /// Puts a file of these frames in the place of this one, if it still holds what they are made of.
    pub fn replace(&self, pending: Pending, over: Content) -> Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.folder.check_writable()?;
        if self.content()? != over {
            return Err(changed_meanwhile());
        }
        let n_rows = pending.n_rows;
        let placed = Placed::behind(HEADER, pending);
        let header = Header { id: next_id(over.id), committed: placed.end(), n_rows };
        let next = next_of(&self.path);
        let write = || -> io::Result<()> {
            let file = File::open(&next, Access::Create)?;
            file.write_all_at(&header.encode(), 0)?;
            placed.write(&file)?;
            file.sync_all()
        };
        if let Err(error) = write() {
            let _ = fs::remove_file(&next);
            return Err(cannot_write(&next, &error));
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let frames = Some(Arc::new(placed.frames));
        self.take(&mut state, State { id: header.id, end: header.committed, n_rows, frames })
    }

    /// Puts an empty file in the place of this one.
    pub fn truncate(&self) -> Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.folder.check_writable()?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let empty = State::empty(next_id(state.as_ref().map_or(0, |state| state.id)));
        write_next(&self.path, &empty.header().encode())
            .map_err(|e| cannot_write(&next_of(&self.path), &e))?;
        self.take(&mut state, empty)
    }

    /// Puts the file that was written in the place of this one.
    fn take(&self, state: &mut Result<State>, next: State) -> Result<()> {
        let taken = take_next(&self.path).inspect_err(|_| self.folder.lose());
        // Where the disk failed behind the renaming, the file that is read from now on is the new one all the same.
        if taken.is_ok() || fs::exists(&next_of(&self.path)).is_ok_and(|is_there| !is_there) {
            *state = Ok(next);
        }
        taken
    }

    /// What the file holds, after what comes behind its last whole INSERT was cut off.
    fn recover(&self) -> Result<(State, u64)> {
        let file = self.open_file(true)?;
        let read = |e: io::Error| self.cannot_read(&e);
        let len = file.metadata().map_err(read)?.len();
        if len < HEADER {
            return Err(self.too_short());
        }
        let header = Header::decode(&file.read_vec(0, HEADER as usize).map_err(read)?);
        // A header that cannot be read was damaged later: a killed INSERT does not do that.
        let known = header.unwrap_or(Header { id: next_id(0), committed: HEADER, n_rows: 0 });
        if len < known.committed {
            return Err(self.damaged(&format!("it ends at byte {len} of {}", known.committed)));
        }
        let (mut end, mut n_rows) = (known.committed, known.n_rows);
        if header.is_none() || len > end {
            let walked = walk(&file, end, len, self.types.len(), true).map_err(read)?;
            (end, n_rows) = (walked.end, n_rows + walked.n_rows);
            if header.is_none() && end < len {
                return Err(self.damaged("its header cannot be read"));
            }
            let state = State { id: known.id, end, n_rows, frames: None };
            let settle = || {
                file.set_len(end)?;
                // Behind the header there must be nothing that a crash takes back.
                file.sync_all()?;
                file.write_all_at(&state.header().encode(), 0)?;
                file.sync_all()
            };
            settle().map_err(|e| cannot_write(&self.path, &e))?;
        }
        Ok((State { id: known.id, end, n_rows, frames: None }, len - end))
    }

    /// Looks at what another process has written meanwhile.
    fn refresh(&self) -> Result<Snapshot> {
        let file = self.open_file(false)?;
        let read = |e: io::Error| self.cannot_read(&e);
        if file.metadata().map_err(read)?.len() < HEADER {
            return Err(self.too_short());
        }
        let mut header = None;
        for _ in 0..ATTEMPTS {
            header = Header::decode(&file.read_vec(0, HEADER as usize).map_err(read)?);
            if header.is_some() {
                break;
            }
        }
        let Some(header) = header else { return Err(self.damaged("its header cannot be read")) };
        let len = file.metadata().map_err(read)?.len();
        if len < header.committed {
            return Err(self.damaged(&format!("it ends at byte {len} of {}", header.committed)));
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let mut known = match &*state {
            Ok(known) if known.is_begin_of(&header) => known.clone(),
            _ => State::empty(header.id),
        };
        let mut frames = known.frames.take().unwrap_or_default();
        if header.committed > known.end {
            let walked = walk(&file, known.end, header.committed, self.types.len(), false).map_err(read)?;
            if walked.end != header.committed {
                return Err(self.damaged(&format!("the frame at byte {} cannot be read", walked.end)));
            }
            Arc::make_mut(&mut frames).extend(walked.frames);
            known.n_rows += walked.n_rows;
        }
        let mut n_rows = known.n_rows;
        *state = Ok(State { end: header.committed, frames: Some(frames.clone()), ..known });
        drop(state);
        // What the writer is about to acknowledge, or had no time to; only for now, since it may still fail.
        let walked = walk(&file, header.committed, len, self.types.len(), true).map_err(read)?;
        if !walked.frames.is_empty() {
            Arc::make_mut(&mut frames).extend(walked.frames);
            n_rows += walked.n_rows;
        }
        self.snapshot_of(file, frames, n_rows)
    }

    fn open_file(&self, to_write: bool) -> Result<File> {
        let access = if to_write { Access::Write } else { Access::Read };
        File::open(&self.path, access).map_err(|e| cannot_open(&self.path, &e))
    }

    /// What INSERTs and TRUNCATEs were writing that were killed.
    fn remove_leftovers(&self) -> Result<()> {
        let folder = self.folder.path();
        for found in fs::read_folder(folder).map_err(|e| cannot_open(folder, &e))? {
            let file = folder.join(found.name);
            if file.extension().is_some_and(|extension| extension == "new") {
                fs::remove_file(&file).map_err(|e| cannot_write(&file, &e))?;
            }
        }
        Ok(())
    }

    #[cold]
    fn cannot_read(&self, error: &io::Error) -> Error {
        cannot_read(&self.path, error)
    }

    #[cold]
    fn too_short(&self) -> Error {
        self.damaged("it is shorter than its header")
    }

    #[cold]
    fn damaged(&self, what: &str) -> Error {
        err!(CHECKSUM_DOESNT_MATCH, "The file {} is damaged: {what}", self.path.display())
    }
}

/// The frames of an INSERT at their places in a file.
struct Placed {
    start: u64,
    frames: Vec<Frame>,
    spill_file: Option<SpillFile>,
    /// Those that were not spilled.
    bytes: Vec<u8>,
}

impl Placed {
    fn behind(start: u64, pending: Pending) -> Placed {
        let Pending { spill_file, frames: encoded, .. } = pending;
        let (mut at, mut frames) = (start, Vec::new());
        let mut place = |len: u64, n_rows: u64| {
            frames.push(Frame { offset: at, end: at + len, n_rows });
            at += len;
        };
        spill_file
            .iter()
            .flat_map(|spill_file| &spill_file.frames)
            .for_each(|(len, n_rows)| place(*len, *n_rows));
        let (mut bytes, n_frames) = (Vec::new(), encoded.len());
        for (i, frame) in encoded.into_iter().enumerate() {
            let (start, n_rows) = (bytes.len(), frame.n_rows);
            frame.write(i + 1 == n_frames, &mut bytes);
            place((bytes.len() - start) as u64, n_rows);
        }
        Placed { start, frames, spill_file, bytes }
    }

    fn end(&self) -> u64 {
        self.frames.last().map_or(self.start, |frame| frame.end)
    }

    fn write(&self, file: &File) -> io::Result<()> {
        let mut start = self.start;
        if let Some(spill_file) = &self.spill_file {
            start += spill_file.copy(file, start)?;
        }
        file.write_all_at(&self.bytes, start)
    }
}

/// Another number for each content of a file.
fn next_id(last: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64).max(last + 1)
}
