//! Definitions from CREATE DICTIONARY: what is checked, and what each part means.

use super::definition::{Attribute, Definition, Ranges, Source};
use super::layout::{self, KeyKind, Layout};
use super::patterns;
use super::polygons::depth_of_key;
use crate::query_context::QueryContext;
use crate::written_settings::setting_text;
use chalet_base::{Error, Result, bail, codes, ensure, err};
use chalet_binder::table_columns::bind_constant;
use chalet_columns::{Column, Vector};
use chalet_functions::conversion::cast_column;
use chalet_storage::catalog::quoted;
use chalet_storage::{ColumnSchema, TableSchema};
use chalet_syntax::ast::{self, CallStyle, ExprKind, KeyValue, Literal};
use chalet_syntax::print::string_literal;
use chalet_types::{DataType, Value};

/// What a flat dictionary's keys are below, unless it says otherwise.
const MOST_FLAT_KEYS: u64 = 500_000;

/// Sources that are here.
pub(crate) const SOURCES: [&str; 3] = ["clickhouse", "file", "null"];

/// Sources of the kernel that are not here.
const OTHER_SOURCES: [&str; 14] = [
    "cassandra",
    "executable",
    "executable_pool",
    "http",
    "jdbc",
    "library",
    "mongodb",
    "mysql",
    "odbc",
    "postgresql",
    "redis",
    "s3",
    "yamlregexptree",
    "ytsaurus",
];

/// The statement as it is kept and shown: calls are computed, words are in upper case, passwords are hidden.
pub(crate) fn normalised(
    create: &ast::CreateDictionary,
    ctx: &QueryContext,
) -> Result<ast::CreateDictionary> {
    let mut made = create.clone();
    (made.attach, made.replace, made.if_not_exists, made.cluster) = (false, ast::Replace::No, false, None);
    for part in [&mut made.source, &mut made.layout].into_iter().flatten() {
        part.name = part.name.to_ascii_uppercase();
        pairs(&mut part.pairs, ctx)?;
    }
    Ok(made)
}

fn pairs(pairs: &mut [(String, KeyValue)], ctx: &QueryContext) -> Result<()> {
    for (key, value) in pairs {
        *key = key.to_ascii_uppercase();
        match value {
            KeyValue::Expr(expr) if key == "PASSWORD" => {
                expr.kind = ExprKind::Literal(Literal::String(b"[HIDDEN]".to_vec()));
            }
            KeyValue::Expr(expr) if matches!(&expr.kind, ExprKind::Call(call) if call.style == CallStyle::Function) =>
            {
                let literal = bind_constant(expr, ctx, &ctx.ids)?;
                expr.kind = ExprKind::Literal(match literal.value() {
                    Value::UInt(number) => Literal::UInt(number),
                    Value::Int(number) => Literal::Int(number),
                    value => Literal::String(setting_text(&value, &literal.ty).into_bytes()),
                });
            }
            KeyValue::Expr(_) => {}
            KeyValue::Nested(function) => self::pairs(&mut function.pairs, ctx)?,
            KeyValue::List(list) => self::pairs(list, ctx)?,
        }
    }
    Ok(())
}

