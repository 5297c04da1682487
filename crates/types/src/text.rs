//! The text form of types: `Display`, the inverse of [`type_parser`](crate::type_parser).

use crate::{DataType, EnumValues, TimeZone, TupleField};
use std::fmt;

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use DataType::*;
        let zone = |zone: &Option<TimeZone>| zone.as_ref().map(|z| quoted(z.name()));
        if let Some(geometry) = self.geometry() {
            return f.write_str(geometry.name());
        }
        if let Some(elements) = self.nested_elements() {
            f.write_str("Nested(")?;
            write_elements(f, elements)?;
            return f.write_str(")");
        }
        match self {
            Nothing => f.write_str("Nothing"),
            Bool => f.write_str("Bool"),
            UInt8 => f.write_str("UInt8"),
            UInt16 => f.write_str("UInt16"),
            UInt32 => f.write_str("UInt32"),
            UInt64 => f.write_str("UInt64"),
            UInt128 => f.write_str("UInt128"),
            UInt256 => f.write_str("UInt256"),
            Int8 => f.write_str("Int8"),
            Int16 => f.write_str("Int16"),
            Int32 => f.write_str("Int32"),
            Int64 => f.write_str("Int64"),
            Int128 => f.write_str("Int128"),
            Int256 => f.write_str("Int256"),
            BFloat16 => f.write_str("BFloat16"),
            Float32 => f.write_str("Float32"),
            Float64 => f.write_str("Float64"),
            Decimal { precision, scale } => write!(f, "Decimal({precision}, {scale})"),
            String => f.write_str("String"),
            FixedString(n) => write!(f, "FixedString({n})"),
            Uuid => f.write_str("UUID"),
            IPv4 => f.write_str("IPv4"),
            IPv6 => f.write_str("IPv6"),
            Date => f.write_str("Date"),
            Date32 => f.write_str("Date32"),
            DateTime(None) => f.write_str("DateTime"),
            DateTime(z) => write!(f, "DateTime({})", zone(z).unwrap_or_default()),
            DateTime64(scale, None) => write!(f, "DateTime64({scale})"),
            DateTime64(scale, z) => write!(f, "DateTime64({scale}, {})", zone(z).unwrap_or_default()),
            Time => f.write_str("Time"),
            Time64(scale) => write!(f, "Time64({scale})"),
            Interval(unit) => write!(f, "Interval{}", unit.name()),
            Enum8(values) => write_enum(f, "Enum8", values),
            Enum16(values) => write_enum(f, "Enum16", values),
            LowCardinality(inner) => write!(f, "LowCardinality({inner})"),
            Nullable(inner) => write!(f, "Nullable({inner})"),
            Array(inner) => write!(f, "Array({inner})"),
            Map(key, value) => write!(f, "Map({key}, {value})"),
            Variant(types) => {
                f.write_str("Variant(")?;
                for (i, ty) in types.iter().enumerate() {
                    write!(f, "{}{ty}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
            Dynamic(DataType::DEFAULT_DYNAMIC_TYPES) => f.write_str("Dynamic"),
            Dynamic(max_types) => write!(f, "Dynamic(max_types={max_types})"),
            Json(json) => write!(f, "{json}"),
            Tuple(fields) => {
                f.write_str("Tuple(")?;
                write_elements(f, fields)?;
                f.write_str(")")
            }
            QBit(vectors) => write!(f, "{vectors}"),
            AggregateFunction(states) => write!(f, "{states}"),
            SimpleAggregate(named) => write!(f, "SimpleAggregateFunction({}, {})", named.function, named.ty),
        }
    }
}

fn write_elements(f: &mut fmt::Formatter<'_>, elements: &[TupleField]) -> fmt::Result {
    for (i, element) in elements.iter().enumerate() {
        f.write_str(if i == 0 { "" } else { ", " })?;
        if let Some(name) = &element.name {
            write_identifier(f, name)?;
            f.write_str(" ")?;
        }
        write!(f, "{}", element.ty)?;
    }
    Ok(())
}

impl DataType {
    /// The text form that `toTypeName` and DESCRIBE show: named tuples have a line for each element.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(&mut out, 0);
        out
    }

    fn write_pretty(&self, out: &mut String, depth: usize) {
        use fmt::Write;
        // Writing to a String cannot fail.
        let _ = match self {
            named if named.geometry().is_some() || named.nested_elements().is_some() => {
                write!(out, "{named}")
            }
            DataType::Tuple(fields) => {
                let named = fields.iter().any(|f| f.name.is_some());
                out.push_str("Tuple(");
                for (i, field) in fields.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { "," });
                    match &field.name {
                        Some(name) => {
                            let indent = 4 * (depth + 1);
                            let _ = write!(out, "\n{:indent$}{} ", "", Identifier(name));
                        }
                        None if i > 0 => out.push(' '),
                        None => {}
                    }
                    field.ty.write_pretty(out, depth + usize::from(named));
                }
                out.push(')');
                Ok(())
            }
            DataType::Array(inner) => {
                out.push_str("Array(");
                inner.write_pretty(out, depth);
                out.push(')');
                Ok(())
            }
            DataType::Variant(types) => {
                out.push_str("Variant(");
                for (i, ty) in types.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    ty.write_pretty(out, depth);
                }
                out.push(')');
                Ok(())
            }
            DataType::Map(key, value) => {
                out.push_str("Map(");
                key.write_pretty(out, depth);
                out.push_str(", ");
                value.write_pretty(out, depth);
                out.push(')');
                Ok(())
            }
            other => write!(out, "{other}"),
        };
    }
}

