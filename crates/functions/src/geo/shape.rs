//! Geometries in columns: a point is a tuple of two Float64, a ring an array of points, a polygon an array of rings, a multipolygon an
//! array of polygons. Lines are arrays of points too, and are not told from rings.

use super::ring::{Point, Polygon, Ring};
use crate::lists::list_of;
use chalet_base::{Result, bail, ensure};
use chalet_columns::List;
use chalet_function_api::Arg;
use chalet_types::DataType;
use std::ops::Range;

/// The type of a point.
pub fn point_type() -> DataType {
    DataType::tuple(vec![DataType::Float64; 2])
}

/// The type of arrays around points.
pub fn type_of_depth(depth: usize) -> DataType {
    (0..depth).fold(point_type(), |ty, _| ty.array())
}

/// Arrays around points: 0 of a point, 1 of a ring, 2 of a polygon, 3 of a multipolygon.
pub fn depth(ty: &DataType) -> Result<usize> {
    let (mut depth, mut inner) = (0, ty);
    while let DataType::Array(element) = inner {
        depth += 1;
        inner = element;
    }
    let is_point = matches!(inner, DataType::Tuple(fields)
        if fields.len() == 2 && fields.iter().all(|field| field.ty == DataType::Float64));
    ensure!(is_point && depth <= 3, BAD_ARGUMENTS, "Unknown geometry type {ty}");
    Ok(depth)
}

/// The rings of all rows of an argument, polygon by polygon.
pub struct Shapes {
    /// From the outermost to that of points.
    lists: Vec<List>,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Shapes {
    pub fn of(arg: &Arg, n_rows: usize) -> Result<Shapes> {
        let depth = depth(arg.ty)?;
        if depth == 0 {
            bail!(LOGICAL_ERROR, "A point has no rings");
        }
        let mut lists = vec![list_of(arg, n_rows)?];
        while lists.len() < depth {
            let next = lists[lists.len() - 1].values.list()?.normalised();
            lists.push(next);
        }
        let points = &lists[lists.len() - 1].values;
        let fields = &points.structure()?.fields;
        let (x, y) = (fields[0].values::<f64>()?.to_vec(), fields[1].values::<f64>()?.to_vec());
        Ok(Shapes { lists, x, y })
    }

    fn points(&self, range: Range<usize>) -> Vec<Point> {
        range.map(|at| (self.x[at], self.y[at])).collect()
    }

    /// The polygons of a row, as rings of points as they are written.
    pub fn polygons(&self, row: usize) -> Vec<Vec<Vec<Point>>> {
        match &self.lists[..] {
            [rings] => vec![vec![self.points(rings.range(row))]],
            [polygons, rings] => vec![polygons.range(row).map(|at| self.points(rings.range(at))).collect()],
            [all, polygons, rings] => {
                let polygon =
                    |at| polygons.range(at).map(|ring| self.points(rings.range(ring))).collect::<Vec<_>>();
                all.range(row).map(polygon).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The polygons of a row as areas, without those that have no points.
    pub fn areas(&self, row: usize) -> Vec<Polygon> {
        let polygon = |rings: Vec<Vec<Point>>| Polygon {
            rings: rings.into_iter().filter(|ring| !ring.is_empty()).map(Ring::new).collect(),
        };
        self.polygons(row).into_iter().map(polygon).filter(|polygon| !polygon.rings.is_empty()).collect()
    }
}
