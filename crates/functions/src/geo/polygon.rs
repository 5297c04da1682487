//! `pointInPolygon`: does a point lie in a polygon, or in one of several?

use super::ring::{Polygon, Ring};
use crate::lanes::{Operand, unary};
use crate::lists::list_of;
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, List, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, Value};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "pointInPolygon",
        summary: "Does a point lie in a polygon? The polygon is a ring, a ring and rings of holes, an array of such rings, or an array of polygons. The boundary belongs to it.",
        syntax: "pointInPolygon((x, y), polygon[, hole, ...])",
        examples: &[Example {
            sql: "SELECT pointInPolygon((3., 3.), [(6, 0), (8, 4), (5, 8), (0, 2)])",
            result: "1",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

/// Polygons that are the same for all rows.
struct Constant(Option<Vec<Polygon>>);

/// Fails unless the type is a tuple of two numbers.
fn check_point(name: &str, ty: &DataType, index: usize) -> Result<()> {
    let DataType::Tuple(fields) = ty else {
        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Argument {} for function {name} must contain a tuple", index + 1);
    };
    ensure!(
        fields.len() == 2,
        BAD_ARGUMENTS,
        "Argument {} for function {name} must have exactly two elements",
        index + 1
    );
    for (place, field) in fields.iter().enumerate() {
        let narrow = field.ty.is_integer() && field.ty.physical().width().unwrap_or(16) <= 8;
        ensure!(
            narrow || field.ty.is_float(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument {} for function {name} must contain numeric tuple at position {}",
            index + 1,
            place + 1
        );
    }
    Ok(())
}

/// Arrays around the points of an argument: 1 of a ring, 2 of a polygon, 3 of several.
fn depth(name: &str, ty: &DataType, index: usize) -> Result<usize> {
    let (mut depth, mut inner) = (0, ty);
    while let DataType::Array(element) = inner {
        depth += 1;
        inner = element;
    }
    ensure!(
        (1..=3).contains(&depth),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Argument {} for function {name} must contain an array of tuples or an array of arrays of tuples or an array of arrays of arrays of tuples",
        index + 1
    );
    check_point(name, inner, index)?;
    Ok(depth)
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    ensure!(args.len() >= 2, TOO_FEW_ARGUMENTS_FOR_FUNCTION, "Function {name} requires at least 2 arguments");
    check_point(name, &args[0].ty, 0)?;
    let first = depth(name, &args[1].ty, 1)?;
    for (index, arg) in args.iter().enumerate().skip(2) {
        let own = depth(name, &arg.ty, index)?;
        ensure!(
            first == 1 || own == 2,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument {} for function {name} must be a array of arrays of tuples because an array of arrays of tuples of first polygon indicates that it is part of MultiPolygon",
            index + 1
        );
        ensure!(
            first != 1 || own == 1,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument {} for function {name} must be an array of tuples",
            index + 1
        );
    }
    let constants: Option<Vec<&Value>> = args[1..].iter().map(|arg| arg.constant.as_ref()).collect();
    let Some(constants) = constants else {
        ensure!(
            args.len() == 2,
            BAD_ARGUMENTS,
            "Multi-argument version of function {name} works only with const Polygon/MultiPolygon"
        );
        return Ok(Bound::with_state(DataType::UInt8, Constant(None)));
    };
    let polygons: Vec<Polygon> = match first {
        1 => vec![Polygon { rings: constants.iter().map(|ring| ring_of(ring)).collect() }],
        2 => constants.iter().map(|polygon| polygon_of(polygon)).collect(),
        _ => items(constants[0]).iter().map(polygon_of).collect(),
    };
    let validate = (ctx.settings.all.0)("validate_polygons").and_then(|(value, _)| value.as_u64());
    if validate != Some(0) {
        polygons.iter().try_for_each(Polygon::check)?;
    }
    Ok(Bound::with_state(DataType::UInt8, Constant(Some(polygons))))
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) | Value::Tuple(items) => items,
        _ => &[],
    }
}

fn ring_of(value: &Value) -> Ring {
    let point = |value: &Value| match items(value) {
        [x, y] => (x.as_f64().unwrap_or(f64::NAN), y.as_f64().unwrap_or(f64::NAN)),
        _ => (f64::NAN, f64::NAN),
    };
    Ring::new(items(value).iter().map(point).collect())
}

fn polygon_of(value: &Value) -> Polygon {
    Polygon { rings: items(value).iter().map(ring_of).collect() }
}

/// The coordinates of points.
fn points(vector: &Vector, ty: &DataType) -> Result<(Vec<f64>, Vec<f64>)> {
    let (DataType::Tuple(types), tuple) = (ty, vector.structure()?) else {
        bail!(LOGICAL_ERROR, "{ty} is not a point");
    };
    let field = |index: usize| {
        let operand = Operand { ty: &types[index].ty, vector: &tuple.fields[index], constant: false };
        unary::<f64, f64>(operand, vector.len(), |x| x)
    };
    Ok((field(0)?, field(1)?))
}

fn execute(call: &Call) -> Result<Column> {
    let Constant(constant) = call.state()?;
    let (x, y) = points(call.vector(0), call.args[0].ty)?;
    let point = |row: usize| (x[row], y[row]);
    let covered: Vec<u8> = match constant {
        Some(polygons) => (0..call.n_rows)
            .map(|row| u8::from(polygons.iter().any(|polygon| polygon.covers(point(row)))))
            .collect(),
        None => {
            // Lists from the outermost to that of points.
            let (mut lists, mut ty): (Vec<List>, DataType) = (
                vec![list_of(&call.args[1], call.n_rows)?],
                call.args[1].ty.element().unwrap_or(DataType::Nothing),
            );
            while let DataType::Array(element) = &ty {
                let next = lists[lists.len() - 1].values.list()?.normalised();
                lists.push(next);
                ty = DataType::clone(element);
            }
            let (x, y) = points(&lists[lists.len() - 1].values, &ty)?;
            let ring = |range: std::ops::Range<usize>| Ring::new(range.map(|at| (x[at], y[at])).collect());
            let polygon = |list: &List, range: std::ops::Range<usize>| Polygon {
                rings: range.map(|at| ring(list.range(at))).collect(),
            };
            let covers = |row: usize| match &lists[..] {
                [rings] => Polygon { rings: vec![ring(rings.range(row))] }.covers(point(row)),
                [polygons, rings] => polygon(rings, polygons.range(row)).covers(point(row)),
                [all, polygons, rings] => {
                    all.range(row).any(|at| polygon(rings, polygons.range(at)).covers(point(row)))
                }
                _ => false,
            };
            (0..call.n_rows).map(|row| u8::from(covers(row))).collect()
        }
    };
    Ok(Vector::from(covered).into())
}
