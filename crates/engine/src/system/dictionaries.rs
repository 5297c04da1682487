//! `system.dictionaries`: every dictionary, and what came of loading it.

use super::catalog::all_tables;
use crate::dictionaries::definition::Source;
use crate::dictionaries::table::{Dictionary, Status};
use crate::made_table::made;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::{ColumnSchema, Table};
use chalet_types::{DataType, EnumValues, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

/// The states of the kernel; of ours are the first three.
const STATES: [&str; 7] = [
    "NOT_LOADED",
    "LOADED",
    "FAILED",
    "LOADING",
    "FAILED_AND_RELOADING",
    "LOADED_AND_RELOADING",
    "NOT_EXIST",
];

pub(super) fn dictionaries(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let text = DataType::String;
    let texts = DataType::String.array();
    let states = STATES.iter().zip(0..).map(|(name, number)| ((*name).into(), number)).collect();
    let number = DataType::UInt64;
    let header = [
        ("database", text.clone()),
        ("name", text.clone()),
        ("uuid", DataType::Uuid),
        ("status", DataType::Enum8(Arc::new(EnumValues::new(states)?))),
        ("origin", text.clone()),
        ("type", text.clone()),
        ("key.names", texts.clone()),
        ("key.types", texts.clone()),
        ("attribute.names", texts.clone()),
        ("attribute.types", texts),
        ("bytes_allocated", number.clone()),
        ("hierarchical_index_bytes_allocated", number.clone()),
        ("query_count", number.clone()),
        ("hit_rate", DataType::Float64),
        ("found_rate", DataType::Float64),
        ("element_count", number.clone()),
        ("load_factor", DataType::Float64),
        ("source", text.clone()),
        ("lifetime_min", number.clone()),
        ("lifetime_max", number.clone()),
        ("loading_start_time", DataType::DateTime(None)),
        ("last_successful_update_time", DataType::DateTime(None)),
        ("error_count", number),
        ("loading_duration", DataType::Float32),
        ("last_exception", text.clone()),
        ("comment", text),
    ];
    let mut rows = Vec::new();
    for (database, name, entry) in all_tables(ctx, &[])? {
        if let Some(dictionary) = entry.table.as_any().downcast_ref::<Dictionary>() {
            rows.push(row(&database, &name, dictionary, &entry.comment));
        }
    }
    made("SystemDictionaries", &header, rows)
}

fn row(database: &str, name: &str, dictionary: &Dictionary, comment: &str) -> Vec<Value> {
    let definition = &dictionary.definition;
    let Status { loaded, error, n_errors, started, updated, took, .. } = dictionary.status();
    let reads_through = definition.layout.reads_through;
    let is_loaded = loaded.is_some() || reads_through && updated.is_some();
    let state = i64::from(is_loaded) + 2 * i64::from(!is_loaded && error.is_some());
    let none_before = |text: &str| Value::from(if is_loaded { text } else { "" });
    let names =
        |columns: &[ColumnSchema]| Value::Array(columns.iter().map(|c| Value::from(&*c.name)).collect());
    let types = |columns: &[ColumnSchema]| {
        Value::Array(columns.iter().map(|column| Value::string(column.ty.to_string())).collect())
    };
    let attributes = &definition.schema.columns[definition.first_attribute()..];
    let (asked, found, hits) = match &loaded {
        Some(loaded) => {
            let asked = loaded.asked.load(Relaxed);
            (asked, loaded.found.load(Relaxed), asked)
        }
        None => {
            let of = &dictionary.lookups;
            (of.asked.load(Relaxed), of.found.load(Relaxed), of.hits.load(Relaxed))
        }
    };
    let cache = definition.is_cache().then(|| dictionary.cache());
    let cached = cache.as_ref().map_or((0, 0.0), |cache| (cache.len() as u64, cache.load_factor()));
    let elements = match &loaded {
        Some(loaded) if !definition.layout.keeps_duplicates => {
            // The kernel counts a key once for each attribute in some layouts; rows are what users ask for.
            loaded.rows.n_rows() as u64
        }
        _ => cached.0,
    };
    let bytes = match &loaded {
        Some(loaded) => loaded.memory(),
        None => cache.as_ref().map_or(0, |cache| cache.memory()),
    };
    let full = if loaded.is_some() && elements > 0 { 0.5 } else { cached.1 };
    let hit_rate = match asked {
        0 => f64::from(u8::from(loaded.is_some())),
        asked => hits as f64 / asked as f64,
    };
    let shown = match &definition.source {
        Source::Query { shown, .. } => shown.as_str(),
        Source::Null => "Null",
        Source::Other(name) => name,
    };
    let (least, most) = if is_loaded { definition.lifetime } else { (0, 0) };
    vec![
        Value::from(database),
        Value::from(name),
        Value::Bytes([0; 16].into()),
        Value::Int(state),
        Value::from(""),
        none_before(definition.layout.type_name),
        names(definition.keys()),
        types(definition.keys()),
        names(attributes),
        types(attributes),
        Value::UInt(bytes as u64),
        Value::UInt(0),
        Value::UInt(asked),
        Value::Float(hit_rate),
        Value::Float(if asked > 0 { found as f64 / asked as f64 } else { 0.0 }),
        Value::UInt(elements),
        Value::Float(full),
        none_before(shown),
        Value::UInt(least),
        Value::UInt(most),
        Value::UInt(seconds(started)),
        Value::UInt(seconds(updated)),
        Value::UInt(n_errors),
        Value::Float(took.as_secs_f64()),
        Value::string(error.unwrap_or_default()),
        Value::from(comment),
    ]
}

fn seconds(time: Option<SystemTime>) -> u64 {
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_secs())
}
