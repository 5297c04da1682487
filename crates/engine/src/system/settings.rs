//! `system.settings`, `system.server_settings` and `system.events`.

use super::structures::{self, SparseRow};
use crate::made_table::{made, made_as};
use crate::query_context::QueryContext;
use crate::settings::{self, TIERS, server};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_storage::{ColumnSchema, DefaultKind, Table, TableSchema};
use chalet_types::{DataType, EnumValues, Value};
use std::sync::Arc;

pub(crate) fn settings(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let current = &ctx.state.settings;
    let is_fixed = current.get("readonly").is_some_and(|level| level == "1");
    let rows = settings::all().iter().map(|known| -> SparseRow {
        let value = current.get(known.name).unwrap_or_default();
        vec![
            ("name", Value::from(known.name)),
            ("value", Value::from(value.as_str())),
            ("changed", Value::from(current.is_changed(known.name))),
            ("min", Value::Null),
            ("max", Value::Null),
            ("readonly", Value::from(is_fixed)),
            ("type", Value::from(known.kind)),
            ("default", Value::from(known.default)),
            ("alias_for", Value::from(known.alias_for)),
            ("is_obsolete", Value::from(known.tier == "Obsolete")),
            ("tier", tier(known.tier)),
        ]
    });
    structures::table("settings", rows.collect())
}

fn tier(word: &str) -> Value {
    Value::Int(TIERS.iter().find(|(name, _)| *name == word).map_or(0, |(_, number)| *number).into())
}

/// Settings of tables of the MergeTree family, and the same for those that are replicated; CREATE and ALTER say what a table has,
/// and nothing else changes them.
pub(crate) fn merge_tree_settings(name: &str) -> Result<Arc<dyn Table>> {
    let rows = settings::merge_tree::all().iter().map(|setting| -> SparseRow {
        vec![
            ("name", Value::from(setting.known.name)),
            ("value", Value::from(setting.known.default)),
            ("default", Value::from(setting.known.default)),
            ("min", Value::Null),
            ("max", Value::Null),
            ("readonly", Value::from(setting.is_readonly)),
            ("type", Value::from(setting.known.kind)),
            ("is_obsolete", Value::from(setting.tier == "Obsolete")),
            ("tier", tier(setting.tier)),
        ]
    });
    structures::table(name, rows.collect())
}

/// Settings of the process.
pub(crate) fn server_settings() -> Result<Arc<dyn Table>> {
    let text = DataType::String;
    let names = ["No", "IncreaseOnly", "DecreaseOnly", "Yes"];
    let changeable = EnumValues::new(names.into_iter().zip(0..).map(|(name, x)| (name.into(), x)).collect())?;
    let header = [
        ("name", text.clone()),
        ("value", text.clone()),
        ("default", text.clone()),
        ("changed", DataType::UInt8),
        ("description", text.clone()),
        ("type", text),
        ("changeable_without_restart", DataType::Enum8(Arc::new(changeable))),
        ("is_obsolete", DataType::UInt8),
    ];
    let rows = server::ALL.iter().map(|setting| {
        let value = (setting.value)();
        vec![
            Value::from(setting.name),
            Value::from(value.as_str()),
            Value::from(setting.default),
            Value::from(value != setting.default),
            Value::from(setting.description),
            Value::from(setting.kind),
            Value::Int(3),
            Value::from(false),
        ]
    });
    made("SystemServerSettings", &header, rows)
}

/// Counters of the process; those that are 0 only where `system_events_show_zero_values` asks for them.
pub(crate) fn events(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let alias = (DefaultKind::Alias, "event".into());
    let columns = vec![
        ColumnSchema::new("event", DataType::String),
        ColumnSchema::new("value", DataType::UInt64),
        ColumnSchema::new("description", DataType::String),
        ColumnSchema { default: Some(alias), ..ColumnSchema::new("name", DataType::String) },
    ];
    let shows_zero = ctx.state.settings.flag("system_events_show_zero_values").unwrap_or(false);
    let counters =
        Event::ALL.iter().map(|(event, name, description)| (*name, events::total(*event), *description));
    let rows =
        counters.filter(|(_, value, _)| shows_zero || *value > 0).map(|(event, value, description)| {
            vec![Value::from(event), Value::UInt(value), Value::from(description)]
        });
    made_as("SystemEvents", TableSchema::new(columns), rows)
}
