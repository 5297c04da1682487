//! Defaults as expressions over stored columns alone, where there are no others: rows of parts and files have no ALIAS column, which
//! is what it stands for, and no EPHEMERAL one, which is its own default.

use chalet_base::Result;
use chalet_storage::{ColumnSchema, DefaultKind, TableSchema};
use chalet_syntax::ast::{Expr, ExprKind};
use chalet_syntax::print::string_literal;

/// An expression in which columns that no row has are what they are computed from. They do not read themselves: that was refused when
/// they were declared.
pub(crate) fn over_stored(mut expr: Expr, schema: &TableSchema) -> Result<Expr> {
    let is_unstored = |column: &&ColumnSchema| {
        matches!(column.default_kind(), Some(DefaultKind::Alias | DefaultKind::Ephemeral))
    };
    let unstored: Vec<&ColumnSchema> = schema.columns.iter().filter(is_unstored).collect();
    // As many rounds as columns can read each other.
    for _ in 0..unstored.len() {
        if !replace(&mut expr, &unstored)? {
            break;
        }
    }
    Ok(expr)
}

/// Puts what columns stand for in their places; tells whether there were any.
fn replace(expr: &mut Expr, unstored: &[&ColumnSchema]) -> Result<bool> {
    let mut values = Vec::with_capacity(unstored.len());
    for column in unstored {
        values.push((&*column.name, chalet_syntax::parse_expression(&value(column))?));
    }
    let mut replaced = false;
    chalet_syntax::visit::walk_mut(expr, &mut |e| {
        let ExprKind::Identifier(parts) = &e.kind else { return };
        let name = parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".");
        if let Some((_, value)) = values.iter().find(|(column, _)| *column == name) {
            e.kind = value.kind.clone();
            replaced = true;
        }
    });
    Ok(replaced)
}

fn value(column: &ColumnSchema) -> String {
    let ty = string_literal(column.ty.to_string());
    match &column.default {
        Some((_, text)) if !text.is_empty() => format!("CAST({text}, {ty})"),
        _ => format!("defaultValueOfTypeName({ty})"),
    }
}
