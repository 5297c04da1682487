//! The engines of the MergeTree family that merge rows of equal keys: their arguments, checked as the kernel checks them.

use super::merge_tree::reads;
use crate::query_context::QueryContext;
use chalet_base::{Result, bail, ensure};
use chalet_storage::merge_tree::{SortingKey, TableKeys};
use chalet_storage::{ColumnSchema, RowMerging, TableSchema};
use chalet_syntax::ast::{self, Expr, ExprKind};
use chalet_types::DataType;
use std::sync::Arc;

/// The arguments of the engine in a statement.
pub(super) fn arguments(written: &ast::Storage) -> &[Expr] {
    written.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default()
}

/// The engine with its arguments as SHOW CREATE prints it.
pub(super) fn shown(engine: &str, args: &[Expr]) -> String {
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    if args.is_empty() { engine.into() } else { format!("{engine}({})", args.join(", ")) }
}

/// How many arguments an engine takes, and what they are.
fn parameters(engine: &str) -> (usize, usize, &'static str) {
    match engine {
        "ReplacingMergeTree" => (0, 2, "[is_deleted column],\n[version]"),
        "SummingMergeTree" | "CoalescingMergeTree" => (0, 1, "[list of columns to sum]"),
        "CollapsingMergeTree" => (1, 1, "sign column"),
        "VersionedCollapsingMergeTree" => (2, 2, "sign column,\nversion"),
        "GraphiteMergeTree" => (1, 1, "'config_element_for_graphite_schema'"),
        _ => (0, 0, ""),
    }
}

/// The rule that an engine and its arguments stand for.
pub(super) fn of(engine: &str, args: &[Expr]) -> Result<RowMerging> {
    let (least, most, what) = parameters(engine);
    if args.len() < least || args.len() > most {
        let needed = match (least, most) {
            (_, 0) => "no parameters".into(),
            _ if least == most => format!("{most} parameters: \n{what}"),
            _ => format!("{least} to {most} parameters: \n{what}"),
        };
        bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "With extended storage definition syntax storage {engine} requires {needed}"
        );
    }
    let optional = |at: usize, what: &str| -> Result<Option<Arc<str>>> {
        args.get(at).map(|arg| column_name(arg, what)).transpose()
    };
    Ok(match (engine, args) {
        ("ReplacingMergeTree", _) => RowMerging::Replacing {
            version: optional(0, "Version column name")?,
            is_deleted: optional(1, "is_deleted column name")?,
            allows_cleanup: false,
        },
        ("SummingMergeTree", _) => RowMerging::Summing { columns: column_list(args)? },
        ("CoalescingMergeTree", _) => RowMerging::Coalescing { columns: column_list(args)? },
        ("AggregatingMergeTree", _) => RowMerging::Aggregating,
        ("CollapsingMergeTree", [sign]) => {
            RowMerging::Collapsing { sign: column_name(sign, "Sign column name")? }
        }
        ("VersionedCollapsingMergeTree", [sign, version]) => RowMerging::VersionedCollapsing {
            sign: column_name(sign, "Sign column name")?,
            version: column_name(version, "Version column name")?,
        },
        ("GraphiteMergeTree", [config]) => return Err(no_graphite(config)),
        _ => RowMerging::None,
    })
}

/// There is no configuration file, so that no element of it can be named.
fn no_graphite(config: &Expr) -> chalet_base::Error {
    match &config.kind {
        ExprKind::Literal(ast::Literal::String(name)) => {
            let name = String::from_utf8_lossy(name);
            chalet_base::err!(NO_ELEMENTS_IN_CONFIG, "No '{name}' element in configuration file")
        }
        _ => chalet_base::err!(
            BAD_ARGUMENTS,
            "Last parameter of GraphiteMergeTree must be the name (in single quotes) of the element in configuration file \
             with the Graphite options"
        ),
    }
}

fn column_name(arg: &Expr, what: &str) -> Result<Arc<str>> {
    match &arg.kind {
        ExprKind::Identifier(parts) => {
            Ok(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".").into())
        }
        _ => bail!(BAD_ARGUMENTS, "{what} must be an unquoted string"),
    }
}

fn column_list(args: &[Expr]) -> Result<Arc<[Arc<str>]>> {
    let Some(arg) = args.first() else { return Ok(Arc::new([])) };
    match &arg.kind {
        ExprKind::Call(call) if call.name == "tuple" => {
            call.args.iter().map(|arg| column_name(arg, "Column name")).collect()
        }
        _ => Ok(Arc::new([column_name(arg, "Column name")?])),
    }
}

