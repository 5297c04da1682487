//! `MVTBoundingBox`, `MVTBoundingBoxMercator`, `MVTEncodeGeom`: the tiles of slippy maps, and geometries in the pixels of a tile. The Web
//! Mercator projection puts Earth on a square of 2^32 units, whose origin is in the north-west.

use super::ring::{Point, corrected};
use super::shape::{Shape, Shapes, check_finite, geometry};
use super::wkb::several;
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Struct, Vector, variant};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, Registry, SeveralTypes};
use chalet_types::{DataType, Geometry, TupleField, Value};

/// Units along one side of Earth.
const WORLD: f64 = 4_294_967_296.0;
const DEEPEST_ZOOM: i128 = 32;

fn longitude_of(x: f64) -> f64 {
    x / WORLD * 360.0 - 180.0
}

fn latitude_of(y: f64) -> f64 {
    ((180.0 - y / WORLD * 360.0) * std::f64::consts::PI / 180.0).exp().atan() * 360.0 / std::f64::consts::PI
        - 90.0
}

/// A place, as near to the square as it can be.
fn project((longitude, latitude): Point) -> Point {
    let x = (longitude + 180.0) / 360.0;
    let sine = latitude.clamp(-90.0, 90.0).to_radians().sin();
    let y = 0.5 - ((1.0 + sine) / (1.0 - sine)).ln() / (4.0 * std::f64::consts::PI);
    (x.clamp(0.0, 1.0) * WORLD, y.clamp(0.0, 1.0) * WORLD)
}

fn integers(call: &Call, index: usize) -> Result<Vec<i128>> {
    unary::<i128, i128>(Operand::of(call, index), call.n_rows, |x| x)
}

const ORDINALS: [&str; 4] = ["1st", "2nd", "3rd", "4th"];
const ARGUMENTS: [(&str, &str); 4] =
    [("zoom", "UInt8"), ("tile_x", "UInt32"), ("tile_y", "UInt32"), ("margin", "Float64")];

fn is_unsigned(ty: &DataType) -> bool {
    ty.is_unsigned() && ty.physical().width().is_some_and(|width| width <= 8)
}

fn bind_box(name: &'static str, args: &[Argument], names: [&str; 4]) -> Result<Bound> {
    check_arity(name, args.len(), 3..=4)?;
    for (index, (arg, (argument, expected))) in args.iter().zip(ARGUMENTS).enumerate() {
        let number = arg.ty.is_float() || arg.ty.is_integer();
        ensure!(
            if index == 3 { number } else { is_unsigned(&arg.ty) },
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as {} argument '{argument}' to function '{name}'. Expected: {expected}, got: {}",
            ORDINALS[index],
            arg.ty
        );
    }
    let field = |name: &str| TupleField { name: Some(name.into()), ty: DataType::Float64 };
    Ok(DataType::Tuple(names.into_iter().map(field).collect()).into())
}

/// The tile's number of columns, after a check that it is there.
fn check_tile(name: &str, zoom: i128, x: i128, y: i128) -> Result<f64> {
    let n_tiles = 1i128 << zoom;
    ensure!(
        x < n_tiles && y < n_tiles,
        ARGUMENT_OUT_OF_BOUND,
        "The tile indices (tile_x = {x}, tile_y = {y}) of function {name} must be less than 2^zoom = {n_tiles}"
    );
    Ok(n_tiles as f64)
}

