//! MATERIALIZE TTL: what has expired goes now, and columns of other names in the rules of a TTL.

use super::{merge_tree, partitions, rename_in};
use crate::merge_tree::merge::{MergeOptions, merge_parts};
use crate::merge_tree::ttl::{has_ttl, parsed, shown};
use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_base::{Result, ensure};
use chalet_storage::merge_tree::MergeTree;
use chalet_syntax::ast::{self, TtlAction};

/// The rules of a TTL in which a column has another name.
pub(super) fn renamed_rules(clause: &str, from: &str, to: &str) -> Result<String> {
    let mut rules = parsed(clause)?;
    for rule in &mut rules {
        rename_in(&mut rule.expr, from, to);
        rule.where_.iter_mut().for_each(|wanted| rename_in(wanted, from, to));
        if let TtlAction::GroupBy { keys, set } = &mut rule.action {
            keys.iter_mut().for_each(|key| rename_in(key, from, to));
            for (name, value) in set {
                rename_in(value, from, to);
                if name.name == from {
                    name.name = to.into();
                }
            }
        }
    }
    Ok(shown(&rules))
}

/// Applies a TTL that has just been changed, unless the session leaves that to merges.
pub(super) fn after_change(name: &ast::ObjectName, ctx: &QueryContext) -> Result<()> {
    match ctx.state.settings.flag("materialize_ttl_after_modify") {
        Some(false) => Ok(()),
        _ => materialize(name, None, ctx),
    }
}

pub(super) fn materialize(
    name: &ast::ObjectName,
    partition: Option<&ast::Partition>,
    ctx: &QueryContext,
) -> Result<()> {
    let (table, shown) = existing(name, ctx)?;
    ensure!(
        table.as_any().downcast_ref::<MergeTree>().is_some_and(|table| has_ttl(table)),
        INCORRECT_QUERY,
        "Cannot MATERIALIZE TTL as there is no TTL set for table {shown}"
    );
    let table = merge_tree(&*table)?;
    table.parts().check_writable()?;
    let partition = partition.map(|written| partitions::wanted(table, written, ctx)).transpose()?;
    let check = || ctx.control.check_with_interrupt();
    let (_claim, parts) =
        table.parts().claim_all(|info| partition.as_ref().is_none_or(|wanted| wanted.has(info)), &check)?;
    let options = MergeOptions { mutation: Some(table.parts().next_mutation()), ..MergeOptions::PLAIN };
    parts.chunks(1).try_for_each(|part| merge_parts(table, part, &options, ctx, &check))
}
