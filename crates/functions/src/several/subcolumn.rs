//! `getSubcolumn(column, 'name')`: parts of columns by name, what `json.a.b` and `variant.String` stand for.

use crate::plain::Plain;
use chalet_base::{Result, bail, err};
use chalet_columns::{Buf, Column, Data, List, Vector, bits, json, qbit, variant};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, SeveralTypes,
};
use chalet_types::{DataType, JsonType, QBitType, Value};
use std::sync::Arc;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "getSubcolumn",
        summary: "A part of a column by name: `size0` of an Array, an element of a Tuple, a type of a Variant or Dynamic, a path of a JSON.",
        syntax: "getSubcolumn(column, 'name')",
        examples: &[Example {
            sql: "SELECT getSubcolumn('{\"a\":{\"b\":5}}'::JSON, 'a.b'), getSubcolumn([1, 2], 'size0')",
            result: "5\t2",
        }],
        nulls: Nulls::Seen,
        dictionaries: Dictionaries::InTypes,
        several_types: SeveralTypes::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

/// How to get to a part of a value.
pub enum Access {
    Whole,
    /// A step, the type of what it gives, and what follows.
    Then(Step, DataType, Box<Access>),
    /// The same of each element of an array.
    Each(Box<Access>),
}

pub enum Step {
    /// A path whose type the JSON type names.
    Typed(Arc<str>, DataType),
    Path(Vec<u8>),
    /// All below a path.
    Below(Vec<u8>),
    /// The values of one type of a Variant or Dynamic.
    Element(DataType),
    Field(usize),
    /// A bit of each element of a QBit.
    Plane(QBitType, usize),
    IsNull,
    Sizes,
    Length,
    Keys,
    Values,
}

/// The parts of a name: dots in quotes are none.
fn head(name: &str) -> (&str, &str) {
    let mut quoted = false;
    for (i, b) in name.bytes().enumerate() {
        match b {
            b'`' => quoted = !quoted,
            b'.' if !quoted => return (&name[..i], &name[i + 1..]),
            _ => {}
        }
    }
    (name, "")
}

fn unquoted(name: &str) -> String {
    name.replace('`', "")
}

/// How to get to the part `name` of values of a type, and its type; none where there is no such part.
pub fn plan(ty: &DataType, name: &str) -> Option<(Access, DataType)> {
    if name.is_empty() {
        return Some((Access::Whole, ty.clone()));
    }
    let (first, rest) = head(name);
    let then = |step: Step, next: DataType, rest: &str| {
        let (access, result) = plan(&next, rest)?;
        Some((Access::Then(step, next, Box::new(access)), result))
    };
    match ty.without_low_cardinality() {
        DataType::Nullable(_) if first == "null" => then(Step::IsNull, DataType::UInt8, rest),
        DataType::Nullable(inner) => match &**inner {
            DataType::Json(json) => of_json(json, name),
            DataType::QBit(vectors) => {
                let at = first.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < vectors.planes())?;
                then(Step::Plane(*vectors, at), vectors.plane_type().nullable(), rest)
            }
            DataType::String if first == "size" => then(Step::Length, DataType::UInt64.nullable(), rest),
            _ => None,
        },
        DataType::Json(json) => of_json(json, name),
        DataType::Variant(types) => {
            let (found, rest) = type_prefix(name)?;
            types
                .contains(&found)
                .then(|| then(Step::Element(found.clone()), variant::element_type(&found), rest))?
        }
        DataType::Dynamic(_) => {
            let (found, rest) = type_prefix(name)?;
            then(Step::Element(found.clone()), variant::element_type(&found), rest)
        }
        DataType::String if first == "size" => then(Step::Length, DataType::UInt64, rest),
        DataType::Array(_) if first == "size0" => then(Step::Sizes, DataType::UInt64, rest),
        DataType::Map(..) if first == "size0" => then(Step::Sizes, DataType::UInt64, rest),
        DataType::Map(key, _) if first == "keys" => then(Step::Keys, DataType::clone(key).array(), rest),
        DataType::Map(_, value) if first == "values" => {
            then(Step::Values, DataType::clone(value).array(), rest)
        }
        DataType::Array(inner) => {
            let (access, result) = plan(inner, name)?;
            Some((Access::Each(Box::new(access)), result.array()))
        }
        DataType::Tuple(fields) => {
            let wanted = unquoted(first);
            let by_name = fields.iter().position(|field| field.name.as_deref() == Some(&wanted));
            let by_number = || wanted.parse::<usize>().ok()?.checked_sub(1).filter(|i| *i < fields.len());
            let at = by_name.or_else(by_number)?;
            then(Step::Field(at), fields[at].ty.clone(), rest)
        }
        DataType::QBit(vectors) => {
            let at = first.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < vectors.planes())?;
            then(Step::Plane(*vectors, at), vectors.plane_type(), rest)
        }
        _ => None,
    }
}

