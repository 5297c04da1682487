//! DELETE and UPDATE: parts with rows that are concerned are written anew, and take the places of the old ones all at once.

use super::target::{merge_tree, uses};
use crate::defaults_over_stored::over_stored;
use crate::materialized;
use crate::merge_tree::part_query::{SOURCE, run};
use crate::projections::program::programs;
use crate::projections::write;
use crate::query_context::QueryContext;
use crate::skip_indexes;
use crate::statements::create;
use crate::stored_columns::check_rows_stay;
use crate::tables::existing;
use chalet_base::{Error, Result, bail, codes, ensure, err};
use chalet_storage::catalog::{in_backquotes, quoted};
use chalet_storage::keyed::KeyedTable;
use chalet_storage::log::LogTable;
use chalet_storage::memory::MemoryTable;
use chalet_storage::merge_tree::change::Change;
use chalet_storage::merge_tree::part::PartInfo;
use chalet_storage::merge_tree::parts::MutationRecord;
use chalet_storage::merge_tree::{KeptBlocks, Lineage, MergeTree, PartSet};
use chalet_storage::{ColumnSchema, DefaultKind, RowMerging, Table, TableSchema};
use chalet_syntax::ast;
use chalet_syntax::print::string_literal;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

/// Fails for tables of which DELETE FROM removes no rows, though ALTER TABLE does.
pub(crate) fn check_deletes(name: &ast::ObjectName, ctx: &QueryContext) -> Result<()> {
    let (table, shown) = existing(name, ctx)?;
    let refuses = table.as_any().downcast_ref::<KeyedTable>().is_some_and(|keyed| !keyed.is_key_value());
    ensure!(!refuses, BAD_ARGUMENTS, "DELETE query is not supported for table {shown}");
    if table.as_any().is::<MergeTree>() && !table.schema().projections.is_empty() {
        ensure!(
            super::projection_modes::are_rebuilt(name, ctx)?,
            SUPPORT_IS_DISABLED,
            "DELETE query is not allowed for table {shown} because as it has projections and setting \
             lightweight_mutation_projection_mode is set to THROW. User should change lightweight_mutation_projection_mode \
             OR drop all the projections manually before running the query"
        );
    }
    Ok(())
}

/// Fails for tables that the UPDATE of SQL does not change, though ALTER TABLE does.
pub(crate) fn check_updates(name: &ast::ObjectName, ctx: &QueryContext) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let Some(settings) = super::projection_modes::settings_of_table(name, ctx)? else { return Ok(()) };
    if !table.as_any().is::<MergeTree>() {
        return Ok(());
    }
    let needed = [("number", settings.keeps_block_number), ("offset", settings.keeps_block_offset)];
    for (what, is_kept) in needed {
        ensure!(
            is_kept,
            NOT_IMPLEMENTED,
            "Lightweight updates are not supported. Lightweight updates are supported only for tables with materialized \
             _block_{what} column. Run 'MODIFY SETTING enable_block_{what}_column = 1' command to enable it"
        );
    }
    Ok(())
}

/// A condition as `system.mutations` shows it: tables of its subqueries with their databases.
fn noted_condition(where_: &ast::Expr, ctx: &QueryContext) -> String {
    let mut shown = where_.clone();
    chalet_syntax::visit::walk_mut(&mut shown, &mut |e| {
        if let ast::ExprKind::Subquery(query) = &mut e.kind {
            create::qualify(query, &ctx.state.database, ctx);
        }
    });
    shown.to_string()
}

/// DELETE FROM, which is lightweight, and the command of ALTER TABLE.
pub(crate) fn delete(
    name: &ast::ObjectName,
    partition: Option<&ast::Partition>,
    where_: &ast::Expr,
    is_lightweight: bool,
    ctx: &QueryContext,
) -> Result<()> {
    materialized::check_own(name, ctx)?;
    let (table, _) = existing(name, ctx)?;
    let kept = kept_blocks(&*table)?;
    let columns = stored_names(&kept_schema(&*table, kept)).join(", ");
    check_rows(where_)?;
    // Rows for which the condition is NULL stay.
    // DELETE FROM sets a mask by `if`, which takes no other numbers than 0 and 1 for its condition.
    let stays = match is_lightweight {
        true => format!("if({where_}, 0, 1)"),
        false => format!("isZeroOrNull({where_})"),
    };
    let rows = |source: &str| format!("SELECT {columns} FROM {source} WHERE {stays}");
    let mutation = mutate(&*table, name, &rows, partition, where_, kept, ctx)?;
    let (what, partition) =
        (if is_lightweight { "UPDATE _row_exists = 0" } else { "DELETE" }, in_partition(partition));
    note(&*table, mutation, format!("({what}{partition} WHERE {})", noted_condition(where_, ctx)));
    Ok(())
}

