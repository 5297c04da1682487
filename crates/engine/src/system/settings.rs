//! `system.settings`, `system.server_settings` and `system.events`.

use crate::made_table::{made, made_as};
use crate::query_context::QueryContext;
use crate::settings::{self, server};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_storage::{ColumnSchema, DefaultKind, Table, TableSchema};
use chalet_types::{DataType, EnumValues, Value};
use std::sync::Arc;

pub(crate) fn settings(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let text = DataType::String;
    let header = [
        ("name", text.clone()),
        ("value", text.clone()),
        ("changed", DataType::UInt8),
        ("readonly", DataType::UInt8),
        ("type", text.clone()),
        ("default", text.clone()),
        ("alias_for", text),
    ];
    let current = &ctx.state.settings;
    let is_fixed = current.get("readonly").is_some_and(|level| level == "1");
    let rows = settings::all().iter().map(|known| {
        let value = current.get(known.name).unwrap_or_default();
        vec![
            Value::from(known.name),
            Value::from(value.as_str()),
            Value::from(current.is_changed(known.name)),
            Value::from(is_fixed),
            Value::from(known.kind),
            Value::from(known.default),
            Value::from(known.alias_for),
        ]
    });
    made("SystemSettings", &header, rows)
}

/// Settings of tables of the MergeTree family; CREATE and ALTER say what a table has, and nothing else changes them.
pub(crate) fn merge_tree_settings() -> Result<Arc<dyn Table>> {
    let text = DataType::String;
    let tiers =
        [("Production", 0), ("Obsolete", 4), ("Experimental", 8), ("Beta", 12), ("PrivatePreview", 16)];
    let values = EnumValues::new(tiers.into_iter().map(|(name, x)| (name.into(), x)).collect())?;
    let header = [
        ("name", text.clone()),
        ("value", text.clone()),
        ("default", text.clone()),
        ("changed", DataType::UInt8),
        ("min", text.clone().nullable()),
        ("max", text.clone().nullable()),
        ("disallowed_values", text.clone().array()),
        ("readonly", DataType::UInt8),
        ("type", text),
        ("is_obsolete", DataType::UInt8),
        ("tier", DataType::Enum8(Arc::new(values))),
    ];
    let rows = settings::merge_tree::all().iter().map(|setting| {
        let tier = tiers.iter().find(|(name, _)| *name == setting.tier).map_or(0, |(_, x)| *x);
        vec![
            Value::from(setting.known.name),
            Value::from(setting.known.default),
            Value::from(setting.known.default),
            Value::from(false),
            Value::Null,
            Value::Null,
            Value::Array([].into()),
            Value::from(setting.is_readonly),
            Value::from(setting.known.kind),
            Value::from(setting.tier == "Obsolete"),
            Value::Int(tier.into()),
        ]
    });
    made("SystemMergeTreeSettings", &header, rows)
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
