//! Writing CustomSeparated.

use crate::WriteRequest;
use crate::escaping::{put_text, style};
use crate::header::Header;
use crate::output::Statistics;
use crate::row_writer::RowLayout;
use crate::text::Cells;
use chalet_base::Result;
use chalet_columns::Block;

pub struct CustomLayout {
    request: WriteRequest,
    cells: Cells,
    header: Header,
    any: bool,
}

impl CustomLayout {
    pub fn new(request: WriteRequest, header: Header) -> Result<CustomLayout> {
        let cells = Cells::new(&request, style(request.settings.format_custom_escaping_rule)?);
        Ok(CustomLayout { request, cells, header, any: false })
    }

    fn row_start(&mut self, out: &mut Vec<u8>) {
        let settings = &self.request.settings;
        if std::mem::replace(&mut self.any, true) {
            out.extend_from_slice(settings.format_custom_row_between_delimiter.as_bytes());
        }
        out.extend_from_slice(settings.format_custom_row_before_delimiter.as_bytes());
    }

    fn line(&mut self, out: &mut Vec<u8>, texts: Vec<String>) {
        self.row_start(out);
        let settings = &self.request.settings;
        for (i, text) in texts.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(settings.format_custom_field_delimiter.as_bytes());
            }
            put_text(out, settings.format_custom_escaping_rule, text.as_bytes());
        }
        out.extend_from_slice(settings.format_custom_row_after_delimiter.as_bytes());
    }
}

impl RowLayout for CustomLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.request.settings.format_custom_result_before_delimiter.as_bytes());
        if self.header.has_names() {
            let names = self.request.header.iter().map(|c| c.0.clone()).collect();
            self.line(out, names);
        }
        if self.header.has_types() {
            let types = self.request.type_names().collect();
            self.line(out, types);
        }
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        self.row_start(out);
        let settings = &self.request.settings;
        self.cells.write_row(out, block, row, settings.format_custom_field_delimiter.as_bytes());
        out.extend_from_slice(settings.format_custom_row_after_delimiter.as_bytes());
    }

    fn end(&mut self, out: &mut Vec<u8>, _: &Statistics) {
        out.extend_from_slice(self.request.settings.format_custom_result_after_delimiter.as_bytes());
    }
}