/// The names of all parts that values of a type have, and their types, in the order in which DESCRIBE lists them.
pub fn names(ty: &DataType) -> Vec<(String, DataType)> {
    let mut found: Vec<(String, DataType)> = Vec::new();
    let with_parts = |found: &mut Vec<(String, DataType)>, name: &str, part: DataType| {
        let inside = names(&part).into_iter().map(|(rest, ty)| (format!("{name}.{rest}"), ty));
        found.extend(std::iter::once((name.to_string(), part.clone())).chain(inside));
    };
    match ty {
        DataType::Nullable(inner) => {
            found.push(("null".into(), DataType::UInt8));
            if **inner == DataType::String {
                found.push(("size".into(), DataType::UInt64.nullable()));
            }
            if let DataType::QBit(_) = **inner {
                found.extend(names(inner).into_iter().map(|(name, plane)| (name, plane.nullable())));
            }
        }
        DataType::String => with_parts(&mut found, "size", DataType::UInt64),
        DataType::Array(inner) => {
            with_parts(&mut found, "size0", DataType::UInt64);
            for (name, ty) in names(inner) {
                let depth = name.strip_prefix("size").and_then(|depth| depth.parse::<usize>().ok());
                let name = depth.map_or(name, |depth| format!("size{}", depth + 1));
                found.push((name, ty.array()));
            }
        }
        DataType::Map(key, value) => {
            with_parts(&mut found, "size0", DataType::UInt64);
            with_parts(&mut found, "keys", DataType::clone(key).array());
            with_parts(&mut found, "values", DataType::clone(value).array());
            // How many there are is said once.
            found.retain(|(name, _)| !matches!(&**name, "keys.size0" | "values.size0"));
        }
        DataType::Tuple(fields) => {
            for (at, field) in fields.iter().enumerate() {
                let number = (at + 1).to_string();
                with_parts(&mut found, field.name.as_deref().unwrap_or(&number), field.ty.clone());
            }
        }
        DataType::QBit(vectors) => {
            found.extend((1..=vectors.planes()).map(|number| (number.to_string(), vectors.plane_type())));
        }
        DataType::Json(json) => {
            json.typed.iter().for_each(|(path, ty)| with_parts(&mut found, path, ty.clone()));
        }
        DataType::Variant(types) => {
            types.iter().for_each(|ty| with_parts(&mut found, &ty.to_string(), variant::element_type(ty)));
        }
        _ => {}
    }
    found
}

/// The longest beginning of a name that is a type, and what follows it. It may be quoted.
fn type_prefix(name: &str) -> Option<(DataType, &str)> {
    if let Some(quoted) = name.strip_prefix(":`").or_else(|| name.strip_prefix('`')) {
        let (ty, rest) = quoted.split_once('`')?;
        return Some((ty.parse().ok()?, rest.strip_prefix('.').unwrap_or(rest)));
    }
    let ends = std::iter::once(name.len()).chain(name.rmatch_indices('.').map(|(at, _)| at));
    for end in ends {
        if let Ok(ty) = name[..end].parse::<DataType>() {
            return Some((ty, name[end..].strip_prefix('.').unwrap_or("")));
        }
    }
    None
}

fn of_json(json: &JsonType, name: &str) -> Option<(Access, DataType)> {
    if let Some(below) = name.strip_prefix('^') {
        let path = unquoted(below);
        let ty = DataType::Json(Arc::new(json.below(&path)));
        return Some((Access::Then(Step::Below(path.into_bytes()), ty.clone(), Box::new(Access::Whole)), ty));
    }
    // The path ends before the type that is asked of it.
    let (path, element) = match name.find(".:`") {
        Some(at) => (&name[..at], Some(&name[at + 1..])),
        None => (name, None),
    };
    let path = unquoted(path);
    for (known, ty) in &json.typed {
        let Some(inside) = path.strip_prefix(&**known) else { continue };
        let inside = match (inside.strip_prefix('.'), element) {
            (Some(inside), None) => inside,
            (None, element) if inside.is_empty() => element.unwrap_or(""),
            _ => continue,
        };
        if let Some((access, result)) = plan(ty, inside) {
            let step = Step::Typed(known.clone(), ty.clone());
            return Some((Access::Then(step, ty.clone(), Box::new(access)), result));
        }
    }
    let dynamic = DataType::Dynamic(json.max_dynamic_types);
    let (access, result) = match element {
        None => (Access::Whole, dynamic.clone()),
        Some(element) => {
            let (wanted, rest) = type_prefix(element)?;
            let wanted = with_nested(wanted, &json.nested());
            let next = variant::element_type(&wanted);
            let (access, result) = plan(&next, rest)?;
            (Access::Then(Step::Element(wanted), next, Box::new(access)), result)
        }
    };
    Some((Access::Then(Step::Path(path.into_bytes()), dynamic, Box::new(access)), result))
}

