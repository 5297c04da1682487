//! The hexagons of H3, a grid of cells over Earth in 16 resolutions.

mod cells;
mod edges;
mod places;
mod polygons;
mod resolutions;

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Data, Native, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Registry};
use chalet_types::DataType;
use h3o::{CellIndex, DirectedEdgeIndex, Resolution};

/// The finest resolution.
const FINEST: u8 = 15;

/// What an argument must be.
#[derive(Clone, Copy)]
enum Kind {
    /// UInt64: a cell or an edge.
    Index,
    /// UInt8.
    Resolution,
    Float,
    /// UInt16.
    Distance,
    /// Any native unsigned number.
    Unsigned,
    String,
}

impl Kind {
    fn takes(self, ty: &DataType) -> bool {
        match self {
            Kind::Index => *ty == DataType::UInt64,
            Kind::Resolution => matches!(ty, DataType::UInt8 | DataType::Bool),
            Kind::Float => *ty == DataType::Float64,
            Kind::Distance => *ty == DataType::UInt16,
            Kind::Unsigned => ty.is_unsigned() && ty.physical().width().is_some_and(|width| width <= 8),
            Kind::String => ty.is_string(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Index => "UInt64",
            Kind::Resolution => "UInt8",
            Kind::Float => "Float64",
            Kind::Distance => "UInt16",
            Kind::Unsigned => "unsigned native integer",
            Kind::String => "String",
        }
    }
}

fn bind(name: &str, args: &[Argument], kinds: &[Kind], result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), kinds.len()..=kinds.len())?;
    for (index, (arg, kind)) in args.iter().zip(kinds).enumerate() {
        ensure!(
            kind.takes(&arg.ty),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument {} of function {name}. Must be {}",
            arg.ty,
            index + 1,
            kind.name()
        );
    }
    Ok(result.into())
}

fn cell(index: u64) -> Result<CellIndex> {
    CellIndex::try_from(index).map_err(|_| err!(INCORRECT_DATA, "Invalid H3 cell index: {index}"))
}

fn edge(index: u64) -> Result<DirectedEdgeIndex> {
    DirectedEdgeIndex::try_from(index)
        .map_err(|_| err!(INCORRECT_DATA, "Invalid H3 directed edge index: {index}"))
}

fn resolution(name: &str, number: u8) -> Result<Resolution> {
    Resolution::try_from(number).map_err(|_| {
        err!(
            ARGUMENT_OUT_OF_BOUND,
            "The argument 'resolution' ({number}) of function {name} is out of bounds because the maximum resolution in H3 library is {FINEST}"
        )
    })
}

/// A column of one value per row.
fn values<T: Native>(n_rows: usize, f: impl FnMut(usize) -> Result<T>) -> Result<Column>
where
    Vector: From<Vec<T>>,
{
    Ok(Vector::from((0..n_rows).map(f).collect::<Result<Vec<T>>>()?).into())
}

/// A column of what `f` makes of the cells of the first argument.
fn of_cells<T: Native>(call: &Call, f: impl Fn(CellIndex) -> Result<T>) -> Result<Column>
where
    Vector: From<Vec<T>>,
{
    let cells = call.natives::<u64>(0)?;
    values(call.n_rows, |row| f(cell(cells.get(row))?))
}

/// As [`of_cells`], of edges.
fn of_edges<T: Native>(call: &Call, f: impl Fn(DirectedEdgeIndex) -> T) -> Result<Column>
where
    Vector: From<Vec<T>>,
{
    let edges = call.natives::<u64>(0)?;
    values(call.n_rows, |row| Ok(f(edge(edges.get(row))?)))
}

/// A column of arrays, to which `f` appends.
fn arrays<T: Native>(n_rows: usize, mut f: impl FnMut(usize, &mut Vec<T>) -> Result<()>) -> Result<Column>
where
    Vector: From<Vec<T>>,
{
    let (mut all, mut offsets) = (Vec::new(), vec![0i64]);
    for row in 0..n_rows {
        f(row, &mut all)?;
        offsets.push(all.len() as i64);
    }
    Ok(crate::lists::list(offsets, all.into()).into())
}

/// A column of arrays of points: latitudes and longitudes in degrees.
fn boundaries(n_rows: usize, mut f: impl FnMut(usize) -> Result<h3o::Boundary>) -> Result<Column> {
    let (mut latitudes, mut longitudes, mut offsets) = (Vec::new(), Vec::new(), vec![0i64]);
    for row in 0..n_rows {
        for point in f(row)?.iter() {
            latitudes.push(point.lat());
            longitudes.push(point.lng());
        }
        offsets.push(latitudes.len() as i64);
    }
    let len = latitudes.len();
    let points = Struct { fields: vec![latitudes.into(), longitudes.into()], len };
    Ok(crate::lists::list(offsets, Data::Struct(points).into()).into())
}

fn points_type() -> DataType {
    DataType::tuple([DataType::Float64, DataType::Float64]).array()
}

/// Fails before an array of so many elements is made.
fn check_size(name: &str, n: u64) -> Result<()> {
    const MOST: u64 = 10_000_000;
    if n > MOST {
        bail!(
            TOO_LARGE_ARRAY_SIZE,
            "The result of function {name} (array of {n} elements) will be too large"
        );
    }
    Ok(())
}

/// Records of functions whose arguments are checked by kind.
macro_rules! h3_functions {
    ($($name:literal($($kind:ident)*) -> $result:expr, $syntax:literal, $summary:literal, $sql:literal => $answer:literal, $execute:expr;)*) => {
        &[$(Plain {
            record: chalet_function_api::Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, $syntax),
                examples: &[chalet_function_api::Example { sql: $sql, result: $answer }],
                ..chalet_function_api::Record::DEFAULT
            },
            bind: |name, args, _| super::bind(name, args, &[$(super::Kind::$kind),*], $result),
            execute: $execute,
        }),*]
    };
}
use h3_functions;

pub fn register(registry: &mut Registry) {
    let families: [&'static [Plain]; 5] =
        [cells::FUNCTIONS, edges::FUNCTIONS, places::FUNCTIONS, polygons::FUNCTIONS, resolutions::FUNCTIONS];
    for function in families.into_iter().flatten() {
        registry.add_scalar(function);
    }
}
