//! Text forms of values of every type: for casts, text formats and messages.
//!
//! - [`settings`]: what changes text forms, by the names of the kernel's settings
//! - [`write`]: values to text, in the style of a format
//! - [`json_number`]: numbers of JSON for types that do not have them exactly
//! - [`read`]: text to values, in the syntax of a format
//! - [`width`]: how much room a text takes on a screen

pub mod json_number;
pub mod read;
pub mod settings;
pub mod width;
pub mod write;

pub use read::cursor::Cursor;
pub use read::{Reader, Syntax};
pub use settings::{DateTimeInput, DateTimeOutput, TextSettings};
pub use write::{Style, Writer, write_value};
