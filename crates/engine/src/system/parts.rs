//! `system.parts`, `system.parts_columns` and `system.detached_parts`: the parts of tables of the MergeTree family.

use super::catalog::all_tables;
use super::part_details::PartDetails;
use super::structures::{SparseRow, table};
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_storage::merge_tree::part::{Part, PartData};
use chalet_storage::merge_tree::parts::State;
use chalet_storage::merge_tree::{MergeTree, PERSISTED, Partition};
use chalet_types::{DataType, Value};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn parts(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let mut rows = Vec::new();
    each(ctx, |database, name, of, state| {
        let details = PartDetails::of(of, ctx).unwrap_or_default();
        for part in &state.parts {
            let mut row = row(database, name, of, part);
            row.extend(details.row(of, part, marks(of, part))?);
            row.extend([
                ("creation_tid", outside_of_transactions()),
                ("creation_csn", Value::UInt(1)),
                ("removal_state", Value::from("Cleanup thread hasn't seen this part yet")),
            ]);
            rows.push(row);
        }
        Ok(())
    })?;
    table("parts", rows)
}

/// The number of the transaction that is none.
fn outside_of_transactions() -> Value {
    Value::Tuple(vec![Value::UInt(1), Value::UInt(1), Value::Bytes(Box::new([0; 16]))])
}

/// A row for each column of each part.
pub(crate) fn parts_columns(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let mut rows = Vec::new();
    each(ctx, |database, name, of, state| {
        let schema = of.schema();
        let details = PartDetails::of(of, ctx).unwrap_or_default();
        for part in &state.parts {
            let details = details.row(of, part, marks(of, part))?;
            // By their numbers: a part may have a column under an earlier name.
            let current = &of.definition().columns.columns;
            let own = part.columns.columns.iter();
            let is_kept =
                |name: &str| PERSISTED.contains(&name) && schema.stored().all(|known| *known.name != *name);
            let own = own
                .filter(|column| is_kept(&column.name) || current.iter().any(|known| known.id == column.id));
            for (at, column) in own.enumerate() {
                let name_now = current.iter().find(|known| known.id == column.id).map(|known| &known.name);
                let declared = schema.columns.iter().find(|known| Some(&known.name) == name_now);
                let default = declared.and_then(|known| known.default.as_ref());
                let mut row = row(database, name, of, part);
                row.extend(details.iter().cloned());
                row.extend([
                    ("remove_time", Value::UInt(u32::MAX.into())),
                    ("column", Value::from(&**name_now.unwrap_or(&column.name))),
                    ("type", Value::from(column.ty.to_string().as_str())),
                    ("column_position", Value::UInt(at as u64 + 1)),
                    ("default_kind", Value::from(default.map_or("", |(kind, _)| kind.name()))),
                    ("default_expression", Value::from(default.map_or("", |(_, text)| text))),
                    ("serialization_kind", Value::from("Default")),
                ]);
                rows.push(row);
            }
        }
        Ok(())
    })?;
    table("parts_columns", rows)
}

pub(crate) fn detached_parts(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let mut rows = Vec::new();
    each(ctx, |database, name, _, state| {
        rows.extend(state.detached.iter().map(|part| {
            let info = &part.info;
            vec![
                ("database", Value::from(database)),
                ("table", Value::from(name)),
                ("partition_id", Value::from(&*info.partition.id)),
                ("name", Value::from(info.name().as_str())),
                ("bytes_on_disk", Value::UInt(info.bytes)),
                ("modification_time", Value::UInt(info.modified.into())),
                ("disk", Value::from("default")),
                ("path", Value::from(path(part).as_str())),
                ("reason", Value::from("")),
                ("min_block_number", Value::Int(info.min_block as i64)),
                ("max_block_number", Value::Int(info.max_block as i64)),
                ("level", Value::UInt(info.level.into())),
            ]
        }));
        Ok(())
    })?;
    table("detached_parts", rows)
}

/// The mutations that were done since a table was opened: a statement that returned has nothing left to do.
pub(crate) fn mutations(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let seconds = |time: SystemTime| {
        Value::UInt(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().min(u32::MAX.into())))
    };
    let mut rows = Vec::new();
    each(ctx, |database, name, of, _| {
        rows.extend(of.parts().mutations().into_iter().map(|done| {
            vec![
                ("database", Value::from(database)),
                ("table", Value::from(name)),
                ("mutation_id", Value::from(format!("mutation_{}.txt", done.number).as_str())),
                ("command", Value::from(done.command.as_str())),
                ("create_time", seconds(done.created)),
                ("finish_time", seconds(done.finished)),
                ("block_numbers.partition_id", Value::Array(vec![Value::from("")])),
                ("block_numbers.number", Value::Array(vec![Value::Int(done.number as i64)])),
                ("is_done", Value::from(true)),
            ]
        }));
        Ok(())
    })?;
    table("mutations", rows)
}

