//! What declarations of columns are refused for beside their types: modifiers, statistics, collations, defaults in circles.

use crate::query_context::QueryContext;
use chalet_base::{Result, bail, ensure};
use chalet_storage::{ColumnSchema, DefaultKind};
use chalet_syntax::ast::{self, Expr, ExprKind};
use chalet_syntax::visit::walk;
use chalet_types::DataType;
use std::collections::HashMap;
use std::sync::Arc;

/// The type that a column gets from its modifier, its default and the settings.
pub(crate) fn with_modifiers(def: &ast::ColumnDef, ty: DataType, ctx: &QueryContext) -> Result<DataType> {
    let settings = &ctx.state.settings;
    if def.collate.is_some() {
        ensure!(
            settings.flag("compatibility_ignore_collation_in_create_table") != Some(false),
            NOT_IMPLEMENTED,
            "Cannot support collation, please set compatibility_ignore_collation_in_create_table=true"
        );
    }
    ensure!(
        def.nullable.is_none() || !matches!(ty, DataType::Nullable(_)),
        ILLEGAL_SYNTAX_FOR_DATA_TYPE,
        "Can't use [NOT] NULL modifier with Nullable type"
    );
    let by_setting = def.nullable.is_none()
        && !ty.is_nullable()
        && settings.flag("data_type_default_nullable") == Some(true);
    if def.nullable == Some(true) || by_setting {
        let inside = !matches!(
            ty,
            DataType::Array(_)
                | DataType::Map(..)
                | DataType::LowCardinality(_)
                | DataType::Variant(_)
                | DataType::Dynamic(_)
        );
        ensure!(inside, ILLEGAL_TYPE_OF_ARGUMENT, "Nested type {ty} cannot be inside Nullable type");
        return Ok(ty.nullable());
    }
    // DEFAULT NULL makes it Nullable, where nothing says otherwise.
    let is_null = def.nullable.is_none()
        && def.default.as_ref().is_some_and(|default| {
            let null = default
                .expr
                .as_ref()
                .is_some_and(|e| matches!(e.kind, ExprKind::Literal(ast::Literal::Null)));
            null && default.kind == ast::DefaultKind::Default
        });
    let is_simple = ty.can_be_nullable() && !matches!(ty, DataType::Tuple(_) | DataType::Json(_));
    Ok(if is_null && is_simple { ty.nullable() } else { ty })
}

/// Types that are refused unless a setting allows them.
pub(crate) fn check_type(ty: &DataType, ctx: &QueryContext) -> Result<()> {
    if ctx.state.settings.flag("allow_suspicious_fixed_string_types") != Some(true) {
        ty.check_long_fixed_strings()?;
    }
    let settings = &ctx.state.settings;
    if settings.flag("enable_nullable_tuple_type") == Some(false)
        && let DataType::Nullable(inner) = ty
        && matches!(**inner, DataType::Tuple(_))
    {
        bail!(
            ILLEGAL_COLUMN,
            "Cannot create column with type '{ty}' because Nullable Tuple type is not allowed. Set setting \
             enable_nullable_tuple_type = 1 in order to allow it"
        );
    }
    Ok(())
}

/// Kinds of statistics that columns may ask for.
const KINDS: [&str; 6] = ["basic", "countmin", "minmax", "tdigest", "uniq", "uniq_v2"];

