//! ENGINE = MergeTree: its keys, checked as the kernel checks them, and its settings.

use super::columns::{declared_schema, stored_schema};
use super::engine::{Engine, Found, New};
use super::merge_tree_settings::MergeTreeSettings;
use super::{old_syntax, projection, row_merging, sampling, skip_index, ttl};
use crate::column_checks::{check_statistics, check_usable, is_reserved};
use crate::formats::FORMATS;
use crate::implicit_indexes;
use crate::merge_tree::part_defaults::PartDefaults;
use crate::query_context::QueryContext;
use crate::reading::detached_caster;
use crate::stored_columns::{bind_stored, check_rows_stay, validate};
use crate::tables;
use crate::written_keys::written_keys;
use chalet_base::{Result, bail, ensure, err};
use chalet_function_api::Volatility;
use chalet_plan::Expr;
use chalet_storage::merge_tree::{MergeTree, SortingKey, TableKeys};
use chalet_storage::{Table, TableSchema};
use chalet_syntax::ast::{self, CreateSource, ExprKind};
use chalet_syntax::print::bare_expr;
use chalet_types::DataType;
use std::collections::HashSet;
use std::sync::Arc;

/// Of the files that keep rows.
const PART_FORMAT: &str = "Parquet";
const NULLABLE_KEY: &str = "allow_nullable_key";

/// An engine of the family, without its name.
pub(super) const FAMILY: Engine =
    Engine { takes_keys: true, takes_arguments: true, create, open, ..super::log::LOG };

pub(super) fn create(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let definition = &new.create.definition;
    let mut schema = declared_schema(new.create, new.ctx)?;
    if let (true, Some(CreateSource::Table { name, .. })) =
        (definition.columns.is_empty(), &new.create.source)
    {
        let of_other = tables::existing(name, new.ctx)?.0.schema();
        schema.columns = of_other.columns.iter().filter(|column| !column.is_virtual).cloned().collect();
        schema.indexes = of_other.indexes.iter().filter(|index| !index.is_implicit).cloned().collect();
        schema.projections = of_other.projections;
    }
    skip_index::check_expressions(&schema, new.ctx)?;
    projection::check(&schema, new.ctx)?;
    validate(&schema, new.ctx)?;
    let has_clauses = !definition.indexes.is_empty() || !definition.projections.is_empty();
    let old = if has_clauses { None } else { old_syntax::with_clauses(new.storage)? };
    let written = old.as_ref().unwrap_or(new.storage);
    let is_old_allowed = new.ctx.state.settings.flag("allow_deprecated_syntax_for_merge_tree");
    ensure!(
        old.is_none() || is_old_allowed == Some(true),
        BAD_ARGUMENTS,
        "This syntax for *MergeTree engine is deprecated. Use extended storage definition syntax with ORDER BY/PRIMARY KEY \
         clause. See also `allow_deprecated_syntax_for_merge_tree` setting"
    );
    if let Some(column) = schema.columns.iter().find(|c| is_reserved(&c.name)) {
        bail!(
            ILLEGAL_COLUMN,
            "Cannot create table with column '{}' for MergeTree engines because it is reserved for persistent virtual column",
            column.name
        );
    }
    row_merging::of(new.engine.name, row_merging::arguments(written))?;
    let primary = primary_key(definition, written)?;
    // Expressions that cannot be bound come before how they stand to each other.
    let parts = primary.as_ref().map(Primary::parts).unwrap_or_default();
    let of_primary = parts.iter().map(String::as_str);
    let mut keys = keys_of(primary.as_ref(), written).or_else(|error| {
        bind_stored(of_primary, &schema, new.ctx)?;
        Err(error)
    })?;
    let settings = MergeTreeSettings::of(&written.settings, new.ctx)?;
    let implicit = settings.of_table.implicit_indexes;
    if let Some(index) = schema.indexes.iter().find(|i| implicit_indexes::is_reserved(&i.name, implicit)) {
        bail!(BAD_ARGUMENTS, "Cannot create table because index {} uses a reserved index name", index.name);
    }
    schema.indexes = implicit_indexes::added(&schema.indexes, &schema.columns, implicit);
    // Of several mistakes the kernel tells the one that it comes to first: expressions, indexes, statistics, keys, columns of keys.
    let sampling = (!keys.sampling.is_empty()).then_some(&*keys.sampling);
    bind_stored(keys.all().map(|(text, _)| text).chain(sampling), &schema, new.ctx)?;
    ttl::check(&keys, &schema, new.ctx)?;
    skip_index::check(&schema, new.ctx)?;
    for column in &definition.columns {
        if let Some(declared) = schema.columns.iter().find(|known| *known.name == column.name.name) {
            check_statistics(column, &declared.ty, new.ctx)?;
        }
    }
    schema.stored().try_for_each(check_usable)?;
    check_keys(&keys, &settings, &schema, new.ctx)?;
    if let Some(version) =
        row_merging::version_in_key(new.engine.name, row_merging::arguments(written), &schema)?
    {
        check_expression("Sorting", &version, settings.nullable_key, &schema, new.ctx)?;
    }
    if let Some(sample_by) = &written.sample_by {
        sampling::check(sample_by, &keys, &settings, &schema, new.ctx)?;
    }
    ttl::check_columns(&keys, &schema, new.ctx)?;
    let merging = row_merging::checked(new.engine.name, row_merging::arguments(written), &schema)?;
    ensure!(
        schema.projections.is_empty() || merging.is_none() || settings.merges_projections,
        SUPPORT_IS_DISABLED,
        "Projections are not supported for {} with deduplicate_merge_projection_mode = throw. Please set setting \
         'deduplicate_merge_projection_mode' to 'drop' or 'rebuild'",
        new.engine.name
    );
    let engine = row_merging::shown(new.engine.name, row_merging::arguments(new.storage));
    let shown = match old {
        // As it was written: the arguments say it all.
        Some(_) => engine,
        None => shown(engine, &keys, primary.as_ref(), written, &settings, new.create.temporary),
    };
    row_merging::set(&mut keys, merging, settings.cleanup);
    row_merging::check_columns(&keys, &schema, new.ctx)?;
    ttl::check_places(&keys)?;
    let folder = new.store.map(|store| store.new_folder()).transpose()?;
    Ok((
        Arc::new(MergeTree::create(
            keys,
            settings.of_table,
            schema,
            folder,
            FORMATS.get(PART_FORMAT)?,
            (detached_caster(new.ctx), PartDefaults::new(new.ctx)),
        )?),
        shown,
    ))
}