/// ` IN PARTITION ...`, as `system.mutations` shows it.
fn in_partition(partition: Option<&ast::Partition>) -> String {
    match partition {
        Some(ast::Partition::Value(expr)) => format!(" IN PARTITION {expr}"),
        Some(ast::Partition::Id(expr)) => format!(" IN PARTITION ID {expr}"),
        Some(ast::Partition::All) | None => String::new(),
    }
}

fn check_rows(written: &ast::Expr) -> Result<()> {
    check_rows_stay(written, || err!(UNEXPECTED_EXPRESSION, "arrayJoin is not allowed in mutations"))
}

/// Tells `system.mutations` of one that is done.
fn note(table: &dyn Table, mutation: Option<Mutation>, command: String) {
    if let (Some(mutation), Some(table)) = (mutation, table.as_any().downcast_ref::<MergeTree>()) {
        table.parts().note_mutation(MutationRecord {
            number: mutation.number,
            command,
            created: mutation.created,
            finished: SystemTime::now(),
        });
    }
}

/// A mutation of a MergeTree, and when it began.
struct Mutation {
    number: u64,
    created: SystemTime,
}

/// UPDATE, which is lightweight and takes any number for its condition, and the command of ALTER TABLE.
pub(crate) fn update(
    name: &ast::ObjectName,
    assignments: &[(ast::Ident, ast::Expr)],
    partition: Option<&ast::Partition>,
    where_: &ast::Expr,
    is_lightweight: bool,
    ctx: &QueryContext,
) -> Result<()> {
    materialized::check_own(name, ctx)?;
    let (table, _) = existing(name, ctx)?;
    if let Some(keyed) = table.as_any().downcast_ref::<KeyedTable>() {
        ensure!(
            keyed.is_key_value(),
            NOT_IMPLEMENTED,
            "Table engine {} supports only DELETE mutations",
            table.engine()
        );
        let schema = table.schema();
        let stored: Vec<&ColumnSchema> = schema.stored().collect();
        for (column, _) in assignments {
            let is_key = keyed.key_columns().iter().any(|&at| *stored[at].name == *column.name);
            ensure!(
                !is_key,
                BAD_ARGUMENTS,
                "Primary key cannot be updated (cannot update column {})",
                column.name
            );
        }
    }
    check_assignments(&*table, &table.schema(), assignments)?;
    assignments.iter().map(|(_, value)| value).chain([where_]).try_for_each(check_rows)?;
    let assigned: Vec<Assigned> =
        assignments.iter().map(|(column, value)| (column.name.as_str(), value.clone())).collect();
    let condition = match is_lightweight {
        true => format!("NOT isZeroOrNull({where_})"),
        false => where_.to_string(),
    };
    let kept = kept_blocks(&*table)?;
    let schema = kept_schema(&*table, kept);
    let computed = computed_from(&schema, assignments.iter().map(|(column, _)| column.name.as_str()))?;
    let computed = |column: &ColumnSchema| computed.contains(&column.name);
    let rows = updated_rows(&schema, &assigned, Some(&condition), &computed)?;
    let mutation = mutate(&*table, name, &rows, partition, where_, kept, ctx)?;
    let set: Vec<String> =
        assignments.iter().map(|(column, value)| format!("{} = {value}", quoted(&column.name))).collect();
    let where_ = noted_condition(where_, ctx);
    let command = format!("(UPDATE {}{} WHERE {where_})", set.join(", "), in_partition(partition));
    note(&*table, mutation, command);
    Ok(())
}

/// A column and its new value.
pub(super) type Assigned<'a> = (&'a str, ast::Expr);

/// Writes all rows anew with these values, and those that are `computed` anew from them.
pub(super) fn rewrite(
    table: &dyn Table,
    name: &ast::ObjectName,
    assigned: &[Assigned],
    computed: &dyn Fn(&ColumnSchema) -> bool,
    partition: Option<&ast::Partition>,
    ctx: &QueryContext,
) -> Result<()> {
    materialized::check_own(name, ctx)?;
    let kept = kept_blocks(table)?;
    let rows = updated_rows(&kept_schema(table, kept), assigned, None, computed)?;
    mutate(table, name, &rows, partition, &chalet_syntax::parse_expression("1")?, kept, ctx).map(drop)
}

/// The columns of rows that are written anew.
fn kept_schema(table: &dyn Table, kept: KeptBlocks) -> TableSchema {
    let merge_tree = table.as_any().downcast_ref::<MergeTree>();
    merge_tree.map_or_else(|| table.schema(), |table| table.kept_schema(kept))
}

