//! `system.backups`.

use super::structures;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::Value;
use std::sync::Arc;

pub(super) fn backups(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let rows = ctx.database.shared.backups.operations().into_iter().map(|one| {
        vec![
            ("id", Value::from(one.id.as_str())),
            ("name", Value::from(one.name.as_str())),
            ("base_backup_name", Value::from(one.base.as_str())),
            ("query_id", Value::from(one.query_id.as_str())),
            ("status", Value::Int(one.status_number())),
            ("error", Value::from(one.error.as_str())),
            ("start_time", Value::Int(one.start)),
            ("end_time", Value::Int(one.end)),
            ("num_files", Value::UInt(one.files)),
            ("total_size", Value::UInt(one.bytes)),
            ("num_entries", Value::UInt(one.files)),
            ("uncompressed_size", Value::UInt(one.bytes)),
            ("compressed_size", Value::UInt(one.bytes)),
        ]
    });
    structures::table("backups", rows.collect())
}
