//! `wkb`, `readWKB`, `readWKBPoint` and its kin: geometries to and from their well-known binary form.

use super::shape::{Shape, Shapes, geometry};
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Column, StringBuilder, Vector, variant};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::{DataType, Geometry, Value};

/// The numbers of the kinds of geometry.
const POINT: u32 = 1;
const LINE: u32 = 2;
const POLYGON: u32 = 3;
const POINTS: u32 = 4;
const LINES: u32 = 5;
const POLYGONS: u32 = 6;

macro_rules! readers {
    ($($name:literal, $alias:literal, $kind:ident, $geometry:ident, $what:literal, $hex:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Plain] = &[$(Plain {
            record: Record {
                name: $name,
                aliases: &[$alias],
                summary: concat!($what, " from its well-known binary form."),
                syntax: concat!($name, "(wkb_string)"),
                examples: &[Example { sql: concat!("SELECT ", $name, "(unhex('", $hex, "'))"), result: $result }],
                ..Record::DEFAULT
            },
            bind: |name, args, ctx| bind(name, args, ctx, Geometry::$geometry),
            execute: |call| execute(call, $name, $kind),
        }),*];
    };
}

readers! {
    "readWKBPoint", "ST_PointFromWKB", POINT, Point, "A point", "01010000000000000000000000000000000000F03F" => "(0,1)";
    "readWKBLineString", "ST_LineFromWKB", LINE, LineString, "A line", "010200000001000000000000000000F03F000000000000F03F" => "[(1,1)]";
    "readWKBPolygon", "ST_PolyFromWKB", POLYGON, Polygon, "A polygon", "01030000000100000001000000000000000000F03F000000000000F03F" => "[[(1,1)]]";
    "readWKBMultiPoint", "ST_MPointFromWKB", POINTS, MultiPoint, "Points", "01040000000100000001010000000000000000000000000000000000F03F" => "[(0,1)]";
    "readWKBMultiLineString", "ST_MLineFromWKB", LINES, MultiLineString, "Lines",
        "010500000001000000010200000001000000000000000000F03F000000000000F03F" => "[[(1,1)]]";
    "readWKBMultiPolygon", "ST_MPolyFromWKB", POLYGONS, MultiPolygon, "Polygons",
        "01060000000100000001030000000100000001000000000000000000F03F000000000000F03F" => "[[[(1,1)]]]";
}

