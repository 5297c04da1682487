//! Geometries in columns: a point is a tuple of two Float64, a ring an array of points, a polygon an array of rings, a multipolygon an
//! array of polygons. What has a name is what the name says; what has none is told by the arrays around its points.

use super::ring::{Point, Polygon, Ring};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{List, Vector, variant};
use chalet_function_api::Arg;
use chalet_types::{DataType, Geometry, Value};
use std::ops::Range;

/// The geometry that values of a type are; [`Geometry::Any`] of those whose rows differ.
pub fn geometry(ty: &DataType) -> Result<Geometry> {
    if let Some(named) = ty.geometry() {
        return Ok(named);
    }
    if let DataType::Variant(types) = ty {
        types.iter().try_for_each(|alternative| geometry(alternative).map(drop))?;
        return Ok(Geometry::Any);
    }
    let (mut depth, mut inner) = (0, ty);
    while let DataType::Array(element) = inner {
        depth += 1;
        inner = element;
    }
    let is_point = matches!(inner, DataType::Tuple(fields)
        if fields.len() == 2 && fields.iter().all(|field| field.name.is_none() && field.ty == DataType::Float64));
    let unnamed = [Geometry::Point, Geometry::Ring, Geometry::Polygon, Geometry::MultiPolygon];
    ensure!(is_point && depth < unnamed.len(), BAD_ARGUMENTS, "Unknown geometry type {ty}");
    Ok(unnamed[depth])
}

/// Is it an area: a ring, a polygon or a multipolygon?
pub fn is_area(geometry: Geometry) -> bool {
    matches!(geometry, Geometry::Ring | Geometry::Polygon | Geometry::MultiPolygon)
}

/// One geometry. Every kind has points in lists in lists of polygons; those with fewer levels have one item in the outer ones.
pub struct Shape {
    pub geometry: Geometry,
    pub parts: Vec<Vec<Vec<Point>>>,
}

impl Shape {
    /// All points in lists as they are written: rings or lines.
    pub fn lists(&self) -> impl Iterator<Item = &[Point]> {
        self.parts.iter().flatten().map(Vec::as_slice)
    }

    pub fn points(&self) -> impl Iterator<Item = Point> {
        self.lists().flatten().copied()
    }

    /// Fails as the kernel does for coordinates that geometry cannot be done with.
    pub fn check_finite(&self) -> Result<()> {
        self.points().try_for_each(check_finite)
    }

    /// The geometry as a value of its type.
    pub fn value(&self) -> Value {
        let point = |&(x, y): &Point| Value::Tuple(vec![Value::Float(x), Value::Float(y)]);
        let list = |points: &Vec<Point>| Value::Array(points.iter().map(point).collect());
        let lists = |lists: &Vec<Vec<Point>>| Value::Array(lists.iter().map(list).collect());
        let first = || self.parts.first();
        match self.geometry.depth() {
            Some(0) => first().and_then(|lists| lists.first()?.first()).map_or(Value::Null, point),
            Some(1) => first().and_then(|lists| lists.first()).map_or(Value::Array(Vec::new()), list),
            Some(2) => first().map_or(Value::Array(Vec::new()), lists),
            _ => Value::Array(self.parts.iter().map(lists).collect()),
        }
    }
}

/// Fails as the kernel does for coordinates that geometry cannot be done with.
pub fn check_finite((x, y): Point) -> Result<()> {
    for value in [x, y] {
        ensure!(!value.is_nan(), ILLEGAL_TYPE_OF_ARGUMENT, "Point's component must not be NaN");
        ensure!(value.is_finite(), ILLEGAL_TYPE_OF_ARGUMENT, "Point's component must not be infinite");
    }
    Ok(())
}

fn areas(parts: &[Vec<Vec<Point>>]) -> Vec<Polygon> {
    let polygon = |rings: &Vec<Vec<Point>>| Polygon {
        rings: rings.iter().filter(|ring| !ring.is_empty()).cloned().map(Ring::new).collect(),
    };
    parts.iter().map(polygon).filter(|polygon| !polygon.rings.is_empty()).collect()
}

