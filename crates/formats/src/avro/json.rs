//! The JSON that schemas are written in.

use chalet_base::{Result, bail, ensure, err};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::string;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// As it stands.
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Values nest no deeper.
const MAX_DEPTH: usize = 200;

impl Json {
    pub fn parse(text: &[u8]) -> Result<Json> {
        let mut cur = Cursor::new(text);
        let value = parse(&mut cur, 0)?;
        cur.skip_whitespace();
        ensure!(cur.is_at_end(), INCORRECT_DATA, "Text follows the JSON of an Avro schema");
        Ok(value)
    }

    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|m| m.0 == name).map(|m| &m.1),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn number(&self) -> Option<u64> {
        match self {
            Json::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub fn array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }
}

fn text(cur: &mut Cursor<'_>) -> Result<String> {
    let mut text = Vec::new();
    string::json(cur, &mut text)?;
    String::from_utf8(text).map_err(|_| err!(INCORRECT_DATA, "Avro schema is not valid UTF-8"))
}

fn parse(cur: &mut Cursor<'_>, depth: usize) -> Result<Json> {
    ensure!(depth < MAX_DEPTH, INCORRECT_DATA, "Avro schema is nested deeper than {MAX_DEPTH}");
    cur.skip_whitespace();
    match cur.peek() {
        Some(b'"') => text(cur).map(Json::Text),
        Some(b'{') => {
            cur.advance(1);
            let mut members = Vec::new();
            loop {
                cur.skip_whitespace();
                if cur.accept(b'}') {
                    return Ok(Json::Object(members));
                }
                if !members.is_empty() {
                    cur.expect(b',')?;
                    cur.skip_whitespace();
                }
                let name = text(cur)?;
                cur.skip_whitespace();
                cur.expect(b':')?;
                members.push((name, parse(cur, depth + 1)?));
            }
        }
        Some(b'[') => {
            cur.advance(1);
            let mut items = Vec::new();
            loop {
                cur.skip_whitespace();
                if cur.accept(b']') {
                    return Ok(Json::Array(items));
                }
                if !items.is_empty() {
                    cur.expect(b',')?;
                }
                items.push(parse(cur, depth + 1)?);
            }
        }
        _ => {
            let word = cur.take_until(|b| b.is_ascii_whitespace() || matches!(b, b',' | b']' | b'}' | b':'));
            Ok(match word {
                b"null" => Json::Null,
                b"true" => Json::Bool(true),
                b"false" => Json::Bool(false),
                [b'-' | b'0'..=b'9', ..] => Json::Number(String::from_utf8_lossy(word).into_owned()),
                _ => bail!(INCORRECT_DATA, "Avro schema is not JSON: '{}'", String::from_utf8_lossy(word)),
            })
        }
    }
}
