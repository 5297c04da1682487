//! Columns in which there are Variant, Dynamic or JSON, as the kernel serialises them: one column a type, and one a path.
//!
//! Everything that stands before the data (versions, names of types and paths) comes first for the whole column, so both are
//! gathered side by side in one walk.

use super::BlockLayout;
use super::writer::{dictionary, write_data};
use crate::binary::{put_string, put_var_uint};
use crate::binary_types::put_type;
use crate::several_types;
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_columns::{Column, Data, List, StringBuilder, Struct, Vector, json, variant};
use chalet_text::{Style, TextSettings, Writer};
use chalet_types::{DataType, JsonType};
use std::sync::Arc;

/// Appends a column that has rows, without its name and type.
pub fn write_column(out: &mut Vec<u8>, ty: &DataType, column: &Column, layout: BlockLayout) -> Result<()> {
    let mut streams = Streams { prefix: Vec::new(), data: Vec::new(), layout };
    streams.write(ty, &column.flat())?;
    out.append(&mut streams.prefix);
    out.append(&mut streams.data);
    Ok(())
}

/// The name of the type that holds what was too much for a Dynamic.
pub(super) const SHARED: &str = "SharedVariant";

/// Values of one type, or of the types that are not kept apart.
struct Alternative {
    name: String,
    /// `None` for what is shared.
    ty: Option<DataType>,
    rows: Vec<u32>,
    values: Vector,
}

struct Streams {
    prefix: Vec<u8>,
    data: Vec<u8>,
    layout: BlockLayout,
}

impl Streams {
    fn write(&mut self, ty: &DataType, vector: &Vector) -> Result<()> {
        match (ty, &vector.data) {
            (DataType::Variant(types), _) => self.variant(ty, types, vector),
            (DataType::Dynamic(max_types), _) => self.dynamic(ty, *max_types, vector),
            (DataType::Json(json), _) => self.json(ty, json, vector),
            (DataType::Nullable(inner), _) => {
                self.data.extend((0..vector.len()).map(|row| u8::from(vector.is_null(row))));
                self.write(inner, &vector.without_nulls())
            }
            (DataType::LowCardinality(inner), _) => {
                self.prefix.extend_from_slice(&1u64.to_le_bytes());
                match vector.is_empty() {
                    true => Ok(()),
                    false => dictionary(&mut self.data, inner, vector, None),
                }
            }
            (_, Data::List(list)) => {
                let list = list.normalised();
                list.offsets[1..].iter().for_each(|end| self.data.extend_from_slice(&end.to_le_bytes()));
                self.write(&ty.element().unwrap_or(DataType::Nothing), &list.values)
            }
            (DataType::Tuple(types), Data::Struct(values)) if !types.is_empty() => {
                types.iter().zip(&values.fields).try_for_each(|(f, v)| self.write(&f.ty, v))
            }
            (_, data) => write_data(&mut self.data, ty, data),
        }
    }

    fn type_name(&mut self, ty: &DataType) {
        match self.layout.binary_types {
            true => put_type(&mut self.prefix, ty),
            false => put_string(&mut self.prefix, ty.to_string().as_bytes()),
        }
    }

    fn variant(&mut self, ty: &DataType, types: &[DataType], vector: &Vector) -> Result<()> {
        let groups = variant::groups(vector, ty)?;
        let of_type = |alternative: &DataType| {
            let found = groups.iter().find(|group| group.ty.is_same(alternative));
            Alternative {
                name: String::new(),
                ty: Some(alternative.clone()),
                rows: found.map_or_else(Vec::new, |group| group.rows.clone()),
                values: found.map_or_else(|| Vector::defaults(alternative, 0), |group| group.values.clone()),
            }
        };
        self.alternatives(&types.iter().map(of_type).collect::<Vec<_>>(), vector.len())
    }

    /// The number of each row's type, then the values of each type.
    fn alternatives(&mut self, alternatives: &[Alternative], n_rows: usize) -> Result<()> {
        const BASIC: u64 = 0;
        self.prefix.extend_from_slice(&BASIC.to_le_bytes());
        let mut numbers = vec![0xffu8; n_rows];
        for (number, alternative) in alternatives.iter().enumerate() {
            alternative.rows.iter().for_each(|row| numbers[*row as usize] = number as u8);
        }
        self.data.extend_from_slice(&numbers);
        alternatives
            .iter()
            .try_for_each(|one| self.write(one.ty.as_ref().unwrap_or(&DataType::String), &one.values))
    }

