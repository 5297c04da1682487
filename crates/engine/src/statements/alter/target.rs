//! The table that a statement alters, as one of the MergeTree family, and which columns its expressions read.

use chalet_base::{Result, bail, ensure};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::{RowMerging, Table};
use chalet_syntax::ast;
use chalet_types::DataType;

/// The table as one of the family, or the kernel's error.
pub(super) fn merge_tree(table: &dyn Table) -> Result<&MergeTree> {
    let Some(found) = table.as_any().downcast_ref::<MergeTree>() else {
        bail!(NOT_IMPLEMENTED, "Alter of this kind is not supported by storage {}", table.engine())
    };
    Ok(found)
}

/// Fails for a column that the engine tells rows apart by: it cannot be dropped or cleared.
pub(super) fn check_not_of_engine(table: &dyn Table, column: &str) -> Result<()> {
    let Some(table) = table.as_any().downcast_ref::<MergeTree>() else { return Ok(()) };
    let (version, sign, is_deleted) = match &table.definition().keys.merging {
        RowMerging::Replacing { version, is_deleted, .. } => (version.as_ref(), None, is_deleted.as_ref()),
        RowMerging::Collapsing { sign } => (None, Some(sign), None),
        RowMerging::VersionedCollapsing { sign, version } => (Some(version), Some(sign), None),
        RowMerging::None
        | RowMerging::Summing { .. }
        | RowMerging::Aggregating
        | RowMerging::Coalescing { .. } => (None, None, None),
    };
    for (what, named) in [("version", version), ("is_deleted", is_deleted), ("sign", sign)] {
        ensure!(
            named.is_none_or(|named| **named != *column),
            ALTER_OF_COLUMN_IS_FORBIDDEN,
            "Trying to ALTER DROP {what} ({column}) column"
        );
    }
    Ok(())
}

/// May a column that the engine reads when it merges rows have another type? A version takes more bytes, what is summed is a number still.
pub(super) fn engine_column_may_become(
    rule: &RowMerging,
    column: &str,
    from: &DataType,
    to: &DataType,
) -> bool {
    match rule {
        RowMerging::Replacing { version, .. } if version.as_deref() == Some(column) => {
            let both = |is_of: fn(&DataType) -> bool| is_of(from) && is_of(to);
            let is_wider = from.physical().width() < to.physical().width();
            is_wider && (both(DataType::is_unsigned) || both(DataType::is_signed))
        }
        RowMerging::Replacing { is_deleted, .. } if is_deleted.as_deref() == Some(column) => {
            matches!((from, to), (DataType::UInt8, DataType::Bool) | (DataType::Bool, DataType::UInt8))
        }
        RowMerging::Summing { .. } => from.is_integer() && to.is_integer(),
        _ => false,
    }
}

/// Does an expression read a column?
pub(super) fn uses(text: &str, column: &str) -> Result<bool> {
    let mut found = false;
    chalet_syntax::visit::walk(&chalet_syntax::parse_expression(text)?, &mut |e| {
        if let ast::ExprKind::Identifier(parts) = &e.kind {
            let whole = parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".");
            found |= whole == column || parts[0].name == column;
        }
        !found
    });
    Ok(found)
}