/// `Array(JSON)` of a path means the objects of its arrays, which keep fewer paths apart.
fn with_nested(ty: DataType, nested: &JsonType) -> DataType {
    match ty {
        DataType::Array(inner) => with_nested(DataType::clone(&inner), nested).array(),
        DataType::Nullable(inner) if matches!(*inner, DataType::Json(_)) => {
            with_nested(DataType::clone(&inner), nested).nullable()
        }
        DataType::Json(json) if *json == JsonType::default() => DataType::Json(Arc::new(nested.clone())),
        other => other,
    }
}

/// The part of the values.
pub fn access(vector: &Vector, ty: &DataType, how: &Access) -> Result<Vector> {
    match how {
        Access::Whole => Ok(vector.clone()),
        Access::Each(inner) => {
            let list = vector.list()?;
            let element = ty.bare().element().unwrap_or(DataType::Nothing);
            let values = Arc::new(access(&list.values, &element, inner)?);
            Ok(Data::List(List { offsets: list.offsets.clone(), values }).into())
        }
        Access::Then(step, next, rest) => access(&take_step(vector, ty, step)?, next, rest),
    }
}

fn take_step(vector: &Vector, ty: &DataType, step: &Step) -> Result<Vector> {
    Ok(match step {
        Step::Typed(path, wanted) => {
            let found = variant::element(&json::path(vector, path.as_bytes())?, &DataType::DYNAMIC, wanted)?;
            if wanted.is_nullable() { found } else { found.without_nulls() }
        }
        Step::Path(path) => json::path(vector, path)?,
        Step::Below(path) => json::below(vector, path)?,
        Step::Element(wanted) => variant::element(vector, ty, wanted)?,
        Step::Plane(vectors, at) => {
            let plane = qbit::plane(vector.fixed()?, *vectors, *at);
            Vector::new(Data::Fixed(plane), vector.validity.clone())
        }
        Step::Field(at) => vector.structure()?.fields[*at].clone(),
        Step::IsNull => match &vector.validity {
            Some(validity) => bits::to_bytes(&!validity.inner()).into(),
            None => vec![0u8; vector.len()].into(),
        },
        Step::Sizes => {
            let sizes = vector.list()?.ranges().map(|range| range.len() as u64);
            sizes.collect::<Vec<u64>>().into()
        }
        Step::Length => {
            let sizes: Vec<u64> = vector.strings()?.iter().map(|s| s.len() as u64).collect();
            Vector::from(sizes).with_nulls(vector.validity.as_ref())
        }
        Step::Keys | Step::Values => {
            let list = vector.list()?;
            let at = usize::from(matches!(step, Step::Values));
            let values = Arc::new(list.values.structure()?.fields[at].clone());
            let offsets: Buf<i64> = list.offsets.clone();
            Data::List(List { offsets, values }).into()
        }
    })
}

/// What stands at a path, as a Dynamic: its value, or the object below it.
pub fn member(vector: &Vector, ty: &JsonType, path: &[u8]) -> Result<Vector> {
    let values = json::path(vector, path)?;
    let inside = json::below(vector, path)?;
    let below = DataType::Json(Arc::new(ty.below(&String::from_utf8_lossy(path))));
    let objects = variant::wrap(&inside, &below, &DataType::DYNAMIC)?;
    let inside = inside.strings()?;
    let n = vector.len();
    let rows: Vec<u32> = (0..n)
        .map(|row| match (values.is_null(row), inside.get(row).is_empty()) {
            (true, false) => (n + row) as u32,
            _ => row as u32,
        })
        .collect();
    Ok(Vector::concat(&[&values, &objects]).gather(&rows))
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let wanted = args[1].constant.as_ref().and_then(Value::as_str).ok_or_else(|| {
        err!(ILLEGAL_TYPE_OF_ARGUMENT, "Second argument of function {name} must be a constant String")
    })?;
    match plan(&args[0].ty, wanted) {
        Some((access, result)) => Ok(Bound::with_state(result, access)),
        None => bail!(ILLEGAL_COLUMN, "There is no subcolumn {wanted} in type {}", args[0].ty),
    }
}

fn execute(call: &Call) -> Result<Column> {
    let how: &Access = call.state()?;
    Ok(access(call.vector(0), call.args[0].ty, how)?.into())
}