/// The geometries of all rows of an argument.
pub struct Shapes {
    kinds: Vec<Kind>,
    /// Of rows that differ in kind, which one it is and the row there; none of NULL.
    places: Option<Vec<Option<(usize, usize)>>>,
    /// All rows are the first one.
    constant: bool,
}

/// Geometries of one kind.
struct Kind {
    geometry: Geometry,
    /// From the outermost to that of points.
    lists: Vec<List>,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Kind {
    fn of(vector: &Vector, geometry: Geometry) -> Result<Kind> {
        let mut lists: Vec<List> = Vec::new();
        let mut points = vector;
        for _ in 0..geometry.depth().unwrap_or(0) {
            let next = points.list()?.normalised();
            lists.push(next);
            points = &lists[lists.len() - 1].values;
        }
        let fields = &points.structure()?.fields;
        let (x, y) = (fields[0].values::<f64>()?.to_vec(), fields[1].values::<f64>()?.to_vec());
        Ok(Kind { geometry, lists, x, y })
    }

    fn points(&self, range: Range<usize>) -> Vec<Point> {
        range.map(|at| (self.x[at], self.y[at])).collect()
    }

    fn parts(&self, row: usize) -> Vec<Vec<Vec<Point>>> {
        match &self.lists[..] {
            [] => vec![vec![self.points(row..row + 1)]],
            [rings] => vec![vec![self.points(rings.range(row))]],
            [polygons, rings] => vec![polygons.range(row).map(|at| self.points(rings.range(at))).collect()],
            [all, polygons, rings, ..] => {
                let polygon =
                    |at| polygons.range(at).map(|ring| self.points(rings.range(ring))).collect::<Vec<_>>();
                all.range(row).map(polygon).collect()
            }
        }
    }
}

impl Shapes {
    /// Of an argument whose type [`geometry`] takes.
    pub fn of(arg: &Arg) -> Result<Shapes> {
        let (vector, constant): (&Vector, bool) = (&arg.vector, arg.constant);
        let geometry_of_type = geometry(arg.ty.without_nullable())?;
        if geometry_of_type != Geometry::Any {
            return Ok(Shapes { kinds: vec![Kind::of(vector, geometry_of_type)?], places: None, constant });
        }
        let mut places = vec![None; vector.len()];
        let mut kinds = Vec::new();
        for (number, group) in variant::groups(vector, arg.ty)?.into_iter().enumerate() {
            for (at, row) in group.rows.iter().enumerate() {
                places[*row as usize] = Some((number, at));
            }
            kinds.push(Kind::of(&group.values, geometry(&group.ty)?)?);
        }
        Ok(Shapes { kinds, places: Some(places), constant })
    }

    fn place(&self, row: usize) -> Option<(&Kind, usize)> {
        let row = if self.constant { 0 } else { row };
        let (number, at) = match &self.places {
            Some(places) => places[row]?,
            None => (0, row),
        };
        Some((&self.kinds[number], at))
    }

    /// The geometry of a row, none of NULL.
    pub fn shape(&self, row: usize) -> Option<Shape> {
        let (kind, at) = self.place(row)?;
        Some(Shape { geometry: kind.geometry, parts: kind.parts(at) })
    }

    /// The coordinates of all rows, where every row is a point of its own.
    pub fn all_points(&self) -> Option<(&[f64], &[f64])> {
        match &self.kinds[..] {
            [Kind { geometry: Geometry::Point, x, y, .. }] if self.places.is_none() && !self.constant => {
                Some((x, y))
            }
            _ => None,
        }
    }

    /// The parts of a row's geometry, of which there are none of NULL.
    pub fn parts(&self, row: usize) -> Vec<Vec<Vec<Point>>> {
        self.place(row).map_or_else(Vec::new, |(kind, at)| kind.parts(at))
    }

    /// The polygons of a row as areas, without those that have no points.
    pub fn areas(&self, row: usize) -> Vec<Polygon> {
        areas(&self.parts(row))
    }
}

/// Fails where an argument is not an area, or, where its rows differ, could not be one.
pub fn check_area(name: &str, ty: &DataType) -> Result<()> {
    let found = geometry(ty)?;
    if !is_area(found) && found != Geometry::Any {
        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Any argument of function {name} must not be {}", found.name());
    }
    Ok(())
}
