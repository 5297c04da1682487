//! A shard: servers that hold the same rows, of which one is asked.

use chalet_base::Result;
use chalet_client::{Hosts, Packet, Request, Rows, Watch};
use chalet_columns::Block;
use chalet_formats::Schema;

/// All rows of a small result.
pub(super) fn query(shard: &Hosts, text: &str, watch: Option<&Watch>) -> Result<Rows> {
    let mut connection = shard.connect(watch)?;
    connection.send(&Request::new(text))?;
    let mut schema = Schema::new();
    let mut blocks = Vec::new();
    loop {
        match connection.receive()? {
            Packet::Data(rows) if !rows.block.is_empty() => {
                schema = rows.schema;
                blocks.push(rows.block);
            }
            Packet::EndOfStream => break,
            _ => {}
        }
    }
    let block = if blocks.is_empty() { Block::new(Vec::new(), 0) } else { Block::concat(&blocks) };
    Ok(Rows { schema, block })
}
