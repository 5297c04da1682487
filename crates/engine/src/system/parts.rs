//! `system.parts`: the parts of tables of the MergeTree family.

use super::catalog::all_tables;
use crate::made_table::made;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::part::{Part, PartData};
use chalet_types::{DataType, Value};
use std::sync::Arc;

pub(crate) fn parts(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let (text, number) = (DataType::String, DataType::UInt64);
    let header = [
        ("partition", text.clone()),
        ("name", text.clone()),
        ("part_type", text.clone()),
        ("active", DataType::UInt8),
        ("marks", number.clone()),
        ("rows", number.clone()),
        ("files", number.clone()),
        ("bytes_on_disk", number.clone()),
        ("data_compressed_bytes", number.clone()),
        ("data_uncompressed_bytes", number.clone()),
        ("modification_time", DataType::DateTime(None)),
        ("refcount", DataType::UInt32),
        ("partition_id", text.clone()),
        ("min_block_number", DataType::Int64),
        ("max_block_number", DataType::Int64),
        ("level", DataType::UInt32),
        ("data_version", number.clone()),
        ("database", text.clone()),
        ("table", text.clone()),
        ("engine", text.clone()),
        ("disk_name", text.clone()),
        ("path", text.clone()),
        ("default_compression_codec", text.clone()),
        ("visible", DataType::UInt8),
        ("bytes", number),
        ("part_name", text),
    ];
    let mut rows = Vec::new();
    for (database, name, entry) in all_tables(ctx, &[])? {
        let Some(table) = entry.table.as_any().downcast_ref::<MergeTree>() else { continue };
        // The error of a damaged table comes when it is used.
        let Ok(state) = table.parts().snapshot() else { continue };
        rows.extend(state.parts.iter().map(|part| row(&database, &name, table, part)));
    }
    made("SystemParts", &header, rows)
}

fn row(database: &str, table: &str, of: &MergeTree, part: &Arc<Part>) -> Vec<Value> {
    let info = &part.info;
    let name = info.name();
    let (kind, files, path) = match &part.data {
        PartData::Resident(_) => ("InMemory", 0, String::new()),
        PartData::File(path, _) => ("Compact", 1, path.to_string_lossy().into_owned()),
    };
    let marks = info.rows.div_ceil(of.definition().granularity.max(1) as u64) + 1;
    vec![
        Value::from(&*info.partition.shown),
        Value::from(name.as_str()),
        Value::from(kind),
        Value::from(true),
        Value::UInt(marks),
        Value::UInt(info.rows),
        Value::UInt(files),
        Value::UInt(info.bytes),
        Value::UInt(info.bytes),
        Value::UInt(info.raw_bytes),
        Value::UInt(info.modified.into()),
        Value::UInt(Arc::strong_count(part) as u64),
        Value::from(&*info.partition.id),
        Value::Int(info.min_block as i64),
        Value::Int(info.max_block as i64),
        Value::UInt(info.level.into()),
        Value::UInt(info.mutation.max(info.max_block)),
        Value::from(database),
        Value::from(table),
        Value::from(of.engine()),
        Value::from("default"),
        Value::from(path.as_str()),
        Value::from("LZ4"),
        Value::from(true),
        Value::UInt(info.bytes),
        Value::from(name.as_str()),
    ]
}
