//! Projections: for each part other rows that follow from its own, sorted by other keys or grouped.
//!
//! They are parts themselves, of a table that has the columns of the projection, but no record of the journal names those of a
//! file: one file beside it says that they are there, and of which part they are. It comes last, and has the rows in it where
//! they are few. What is missing or damaged is only slower: a query reads the rows of the part then. Of a part in the journal
//! only the names of its projections are kept, since its own rows are few.

pub mod definition;
mod file;
mod part_projections;
mod writer;

pub use definition::ProjectionDefinition;
pub use file::{is_unfinished, parse_file_name, parse_rows_name};
pub use part_projections::PartProjections;
pub use writer::ProjectionWriter;