/// West, north, east and south of the tile of each row, in units.
fn boxes(call: &Call, name: &str) -> Result<[Vec<f64>; 4]> {
    let (zooms, xs, ys) = (integers(call, 0)?, integers(call, 1)?, integers(call, 2)?);
    let margins = match call.args.len() {
        4 => unary::<f64, f64>(Operand::of(call, 3), call.n_rows, |x| x)?,
        _ => vec![0.0; call.n_rows],
    };
    let mut sides = [const { Vec::new() }; 4];
    for row in 0..call.n_rows {
        let (zoom, margin) = (zooms[row], margins[row]);
        ensure!(
            zoom <= DEEPEST_ZOOM,
            ARGUMENT_OUT_OF_BOUND,
            "The 'zoom' argument ({zoom}) of function {name} must be between 0 and {DEEPEST_ZOOM}"
        );
        let n_tiles = check_tile(name, zoom, xs[row], ys[row])?;
        ensure!(
            margin.is_finite() && margin >= 0.0,
            ARGUMENT_OUT_OF_BOUND,
            "The 'margin' argument ({margin}) of function {name} must be a finite, non-negative number"
        );
        let (size, x, y) = (WORLD / n_tiles, xs[row] as f64, ys[row] as f64);
        let inside = |units: f64| units.clamp(0.0, WORLD);
        let wide = margin * size;
        sides[0].push(inside(x * size - wide));
        sides[1].push(inside(y * size - wide));
        sides[2].push(inside((x + 1.0) * size + wide));
        sides[3].push(inside((y + 1.0) * size + wide));
    }
    Ok(sides)
}

fn tuple(fields: [Vec<f64>; 4], len: usize) -> Column {
    let fields: Vec<Vector> = fields.into_iter().map(Vector::from).collect();
    Vector::from(Data::Struct(Struct { fields, len })).into()
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "MVTBoundingBox",
            summary: "The least and greatest longitude and latitude of a tile of a slippy map, wider by a share of its size on every side if a margin is given.",
            syntax: "MVTBoundingBox(zoom, tile_x, tile_y[, margin])",
            examples: &[Example { sql: "SELECT MVTBoundingBox(1, 0, 0).max_lon", result: "0" }],
            nulls: Nulls::Seen,
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], _: &Context| {
            bind_box(name, args, ["min_lon", "min_lat", "max_lon", "max_lat"])
        },
        execute: |call| {
            let [west, north, east, south] = boxes(call, "MVTBoundingBox")?;
            let longitudes = |units: Vec<f64>| units.into_iter().map(longitude_of).collect();
            let latitudes = |units: Vec<f64>| units.into_iter().map(latitude_of).collect();
            let sides = [longitudes(west), latitudes(south), longitudes(east), latitudes(north)];
            Ok(tuple(sides, call.n_rows))
        },
    },
    Plain {
        record: Record {
            name: "MVTBoundingBoxMercator",
            summary: "The least and greatest coordinates of a tile of a slippy map in Web Mercator units, of which 2^32 are along each side of the map.",
            syntax: "MVTBoundingBoxMercator(zoom, tile_x, tile_y[, margin])",
            examples: &[Example {
                sql: "SELECT MVTBoundingBoxMercator(1, 0, 0)",
                result: "(0,0,2147483648,2147483648)",
            }],
            nulls: Nulls::Seen,
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], _: &Context| {
            bind_box(name, args, ["min_x", "min_y", "max_x", "max_y"])
        },
        execute: |call| Ok(tuple(boxes(call, "MVTBoundingBoxMercator")?, call.n_rows)),
    },
    Plain {
        record: Record {
            name: "MVTEncodeGeom",
            summary: "A geometry of longitudes and latitudes in the pixels of a tile of a slippy map, and cut at its edges and a buffer unless clip is 0; NULL when nothing is left. Areas are not cut: pass clip = 0 for them.",
            syntax: "MVTEncodeGeom(geometry, zoom, tile_x, tile_y[, extent[, buffer[, clip]]])",
            examples: &[Example {
                sql: "SELECT MVTEncodeGeom((13.37, 52.52)::Point, 10, 550, 335)",
                result: "(124,3384)",
            }],
            nulls: Nulls::Propagate,
            several_types: SeveralTypes::Seen,
            ..Record::DEFAULT
        },
        bind: bind_encode,
        execute: encode,
    },
];

