//! `system.settings` and `system.events`.

use super::made;
use crate::scope::Scope;
use crate::settings;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::{DataType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) fn settings(scope: &Scope) -> Result<Arc<dyn Table>> {
    let text = DataType::String;
    let header = [
        ("name", text.clone()),
        ("value", text.clone()),
        ("changed", DataType::UInt8),
        ("type", text.clone()),
        ("default", text.clone()),
        ("alias_for", text),
    ];
    let current = &scope.state.settings;
    let rows = settings::all().iter().map(|known| {
        let value = current.get(known.name).unwrap_or_default();
        vec![
            Value::from(known.name),
            Value::from(value.as_str()),
            Value::from(current.is_changed(known.name)),
            Value::from(known.kind),
            Value::from(known.default),
            Value::from(known.alias_for),
        ]
    });
    made("SystemSettings", &header, rows)
}

/// Counters of the statement that asks.
pub(crate) fn events(scope: &Scope) -> Result<Arc<dyn Table>> {
    let header =
        [("event", DataType::String), ("value", DataType::UInt64), ("description", DataType::String)];
    let control = &scope.control;
    let counters = [
        ("SelectedRows", control.read_rows.load(Relaxed), "Rows read from tables"),
        ("SelectedBytes", control.read_bytes.load(Relaxed), "Uncompressed bytes read from tables"),
    ];
    let rows = counters.into_iter().map(|(event, value, description)| {
        vec![Value::from(event), Value::UInt(value), Value::from(description)]
    });
    made("SystemEvents", &header, rows)
}
