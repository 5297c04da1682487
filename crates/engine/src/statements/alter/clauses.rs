//! ALTER TABLE of the clauses behind ENGINE, which change what a table is read and merged by, and no part.

use super::altering;
use crate::merge_tree::ttl::shown;
use crate::query_context::QueryContext;
use crate::statements::create::{self, MergeTreeSettings, sampling};
use chalet_base::{Result, ensure};
use chalet_storage::Table;
use chalet_storage::merge_tree::{Definition, MergeTree};
use chalet_syntax::ast;
use std::sync::Arc;

/// In the order in which SHOW CREATE prints them, each on lines of its own.
const CLAUSES: [&str; 6] = ["PARTITION BY", "PRIMARY KEY", "ORDER BY", "SAMPLE BY", "TTL", "SETTINGS"];

/// The place of the clause that a line begins.
fn clause_of(line: &str) -> Option<usize> {
    CLAUSES.iter().position(|word| line.strip_prefix(word).is_some_and(|rest| rest.starts_with(' ')))
}

/// An engine with one of its clauses replaced, added or left out.
pub(super) fn with_clause(engine: &str, word: &str, text: Option<&str>) -> String {
    let rank = CLAUSES.iter().position(|known| *known == word);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut clause = None;
    for line in engine.split('\n') {
        clause = clause_of(line).or(clause);
        match clause.cmp(&rank) {
            std::cmp::Ordering::Less => before.push(line.to_string()),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => after.push(line.to_string()),
        }
    }
    before.extend(text.map(|text| format!("{word} {text}")));
    before.append(&mut after);
    before.join("\n")
}

/// MODIFY SAMPLE BY and REMOVE SAMPLE BY.
pub(super) fn sample_by(
    name: &ast::ObjectName,
    written: Option<&ast::Expr>,
    ctx: &QueryContext,
) -> Result<()> {
    change(name, "SAMPLE BY", ctx, &mut |table, settings, definition| {
        let keys = &table.definition().keys;
        ensure!(
            written.is_some() || !keys.sampling.is_empty(),
            BAD_ARGUMENTS,
            "Table doesn't have SAMPLE BY, cannot remove"
        );
        if let Some(written) = written {
            sampling::check(written, keys, settings, &table.schema(), ctx)?;
        }
        let text = written.map(ToString::to_string);
        definition.keys.sampling = text.clone().unwrap_or_default().into();
        Ok(text)
    })
}

/// MODIFY TTL and REMOVE TTL.
pub(super) fn ttl(name: &ast::ObjectName, rules: Option<&[ast::TtlItem]>, ctx: &QueryContext) -> Result<()> {
    change(name, "TTL", ctx, &mut |table, _, definition| {
        ensure!(
            rules.is_some() || !table.definition().keys.ttl.is_empty(),
            BAD_ARGUMENTS,
            "Table doesn't have any table TTL expression, cannot remove"
        );
        let text = rules.map(shown);
        definition.keys.ttl = text.clone().unwrap_or_default().into();
        create::ttl::check(&definition.keys, &table.schema(), ctx)?;
        create::ttl::check_columns(&definition.keys, &table.schema(), ctx)?;
        create::ttl::check_places(&definition.keys)?;
        Ok(text)
    })
}

type Command<'a> =
    &'a mut dyn FnMut(&MergeTree, &MergeTreeSettings, &mut Definition) -> Result<Option<String>>;

/// Changes the definition of a table and one clause of its engine, whose new text `command` gives.
fn change(name: &ast::ObjectName, word: &str, ctx: &QueryContext, command: Command) -> Result<()> {
    altering(name, ctx, |kept, table| {
        let engine = kept.engine()?;
        ensure!(
            engine.contains("\nORDER BY "),
            BAD_ARGUMENTS,
            "ALTER MODIFY {word} is not supported for default-partitioned tables created with the old syntax"
        );
        let create = kept.create()?;
        let settings = MergeTreeSettings::of(&create.storage.settings, ctx)?;
        let mut definition = Definition::clone(table.definition());
        let text = command(table, &settings, &mut definition)?;
        let engine = with_clause(engine, word, text.as_deref());
        let altered = MergeTree::of(definition, table.parts().clone());
        kept.replace_engine(Arc::new(altered), &table.schema(), &engine, &kept.entry.comment, ctx)
    })
}