/// The definition of a statement that [`normalised`] gave. `database` has the tables of its source that name none.
pub(crate) fn definition(
    create: &ast::CreateDictionary,
    database: &str,
    ctx: &QueryContext,
) -> Result<Definition> {
    ensure!(
        !create.primary_key.is_empty(),
        INCORRECT_DICTIONARY_DEFINITION,
        "Cannot create dictionary without primary key"
    );
    let empty =
        |what: &str| err!(INCORRECT_DICTIONARY_DEFINITION, "Cannot create dictionary with empty {what}");
    let layout_part = create.layout.as_ref().ok_or_else(|| empty("layout"))?;
    let layout = layout_of(layout_part)?;
    let is_direct = layout.reads_through && layout.keeps_duplicates;
    let lifetime = match &create.lifetime {
        Some(_) if is_direct => bail!(
            BAD_ARGUMENTS,
            "'lifetime' parameter is redundant for the dictionary of layout '{}'",
            layout.word
        ),
        None if !is_direct => return Err(empty("lifetime")),
        lifetime => lifetime.as_ref().map_or((0, 0), |lifetime| (lifetime.min, lifetime.max)),
    };
    create.attributes.iter().filter_map(|declared| declared.default.as_ref()).try_for_each(check_literal)?;
    let source_part = create.source.as_ref().ok_or_else(|| empty("source"))?;
    let columns = columns(create, layout)?;
    let attributes = attributes(create, layout, ctx)?;
    let source = match layout.keys {
        KeyKind::Pattern => source_of(source_part, create, &patterns::source_columns(), database, ctx)?,
        _ => source_of(source_part, create, &columns, database, ctx)?,
    };
    let source = match (check_keys(layout, &columns[..create.primary_key.len()]), source) {
        // As in the kernel, it is found out when it is loaded.
        (Err(error), _) => Source::Query { sql: Err(error), shown: String::new() },
        (Ok(()), source) => source,
    };
    let number = |key: &str| option(layout_part, key).and_then(|text| text.parse::<u64>().ok());
    Ok(Definition {
        schema: TableSchema::new(columns),
        n_keys: create.primary_key.len(),
        attributes,
        layout,
        ranges: Ranges {
            greatest: option(layout_part, "RANGE_LOOKUP_STRATEGY").as_deref() == Some("max"),
            null_is_open: number("CONVERT_NULL_RANGE_BOUND_TO_OPEN") != Some(0),
        },
        most_keys: number("MAX_ARRAY_SIZE").unwrap_or(MOST_FLAT_KEYS),
        // As the kernel does: a power of two.
        most_cells: number("SIZE_IN_CELLS").map_or(usize::MAX, |n| n.next_power_of_two() as usize),
        keeps_polygons: number("STORE_POLYGON_KEY_COLUMN") == Some(1),
        source,
        lifetime,
    })
}

/// The text of a part's setting.
fn option(part: &ast::KeyValueFunction, key: &str) -> Option<String> {
    let (_, value) = part.pairs.iter().find(|(known, _)| known.eq_ignore_ascii_case(key))?;
    let KeyValue::Expr(expr) = value else { return None };
    Some(match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => String::from_utf8_lossy(text).into_owned(),
        ExprKind::Literal(Literal::Bool(flag)) => u8::from(*flag).to_string(),
        ExprKind::Identifier(parts) => {
            parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".")
        }
        _ => expr.to_string(),
    })
}

fn layout_of(part: &ast::KeyValueFunction) -> Result<&'static Layout> {
    let word = part.name.to_ascii_lowercase();
    ensure!(
        !layout::OTHERS.contains(&word.as_str()),
        NOT_IMPLEMENTED,
        "Dictionary layout {word} is not supported"
    );
    let found = layout::layout(&word);
    found.ok_or_else(|| err!(UNKNOWN_ELEMENT_IN_CONFIG, "Unknown dictionary layout type: {word}"))
}

/// Keys of polygons and of regular expressions are one column of such a type.
fn check_keys(layout: &Layout, keys: &[ColumnSchema]) -> Result<()> {
    match layout.keys {
        KeyKind::Polygon => {
            ensure!(
                keys.len() == 1,
                BAD_ARGUMENTS,
                "The 'key' should consist of a single attribute for a polygon dictionary"
            );
            ensure!(
                depth_of_key(&keys[0].ty).is_some(),
                BAD_ARGUMENTS,
                "The key type {} is not one of the following allowed types for a polygon dictionary: \
                 Array(Array(Array(Array(Float64)))) Array(Array(Array(Tuple(Float64, Float64)))) Array(Array(Float64)) \
                 Array(Tuple(Float64, Float64)) ",
                keys[0].ty
            );
        }
        KeyKind::Pattern => ensure!(
            keys.len() == 1 && keys[0].ty == DataType::String,
            INCORRECT_DICTIONARY_DEFINITION,
            "dictionary regexp_tree should have one primary key with string value to represent regular expressions"
        ),
        _ => {}
    }
    Ok(())
}

fn attribute<'a>(create: &'a ast::CreateDictionary, name: &str) -> Option<&'a ast::DictionaryAttribute> {
    create.attributes.iter().find(|attribute| attribute.name.name == name)
}

