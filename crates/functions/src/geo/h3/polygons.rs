//! `h3PolygonToCells`, `h3PolygonToCellsWithContainment`: the cells that an area is covered with. Areas are those of the plane of
//! longitudes and latitudes, as in the H3 library.

use super::super::overlay::{Plane, Surface, is_inside};
use super::super::ring::Point;
use super::super::shape::{Shape, Shapes, geometry, is_area};
use super::{arrays, check_size, resolution};
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Example, Record};
use chalet_types::{DataType, Geometry};
use h3o::{CellIndex, LatLng, Resolution};
use std::collections::HashSet;

pub static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "h3PolygonToCells",
            summary: "The cells of a resolution whose centres lie in a ring, polygon or multipolygon of longitudes and latitudes in degrees.",
            syntax: "h3PolygonToCells(geometry, resolution)",
            examples: &[Example {
                sql: "SELECT h3PolygonToCells([(-122.4, 37.8), (-122.5, 37.8), (-122.5, 37.7), (-122.4, 37.7)], 6)",
                result: "[604189371209351167,604189376175407103,604189376309624831]",
            }],
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], _| bind(name, args, 2),
        execute: |call| execute(call, "h3PolygonToCells"),
    },
    Plain {
        record: Record {
            name: "h3PolygonToCellsWithContainment",
            summary: "The cells of a resolution that an area contains or meets: 0 is by their centres, 1 wholly inside, 2 with a common point. Flag 3, by boxes around the cells, is not supported.",
            syntax: "h3PolygonToCellsWithContainment(geometry, resolution, flags)",
            examples: &[Example {
                sql: "SELECT length(h3PolygonToCellsWithContainment([(-122.4, 37.8), (-122.5, 37.8), (-122.5, 37.7), (-122.4, 37.7)], 7, 2)) > length(h3PolygonToCellsWithContainment([(-122.4, 37.8), (-122.5, 37.8), (-122.5, 37.7), (-122.4, 37.7)], 7, 1))",
                result: "1",
            }],
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], _| bind(name, args, 3),
        execute: |call| execute(call, "h3PolygonToCellsWithContainment"),
    },
];

fn bind(name: &'static str, args: &[Argument], arity: usize) -> Result<Bound> {
    check_arity(name, args.len(), arity..=arity)?;
    let ty = &args[0].ty;
    let expected = |index: usize, what: &str| {
        err!(
            ILLEGAL_COLUMN,
            "Illegal column type {} of argument {} of function {name}. Must be {what}",
            args[index].ty,
            index + 1
        )
    };
    if !matches!(ty, DataType::Array(_)) && ty.geometry() != Some(Geometry::Any) {
        return Err(expected(0, "Array"));
    }
    let found = geometry(ty)?;
    ensure!(
        is_area(found) || found == Geometry::Any,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The first argument of function {name} must not be {}",
        found.name()
    );
    if args[1].ty != DataType::UInt8 {
        return Err(expected(1, "UInt8"));
    }
    let native = |ty: &DataType| ty.is_integer() && ty.physical().width().is_some_and(|width| width <= 8);
    if arity == 3 && !native(&args[2].ty) {
        return Err(expected(2, "UInt32"));
    }
    Ok(DataType::UInt64.array().into())
}

/// Which cells belong to an area.
#[derive(Clone, Copy)]
enum Containment {
    Centre,
    Full,
    Overlapping,
}

fn execute(call: &Call, name: &str) -> Result<Column> {
    let shapes = Shapes::of(&call.args[0])?;
    let resolutions = call.natives::<u8>(1)?;
    let flags = match call.args.len() {
        3 => unary::<i128, i128>(Operand::of(call, 2), call.n_rows, |x| x)?,
        _ => vec![0; call.n_rows],
    };
    arrays(call.n_rows, |row, out: &mut Vec<u64>| {
        let resolution = resolution(name, resolutions.get(row))?;
        let containment = match flags[row] {
            0 => Containment::Centre,
            1 => Containment::Full,
            2 => Containment::Overlapping,
            3 => bail!(
                NOT_IMPLEMENTED,
                "The flag 3 (CONTAINMENT_OVERLAPPING_BBOX) of function {name} is not supported"
            ),
            other => bail!(
                ARGUMENT_OUT_OF_BOUND,
                "The argument 'flags' ({other}) of function {name} is invalid (must be 0..3: 0=CONTAINMENT_CENTER, 1=CONTAINMENT_FULL, \
                 2=CONTAINMENT_OVERLAPPING, 3=CONTAINMENT_OVERLAPPING_BBOX)"
            ),
        };
        let Some(shape) = shapes.shape(row) else { return Ok(()) };
        shape.check_finite()?;
        check_vertices(name, &shape)?;
        let mut cells: Vec<u64> = Vec::new();
        for rings in &shape.parts {
            cells.extend(fill(name, rings, resolution, containment)?);
        }
        cells.sort_unstable();
        cells.dedup();
        out.extend(cells);
        Ok(())
    })
}