pub(super) fn open(engine: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let old = old_syntax::with_clauses(&found.create.storage)?;
    let written = old.as_ref().unwrap_or(&found.create.storage);
    let mut keys = keys_of(written.primary_key.clone().map(Primary::Clause).as_ref(), written)?;
    let settings = MergeTreeSettings::of(&written.settings, found.ctx)?;
    let merging = row_merging::of(engine.name, row_merging::arguments(written))?;
    row_merging::set(&mut keys, merging, settings.cleanup);
    let mut schema = stored_schema(&found.create.definition)?;
    let implicit = settings.of_table.implicit_indexes;
    schema.indexes = implicit_indexes::added(&schema.indexes, &schema.columns, implicit);
    let Some(folder) = found.folder else { bail!(CORRUPTED_DATA, "Table {} has no folder", found.name) };
    let (table, dropped) = MergeTree::open(
        keys,
        settings.of_table,
        schema,
        folder,
        FORMATS.get(PART_FORMAT)?,
        (detached_caster(found.ctx), PartDefaults::new(found.ctx)),
    )?;
    if dropped > 0 {
        found.warnings.push(format!(
            "Table {}: a change was not finished when the database was last written. Its {dropped} bytes were dropped",
            found.name
        ));
    }
    Ok(Arc::new(table))
}

/// The primary key as it stands in a statement.
enum Primary {
    Clause(ast::Expr),
    /// Of columns that say so themselves.
    Columns(Vec<String>),
}

impl Primary {
    fn parts(&self) -> Vec<String> {
        match self {
            Primary::Columns(names) => names.clone(),
            Primary::Clause(expr) => match &expr.kind {
                ExprKind::Call(call) if call.name == "tuple" => call.args.iter().map(bare_expr).collect(),
                _ => vec![bare_expr(expr)],
            },
        }
    }

    fn shown(&self) -> String {
        match self {
            Primary::Columns(names) if names.len() > 1 => format!("({})", names.join(", ")),
            Primary::Columns(names) => format!("tuple({})", names.join(", ")),
            Primary::Clause(_) if self.parts().is_empty() => "tuple()".into(),
            Primary::Clause(expr) => expr.to_string(),
        }
    }
}

fn primary_key(definition: &ast::TableDefinition, written: &ast::Storage) -> Result<Option<Primary>> {
    let columns = definition.columns.iter().filter(|column| column.primary_key);
    let columns: Vec<String> = columns.map(|c| chalet_storage::catalog::quoted(&c.name.name)).collect();
    let clauses = [&definition.primary_key, &written.primary_key];
    let given = clauses.iter().filter(|clause| clause.is_some()).count() + usize::from(!columns.is_empty());
    ensure!(given <= 1, BAD_ARGUMENTS, "Multiple primary keys are not allowed");
    let clause = clauses.into_iter().flatten().next().cloned().map(Primary::Clause);
    Ok(clause.or((!columns.is_empty()).then_some(Primary::Columns(columns))))
}