/// As [`of`], with the columns checked.
pub(super) fn checked(engine: &str, args: &[Expr], schema: &TableSchema) -> Result<RowMerging> {
    let merging = of(engine, args)?;
    let column = |name: &Arc<str>, what: &str| -> Result<&ColumnSchema> {
        let found = schema.stored().find(|c| c.name == *name);
        match found {
            Some(column) => Ok(column),
            None => {
                bail!(NO_SUCH_COLUMN_IN_TABLE, "{what} column {name} does not exist in table declaration.")
            }
        }
    };
    match &merging {
        RowMerging::Replacing { version, is_deleted, .. } => {
            ensure!(
                version.is_none() || version != is_deleted,
                BAD_ARGUMENTS,
                "The version and is_deleted column cannot be the same column ({})",
                version.as_deref().unwrap_or_default()
            );
            if let Some(name) = is_deleted {
                let ty = &column(name, "is_deleted")?.ty;
                ensure!(
                    matches!(ty, DataType::UInt8 | DataType::Bool),
                    BAD_TYPE_OF_FIELD,
                    "is_deleted column ({name}) for storage {engine} must have type UInt8. Provided column of type {ty}."
                );
            }
            if let Some(name) = version {
                check_version(engine, column(name, "Version")?)?;
            }
        }
        RowMerging::Collapsing { sign } => check_sign(engine, column(sign, "Sign")?)?,
        RowMerging::VersionedCollapsing { sign, version } => {
            ensure!(
                sign != version,
                BAD_ARGUMENTS,
                "The version and sign column cannot be the same column ({sign})"
            );
            check_sign(engine, column(sign, "Sign")?)?;
            check_version(engine, column(version, "Version")?)?;
        }
        RowMerging::Summing { columns } | RowMerging::Coalescing { columns } => {
            for name in &**columns {
                let is_nested =
                    |c: &ColumnSchema| c.name.split_once('.').is_some_and(|(table, _)| table == &**name);
                ensure!(
                    schema.columns.iter().any(|c| c.name == *name || is_nested(c)),
                    NO_SUCH_COLUMN_IN_TABLE,
                    "Column {name} listed in columns to sum does not exist in table declaration."
                );
            }
        }
        RowMerging::None | RowMerging::Aggregating => {}
    }
    Ok(merging)
}

/// The version of an engine by which rows are sorted, too: it is checked as a key before anything else is.
pub(super) fn version_in_key(engine: &str, args: &[Expr], schema: &TableSchema) -> Result<Option<String>> {
    Ok(match of(engine, args)? {
        RowMerging::VersionedCollapsing { version, .. } if schema.index_of(&version).is_some() => {
            Some(chalet_storage::catalog::quoted(&version))
        }
        _ => None,
    })
}

fn check_sign(engine: &str, column: &ColumnSchema) -> Result<()> {
    let ColumnSchema { name, ty, .. } = column;
    ensure!(
        *ty == DataType::Int8,
        BAD_TYPE_OF_FIELD,
        "Sign column ({name}) for storage {engine} must have type Int8. Provided column of type {ty}."
    );
    Ok(())
}

fn check_version(engine: &str, column: &ColumnSchema) -> Result<()> {
    use DataType::*;
    let ColumnSchema { name, ty, .. } = column;
    let is_version = ty.is_integer()
        || ty.is_float()
        || matches!(ty, Bool | Date | Date32 | DateTime(_) | DateTime64(..) | Time | Time64(_));
    ensure!(
        is_version,
        BAD_TYPE_OF_FIELD,
        "The column {name} cannot be used as a version column for storage {engine} because it is of type {ty} (must be of \
         an integer type or of type Date/DateTime/DateTime64)"
    );
    Ok(())
}

/// Gives the keys their rule. A version that rows are told apart by is the last sorting key, unless it is one already.
pub(super) fn set(keys: &mut TableKeys, mut merging: RowMerging, cleanup: bool) {
    if let RowMerging::Replacing { allows_cleanup, .. } = &mut merging {
        *allows_cleanup = cleanup;
    }
    if let RowMerging::VersionedCollapsing { version, .. } = &merging {
        let expr: Arc<str> = chalet_storage::catalog::quoted(version).into();
        if keys.sorting.iter().all(|key| key.expr != expr) {
            keys.sorting.push(SortingKey { expr, descending: false });
        }
    }
    keys.merging = merging;
}

/// Fails where a key reads what is merged, or a column is neither.
pub(super) fn check_columns(keys: &TableKeys, schema: &TableSchema, ctx: &QueryContext) -> Result<()> {
    let sorting = reads(keys.sorting.iter().map(|key| &*key.expr), schema, ctx)?;
    let partition = reads((!keys.partition.is_empty()).then_some(&*keys.partition), schema, ctx)?;
    let is_measure =
        |c: &ColumnSchema| c.simple_aggregate.is_some() || matches!(c.ty, DataType::AggregateFunction(_));
    let aggregates = schema.columns.iter().filter(|c| is_measure(c));
    for column in aggregates.clone() {
        ensure!(
            !sorting.contains(&column.name) && !partition.contains(&column.name),
            DATA_TYPE_CANNOT_BE_USED_IN_KEY,
            "Column with type {} is not allowed in key expression",
            column.declared_type()
        );
    }
    match &keys.merging {
        RowMerging::Summing { columns } | RowMerging::Coalescing { columns } => {
            for (read, what) in [(&sorting, "sorting"), (&partition, "partition")] {
                let both: Vec<&str> = columns.iter().filter(|c| read.contains(*c)).map(|c| &**c).collect();
                ensure!(
                    both.is_empty(),
                    BAD_ARGUMENTS,
                    "Columns: {} listed both in columns to sum and in {what} key. That is not allowed.",
                    both.join(", ")
                );
            }
        }
        RowMerging::Aggregating if aggregates.clone().next().is_some() => {
            let stored = schema.stored();
            let others = stored
                .filter(|c| !is_measure(c) && !sorting.contains(&c.name) && !partition.contains(&c.name));
            let others: Vec<&str> = others.map(|c| &*c.name).collect();
            ensure!(
                others.is_empty(),
                BAD_ARGUMENTS,
                "Column(s) {} of the AggregatingMergeTree table are neither part of the sorting key nor aggregate measures \
                 (AggregateFunction or SimpleAggregateFunction). During background merges, rows with the same value of the \
                 sorting key are collapsed into one, so these columns keep an arbitrary value",
                others.join(", ")
            );
        }
        _ => {}
    }
    Ok(())
}
