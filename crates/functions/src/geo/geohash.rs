//! `geohashEncode`, `geohashDecode`, `geohashesInBox`: cells of a grid over longitude and latitude, named by interleaving the bits of
//! both, five to a character.

use crate::lanes::{Operand, unary};
use crate::lists::list;
use crate::plain::Plain;
use crate::string_args::{StringArg, build, check_type};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Data, StringBuilder, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Example, Record};
use chalet_types::{DataType, TupleField};

/// Characters of the finest cells.
const LONGEST: usize = 12;

/// More cells are refused.
const MOST_CELLS: u64 = 10_000_000;

const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

const LONGITUDE: (f64, f64) = (-180.0, 180.0);
const LATITUDE: (f64, f64) = (-90.0, 90.0);

pub static ENCODE: Plain = Plain {
    record: Record {
        name: "geohashEncode",
        summary: "The geohash of a place, of 12 characters unless fewer are asked for.",
        syntax: "geohashEncode(longitude, latitude[, precision])",
        examples: &[Example {
            sql: "SELECT geohashEncode(-5.60302734375, 42.593994140625, 5)",
            result: "ezs42",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 2..=3)?;
        for (index, arg) in args.iter().enumerate().take(2) {
            check_type(is_coordinate(&arg.ty), name, index, "Float*", &arg.ty)?;
        }
        if let Some(arg) = args.get(2) {
            check_type(arg.ty.is_integer(), name, 2, "(U)Int*", &arg.ty)?;
        }
        Ok(DataType::String.into())
    },
    execute: |call| {
        let (x, y) = (coordinates(call, 0)?, coordinates(call, 1)?);
        let precisions = match call.args.len() {
            3 => Some(crate::string_args::integers(call, 2)?),
            _ => None,
        };
        Ok(build(call.n_rows, |row, out| {
            let asked = precisions.as_ref().map_or(0, |precisions| precisions[row]);
            encode(x[row], y[row], precision_of(asked), out);
        }))
    },
};

pub static DECODE: Plain = Plain {
    record: Record {
        name: "geohashDecode",
        summary: "The longitude and latitude of the centre of the cell that a geohash names.",
        syntax: "geohashDecode(geohash)",
        examples: &[Example {
            sql: "SELECT geohashDecode('ezs42')",
            result: "(-5.60302734375,42.60498046875)",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        check_type(args[0].ty.is_string(), name, 0, "String or FixedString", &args[0].ty)?;
        let field = |name: &str| TupleField { name: Some(name.into()), ty: DataType::Float64 };
        Ok(DataType::Tuple([field("longitude"), field("latitude")].into()).into())
    },
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        let places = (0..call.n_rows).map(|row| decode(texts.get(row)));
        let (x, y): (Vec<f64>, Vec<f64>) = places.unzip();
        Ok(Vector::from(Data::Struct(Struct { fields: vec![x.into(), y.into()], len: call.n_rows })).into())
    },
};

pub static IN_BOX: Plain = Plain {
    record: Record {
        name: "geohashesInBox",
        summary: "The geohashes of all cells of a precision that touch a box.",
        syntax: "geohashesInBox(min_longitude, min_latitude, max_longitude, max_latitude, precision)",
        examples: &[Example {
            sql: "SELECT geohashesInBox(24.48, 40.56, 24.785, 40.81, 4)",
            result: "['sx1q','sx1r','sx32','sx1w','sx1x','sx38']",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind_box(name, args),
    execute: execute_box,
};

fn is_coordinate(ty: &DataType) -> bool {
    matches!(ty, DataType::Float32 | DataType::Float64)
}

fn bind_box(name: &str, args: &[Argument]) -> Result<Bound> {
    check_arity(name, args.len(), 5..=5)?;
    for (index, arg) in args.iter().enumerate().take(4) {
        check_type(is_coordinate(&arg.ty), name, index, "Float32 or Float64", &arg.ty)?;
        ensure!(
            arg.ty == args[0].ty,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type of argument of {name} all coordinate arguments must have the same type, instead they are: {} and {}",
            args[0].ty,
            arg.ty
        );
    }
    check_type(args[4].ty == DataType::UInt8, name, 4, "UInt8", &args[4].ty)?;
    Ok(DataType::String.array().into())
}

fn coordinates(call: &Call, index: usize) -> Result<Vec<f64>> {
    unary::<f64, f64>(Operand::of(call, index), call.n_rows, |x| x)
}

/// The kernel's reading of a precision: what it does not have is the finest.
fn precision_of(asked: i64) -> usize {
    if (1..=LONGEST as i64).contains(&asked) { asked as usize } else { LONGEST }
}

/// Bits of the longitude, which comes first, and of the latitude.
fn bits(precision: usize) -> (usize, usize) {
    ((precision * 5).div_ceil(2), precision * 5 / 2)
}

/// Which half holds the coordinate, that many times.
fn halve(coordinate: f64, (mut low, mut high): (f64, f64), n: usize) -> u64 {
    let mut number = 0;
    for _ in 0..n {
        let middle = (low + high) / 2.0;
        let upper = coordinate >= middle;
        number = number << 1 | u64::from(upper);
        if upper {
            low = middle;
        } else {
            high = middle;
        }
    }
    number
}

fn encode(x: f64, y: f64, precision: usize, out: &mut Vec<u8>) {
    let (n, m) = bits(precision);
    let (x, y) = (halve(x, LONGITUDE, n), halve(y, LATITUDE, m));
    let bit = |place: usize| match place % 2 {
        0 => x >> (n - 1 - place / 2) & 1,
        _ => y >> (m - 1 - place / 2) & 1,
    };
    for character in 0..precision {
        let number = (0..5).fold(0, |number, i| number << 1 | bit(character * 5 + i));
        out.push(ALPHABET[number as usize]);
    }
}

fn decode(text: &[u8]) -> (f64, f64) {
    if text.is_empty() {
        return (0.0, 0.0);
    }
    let (mut x, mut y) = (LONGITUDE, LATITUDE);
    for (place, character) in text.iter().take(LONGEST).enumerate() {
        // As in the kernel, a character that is none of them has all bits set.
        let number = ALPHABET.iter().position(|c| c == character).unwrap_or(31);
        for i in 0..5 {
            let range = if (place * 5 + i) % 2 == 0 { &mut x } else { &mut y };
            let middle = (range.0 + range.1) / 2.0;
            if number >> (4 - i) & 1 == 1 {
                range.0 = middle;
            } else {
                range.1 = middle;
            }
        }
    }
    ((x.0 + x.1) / 2.0, (y.0 + y.1) / 2.0)
}

/// Where cells begin along one coordinate, how large they are and how many there are.
struct Axis {
    start: f64,
    step: f64,
    n: u64,
}

impl Axis {
    fn new(low: f64, high: f64, range: (f64, f64), bits: usize) -> Axis {
        let step = (range.1 - range.0) / (1u64 << bits) as f64;
        let (low, high) = (low.clamp(range.0, range.1), high.clamp(range.0, range.1));
        let start = (low / step).floor() * step;
        let span = (high / step).ceil() * step - start;
        Axis { start, step, n: ((span / step).round() as u64).max(1) }
    }
}

fn execute_box(call: &Call) -> Result<Column> {
    let [x1, y1, x2, y2] =
        [coordinates(call, 0)?, coordinates(call, 1)?, coordinates(call, 2)?, coordinates(call, 3)?];
    let precisions = call.natives::<u8>(4)?;
    let mut cells = StringBuilder::with_capacity(call.n_rows);
    let mut offsets = vec![0i64];
    for row in 0..call.n_rows {
        if x1[row] <= x2[row] && y1[row] <= y2[row] {
            let precision = precision_of(precisions.get(row).into());
            let (n, m) = bits(precision);
            let across = Axis::new(x1[row], x2[row], LONGITUDE, n);
            let up = Axis::new(y1[row], y2[row], LATITUDE, m);
            let total = across.n.saturating_mul(up.n);
            ensure!(
                total <= MOST_CELLS,
                TOO_LARGE_ARRAY_SIZE,
                "geohashesInBox would produce {total} array elements, which is bigger than the allowed maximum of {MOST_CELLS}"
            );
            for i in 0..across.n {
                for j in 0..up.n {
                    let (x, y) = (across.start + across.step * i as f64, up.start + up.step * j as f64);
                    cells.push_with(|out| encode(x, y, precision, out));
                }
            }
        }
        offsets.push(cells.len() as i64);
    }
    Ok(list(offsets, cells.finish().into()).into())
}
