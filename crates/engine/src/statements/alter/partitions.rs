//! ALTER TABLE ... PARTITION: parts that go, or come from another table.

use super::target::merge_tree;
use crate::merge_tree::key_program::shown;
use crate::merge_tree::merge::open_part;
use crate::projections::program::programs;
use crate::projections::write;
use crate::query_context::QueryContext;
use crate::reading::caster;
use crate::skip_indexes;
use crate::stored_columns::bind_stored;
use crate::tables::existing;
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::table_columns::bind_constant;
use chalet_columns::{Block, Column};
use chalet_formats::input::Cast;
use chalet_storage::merge_tree::change::Change;
use chalet_storage::merge_tree::part::{Part, PartInfo};
use chalet_storage::merge_tree::{Lineage, MergeTree, Partition};
use chalet_storage::{ColumnSchema, Table};
use chalet_syntax::ast;
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// What a statement says after PARTITION or PART.
pub(crate) enum Wanted {
    All,
    Partition(String),
    Part(String),
}

impl Wanted {
    /// Is the part meant?
    pub fn has(&self, info: &PartInfo) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Partition(id) => *info.partition.id == **id,
            Wanted::Part(name) => info.name() == *name,
        }
    }
}

/// The parts that a statement means with one partition.
pub(crate) fn wanted(table: &MergeTree, written: &ast::Partition, ctx: &QueryContext) -> Result<Wanted> {
    let constant = |expr: &ast::Expr| bind_constant(expr, ctx, &ctx.ids);
    Ok(match written {
        ast::Partition::All => {
            bail!(SUPPORT_IS_DISABLED, "Only Support DROP/DETACH/ATTACH PARTITION ALL currently")
        }
        ast::Partition::Id(expr) => {
            let value = constant(expr)?.value();
            Wanted::Partition(value.as_str().unwrap_or_default().to_string())
        }
        ast::Partition::Value(expr) => {
            let literal = constant(expr)?;
            let text = &*table.definition().keys.partition;
            let (mut value, mut given_as, mut fields) = (literal.value(), literal.ty.clone(), 0);
            let mut ty = DataType::Tuple([].into());
            if !text.is_empty() {
                let (_, bound) = bind_stored([text], &table.schema(), ctx)?;
                ty = bound[0].ty().clone();
                fields = if let DataType::Tuple(fields) = &ty { fields.len() } else { 1 };
            }
            let given = if let Value::Tuple(values) = &value { values.len() } else { 1 };
            ensure!(
                given == fields,
                INVALID_PARTITION_VALUE,
                "Wrong number of fields in the partition expression: {given}, must be: {fields}"
            );
            if fields == 0 {
                return Ok(Wanted::Partition("all".into()));
            }
            // A tuple of one value is that value.
            if let (Value::Tuple(values), DataType::Tuple(types), false) = (&value, &given_as, is_tuple(&ty))
            {
                (value, given_as) = (values[0].clone(), types[0].ty.clone());
            }
            let column = Column::of_value(&value, &given_as, 1)?;
            let is_parsed = given_as.is_string() && ty.bare().is_date_or_time();
            let cast = caster(ctx)(&column, &given_as, &ty).map_err(|error| match is_parsed {
                true => error,
                false => {
                    err!(
                        TYPE_MISMATCH,
                        "Cannot convert the partition {expr} to type {ty}: {}",
                        error.message()
                    )
                }
            })?;
            let of_key = cast.value(0);
            ensure!(
                is_exact((&value, &given_as), (&of_key, &ty), &caster(ctx))?,
                ARGUMENT_OUT_OF_BOUND,
                "Cannot convert value '{expr}': it cannot be represented as {ty}"
            );
            let (vector, row) = cast.locate(0);
            let partition = Partition::of(&of_key, &ty, &shown(vector, row, &ty));
            Wanted::Partition(table.known_partition(partition)?.id.to_string())
        }
    })
}

