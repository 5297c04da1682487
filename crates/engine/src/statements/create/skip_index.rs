//! INDEX of a MergeTree: what the kernel takes, and what it refuses.

use super::merge_tree::changing_part;
use super::vector_index;
use crate::query_context::QueryContext;
use crate::stored_columns::{bind_with_aliases, check_rows_stay};
use chalet_base::{Result, bail, ensure, err};
use chalet_storage::{SkipIndex, TableSchema};
use chalet_syntax::ast::{self, Expr, ExprKind, Literal};
use chalet_types::DataType;

/// An index of text has no granules: one of them is of all rows.
const WHOLE_PART: u64 = 100_000_000;

const KINDS: &str =
    "hypothesis, text, vector_similarity, bloom_filter, sparse_grams, tokenbf_v1, ngrambf_v1, set, minmax";

const TOKENIZERS: [&str; 8] = [
    "splitByNonAlpha",
    "splitByString",
    "ngrams",
    "sparseGrams",
    "array",
    "asciiCJK",
    "unicodeWord",
    "standard",
];

/// An index as it is written.
pub(crate) fn declared(written: &ast::IndexDef) -> Result<SkipIndex> {
    let Some(kind) = &written.ty else { bail!(INCORRECT_QUERY, "CREATE INDEX without TYPE is forbidden") };
    let is_text = type_of(kind).is_some_and(|(name, _)| name.eq_ignore_ascii_case("text"));
    let granularity = written.granularity.unwrap_or(1);
    ensure!(granularity > 0, BAD_ARGUMENTS, "Index GRANULARITY must be a positive integer");
    // A part has one, whatever is written.
    let granularity = if is_text { WHOLE_PART } else { granularity };
    Ok(SkipIndex {
        name: written.name.name.as_str().into(),
        expr: written.expr.to_string().into(),
        kind: kind.to_string().into(),
        granularity,
        is_implicit: false,
    })
}

/// The name of an index's type, and its arguments.
fn type_of(kind: &Expr) -> Option<(&str, &[Expr])> {
    match &kind.kind {
        ExprKind::Identifier(parts) => Some((&parts.first()?.name, &[])),
        ExprKind::Call(call) => Some((&call.name, &call.args)),
        _ => None,
    }
}

/// Fails where the expressions of the indexes are none of a table with these columns.
pub(crate) fn check_expressions(schema: &TableSchema, ctx: &QueryContext) -> Result<()> {
    schema.indexes.iter().try_for_each(|index| types_of(index, schema, ctx).map(drop))
}

/// Fails where a table with these columns cannot have its indexes.
pub(crate) fn check(schema: &TableSchema, ctx: &QueryContext) -> Result<()> {
    for (at, index) in schema.indexes.iter().enumerate() {
        let is_first = schema.indexes[..at].iter().all(|before| before.name != index.name);
        ensure!(is_first, ILLEGAL_INDEX, "Duplicated index name {} is not allowed", index.name);
        let types = types_of(index, schema, ctx)?;
        check_type(index, &types)
            .map_err(|e| e.context(format!("When validating secondary index `{}`", index.name)))?;
    }
    Ok(())
}

/// The types of what an index is over.
fn types_of(index: &SkipIndex, schema: &TableSchema, ctx: &QueryContext) -> Result<Vec<DataType>> {
    let SkipIndex { name, expr, .. } = index;
    let written = chalet_syntax::parse_expression(expr)?;
    let list = match &written.kind {
        ExprKind::Call(call) if call.name == "tuple" => call.args.iter().map(ToString::to_string).collect(),
        _ => vec![expr.to_string()],
    };
    ensure!(
        !list.is_empty(),
        INCORRECT_QUERY,
        "Skip index '{name}' must have at least one column in its expression."
    );
    let (_, bound) = bind_with_aliases(list.iter().map(String::as_str), schema, ctx)?;
    check_rows_stay(&written, || {
        let error = err!(INCORRECT_QUERY, "Secondary index '{name}' cannot contain array joins");
        error.context(format!("When validating secondary index `{name}`"))
    })?;
    if let Some(part) = changing_part(expr, ctx)? {
        bail!(
            BAD_ARGUMENTS,
            "Expression must be deterministic but it contains non-deterministic part `{part}`: for secondary index '{name}'"
        );
    }
    let has_column = bound.iter().any(|expr| !expr.columns().is_empty());
    ensure!(has_column, INCORRECT_QUERY, "Secondary index '{name}' cannot contain constants");
    Ok(bound.iter().map(|expr| expr.ty().clone()).collect())
}

fn check_type(index: &SkipIndex, types: &[DataType]) -> Result<()> {
    let kind = chalet_syntax::parse_expression(&index.kind)?;
    let Some((name, args)) = type_of(&kind) else {
        bail!(INCORRECT_QUERY, "Unknown Index type '{}'", index.kind)
    };
    match name.to_ascii_lowercase().as_str() {
        "minmax" => minmax(index, types),
        "set" => {
            ensure!(args.len() == 1, INCORRECT_QUERY, "Set index must have exactly one argument");
            let is_number = unsigned(&args[0]).is_some();
            ensure!(is_number, INCORRECT_QUERY, "Set index argument must be positive integer");
            Ok(())
        }
        "bloom_filter" => bloom_filter(args, types),
        "ngrambf_v1" => text_filter("ngrambf", 4, 1, args, types),
        "tokenbf_v1" => text_filter("tokenbf", 3, 0, args, types),
        "sparse_grams" => {
            ensure!(
                (4..=6).contains(&args.len()),
                BAD_ARGUMENTS,
                "`sparse_grams` index must have from 4 to 6 arguments"
            );
            text_filter("sparse_grams", args.len(), args.len() - 3, args, types)
        }
        "text" => text(args, types),
        "hypothesis" => {
            bail!(ILLEGAL_INDEX, "Index of type 'hypothesis' is no longer supported. Please drop the index")
        }
        "vector_similarity" => vector_index::check(args, types),
        _ => bail!(INCORRECT_QUERY, "Unknown Index type '{name}'. Available index types: {KINDS}"),
    }
}

