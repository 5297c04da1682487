//! INSERT from a query over the table function `input`: data behind the statement, or given beside it.

use crate::insert_data::InsertData;
use chalet_base::{Result, bail, ensure, err};
use chalet_storage::ColumnSchema;
use chalet_syntax::ast::{Call, CallStyle, Expr, ExprKind, Literal, Query, Span, TableKind};
use chalet_syntax::visit::for_each_table_mut;
use std::io::Read;

/// The query with its data in the place of `input`, as a call of `format`. `target`: the columns that the statement gives
/// values to, which are those of an `input` without a structure.
pub(super) fn with_data(
    query: &Query,
    format: &str,
    written: &[u8],
    given: Option<InsertData>,
    target: &[ColumnSchema],
) -> Result<Query> {
    let mut data = Some(match given {
        None => written.to_vec(),
        Some(InsertData::Bytes(mut bytes)) => {
            let mut all = Vec::new();
            bytes
                .read_to_end(&mut all)
                .map_err(|e| err!(CANNOT_READ_FROM_FILE_DESCRIPTOR, "Cannot read the data: {e}"))?;
            all
        }
        Some(InsertData::Rows(_)) => bail!(NOT_IMPLEMENTED, "Rows as the data of the function input"),
    });
    let mut is_read_twice = false;
    let mut query = query.clone();
    for_each_table_mut(&mut query, &mut |table| {
        let TableKind::Function(call) = &mut table.kind else { return };
        if call.name != "input" {
            return;
        }
        let Some(data) = data.take() else {
            is_read_twice = true;
            return;
        };
        let structure = match call.args.pop() {
            Some(structure) => structure,
            None => literal(structure_of(target).into_bytes()),
        };
        let args = vec![literal(format.as_bytes().to_vec()), structure, literal(data)];
        **call = Call::new("format", args, CallStyle::Function);
    });
    ensure!(!is_read_twice, INVALID_USAGE_OF_INPUT, "You can use the `input` function only once in a query.");
    Ok(query)
}

fn structure_of(columns: &[ColumnSchema]) -> String {
    let columns: Vec<String> = columns
        .iter()
        .map(|c| format!("{} {}", chalet_storage::catalog::quoted(&c.name), c.declared_type()))
        .collect();
    columns.join(", ")
}

fn literal(bytes: Vec<u8>) -> Expr {
    Expr { kind: ExprKind::Literal(Literal::String(bytes)), alias: None, span: Span::default() }
}
