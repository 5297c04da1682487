//! Texts of values in tables for people: plain, but named tuples spread over lines as JSON.

use crate::text::text_settings;
use crate::{FormatSettings, WriteRequest};
use chalet_columns::{Block, Data, Vector};
use chalet_text::{Style, TextSettings, Writer};
use chalet_types::DataType;

/// Writes the values of one type.
pub enum ValueText {
    Text(Writer),
    /// A named tuple.
    Json(Writer),
    /// An object, spread over lines.
    Object(Writer),
    Array(Box<ValueText>),
    Tuple(Vec<ValueText>),
    Map(Writer, Box<ValueText>),
}

impl ValueText {
    fn new(ty: &DataType, style: Style, settings: &TextSettings) -> ValueText {
        let inside = |ty: &DataType| ValueText::new(ty, Style::Quoted, settings);
        match ty.bare() {
            bare if !has_named_tuple(bare) => ValueText::Text(Writer::new(ty, style, settings)),
            DataType::Array(inner) => ValueText::Array(Box::new(inside(inner))),
            DataType::Map(key, value) => {
                ValueText::Map(Writer::new(key, Style::Quoted, settings), Box::new(inside(value)))
            }
            DataType::Tuple(fields) if fields.iter().all(|f| f.name.is_none()) => {
                ValueText::Tuple(fields.iter().map(|f| inside(&f.ty)).collect())
            }
            _ => {
                // Named values are members of objects in any case.
                let objects =
                    TextSettings { output_format_json_named_tuples_as_objects: true, ..settings.clone() };
                ValueText::Json(Writer::new(ty, Style::JsonPretty(1), &objects))
            }
        }
    }

    pub fn write(&self, out: &mut Vec<u8>, vector: &Vector, row: usize) {
        match (self, &vector.data) {
            (ValueText::Text(writer), _) => writer.write(out, vector, row),
            (ValueText::Json(writer), _) => {
                let mut text = Vec::new();
                writer.write(&mut text, vector, row);
                // Indented by spaces instead of tabs (which strings escape), the closing bracket by none.
                let closing = text.len().saturating_sub(2);
                for (i, &byte) in text.iter().enumerate() {
                    match byte {
                        b'\t' if i == closing => {}
                        b'\t' => out.push(b' '),
                        _ => out.push(byte),
                    }
                }
            }
            (ValueText::Object(writer), _) => {
                let mut text = Vec::new();
                writer.write(&mut text, vector, row);
                // Tabs stand only in indents: inside strings they are escaped.
                for &byte in &text {
                    match byte {
                        b'\t' => out.extend_from_slice(b"    "),
                        _ => out.push(byte),
                    }
                }
            }
            (ValueText::Array(element), Data::List(list)) => {
                out.push(b'[');
                for (i, e) in list.range(row).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    element.write(out, &list.values, e);
                }
                out.push(b']');
            }
            (ValueText::Map(key, value), Data::List(list)) => {
                let Data::Struct(pairs) = &list.values.data else { return };
                out.push(b'{');
                for (i, e) in list.range(row).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    key.write(out, &pairs.fields[0], e);
                    out.push(b':');
                    value.write(out, &pairs.fields[1], e);
                }
                out.push(b'}');
            }
            (ValueText::Tuple(fields), Data::Struct(s)) => {
                out.push(b'(');
                for (i, (field, vector)) in fields.iter().zip(&s.fields).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    field.write(out, vector, row);
                }
                out.push(b')');
            }
            _ => {}
        }
    }
}

fn has_named_tuple(ty: &DataType) -> bool {
    match ty.bare() {
        DataType::Tuple(fields) => {
            fields.iter().any(|f| f.name.is_some()) || fields.iter().any(|f| has_named_tuple(&f.ty))
        }
        DataType::Array(inner) => has_named_tuple(inner),
        DataType::Map(_, value) => has_named_tuple(value),
        _ => false,
    }
}

/// The texts of a result's columns.
pub struct ValueTexts(Vec<ValueText>);

impl ValueTexts {
    /// `tuples_as_json`: spread named tuples over lines.
    pub fn new(request: &WriteRequest, tuples_as_json: bool) -> ValueTexts {
        ValueTexts::of(request, tuples_as_json, false)
    }

    /// One value below the other, so that objects have lines of their own.
    pub fn vertical(request: &WriteRequest) -> ValueTexts {
        ValueTexts::of(request, false, true)
    }

    fn of(request: &WriteRequest, tuples_as_json: bool, objects_on_lines: bool) -> ValueTexts {
        let settings = text_settings(&request.settings, &request.time_zone);
        let text = |ty: &DataType| match tuples_as_json {
            _ if objects_on_lines && matches!(ty, DataType::Json(_)) => {
                ValueText::Object(Writer::new(ty, Style::JsonPretty(0), &settings))
            }
            true => ValueText::new(ty, Style::Plain, &settings),
            false => ValueText::Text(Writer::new(ty, Style::Plain, &settings)),
        };
        ValueTexts(request.header.iter().map(|(_, ty)| text(ty)).collect())
    }