    fn dynamic(&mut self, ty: &DataType, max_types: u8, vector: &Vector) -> Result<()> {
        let groups = variant::groups(vector, ty)?;
        if self.layout.flattened {
            return self.flattened(groups, vector.len());
        }
        // The types that come first are kept apart.
        let mut by_row: Vec<&variant::Group> = groups.iter().collect();
        by_row.sort_by_key(|group| group.rows.first().copied());
        let (apart, shared) = by_row.split_at(by_row.len().min(usize::from(max_types)));
        let mut alternatives: Vec<Alternative> = apart
            .iter()
            .map(|group| Alternative {
                name: group.ty.to_string(),
                ty: Some(group.ty.clone()),
                rows: group.rows.clone(),
                values: group.values.clone(),
            })
            .collect();
        alternatives.push(shared_values(ty, shared, vector)?);
        alternatives.sort_by(|a, b| a.name.cmp(&b.name));
        const VERSION: u64 = 1;
        self.prefix.extend_from_slice(&VERSION.to_le_bytes());
        // As many as there may be, which the kernel sets to as many as there are.
        if !self.layout.without_limits {
            put_var_uint(&mut self.prefix, apart.len() as u64);
        }
        put_var_uint(&mut self.prefix, apart.len() as u64);
        for ty in alternatives.iter().filter_map(|alternative| alternative.ty.as_ref()) {
            self.type_name(ty);
        }
        self.alternatives(&alternatives, vector.len())
    }

    /// All types side by side.
    fn flattened(&mut self, groups: Vec<variant::Group>, n_rows: usize) -> Result<()> {
        const VERSION: u64 = 3;
        self.prefix.extend_from_slice(&VERSION.to_le_bytes());
        put_var_uint(&mut self.prefix, groups.len() as u64);
        groups.iter().for_each(|group| self.type_name(&group.ty));
        // NULL is behind the last type.
        let mut numbers = vec![groups.len() as u64; n_rows];
        for (number, group) in groups.iter().enumerate() {
            group.rows.iter().for_each(|row| numbers[*row as usize] = number as u64);
        }
        let width = super::index_width(groups.len() as u64);
        numbers.iter().for_each(|number| self.data.extend_from_slice(&number.to_le_bytes()[..width]));
        groups.iter().try_for_each(|group| self.write(&group.ty, &group.values))
    }

    fn json(&mut self, ty: &DataType, json: &JsonType, vector: &Vector) -> Result<()> {
        if self.layout.json_as_text {
            const VERSION: u64 = 1;
            self.prefix.extend_from_slice(&VERSION.to_le_bytes());
            let writer = Writer::new(ty, Style::Plain, &TextSettings::default());
            let mut text = Vec::new();
            for row in 0..vector.len() {
                text.clear();
                writer.write(&mut text, vector, row);
                put_string(&mut self.data, &text);
            }
            return Ok(());
        }
        let paths = Paths::of(json, vector, self.layout.flattened)?;
        let version: u64 = if self.layout.flattened { 3 } else { 0 };
        self.prefix.extend_from_slice(&version.to_le_bytes());
        let n_paths = paths.dynamic.len() as u64;
        if !self.layout.flattened && !self.layout.without_limits {
            // As many as there may be, which the kernel sets to as many as there are.
            put_var_uint(&mut self.prefix, n_paths);
        }
        put_var_uint(&mut self.prefix, n_paths);
        paths.dynamic.iter().for_each(|(path, _)| put_string(&mut self.prefix, path));
        json.typed.iter().zip(&paths.typed).try_for_each(|((_, ty), values)| self.write(ty, values))?;
        let dynamic = DataType::Dynamic(json.max_dynamic_types);
        paths.dynamic.iter().try_for_each(|(_, values)| self.write(&dynamic, values))?;
        match &paths.shared {
            Some(shared) => self.write(&DataType::map(DataType::String, DataType::String), shared),
            None => Ok(()),
        }
    }
}

