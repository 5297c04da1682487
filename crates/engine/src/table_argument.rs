//! Arguments of table functions and engines.

use chalet_binder::TableArgument;

/// A word, or a string; `None` for what is neither.
pub(crate) fn text(arg: &TableArgument) -> Option<String> {
    match arg {
        TableArgument::Value(value, _) => value.as_bytes().map(|b| String::from_utf8_lossy(b).into_owned()),
        TableArgument::Word(word) => Some(word.clone()),
        TableArgument::Named(..) | TableArgument::Table(_) | TableArgument::Written(_) => None,
    }
}
