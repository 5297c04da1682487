//! The table that a statement alters, as one of the MergeTree family, and which columns its expressions read.

use chalet_base::{Result, bail};
use chalet_storage::Table;
use chalet_storage::merge_tree::MergeTree;
use chalet_syntax::ast;

/// The table as one of the family, or the kernel's error.
pub(super) fn merge_tree(table: &dyn Table) -> Result<&MergeTree> {
    let Some(found) = table.as_any().downcast_ref::<MergeTree>() else {
        bail!(NOT_IMPLEMENTED, "Alter of this kind is not supported by storage {}", table.engine())
    };
    Ok(found)
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
