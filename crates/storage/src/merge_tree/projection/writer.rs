//! Making the rows that a part has of a projection.

use super::super::columns::KeptBlocks;
use super::super::part::{Part, PartInfo};
use super::super::parts::Parts;
use super::super::rows_writer::{RowsWriter, WrittenRows};
use super::{ProjectionDefinition, file};
use crate::disk::TableFolder;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_columns::Block;
use std::sync::Arc;

/// Rows of a projection in the making. Dropped without being finished it leaves nothing.
pub struct ProjectionWriter {
    part: Arc<Part>,
    projection: ProjectionDefinition,
    /// Of a part that is a file.
    folder: Option<Arc<TableFolder>>,
    attempt: u64,
    rows: RowsWriter,
}

impl ProjectionWriter {
    pub(in super::super) fn new(
        parts: &Parts,
        part: Arc<Part>,
        projection: ProjectionDefinition,
    ) -> ProjectionWriter {
        let folder = parts.folder().filter(|_| part.resident().is_none()).cloned();
        let attempt = parts.next_number();
        let path = folder
            .as_ref()
            .map(|folder| file::rows_path(folder, part.info.number, projection.key(), attempt));
        let rows = RowsWriter::new(projection.definition.clone(), path, Arc::default());
        ProjectionWriter { part, projection, folder, attempt, rows }
    }

    /// Appends rows, in their order.
    pub fn write(&mut self, block: Block) -> Result<()> {
        self.rows.write(block)
    }

    /// The rows as a part, which nobody finds.
    pub fn into_part(self) -> Result<Arc<Part>> {
        let WrittenRows { data, rows, bytes, raw_bytes, .. } = self.rows.finish()?;
        let columns = self.projection.definition.columns.clone();
        let info = PartInfo {
            rows,
            bytes,
            raw_bytes,
            columns: columns.number,
            blocks: KeptBlocks::default(),
            ..self.part.info.clone()
        };
        Ok(Arc::new(Part::of_projection(info, columns, data, self.folder, self.projection.sorted_by)))
    }

    /// Gives the rows to the part; they are on disk where the part is, but for the names of files.
    pub fn finish(self) -> Result<()> {
        let (parent, projection, attempt) = (self.part.clone(), self.projection.clone(), self.attempt);
        let made = self.into_part()?;
        events::add(Event::MergeTreeDataProjectionWriterRows, made.info.rows);
        let (known, key) = (&parent.projections, projection.key());
        if let Some((folder, of)) = parent.of_file() {
            if made.resident().is_none() {
                known.found_rows(key, attempt);
            }
            // What was written of rows goes with the part, or before.
            file::write(folder, of, &projection, &made, attempt)?;
            known.found(key);
        }
        known.put(key, made);
        Ok(())
    }
}
