//! Columns in which there are Variant, Dynamic or JSON. What stands before the data says how it is laid out, so it is read
//! first, as a tree that the data is then read along.

use super::BlockLayout;
use super::reader::{dictionary_values, list, vector, words};
use super::several_writer::SHARED;
use crate::binary::{Cursor, Source};
use crate::binary_types::take_type;
use crate::several_types;
use arrow_buffer::NullBuffer;
use chalet_base::{Error, Result, bail, ensure};
use chalet_columns::json::{Entry, put_object};
use chalet_columns::{Builder, Data, StringBuilder, Struct, Vector, variant};
use chalet_text::{Syntax, TextSettings};
use chalet_types::{DataType, JsonType};
use std::sync::Arc;

/// More paths, or types, are taken for damage.
const MAX_NAMES: u64 = 1 << 20;

/// How the data of a column is laid out.
pub enum Layout {
    /// By its type alone.
    Plain,
    /// Of what a Nullable or an Array holds.
    Inner(Box<Layout>),
    /// Of the elements of a Tuple, or the keys and values of a Map.
    Fields(Vec<Layout>),
    Variant(Vec<Layout>),
    /// The types of a Dynamic; `None` is where the others are.
    Dynamic(Vec<(Option<DataType>, Layout)>),
    /// All types of a Dynamic.
    Flattened(Vec<(DataType, Layout)>),
    /// Objects as texts.
    Text,
    Paths {
        typed: Vec<Layout>,
        dynamic: Vec<(Vec<u8>, Layout)>,
        has_shared: bool,
    },
}

impl Layout {
    pub fn read(from: &mut impl Source, ty: &DataType, block: BlockLayout) -> Result<Layout> {
        Ok(match ty {
            _ if !ty.contains_several_types() => {
                super::reader::prefix(from, ty)?;
                Layout::Plain
            }
            DataType::Array(inner) => Layout::Inner(Box::new(Layout::read(from, inner, block)?)),
            DataType::Nullable(inner) => Layout::Inner(Box::new(Layout::read(from, inner, block)?)),
            DataType::Map(key, value) => {
                let key = Layout::read(from, key, block)?;
                Layout::Inner(Box::new(Layout::Fields(vec![key, Layout::read(from, value, block)?])))
            }
            DataType::Tuple(fields) => {
                let fields = fields.iter().map(|field| Layout::read(from, &field.ty, block));
                Layout::Fields(fields.collect::<Result<_>>()?)
            }
            DataType::Variant(types) => Layout::Variant(Layout::of_alternatives(from, types, block)?),
            DataType::Dynamic(_) => Layout::of_dynamic(from, block)?,
            DataType::Json(json) => Layout::of_json(from, json, block)?,
            other => bail!(NOT_IMPLEMENTED, "Format Native does not support type {other}"),
        })
    }

    fn of_alternatives(
        from: &mut impl Source,
        types: &[DataType],
        block: BlockLayout,
    ) -> Result<Vec<Layout>> {
        let mode = from.u64()?;
        ensure!(mode == 0, INCORRECT_DATA, "Unsupported mode of discriminators of a Variant column: {mode}");
        types.iter().map(|ty| Layout::read(from, ty, block)).collect()
    }

    fn of_dynamic(from: &mut impl Source, block: BlockLayout) -> Result<Layout> {
        let version = from.u64()?;
        let is_flattened = match version {
            1 => {
                // How many types there may be.
                from.var_uint()?;
                false
            }
            2 => false,
            3 => true,
            other => bail!(INCORRECT_DATA, "Invalid version of serialization of a Dynamic column: {other}"),
        };
        let n = count(from, "types")?;
        let one = |_| match block.binary_types {
            true => take_type(from),
            false => {
                from.text()?.parse::<DataType>().map_err(|e: Error| e.context("type of a Dynamic column"))
            }
        };
        let types = (0..n).map(one).collect::<Result<Vec<_>>>()?;
        for ty in &types {
            let nested = ty.is_of_several_types() || ty.is_nullable();
            ensure!(!nested, INCORRECT_DATA, "Type {ty} cannot be one of a Dynamic column");
        }
        if is_flattened {
            let of_type = |ty: DataType| Ok((ty.clone(), Layout::read(from, &ty, block)?));
            return Ok(Layout::Flattened(types.into_iter().map(of_type).collect::<Result<_>>()?));
        }
        ensure!(types.len() < 255, INCORRECT_DATA, "Too many types in a Dynamic column: {}", types.len());
        let mut named: Vec<(String, Option<DataType>)> =
            types.into_iter().map(|ty| (ty.to_string(), Some(ty))).collect();
        named.push((SHARED.into(), None));
        named.sort_by(|a, b| a.0.cmp(&b.0));
        let types: Vec<DataType> =
            named.iter().map(|(_, ty)| ty.clone().unwrap_or(DataType::String)).collect();
        let layouts = Layout::of_alternatives(from, &types, block)?;
        Ok(Layout::Dynamic(named.into_iter().map(|(_, ty)| ty).zip(layouts).collect()))
    }

