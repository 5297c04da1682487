//! Containers as JSON, on one line or spread over lines.

use super::escape::{self, JsonStrings};
use super::{Kind, Writer};
use crate::TextSettings;
use chalet_columns::{Data, Vector};

#[derive(Clone, Copy)]
pub struct JsonOptions {
    pub strings: JsonStrings,
    pub named_tuples_as_objects: bool,
    pub skip_nulls_in_named_tuples: bool,
}

impl JsonOptions {
    pub fn of(settings: &TextSettings) -> JsonOptions {
        JsonOptions {
            strings: JsonStrings {
                escape_slashes: settings.output_format_json_escape_forward_slashes,
                validate: settings.output_format_json_validate_utf8,
            },
            named_tuples_as_objects: settings.output_format_json_named_tuples_as_objects,
            skip_nulls_in_named_tuples: settings.output_format_json_skip_null_value_in_named_tuples,
        }
    }
}

/// Puts elements between brackets, each on a line of its own when there is an indent.
pub(super) struct Brackets<'a> {
    out: &'a mut Vec<u8>,
    indent: Option<u8>,
    first: bool,
    close: u8,
}

impl<'a> Brackets<'a> {
    pub(super) fn open(out: &'a mut Vec<u8>, open: u8, close: u8, indent: Option<u8>) -> Self {
        out.push(open);
        Brackets { out, indent, first: true, close }
    }

    /// Makes place for the next element.
    pub(super) fn next(&mut self) -> &mut Vec<u8> {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        if let Some(indent) = self.indent {
            new_line(self.out, usize::from(indent) + 1);
        }
        self.out
    }

    /// An empty line, which the kernel leaves in empty objects.
    pub(super) fn empty(&mut self) {
        self.out.push(b'\n');
        new_line(self.out, self.indent.unwrap_or(0).into());
    }

    pub(super) fn finish(self) {
        if let (Some(indent), false) = (self.indent, self.first) {
            new_line(self.out, indent.into());
        }
        self.out.push(self.close);
    }
}

fn new_line(out: &mut Vec<u8>, indent: usize) {
    out.push(b'\n');
    out.resize(out.len() + indent, b'\t');
}

impl Writer {
    pub(super) fn json_container(&self, out: &mut Vec<u8>, data: &Data, row: usize, indent: Option<u8>) {
        match (&self.kind, data) {
            (Kind::Array(element), Data::List(list)) => {
                let lines = indent.filter(|_| element.is_json_container());
                let mut brackets = Brackets::open(out, b'[', b']', lines);
                list.range(row).for_each(|e| element.write(brackets.next(), &list.values, e));
                brackets.finish();
            }
            (Kind::Tuple(fields), Data::Struct(s)) => {
                let named = self.json.named_tuples_as_objects && fields.iter().all(|f| f.0.is_some());
                if !named || fields.is_empty() {
                    let mut brackets = Brackets::open(out, b'[', b']', indent);
                    if let (true, Some(indent)) = (fields.is_empty(), indent) {
                        // The kernel leaves an empty line in the empty tuple.
                        brackets.out.push(b'\n');
                        new_line(brackets.out, indent.into());
                    }
                    for ((_, writer), field) in fields.iter().zip(&s.fields) {
                        writer.write(brackets.next(), field, row);
                    }
                    return brackets.finish();
                }
                let mut brackets = Brackets::open(out, b'{', b'}', indent);
                for ((name, writer), field) in fields.iter().zip(&s.fields) {
                    if self.json.skip_nulls_in_named_tuples && field.is_null(row) {
                        continue;
                    }
                    let out = brackets.next();
                    escape::json(out, name.as_deref().unwrap_or("").as_bytes(), self.json.strings);
                    out.extend_from_slice(if indent.is_some() { b": " } else { b":" });
                    writer.write(out, field, row);
                }
                brackets.finish();
            }
            (Kind::Map { key, value }, Data::List(list)) => {
                let Data::Struct(pairs) = &list.values.data else { return };
                self.json_map(out, list.range(row), key, value, &pairs.fields, indent);
            }
            _ => {}
        }
    }

    fn json_map(
        &self,
        out: &mut Vec<u8>,
        rows: std::ops::Range<usize>,
        key: &Writer,
        value: &Writer,
        pairs: &[Vector],
        indent: Option<u8>,
    ) {
        let mut text = Vec::new();
        let mut brackets = Brackets::open(out, b'{', b'}', indent);
        for row in rows {
            text.clear();
            key.write(&mut text, &pairs[0], row);
            let out = brackets.next();
            escape::json(out, &text, self.json.strings);
            out.extend_from_slice(if indent.is_some() { b": " } else { b":" });
            value.write(out, &pairs[1], row);
        }
        brackets.finish();
    }

    fn is_json_container(&self) -> bool {
        match &self.kind {
            Kind::Several(several) => several.is_container(),
            kind => matches!(kind, Kind::Array(_) | Kind::Tuple(_) | Kind::Map { .. }),
        }
    }
}
