//! `readWKBPoint` and its kin: geometries from their well-known binary form.

use super::shape::type_of_depth;
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Column};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::{DataType, Value};

/// The numbers of the kinds of geometry.
const POINT: u32 = 1;
const LINE: u32 = 2;
const POLYGON: u32 = 3;
const POINTS: u32 = 4;
const LINES: u32 = 5;
const POLYGONS: u32 = 6;

macro_rules! readers {
    ($($name:literal, $kind:ident, $depth:literal, $what:literal, $hex:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Plain] = &[$(Plain {
            record: Record {
                name: $name,
                summary: concat!($what, " from its well-known binary form."),
                syntax: concat!($name, "(wkb_string)"),
                examples: &[Example { sql: concat!("SELECT ", $name, "(unhex('", $hex, "'))"), result: $result }],
                ..Record::DEFAULT
            },
            bind: |name, args, ctx| bind(name, args, ctx, $depth),
            execute: |call| execute(call, $name, $kind),
        }),*];
    };
}

readers! {
    "readWKBPoint", POINT, 0, "A point", "01010000000000000000000000000000000000F03F" => "(0,1)";
    "readWKBLineString", LINE, 1, "A line", "010200000001000000000000000000F03F000000000000F03F" => "[(1,1)]";
    "readWKBPolygon", POLYGON, 2, "A polygon", "01030000000100000001000000000000000000F03F000000000000F03F" => "[[(1,1)]]";
    "readWKBMultiPoint", POINTS, 1, "Points", "01040000000100000001010000000000000000000000000000000000F03F" => "[(0,1)]";
    "readWKBMultiLineString", LINES, 2, "Lines",
        "010500000001000000010200000001000000000000000000F03F000000000000F03F" => "[[(1,1)]]";
    "readWKBMultiPolygon", POLYGONS, 3, "Polygons",
        "01060000000100000001030000000100000001000000000000000000F03F000000000000F03F" => "[[[(1,1)]]]";
}

fn bind(name: &'static str, args: &[Argument], _: &Context, depth: usize) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    ensure!(args[0].ty == DataType::String, ILLEGAL_TYPE_OF_ARGUMENT, "First argument should be String");
    Ok(type_of_depth(depth).into())
}

fn execute(call: &Call, name: &str, kind: u32) -> Result<Column> {
    let texts = StringArg::of(call, 0)?;
    let mut out = Builder::new(call.result);
    for row in 0..call.n_rows {
        let mut bytes = Bytes { rest: texts.get(row), big_endian: false };
        let found = bytes.header()?;
        ensure!(
            found == kind,
            BAD_ARGUMENTS,
            "Function {name}: expected a geometry of type {kind}, got one of type {found}"
        );
        out.push_value(&bytes.body(kind)?)?;
    }
    Ok(out.finish().into())
}

struct Bytes<'a> {
    rest: &'a [u8],
    big_endian: bool,
}

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((bytes, rest)) = self.rest.split_first_chunk::<N>() else {
            bail!(
                CANNOT_READ_ALL_DATA,
                "Cannot read all data. Bytes read: {}. Bytes expected: {N}",
                self.rest.len()
            );
        };
        self.rest = rest;
        Ok(*bytes)
    }

    fn number(&mut self) -> Result<u32> {
        let bytes = self.take()?;
        Ok(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn coordinate(&mut self) -> Result<Value> {
        let bytes = self.take()?;
        Ok(Value::Float(if self.big_endian { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }))
    }

    /// The order of bytes, and the kind of the geometry.
    fn header(&mut self) -> Result<u32> {
        self.big_endian = match self.rest.split_first() {
            Some((order @ (0 | 1), rest)) => {
                self.rest = rest;
                *order == 0
            }
            _ => bail!(BAD_ARGUMENTS, "Error while reading WKB format: Incorrect first flag"),
        };
        self.number()
    }

    fn list(&mut self, what: &str, mut item: impl FnMut(&mut Self) -> Result<Value>) -> Result<Value> {
        const MOST: u32 = 1_000_000;
        let n = self.number()?;
        ensure!(n <= MOST, TOO_LARGE_ARRAY_SIZE, "Too many {what} in WKB geometry: {n} (limit: {MOST})");
        // Room is made as items are read: the number may be larger than what follows.
        let mut items = Vec::new();
        for _ in 0..n {
            items.push(item(self)?);
        }
        Ok(Value::Array(items))
    }

    fn point(&mut self) -> Result<Value> {
        Ok(Value::Tuple(vec![self.coordinate()?, self.coordinate()?]))
    }

    fn points(&mut self) -> Result<Value> {
        self.list("points", Self::point)
    }

    fn body(&mut self, kind: u32) -> Result<Value> {
        // The parts of several geometries have headers of their own.
        let part = |expected: u32| {
            move |bytes: &mut Self| {
                let found = bytes.header()?;
                ensure!(
                    found == expected,
                    BAD_ARGUMENTS,
                    "Error while reading WKB format: a part is of type {found} instead of {expected}"
                );
                bytes.body(expected)
            }
        };
        match kind {
            POINT => self.point(),
            LINE => self.points(),
            POLYGON => self.list("rings", Self::points),
            POINTS => self.list("points", part(POINT)),
            LINES => self.list("lines", part(LINE)),
            _ => self.list("polygons", part(POLYGON)),
        }
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
