//! One: a file is one row, `dummy` = 0, whatever is in it. For the names of files.

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::sliced::Sliced;
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_types::DataType;

struct One;

pub const FORMATS: &[Format] = &[Format {
    name: "One",
    suffixes: &[],
    content_type: "",
    capabilities: Capabilities { tty_friendly: true, external_schema: true, ..Capabilities::NONE },
    input: Some(&One),
    output: None,
}];

impl InputFormat for One {
    fn infer_schema(&self, _: &mut Input, _: &FormatSettings) -> Result<Option<Schema>> {
        Ok(Some(vec![("dummy".to_string(), DataType::UInt8)]))
    }

    fn open(&self, _: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let row = move || {
            let columns = request.wanted.iter();
            let default = |index: &usize| Column::from(Vector::defaults(&request.structure[*index].1, 1));
            Ok(Block::new(columns.map(default).collect(), 1))
        };
        Ok(Whole::scan(Sliced::new(Box::new(row), Vec::new())))
    }
}
