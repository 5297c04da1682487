//! What clients are told of each block of an INSERT: newer ones wait for it before they send the next.

use chalet_base::Result;
use chalet_client::packet::{Packet, Rows};
use chalet_columns::{Block, Builder, Column};
use chalet_types::{DataType, Value};
use std::time::{SystemTime, UNIX_EPOCH};

/// The counter of rows that a block has brought, in the columns of the kernel.
pub fn inserted(host: &str, n_rows: u64) -> Result<Packet> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let columns: [(&str, &str, Value); 6] = [
        ("host_name", "String", Value::from(host)),
        ("current_time", "DateTime", Value::UInt(now)),
        ("thread_id", "UInt64", Value::UInt(0)),
        ("type", "Enum8('increment' = 1, 'gauge' = 2)", Value::Int(1)),
        ("name", "String", Value::from("InsertedRows")),
        ("value", "Int64", Value::Int(n_rows as i64)),
    ];
    let mut schema = Vec::with_capacity(columns.len());
    let mut vectors = Vec::with_capacity(columns.len());
    for (name, ty, value) in columns {
        let ty: DataType = ty.parse()?;
        let mut builder = Builder::new(&ty);
        builder.push_value(&value)?;
        vectors.push(Column::Flat(builder.finish()));
        schema.push((name.to_owned(), ty));
    }
    Ok(Packet::ProfileEvents(Rows { schema, block: Block::new(vectors, 1) }))
}