/// Keys, bounds of ranges, attributes.
fn columns(create: &ast::CreateDictionary, layout: &Layout) -> Result<Vec<ColumnSchema>> {
    let keys = &create.primary_key;
    ensure!(
        !matches!(layout.keys, KeyKind::Simple | KeyKind::Prefix) || keys.len() == 1,
        INCORRECT_DICTIONARY_DEFINITION,
        "Primary key for simple dictionary must contain exactly one element"
    );
    let mut columns = Vec::with_capacity(create.attributes.len());
    for key in keys {
        let Some(declared) = attribute(create, &key.name) else {
            bail!(INCORRECT_DICTIONARY_DEFINITION, "Unknown key attribute '{}'", key.name);
        };
        let ty = match layout.keys {
            KeyKind::Simple => DataType::UInt64,
            KeyKind::Prefix => DataType::String,
            KeyKind::Complex | KeyKind::Pattern => declared.ty.text.parse()?,
            KeyKind::Polygon => {
                let ty = declared.ty.text.parse()?;
                ensure!(can_be_attribute(&ty), UNKNOWN_TYPE, "Unknown type {ty} for dictionary attribute");
                ty
            }
        };
        columns.push(ColumnSchema::new(key.name.as_str(), ty));
    }
    if layout.has_ranges {
        let Some((low, high)) = &create.range else {
            bail!(INCORRECT_DICTIONARY_DEFINITION, "Cannot create dictionary of this layout without range");
        };
        for bound in [low, high] {
            let Some(declared) = attribute(create, &bound.name) else {
                bail!(INCORRECT_DICTIONARY_DEFINITION, "Unknown range attribute '{}'", bound.name);
            };
            columns.push(ColumnSchema::new(bound.name.as_str(), declared.ty.text.parse()?));
        }
        let (low, high) = (&columns[keys.len()].ty, &columns[keys.len() + 1].ty);
        ensure!(
            low.without_nullable() == high.without_nullable() && low.bare().physical().width().is_some(),
            BAD_ARGUMENTS,
            "Dictionary structure 'range_min' and 'range_max' must have the same type which is represented by a number, \
             got {low} and {high}"
        );
    }
    for declared in own_attributes(create, layout) {
        columns.push(ColumnSchema::new(declared.name.name.as_str(), declared.ty.text.parse()?));
    }
    Ok(columns)
}

/// What is neither key nor bound.
fn own_attributes<'a>(
    create: &'a ast::CreateDictionary,
    layout: &'a Layout,
) -> impl Iterator<Item = &'a ast::DictionaryAttribute> {
    let is_bound = move |name: &str| {
        layout.has_ranges
            && create.range.as_ref().is_some_and(|(low, high)| low.name == name || high.name == name)
    };
    let is_key = |name: &str| create.primary_key.iter().any(|key| key.name == name);
    create.attributes.iter().filter(move |declared| {
        let name = declared.name.name.as_str();
        !is_key(name) && !is_bound(name)
    })
}

fn attributes(create: &ast::CreateDictionary, layout: &Layout, ctx: &QueryContext) -> Result<Vec<Attribute>> {
    let mut attributes = Vec::with_capacity(create.attributes.len());
    for declared in own_attributes(create, layout) {
        let name = &declared.name.name;
        let ty: DataType = declared.ty.text.parse()?;
        ensure!(can_be_attribute(&ty), UNKNOWN_TYPE, "Unknown type {ty} for dictionary attribute");
        if declared.hierarchical {
            ensure!(
                layout.keys == KeyKind::Simple && *ty.without_nullable() == DataType::UInt64,
                TYPE_MISMATCH,
                "Hierarchical attribute type for dictionary with simple key must be UInt64. Actual {ty}"
            );
        }
        let default = default_of(declared, &ty, ctx).map_err(|error| {
            let message =
                format!("{}: While parsing null_value for attribute with name {name}", error.message());
            let code = match error.code() {
                codes::CANNOT_PARSE_TEXT if ty.bare().is_number() => {
                    codes::UNEXPECTED_DATA_AFTER_PARSED_VALUE
                }
                code => code,
            };
            Error::new(code, message)
        })?;
        attributes.push(Attribute {
            name: name.as_str().into(),
            ty,
            default,
            is_hierarchical: declared.hierarchical && !layout.has_ranges,
        });
    }
    Ok(attributes)
}

fn can_be_attribute(ty: &DataType) -> bool {
    match ty {
        DataType::Nullable(inner) => can_be_attribute(inner),
        DataType::Array(_) | DataType::Map(..) | DataType::String => true,
        DataType::Uuid | DataType::IPv4 | DataType::IPv6 | DataType::Bool => true,
        ty => ty.is_number() || ty.is_date_or_time(),
    }
}

/// Defaults are literals, or arrays of literals.
fn check_literal(written: &ast::Expr) -> Result<()> {
    match &written.kind {
        ExprKind::Literal(_) => Ok(()),
        ExprKind::Call(call) if call.style != CallStyle::Function && call.name == "array" => {
            ensure!(
                !call.args.is_empty(),
                SYNTAX_ERROR,
                "The default of a dictionary's attribute is an empty array"
            );
            call.args.iter().try_for_each(check_literal)
        }
        _ => bail!(SYNTAX_ERROR, "The default of a dictionary's attribute must be a literal, not {written}"),
    }
}