fn keys_of(primary: Option<&Primary>, written: &ast::Storage) -> Result<TableKeys> {
    let primary = primary.map(Primary::parts);
    let ascending = |expr: &String| SortingKey { expr: expr.as_str().into(), descending: false };
    let sorting: Vec<SortingKey> = match &written.order_by {
        Some(items) => sorting_keys(items),
        None => primary.iter().flatten().map(ascending).collect(),
    };
    let n_primary = primary.as_ref().map_or(sorting.len(), Vec::len);
    ensure!(
        n_primary <= sorting.len(),
        BAD_ARGUMENTS,
        "Primary key must be a prefix of the sorting key, but its length: {n_primary} is greater than the sorting key \
         length: {}",
        sorting.len()
    );
    for (i, (key, primary)) in sorting.iter().zip(primary.iter().flatten()).enumerate() {
        ensure!(
            *key.expr == **primary,
            BAD_ARGUMENTS,
            "Primary key must be a prefix of the sorting key, but the column in the position {i} is {}, not {primary}",
            key.expr
        );
    }
    let partition = written.partition_by.as_ref().map_or(String::new(), bare_expr);
    let sampling = written.sample_by.as_ref().map_or(String::new(), bare_expr);
    Ok(TableKeys {
        partition: partition.into(),
        sorting,
        n_primary,
        sampling: sampling.into(),
        ttl: crate::merge_tree::ttl::shown(&written.ttl).into(),
        ..TableKeys::default()
    })
}

/// The keys of ORDER BY as a table has them.
pub(crate) fn sorting_keys(items: &[ast::OrderItem]) -> Vec<SortingKey> {
    let key = |(expr, descending)| SortingKey { expr: bare_expr(expr).into(), descending };
    written_keys(items).into_iter().map(key).collect()
}