/// What is kept of where rows came from: what the table says, and what its parts have already.
fn kept_blocks(table: &dyn Table) -> Result<KeptBlocks> {
    let Some(table) = table.as_any().downcast_ref::<MergeTree>() else { return Ok(KeptBlocks::default()) };
    let parts = table.parts().snapshot()?;
    let of_parts = parts.parts.iter().map(|part| part.info.blocks);
    Ok(of_parts.fold(table.definition().keeps_blocks, KeptBlocks::or))
}

/// The query for all rows of a source, with new values in those that a condition holds for, or in all.
fn updated_rows(
    schema: &TableSchema,
    assigned: &[Assigned],
    condition: Option<&str>,
    computed: &dyn Fn(&ColumnSchema) -> bool,
) -> Result<impl Fn(&str) -> String + use<>> {
    let new_value = |column: &ColumnSchema| {
        let name = in_backquotes(&column.name);
        let Some((_, value)) = assigned.iter().find(|(assigned, _)| **assigned == *column.name) else {
            return name;
        };
        let value = format!("CAST({value}, {})", string_literal(column.ty.to_string()));
        condition.map_or(value.clone(), |condition| format!("if({condition}, {value}, {name})"))
    };
    // Names must not hide the columns that other assignments read: the values come first, and get their names then.
    let numbered = |at: usize| format!("`__new_{at}`");
    let values =
        schema.stored().enumerate().map(|(at, column)| format!("{} AS {}", new_value(column), numbered(at)));
    let names = stored_names(schema);
    let named = names.iter().enumerate().map(|(at, name)| format!("{} AS {name}", numbered(at)));
    // What is computed from columns that changed is computed anew.
    let computed = schema.stored().zip(&names).map(|(column, name)| match &column.default {
        Some((_, text)) if computed(column) => {
            let value = over_stored(chalet_syntax::parse_expression(text)?, schema)?;
            Ok(format!("CAST({value}, {}) AS {name}", string_literal(column.ty.to_string())))
        }
        _ => Ok(name.clone()),
    });
    let computed = computed.collect::<Result<Vec<_>>>()?.join(", ");
    let listed = |columns: &mut dyn Iterator<Item = String>| columns.collect::<Vec<_>>().join(", ");
    let (values, named) = (listed(&mut { values }), listed(&mut { named }));
    Ok(move |source: &str| {
        format!("SELECT {computed} FROM (SELECT {named} FROM (SELECT {values} FROM {source}))")
    })
}

/// The MATERIALIZED columns that are computed from these, or from others that are. All others stay as they are, what is computed from
/// the clock or at random too.
fn computed_from<'a>(
    schema: &TableSchema,
    changed: impl Iterator<Item = &'a str>,
) -> Result<HashSet<Arc<str>>> {
    let mut waiting = Vec::new();
    for column in schema.stored() {
        if let Some((DefaultKind::Materialized, text)) = &column.default {
            let value = over_stored(chalet_syntax::parse_expression(text)?, schema)?;
            waiting.push((column, value.to_string()));
        }
    }
    let mut changed: Vec<Arc<str>> = changed.map(Arc::from).collect();
    let mut found = HashSet::new();
    while let Some(source) = changed.pop() {
        for (column, value) in &waiting {
            if uses(value, &source)? && found.insert(column.name.clone()) {
                changed.push(column.name.clone());
            }
        }
    }
    Ok(found)
}

fn check_assignments(
    table: &dyn Table,
    schema: &TableSchema,
    assignments: &[(ast::Ident, ast::Expr)],
) -> Result<()> {
    for (at, (ident, _)) in assignments.iter().enumerate() {
        let name = &ident.name;
        let Some(column) = schema.stored().find(|column| *column.name == **name) else {
            let is_virtual = schema.index_of(name).is_some_and(|at| schema.columns[at].is_virtual);
            ensure!(!is_virtual, NOT_IMPLEMENTED, "Update is not supported for virtual column `{name}`");
            bail!(NO_SUCH_COLUMN_IN_TABLE, "There is no column `{name}` in table");
        };
        ensure!(
            column.default_kind() != Some(DefaultKind::Materialized),
            CANNOT_UPDATE_COLUMN,
            "Cannot UPDATE materialized column `{name}`"
        );
        ensure!(
            assignments[..at].iter().all(|(other, _)| other.name != *name),
            MULTIPLE_ASSIGNMENTS_TO_COLUMN,
            "Multiple assignments in the single statement to column `{name}`"
        );
        if let Some(keys) = table.keys() {
            for (text, _) in keys.all() {
                ensure!(!uses(text, name)?, CANNOT_UPDATE_COLUMN, "Cannot UPDATE key column {name}");
            }
            let decides = match &keys.merging {
                RowMerging::Replacing { version, .. } => version.as_deref() == Some(&**name),
                RowMerging::Collapsing { sign } => **sign == **name,
                RowMerging::VersionedCollapsing { sign, version } => [&**sign, &**version].contains(&&**name),
                _ => false,
            };
            ensure!(!decides, CANNOT_UPDATE_COLUMN, "Cannot UPDATE key column {name}");
        }
    }
    Ok(())
}