/// The text of a type as statements print it: the elements of a tuple that has several stand on lines of their own. `depth` says how
/// many steps what is around it is indented.
pub fn laid_out(text: &str, depth: usize) -> String {
    let mut out = String::with_capacity(text.len());
    // For each open parenthesis: is it of a tuple with several elements?
    let mut open: Vec<bool> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let quoted = if matches!(c, '\'' | '`') { quoted_len(rest) } else { 0 };
        if quoted > 0 {
            out.push_str(&rest[..quoted]);
            rest = &rest[quoted..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let mut is_broken = false;
        match c {
            '(' => {
                let is_tuple = out.ends_with("Tuple") && !out.ends_with("NamedTuple");
                is_broken = is_tuple && has_several(rest);
                open.push(is_broken);
            }
            ')' => _ = open.pop(),
            ',' => is_broken = open.last() == Some(&true),
            _ => {}
        }
        out.push(c);
        if is_broken {
            let steps = depth + open.iter().filter(|is_tuple| **is_tuple).count();
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', 4 * steps));
            rest = rest.trim_start();
        }
    }
    out
}

/// The bytes of a quoted text at the start.
fn quoted_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != bytes[0] {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Is there a comma before the parenthesis that closes what has been opened?
fn has_several(text: &str) -> bool {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '\'' | '`' => {
                at += quoted_len(&text[at..]);
                continue;
            }
            '(' => depth += 1,
            ')' if depth == 0 => return false,
            ')' => depth -= 1,
            ',' if depth == 0 => return true,
            _ => {}
        }
        at += c.len_utf8();
    }
    false
}

/// A name as types show it.
pub(crate) struct Identifier<'a>(pub &'a str);

impl fmt::Display for Identifier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_identifier(f, self.0)
    }
}

fn write_enum(f: &mut fmt::Formatter<'_>, family: &str, values: &EnumValues) -> fmt::Result {
    write!(f, "{family}(")?;
    for (i, (name, number)) in values.entries().iter().enumerate() {
        write!(f, "{}{} = {number}", if i == 0 { "" } else { ", " }, quoted(name))?;
    }
    f.write_str(")")
}

/// Words that are never names without quotes, in any case.
const RESERVED: [&str; 13] = [
    "ALL", "DISTINCT", "FALSE", "FROM", "INF", "INFINITY", "NAN", "NULL", "SELECT", "TABLE", "TOP", "TRUE",
    "VALUES",
];

/// A name as the kernel prints it: bare when it is a plain word, else in backquotes.
fn write_identifier(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !RESERVED.iter().any(|word| name.eq_ignore_ascii_case(word));
    if plain { f.write_str(name) } else { write!(f, "`{}`", name.replace('\\', "\\\\").replace('`', "\\`")) }
}

pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "UInt8",
            "Nullable(String)",
            "Array(Array(Nullable(Int256)))",
            "LowCardinality(Nullable(String))",
            "Map(String, Array(UInt8))",
            "Tuple(a Int8, `b c` String)",
            "Tuple(UInt8, String)",
            "Tuple()",
            "Decimal(10, 3)",
            "DateTime('Asia/Tokyo')",
            "DateTime64(3, 'UTC')",
            "Enum8('it\\'s' = 1, 'b' = 5)",
            "FixedString(16)",
            "IntervalDay",
            "Time64(6)",
            "QBit(BFloat16, 16, 8)",
        ] {
            assert_eq!(text.parse::<DataType>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn aliases_resolve() {
        for (text, expected) in [
            ("INT UNSIGNED", "UInt32"),
            ("int(11) unsigned", "UInt32"),
            ("double precision", "Float64"),
            ("Tuple(x DOUBLE PRECISION, y CHAR VARYING(3))", "Tuple(x Float64, y String)"),
            ("Decimal32(4)", "Decimal(9, 4)"),
            ("Enum('a', 'b' = 1000)", "Enum16('a' = 1, 'b' = 1000)"),
            ("Nested(a INT, b String)", "Nested(a Int32, b String)"),
            ("Tuple(date Date, string String)", "Tuple(date Date, string String)"),
        ] {
            assert_eq!(text.parse::<DataType>().unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn errors_name_the_cause() {
        for (text, code) in [
            ("Foo", 50),
            ("", 62),
            ("Array(Int8", 62),
            ("Nullable(Array(UInt8))", 43),
            ("FixedString(0)", 223),
            ("Decimal(77, 1)", 69),
            ("DateTime64(10)", 69),
            ("Enum8('a' = 300)", 69),
            ("Tuple(a Int8, Int8)", 36),
            ("QBit(UInt8, 4)", 43),
            ("QBit(Int8)", 42),
            ("QBit(Int8, 16, 3)", 223),
            ("QBit(Int8, 65536, 8)", 36),
            ("QBit(Int8, 4294967296)", 69),
        ] {
            assert_eq!(text.parse::<DataType>().unwrap_err().code().number, code, "{text}");
        }
        let deep = "Array(".repeat(100_000);
        assert_eq!(deep.parse::<DataType>().unwrap_err().code().number, 306);
    }
}