fn bind_encode(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        (4..=7).contains(&args.len()),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Function {name} requires 4 to 7 arguments (geometry, zoom, tile_x, tile_y[, extent[, buffer[, clip]]]), got {}",
        args.len()
    );
    ensure!(
        geometry(&args[0].ty).is_ok(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The first argument of function {name} must be a geometry (Point, MultiPoint, LineString, MultiLineString, Ring, Polygon, \
         MultiPolygon or Geometry), got {}",
        args[0].ty
    );
    for (index, arg) in args.iter().enumerate().skip(1) {
        ensure!(
            is_unsigned(&arg.ty),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument #{} of function {name} must be an unsigned integer, got {}",
            index + 1,
            arg.ty
        );
    }
    Ok(Geometry::Any.data_type().into())
}

/// Where a tile is, how many pixels it has on a side, and how many more beside it count.
struct Tile {
    /// Units of its corner, and of a side.
    corner: Point,
    size: f64,
    extent: f64,
    /// None where nothing is cut.
    buffer: Option<f64>,
}

fn encode(call: &Call) -> Result<Column> {
    let name = "MVTEncodeGeom";
    let shapes = Shapes::of(&call.args[0])?;
    let given = (1..call.args.len()).map(|index| integers(call, index)).collect::<Result<Vec<_>>>()?;
    let option =
        |index: usize, row: usize, default: i128| given.get(index).map_or(default, |values| values[row]);
    let tile_of = |row: usize| {
        let (zoom, x, y) = (option(0, row, 0), option(1, row, 0), option(2, row, 0));
        ensure!(
            zoom <= DEEPEST_ZOOM,
            ARGUMENT_OUT_OF_BOUND,
            "The zoom argument ({zoom}) of function {name} must be in [0, {DEEPEST_ZOOM}]"
        );
        let size = WORLD / check_tile(name, zoom, x, y)?;
        let extent = option(3, row, 4096);
        ensure!(
            (1..=i128::from(i32::MAX)).contains(&extent),
            ARGUMENT_OUT_OF_BOUND,
            "The extent argument of function {name} must be in [1, {}]",
            i32::MAX
        );
        Ok(Tile {
            corner: (x as f64 * size, y as f64 * size),
            size,
            extent: extent as f64,
            buffer: (option(5, row, 1) != 0).then(|| option(4, row, 1) as f64),
        })
    };
    if let Some(points) = shapes.all_points() {
        return encode_points(points, tile_of, call);
    }
    let mut values = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let tile = tile_of(row)?;
        let Some(shape) = shapes.shape(row) else {
            values.push((Geometry::Point, Value::Null));
            continue;
        };
        shape.check_finite()?;
        let placed = tile.place(&shape)?;
        values.push(placed.map_or((Geometry::Point, Value::Null), |shape| (shape.geometry, shape.value())));
    }
    several(values, call.result)
}

/// The same of rows that are points: no list stands around them.
fn encode_points(
    (longitudes, latitudes): (&[f64], &[f64]),
    tile_of: impl Fn(usize) -> Result<Tile>,
    call: &Call,
) -> Result<Column> {
    let (mut rows, mut xs, mut ys) = (Vec::new(), Vec::new(), Vec::new());
    for (row, place) in longitudes.iter().copied().zip(latitudes.iter().copied()).enumerate() {
        let tile = tile_of(row)?;
        check_finite(place)?;
        let pixel = tile.pixel(place);
        if tile.has(&pixel) {
            rows.push(row as u32);
            xs.push(pixel.0);
            ys.push(pixel.1);
        }
    }
    let len = rows.len();
    let points = Vector::from(Data::Struct(Struct { fields: vec![xs.into(), ys.into()], len }));
    let points = variant::wrap(&points, &Geometry::Point.data_type(), call.result)?;
    Ok(variant::gather(&[(rows, points)], call.n_rows, call.result).into())
}

