//! JSON values that are made to be printed: members keep their order.

use std::fmt::{Display, Formatter, Result, Write};

pub enum Json {
    Null,
    Number(u64),
    Float(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    pub fn text(value: impl Into<String>) -> Json {
        Json::Text(value.into())
    }

    pub fn array(values: impl IntoIterator<Item = Json>) -> Json {
        Json::Array(values.into_iter().collect())
    }
}

impl Display for Json {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Number(value) => write!(f, "{value}"),
            Json::Float(value) if value.is_finite() => write!(f, "{value}"),
            // JSON has no other numbers.
            Json::Float(_) => f.write_str("null"),
            Json::Text(value) => quoted(value, f),
            Json::Array(values) => {
                let mut before = '[';
                for value in values {
                    write!(f, "{before}{value}")?;
                    before = ',';
                }
                f.write_str(if values.is_empty() { "[]" } else { "]" })
            }
            Json::Object(members) => {
                let mut before = '{';
                for (name, value) in members {
                    f.write_char(before)?;
                    quoted(name, f)?;
                    write!(f, ":{value}")?;
                    before = ',';
                }
                f.write_str(if members.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

fn quoted(value: &str, f: &mut Formatter<'_>) -> Result {
    f.write_char('"')?;
    for c in value.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            c if u32::from(c) < 0x20 || u32::from(c) == 0x7f => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_printed_as_json() {
        let value = Json::Object(vec![
            ("a", Json::Number(1)),
            (
                "b\"",
                Json::array([Json::text("x\\\n\u{1}é"), Json::Null, Json::Float(0.5), Json::Object(vec![])]),
            ),
            ("c", Json::array([])),
            ("d", Json::Float(f64::INFINITY)),
        ]);
        assert_eq!(value.to_string(), r#"{"a":1,"b\"":["x\\\u000a\u0001é",null,0.5,{}],"c":[],"d":null}"#);
    }
}
