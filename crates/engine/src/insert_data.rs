//! Data that the caller of an INSERT gives.

use chalet_base::Result;
use chalet_columns::Block;
use chalet_types::{DataType, TimeZone};
use std::io::Read;

/// Data that an INSERT gets from its caller.
pub enum InsertData {
    /// Bytes in the statement's format.
    Bytes(Box<dyn Read + Send>),
    /// Rows, made when the columns that the statement gives values to are known by name and type. Their types may be
    /// others: they are cast. The zone is that of date-times whose type names none.
    Rows(Box<MakeRows>),
}

pub type MakeRows = dyn FnOnce(&[(String, DataType)], &TimeZone) -> Result<GivenRows> + Send;

/// Rows and the types of their columns.
pub type GivenRows = (Vec<DataType>, Block);
