//! Schema inference of text formats: a guess for every field, merged over rows, then named as types.
//!
//! - [`guess`]: what a value may be, and what holds two such values
//! - [`literal`]: guesses from fields of CSV and TSV and from literals
//! - [`json`]: guesses from JSON
//! - [`positional`]: rows of fields in a fixed order, header detection included
//! - [`objects`]: rows of named fields
//! - [`typed`]: values that say their types

mod guess;
mod json;
mod literal;
mod objects;
mod positional;
pub mod typed;

use crate::{FormatSettings, Schema};
use chalet_base::{Result, ensure, err};
use chalet_types::DataType;

pub use guess::{Dialect, Guess, Kind};
pub use json::{json_string, json_value};
pub use literal::{csv_field, literal, tsv_field};
pub use objects::{objects, of_named_rows};
pub use positional::{Rows, head, positional, positional_rows};

/// Names and types from guesses, with the hints that the settings give.
pub fn finish(columns: Vec<(String, Guess)>, dialect: Dialect, settings: &FormatSettings) -> Result<Schema> {
    ensure!(!columns.is_empty(), EMPTY_DATA_PASSED, "Cannot read rows from the data");
    let hints = hints(settings)?;
    let mut schema = Schema::with_capacity(columns.len());
    for (name, guess) in columns {
        ensure!(
            schema.iter().all(|c| c.0 != name),
            INCORRECT_DATA,
            "Duplicate column name found while schema inference: \"{name}\""
        );
        let ty = match hints.iter().find(|h| h.0 == name) {
            Some(hint) => hint.1.clone(),
            None => guess.data_type(dialect, settings).ok_or_else(|| unknown_type(&name))?,
        };
        schema.push((name, ty));
    }
    Ok(schema)
}

#[cold]
fn unknown_type(name: &str) -> chalet_base::Error {
    err!(
        ONLY_NULLS_WHILE_READING_SCHEMA,
        "Cannot determine type for column '{name}' by first rows of data, most likely this column contains only Nulls or \
         empty Arrays/Maps. You can specify the type for this column using setting schema_inference_hints"
    )
}

/// Types that the user names: `schema_inference_hints = 'a Int8, b String'`.
fn hints(settings: &FormatSettings) -> Result<Schema> {
    if settings.schema_inference_hints.trim().is_empty() {
        return Ok(Schema::new());
    }
    let tuple: DataType = format!("Tuple({})", settings.schema_inference_hints).parse()?;
    let DataType::Tuple(fields) = tuple else { return Ok(Schema::new()) };
    Ok(fields.iter().filter_map(|f| Some((f.name.as_deref()?.to_string(), f.ty.clone()))).collect())
}

/// A column whose values have no type in common.
#[cold]
pub fn mismatch(name: &str, row: usize, before: &Guess, now: &Guess) -> chalet_base::Error {
    let shown = |guess: &Guess| {
        let settings = FormatSettings {
            schema_inference_make_columns_nullable: crate::settings::Auto(Some(0)),
            ..Default::default()
        };
        guess
            .data_type(Dialect::json(&settings), &settings)
            .map_or_else(|| "Nothing".to_string(), |ty| ty.to_string())
    };
    err!(
        TYPE_MISMATCH,
        "Automatically defined type {} for column '{name}' in row {row} differs from type defined by previous rows: {}. You \
         can specify the type for this column using setting schema_inference_hints",
        shown(now),
        shown(before)
    )
}
