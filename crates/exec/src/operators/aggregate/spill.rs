//! External aggregation: partitions that a worker has spilled to a temporary file, because memory ran short.

use super::Call;
use super::groups::states;
use super::partitions::{PARTITIONS, Part, Partitions};
use super::runs::Run;
use crate::control::QueryControl;
use crate::hash_table::{KeyLayout, Store};
use crate::spill::{Place, Purpose, TempFile};
use chalet_base::Result;
use std::sync::Arc;

/// Parts of partitions on disk.
pub(super) struct Spilled {
    pub purpose: Purpose,
    file: TempFile,
    /// By partition, where its parts are and of which run, in the order in which they were written.
    places: Vec<Vec<(Run, Place)>>,
}

impl Spilled {
    /// An empty temporary file. Fails when none can be made.
    pub fn new(purpose: Purpose, control: &Arc<QueryControl>) -> Result<Spilled> {
        Ok(Spilled { purpose, file: TempFile::new(purpose, control)?, places: vec![Vec::new(); PARTITIONS] })
    }

    /// Writes all parts of a run, which are gone then.
    pub fn write(&mut self, run: Run, partitions: &mut Partitions) -> Result<()> {
        let mut bytes = Vec::new();
        for (number, parts) in partitions.take_all().into_iter().enumerate() {
            bytes.clear();
            for part in parts {
                encode(part, &partitions.calls, &mut bytes)?;
            }
            if !bytes.is_empty() {
                self.places[number].push((run, self.file.write(&bytes)?));
            }
        }
        self.file.count_part();
        Ok(())
    }

    /// Each place of a partition.
    pub fn places(&self, partition: usize) -> &[(Run, Place)] {
        &self.places[partition]
    }

    /// The parts at a place.
    pub fn read(&self, place: &Place, layout: &KeyLayout, calls: &[Call]) -> Result<Vec<Part>> {
        let bytes = self.file.read(place)?;
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
