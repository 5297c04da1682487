//! ALTER TABLE ... MODIFY ORDER BY: rows stay where they are, so that only columns that are new may be added to the key.

use crate::query_context::QueryContext;
use crate::statements::create::{MergeTreeSettings, check_keys, sorting_key};
use crate::stored_columns::bind_stored;
use chalet_base::{Result, ensure};
use chalet_storage::TableSchema;
use chalet_storage::merge_tree::{MergeTree, SortingKey, TableKeys};
use std::sync::Arc;

/// The keys of a table with another sorting key. `added` are the columns that the same statement adds.
pub(super) fn changed(
    table: &MergeTree,
    sorting: &[SortingKey],
    added: &[Arc<str>],
    schema: &TableSchema,
    settings: &MergeTreeSettings,
    ctx: &QueryContext,
) -> Result<TableKeys> {
    let before = &table.definition().keys;
    let primary = &before.sorting[..before.n_primary];
    ensure!(
        sorting.len() >= primary.len(),
        BAD_ARGUMENTS,
        "Primary key must be a prefix of the sorting key, but its length: {} is greater than the sorting key length: {}",
        primary.len(),
        sorting.len()
    );
    for (at, (old, new)) in primary.iter().zip(sorting).enumerate() {
        ensure!(
            old == new,
            BAD_ARGUMENTS,
            "Primary key must be a prefix of the sorting key, but the column in the position {at} is {}, not {}",
            new.expr,
            old.expr
        );
    }
    for key in sorting.iter().filter(|key| !before.sorting.contains(key)) {
        let (fields, bound) = bind_stored([&*key.expr], schema, ctx)?;
        let read = bound[0].columns();
        for field in fields.iter().filter(|field| read.contains(&field.id)) {
            ensure!(
                added.contains(&field.name),
                BAD_ARGUMENTS,
                "Existing column {} is used in the expression that was added to the sorting key. You can add expressions that \
                 use only the newly added columns",
                field.name
            );
        }
    }
    ensure!(
        sorting.iter().zip(&before.sorting).all(|(new, old)| new == old),
        BAD_ARGUMENTS,
        "The sorting key can only be extended with new columns, or lose its last ones"
    );
    let keys = TableKeys { sorting: sorting.to_vec(), ..before.clone() };
    check_keys(&keys, settings, schema, ctx)?;
    Ok(keys)
}

/// The engine with its clauses, for these keys: the primary key is written beside the sorting key from now on.
pub(super) fn engine(before: &str, keys: &TableKeys) -> String {
    let mut lines = Vec::new();
    let has_primary = before.lines().any(|line| line.starts_with("PRIMARY KEY "));
    for line in before.lines() {
        if line.starts_with("ORDER BY ") {
            if !has_primary {
                lines.push(format!("PRIMARY KEY {}", sorting_key(&keys.sorting[..keys.n_primary])));
            }
            lines.push(format!("ORDER BY {}", sorting_key(&keys.sorting)));
        } else {
            lines.push(line.to_string());
        }
    }
    lines.join("\n")
}
