//! External aggregation: partitions that a worker has spilled to a temporary file, because memory ran short. The file has no
//! name, so that it is gone with the process whatever happens.

use super::Call;
use super::groups::states;
use super::partitions::{PARTITIONS, Part, Partitions};
use crate::hash_table::{KeyLayout, Store};
use chalet_base::events::{self, Event};
use chalet_base::{Error, Result, err};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Parts of partitions on disk.
pub(super) struct Spilled {
    file: Mutex<File>,
    len: u64,
    /// By partition, where its parts are, in the order in which they were written.
    places: Vec<Vec<Range<u64>>>,
}

fn no_disk(error: std::io::Error) -> Error {
    let folder = std::env::temp_dir();
    let folder = folder.display();
    match error.kind() {
        std::io::ErrorKind::StorageFull => {
            err!(NOT_ENOUGH_SPACE, "GROUP BY needs more space for temporary data in {folder}: {error}")
        }
        _ => {
            err!(CANNOT_WRITE_TO_FILE_DESCRIPTOR, "GROUP BY cannot keep temporary data in {folder}: {error}")
        }
    }
}

impl Spilled {
    /// An empty temporary file. Fails when none can be made.
    pub fn new() -> Result<Spilled> {
        let file = tempfile::tempfile().map_err(no_disk)?;
        Ok(Spilled { file: Mutex::new(file), len: 0, places: vec![Vec::new(); PARTITIONS] })
    }

    /// Writes all parts, which are gone then.
    pub fn write(&mut self, partitions: &mut Partitions) -> Result<()> {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        for (number, parts) in partitions.take_all().into_iter().enumerate() {
            bytes.clear();
            for part in parts {
                encode(part, &partitions.calls, &mut bytes)?;
            }
            if bytes.is_empty() {
                continue;
            }
            file.write_all(&bytes).map_err(no_disk)?;
            let end = self.len + bytes.len() as u64;
            self.places[number].push(self.len..end);
            self.len = end;
            events::add(Event::ExternalAggregationUncompressedBytes, bytes.len() as u64);
        }
        events::count(Event::ExternalAggregationWritePart);
        Ok(())
    }

    /// Bytes of each place of a partition.
    pub fn places(&self, partition: usize) -> &[Range<u64>] {
        &self.places[partition]
    }

    /// The parts at a place.
    pub fn read(&self, place: &Range<u64>, layout: &KeyLayout, calls: &[Call]) -> Result<Vec<Part>> {
        let mut bytes = vec![0; (place.end - place.start) as usize];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(place.start)).map_err(no_disk)?;
            file.read_exact(&mut bytes).map_err(no_disk)?;
        }
        let mut rest = &bytes[..];
        let mut parts = Vec::new();
        while !rest.is_empty() {
            parts.push(decode(&mut rest, layout, calls)?);
        }
        Ok(parts)
    }
}

fn encode(part: Part, calls: &[Call], out: &mut Vec<u8>) -> Result<()> {
    let n = part.keys.len();
    part.keys.write(out);
    for states in part.into_states(calls)? {
        (0..n).for_each(|group| states.serialise(group, out));
    }
    Ok(())
}

fn decode(bytes: &mut &[u8], layout: &KeyLayout, calls: &[Call]) -> Result<Part> {
    let keys = Store::read(layout, bytes)?;
    let mut states = states(calls);
    for states in &mut states {
        states.grow(keys.len());
        (0..keys.len()).try_for_each(|group| states.deserialise(group, bytes))?;
    }
    Ok(Part::of_states(keys, states))
}
