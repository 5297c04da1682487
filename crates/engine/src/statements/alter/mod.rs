//! ALTER TABLE, DELETE and UPDATE: commands are done one after the other, each as a whole.
//!
//! - [`target`]: the table that is altered
//! - [`clauses`]: clauses of the engine: SAMPLE BY and TTL
//! - [`ttl`]: values and rows that have expired
//! - [`columns`]: columns that come, go and change
//! - [`modified_column`]: a column that is declared anew
//! - [`column_values`]: values of columns that are computed anew
//! - [`detached`]: partitions that are kept aside
//! - [`freeze`]: parts under a second name
//! - [`nested`]: the columns of a Nested
//! - [`indexes`], [`projections`], [`projection_modes`], [`settings`]: INDEX, PROJECTION and SETTING
//! - [`mutation`]: rows that change or go
//! - [`noted`]: what `system.mutations` tells of them
//! - [`settled_types`]: parts that are behind changes of types
//! - [`sorting_key`]: MODIFY ORDER BY
//! - [`partitions`]: partitions that go or come from elsewhere
//! - [`memory_columns`]: columns of Memory and Null

mod clauses;
mod column_values;
mod columns;
mod detached;
mod freeze;
mod indexes;
mod memory_columns;
mod modified_column;
mod mutation;
mod nested;
mod noted;
mod partitions;
mod projection_modes;
mod projections;
mod settings;
mod settled_types;
mod sorting_key;
mod table_query;
mod target;
mod ttl;

use noted::Noted;
use target::{merge_tree, uses};

pub(crate) use mutation::{check_deletes, check_updates, delete, update};
pub(crate) use partitions::{Wanted, clone_rows, copied, wanted};
pub(crate) use projection_modes::merges_projections;

use crate::materialized;
use crate::query_context::QueryContext;
use crate::statements::create::{
    columns_sql, comment_sql, comment_view, modify_comment, modify_query, modify_refresh,
};
use crate::tables::{self, existing};
use chalet_base::{Result, bail, ensure};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::{Entry, Table, TableSchema};
use chalet_syntax::ast::{self, AlterCommand};
use std::sync::Arc;

pub(crate) fn run(alter: &ast::AlterTable, ctx: &QueryContext) -> Result<()> {
    ensure!(!alter.temporary, NOT_IMPLEMENTED, "ALTER TEMPORARY TABLE is not supported");
    if let Some(view) = materialized::view(&alter.name, ctx) {
        return of_view(&*view, alter, ctx);
    }
    if let [AlterCommand::ModifyComment(comment)] = &alter.commands[..]
        && comment_view(&alter.name, comment, ctx)?
    {
        return Ok(());
    }
    let mut commands = &alter.commands[..];
    while let Some(first) = commands.first() {
        // Those of columns that follow each other are one change.
        let n_of_columns = commands.iter().take_while(|command| columns::is_of_columns(command)).count();
        let noted = Noted::begin(&alter.name, ctx);
        match n_of_columns {
            0 => one(&alter.name, first, ctx)?,
            n => {
                columns::run(&alter.name, &commands[..n], ctx)?;
                if commands[..n].iter().any(changes_ttl) {
                    ttl::after_change(&alter.name, ctx)?;
                }
            }
        }
        let (done, rest) = commands.split_at(n_of_columns.max(1));
        if let Some(noted) = noted {
            noted.end(&alter.name, done, ctx);
        }
        commands = rest;
    }
    Ok(())
}

fn changes_ttl(command: &AlterCommand) -> bool {
    matches!(command, AlterCommand::ModifyColumn { column, .. } if column.ttl.is_some())
}

/// The commands that a materialized view takes.
fn of_view(view: &dyn Table, alter: &ast::AlterTable, ctx: &QueryContext) -> Result<()> {
    if let [AlterCommand::ModifyQuery(query)] = &alter.commands[..] {
        return modify_query(&alter.name, query, ctx);
    }
    if let [AlterCommand::ModifyComment(comment)] = &alter.commands[..] {
        return modify_comment(&alter.name, comment, ctx);
    }
    if let [AlterCommand::ModifyRefresh(refresh)] = &alter.commands[..] {
        return modify_refresh(&alter.name, refresh, ctx);
    }
    if let Some(AlterCommand::Delete { .. } | AlterCommand::Update { .. }) = alter.commands.first() {
        materialized::check_own(&alter.name, ctx)?;
    }
    let command = alter.commands.first().map_or(String::new(), |command| words(&alter.name, command));
    bail!(
        NOT_IMPLEMENTED,
        "Alter of type '{}' is not supported by storage {}",
        command.replace(' ', "_"),
        view.engine()
    )
}

