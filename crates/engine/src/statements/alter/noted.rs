//! What `system.mutations` tells of ALTER, beside rows that change: the commands for which the kernel writes parts anew. Here they are
//! done when the statement returns, some without a look at any part.

use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::parts::MutationRecord;
use chalet_storage::{Table, TableSchema};
use chalet_syntax::ast::{self, AlterCommand, StatisticsAction};
use chalet_types::DataType;
use std::sync::Arc;
use std::time::SystemTime;

/// A table before commands that may be told of.
pub(super) struct Noted {
    table: Arc<dyn Table>,
    schema: TableSchema,
    created: SystemTime,
}

impl Noted {
    /// `None` where nothing is told of.
    pub fn begin(name: &ast::ObjectName, ctx: &QueryContext) -> Option<Noted> {
        let (table, _) = existing(name, ctx).ok()?;
        table.as_any().downcast_ref::<MergeTree>()?;
        Some(Noted { schema: table.schema(), table, created: SystemTime::now() })
    }

    /// Tells of commands that are done.
    pub fn end(self, name: &ast::ObjectName, commands: &[AlterCommand], ctx: &QueryContext) {
        let Ok((after, _)) = existing(name, ctx) else { return };
        let Some(table) = self.table.as_any().downcast_ref::<MergeTree>() else { return };
        let after = after.schema();
        for command in commands {
            for text in self.told(command, &after, ctx) {
                table.parts().note_mutation(MutationRecord {
                    number: table.parts().next_mutation(),
                    command: format!("({text})"),
                    created: self.created,
                    finished: SystemTime::now(),
                });
            }
        }
    }

    /// What is told of a command: itself, or that rows go by their TTL.
    fn told(&self, command: &AlterCommand, after: &TableSchema, ctx: &QueryContext) -> Vec<String> {
        let type_of = |schema: &TableSchema, name: &ast::Ident| {
            let place = schema.index_of(&name.name)?;
            Some(schema.columns[place].ty.clone())
        };
        let is_rewritten = match command {
            AlterCommand::MaterializeColumn { .. }
            | AlterCommand::MaterializeIndex { .. }
            | AlterCommand::MaterializeProjection { .. }
            | AlterCommand::MaterializeTtl { .. }
            | AlterCommand::ClearColumn { .. }
            | AlterCommand::ClearIndex { .. }
            | AlterCommand::ClearProjection { .. }
            | AlterCommand::DropIndex { .. }
            | AlterCommand::DropProjection { .. }
            | AlterCommand::ApplyDeletedMask { .. }
            | AlterCommand::RewriteParts { .. } => true,
            AlterCommand::Statistics { action, .. } => {
                matches!(action, StatisticsAction::Materialize | StatisticsAction::Drop)
            }
            AlterCommand::DropColumn { name, .. } => type_of(&self.schema, name).is_some(),
            AlterCommand::RenameColumn { from, .. } => type_of(&self.schema, from).is_some(),
            AlterCommand::ModifyColumn { column, .. } => {
                match (type_of(&self.schema, &column.name), type_of(after, &column.name)) {
                    (Some(before), Some(after)) => before != after && !is_longer_enum(&before, &after),
                    _ => false,
                }
            }
            _ => false,
        };
        let has_ttl = match command {
            AlterCommand::ModifyTtl(_) => true,
            AlterCommand::ModifyColumn { column, .. } => column.ttl.is_some(),
            _ => false,
        };
        let is_applied = ctx.state.settings.flag("materialize_ttl_after_modify").unwrap_or(true);
        let itself = is_rewritten.then(|| text(command));
        itself.into_iter().chain((has_ttl && is_applied).then(|| "MATERIALIZE TTL".to_owned())).collect()
    }
}

/// More names for the same numbers change no part.
fn is_longer_enum(before: &DataType, after: &DataType) -> bool {
    matches!(
        (before, after),
        (DataType::Enum8(_), DataType::Enum8(_)) | (DataType::Enum16(_), DataType::Enum16(_))
    )
}

/// A command as SQL.
fn text(command: &AlterCommand) -> String {
    let name = ast::ObjectName { database: None, name: ast::Ident::new("t") };
    let alter = ast::AlterTable { temporary: false, name, cluster: None, commands: vec![command.clone()] };
    let kind = ast::StatementKind::AlterTable(Box::new(alter));
    let statement =
        ast::Statement { kind, cluster: None, output: ast::Output::default(), span: ast::Span::default() };
    let printed = statement.to_string();
    let inner = printed.strip_prefix("ALTER TABLE t (").and_then(|rest| rest.strip_suffix(')'));
    inner.map_or_else(|| printed.clone(), str::to_owned)
}
