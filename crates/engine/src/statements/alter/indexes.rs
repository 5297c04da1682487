//! ALTER TABLE ... INDEX: which indexes a table has.

use super::renamed;
use crate::statements::create::skip_index;
use chalet_base::suggest::nearest;
use chalet_base::{Result, bail, ensure};
use chalet_storage::SkipIndex;
use chalet_syntax::ast::{ColumnPosition, IndexDef};

/// ADD INDEX.
pub(super) fn add(
    indexes: &mut Vec<SkipIndex>,
    written: &IndexDef,
    position: Option<&ColumnPosition>,
    if_not_exists: bool,
) -> Result<()> {
    let index = skip_index::declared(written)?;
    let name = &index.name;
    if indexes.iter().any(|known| known.name == *name) {
        ensure!(
            if_not_exists,
            ILLEGAL_COLUMN,
            "Cannot add index {name}: index with this name already exists"
        );
        return Ok(());
    }
    let at = match position {
        None => indexes.len(),
        Some(ColumnPosition::First) => 0,
        Some(ColumnPosition::After(before)) => {
            let Some(at) = indexes.iter().position(|known| *known.name == *before.name) else {
                bail!(BAD_ARGUMENTS, "Wrong index name. Cannot find index `{}` to insert after", before.name)
            };
            at + 1
        }
    };
    indexes.insert(at, index);
    Ok(())
}

/// DROP INDEX.
pub(super) fn drop(indexes: &mut Vec<SkipIndex>, name: &str, if_exists: bool) -> Result<()> {
    match indexes.iter().position(|known| *known.name == *name) {
        Some(at) => _ = indexes.remove(at),
        None if if_exists => {}
        None => {
            let near = nearest(name, indexes.iter().map(|known| &*known.name), 1);
            let hint = near.first().map_or(String::new(), |near| format!(", may be you meant: ['{near}']"));
            bail!(BAD_ARGUMENTS, "Wrong index name. Cannot find index `{name}` to drop{hint}")
        }
    }
    Ok(())
}

/// A column that indexes read has another name.
pub(super) fn rename(indexes: &mut [SkipIndex], from: &str, to: &str) -> Result<()> {
    for index in indexes {
        index.expr = renamed(&index.expr, from, to)?.into();
    }
    Ok(())
}
