//! Workloads, resources and named collections. The values of collections are secrets: they are not shown.

use super::structures::{self, SparseRow};
use crate::entities::{create_statement, unit};
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_syntax::ast::{
    self, EntityDefinition, EntityKind, ExprKind, Ident, Literal, ResourceOperation, SettingValue,
};
use chalet_types::Value;
use std::sync::Arc;

const HIDDEN: &str = "[HIDDEN]";

/// `system.workloads`, `system.resources` or `system.named_collections`.
pub(super) fn table(name: &str, kind: EntityKind, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let entities = ctx.database.shared.entities.of_kind(kind);
    structures::table(name, entities.iter().map(|(name, definition)| row(name, definition)).collect())
}

fn row(name: &str, definition: &EntityDefinition) -> SparseRow {
    let text = |definition: &EntityDefinition| {
        Value::from(&*chalet_syntax::print::print(&create_statement(name, definition)))
    };
    let mut row: SparseRow = vec![("name", Value::from(name))];
    match definition {
        EntityDefinition::Workload { parent, .. } => {
            row.push(("parent", Value::from(parent.as_ref().map_or("", |parent| parent.name.as_str()))));
            row.push(("create_query", text(definition)));
        }
        EntityDefinition::Resource(operations) => {
            row.push((
                "read_disks",
                disks(operations, |operation| match operation {
                    ResourceOperation::ReadDisk(disk) => Some(disk),
                    _ => None,
                }),
            ));
            row.push((
                "write_disks",
                disks(operations, |operation| match operation {
                    ResourceOperation::WriteDisk(disk) => Some(disk),
                    _ => None,
                }),
            ));
            row.push(("unit", Value::from(operations.first().map_or("", unit))));
            row.push(("create_query", text(definition)));
        }
        EntityDefinition::NamedCollection(keys) => {
            let pairs = keys.iter().map(|key| (Value::from(&*key.setting.name.name), Value::from(HIDDEN)));
            row.push(("collection", Value::Map(pairs.collect())));
            row.push(("source", Value::from("SQL")));
            let mut shown = keys.clone();
            for key in &mut shown {
                let kind = ExprKind::Literal(Literal::String(HIDDEN.into()));
                let value = ast::Expr { kind, alias: None, span: ast::Span::default() };
                key.setting.value = SettingValue::Expr(value);
            }
            row.push(("create_query", text(&EntityDefinition::NamedCollection(shown))));
        }
    }
    row
}

fn disks(
    operations: &[ResourceOperation],
    disk: impl Fn(&ResourceOperation) -> Option<&Option<Ident>>,
) -> Value {
    let disks = operations.iter().filter_map(disk);
    Value::Array(
        disks.map(|disk| Value::from(disk.as_ref().map_or("ANY", |disk| disk.name.as_str()))).collect(),
    )
}
