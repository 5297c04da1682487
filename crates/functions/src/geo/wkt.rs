//! `wkt`, `readWKT`, `readWKTPoint` and its kin: geometries to and from their well-known text.

use super::shape::{Shape, Shapes, geometry};
use super::{six_digits, wkb};
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Error, Result, ensure, err};
use chalet_columns::{Builder, Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::{DataType, Geometry, Value};

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
            bind: |name, args, ctx| bind(name, args, ctx, Geometry::$kind),
            execute: |call| execute(call, Geometry::$kind, $word),
        }),*];
    };
}

readers! {
    "readWKTPoint", Point, "POINT", "A point", "SELECT readWKTPoint('POINT (1.2 3.4)')" => "(1.2,3.4)";
    "readWKTMultiPoint", MultiPoint, "MULTIPOINT", "Points", "SELECT readWKTMultiPoint('MULTIPOINT (1 2, 3 4)')" => "[(1,2),(3,4)]";
    "readWKTLineString", LineString, "LINESTRING", "A line", "SELECT readWKTLineString('LINESTRING (1 1, 2 2)')" => "[(1,1),(2,2)]";
    "readWKTMultiLineString", MultiLineString, "MULTILINESTRING", "Lines",
        "SELECT readWKTMultiLineString('MULTILINESTRING ((1 1, 2 2), (3 3, 4 4))')" => "[[(1,1),(2,2)],[(3,3),(4,4)]]";
    "readWKTRing", Ring, "POLYGON", "A ring", "SELECT readWKTRing('POLYGON ((1 1, 2 2, 3 3, 1 1))')" => "[(1,1),(2,2),(3,3),(1,1)]";
    "readWKTPolygon", Polygon, "POLYGON", "A polygon",
        "SELECT readWKTPolygon('POLYGON ((0 0, 0 2, 2 2, 0 0))')" => "[[(0,0),(0,2),(2,2),(0,0)]]";
    "readWKTMultiPolygon", MultiPolygon, "MULTIPOLYGON", "Polygons",
        "SELECT readWKTMultiPolygon('MULTIPOLYGON (((0 0, 0 2, 2 2, 0 0)))')" => "[[[(0,0),(0,2),(2,2),(0,0)]]]";
}

fn bind(name: &'static str, args: &[Argument], _: &Context, kind: Geometry) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    ensure!(args[0].ty == DataType::String, ILLEGAL_TYPE_OF_ARGUMENT, "First argument should be String");
    Ok(kind.data_type().into())
}

fn execute(call: &Call, kind: Geometry, word: &str) -> Result<Column> {
    let texts = StringArg::of(call, 0)?;
    let mut out = Builder::new(call.result);
    for row in 0..call.n_rows {
        out.push_value(&read(texts.get(row), kind, word)?)?;
    }
    Ok(out.finish().into())
}