    fn of_json(from: &mut impl Source, json: &JsonType, block: BlockLayout) -> Result<Layout> {
        let has_shared = match from.u64()? {
            0 => {
                // How many paths there may be.
                from.var_uint()?;
                true
            }
            1 => return Ok(Layout::Text),
            2 => true,
            3 => false,
            other => bail!(INCORRECT_DATA, "Invalid version of serialization of a JSON column: {other}"),
        };
        let n = count(from, "paths")?;
        let paths = (0..n).map(|_| Ok(from.string()?.to_vec())).collect::<Result<Vec<_>>>()?;
        let typed = json.typed.iter().map(|(_, ty)| Layout::read(from, ty, block)).collect::<Result<_>>()?;
        let dynamic = paths.into_iter().map(|path| Ok((path, Layout::of_dynamic(from, block)?)));
        Ok(Layout::Paths { dynamic: dynamic.collect::<Result<_>>()?, typed, has_shared })
    }
}

fn count(from: &mut impl Source, what: &str) -> Result<u64> {
    let n = from.var_uint()?;
    let most = MAX_NAMES.min(from.at_most() as u64);
    ensure!(n <= most, INCORRECT_DATA, "Too many {what} in the data: {n}");
    Ok(n)
}

/// The values of a column, laid out as `layout` says.
pub fn values(from: &mut impl Source, ty: &DataType, layout: &Layout, n: usize) -> Result<Vector> {
    match (layout, ty) {
        (Layout::Plain, DataType::LowCardinality(inner)) if n > 0 => dictionary_values(from, inner, n),
        (Layout::Plain, _) => vector(from, ty, n),
        (Layout::Inner(layout), DataType::Nullable(inner)) => {
            let validity = NullBuffer::from_iter(from.take(n)?.iter().map(|b| *b == 0));
            Ok(Vector::new(values(from, inner, layout, n)?.data, Some(validity)))
        }
        (Layout::Inner(layout), _) => {
            let element = ty.element().unwrap_or(DataType::Nothing);
            Ok(Data::List(list(from, n, |from, total| values(from, &element, layout, total))?).into())
        }
        (Layout::Fields(layouts), DataType::Tuple(types)) => {
            let fields = types.iter().zip(layouts).map(|(f, layout)| values(from, &f.ty, layout, n));
            Ok(Data::Struct(Struct { fields: fields.collect::<Result<_>>()?, len: n }).into())
        }
        (Layout::Variant(layouts), DataType::Variant(types)) => {
            let types = types.iter().map(Some).zip(layouts).collect::<Vec<_>>();
            let numbers = numbers(from, n)?;
            alternatives(from, ty, &types, numbers)
        }
        (Layout::Dynamic(types), _) => {
            let types = types.iter().map(|(ty, layout)| (ty.as_ref(), layout)).collect::<Vec<_>>();
            let numbers = numbers(from, n)?;
            alternatives(from, ty, &types, numbers)
        }
        (Layout::Flattened(types), _) => {
            let of_types = types.iter().map(|(ty, layout)| (Some(ty), layout)).collect::<Vec<_>>();
            let last = types.len();
            let number = |x: u64| if x == last as u64 { None } else { Some(x as usize) };
            let numbers: Vec<Option<usize>> = match super::index_width(last as u64) {
                1 => from.take(n)?.iter().map(|x| number(u64::from(*x))).collect(),
                2 => words::<2>(from, n)?.map(|x| number(u16::from_le_bytes(x).into())).collect(),
                _ => words::<4>(from, n)?.map(|x| number(u32::from_le_bytes(x).into())).collect(),
            };
            alternatives(from, ty, &of_types, numbers)
        }
        (Layout::Text, DataType::Json(_)) => texts(from, ty, n),
        (Layout::Paths { typed, dynamic, has_shared }, DataType::Json(json)) => {
            objects(from, json, (typed, dynamic, *has_shared), n)
        }
        _ => bail!(LOGICAL_ERROR, "Layout of a column is not one of type {ty}"),
    }
}

/// The number of each row's type.
fn numbers(from: &mut impl Source, n: usize) -> Result<Vec<Option<usize>>> {
    const NULL: u8 = 0xff;
    Ok(from.take(n)?.iter().map(|number| (*number != NULL).then_some(usize::from(*number))).collect())
}