/// The value of keys that are not there.
fn default_of(declared: &ast::DictionaryAttribute, ty: &DataType, ctx: &QueryContext) -> Result<Vector> {
    let Some(written) = &declared.default else { return Ok(Vector::defaults(ty, 1)) };
    let literal = match &written.kind {
        ExprKind::Literal(Literal::Null) if ty.is_nullable() => return Ok(Vector::defaults(ty, 1)),
        ExprKind::Literal(Literal::Null) => (Value::string("NULL"), DataType::String),
        _ => {
            let literal = bind_constant(written, ctx, &ctx.ids)?;
            (literal.value(), literal.ty)
        }
    };
    let column = Column::Flat(Vector::of_value(&literal.0, &literal.1)?);
    Ok(cast_column(&column, &literal.1, ty, &ctx.functions)?.into_flat())
}

fn source_of(
    part: &ast::KeyValueFunction,
    create: &ast::CreateDictionary,
    columns: &[ColumnSchema],
    database: &str,
    ctx: &QueryContext,
) -> Result<Source> {
    let name = part.name.to_ascii_lowercase();
    Ok(match name.as_str() {
        "null" => Source::Null,
        "clickhouse" => clickhouse(part, create, columns, database),
        "file" => {
            let (Some(path), Some(format)) = (option(part, "PATH"), option(part, "FORMAT")) else {
                bail!(BAD_ARGUMENTS, "The dictionary source file needs PATH and FORMAT");
            };
            // Whoever loads it may read other files than who declares it.
            let path = ctx.user_path(&path)?;
            let structure: Vec<String> =
                columns.iter().map(|column| format!("{} {}", quoted(&column.name), column.ty)).collect();
            let words = [&*path, &format, &structure.join(", ")].map(string_literal);
            let sql = format!("SELECT * FROM file({})", words.join(", "));
            Source::Query { sql: Ok(sql), shown: format!("File: {path}, {format}") }
        }
        other if OTHER_SOURCES.contains(&other) => Source::Other(name),
        _ => bail!(UNKNOWN_ELEMENT_IN_CONFIG, "Unknown dictionary source type: {name}"),
    })
}

/// A table or a query of this database.
fn clickhouse(
    part: &ast::KeyValueFunction,
    create: &ast::CreateDictionary,
    columns: &[ColumnSchema],
    database: &str,
) -> Source {
    let host = option(part, "HOST").unwrap_or_default();
    if !matches!(host.as_str(), "" | "localhost" | "127.0.0.1" | "::1") {
        return Source::Other(format!("clickhouse at {host}"));
    }
    let text = |key| option(part, key).filter(|text| !text.is_empty());
    let sql = match (text("TABLE"), text("QUERY"), text("WHERE")) {
        (None, Some(query), None) => {
            // The kernel names the table, which there is none.
            let database = text("DB").unwrap_or_else(|| database.into());
            return Source::Query { shown: format!("ClickHouse: {database}."), sql: Ok(query) };
        }
        (_, Some(_), _) => {
            Err(err!(UNSUPPORTED_METHOD, "Setting `table` or `where` cannot be used with `query` parameter"))
        }
        (None, None, _) => Err(err!(UNSUPPORTED_METHOD, "Setting `table` or `query` must be non empty")),
        (Some(table), None, filter) => {
            let database = text("DB").unwrap_or_else(|| database.into());
            let expressions = columns.iter().map(|column| {
                let written =
                    attribute(create, &column.name).and_then(|declared| declared.expression.as_ref());
                let name = quoted(&column.name);
                written.map_or_else(|| name.clone(), |written| format!("{written} AS {name}"))
            });
            let expressions = expressions.collect::<Vec<_>>().join(", ");
            let behind = filter.as_ref().map_or(String::new(), |filter| format!(" WHERE {filter}"));
            let shown = filter.map_or(String::new(), |filter| format!(", where: {filter}"));
            let from = format!("{}.{}", quoted(&database), quoted(&table));
            return Source::Query {
                sql: Ok(format!("SELECT {expressions} FROM {from}{behind}")),
                shown: format!("ClickHouse: {database}.{table}{shown}"),
            };
        }
    };
    Source::Query { sql, shown: "ClickHouse".into() }
}