fn minmax(index: &SkipIndex, types: &[DataType]) -> Result<()> {
    for ty in types {
        ensure!(
            !ty.contains_several_types(),
            BAD_ARGUMENTS,
            "{} data type of column {} is not allowed in minmax index because the values of that data type can contain values with \
             different data types. Consider using typed subcolumns or cast column to a specific data type",
            ty,
            index.expr
        );
    }
    Ok(())
}

fn unsigned(arg: &Expr) -> Option<u64> {
    match &arg.kind {
        ExprKind::Literal(_) => arg.to_string().parse().ok(),
        _ => None,
    }
}

fn bloom_filter(args: &[Expr], types: &[DataType]) -> Result<()> {
    ensure!(
        args.len() <= 1,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "BloomFilter index cannot have more than one parameter"
    );
    for arg in args {
        let ratio = arg.to_string().parse::<f64>().ok().filter(|ratio| 0.0 < *ratio && *ratio < 1.0);
        ensure!(
            ratio.is_some(),
            BAD_ARGUMENTS,
            "The BloomFilter false positive must be a double number between 0 and 1"
        );
    }
    for ty in types {
        let inner = match ty.bare() {
            DataType::Array(element) => element.bare(),
            other => other,
        };
        let is_refused = matches!(
            inner,
            DataType::Map(..)
                | DataType::Tuple(_)
                | DataType::Array(_)
                | DataType::Variant(_)
                | DataType::Dynamic(_)
                | DataType::Json(_)
                | DataType::Decimal { .. }
                | DataType::Date32
                | DataType::Time
                | DataType::Time64(_)
        );
        ensure!(!is_refused, ILLEGAL_COLUMN, "Unexpected type {ty} of bloom filter index");
    }
    Ok(())
}

/// Is it text, or arrays of it?
fn is_text(ty: &DataType) -> bool {
    let inner = match ty.bare() {
        DataType::Array(element) => element.bare(),
        other => other,
    };
    // The bytes of an IPv6 are a FixedString's.
    matches!(inner, DataType::String | DataType::FixedString(_) | DataType::IPv6) && !ty.is_nullable()
}

/// `size` is where the arguments say the size of the filter; the number of hash functions follows.
fn text_filter(name: &str, n: usize, size: usize, args: &[Expr], types: &[DataType]) -> Result<()> {
    ensure!(
        types.iter().all(is_text),
        BAD_ARGUMENTS,
        "Ngram and token bloom filter indexes can only be used with column types `String`, `FixedString`, \
         `LowCardinality(String)`, `LowCardinality(FixedString)`, `Array(String)` or `Array(FixedString)`"
    );
    ensure!(args.len() == n, BAD_ARGUMENTS, "`{name}` index must have exactly {n} arguments");
    let Some(numbers) = args.iter().map(unsigned).collect::<Option<Vec<u64>>>() else {
        bail!(BAD_ARGUMENTS, "All parameters to *bf_v1 index must be unsigned integers")
    };
    // Alone before the size stands the length of an ngram.
    ensure!(size != 1 || numbers[0] > 0, BAD_ARGUMENTS, "ngram length must be at least 1");
    ensure!(numbers[size] > 0, BAD_ARGUMENTS, "The size of bloom filter cannot be zero");
    ensure!(
        numbers[size + 1] > 0,
        BAD_ARGUMENTS,
        "The number of hash functions for bloom filter cannot be zero"
    );
    Ok(())
}

fn text(args: &[Expr], types: &[DataType]) -> Result<()> {
    let named = args.iter().filter_map(|arg| match &arg.kind {
        ExprKind::Call(call) if call.name == "equals" && call.args.len() == 2 => Some(&call.args),
        _ => None,
    });
    let value = named.into_iter().find(|pair| pair[0].to_string() == "tokenizer").map(|pair| &pair[1]);
    let Some(value) = value else { bail!(BAD_ARGUMENTS, "Text index argument 'tokenizer' is required") };
    let tokenizer = match &value.kind {
        ExprKind::Literal(Literal::String(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => type_of(value).map_or(String::new(), |(name, _)| name.to_string()),
    };
    ensure!(TOKENIZERS.contains(&tokenizer.as_str()), BAD_ARGUMENTS, "Unknown tokenizer: '{tokenizer}'");
    ensure!(types.len() == 1, INCORRECT_NUMBER_OF_COLUMNS, "Text index must be created on a single column");
    for ty in types {
        let element = match ty.bare() {
            DataType::Array(element) => element.bare(),
            other => other,
        };
        ensure!(
            matches!(element, DataType::String | DataType::FixedString(_)),
            BAD_ARGUMENTS,
            "Text index must be created on columns of type with base type of String or FixedString, got: {ty}"
        );
    }
    Ok(())
}