/// Values type by type, of which `numbers` says which row has which; a type without a name holds values behind their types.
fn alternatives(
    from: &mut impl Source,
    of: &DataType,
    types: &[(Option<&DataType>, &Layout)],
    numbers: Vec<Option<usize>>,
) -> Result<Vector> {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); types.len()];
    for (row, number) in numbers.iter().enumerate() {
        let Some(number) = number else { continue };
        let Some(rows) = rows.get_mut(*number) else {
            bail!(INCORRECT_DATA, "Value in a column of type {of} has a type of number {number}");
        };
        rows.push(row as u32);
    }
    let mut groups = Vec::with_capacity(types.len());
    for ((ty, layout), rows) in types.iter().zip(rows) {
        let own = match ty {
            Some(ty) => variant::wrap(&values(from, ty, layout, rows.len())?, ty, of)?,
            None => shared_values(&vector(from, &DataType::String, rows.len())?)?,
        };
        groups.push((rows, own));
    }
    Ok(variant::gather(&groups, numbers.len(), of))
}

/// Values behind their types as those of a Dynamic.
fn shared_values(vector: &Vector) -> Result<Vector> {
    let mut out = StringBuilder::with_capacity(vector.len());
    let mut valid = Vec::with_capacity(vector.len());
    for bytes in vector.strings()?.iter() {
        let value = several_types::take(&mut Cursor::new(bytes), &DataType::DYNAMIC)?;
        valid.push(value.is_some());
        out.push(value.as_deref().unwrap_or_default());
    }
    Ok(Vector::new(Data::Str(out.finish()), Some(valid.into())))
}

/// Objects that are texts.
fn texts(from: &mut impl Source, ty: &DataType, n: usize) -> Result<Vector> {
    let texts = vector(from, &DataType::String, n)?;
    let reader = chalet_text::Reader::new(ty, Syntax::Json, &TextSettings::default());
    let mut out = Builder::new(ty);
    for text in texts.strings()?.iter() {
        let mut cursor = chalet_text::Cursor::new(text);
        reader.read(&mut cursor, &mut out)?;
        ensure!(cursor.is_at_end(), INCORRECT_DATA, "Cannot parse JSON object: there is more behind it");
    }
    Ok(out.finish())
}

/// Objects of which each path is a column.
fn objects(
    from: &mut impl Source,
    json: &Arc<JsonType>,
    (typed, dynamic, has_shared): (&[Layout], &[(Vec<u8>, Layout)], bool),
    n: usize,
) -> Result<Vector> {
    let mut columns: Vec<(&[u8], Vector)> = Vec::new();
    for ((path, ty), layout) in json.typed.iter().zip(typed) {
        let values = values(from, ty, layout, n)?;
        columns.push((path.as_bytes(), encoded(&values, ty)));
    }
    let dynamic_type = DataType::Dynamic(json.max_dynamic_types);
    for (path, layout) in dynamic {
        columns.push((path, values(from, &dynamic_type, layout, n)?));
    }
    let shared = match has_shared {
        true => vector(from, &DataType::map(DataType::String, DataType::String), n)?,
        false => Vector::defaults(&DataType::map(DataType::String, DataType::String), n),
    };
    let (Data::List(shared), mut out) = (&shared.data, StringBuilder::with_capacity(n)) else {
        bail!(LOGICAL_ERROR, "Paths of JSON values are no map");
    };
    let Data::Struct(pairs) = &shared.values.data else {
        bail!(LOGICAL_ERROR, "Paths of JSON values are no map");
    };
    let (paths, values) = (pairs.fields[0].strings()?, pairs.fields[1].strings()?);
    for row in 0..n {
        let mut entries: Vec<Entry> = Vec::new();
        for (path, vector) in &columns {
            if !vector.is_null(row) {
                entries.push((path.to_vec(), vector.strings()?.get(row).to_vec()));
            }
        }
        for pair in shared.range(row) {
            let mut value = Cursor::new(values.get(pair));
            if let Some(value) = several_types::take(&mut value, &DataType::DYNAMIC)? {
                entries.push((paths.get(pair).to_vec(), value));
            }
        }
        entries.sort();
        let unique = entries.windows(2).all(|pair| pair[0].0 != pair[1].0);
        ensure!(unique, INCORRECT_DATA, "Object in the data has a path twice");
        out.push_with(|bytes| put_object(bytes, entries.iter().map(|(path, value)| (&path[..], &value[..]))));
    }
    Ok(Data::Str(out.finish()).into())
}

/// Values of a path that the type names, as objects keep them; NULL is not there.
fn encoded(values: &Vector, ty: &DataType) -> Vector {
    let mut out = StringBuilder::with_capacity(values.len());
    let mut tag = ty.to_string().into_bytes();
    tag.push(0);
    for row in 0..values.len() {
        out.push_with(|bytes| {
            bytes.extend_from_slice(&tag);
            variant::put(bytes, values, row, ty, true);
        });
    }
    Vector::new(Data::Str(out.finish()), values.validity.clone())
}
