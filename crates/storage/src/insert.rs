//! Writing a table.

use chalet_base::{Error, Result, err};
use chalet_columns::Block;

/// Receives the blocks of one INSERT. Dropped without `finish`, it leaves the table as it was.
pub trait Inserter: Send {
    /// Blocks have the stored columns of the table, in schema order.
    fn write(&mut self, block: Block) -> Result<()>;

    /// Makes the rows visible, all at once.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Of rows that were to take the place of others.
#[cold]
pub(crate) fn changed_meanwhile() -> Error {
    err!(CANNOT_ASSIGN_OPTIMIZE, "Cannot OPTIMIZE table: its rows were changed meanwhile")
}