/// Is the value of the key the one that was written? Integers that are too wide wrap around, and so does text of them.
fn is_exact(
    (given, given_as): (&Value, &DataType),
    (of_key, ty): (&Value, &DataType),
    cast: &Cast,
) -> Result<bool> {
    if let (Value::Tuple(given), DataType::Tuple(given_as)) = (given, given_as)
        && let (Value::Tuple(of_key), DataType::Tuple(types)) = (of_key, ty)
    {
        for (i, (given, given_as)) in given.iter().zip(given_as.iter()).enumerate() {
            if !is_exact((given, &given_as.ty), (&of_key[i], &types[i].ty), cast)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let key = ty.bare();
    if given_as.bare().is_string() && key.is_integer() {
        let wide = cast(&Column::of_value(given, given_as, 1)?, given_as, &DataType::Int256)?;
        return Ok(of_key.compare(&wide.value(0)).is_eq());
    }
    Ok(match given_as.bare().is_number() {
        true if key.is_number() => of_key.compare(given).is_eq(),
        true if *key == DataType::Date => given.as_u64().is_some_and(|days| days <= u16::MAX.into()),
        _ => true,
    })
}

fn is_tuple(ty: &DataType) -> bool {
    matches!(ty, DataType::Tuple(_))
}

/// As [`wanted`], where a part may be meant in place of a partition, and all partitions.
pub(super) fn wanted_parts(
    table: &MergeTree,
    part: bool,
    written: &ast::Partition,
    ctx: &QueryContext,
) -> Result<Wanted> {
    match (part, written) {
        (true, _) => part_wanted(written, ctx),
        (false, ast::Partition::All) => Ok(Wanted::All),
        (false, _) => wanted(table, written, ctx),
    }
}

fn part_wanted(written: &ast::Partition, ctx: &QueryContext) -> Result<Wanted> {
    let (ast::Partition::Value(expr) | ast::Partition::Id(expr)) = written else {
        bail!(BAD_ARGUMENTS, "A part is named by a string")
    };
    let value = bind_constant(expr, ctx, &ctx.ids)?.value();
    let name = value.as_str().unwrap_or_default();
    ensure!(
        PartInfo::is_name(name),
        BAD_DATA_PART_NAME,
        "Unexpected part name: {name} for format version: 1"
    );
    Ok(Wanted::Part(name.to_string()))
}

/// DROP PARTITION and DROP PART, or with `keep_aside` DETACH PARTITION and DETACH PART.
pub(super) fn remove(
    name: &ast::ObjectName,
    part: bool,
    partition: &ast::Partition,
    keep_aside: bool,
    ctx: &QueryContext,
) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let table = merge_tree(&*table)?;
    let wanted = wanted_parts(table, part, partition, ctx)?;
    let check = || ctx.control.check_with_interrupt();
    let removed = table.remove_parts(|info| wanted.has(info), keep_aside, &check)?;
    if let (Wanted::Part(name), 0) = (&wanted, removed) {
        bail!(NO_SUCH_DATA_PART, "No part {name} in committed state");
    }
    Ok(())
}

/// FORGET PARTITION is of replicated tables, which there are none of; what is wrong with the partition is said first.
pub(super) fn forget(name: &ast::ObjectName, partition: &ast::Partition, ctx: &QueryContext) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let merge_tree = merge_tree(&*table)?;
    let wanted = wanted(merge_tree, partition, ctx)?;
    let state = merge_tree.parts().snapshot()?;
    if let Some(part) = state.parts.iter().find(|part| wanted.has(&part.info)) {
        bail!(CANNOT_FORGET_PARTITION, "Partition {} is not empty", part.info.partition.id)
    }
    bail!(NOT_IMPLEMENTED, "FORGET PARTITION is not supported by storage {}", table.engine())
}

