//! Columns of a Nested, which are stored as one array each: ALTER TABLE names them one by one, or all of them by what they share.

use crate::stored_columns::nested_prefix;
use chalet_base::{Result, ensure};
use chalet_syntax::ast::AlterCommand;

/// Is it a column of the Nested of this name?
pub(super) fn is_member(column: &str, nested: &str) -> bool {
    column.strip_prefix(nested).is_some_and(|rest| rest.starts_with('.'))
}

/// The columns of a Nested among these, where no column has its name.
pub(super) fn members(columns: &[&str], nested: &str) -> Vec<String> {
    if columns.contains(&nested) {
        return Vec::new();
    }
    columns.iter().filter(|name| is_member(name, nested)).map(ToString::to_string).collect()
}

/// The last of the columns that a name means, as AFTER has it.
pub(super) fn last(columns: &[&str], name: &str) -> Option<usize> {
    let exact = columns.iter().position(|column| *column == name);
    exact.or_else(|| columns.iter().rposition(|column| is_member(column, name)))
}

/// Fails where one command renames a column to what another renames from. To its own name is another error, that of a name that is taken.
pub(super) fn check_renames(commands: &[AlterCommand]) -> Result<()> {
    let renames = || {
        commands.iter().filter_map(|command| match command {
            AlterCommand::RenameColumn { from, to, .. } => Some((&from.name, &to.name)),
            _ => None,
        })
    };
    for (place, (_, to)) in renames().enumerate() {
        ensure!(
            renames().enumerate().all(|(other, (from, _))| other == place || from != to),
            NOT_IMPLEMENTED,
            "Transitive renames in a single ALTER query are not allowed (don't make sense)"
        );
    }
    Ok(())
}

/// Fails for another Nested than the column's own: its arrays are as long as those of their siblings.
pub(super) fn check_rename(from: &str, to: &str) -> Result<()> {
    let (from, to) = (nested_prefix(from), nested_prefix(to));
    ensure!(
        from.is_some() == to.is_some(),
        BAD_ARGUMENTS,
        "Cannot rename column from nested struct to normal column and vice versa"
    );
    ensure!(from == to, BAD_ARGUMENTS, "Cannot rename column from one nested name to another");
    Ok(())
}