fn bind(name: &'static str, args: &[Argument], _: &Context, result: Geometry) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    ensure!(args[0].ty == DataType::String, ILLEGAL_TYPE_OF_ARGUMENT, "First argument should be String");
    Ok(result.data_type().into())
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

/// The geometry of any kind.
static READ: Plain = Plain {
    record: Record {
        name: "readWKB",
        aliases: &["readWkb"],
        summary: "A geometry of any kind from its well-known binary form.",
        syntax: "readWKB(wkb_string)",
        examples: &[Example {
            sql: "SELECT readWKB(unhex('01010000000000000000000000000000000000F03F'))",
            result: "(0,1)",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, Geometry::Any),
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        let mut parts = Vec::with_capacity(call.n_rows);
        for row in 0..call.n_rows {
            let mut bytes = Bytes { rest: texts.get(row), big_endian: false };
            let kind = bytes.header()?;
            let Some((_, geometry)) = KINDS.iter().find(|(known, _)| *known == kind) else {
                bail!(BAD_ARGUMENTS, "Incorrect geometry type {kind}");
            };
            parts.push((*geometry, bytes.body(kind)?));
        }
        several(parts, call.result)
    },
};

/// The numbers of kinds in the binary form.
const KINDS: [(u32, Geometry); 6] = [
    (POINT, Geometry::Point),
    (LINE, Geometry::LineString),
    (POLYGON, Geometry::Polygon),
    (POINTS, Geometry::MultiPoint),
    (LINES, Geometry::MultiLineString),
    (POLYGONS, Geometry::MultiPolygon),
];

/// A column of the type Geometry from values, each with its kind; NULL is of none.
pub fn several(values: Vec<(Geometry, Value)>, ty: &DataType) -> Result<Column> {
    let n_rows = values.len();
    let mut by_kind: Vec<(Geometry, Vec<u32>, Builder)> = Vec::new();
    for (row, (kind, value)) in values.into_iter().enumerate() {
        if value.is_null() {
            continue;
        }
        let at = match by_kind.iter().position(|(known, ..)| *known == kind) {
            Some(at) => at,
            None => {
                by_kind.push((kind, Vec::new(), Builder::new(&kind.data_type())));
                by_kind.len() - 1
            }
        };
        by_kind[at].1.push(row as u32);
        by_kind[at].2.push_value(&value)?;
    }
    let mut groups = Vec::with_capacity(by_kind.len());
    for (kind, rows, builder) in by_kind {
        groups.push((rows, variant::wrap(&builder.finish(), &kind.data_type(), ty)?));
    }
    Ok(variant::gather(&groups, n_rows, ty).into())
}

static WRITE: Plain = Plain {
    record: Record {
        name: "wkb",
        aliases: &["WKB"],
        summary: "The well-known binary form of a geometry, whose type must have a name.",
        syntax: "wkb(geometry)",
        examples: &[Example {
            sql: "SELECT hex(wkb((0., 1.)::Point))",
            result: "01010000000000000000000000000000000000F03F",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        ensure!(
            ty.geometry().is_some_and(|named| named != Geometry::Ring),
            BAD_ARGUMENTS,
            "{name} function is not supported for type {ty}"
        );
        geometry(ty)?;
        Ok(DataType::String.into())
    },
    execute: |call| {
        let shapes = Shapes::of(&call.args[0])?;
        let mut out = StringBuilder::with_capacity(call.n_rows);
        for row in 0..call.n_rows {
            let mut bytes = Vec::new();
            if let Some(shape) = shapes.shape(row) {
                put(&mut bytes, &shape);
            }
            out.push(&bytes);
        }
        Ok(Vector::from(out.finish()).into())
    },
};

/// Appends a geometry, little-endian.
fn put(out: &mut Vec<u8>, shape: &Shape) {
    let header = |out: &mut Vec<u8>, kind: u32| {
        out.push(1);
        out.extend_from_slice(&kind.to_le_bytes());
    };
    let number = |out: &mut Vec<u8>, n: usize| out.extend_from_slice(&(n as u32).to_le_bytes());
    let point = |out: &mut Vec<u8>, (x, y): (f64, f64)| {
        out.extend_from_slice(&x.to_le_bytes());
        out.extend_from_slice(&y.to_le_bytes());
    };
    let points = |out: &mut Vec<u8>, points: &[(f64, f64)]| {
        number(out, points.len());
        points.iter().for_each(|one| point(out, *one));
    };
    let polygon = |out: &mut Vec<u8>, rings: &[Vec<(f64, f64)>]| {
        header(out, POLYGON);
        // An outer ring without points is none.
        let n_rings = if rings.len() == 1 && rings[0].is_empty() { 0 } else { rings.len() };
        number(out, n_rings);
        rings[..n_rings].iter().for_each(|ring| points(out, ring));
    };
    match shape.geometry {
        Geometry::Point => {
            header(out, POINT);
            shape.points().for_each(|one| point(out, one));
        }
        Geometry::MultiPoint => {
            header(out, POINTS);
            number(out, shape.points().count());
            for one in shape.points() {
                header(out, POINT);
                point(out, one);
            }
        }
        Geometry::LineString | Geometry::Ring => {
            header(out, LINE);
            shape.lists().for_each(|line| points(out, line));
        }
        Geometry::MultiLineString => {
            header(out, LINES);
            number(out, shape.lists().count());
            for line in shape.lists() {
                header(out, LINE);
                points(out, line);
            }
        }
        Geometry::Polygon => shape.parts.iter().for_each(|rings| polygon(out, rings)),
        Geometry::MultiPolygon | Geometry::Any => {
            header(out, POLYGONS);
            number(out, shape.parts.len());
            shape.parts.iter().for_each(|rings| polygon(out, rings));
        }
    }
}

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&READ);
    registry.add_scalar(&WRITE);
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
