//! The engine Memory, and how much of its rows it keeps.

use super::columns::{schema_of, stored_schema};
use super::engine::{Engine, Found, New};
use super::keyed::shown;
use crate::query_context::QueryContext;
use chalet_base::{Result, ensure};
use chalet_binder::table_columns::bind_constant;
use chalet_storage::Table;
use chalet_storage::memory::{Kept, MemoryTable};
use chalet_syntax::ast;
use std::sync::Arc;

/// Settings of Memory. Rows are never compressed: `compress` changes nothing that a query could see.
pub(crate) const SETTINGS: &[&str] =
    &["compress", "max_bytes_to_keep", "max_rows_to_keep", "min_bytes_to_keep", "min_rows_to_keep"];

pub(super) fn create(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let kept = checked(new.storage, new.ctx)?;
    let table = MemoryTable::new(schema_of(new.create, new.ctx)?).keeping(kept);
    Ok((Arc::new(table), shown(new.engine, new.storage)))
}

/// What the settings say, unless they contradict each other.
pub(crate) fn checked(storage: &ast::Storage, ctx: &QueryContext) -> Result<Kept> {
    let kept = kept(storage, ctx)?;
    for (least, most, unit) in
        [(kept.min_bytes, kept.max_bytes, "bytes"), (kept.min_rows, kept.max_rows, "rows")]
    {
        ensure!(
            least <= most,
            SETTING_CONSTRAINT_VIOLATION,
            "Setting `min_{unit}_to_keep` cannot be higher than the `max_{unit}_to_keep`. `min_{unit}_to_keep`: {least}, \
             `max_{unit}_to_keep`: {most}"
        );
    }
    Ok(kept)
}

pub(super) fn open(_: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let kept = kept(&found.create.storage, found.ctx)?;
    Ok(Arc::new(MemoryTable::new(stored_schema(&found.create.definition)?).keeping(kept)))
}

fn kept(storage: &ast::Storage, ctx: &QueryContext) -> Result<Kept> {
    let mut kept = Kept::default();
    for setting in &storage.settings {
        let place = match setting.name.name.as_str() {
            "min_bytes_to_keep" => &mut kept.min_bytes,
            "max_bytes_to_keep" => &mut kept.max_bytes,
            "min_rows_to_keep" => &mut kept.min_rows,
            "max_rows_to_keep" => &mut kept.max_rows,
            _ => continue,
        };
        if let ast::SettingValue::Expr(value) = &setting.value {
            *place = bind_constant(value, ctx, &ctx.ids)?.value().as_u64().unwrap_or(0);
        }
    }
    Ok(kept)
}
