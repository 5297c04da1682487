//! Rows on disk in the order in which they came, to be read once more.

use super::{Place, Purpose, TempFile};
use crate::control::QueryControl;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_columns::raw::read_block;
use std::sync::Arc;
use std::vec::IntoIter;

/// Takes rows.
pub struct Spool {
    file: TempFile,
    places: Vec<Place>,
    bytes: Vec<u8>,
}

/// Gives them back.
pub struct Spooled {
    file: TempFile,
    places: IntoIter<Place>,
}

impl Spool {
    /// A spool without rows. Fails where no temporary file can be made.
    pub fn new(purpose: Purpose, control: &Arc<QueryControl>) -> Result<Spool> {
        let file = TempFile::new(purpose, control)?;
        file.count_part();
        Ok(Spool { file, places: Vec::new(), bytes: Vec::new() })
    }

    /// Appends rows.
    pub fn write(&mut self, block: &Block) -> Result<()> {
        self.places.push(self.file.write_block(block, &mut self.bytes)?);
        Ok(())
    }

    /// All rows, from the first on.
    pub fn read(self) -> Spooled {
        Spooled { file: self.file, places: self.places.into_iter() }
    }
}

impl Spooled {
    /// The next block as it was written; none behind the last.
    pub fn next_block(&mut self) -> Result<Option<Block>> {
        self.places.next().map(|place| read_block(&mut &self.file.read(&place)?[..])).transpose()
    }

    /// Is there no further block?
    pub fn is_over(&self) -> bool {
        self.places.len() == 0
    }
}
