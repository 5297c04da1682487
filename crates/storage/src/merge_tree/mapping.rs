//! Files of parts that stay mapped between queries: to open, map and unmap a file takes as long as to look up a row of it.

use crate::disk::fs::{self, Access, File};
use crate::mapped::{cannot_open, mapped};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use chalet_formats::{Buffer, FileIdentity, Input};
use chalet_memory::process;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Files that stay mapped in this process, at most: the system limits how many mappings a process has.
const MOST: usize = 1 << 10;

static KEPT: AtomicUsize = AtomicUsize::new(0);

/// The file of a part as it was mapped last, while it is the same file.
#[derive(Default)]
pub(super) struct LastMapping(Mutex<Option<Mapping>>);

struct Mapping {
    bytes: Buffer,
    identity: Arc<FileIdentity>,
}

impl LastMapping {
    /// Maps the file of a part, which may be open already.
    pub fn open(&self, path: &Path, held: Option<&File>) -> Result<Input> {
        let known = held.map_or_else(|| fs::metadata(path), File::metadata);
        let identity = FileIdentity::of(path, &known.map_err(|e| cannot_open(path, &e))?);
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Who shortens the file must not find it mapped.
        *last = last.take().filter(|last| Some(&*last.identity) == identity.as_ref());
        if let Some(Mapping { bytes, identity }) = &*last {
            events::count(Event::FileMappingsReused);
            return Ok(Input::Known(bytes.clone(), identity.clone()));
        }
        events::count(Event::FileOpen);
        let input = match held {
            Some(file) => mapped(path, file)?,
            None => mapped(path, &File::open(path, Access::Read).map_err(|e| cannot_open(path, &e))?)?,
        };
        if let Input::Known(bytes, identity) = &input {
            *last = Mapping::keep(bytes, identity);
        }
        Ok(input)
    }
}

impl Mapping {
    /// None where address space is scarce.
    fn keep(bytes: &Buffer, identity: &Arc<FileIdentity>) -> Option<Mapping> {
        if process::address_space_limit().is_some() || !switches::is_on(Switch::KeptMappings) {
            return None;
        }
        KEPT.fetch_update(Relaxed, Relaxed, |kept| (kept < MOST).then_some(kept + 1)).ok()?;
        Some(Mapping { bytes: bytes.clone(), identity: identity.clone() })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Relaxed);
    }
}
