//! Writing to a server. Blocks go out as they come: what a server has taken of an INSERT that then fails, it may keep.

use super::RemoteTable;
use super::sql::quoted_name;
use chalet_base::{Error, Result, bail, ensure};
use chalet_client::{Connection, Hosts, Insertion, Request, Rows};
use chalet_columns::{Block, Column};
use chalet_formats::{ReadRequest, Schema};
use chalet_storage::Inserter;
use chalet_types::DataType;
use std::sync::Arc;

/// Sends blocks to one server.
struct RemoteInserter {
    connection: Connection,
    /// The columns that it wants.
    wanted: Schema,
    /// Types of the blocks that are given.
    given: Vec<DataType>,
    request: ReadRequest,
}

/// The number of the shard of each row of a block of the stored columns.
pub(super) type Division = Arc<dyn Fn(&Block) -> Result<Vec<usize>> + Send + Sync>;

/// Sends rows to the shards that they belong to.
struct DividedInserter {
    shards: Vec<Box<dyn Inserter>>,
    division: Division,
}

pub(super) fn inserter(table: &RemoteTable) -> Result<Box<dyn Inserter>> {
    match (&table.reach.shards[..], &table.division) {
        ([shard], _) => to_shard(table, shard),
        (shards, Some(division)) => {
            let shards = shards.iter().map(|shard| to_shard(table, shard)).collect::<Result<_>>()?;
            Ok(Box::new(DividedInserter { shards, division: division.clone() }))
        }
        _ => bail!(
            STORAGE_REQUIRES_PARAMETER,
            "Method write is not supported by storage Distributed with more than one shard and no sharding key provided"
        ),
    }
}

fn to_shard(table: &RemoteTable, shard: &Hosts) -> Result<Box<dyn Inserter>> {
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

impl Inserter for DividedInserter {
    fn write(&mut self, block: Block) -> Result<()> {
        let of_rows = (self.division)(&block)?;
        for (number, shard) in self.shards.iter_mut().enumerate() {
            let rows = (0u32..).zip(&of_rows).filter(|(_, of_row)| **of_row == number);
            let rows: Vec<u32> = rows.map(|(row, _)| row).collect();
            match rows.len() {
                0 => {}
                n if n == block.n_rows() => return shard.write(block),
                _ => shard.write(block.gather(&rows))?,
            }
        }
        Ok(())
    }

    /// What one shard refuses the others may have taken.
    fn finish(self: Box<Self>) -> Result<()> {
        self.shards.into_iter().try_for_each(|shard| shard.finish())
    }
}
