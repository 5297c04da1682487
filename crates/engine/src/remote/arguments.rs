//! The arguments of `remote` and `cluster` behind the servers: what is read of them, for whom, and by what rows are divided.

use crate::table_argument::text;
use chalet_base::{Error, Result};
use chalet_binder::TableArgument;

/// What is read of servers.
pub(super) enum Source {
    /// Database and table.
    Table(String, String),
    /// A table function, as it is written.
    Function(String),
}

impl Source {
    /// `db, table`, `db.table`, a table function, or nothing; and the arguments behind it.
    pub fn of(args: &[TableArgument]) -> Option<(Source, &[TableArgument])> {
        let Some(first) = args.first() else {
            return Some((Source::Table("system".into(), "one".into()), args));
        };
        if let TableArgument::Written(call) = first {
            return Some((Source::Function(call.clone()), &args[1..]));
        }
        let word = text(first)?;
        // A table with its database is one word, or a string.
        if let Some((database, table)) = word.split_once('.')
            && (args.len() == 1 || matches!(first, TableArgument::Word(_)))
        {
            return Some((Source::Table(database.into(), table.into()), &args[1..]));
        }
        Some(match args.get(1) {
            Some(table) => (Source::Table(word, text(table)?), &args[2..]),
            None => (Source::Table("default".into(), word), &args[1..]),
        })
    }
}

/// User and password, which are strings, and what follows them.
pub(super) fn credentials(args: &[TableArgument]) -> (Vec<String>, &[TableArgument]) {
    let is_text =
        |arg: &&TableArgument| matches!(arg, TableArgument::Value(value, _) if value.as_bytes().is_some());
    let n = args.iter().take(2).take_while(is_text).count();
    (args[..n].iter().filter_map(text).collect(), &args[n..])
}

/// The one argument that is left, as SQL.
pub(super) fn sharding_key(args: &[TableArgument], wrong: impl Fn() -> Error) -> Result<Option<String>> {
    match args {
        [] => Ok(None),
        [TableArgument::Word(name)] => Ok(Some(super::sql::quoted_name(name))),
        [TableArgument::Written(expr)] => Ok(Some(expr.clone())),
        [TableArgument::Value(value, _)] => value.as_u64().map(|n| Some(n.to_string())).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}
