//! ALTER TABLE ... MODIFY SETTING and RESET SETTING.

use super::{Kept, altering};
use crate::query_context::QueryContext;
use crate::settings::merge_tree as known;
use crate::statements::create::{MergeTreeSettings, memory, value_of};
use chalet_base::{Result, bail, ensure, err};
use chalet_storage::memory::MemoryTable;
use chalet_storage::merge_tree::{Definition, MergeTree};
use chalet_storage::{RowMerging, Table};
use chalet_syntax::ast::{self, SettingValue};
use std::sync::Arc;

/// What the engine begins its settings with, as SHOW CREATE prints it.
const CLAUSE: &str = "\nSETTINGS ";

pub(super) fn modify(name: &ast::ObjectName, written: &[ast::Setting], ctx: &QueryContext) -> Result<()> {
    let kept = Kept::find(name, ctx)?;
    if let Some(memory) = kept.entry.table.as_any().downcast_ref::<MemoryTable>()
        && memory.engine() == "Memory"
    {
        return modify_memory(&kept, memory, written, ctx);
    }
    change(name, ctx, &mut |settings| {
        for setting in written {
            let name = &setting.name.name;
            let at = settings.iter().position(|before| before.name.name == *name);
            let Some(known) = known::find(name) else { bail!(UNKNOWN_SETTING, "Unknown setting '{name}'") };
            if known.is_readonly {
                let before = match at {
                    Some(at) => value_of(&settings[at], ctx)?,
                    None => Some(known.known.default.to_string()),
                };
                if value_of(setting, ctx)? != before {
                    return Err(readonly(name));
                }
                continue;
            }
            match (at, &setting.value) {
                (Some(at), SettingValue::Default) => _ = settings.remove(at),
                (None, SettingValue::Default) => {}
                (Some(at), SettingValue::Expr(_)) => settings[at] = setting.clone(),
                (None, SettingValue::Expr(_)) => settings.push(setting.clone()),
            }
        }
        Ok(())
    })
}

/// How many rows a table of the engine Memory keeps.
fn modify_memory(
    kept: &Kept,
    table: &MemoryTable,
    written: &[ast::Setting],
    ctx: &QueryContext,
) -> Result<()> {
    let mut create = kept.create()?;
    for setting in written {
        let name = &setting.name.name;
        let is_known = memory::SETTINGS.contains(&name.as_str());
        ensure!(is_known, UNKNOWN_SETTING, "Unknown setting '{name}'");
        match create.storage.settings.iter_mut().find(|before| before.name.name == *name) {
            Some(before) => *before = setting.clone(),
            None => create.storage.settings.push(setting.clone()),
        }
    }
    let limits = memory::checked(&create.storage, ctx)?;
    let clauses = kept.engine()?.split(CLAUSE).next().unwrap_or_default();
    let shown = create.storage.settings.iter().filter_map(|setting| match &setting.value {
        SettingValue::Expr(value) => Some(format!("{} = {value}", setting.name.name)),
        SettingValue::Default => None,
    });
    let engine = format!("{clauses}{CLAUSE}{}", shown.collect::<Vec<_>>().join(", "));
    let schema = table.schema();
    let publish = |altered: MemoryTable| {
        kept.replace_engine(Arc::new(altered.keeping(limits)), &schema, &engine, &kept.entry.comment, ctx)
    };
    table.alter(schema.clone(), |block| Ok(block.clone()), publish)
}

pub(super) fn reset(name: &ast::ObjectName, names: &[ast::Ident], ctx: &QueryContext) -> Result<()> {
    change(name, ctx, &mut |settings| {
        for ast::Ident { name, .. } in names {
            let Some(known) = known::find(name) else {
                bail!(
                    BAD_ARGUMENTS,
                    "Cannot reset setting '{name}' because it doesn't exist for MergeTree engines family"
                )
            };
            let at = settings.iter().position(|before| before.name.name == *name);
            match at {
                Some(_) if known.is_readonly => return Err(readonly(name)),
                Some(at) => _ = settings.remove(at),
                None => {}
            }
        }
        Ok(())
    })
}

fn readonly(name: &str) -> chalet_base::Error {
    err!(READONLY_SETTING, "Setting '{name}' is readonly for storage 'MergeTree'")
}

fn change(
    name: &ast::ObjectName,
    ctx: &QueryContext,
    command: &mut dyn FnMut(&mut Vec<ast::Setting>) -> Result<()>,
) -> Result<()> {
    altering(name, ctx, |kept, table| {
        let engine = kept.engine()?;
        let Some((clauses, _)) = engine.rsplit_once(CLAUSE) else {
            bail!(NOT_IMPLEMENTED, "ALTER of the settings of table {} is not supported", kept.name)
        };
        let create = kept.create()?;
        let mut written = create.storage.settings;
        command(&mut written)?;
        let settings = MergeTreeSettings::of(&written, ctx)?;
        let engine = format!("{clauses}{}", settings.shown());
        let mut definition = Definition::clone(table.definition());
        definition.dedup_window = settings.of_table.dedup_window;
        definition.keeps_blocks = settings.of_table.keeps_blocks;
        if let RowMerging::Replacing { allows_cleanup, .. } = &mut definition.keys.merging {
            *allows_cleanup = settings.cleanup;
        }
        let altered = MergeTree::of(definition, table.parts().clone());
        kept.replace_engine(Arc::new(altered), &table.schema(), &engine, &kept.entry.comment, ctx)
    })
}

/// Fails for settings that columns do not have.
pub(super) fn check_of_column<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    for name in names {
        ensure!(
            ["max_compress_block_size", "min_compress_block_size"].contains(&name),
            UNKNOWN_SETTING,
            "Setting {name} is unknown or not supported at column level, supported settings: max_compress_block_size, \
             min_compress_block_size"
        );
    }
    Ok(())
}
