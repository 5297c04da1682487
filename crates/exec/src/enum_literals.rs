//! Comparisons of an Enum with a word that it does not have, in a filter over a table that has the Enum in a key or an index.
//!
//! Such a comparison holds for no row. ClickHouse asks the keys of a MergeTree first, and there the word must be one of the Enum's:
//! a table without rows, or without such a key, is not asked.

use chalet_base::Result;
use chalet_function_api::{Comparison, Context, Lazy};
use chalet_functions::text::read_one;
use chalet_plan::{Expr, ScanNode};

/// Fails for a word that a key or an index of the table would have to know.
pub fn check(node: &ScanNode, ctx: &Context) -> Result<()> {
    let (Some(filter), Some(keys)) = (&node.filter, node.table.keys()) else { return Ok(()) };
    let mut compared = Vec::new();
    conditions(filter, &mut compared);
    if compared.is_empty() || node.table.total_rows() == Some(0) {
        return Ok(());
    }
    let schema = node.table.schema();
    let primary = keys.sorting.iter().take(keys.n_primary).map(|key| &*key.expr);
    let indexes = schema.indexes.iter().map(|index| &*index.expr);
    let asked: Vec<&str> = primary.chain([&*keys.partition]).chain(indexes).collect();
    for (column, word) in compared {
        let mut fields = node.columns.iter().map(|(_, field)| field);
        let field = fields.find(|field| Some(field.id) == column.as_column());
        if !field.is_some_and(|field| asked.iter().any(|text| mentions(text, &field.name))) {
            continue;
        }
        let ty = column.ty().bare();
        if let Err(error) = read_one(word.as_bytes(), ty, ctx) {
            return Err(error.context(format_args!("while converting '{word}' to {ty}")));
        }
    }
    Ok(())
}

/// The comparisons that AND, OR and NOT make the filter of.
fn conditions<'a>(filter: &'a Expr, found: &mut Vec<(&'a Expr, String)>) {
    let Expr::Call { function, args } = filter else { return };
    let record = function.function.record();
    match (record.lazy, &args[..]) {
        (Lazy::And | Lazy::Or, args) => args.iter().for_each(|arg| conditions(arg, found)),
        (Lazy::No, [negated]) => conditions(negated, found),
        _ => found.extend(enum_and_word(filter)),
    }
}

/// An Enum and the constant text that it is compared with.
fn enum_and_word(expr: &Expr) -> Option<(&Expr, String)> {
    let Expr::Call { function, args } = expr else { return None };
    let [a, b] = &args[..] else { return None };
    if function.function.record().comparison == Comparison::No {
        return None;
    }
    [(a, b), (b, a)].into_iter().find_map(|(column, word)| {
        let word = word.as_literal().filter(|literal| literal.ty.bare().is_string())?;
        let is_enum = column.as_column().is_some() && column.ty().bare().is_enum();
        is_enum.then(|| Some((column, word.value().as_str()?.to_string())))?
    })
}

/// Is the column named in a key or an index?
fn mentions(text: &str, column: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').any(|word| word == column)
}
