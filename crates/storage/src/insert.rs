//! Writing a table.

use chalet_base::Result;
use chalet_columns::Block;

/// Receives the blocks of one INSERT. Dropped without `finish`, it leaves the table as it was.
pub trait Inserter: Send {
    /// Blocks have the stored columns of the table, in schema order.
    fn write(&mut self, block: Block) -> Result<()>;

    /// Makes the rows visible, all at once.
    fn finish(self: Box<Self>) -> Result<()>;
}