/// Fails where the keys are none for a table with these settings.
pub(crate) fn check_keys(
    keys: &TableKeys,
    settings: &MergeTreeSettings,
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<()> {
    let nullable_key = settings.nullable_key;
    for (i, key) in keys.sorting.iter().enumerate() {
        let twice = keys.sorting[..i].iter().any(|before| before.expr == key.expr);
        ensure!(!twice, BAD_ARGUMENTS, "The sorting key has {} twice", key.expr);
        check_expression("Sorting", &key.expr, nullable_key, schema, ctx)?;
    }
    if keys.partition.is_empty() {
        return Ok(());
    }
    let bound = check_expression("Partition", &keys.partition, nullable_key, schema, ctx)?;
    let is_float = |ty: &DataType| ty.bare().is_float();
    let has_float = match bound.ty() {
        DataType::Tuple(fields) => fields.iter().any(|field| is_float(&field.ty)),
        ty => is_float(ty),
    };
    ensure!(
        !has_float || settings.float_partition_key,
        BAD_ARGUMENTS,
        "Floating point partition key is not supported: {}",
        keys.partition
    );
    Ok(())
}

fn check_expression(
    which: &str,
    text: &str,
    nullable_key: bool,
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<Expr> {
    let mut has_subquery = false;
    let written = chalet_syntax::parse_expression(text)?;
    chalet_syntax::visit::walk(&written, &mut |e| {
        has_subquery |= matches!(e.kind, ExprKind::Subquery(_) | ExprKind::Exists(_));
        !has_subquery
    });
    ensure!(!has_subquery, BAD_ARGUMENTS, "Key expressions cannot contain subqueries");
    let bound = bind_stored([text], schema, ctx)?.1.swap_remove(0);
    check_rows_stay(&written, || err!(ILLEGAL_COLUMN, "{which} key cannot contain array joins"))?;
    if let Some(part) = changing_part(text, ctx)? {
        bail!(
            BAD_ARGUMENTS,
            "Expression must be deterministic but it contains non-deterministic part `{part}`: for {which} key"
        );
    }
    // `PARTITION BY tuple()` is no partition.
    let is_empty = matches!(bound.ty(), DataType::Tuple(fields) if fields.is_empty());
    ensure!(is_empty || !bound.columns().is_empty(), ILLEGAL_COLUMN, "{which} key cannot contain constants");
    check_key_type(bound.ty())?;
    ensure!(
        bound.ty().is_ordered(),
        DATA_TYPE_CANNOT_BE_USED_IN_KEY,
        "Column `{text}` with type {} is not allowed in key expression, it's not comparable",
        bound.ty()
    );
    ensure!(
        nullable_key || !holds_null(bound.ty()),
        ILLEGAL_COLUMN,
        "{which} key contains nullable columns, but merge tree setting `{NULLABLE_KEY}` is disabled"
    );
    Ok(bound)
}

/// Fails for a type that no key has: its values are of several types.
pub(super) fn check_key_type(ty: &DataType) -> Result<()> {
    ensure!(
        !ty.contains_several_types(),
        DATA_TYPE_CANNOT_BE_USED_IN_KEY,
        "Column with type Variant/Dynamic/JSON is not allowed in key expression. Consider using a subcolumn with a specific data \
         type instead (for example 'column.Int64' or 'json.some.path.:Int64' if its a JSON path subcolumn) or casting this \
         column to a specific data type"
    );
    Ok(())
}

/// A call that may give something else another time.
pub(super) fn changing_part(text: &str, ctx: &QueryContext) -> Result<Option<String>> {
    let written = chalet_syntax::parse_expression(text)?;
    let mut found = None;
    chalet_syntax::visit::walk(&written, &mut |e| {
        if let ExprKind::Call(call) = &e.kind
            && let Some(function) = &ctx.registry.called(&call.name)
            && function.record().volatility != Volatility::Immutable
        {
            found = Some(e.to_string());
        }
        found.is_none()
    });
    Ok(found)
}

/// Whether NULL may stand anywhere in a value of the type.
fn holds_null(ty: &DataType) -> bool {
    ty.is_nullable()
        || match ty.bare() {
            DataType::Tuple(fields) => fields.iter().any(|field| holds_null(&field.ty)),
            inner => inner.element().is_some_and(|element| holds_null(&element)),
        }
}

/// The engine and its clauses as SHOW CREATE prints them.
fn shown(
    engine: String,
    keys: &TableKeys,
    primary: Option<&Primary>,
    written: &ast::Storage,
    settings: &MergeTreeSettings,
    temporary: bool,
) -> String {
    let mut out = engine;
    // Keys are kept without the parentheses that were written around them, but shown with them.
    if let Some(partition) = &written.partition_by {
        out += &format!("\nPARTITION BY {partition}");
    }
    if let Some(primary) = primary {
        out += &format!("\nPRIMARY KEY {}", primary.shown());
    }
    let sorting = match (&written.order_by, primary) {
        (None, Some(primary)) => primary.shown(),
        (Some(items), _) if is_descending_list(items) => format!("tuple({} DESC)", bare_expr(&items[0].expr)),
        (Some(items), _) => {
            let key = |item: &ast::OrderItem| SortingKey {
                expr: item.expr.to_string().into(),
                descending: item.descending,
            };
            sorting_key(&items.iter().map(key).collect::<Vec<_>>())
        }
        _ => sorting_key(&keys.sorting),
    };
    out += &format!("\nORDER BY {sorting}");
    if let Some(sampling) = &written.sample_by {
        out += &format!("\nSAMPLE BY {sampling}");
    }
    if !keys.ttl.is_empty() {
        out += &format!("\nTTL {}", keys.ttl);
    }
    // Temporary tables are shown without those that nobody gave.
    if !temporary || !written.settings.is_empty() {
        out += &settings.shown();
    }
    out
}

/// `(k DESC)`, which is shown apart from the same key without parentheses.
fn is_descending_list(items: &[ast::OrderItem]) -> bool {
    matches!(items, [one] if one.descending && one.expr.span.parenthesised)
}

pub(crate) fn sorting_key(keys: &[SortingKey]) -> String {
    let item = |key: &SortingKey| format!("{}{}", key.expr, if key.descending { " DESC" } else { "" });
    let items: Vec<String> = keys.iter().map(item).collect();
    match keys {
        [] => "tuple()".into(),
        [_] => items.concat(),
        _ if keys.iter().any(|key| key.descending) => format!("tuple({})", items.join(", ")),
        _ => format!("({})", items.join(", ")),
    }
}

/// The stored columns that expressions read.
pub(super) fn reads<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<HashSet<Arc<str>>> {
    let (fields, bound) = bind_stored(texts, schema, ctx)?;
    let read: Vec<_> = bound.iter().map(Expr::columns).collect();
    let is_read = |field: &&chalet_plan::Field| read.iter().any(|ids| ids.contains(&field.id));
    Ok(fields.iter().filter(is_read).map(|field| field.name.clone()).collect())
}