/// Checks STATISTICS(...) of a column.
pub(crate) fn check_statistics(def: &ast::ColumnDef, ty: &DataType, ctx: &QueryContext) -> Result<()> {
    let mut seen: Vec<String> = Vec::new();
    for kind in &def.statistics {
        let name = statistics_kind(kind)?;
        ensure!(
            !seen.contains(&name),
            INCORRECT_QUERY,
            "Column {} already contains statistics type {name}",
            def.name.name
        );
        ensure!(name != "countmin", INCORRECT_QUERY, "Unknown statistic type 'CountMinSketch'");
        let inner = ty.bare();
        let is_number = !inner.is_string() && inner.physical().width().is_some() && *inner != DataType::Uuid;
        let fits = match &*name {
            "tdigest" => is_number && *inner != DataType::IPv4,
            "minmax" => is_number,
            _ => !matches!(
                inner,
                DataType::Array(_)
                    | DataType::Map(..)
                    | DataType::Tuple(_)
                    | DataType::Json(_)
                    | DataType::Variant(_)
                    | DataType::Dynamic(_)
                    | DataType::Uuid
                    | DataType::IPv6
            ),
        };
        let shown = match &*name {
            "tdigest" => "TDigest",
            "minmax" => "MinMax",
            "uniq" => "Uniq",
            other => other,
        };
        ensure!(
            fits,
            ILLEGAL_STATISTICS,
            "Statistics of type '{shown}' does not support data type type {ty}"
        );
        seen.push(name);
    }
    let settings = &ctx.state.settings;
    let allowed = ["allow_statistics", "allow_experimental_statistics"];
    ensure!(
        seen.is_empty() || !allowed.iter().any(|name| settings.flag(name) == Some(false)),
        INCORRECT_QUERY,
        "Create table with statistics is disabled. Turn on allow_statistics"
    );
    Ok(())
}

/// The kinds of statistics that a column asks for, as SHOW CREATE prints them.
pub(crate) fn statistics(def: &ast::ColumnDef) -> Result<Arc<str>> {
    let kinds = def.statistics.iter().map(statistics_kind).collect::<Result<Vec<_>>>()?;
    let is_stored = !matches!(
        def.default.as_ref().map(|default| &default.kind),
        Some(ast::DefaultKind::Alias | ast::DefaultKind::Ephemeral)
    );
    ensure!(
        kinds.is_empty() || is_stored,
        ILLEGAL_STATISTICS,
        "Cannot add statistics to column '{}': it is not physically stored",
        def.name.name
    );
    Ok(listed_statistics(&kinds))
}

/// Kinds of statistics in the order of the kernel.
pub(crate) fn listed_statistics(kinds: &[String]) -> Arc<str> {
    let order = ["tdigest", "uniq", "countmin", "minmax", "basic", "uniq_v2"];
    let listed = order.iter().filter(|kind| kinds.iter().any(|known| known == *kind));
    listed.copied().collect::<Vec<_>>().join(", ").into()
}

/// The settings of a column, as SHOW CREATE prints them.
pub(crate) fn settings(settings: &[ast::Setting]) -> Arc<str> {
    let shown = |setting: &ast::Setting| match &setting.value {
        ast::SettingValue::Expr(value) => format!("{} = {value}", setting.name.name),
        ast::SettingValue::Default => format!("{} = DEFAULT", setting.name.name),
    };
    let mut shown: Vec<String> = settings.iter().map(shown).collect();
    shown.sort();
    shown.join(", ").into()
}

/// The kind that `tdigest` or `tdigest(...)` names.
pub(crate) fn statistics_kind(written: &Expr) -> Result<String> {
    let name = match &written.kind {
        ExprKind::Identifier(parts) => parts.last().map_or("", |part| &part.name),
        ExprKind::Call(call) => &call.name,
        _ => "",
    };
    ensure!(
        KINDS.contains(&name.to_ascii_lowercase().as_str()),
        INCORRECT_QUERY,
        "Unknown statistics type: {name}. Supported statistics types are 'basic', 'countmin', 'minmax', 'tdigest', 'uniq' and \
         'uniq_v2'"
    );
    Ok(name.to_ascii_lowercase())
}

/// Fails where defaults use one another in a circle.
pub(crate) fn check_circles(defs: &[ast::ColumnDef]) -> Result<()> {
    let with_default: HashMap<&str, &Expr> = defs
        .iter()
        .filter_map(|def| Some((def.name.name.as_str(), &**def.default.as_ref()?.expr.as_ref()?)))
        .collect();
    let mut done: HashMap<&str, bool> = HashMap::new();
    for def in defs {
        let name = def.name.name.as_str();
        if with_default.contains_key(name) {
            visit(name, &with_default, &mut done, &mut Vec::new())?;
        }
    }
    Ok(())
}

/// Deeper chains of defaults than this are left to what computes them.
const DEEPEST: usize = 500;

