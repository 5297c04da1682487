//! Table functions that show how a table of the MergeTree family keeps its rows: `mergeTreeProjection`, `mergeTreeIndex`.

use crate::projections::{program, write};
use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use crate::table_argument::text;
use chalet_base::suggest::nearest;
use chalet_base::{Result, bail, ensure};
use chalet_binder::TableArgument;
use chalet_storage::catalog::{in_backquotes, quoted};
use chalet_storage::merge_tree::{MergeTree, PartSet};
use chalet_storage::view::View;
use chalet_storage::{ColumnSchema, Entry, Table, TableSchema};
use chalet_syntax::ast::{self, ExprKind};
use chalet_types::DataType;
use std::sync::Arc;

/// The table that the first two arguments name.
fn entry(args: &[TableArgument], ctx: &QueryContext) -> Result<(String, String, Entry)> {
    let name = |at: usize| args.get(at).and_then(text).unwrap_or_default();
    let (database, table) = (name(0), name(1));
    match ctx.entry(Some(&database), &table) {
        Some(entry) => Ok((database, table, entry)),
        None if !ctx.database.shared.catalog.database_exists(&database) => {
            bail!(UNKNOWN_DATABASE, "Database {database} does not exist")
        }
        None => bail!(UNKNOWN_TABLE, "Table {database}.{table} does not exist"),
    }
}

/// `mergeTreeProjection(database, table, projection)`: the rows that parts have of a projection.
pub(crate) fn projection(args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    ensure!(
        args.len() == 3,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Table function 'mergeTreeProjection' must have 3 arguments, got: {}",
        args.len()
    );
    let (.., entry) = entry(args, ctx)?;
    let name = text(&args[2]).unwrap_or_default();
    let schema = entry.table.schema();
    let found = schema.projections.iter().find(|known| *known.name == *name);
    let (Some(found), Some(table)) = (found, entry.table.as_any().downcast_ref::<MergeTree>()) else {
        let near = nearest(&name, schema.projections.iter().map(|known| &*known.name), 1);
        let hint = near.first().map_or(String::new(), |near| format!(". Maybe you meant: ['{near}']"));
        bail!(NO_SUCH_PROJECTION_IN_TABLE, "There is no projection {name} in table{hint}")
    };
    let Some(program) = program::program(table, found, ctx)? else {
        bail!(NOT_IMPLEMENTED, "Rows of projection {name} are not kept: {}", found.query)
    };
    let parts = write::rows(table, &table.parts().snapshot()?.parts, &program, ctx)?;
    let table = MergeTree::of(program.stored.definition.clone(), table.parts().clone());
    Ok(Arc::new(PartSet { table, parts }))
}

/// `mergeTreeIndex(database, table)`: the first primary key of each granule.
pub(crate) fn index(args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    ensure!(
        args.len() >= 2,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Table function 'mergeTreeIndex' must have at least 2 arguments, got: {}",
        args.len()
    );
    for arg in &args[2..] {
        match arg {
            // Statistics of granules are no rows of the index here.
            TableArgument::Named(name, ..) if name == "with_minmax" => {}
            TableArgument::Named(name, ..) => {
                bail!(NOT_IMPLEMENTED, "Argument {name} of table function mergeTreeIndex is not supported")
            }
            _ => bail!(
                BAD_ARGUMENTS,
                "Table function mergeTreeIndex takes a database, a table and named arguments"
            ),
        }
    }
    let (database, name, entry) = entry(args, ctx)?;
    let Some(table) = entry.table.as_any().downcast_ref::<MergeTree>() else {
        bail!(
            BAD_ARGUMENTS,
            "Table function mergeTreeIndex expected MergeTree table, got: {}",
            entry.table.engine()
        )
    };
    let definition = table.definition();
    let keys = &definition.keys;
    let texts = keys.sorting[..keys.n_primary].iter().map(|key| &*key.expr);
    let (_, bound) = bind_stored(texts.clone(), &definition.schema, ctx)?;
    let mut columns = vec![
        ColumnSchema::new("part_name", DataType::String),
        ColumnSchema::new("mark_number", DataType::UInt64),
        ColumnSchema::new("rows_in_granule", DataType::UInt64),
    ];
    let (mut keys, mut firsts, mut lasts) = (String::new(), String::new(), String::new());
    for (at, (text, expr)) in texts.zip(&bound).enumerate() {
        keys.push_str(&format!(", {text} AS `__key_{at}`"));
        // A tuple has the name of its function.
        let shown = match &chalet_syntax::parse_expression(text)?.kind {
            ExprKind::Call(call) if call.name == "tuple" => {
                let args: Vec<String> = call.args.iter().map(ast::Expr::to_string).collect();
                format!("tuple({})", args.join(", "))
            }
            _ => text.to_string(),
        };
        let name = in_backquotes(&shown);
        firsts.push_str(&format!(", argMin(`__key_{at}`, `__row`) AS {name}"));
        lasts.push_str(&format!(", argMax(`__key_{at}`, `__row`) AS {name}"));
        columns.push(ColumnSchema::new(&*shown, expr.ty().clone()));
    }
    let granularity = definition.granularity;
    let rows = format!(
        "(SELECT CAST(_part, 'String') AS part_name, _part_offset AS `__row`{keys} FROM {}.{})",
        quoted(&database),
        quoted(&name)
    );
    let granules = format!(
        "SELECT part_name, intDiv(`__row`, {granularity}) AS mark_number, count() AS rows_in_granule{firsts} FROM {rows} \
         GROUP BY part_name, mark_number"
    );
    // Behind the last granule stands a mark of no rows, with the last key.
    let ends = format!(
        " UNION ALL SELECT part_name, intDiv(max(`__row`), {granularity}) + 1 AS mark_number, toUInt64(0) AS \
         rows_in_granule{lasts} FROM {rows} GROUP BY part_name"
    );
    let ends = if definition.is_adaptive { ends } else { String::new() };
    let query = format!("SELECT * FROM ({granules}{ends}) ORDER BY part_name, mark_number");
    Ok(Arc::new(View { schema: TableSchema::new(columns), query }))
}