/// FETCH PARTITION is of replicated tables, which there are none of; what is wrong with the partition is said first.
pub(super) fn fetch(
    name: &ast::ObjectName,
    part: bool,
    partition: &ast::Partition,
    ctx: &QueryContext,
) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let merge_tree = merge_tree(&*table)?;
    ensure!(
        !matches!(partition, ast::Partition::All),
        SUPPORT_IS_DISABLED,
        "Only support DROP/DETACH/ATTACH PARTITION ALL currently"
    );
    if !part {
        wanted(merge_tree, partition, ctx)?;
    }
    bail!(NOT_IMPLEMENTED, "FETCH PARTITION is not supported by storage {}", table.engine())
}

/// What becomes of the partition that is there, and of the one that is copied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Copy {
    Attach,
    Replace,
    Move,
}

/// ATTACH PARTITION FROM, REPLACE PARTITION FROM, MOVE PARTITION TO TABLE.
pub(super) fn copy(
    to: &ast::ObjectName,
    partition: &ast::Partition,
    from: &ast::ObjectName,
    how: Copy,
    ctx: &QueryContext,
) -> Result<()> {
    ensure!(
        how == Copy::Attach || !matches!(partition, ast::Partition::All),
        SUPPORT_IS_DISABLED,
        "Only support DROP/DETACH/ATTACH PARTITION ALL currently"
    );
    let (target, source) = (existing(to, ctx)?.0, existing(from, ctx)?.0);
    let (target, source) = (merge_tree(&*target)?, merge_tree(&*source)?);
    // As a partition of the table that is altered.
    let altered = if how == Copy::Move { source } else { target };
    let wanted = wanted_parts(altered, false, partition, ctx)?;
    check_alike(target, source)?;
    let check = || ctx.control.check_with_interrupt();
    if how != Copy::Attach && Arc::ptr_eq(target.parts(), source.parts()) {
        // It is there already.
        let has_rows = source.parts().snapshot()?.parts.iter().any(|part| wanted.has(&part.info));
        return check_source(how, has_rows, partition, ctx);
    }
    let (source_claim, parts) = source.parts().claim_all(|info| wanted.has(info), &check)?;
    check_source(how, !parts.is_empty(), partition, ctx)?;
    let mut change = Change::default();
    for part in &parts {
        change.added.extend(copied(target, source, part, ctx)?);
    }
    let _target_claim = match how {
        Copy::Replace => {
            let (claim, _) = target.parts().claim_all(|info| wanted.has(info), &check)?;
            change.removed = claim.numbers().to_vec();
            Some(claim)
        }
        Copy::Attach | Copy::Move => None,
    };
    if change.removed.is_empty() && change.added.is_empty() {
        return Ok(());
    }
    let added: Vec<u64> = change.added.iter().map(|part| part.info.number).collect();
    target.parts().commit(change)?;
    match how {
        Copy::Move => {
            let removed = source_claim.numbers().to_vec();
            source.parts().commit(Change { removed, is_move: true, ..Change::default() }).inspect_err(|_| {
                // Where nothing can be written any more the rows are in both tables.
                let _ = target.parts().commit(Change { removed: added, ..Change::default() });
            })
        }
        Copy::Attach | Copy::Replace => Ok(()),
    }
}

/// Fails where REPLACE PARTITION would do no more than drop a partition.
fn check_source(how: Copy, has_rows: bool, partition: &ast::Partition, ctx: &QueryContext) -> Result<()> {
    let shown = match partition {
        ast::Partition::All => String::new(),
        ast::Partition::Id(expr) | ast::Partition::Value(expr) => expr.to_string(),
    };
    let takes_none = ctx.state.settings.flag("allow_replace_partition_from_empty_source") == Some(true);
    ensure!(
        how != Copy::Replace || has_rows || takes_none,
        BAD_ARGUMENTS,
        "The source table has no parts in partition {shown}: refusing `REPLACE PARTITION` because it would silently drop the \
         destination partition's data. Set `allow_replace_partition_from_empty_source = 1` to replace it with nothing"
    );
    Ok(())
}