fn one(name: &ast::ObjectName, command: &AlterCommand, ctx: &QueryContext) -> Result<()> {
    match command {
        AlterCommand::Delete { partition, where_ } => {
            mutation::delete(name, partition.as_ref(), where_, false, ctx)
        }
        AlterCommand::Update { assignments, partition, where_ } => {
            mutation::update(name, assignments, partition.as_ref(), where_, false, ctx)
        }
        AlterCommand::DropPartition { detach: false, part, partition } => {
            partitions::remove(name, *part, partition, false, ctx)
        }
        AlterCommand::DropPartition { detach: true, part, partition } => {
            partitions::remove(name, *part, partition, true, ctx)
        }
        AlterCommand::AttachPartition { part, partition } => detached::attach(name, *part, partition, ctx),
        AlterCommand::DropDetachedPartition { part, partition } => {
            detached::drop(name, *part, partition, ctx)
        }
        AlterCommand::Freeze { partition, name: shadow } => {
            freeze::freeze(name, partition.as_ref(), shadow.as_deref(), ctx)
        }
        AlterCommand::Unfreeze { partition, name: shadow } => {
            freeze::unfreeze(name, partition.as_ref(), shadow, ctx)
        }
        AlterCommand::MovePartitionToDisk { volume, partition, target, .. } => {
            partitions::move_to_disk(name, partition, *volume, target, ctx)
        }
        AlterCommand::ClearColumn { if_exists, name: column, partition } => {
            column_values::clear(name, &column.name, *if_exists, partition.as_ref(), ctx)
        }
        AlterCommand::MaterializeColumn { name: column, partition } => {
            column_values::materialize(name, &column.name, partition.as_ref(), ctx)
        }
        AlterCommand::RewriteParts { partition } => {
            column_values::rewrite_parts(name, partition.as_ref(), ctx)
        }
        AlterCommand::AttachPartitionFrom { partition, table } => {
            partitions::copy(name, partition, table, partitions::Copy::Attach, ctx)
        }
        AlterCommand::ReplacePartition { partition, table } => {
            partitions::copy(name, partition, table, partitions::Copy::Replace, ctx)
        }
        AlterCommand::MovePartitionToTable { partition, table } => {
            // Here the table of the statement is the source.
            partitions::copy(table, partition, name, partitions::Copy::Move, ctx)
        }
        // Rows that were deleted are gone, and parts have no patches.
        AlterCommand::ApplyDeletedMask { .. } | AlterCommand::ApplyPatches { .. } => {
            merge_tree(&*existing(name, ctx)?.0).map(drop)
        }
        AlterCommand::ModifySampleBy(written) => clauses::sample_by(name, Some(written), ctx),
        AlterCommand::RemoveSampleBy => clauses::sample_by(name, None, ctx),
        AlterCommand::ModifyTtl(rules) => {
            clauses::ttl(name, Some(rules), ctx)?;
            ttl::after_change(name, ctx)
        }
        AlterCommand::RemoveTtl => clauses::ttl(name, None, ctx),
        AlterCommand::MaterializeTtl { partition } => ttl::materialize(name, partition.as_ref(), ctx),
        AlterCommand::ModifySettings(written) => settings::modify(name, written, ctx),
        AlterCommand::ResetSettings(names) => settings::reset(name, names, ctx),
        AlterCommand::ClearIndex { name: index, partition, .. } => {
            indexes::clear(name, &index.name, partition.as_ref(), ctx)
        }
        AlterCommand::MaterializeIndex { name: index, partition, .. } => {
            indexes::materialize(name, &index.name, partition.as_ref(), ctx)
        }
        AlterCommand::ClearProjection { name: projection, partition, .. } => {
            projections::clear(name, &projection.name, partition.as_ref(), ctx)
        }
        AlterCommand::MaterializeProjection { name: projection, partition, .. } => {
            projections::materialize(name, &projection.name, partition.as_ref(), ctx)
        }
        AlterCommand::FetchPartition { part, partition, .. } => {
            partitions::fetch(name, *part, partition, ctx)
        }
        AlterCommand::ForgetPartition(partition) => partitions::forget(name, partition, ctx),
        AlterCommand::ModifyQuery(query) => table_query::refuse(name, query, ctx),
        AlterCommand::ModifyRefresh(_) => match existing(name, ctx)?.0 {
            table if table.as_any().is::<MergeTree>() => {
                bail!(NOT_IMPLEMENTED, "ALTER MODIFY REFRESH is not supported by MergeTree engines family")
            }
            table => bail!(
                NOT_IMPLEMENTED,
                "Alter of type 'MODIFY_REFRESH' is not supported by storage {}",
                table.engine()
            ),
        },
        other => bail!(NOT_IMPLEMENTED, "ALTER TABLE ... {} is not supported", words(name, other)),
    }
}