/// What is not kept apart: each value behind its type, as a string.
fn shared_values(of: &DataType, groups: &[&variant::Group], vector: &Vector) -> Result<Alternative> {
    let mut rows: Vec<u32> = groups.iter().flat_map(|group| group.rows.iter().copied()).collect();
    rows.sort_unstable();
    let strings = vector.strings()?;
    let mut values = StringBuilder::with_capacity(rows.len());
    for &row in &rows {
        values.try_push_with(|out| several_types::put(out, of, strings.get(row as usize)))?;
    }
    Ok(Alternative { name: SHARED.into(), ty: None, rows, values: Data::Str(values.finish()).into() })
}

/// Objects as a column a path.
struct Paths {
    /// Of the paths that the type names.
    typed: Vec<Vector>,
    /// Sorted; of Dynamic values.
    dynamic: Vec<(Vec<u8>, Vector)>,
    /// A map of all other paths in each row; none where all paths have columns.
    shared: Option<Vector>,
}

/// Values of one path while rows are being added.
struct Growing {
    path: Vec<u8>,
    values: StringBuilder,
    valid: Vec<bool>,
}

impl Growing {
    fn push(&mut self, row: usize, value: &[u8]) {
        self.fill(row);
        self.values.push(value);
        self.valid.push(true);
    }

    /// NULLs up to a row.
    fn fill(&mut self, row: usize) {
        while self.valid.len() < row {
            self.values.push(b"");
            self.valid.push(false);
        }
    }
}

impl Paths {
    fn of(json: &JsonType, vector: &Vector, all_apart: bool) -> Result<Paths> {
        let n_rows = vector.len();
        let strings = vector.strings()?;
        let mut growing: Vec<Growing> = Vec::new();
        let mut known: HashMap<Vec<u8>, usize> = HashMap::default();
        let mut shared_ends = vec![0i64];
        let (mut shared_paths, mut shared) =
            (StringBuilder::with_capacity(0), StringBuilder::with_capacity(0));
        for row in 0..n_rows {
            for (path, value) in json::entries(strings.get(row))? {
                if json.typed_path(&path).is_some() {
                    continue;
                }
                let found = known.get(&path).copied();
                if found.is_none() && !all_apart && growing.len() >= json.max_dynamic_paths as usize {
                    shared_paths.push(&path);
                    shared.try_push_with(|out| several_types::put(out, &DataType::DYNAMIC, &value))?;
                    continue;
                }
                let at = found.unwrap_or_else(|| {
                    known.insert(path.clone(), growing.len());
                    let values = StringBuilder::with_capacity(n_rows);
                    growing.push(Growing { path, values, valid: Vec::with_capacity(n_rows) });
                    growing.len() - 1
                });
                growing[at].push(row, &value);
            }
            shared_ends.push(shared.len() as i64);
        }
        growing.sort_by(|a, b| a.path.cmp(&b.path));
        let dynamic = growing.into_iter().map(|mut path| {
            path.fill(n_rows);
            (path.path, Vector::new(Data::Str(path.values.finish()), Some(path.valid.into())))
        });
        let pairs = |paths: StringBuilder, values: StringBuilder| {
            let len = values.len();
            let fields = vec![Data::Str(paths.finish()).into(), Data::Str(values.finish()).into()];
            let values = Arc::new(Data::Struct(Struct { fields, len }).into());
            Data::List(List { offsets: shared_ends.into(), values }).into()
        };
        Ok(Paths {
            typed: json.typed.iter().map(|(path, ty)| typed(vector, path, ty)).collect::<Result<_>>()?,
            dynamic: dynamic.collect(),
            shared: (!all_apart).then(|| pairs(shared_paths, shared)),
        })
    }
}

/// The values of a path that the type names.
fn typed(vector: &Vector, path: &str, ty: &DataType) -> Result<Vector> {
    let values = json::path(vector, path.as_bytes())?;
    let strings = values.strings()?;
    let mut out = chalet_columns::Builder::new(ty);
    for row in 0..values.len() {
        if values.is_null(row) {
            out.push_default();
            continue;
        }
        let (_, mut value) = variant::split(&DataType::DYNAMIC, strings.get(row))?;
        variant::take(&mut value, ty, &mut out, true)?;
    }
    Ok(out.finish())
}