fn stored_names(schema: &TableSchema) -> Vec<String> {
    schema.stored().map(|c| in_backquotes(&c.name)).collect()
}

/// Puts what `rows` says of a source, a query, in the place of the rows of a table.
fn mutate(
    table: &dyn Table,
    name: &ast::ObjectName,
    rows: &dyn Fn(&str) -> String,
    partition: Option<&ast::Partition>,
    where_: &ast::Expr,
    kept: KeptBlocks,
    ctx: &QueryContext,
) -> Result<Option<Mutation>> {
    let is_kept_whole = table.as_any().is::<MemoryTable>()
        || table.as_any().is::<LogTable>()
        || table.as_any().is::<KeyedTable>();
    if is_kept_whole {
        ensure!(partition.is_none(), NOT_IMPLEMENTED, "Table engine {} has no partitions", table.engine());
        let out = table.rewrite()?;
        let source = existing(name, ctx)?.0;
        run(source, &rows(&named(name)), ctx, out, |out, block| out.write(block))?.finish()?;
        return Ok(None);
    }
    let table = merge_tree(table)?;
    table.parts().check_writable()?;
    let partition = partition.map(|p| super::partitions::wanted(table, p, ctx)).transpose()?;
    // What cannot be computed fails whether or not there are rows that it concerns.
    let of_none: Arc<dyn Table> = Arc::new(PartSet { table: table.clone(), parts: Vec::new() });
    run(of_none, &rows(&named(name)), ctx, (), |(), _| Ok(()))?;
    let check = || ctx.control.check_with_interrupt();
    let (_claim, parts) =
        table.parts().claim_all(|info| partition.as_ref().is_none_or(|p| p.has(info)), &check)?;
    let (mutation, created) = (table.parts().next_mutation(), SystemTime::now());
    let concerned = |source: &str| format!("SELECT 1 FROM {source} WHERE {where_} LIMIT 1");
    let (indexes, projections) = (skip_indexes::programs(table, ctx)?, programs(table, ctx)?);
    let mut change = Change::default();
    for part in &parts {
        check()?;
        let of_part: Arc<dyn Table> = Arc::new(PartSet { table: table.clone(), parts: vec![part.clone()] });
        let n_concerned = run(of_part.clone(), &concerned(&named(name)), ctx, 0, |n, block| {
            *n += block.n_rows();
            Ok(())
        })
        .map_err(|error| unfinished(error, mutation, &part.info))?;
        if n_concerned == 0 {
            continue;
        }
        let out = table.rewrite_part(part.info.partition.clone(), indexes.clone()).keeping_blocks(kept);
        let info = &part.info;
        let out = run(of_part, &rows(&named(name)), ctx, out, |out, block| out.write(block))
            .map_err(|error| unfinished(error, mutation, info))?;
        let lineage =
            Lineage { min_block: info.min_block, max_block: info.max_block, level: info.level, mutation };
        change.removed.push(info.number);
        if let Some(made) = out.finish(lineage)? {
            write::complete(table, &made, &projections, ctx)?;
            change.added.push(made);
        }
    }
    if !change.removed.is_empty() {
        table.parts().commit(change)?;
    }
    Ok(Some(Mutation { number: mutation, created }))
}

/// What a row has made fail: the mutation is not done. What stops any statement stays what it is.
fn unfinished(error: Error, mutation: u64, part: &PartInfo) -> Error {
    let stops_any = [
        codes::QUERY_WAS_CANCELLED,
        codes::TIMEOUT_EXCEEDED,
        codes::MEMORY_LIMIT_EXCEEDED,
        codes::NOT_IMPLEMENTED,
    ];
    if stops_any.contains(&error.code()) {
        return error;
    }
    err!(
        UNFINISHED,
        "Exception happened during execution of mutation 'mutation_{mutation}.txt' with part '{}' reason: '{error}'",
        part.name()
    )
}

/// The rows that a query over a part reads, under the name of the table.
fn named(name: &ast::ObjectName) -> String {
    format!("{SOURCE} AS {}", quoted(&name.name.name))
}
