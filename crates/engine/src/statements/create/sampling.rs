//! SAMPLE BY: the sampling key of a table, checked as the kernel checks it.

use super::MergeTreeSettings;
use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_base::{Result, ensure};
use chalet_storage::TableSchema;
use chalet_storage::merge_tree::TableKeys;
use chalet_syntax::ast::{Expr, ExprKind};
use chalet_types::DataType;

/// The expressions of a sampling key.
fn parts(written: &Expr) -> Vec<String> {
    match &written.kind {
        ExprKind::Call(call) if call.name == "tuple" => call.args.iter().map(ToString::to_string).collect(),
        _ => vec![written.to_string()],
    }
}

/// Fails where a table with these keys cannot have the sampling key.
pub(crate) fn check(
    written: &Expr,
    keys: &TableKeys,
    settings: &MergeTreeSettings,
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<()> {
    let parts = parts(written);
    let (_, bound) = bind_stored(parts.iter().map(String::as_str), schema, ctx)?;
    let is_in_key = parts.first().is_some_and(|first| keys.is_in_primary(first));
    ensure!(
        is_in_key || settings.sampling_beside_key,
        BAD_ARGUMENTS,
        "Sampling expression must be present in the primary key"
    );
    let shown = bound.first().map_or(String::new(), |first| first.ty().to_string());
    let is_unsigned = |ty: &DataType| {
        matches!(ty, DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64)
    };
    ensure!(
        !settings.checks_sampling || bound.len() == 1 && is_unsigned(bound[0].ty()),
        ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER,
        "Invalid sampling column type in storage parameters: {shown}. Must be one unsigned integer type"
    );
    Ok(())
}