fn check_vertices(name: &str, shape: &Shape) -> Result<()> {
    for (x, y) in shape.points() {
        ensure!(
            x.abs() <= 180.0 && y.abs() <= 90.0,
            ARGUMENT_OUT_OF_BOUND,
            "The vertex ({x}, {y}) of the geometry passed to function {name} is out of bounds (longitude must be -180..180 and latitude \
             -90..90 degrees)"
        );
    }
    Ok(())
}

/// The polygon's rings, with longitudes that go on beyond 180 where it crosses that meridian.
struct Area {
    rings: Vec<Vec<Point>>,
    crosses: bool,
}

impl Area {
    fn of(rings: &[Vec<Point>]) -> Area {
        let wide = |ring: &Vec<Point>| {
            let next = ring.iter().cycle().skip(1);
            ring.iter().zip(next).any(|(a, b)| (a.0 - b.0).abs() > 180.0)
        };
        let crosses = rings.first().is_some_and(wide);
        let area = Area { rings: Vec::new(), crosses };
        let rings = rings.iter().filter(|ring| ring.len() > 2);
        Area { rings: rings.map(|ring| ring.iter().map(|p| area.shifted(*p)).collect()).collect(), crosses }
    }

    fn shifted(&self, point: Point) -> Point {
        if self.crosses && point.0 < 0.0 { (point.0 + 360.0, point.1) } else { point }
    }

    fn contains(&self, point: Point) -> bool {
        let rings: Vec<&[Point]> = self.rings.iter().map(Vec::as_slice).collect();
        is_inside::<Plane>(&rings, self.shifted(point)).unwrap_or(true)
    }

    fn crosses_boundary(&self, cell: &[Point]) -> bool {
        let cell: Vec<Point> = cell.iter().map(|point| self.shifted(*point)).collect();
        let opposite = |x: f64, y: f64| x > 0.0 && y < 0.0 || x < 0.0 && y > 0.0;
        let meets = |(a, b): (Point, Point), (c, d): (Point, Point)| {
            opposite(Plane::side(a, b, c), Plane::side(a, b, d))
                && opposite(Plane::side(c, d, a), Plane::side(c, d, b))
        };
        let sides = |ring: &[Point]| -> Vec<(Point, Point)> {
            ring.iter().copied().zip(ring.iter().copied().cycle().skip(1)).take(ring.len()).collect()
        };
        let own = sides(&cell);
        self.rings
            .iter()
            .any(|ring| sides(ring).into_iter().any(|edge| own.iter().any(|side| meets(edge, *side))))
    }
}

fn corners(cell: CellIndex) -> Vec<Point> {
    cell.boundary().iter().map(|corner| (corner.lng(), corner.lat())).collect()
}

/// Starts from the cells along the boundary and spreads from those that belong to the area.
fn fill(
    name: &str,
    rings: &[Vec<Point>],
    resolution: Resolution,
    containment: Containment,
) -> Result<Vec<u64>> {
    let area = Area::of(rings);
    if area.rings.is_empty() {
        return Ok(Vec::new());
    }
    let mut seen: HashSet<CellIndex> = HashSet::new();
    let mut open: Vec<CellIndex> = Vec::new();
    let step = resolution.edge_length_rads().to_degrees() / 2.0;
    for ring in &area.rings {
        for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            let n_steps = ((b.0 - a.0).hypot(b.1 - a.1) / step).ceil().max(1.0);
            check_size(name, n_steps as u64)?;
            for number in 0..n_steps as u64 {
                let share = number as f64 / n_steps;
                let longitude = a.0 + share * (b.0 - a.0);
                let longitude = if longitude > 180.0 { longitude - 360.0 } else { longitude };
                let at = LatLng::new(a.1 + share * (b.1 - a.1), longitude).map_err(|_| {
                    err!(BAD_ARGUMENTS, "A vertex of the geometry passed to function {name} is no place")
                })?;
                let near: Vec<CellIndex> = at.to_cell(resolution).grid_disk(1);
                open.extend(near.into_iter().filter(|cell| seen.insert(*cell)));
            }
        }
    }
    let mut cells = Vec::new();
    while let Some(cell) = open.pop() {
        let centre = LatLng::from(cell);
        let is_centred = area.contains((centre.lng(), centre.lat()));
        let belongs = match containment {
            Containment::Centre => is_centred,
            Containment::Full => {
                let corners = corners(cell);
                is_centred
                    && corners.iter().all(|corner| area.contains(*corner))
                    && !area.crosses_boundary(&corners)
            }
            Containment::Overlapping => {
                is_centred || {
                    let corners = corners(cell);
                    let around = |point: &Point| is_inside::<Plane>(&[&corners], *point).unwrap_or(true);
                    corners.iter().any(|corner| area.contains(*corner))
                        || area.crosses_boundary(&corners)
                        || area.rings.iter().flatten().any(around)
                }
            }
        };
        if belongs {
            cells.push(u64::from(cell));
            check_size(name, cells.len() as u64)?;
        }
        // Cells inside are reached by way of others whose centres are.
        if is_centred || belongs {
            let near: Vec<CellIndex> = cell.grid_disk(1);
            open.extend(near.into_iter().filter(|cell| seen.insert(*cell)));
        }
    }
    Ok(cells)
}
