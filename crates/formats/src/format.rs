//! A format as the rest sees it: its names, what it can do, and its two halves.

use crate::FormatSettings;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::settings::IntervalOutputFormat;
use chalet_base::{Result, bail, ensure, err};
use chalet_types::{DataType, IntervalUnit};

/// One name of a format: its row in `system.formats` and its two halves.
pub struct Format {
    pub name: &'static str,
    /// File suffixes, without the dot, that mean this format.
    pub suffixes: &'static [&'static str],
    pub content_type: &'static str,
    pub capabilities: Capabilities,
    pub input: Option<&'static dyn InputFormat>,
    pub output: Option<&'static dyn OutputFormat>,
}

/// What a format can do, as `system.formats` shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capabilities {
    /// Several threads can read one file.
    pub parallel_parsing: bool,
    pub parallel_formatting: bool,
    /// Its output is for people, or at least does not upset a terminal.
    pub tty_friendly: bool,
    pub random_access: bool,
    pub schema_inference: bool,
    pub external_schema: bool,
    pub prefers_large_blocks: bool,
    /// Not writable after data that is already in the file.
    pub no_append: bool,
    /// Settings decide whether more may be written after what is already in the file.
    pub append_by_settings: bool,
    /// Finds columns by name, so that columns may be left out.
    pub subset_of_columns: bool,
    /// Its bytes have no form for columns of type Variant, Dynamic and JSON.
    pub no_several_types: bool,
}

impl Capabilities {
    pub const NONE: Capabilities = Capabilities {
        parallel_parsing: false,
        parallel_formatting: false,
        tty_friendly: false,
        random_access: false,
        schema_inference: false,
        external_schema: false,
        prefers_large_blocks: false,
        no_append: false,
        append_by_settings: false,
        subset_of_columns: false,
        no_several_types: false,
    };
}

impl Format {
    /// Names and types from the data, or the kernel's refusal.
    pub fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Schema> {
        let found = match self.input {
            // What is wrong with a schema that the user gives is not wrong with the file.
            Some(format) if self.capabilities.external_schema => format.infer_schema(input, settings)?,
            Some(format) => format.infer_schema(input, settings).map_err(|e| self.no_structure(e))?,
            None => None,
        };
        found.ok_or_else(|| {
            err!(
                BAD_ARGUMENTS,
                "{} file format doesn't support schema inference. You must specify the structure manually",
                self.name
            )
        })
    }

    #[cold]
    fn no_structure(&self, error: chalet_base::Error) -> chalet_base::Error {
        let name = self.name;
        let why = if error.code() == chalet_base::codes::CANNOT_EXTRACT_TABLE_STRUCTURE {
            format!("The table structure cannot be extracted from a {name} format file: {}", error.message())
        } else {
            error.to_string()
        };
        err!(
            CANNOT_EXTRACT_TABLE_STRUCTURE,
            "The table structure cannot be extracted from a {name} format file. Error:\n{why}.\nYou can specify the structure \
             manually"
        )
    }

    fn check_types(&self, columns: &[(String, DataType)]) -> Result<()> {
        let refused =
            columns.iter().find(|(_, ty)| self.capabilities.no_several_types && ty.contains_several_types());
        match refused {
            Some((name, ty)) => {
                bail!(NOT_IMPLEMENTED, "Format {} does not support column {name} of type {ty}", self.name)
            }
            None => Ok(()),
        }
    }

    pub fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        self.check_types(&request.structure)?;
        match self.input {
            Some(format) => format.open(input, request),
            None => bail!(FORMAT_IS_NOT_SUITABLE_FOR_INPUT, "Format {} is not suitable for input", self.name),
        }
    }

    pub fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        self.check_types(&request.header)?;
        check_intervals(&request)?;
        match self.output {
            Some(format) => format.writer(request, sink),
            None => {
                bail!(FORMAT_IS_NOT_SUITABLE_FOR_OUTPUT, "Format {} is not suitable for output", self.name)
            }
        }
    }
}

/// Kusto has no intervals of a varying length, and none shorter than 100 ns.
fn check_intervals(request: &WriteRequest) -> Result<()> {
    if request.settings.interval_output_format != IntervalOutputFormat::Kusto {
        return Ok(());
    }
    for (name, ty) in request.header.iter() {
        let is_refused = |ty: &DataType| {
            use IntervalUnit::{Month, Nanosecond, Quarter, Year};
            matches!(ty, DataType::Interval(Month | Nanosecond | Quarter | Year))
        };
        ensure!(
            !ty.is_or_contains(&is_refused),
            BAD_ARGUMENTS,
            "Cannot format column {name} of type {ty} in Kusto timespan format"
        );
    }
    Ok(())
}
