//! What a query on a server gives, packet by packet, and what it prints in the end.

use super::rows_header;
use crate::answer::{Outline, Rows};
use crate::formats::FORMATS;
use crate::query_context::QueryContext;
use crate::server::Server;
use crate::statements::output::{Output, format_of, write_request};
use chalet_base::{Result, ensure};
use chalet_client::{Packet, Progress};
use chalet_formats::Statistics;
use chalet_formats::output::Memory;
use chalet_syntax::ast;
use std::sync::atomic::Ordering::Relaxed;

/// The rows so far; none before the server has told the columns.
#[derive(Default)]
pub(crate) struct Collected(Option<Rows>);

impl Collected {
    pub fn take(&mut self, packet: Packet, server: &Server, ctx: &QueryContext) -> Result<()> {
        match packet {
            Packet::Data(rows) => {
                let result = self.0.get_or_insert_with(|| rows_header(&rows.schema, server, ctx));
                let same = rows.schema.iter().map(|column| &column.1).eq(&result.types);
                ensure!(
                    rows.block.is_empty() || same,
                    UNEXPECTED_PACKET_FROM_SERVER,
                    "The server sent a block with other columns than the one before"
                );
                result.blocks.extend(Some(rows.block).filter(|block| !block.is_empty()));
            }
            Packet::Totals(rows) => {
                self.0.iter_mut().for_each(|result| result.totals = Some(rows.block.clone()))
            }
            Packet::Extremes(rows) => {
                self.0.iter_mut().for_each(|result| result.extremes = Some(rows.block.clone()));
            }
            Packet::Profile(profile) => {
                self.0.iter_mut().for_each(|result| result.rows_before_limit = profile.rows_before_limit);
            }
            _ => {}
        }
        Ok(())
    }

    /// Names and types of the columns.
    pub fn columns(self) -> Outline {
        self.0.map_or_else(Vec::new, |rows| rows.names.into_iter().zip(rows.types).collect())
    }

    /// Adds the result, if there is one, to what the statements print.
    pub fn finish(self, written: &ast::Output, ctx: &QueryContext, output: &mut Output) -> Result<()> {
        let Some(rows) = self.0.filter(|rows| !rows.names.is_empty()) else { return Ok(()) };
        let Some(format) = format_of(written, output) else { return output.put_rows(rows) };
        rows.blocks.iter().for_each(|block| output.count_result(block));
        let schema = rows.names.iter().cloned().zip(rows.types.iter().cloned()).collect();
        let mut request = write_request(schema, ctx);
        request.time_zone = rows.zone.clone();
        let memory = Memory::default();
        let mut writer = FORMATS.get(&format)?.writer(request, Box::new(memory.clone()))?;
        rows.blocks.iter().try_for_each(|block| writer.write(block))?;
        rows.totals.iter().try_for_each(|totals| writer.totals(totals))?;
        rows.extremes.iter().try_for_each(|extremes| writer.extremes(extremes))?;
        writer.finish(&Statistics {
            elapsed_seconds: ctx.control.elapsed().as_secs_f64(),
            rows_read: ctx.control.read_rows.load(Relaxed),
            bytes_read: ctx.control.read_bytes.load(Relaxed),
            rows_before_limit: rows.rows_before_limit,
            rows_before_aggregation: None,
        })?;
        output.put_bytes(memory.take())?;
        output.format = format;
        Ok(())
    }
}

/// Counts what the server says it has read.
pub(crate) fn count(progress: &Progress, ctx: &QueryContext) {
    ctx.control.read_rows.fetch_add(progress.rows, Relaxed);
    ctx.control.read_bytes.fetch_add(progress.bytes, Relaxed);
    ctx.control.total_rows.fetch_add(progress.total_rows, Relaxed);
}

/// Forgets what was counted of a query that begins anew.
pub(crate) fn count_anew(ctx: &QueryContext) {
    ctx.control.read_rows.store(0, Relaxed);
    ctx.control.read_bytes.store(0, Relaxed);
    ctx.control.total_rows.store(0, Relaxed);
}
