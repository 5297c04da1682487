//! Pretty: tables for people, in three shapes, with or without escape sequences, one table a block or one for all.

mod grid;
mod names;
mod table;
mod value;
mod writer;

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use chalet_base::Result;
use grid::Shape;

pub use chalet_text::width::width;
pub use names::shown_name;
pub use value::{BOLD, Colours, ValueTexts, put_tip};

struct Pretty {
    shape: Shape,
    escapes: bool,
    mono: bool,
}

const fn format(name: &'static str, format: &'static Pretty) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "text/plain; charset=UTF-8",
        capabilities: Capabilities { tty_friendly: true, ..Capabilities::NONE },
        input: None,
        output: Some(format),
    }
}

macro_rules! pretty {
    ($name:literal, $shape:ident, $escapes:literal, $mono:literal) => {
        format($name, &Pretty { shape: Shape::$shape, escapes: $escapes, mono: $mono })
    };
}

pub const FORMATS: &[Format] = &[
    pretty!("Pretty", Full, true, false),
    pretty!("PrettyMonoBlock", Full, true, true),
    pretty!("PrettyNoEscapes", Full, false, false),
    pretty!("PrettyNoEscapesMonoBlock", Full, false, true),
    pretty!("PrettyCompact", Compact, true, false),
    pretty!("PrettyCompactMonoBlock", Compact, true, true),
    pretty!("PrettyCompactNoEscapes", Compact, false, false),
    pretty!("PrettyCompactNoEscapesMonoBlock", Compact, false, true),
    pretty!("PrettySpace", Space, true, false),
    pretty!("PrettySpaceMonoBlock", Space, true, true),
    pretty!("PrettySpaceNoEscapes", Space, false, false),
    pretty!("PrettySpaceNoEscapesMonoBlock", Space, false, true),
];

impl OutputFormat for Pretty {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(writer::PrettyWriter::new(request, sink, self.shape, self.escapes, self.mono)))
    }
}
