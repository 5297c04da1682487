//! Writing to a server. Blocks go out as they come: what a server has taken of an INSERT that then fails, it may keep.

use super::RemoteTable;
use super::sql::quoted_name;
use chalet_base::{Error, Result, bail, ensure};
use chalet_client::{Connection, Insertion, Request, Rows};
use chalet_columns::{Block, Column};
use chalet_formats::{ReadRequest, Schema};
use chalet_storage::Inserter;
use chalet_types::DataType;

/// Sends blocks to one server.
struct RemoteInserter {
    connection: Connection,
    /// The columns that it wants.
    wanted: Schema,
    /// Types of the blocks that are given.
    given: Vec<DataType>,
    request: ReadRequest,
}

pub(super) fn inserter(table: &RemoteTable) -> Result<Box<dyn Inserter>> {
    let [shard] = &table.reach.shards[..] else {
        bail!(
            STORAGE_REQUIRES_PARAMETER,
            "Method write is not supported by storage Distributed with more than one shard and no sharding key provided"
        );
    };
    let columns: Vec<_> = table.schema.stored().collect();
    let names: Vec<String> = columns.iter().map(|column| quoted_name(&column.name)).collect();
    let names = names.join(", ");
    let head = format!("INSERT INTO {} ({names})", table.name);
    let insertion = Insertion {
        text: format!("{head} FORMAT Native"),
        probe: format!("SELECT {names} FROM {} LIMIT 0", table.name),
    };
    let request = Request { insertion: Some(insertion), ..Request::new(format!("{head} VALUES")) };
    let mut connection = shard.connect(table.reach.watch.as_ref())?;
    let wanted = connection.begin_insert(&request)?;
    ensure!(
        wanted.len() == columns.len()
            && wanted.iter().zip(&columns).all(|(wanted, given)| wanted.0 == *given.name),
        UNEXPECTED_PACKET_FROM_SERVER,
        "The server {} wants other columns than it described",
        connection.peer()
    );
    let given = columns.iter().map(|column| column.ty.clone()).collect();
    Ok(Box::new(RemoteInserter { connection, wanted, given, request: table.reach.request.clone() }))
}

impl Inserter for RemoteInserter {
    fn write(&mut self, block: Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let n_rows = block.n_rows();
        let columns = block.columns().iter().zip(&self.given).zip(&self.wanted).map(
            |((column, given), (name, wanted))| {
                let converted = chalet_formats::convert::column(column, given, wanted, &self.request);
                converted.map_err(|e: Error| e.context(format!("column {name}")))
            },
        );
        let block = Block::new(columns.collect::<Result<Vec<Column>>>()?, n_rows);
        self.connection.send_rows(&Rows { schema: self.wanted.clone(), block })
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.connection.finish_insert()
    }
}