impl Tile {
    fn pixel(&self, place: Point) -> Point {
        let (x, y) = project(place);
        let pixel = |units: f64, corner: f64| ((units - corner) * self.extent / self.size).round() + 0.0;
        (pixel(x, self.corner.0), pixel(y, self.corner.1))
    }

    /// Is a pixel in the tile or its buffer?
    fn has(&self, pixel: &Point) -> bool {
        self.buffer.is_none_or(|buffer| {
            [pixel.0, pixel.1].iter().all(|at| (-buffer..=self.extent + buffer).contains(at))
        })
    }

    /// The geometry in pixels, or none where it is outside.
    fn place(&self, shape: &Shape) -> Result<Option<Shape>> {
        let pixels = |list: &[Point]| list.iter().map(|point| self.pixel(*point)).collect::<Vec<_>>();
        let (geometry, parts) = match shape.geometry {
            Geometry::Point | Geometry::MultiPoint => {
                let points =
                    shape.lists().flat_map(pixels).filter(|pixel| self.has(pixel)).collect::<Vec<_>>();
                (shape.geometry, vec![vec![points]])
            }
            Geometry::LineString | Geometry::MultiLineString => {
                let lines = shape.lists().map(pixels).flat_map(|line| match self.buffer {
                    Some(buffer) => clipped(&line, -buffer, self.extent + buffer),
                    None => vec![line],
                });
                let lines = lines.filter(|line| !line.is_empty()).collect();
                (Geometry::MultiLineString, vec![lines])
            }
            _ if self.buffer.is_some() => bail!(
                SUPPORT_IS_DISABLED,
                "Clipping polygons in MVTEncodeGeom is not supported; pass clip = false to project the polygon without clipping"
            ),
            _ => {
                let ring = |(number, points): (usize, &Vec<Point>)| corrected(&pixels(points), number == 0);
                let polygon =
                    |rings: &Vec<Vec<Point>>| rings.iter().enumerate().map(ring).collect::<Vec<_>>();
                let parts =
                    shape.parts.iter().map(polygon).filter(|rings| rings.iter().any(|ring| !ring.is_empty()));
                (Geometry::MultiPolygon, parts.collect())
            }
        };
        let placed = Shape { geometry, parts };
        let is_empty = placed.points().next().is_none();
        Ok((!is_empty).then_some(placed))
    }
}

/// The parts of a line that are in a square, by the method of Liang and Barsky; the points where it is cut are pixels too.
fn clipped(line: &[Point], low: f64, high: f64) -> Vec<Vec<Point>> {
    let mut parts: Vec<Vec<Point>> = Vec::new();
    let mut open: Vec<Point> = Vec::new();
    let close = |open: &mut Vec<Point>, parts: &mut Vec<Vec<Point>>| {
        if !open.is_empty() {
            parts.push(std::mem::take(open));
        }
    };
    for pair in line.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut enter, mut leave) = (0f64, 1f64);
        let mut visible = true;
        for (step, room) in [(-dx, a.0 - low), (dx, high - a.0), (-dy, a.1 - low), (dy, high - a.1)] {
            if step == 0.0 {
                visible &= room >= 0.0;
            } else if step < 0.0 {
                enter = enter.max(room / step);
            } else {
                leave = leave.min(room / step);
            }
        }
        if !visible || enter > leave {
            close(&mut open, &mut parts);
            continue;
        }
        let at = |share: f64| ((a.0 + share * dx).round() + 0.0, (a.1 + share * dy).round() + 0.0);
        if enter > 0.0 {
            close(&mut open, &mut parts);
        }
        let (start, end) = (at(enter), if leave < 1.0 { at(leave) } else { b });
        if open.is_empty() {
            open.push(start);
        }
        if open.last() != Some(&end) {
            open.push(end);
        }
        if leave < 1.0 {
            close(&mut open, &mut parts);
        }
    }
    close(&mut open, &mut parts);
    parts
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
