//! Data of an INSERT as the blocks that a server wants, made one by one.

use crate::formats::FORMATS;
use crate::insert_data::InsertData;
use crate::query_context::QueryContext;
use crate::reading::{caster, read_request};
use crate::server::Server;
use crate::statements::insert::read_texts;
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column};
use chalet_formats::{Input, Schema};

/// Gives the next block each time, none at the end.
pub(crate) type Blocks = Box<dyn FnMut() -> Result<Option<Block>> + Send>;

/// `head` is the statement up to its data: `INSERT INTO t VALUES`, `INSERT INTO t FORMAT CSV`.
pub(crate) fn blocks(
    head: &str,
    data: InsertData,
    schema: &Schema,
    server: &Server,
    ctx: &QueryContext,
) -> Result<Blocks> {
    match data {
        InsertData::Rows(make) => {
            let (types, block) = read_texts(make(schema, server.zone())?, schema, ctx)?;
            let cast = caster(ctx);
            let n_rows = block.n_rows();
            let columns = block.columns().iter().zip(&types).zip(schema);
            let columns = columns.map(|((column, given), (name, ty))| {
                if given == ty {
                    Ok(column.clone())
                } else {
                    cast(column, given, ty).map_err(|e| e.context(format!("column {name}")))
                }
            });
            let block = Block::new(columns.collect::<Result<Vec<Column>>>()?, n_rows);
            // All of it is known to fit; it goes out in parts, so that the server reads one while the next is written. It puts
            // them together again, up to its min_insert_block_size_rows.
            let most = ctx.exec.settings.max_block_size.max(1);
            let mut starts = (0..n_rows).step_by(most);
            Ok(Box::new(move || Ok(starts.next().map(|start| block.slice(start, most.min(n_rows - start))))))
        }
        InsertData::Bytes(bytes) => {
            let mut request = read_request(schema.clone(), ctx);
            request.time_zone = server.zone().clone();
            let format =
                head.trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            let mut scan = FORMATS.get(format)?.open(Input::stream(bytes), request)?;
            let max_block_size = ctx.exec.settings.max_block_size;
            let names: Vec<String> = schema.iter().map(|(name, _)| name.clone()).collect();
            let mut unit = scan.next_unit()?;
            Ok(Box::new(move || {
                while let Some(rows) = &mut unit {
                    let Some(block) = rows.next_block(max_block_size)? else {
                        unit = scan.next_unit()?;
                        continue;
                    };
                    let mut omitted = rows.omitted().iter();
                    let column =
                        omitted.position(|rows| rows.as_ref().is_some_and(|rows| rows.count_set_bits() > 0));
                    if let Some(column) = column {
                        bail!(
                            NOT_IMPLEMENTED,
                            "The data leave out values of column {}, whose defaults only the server knows",
                            names[column]
                        );
                    }
                    return Ok(Some(block));
                }
                Ok(None)
            }))
        }
    }
}