fn visit<'a>(
    name: &'a str,
    defaults: &HashMap<&'a str, &'a Expr>,
    done: &mut HashMap<&'a str, bool>,
    path: &mut Vec<&'a str>,
) -> Result<()> {
    if let Some(start) = path.iter().position(|seen| *seen == name) {
        let mut circle: Vec<&str> = path[start..].to_vec();
        circle.push(name);
        bail!(
            CYCLIC_ALIASES,
            "Cyclic alias detected in column DEFAULT expressions: {}: default expression and column type are incompatible",
            circle.join(" -> ")
        );
    }
    if done.contains_key(name) || path.len() >= DEEPEST {
        return Ok(());
    }
    let Some(expr) = defaults.get(name) else { return Ok(()) };
    path.push(name);
    let mut used: Vec<&str> = Vec::new();
    walk(expr, &mut |e| {
        match &e.kind {
            ExprKind::Identifier(parts) => used.extend(parts.first().map(|part| part.name.as_str())),
            // Its parameters hide columns.
            ExprKind::Lambda { .. } => return false,
            _ => {}
        }
        true
    });
    for other in used {
        if defaults.contains_key(other) {
            visit(other, defaults, done, path)?;
        }
    }
    path.pop();
    done.insert(name, true);
    Ok(())
}

/// Fails where a default has an asterisk.
pub(crate) fn check_matchers(expr: &Expr) -> Result<()> {
    let mut found = false;
    let mut has_query = false;
    walk(expr, &mut |e| {
        has_query |= matches!(e.kind, ExprKind::Subquery(_) | ExprKind::Exists(_));
        found |= matches!(e.kind, ExprKind::QualifiedStar { .. } | ExprKind::Columns { .. });
        if let ExprKind::Call(call) = &e.kind {
            // That of count(*) means no columns.
            found |= call.args.len() > 1 && call.args.iter().any(|arg| matches!(arg.kind, ExprKind::Star(_)));
        }
        true
    });
    ensure!(
        !has_query,
        THERE_IS_NO_DEFAULT_VALUE,
        "Select query is not allowed in columns DEFAULT expression"
    );
    ensure!(
        !found && !matches!(expr.kind, ExprKind::Star(_)),
        UNKNOWN_IDENTIFIER,
        "Matcher (e.g. asterisk '*' or COLUMNS expression) is not allowed in column DEFAULT expression. Use explicit column names \
         instead: default expression and column type are incompatible"
    );
    Ok(())
}

/// Fails for a type without values.
pub(crate) fn check_usable(column: &ColumnSchema) -> Result<()> {
    let mut inner = column.ty.bare();
    while let DataType::Array(next) = inner {
        inner = next.bare();
    }
    ensure!(
        *inner != DataType::Nothing,
        DATA_TYPE_CANNOT_BE_USED_IN_TABLES,
        "Data type {} of column '{}' cannot be used in tables",
        column.ty,
        column.name
    );
    Ok(())
}

/// Fails where a table has nothing to store, or nothing that rows could be inserted into.
pub(crate) fn check_stored(columns: &[ColumnSchema]) -> Result<()> {
    let kind = |column: &ColumnSchema| column.default.as_ref().map(|(kind, _)| *kind);
    let mut physical =
        columns.iter().filter(|c| !matches!(kind(c), Some(DefaultKind::Alias | DefaultKind::Ephemeral)));
    ensure!(
        physical.next().is_some(),
        EMPTY_LIST_OF_COLUMNS_PASSED,
        "Cannot CREATE table without physical columns"
    );
    let mut insertable =
        columns.iter().filter(|c| !matches!(kind(c), Some(DefaultKind::Alias | DefaultKind::Materialized)));
    ensure!(
        insertable.next().is_some(),
        EMPTY_LIST_OF_COLUMNS_PASSED,
        "Cannot CREATE table without insertable columns"
    );
    Ok(())
}

/// Names that tables of the MergeTree family keep for themselves.
const RESERVED: [&str; 3] = ["_row_exists", "_block_number", "_block_offset"];

/// Is the name one of a column that tables of the MergeTree family write themselves?
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}