fn read(text: &[u8], kind: Geometry, word: &str) -> Result<Value> {
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
            Geometry::Point => {
                return Err(err!(CANNOT_PARSE_TEXT, "Empty points are not supported: {text}"));
            }
            // A polygon always has an outer ring.
            Geometry::Polygon => Value::Array(vec![Value::Array(Vec::new())]),
            _ => Value::Array(Vec::new()),
        }
    } else {
        match kind {
            Geometry::Point => {
                words.expect("(")?;
                let point = words.point()?;
                words.expect(")")?;
                point
            }
            Geometry::Ring => {
                words.expect("(")?;
                let ring = words.points()?;
                words.expect(")")?;
                ring
            }
            Geometry::MultiPoint | Geometry::LineString => words.points()?,
            Geometry::MultiLineString | Geometry::Polygon => words.list(Words::points)?,
            Geometry::MultiPolygon | Geometry::Any => words.list(|words| words.list(Words::points))?,
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

/// The geometry of any kind.
static READ: Plain = Plain {
    record: Record {
        name: "readWKT",
        aliases: &["readWkt"],
        summary: "A geometry of any kind from its well-known text.",
        syntax: "readWKT(wkt_string)",
        examples: &[Example { sql: "SELECT readWKT('LINESTRING (1 1, 2 2)')", result: "[(1,1),(2,2)]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, Geometry::Any),
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        let value = |row| {
            let text = texts.get(row);
            let shown = String::from_utf8_lossy(text);
            let first = Words { text: &shown, rest: &shown }.next().unwrap_or_default().to_ascii_uppercase();
            let Some((word, kind)) = KINDS.iter().find(|(word, _)| *word == first) else {
                return Err(err!(BAD_ARGUMENTS, "Incorrect WKT format value: {shown}"));
            };
            // A ring is written as a polygon.
            let word = if *kind == Geometry::Ring { "POLYGON" } else { word };
            Ok((*kind, read(text, *kind, word)?))
        };
        wkb::several((0..call.n_rows).map(value).collect::<Result<_>>()?, call.result)
    },
};

/// The words that texts of geometries begin with.
const KINDS: [(&str, Geometry); 7] = [
    ("POINT", Geometry::Point),
    ("MULTIPOINT", Geometry::MultiPoint),
    ("LINESTRING", Geometry::LineString),
    ("MULTILINESTRING", Geometry::MultiLineString),
    ("POLYGON", Geometry::Polygon),
    ("MULTIPOLYGON", Geometry::MultiPolygon),
    ("RING", Geometry::Ring),
];

static WRITE: Plain = Plain {
    record: Record {
        name: "wkt",
        aliases: &["WKT"],
        summary: "The well-known text of a geometry, coordinates with six significant digits.",
        syntax: "wkt(geometry)",
        examples: &[Example { sql: "SELECT wkt((1.5, 2.))", result: "POINT(1.5 2)" }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        geometry(&args[0].ty)?;
        Ok(DataType::String.into())
    },
    execute: |call| {
        let shapes = Shapes::of(&call.args[0])?;
        let mut out = StringBuilder::with_capacity(call.n_rows);
        for row in 0..call.n_rows {
            let mut text = String::new();
            if let Some(shape) = shapes.shape(row) {
                shape.check_finite()?;
                put(&mut text, &shape);
            }
            out.push(text.as_bytes());
        }
        Ok(Vector::from(out.finish()).into())
    },
};

type Point = (f64, f64);

fn put_point(out: &mut String, (x, y): Point) {
    six_digits::put(out, x);
    out.push(' ');
    six_digits::put(out, y);
}

fn put_list<T>(out: &mut String, items: impl IntoIterator<Item = T>, mut put: impl FnMut(&mut String, T)) {
    out.push('(');
    for (at, item) in items.into_iter().enumerate() {
        out.push_str(if at == 0 { "" } else { "," });
        put(out, item);
    }
    out.push(')');
}

fn put_points(out: &mut String, points: &[Point]) {
    put_list(out, points.iter().copied(), put_point);
}

/// Rings are shown closed.
fn put_polygon(out: &mut String, rings: &Vec<Vec<Point>>) {
    if let [outer] = &rings[..]
        && outer.is_empty()
    {
        out.push_str("()");
        return;
    }
    put_list(out, rings, |out, ring| {
        let close = ring.first().filter(|first| ring.len() > 1 && Some(*first) != ring.last());
        put_list(out, ring.iter().chain(close).copied(), put_point);
    });
}

fn put(out: &mut String, shape: &Shape) {
    // A ring is written as a polygon.
    let kind = if shape.geometry == Geometry::Ring { Geometry::Polygon } else { shape.geometry };
    let word = KINDS.iter().find(|(_, known)| *known == kind).map_or("", |(word, _)| word);
    out.push_str(word);
    match shape.geometry {
        Geometry::Point => put_list(out, shape.points(), put_point),
        Geometry::MultiPoint => {
            put_list(out, shape.points(), |out, point| put_list(out, [point], put_point));
        }
        Geometry::LineString => shape.lists().for_each(|line| put_points(out, line)),
        Geometry::MultiLineString => put_list(out, shape.lists(), put_points),
        Geometry::Ring if shape.points().next().is_none() => out.push_str("()"),
        // A ring of its own is shown as it is.
        Geometry::Ring => put_list(out, shape.lists(), put_points),
        Geometry::Polygon => shape.parts.iter().for_each(|rings| put_polygon(out, rings)),
        Geometry::MultiPolygon | Geometry::Any => put_list(out, &shape.parts, put_polygon),
    }
}

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&READ);
    registry.add_scalar(&WRITE);
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