/// CLONE AS: all rows of a table in another that is new.
pub(crate) fn clone_rows(target: &dyn Table, source: &dyn Table, ctx: &QueryContext) -> Result<()> {
    let family = |table: &dyn Table, word: &str| {
        table.as_any().downcast_ref::<MergeTree>().cloned().ok_or_else(|| {
            err!(SUPPORT_IS_DISABLED, "Only support CLONE AS {word} tables of the MergeTree family")
        })
    };
    let (source, target) = (family(source, "from")?, family(target, "with")?);
    check_alike(&target, &source)?;
    let mut change = Change::default();
    for part in &source.parts().snapshot()?.parts {
        ctx.control.check_with_interrupt()?;
        change.added.extend(copied(&target, &source, part, ctx)?);
    }
    if change.added.is_empty() { Ok(()) } else { target.parts().commit(change) }
}

/// The rows of a part as one of another table.
pub(crate) fn copied(
    target: &MergeTree,
    source: &MergeTree,
    part: &Arc<Part>,
    ctx: &QueryContext,
) -> Result<Option<Arc<Part>>> {
    let mut out = target.rewrite_part(part.info.partition.clone(), skip_indexes::programs(target, ctx)?);
    let (from, to) = (source.schema(), target.schema());
    let place = |column: &ColumnSchema| {
        let found = from.stored().position(|known| known.name == column.name);
        found.ok_or_else(|| err!(LOGICAL_ERROR, "Column {} is not in the other table", column.name))
    };
    let places = to.stored().map(place).collect::<Result<Vec<_>>>()?;
    let mut rows = open_part(source, part, 1)?;
    while let Some(morsel) = rows.next()? {
        ctx.control.check_with_interrupt()?;
        let columns = places.iter().map(|&at| morsel.block.column(at).clone()).collect();
        out.write(Block::new(columns, morsel.block.n_rows()))?;
    }
    let made = out.finish(Lineage::default())?;
    if let Some(part) = &made {
        write::complete(target, part, &programs(target, ctx)?, ctx)?;
    }
    Ok(made)
}

/// MOVE PARTITION TO DISK and TO VOLUME: there is one disk, and everything is on it.
pub(super) fn move_to_disk(
    name: &ast::ObjectName,
    partition: &ast::Partition,
    volume: bool,
    target: &[u8],
    ctx: &QueryContext,
) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let wanted = wanted(merge_tree(&*table)?, partition, ctx)?;
    let (what, target) = (if volume { "volume" } else { "disk" }, String::from_utf8_lossy(target));
    ensure!(
        target == "default" || volume,
        UNKNOWN_DISK,
        "No such {what} `{target}` in storage policy `default`"
    );
    ensure!(target == "default", UNKNOWN_VOLUME, "No such {what} `{target}` in storage policy `default`");
    let shown = if let Wanted::Partition(id) = &wanted { id } else { "all" };
    bail!(UNKNOWN_DISK, "All parts of partition '{shown}' are already on {what} '{target}'")
}

fn check_alike(a: &MergeTree, b: &MergeTree) -> Result<()> {
    let stored = |table: &MergeTree| -> Vec<(Arc<str>, DataType)> {
        let schema = table.schema();
        let mut columns: Vec<_> = schema.stored().map(|c| (c.name.clone(), c.ty.clone())).collect();
        // Their order is each table's own.
        columns.sort_by(|a, b| a.0.cmp(&b.0));
        columns
    };
    ensure!(stored(a) == stored(b), INCOMPATIBLE_COLUMNS, "Tables have different structure");
    let (a, b) = (&a.definition().keys, &b.definition().keys);
    ensure!(a.partition == b.partition, BAD_ARGUMENTS, "Tables have different partition key");
    ensure!(a.sorting == b.sorting, BAD_ARGUMENTS, "Tables have different ordering");
    ensure!(a.n_primary == b.n_primary, BAD_ARGUMENTS, "Tables have different primary key");
    Ok(())
}
