//! `system.view_refreshes`.

use super::structures;
use crate::query_context::QueryContext;
use crate::refresh::scheduler;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::Value;
use std::sync::Arc;

pub(super) fn view_refreshes(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let time = |millis: Option<i64>| millis.map_or(Value::Null, |millis| Value::Int(millis.div_euclid(1000)));
    let number = |number: u64| Value::UInt(number);
    let rows = scheduler::views(&ctx.database).into_iter().map(|one| {
        vec![
            ("database", Value::from(one.database.as_str())),
            ("view", Value::from(one.view.as_str())),
            ("status", Value::from(one.status)),
            ("last_success_time", time(one.last_success)),
            ("last_success_duration_ms", one.last_duration.map_or(Value::Null, number)),
            ("last_refresh_time", time(one.last_begin)),
            ("next_refresh_time", time(one.next)),
            ("exception", Value::from(one.exception.as_str())),
            ("retry", number(one.retry)),
            ("progress", Value::Float(one.progress)),
            ("read_rows", number(one.counts.read_rows)),
            ("read_bytes", number(one.counts.read_bytes)),
            ("total_rows", number(one.counts.total_rows)),
            ("written_rows", number(one.counts.written_rows)),
            ("written_bytes", number(one.counts.written_bytes)),
        ]
    });
    structures::table("view_refreshes", rows.collect())
}