/// The words that a command which is not supported begins with.
fn words(name: &ast::ObjectName, command: &AlterCommand) -> String {
    let alter = ast::AlterTable {
        temporary: false,
        name: name.clone(),
        cluster: None,
        commands: vec![command.clone()],
    };
    let printed = ast::Statement {
        kind: ast::StatementKind::AlterTable(Box::new(alter)),
        cluster: None,
        output: ast::Output::default(),
        span: ast::Span::default(),
    };
    let printed = printed.to_string();
    let words = printed.split_whitespace().skip(3);
    let words = words.map(|word| word.trim_matches(['(', ')']));
    let upper = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase());
    words.skip_while(|word| word.is_empty()).take_while(upper).collect::<Vec<_>>().join(" ")
}

/// An expression in which a column has another name.
fn renamed(text: &str, from: &str, to: &str) -> Result<String> {
    let mut expr = chalet_syntax::parse_expression(text)?;
    rename_in(&mut expr, from, to);
    Ok(expr.to_string())
}

fn rename_in(expr: &mut ast::Expr, from: &str, to: &str) {
    chalet_syntax::visit::walk_mut(expr, &mut |e| {
        if let ast::ExprKind::Identifier(parts) = &mut e.kind
            && parts.first().is_some_and(|part| part.name == from)
        {
            parts[0].name = to.into();
        }
    });
}

/// A table that is kept, with its place in the catalog.
struct Kept {
    database: String,
    name: String,
    entry: Entry,
}

/// Runs `work` on a table of the MergeTree family that nobody else alters meanwhile.
fn altering(
    name: &ast::ObjectName,
    ctx: &QueryContext,
    work: impl FnOnce(&Kept, &MergeTree) -> Result<()>,
) -> Result<()> {
    let found = Kept::find(name, ctx)?;
    let parts = merge_tree(&*found.entry.table)?.parts();
    parts.check_writable()?;
    let _altering = parts.altering();
    // As whoever came before has left it.
    let kept = Kept::find(name, ctx)?;
    work(&kept, merge_tree(&*kept.entry.table)?)
}

impl Kept {
    fn find(name: &ast::ObjectName, ctx: &QueryContext) -> Result<Kept> {
        let database = name.database.as_ref().map_or(ctx.state.database.clone(), |d| d.name.clone());
        let is_temporary = name.database.is_none() && ctx.state.temporary.contains_key(&name.name.name);
        ensure!(!is_temporary, NOT_IMPLEMENTED, "ALTER of a temporary table is not supported");
        match ctx.database.shared.catalog.find(&database, &name.name.name) {
            Some(entry) => Ok(Kept { database, name: name.name.name.clone(), entry }),
            None => Err(tables::missing(name, ctx)),
        }
    }

    /// The statement that makes it.
    fn create(&self) -> Result<ast::CreateTable> {
        let parsed = chalet_syntax::parse_printed(&self.entry.create_sql(None, "t"))?;
        match parsed.into_iter().next().map(|statement| statement.kind) {
            Some(ast::StatementKind::CreateTable(create)) => Ok(*create),
            _ => bail!(LOGICAL_ERROR, "The definition of table {} makes no table", self.name),
        }
    }

    /// The engine with its clauses, as SHOW CREATE prints them, without the comment of the table.
    fn engine(&self) -> Result<&str> {
        // Columns end with the first such line: texts in them have no line feeds as they are printed.
        let Some((_, engine)) = self.entry.definition.split_once("\n)\nENGINE = ") else {
            bail!(NOT_IMPLEMENTED, "ALTER of the table {} is not supported", self.name)
        };
        let comment = match self.entry.comment.is_empty() {
            true => String::new(),
            false => comment_sql(Some(self.entry.comment.as_bytes())),
        };
        Ok(engine.strip_suffix(&comment).unwrap_or(engine))
    }

    /// Puts a table with these columns, this engine with its clauses and this comment in the place of the one that is there.
    fn replace_engine(
        &self,
        table: Arc<dyn Table>,
        schema: &TableSchema,
        engine: &str,
        comment: &str,
        ctx: &QueryContext,
    ) -> Result<()> {
        let shown = if comment.is_empty() { String::new() } else { comment_sql(Some(comment.as_bytes())) };
        let definition = format!("\n(\n{}\n)\nENGINE = {}{shown}", columns_sql(schema), engine);
        let entry =
            Entry { table, definition: definition.into(), comment: comment.into(), ..self.entry.clone() };
        ctx.database.shared.catalog.create_table(&self.database, &self.name, entry, false, true)
    }
}
