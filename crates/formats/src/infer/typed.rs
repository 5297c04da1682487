//! Inference of formats whose values say their types: the types of a column's values must be the same.

use super::{hints, unknown_type};
use crate::FormatSettings;
use crate::input::Schema;
use chalet_base::{Result, ensure, err};
use chalet_types::{DataType, TupleField};

/// The type of a value; `None` where only NULL or nothing was seen.
pub type Typed = Option<DataType>;

/// Columns in the order in which they were first seen.
#[derive(Default)]
pub struct TypedColumns {
    pub columns: Vec<(String, Typed)>,
}

impl TypedColumns {
    /// Adds the value of a column in row number `row`.
    pub fn add(&mut self, name: &str, ty: Typed, row: usize) -> Result<()> {
        let Some(column) = self.columns.iter_mut().find(|c| c.0 == name) else {
            self.columns.push((name.to_string(), ty));
            return Ok(());
        };
        column.1 = merge(column.1.take(), ty).map_err(|(before, now)| {
            err!(
                TYPE_MISMATCH,
                "Automatically defined type {now} for column '{name}' in row {row} differs from type defined by previous \
                 rows: {before}. You can specify the type for this column using setting schema_inference_hints"
            )
        })?;
        Ok(())
    }

    pub fn finish(self, settings: &FormatSettings) -> Result<Schema> {
        ensure!(!self.columns.is_empty(), EMPTY_DATA_PASSED, "Cannot read rows from the data");
        let hints = hints(settings)?;
        let nullable = settings.schema_inference_make_columns_nullable.0 != Some(0);
        let named = self.columns.into_iter().map(|(name, ty)| {
            let hint = hints.iter().find(|hint| hint.0 == name).map(|hint| hint.1.clone());
            let ty = match (hint, ty) {
                (Some(hint), _) => hint,
                (None, Some(ty)) if nullable => deeply_nullable(&ty),
                (None, Some(ty)) => ty,
                (None, None) => return Err(unknown_type(&name)),
            };
            Ok((name, ty))
        });
        named.collect()
    }
}

/// The type that both are, or both in conflict.
pub fn merge(a: Typed, b: Typed) -> Result<Typed, (DataType, DataType)> {
    match (a, b) {
        (Some(a), Some(b)) if a == b => Ok(Some(a)),
        (Some(a), Some(b)) => Err((a, b)),
        (a, b) => Ok(a.or(b)),
    }
}

/// An array of values of these types: of one, or a tuple of several.
pub fn array(elements: Vec<Typed>) -> Typed {
    let first = elements.iter().flatten().next()?.clone();
    if elements.iter().flatten().all(|ty| *ty == first) {
        return Some(first.array());
    }
    elements.into_iter().collect::<Option<Vec<_>>>().map(DataType::tuple)
}

/// Nullable wherever the kernel allows it.
pub fn deeply_nullable(ty: &DataType) -> DataType {
    match ty {
        DataType::Array(inner) => deeply_nullable(inner).array(),
        DataType::Map(key, value) => DataType::map(DataType::clone(key), deeply_nullable(value)),
        DataType::Tuple(fields) => {
            let field = |f: &TupleField| TupleField { name: f.name.clone(), ty: deeply_nullable(&f.ty) };
            DataType::Tuple(fields.iter().map(field).collect()).nullable()
        }
        other => other.clone().nullable(),
    }
}
