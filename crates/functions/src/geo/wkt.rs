//! `readWKTPoint` and its kin: geometries from their well-known text.

use super::shape::type_of_depth;
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Error, Result, ensure, err};
use chalet_columns::{Builder, Column};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::{DataType, Value};

/// How the lists of a geometry nest in its text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Point,
    /// Points, each of which may be in parentheses of its own.
    Points,
    Line,
    /// A polygon of one ring, of which the result is the ring.
    Ring,
    Lines,
    Polygon,
    Polygons,
}

impl Kind {
    fn depth(self) -> usize {
        match self {
            Kind::Point => 0,
            Kind::Points | Kind::Line | Kind::Ring => 1,
            Kind::Lines | Kind::Polygon => 2,
            Kind::Polygons => 3,
        }
    }
}

macro_rules! readers {
    ($($name:literal, $kind:ident, $word:literal, $what:literal, $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Plain] = &[$(Plain {
            record: Record {
                name: $name,
                summary: concat!($what, " from its well-known text."),
                syntax: concat!($name, "(wkt_string)"),
                examples: &[Example { sql: $sql, result: $result }],
                ..Record::DEFAULT
            },
            bind: |name, args, ctx| bind(name, args, ctx, Kind::$kind),
            execute: |call| execute(call, Kind::$kind, $word),
        }),*];
    };
}

readers! {
    "readWKTPoint", Point, "POINT", "A point", "SELECT readWKTPoint('POINT (1.2 3.4)')" => "(1.2,3.4)";
    "readWKTMultiPoint", Points, "MULTIPOINT", "Points", "SELECT readWKTMultiPoint('MULTIPOINT (1 2, 3 4)')" => "[(1,2),(3,4)]";
    "readWKTLineString", Line, "LINESTRING", "A line", "SELECT readWKTLineString('LINESTRING (1 1, 2 2)')" => "[(1,1),(2,2)]";
    "readWKTMultiLineString", Lines, "MULTILINESTRING", "Lines",
        "SELECT readWKTMultiLineString('MULTILINESTRING ((1 1, 2 2), (3 3, 4 4))')" => "[[(1,1),(2,2)],[(3,3),(4,4)]]";
    "readWKTRing", Ring, "POLYGON", "A ring", "SELECT readWKTRing('POLYGON ((1 1, 2 2, 3 3, 1 1))')" => "[(1,1),(2,2),(3,3),(1,1)]";
    "readWKTPolygon", Polygon, "POLYGON", "A polygon",
        "SELECT readWKTPolygon('POLYGON ((0 0, 0 2, 2 2, 0 0))')" => "[[(0,0),(0,2),(2,2),(0,0)]]";
    "readWKTMultiPolygon", Polygons, "MULTIPOLYGON", "Polygons",
        "SELECT readWKTMultiPolygon('MULTIPOLYGON (((0 0, 0 2, 2 2, 0 0)))')" => "[[[(0,0),(0,2),(2,2),(0,0)]]]";
}

fn bind(name: &'static str, args: &[Argument], _: &Context, kind: Kind) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    ensure!(args[0].ty == DataType::String, ILLEGAL_TYPE_OF_ARGUMENT, "First argument should be String");
    Ok(type_of_depth(kind.depth()).into())
}

fn execute(call: &Call, kind: Kind, word: &str) -> Result<Column> {
    let texts = StringArg::of(call, 0)?;
    let mut out = Builder::new(call.result);
    for row in 0..call.n_rows {
        out.push_value(&read(texts.get(row), kind, word)?)?;
    }
    Ok(out.finish().into())
}

fn read(text: &[u8], kind: Kind, word: &str) -> Result<Value> {
    let text = String::from_utf8_lossy(text);
    let mut words = Words { text: &text, rest: &text };
    if !words.next().is_some_and(|first| first.eq_ignore_ascii_case(word)) {
        return Err(err!(
            CANNOT_PARSE_TEXT,
            "Cannot parse WKT string: Should start with '{word}'' in ({text})"
        ));
    }
    let value = if words.peek().is_some_and(|next| next.eq_ignore_ascii_case("EMPTY")) {
        words.next();
        match kind {
            Kind::Point => {
                return Err(err!(CANNOT_PARSE_TEXT, "Empty points are not supported: {text}"));
            }
            // A polygon always has an outer ring.
            Kind::Polygon => Value::Array(vec![Value::Array(Vec::new())]),
            _ => Value::Array(Vec::new()),
        }
    } else {
        match kind {
            Kind::Point => {
                words.expect("(")?;
                let point = words.point()?;
                words.expect(")")?;
                point
            }
            Kind::Ring => {
                words.expect("(")?;
                let ring = words.points()?;
                words.expect(")")?;
                ring
            }
            Kind::Points | Kind::Line => words.points()?,
            Kind::Lines | Kind::Polygon => words.list(Words::points)?,
            Kind::Polygons => words.list(|words| words.list(Words::points))?,
        }
    };
    match words.next() {
        None => Ok(value),
        Some(_) => Err(words.fail("Too many tokens")),
    }
}

/// Parentheses, commas, and what stands between them and white space.
struct Words<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let first = rest.chars().next()?;
        let is_mark = |c: char| matches!(c, '(' | ')' | ',');
        let len = match is_mark(first) {
            true => 1,
            false => rest.find(|c: char| is_mark(c) || c.is_whitespace()).unwrap_or(rest.len()),
        };
        Some(&rest[..len])
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.rest = &self.rest.trim_start()[word.len()..];
        Some(word)
    }

    fn fail(&self, what: &str) -> Error {
        let place = self.peek().map_or_else(String::new, |word| format!(" at '{word}'"));
        err!(CANNOT_PARSE_TEXT, "Cannot parse WKT string: {what}{place} in '{}'", self.text)
    }

    fn expect(&mut self, mark: &str) -> Result<()> {
        if self.peek() != Some(mark) {
            return Err(self.fail(&format!("Expected '{mark}'")));
        }
        self.next();
        Ok(())
    }

    /// A coordinate; one that is left out is 0.
    fn coordinate(&mut self) -> Result<f64> {
        let Some(word) = self.peek().filter(|word| !matches!(*word, "(" | ")" | ",")) else { return Ok(0.0) };
        let number = word.parse::<f64>().ok();
        // Only a word without digits is infinity.
        let number = number.filter(|x| !x.is_infinite() || !word.contains(|c: char| c.is_ascii_digit()));
        let fail = || self.fail("bad lexical cast: source type value could not be interpreted as target");
        let number = number.ok_or_else(fail)?;
        self.next();
        Ok(number)
    }

    fn point(&mut self) -> Result<Value> {
        let (x, y) = (self.coordinate()?, self.coordinate()?);
        Ok(Value::Tuple(vec![Value::Float(x), Value::Float(y)]))
    }

    fn points(&mut self) -> Result<Value> {
        self.list(|words| {
            let own = words.peek() == Some("(");
            if own {
                words.next();
            }
            let point = words.point()?;
            if own {
                words.expect(")")?;
            }
            Ok(point)
        })
    }

    fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result<Value>) -> Result<Value> {
        self.expect("(")?;
        let mut items = Vec::new();
        if self.peek() != Some(")") {
            items.push(item(self)?);
            while self.peek() == Some(",") {
                self.next();
                items.push(item(self)?);
            }
        }
        self.expect(")")?;
        Ok(Value::Array(items))
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
