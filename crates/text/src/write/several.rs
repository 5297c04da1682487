//! Values of Variant, Dynamic and JSON as text.

use super::json::Brackets;
use super::{Kind, Style, Writer, escape};
use crate::TextSettings;
use chalet_columns::{Builder, json, variant};
use chalet_types::{DataType, JsonType};
use std::cell::RefCell;

/// Writers of the types that were met so far.
pub(super) struct Several {
    /// The column's type.
    of: DataType,
    style: Style,
    settings: TextSettings,
    known: RefCell<Vec<Known>>,
}

struct Known {
    /// The type's tag, and the indent of what spreads over lines.
    key: Vec<u8>,
    ty: DataType,
    writer: Writer,
}

impl Several {
    pub(super) fn new(of: &DataType, style: Style, settings: &TextSettings) -> Several {
        Several { of: of.clone(), style, settings: settings.clone(), known: RefCell::default() }
    }

    /// Appends a value with its tag; damaged ones have no text.
    fn value(&self, out: &mut Vec<u8>, of: &DataType, value: &[u8], style: Style) {
        let Ok((tag, mut rest)) = variant::split(of, value) else { return };
        let mut key = tag.to_vec();
        if let Style::JsonPretty(indent) = style {
            key.push(indent);
        }
        let mut known = self.known.borrow_mut();
        let at = match known.iter().position(|writer| writer.key == key) {
            Some(at) => at,
            None => {
                let Ok(ty) = variant::type_of_tag(of, tag) else { return };
                let writer = Writer::new(&ty, style, &self.settings);
                known.push(Known { key, ty, writer });
                known.len() - 1
            }
        };
        let Known { ty, writer, .. } = &known[at];
        let mut builder = Builder::new(ty);
        if variant::take(&mut rest, ty, &mut builder, true).is_ok() {
            writer.write(out, &builder.finish(), 0);
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>, bytes: &[u8]) {
        let DataType::Json(json) = &self.of else {
            return self.value(out, &self.of, bytes, self.style);
        };
        match self.style {
            Style::Json => self.object(out, json, bytes, None),
            Style::JsonPretty(indent) => self.object(out, json, bytes, Some(indent)),
            style => {
                let mut text = Vec::new();
                self.object(&mut text, json, bytes, None);
                match style {
                    Style::Escaped => escape::escaped(out, &text),
                    Style::Quoted => escape::quoted(out, &text),
                    Style::Csv => escape::csv(out, &text),
                    Style::Xml => escape::xml(out, &text),
                    _ => out.extend_from_slice(&text),
                }
            }
        }
    }

    /// Is the value one that JSON spreads over lines?
    pub(super) fn is_container(&self) -> bool {
        matches!(self.of, DataType::Json(_))
    }

    fn object(&self, out: &mut Vec<u8>, json: &JsonType, bytes: &[u8], indent: Option<u8>) {
        let Ok(entries) = json::entries(bytes) else { return };
        let typed_nulls = json.typed.iter().filter(|(path, ty)| {
            ty.is_nullable() && entries.iter().all(|(known, _)| known != path.as_bytes())
        });
        let mut all: Vec<(Vec<&[u8]>, Option<&[u8]>)> = entries
            .iter()
            .map(|(path, value)| (path.split(|b| *b == b'.').collect(), Some(&value[..])))
            .chain(typed_nulls.map(|(path, _)| (path.as_bytes().split(|b| *b == b'.').collect(), None)))
            .collect();
        all.sort();
        self.members(out, &all, 0, indent);
    }

    /// Paths that share their first `depth` names, sorted, as an object.
    fn members(
        &self,
        out: &mut Vec<u8>,
        paths: &[(Vec<&[u8]>, Option<&[u8]>)],
        depth: usize,
        indent: Option<u8>,
    ) {
        let strings = super::json::JsonOptions::of(&self.settings).strings;
        let mut brackets = Brackets::open(out, b'{', b'}', indent);
        if paths.is_empty() && indent.is_some() {
            brackets.empty();
        }
        let mut at = 0;
        while at < paths.len() {
            let name = paths[at].0[depth];
            let leaf = paths[at].0.len() == depth + 1;
            // A name may have a value of its own and names below it, as members that are called the same.
            let end = match leaf {
                true => at + 1,
                false => at + paths[at..].iter().take_while(|(path, _)| path[depth] == name).count(),
            };
            let out = brackets.next();
            escape::json(out, name, strings);
            out.extend_from_slice(if indent.is_some() { b": " } else { b":" });
            match (leaf, paths[at].1) {
                (true, Some(value)) => {
                    let style = match indent {
                        Some(indent) => Style::JsonPretty(indent.saturating_add(1)),
                        None => Style::Json,
                    };
                    self.value(out, &DataType::DYNAMIC, value, style);
                }
                (true, None) => out.extend_from_slice(b"null"),
                (false, _) => {
                    let deeper = indent.map(|indent| indent.saturating_add(1));
                    self.members(out, &paths[at..end], depth + 1, deeper);
                }
            }
            at = end;
        }
        brackets.finish();
    }
}

impl Kind {
    pub(super) fn several(ty: &DataType, style: Style, settings: &TextSettings) -> Kind {
        Kind::Several(Box::new(Several::new(ty, style, settings)))
    }
}