/// Database, name, handle and parts of each table.
fn each(
    ctx: &QueryContext,
    mut take: impl FnMut(&str, &str, &MergeTree, &State) -> Result<()>,
) -> Result<()> {
    for (database, name, entry) in all_tables(ctx, &[])? {
        let Some(of) = entry.table.as_any().downcast_ref::<MergeTree>() else { continue };
        // The error of a damaged table comes when it is used.
        let Ok(state) = of.parts().snapshot() else { continue };
        take(&database, &name, of, &state)?;
    }
    Ok(())
}

fn path(part: &Part) -> String {
    match &part.data {
        PartData::Resident(_) => String::new(),
        PartData::File(path, _) => path.to_string_lossy().into_owned(),
    }
}

/// The text of a partition's value: a NULL is drawn as tables on a screen draw it.
fn shown_partition(partition: &Partition) -> &str {
    if *partition.id == *OF_NULL { "ᴺᵁᴸᴸ" } else { &partition.shown }
}

/// The name of the partition whose key is NULL.
const OF_NULL: &str = "2b16b490a87466b6a6d34fd9027f3c3d";

/// How the rows of a part are kept, and in how many files.
pub(super) fn kind_of(part: &Part) -> (&'static str, u64) {
    match &part.data {
        PartData::Resident(_) => ("InMemory", 0),
        PartData::File(..) => ("Compact", 1),
    }
}

fn marks(of: &MergeTree, part: &Part) -> u64 {
    of.definition().granules(part.info.rows) + 1
}

pub(super) fn row(database: &str, name: &str, of: &MergeTree, part: &Arc<Part>) -> SparseRow {
    let info = &part.info;
    let (kind, files) = kind_of(part);
    let mut row = vec![
        ("partition", Value::from(shown_partition(&info.partition))),
        ("name", Value::from(info.name().as_str())),
        ("part_type", Value::from(kind)),
        ("active", Value::from(true)),
        ("marks", Value::UInt(marks(of, part))),
        ("rows", Value::UInt(info.rows)),
        ("files", Value::UInt(files)),
        ("bytes_on_disk", Value::UInt(info.bytes)),
        ("data_compressed_bytes", Value::UInt(info.bytes)),
        ("data_uncompressed_bytes", Value::UInt(info.raw_bytes)),
        ("modification_time", Value::UInt(info.modified.into())),
        ("refcount", Value::UInt(Arc::strong_count(part) as u64)),
        ("partition_id", Value::from(&*info.partition.id)),
        ("min_block_number", Value::Int(info.min_block as i64)),
        ("max_block_number", Value::Int(info.max_block as i64)),
        ("level", Value::UInt(info.level.into())),
        ("data_version", Value::UInt(info.mutation.max(info.max_block))),
        ("database", Value::from(database)),
        ("table", Value::from(name)),
        ("engine", Value::from(of.engine())),
        ("disk_name", Value::from("default")),
        ("path", Value::from(path(part).as_str())),
        ("default_compression_codec", Value::from("LZ4")),
        ("visible", Value::from(true)),
        ("is_frozen", Value::from(part.is_frozen())),
    ];
    row.extend(time_bounds(of, part));
    row
}

/// The bounds of the one date that the partition key reads, or else of the one time.
fn time_bounds(of: &MergeTree, part: &Arc<Part>) -> Vec<(&'static str, Value)> {
    let schema = of.schema();
    let columns = of.partition_columns();
    let of_type = |is_meant: fn(&DataType) -> bool| {
        columns.iter().copied().filter(|&at| is_meant(&schema.columns[at].ty)).collect::<Vec<usize>>()
    };
    let dates = of_type(|ty| *ty == DataType::Date);
    let times = of_type(|ty| matches!(ty, DataType::DateTime(_) | DataType::DateTime64(..)));
    let (names, column) = match (&dates[..], &times[..]) {
        ([date], _) => (["min_date", "max_date"], *date),
        ([], [time]) => (["min_time", "max_time"], *time),
        _ => return Vec::new(),
    };
    // Both are shown as DateTime, in whole seconds.
    let shown = |value: Value| match (&schema.columns[column].ty, value) {
        (DataType::DateTime64(scale, _), Value::Int(ticks)) => {
            Value::UInt(u64::try_from(ticks.div_euclid(10_i64.pow(u32::from(*scale)))).unwrap_or(0))
        }
        (_, value) => value,
    };
    let bounds = of.partition_bounds(part, column);
    bounds.map_or(Vec::new(), |(least, greatest)| vec![(names[0], shown(least)), (names[1], shown(greatest))])
}