    pub fn write(&self, out: &mut Vec<u8>, block: &Block, column: usize, row: usize) {
        let (vector, row) = block.column(column).locate(row);
        self.0[column].write(out, vector, row);
    }
}

/// How values are coloured.
#[derive(Clone, Copy)]
pub struct Colours {
    pub on: bool,
    digit_groups: bool,
    trailing_spaces: bool,
}

impl Colours {
    pub fn new(settings: &FormatSettings, terminal: bool, allowed: bool) -> Colours {
        let on = allowed && settings.output_format_pretty_color.0.map_or(terminal, |n| n != 0);
        Colours {
            on,
            digit_groups: on && settings.output_format_pretty_highlight_digit_groups,
            trailing_spaces: on && settings.output_format_pretty_highlight_trailing_spaces,
        }
    }

    /// `text` between an escape sequence and the one that ends it.
    pub fn put(self, out: &mut Vec<u8>, sequence: &str, text: &[u8]) {
        if self.on {
            out.extend_from_slice(sequence.as_bytes());
        }
        out.extend_from_slice(text);
        if self.on {
            out.extend_from_slice(b"\x1b[0m");
        }
    }

    /// A value, or a line of it: every third digit of a long number underlined, trailing white space marked.
    pub fn put_value(self, out: &mut Vec<u8>, text: &[u8], number: bool) {
        if number && self.digit_groups {
            return put_digit_groups(out, text);
        }
        let kept = text.len() - text.iter().rev().take_while(|b| is_space(**b)).count();
        out.extend_from_slice(&text[..kept]);
        if kept < text.len() {
            if self.trailing_spaces {
                out.extend_from_slice(b"\x1b[31m\x1b[4m");
                out.extend_from_slice(&text[kept..]);
                out.extend_from_slice(b"\x1b[0m");
            } else {
                out.extend_from_slice(&text[kept..]);
            }
        }
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

pub const BOLD: &str = "\x1b[1m";
pub const GREY: &str = "\x1b[90m";
pub const RED: &str = "\x1b[31;1m";

fn put_digit_groups(out: &mut Vec<u8>, text: &[u8]) {
    let start = usize::from(text.first() == Some(&b'-'));
    let digits = text[start..].iter().take_while(|b| b.is_ascii_digit()).count();
    if digits <= 4 {
        return out.extend_from_slice(text);
    }
    out.extend_from_slice(&text[..start]);
    for (i, &digit) in text[start..start + digits].iter().enumerate() {
        let left = digits - 1 - i;
        if left > 0 && left % 3 == 0 {
            out.extend_from_slice(&[0x1b, b'[', b'4', b'm', digit, 0x1b, b'[', b'0', b'm']);
        } else {
            out.push(digit);
        }
    }
    out.extend_from_slice(&text[start + digits..]);
}

const UNITS: &[&str] = &[
    "",
    " thousand",
    " million",
    " billion",
    " trillion",
    " quadrillion",
    " quintillion",
    " sextillion",
    " septillion",
    " octillion",
    " nonillion",
    " decillion",
    " undecillion",
    " duodecillion",
    " tredecillion",
    " quattuordecillion",
    " quindecillion",
    " sexdecillion",
    " septendecillion",
    " octodecillion",
    " novemdecillion",
    " vigintillion",
];

/// Numbers between these are taken for identifiers, to which a quantity says nothing.
const IDENTIFIERS: std::ops::RangeInclusive<f64> = 100_000_000_000_000_010.0..=18_446_744_073_709_551_616.0;

/// ` -- 1.23 million` for the text of a number beyond the threshold (0: never).
pub fn put_tip(out: &mut Vec<u8>, text: &[u8], threshold: u64, colours: Colours) {
    let number = std::str::from_utf8(text).ok().and_then(|t| t.parse::<f64>().ok());
    let Some(mut number) = number.filter(|x| x.is_finite() && !IDENTIFIERS.contains(&x.abs())) else {
        return;
    };
    if threshold == 0 || number.abs() <= threshold as f64 {
        return;
    }
    let mut unit = 0;
    while number.abs() >= 1000.0 && unit + 1 < UNITS.len() {
        number /= 1000.0;
        unit += 1;
    }
    // Beyond this there are no digits to show.
    let shown = if number.abs() < 1e60 { format!("{number:.2}") } else { format!("{number:e}") };
    let tip = format!(" -- {shown}{}", UNITS[unit]);
    colours.put(out, GREY, tip.as_bytes());
}
