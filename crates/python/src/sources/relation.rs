//! Relations as tables: a sub-query where they are of the connection that runs the statement, the rows of their answer elsewhere.

use super::caller::{Caller, Sight};
use super::described::{Made, answered, part};
use super::raised;
use crate::connection::{Connection, texts};
use chalet_base::Result;
use chalet_engine::replacement_query::ReplacementQuery;
use chalet_engine::replacement_scan::{ReplacementScan, ReplacementTable};
use chalet_types::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// The table of `("relation", connection, query, params, tables, names, types)`.
pub fn table(
    py: Python<'_>,
    relation: &Bound<'_, PyAny>,
    described: &Bound<'_, PyTuple>,
    caller: &Caller,
) -> Result<Made> {
    let connection: Bound<'_, PyAny> = part(described, 1)?;
    let is_ours = connection
        .cast::<Connection>()
        .is_ok_and(|connection| Arc::ptr_eq(connection.get().registered(), caller.registered()));
    if !is_ours {
        let answer = relation.call_method0("execute").and_then(|result| answered(&result));
        let rows = Arc::new(answer.map_err(|e| raised(py, &e))?);
        return Ok(Made::Answer(Arc::new(ReplacementTable::new(rows))));
    }
    let params: Option<Bound<'_, PyDict>> = part(described, 3)?;
    let params = params.map(|params| texts(&params)).transpose().map_err(|e| raised(py, &e))?;
    let tables: Bound<'_, PyDict> = part(described, 4)?;
    let names: Vec<String> = part(described, 5)?;
    let types: Vec<String> = part(described, 6)?;
    let types = types.iter().map(|text| text.parse()).collect::<Result<Vec<DataType>>>()?;
    let inner = Arc::new(Caller::new(
        Some(tables.unbind()),
        caller.registered().clone(),
        caller.borrowed().clone(),
        Sight::Nothing,
    ));
    inner.assume(caller.assumes());
    let columns = names.into_iter().zip(types).collect();
    let query: String = part(described, 2)?;
    let table = ReplacementQuery::new(query, columns, params.unwrap_or_default(), inner.clone());
    Ok(Made::Relation(Arc::new(table), inner))
}
