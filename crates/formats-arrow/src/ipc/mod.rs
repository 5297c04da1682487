//! The ArrowStream and Arrow (file) formats over Arrow's inter-process messages.
//!
//! - [`layout`]: whether the buffers of a batch can be what its schema says
//! - [`messages`]: the frames of a stream and the blocks of a file
//! - [`input`](mod@input): readers
//! - [`output`](mod@output): writers

mod input;
mod layout;
mod messages;
mod output;

use chalet_formats::Format;
use chalet_formats::format::Capabilities;

const CAPABILITIES: Capabilities =
    Capabilities { schema_inference: true, no_append: true, subset_of_columns: true, ..Capabilities::NONE };

/// The rows of this crate in the table of formats.
pub static FORMATS: &[Format] = &[
    Format {
        name: "Arrow",
        suffixes: &["arrow", "feather"],
        content_type: "application/octet-stream",
        capabilities: CAPABILITIES,
        input: Some(&input::Arrow { stream: false }),
        output: Some(&output::Arrow { stream: false }),
    },
    Format {
        name: "ArrowStream",
        suffixes: &["arrows"],
        content_type: "application/octet-stream",
        capabilities: Capabilities { prefers_large_blocks: true, ..CAPABILITIES },
        input: Some(&input::Arrow { stream: true }),
        output: Some(&output::Arrow { stream: true }),
    },
];
