//! The minmax indexes that a table of the MergeTree family has although nobody declared them: one of each column of the kinds
//! that the settings `add_minmax_index_for_*_columns` name. They stand in no CREATE: a table that is loaded gets them anew.

use chalet_storage::catalog::quoted;
use chalet_storage::merge_tree::ImplicitIndexes;
use chalet_storage::{ColumnSchema, DefaultKind, SkipIndex};
use chalet_types::DataType;
use std::sync::Arc;

/// What their names begin with.
const PREFIX: &str = "auto_minmax_index_";

/// The indexes of a table with these columns, behind those that are declared.
pub(crate) fn added(
    declared: &[SkipIndex],
    columns: &[ColumnSchema],
    kinds: ImplicitIndexes,
) -> Arc<[SkipIndex]> {
    let mut indexes = declared.to_vec();
    add(&mut indexes, columns.iter(), kinds);
    indexes.into()
}

/// What an ALTER that made columns of others makes of the indexes.
pub(crate) fn follow(
    indexes: &mut Vec<SkipIndex>,
    before: &[ColumnSchema],
    after: &[ColumnSchema],
    kinds: ImplicitIndexes,
) {
    let was = |column: &ColumnSchema| {
        before.iter().find(|other| other.name == column.name).is_some_and(|other| other.ty == column.ty)
    };
    let is_new = |column: &&ColumnSchema| !was(column);
    let of = |index: &SkipIndex| after.iter().find(|column| name_of(column) == *index.name);
    let is_renamed = |column: &ColumnSchema| !before.iter().any(|other| other.name == column.name);
    indexes.retain(|index| {
        !index.is_implicit || of(index).is_some_and(|column| was(column) || is_renamed(column))
    });
    add(indexes, after.iter().filter(is_new), kinds);
}

fn add<'a>(
    indexes: &mut Vec<SkipIndex>,
    columns: impl Iterator<Item = &'a ColumnSchema>,
    kinds: ImplicitIndexes,
) {
    for index in columns.filter_map(|column| index_of(column, kinds)) {
        let has_one = |known: &SkipIndex| {
            let first =
                known.expr.trim_start_matches('(').split([',', ')']).next().unwrap_or_default().trim();
            known.name == index.name || known.kind_name() == "minmax" && first == &*index.expr
        };
        if !indexes.iter().any(has_one) {
            indexes.push(index);
        }
    }
}

fn name_of(column: &ColumnSchema) -> String {
    format!("{PREFIX}{}", column.name)
}

/// What the index of a column is called once that has another name; `None` for an index that somebody named.
pub(crate) fn renamed(index: &SkipIndex, from: &str, to: &str) -> Option<Arc<str>> {
    let is_of_column = index.is_implicit && index.name.strip_prefix(PREFIX) == Some(from);
    is_of_column.then(|| format!("{PREFIX}{to}").into())
}

/// May nobody give an index this name, in a table that has such indexes?
pub(crate) fn is_reserved(name: &str, kinds: ImplicitIndexes) -> bool {
    kinds.any() && name.starts_with(PREFIX)
}

fn index_of(column: &ColumnSchema, kinds: ImplicitIndexes) -> Option<SkipIndex> {
    let wanted = match &column.ty {
        DataType::String => kinds.strings,
        DataType::Time | DataType::Time64(_) => kinds.times,
        ty if ty.is_date_or_time() => kinds.times,
        ty => kinds.numbers && (ty.is_number() || *ty == DataType::Bool),
    };
    let expr = match &column.default {
        Some((DefaultKind::Ephemeral, _)) => return None,
        Some((DefaultKind::Alias, text)) => text.clone(),
        _ => quoted(&column.name).into(),
    };
    let (name, kind) = (name_of(column).into(), "minmax()".into());
    wanted.then_some(SkipIndex { name, expr, kind, granularity: 1, is_implicit: true })
}
