//! The rows of a statement as bytes of a format, compressed, as the body of a response.

use super::request::Request;
use super::response::Body;
use crate::quotas::Charge;
use crate::tally::Tally;
use chalet_base::{Error, Result, err};
use chalet_client::Method;
use chalet_client::compression::FrameWriter;
use chalet_client::packet::Dialect;
use chalet_columns::Block;
use chalet_engine::formats::FORMATS;
use chalet_engine::{StreamConsumer, StreamPart, Summary};
use chalet_formats::{BlockWriter, Compression, Schema, Sink, Statistics, WriteRequest};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// As the kernel's `http_zlib_compression_level`.
const LEVEL: u32 = 3;
/// Names of `Accept-Encoding`, the cheapest for its worth first.
const CODINGS: &[(&str, Compression)] = &[
    ("zstd", Compression::Zstd),
    ("lz4", Compression::Lz4),
    ("gzip", Compression::Gzip),
    ("br", Compression::Brotli),
    ("deflate", Compression::Deflate),
    ("xz", Compression::Xz),
    ("bz2", Compression::Bz2),
    ("snappy", Compression::Snappy),
];

/// What rows are written to. Clones write to the same.
#[derive(Clone)]
pub struct ResultBody {
    state: Arc<Mutex<State>>,
    body: Body,
    tally: Arc<Tally>,
    charge: Charge,
    /// Errors are told in the words of the format, where it has any.
    pub tells_errors: bool,
}

struct State {
    /// What compresses, until it is closed.
    sink: Option<Box<dyn Sink>>,
    writer: Option<Box<dyn BlockWriter>>,
    default_format: String,
    native_revision: u64,
    /// Marks an error amid the body.
    tag: String,
}

impl ResultBody {
    pub fn new(
        request: &Request,
        body: &Body,
        tally: &Arc<Tally>,
        charge: &Charge,
        default_format: &str,
        compresses: bool,
        tag: String,
    ) -> Result<ResultBody> {
        let coding = Some(request).filter(|_| compresses).and_then(coding);
        let mut sink: Box<dyn Sink> = Box::new(body.clone());
        if let Some((name, compression)) = coding {
            body.response().set("Content-Encoding", name);
            sink = compression.writer(sink, LEVEL)?;
        }
        if request.flag("compress") {
            sink = Box::new(Framed { frames: Some(FrameWriter::new(sink, Method::Lz4)) });
        }
        let native_revision = request.parameter("client_protocol_version").and_then(|text| text.parse().ok());
        let state = State {
            sink: Some(sink),
            writer: None,
            default_format: default_format.to_owned(),
            native_revision: native_revision.unwrap_or(0),
            tag,
        };
        let (body, tally, charge) = (body.clone(), tally.clone(), charge.clone());
        Ok(ResultBody { state: Arc::new(Mutex::new(state)), body, tally, charge, tells_errors: false })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What takes the rows of the statement.
    pub fn consumer(&self) -> StreamConsumer {
        let result = self.clone();
        Box::new(move |part| result.take(part))
    }

    fn take(&self, part: StreamPart) -> Result<()> {
        let mut state = self.state();
        match part {
            StreamPart::Header(rows, format) => {
                let format = FORMATS.get(format.as_ref().unwrap_or(&state.default_format))?;
                let schema: Schema = rows.names.into_iter().zip(rows.types).collect();
                let sink = Box::new(self.clone());
                let writer: Box<dyn BlockWriter> = if format.name == "Native" && state.native_revision > 0 {
                    let dialect = Dialect { revision: state.native_revision, compression: None };
                    Box::new(NativeBlocks { dialect, schema, sink })
                } else {
                    let request = WriteRequest {
                        settings: rows.formats,
                        time_zone: rows.zone,
                        ..WriteRequest::new(schema)
                    };
                    drop(state);
                    let writer = format.writer(request, sink)?;
                    state = self.state();
                    writer
                };
                let mut response = self.body.response();
                response.set("Content-Type", format.content_type);
                response.set("X-ClickHouse-Format", format.name);
                state.writer = Some(writer);
                Ok(())
            }
            part => {
                // The writer writes to what this locks.
                let Some(mut writer) = state.writer.take() else { return Ok(()) };
                drop(state);
                let written = match &part {
                    StreamPart::Block(block) => {
                        let (rows, bytes) = (block.n_rows() as u64, block.memory() as u64);
                        self.tally.add_result(rows, bytes);
                        self.charge.add_result(rows, bytes).and_then(|()| writer.write(block))
                    }
                    StreamPart::Totals(block) => writer.totals(block),
                    StreamPart::Extremes(block) => writer.extremes(block),
                    StreamPart::Header(..) => Ok(()),
                };
                self.state().writer = Some(writer);
                written
            }
        }
    }

    /// Writes what follows the rows of a statement that has succeeded, but for the end of the body.
    pub fn finish(&self, summary: &Summary) -> Result<()> {
        let writer = self.state().writer.take();
        match writer {
            // Closes what it writes to.
            Some(mut writer) => writer.finish(&Statistics {
                elapsed_seconds: summary.elapsed.as_secs_f64(),
                rows_read: summary.rows_read,
                bytes_read: summary.bytes_read,
                rows_before_limit: summary.rows_before_limit,
                rows_before_aggregation: None,
            }),
            None => self.clone().close().map_err(gone),
        }
    }

    /// Tells of an error: as all that is answered, or, where a part of the rows is on its way, behind them in the words of the
    /// kernel, without the end of the body.
    pub fn fail(&self, error: &Error) -> io::Result<()> {
        let writer = self.state().writer.take();
        if self.tells_errors
            && let Some(mut writer) = writer
        {
            self.body.response().set_error(error);
            // A client that does not read has the connection ended.
            let is_told = writer.exception(&error.to_string()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            if is_told {
                return self.body.response().finish();
            }
        }
        if !self.body.response().is_sent() {
            // What compresses has its own beginning and end.
            self.state().sink = None;
            return self.body.response().fail(error);
        }
        self.body.response().break_off();
        let tag = self.state().tag.clone();
        let message = format!("{error}\n");
        let length = message.len();
        let text = format!("\r\n__exception__\r\n{tag}\r\n{message}{length} {tag}\r\n__exception__\r\n");
        self.clone().write_all(text.as_bytes())?;
        self.clone().close()
    }
}

impl Write for ResultBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state().sink {
            Some(sink) => sink.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state().sink {
            Some(sink) => sink.flush(),
            None => Ok(()),
        }
    }
}

impl Sink for ResultBody {
    fn close(&mut self) -> io::Result<()> {
        let sink = self.state().sink.take();
        sink.map_or(Ok(()), |mut sink| sink.close())
    }
}

/// The client has gone, most likely.
#[cold]
fn gone(error: io::Error) -> Error {
    err!(NETWORK_ERROR, "Cannot write the response: {error}")
}

/// The coding that the client takes and that is the first of the list.
fn coding(request: &Request) -> Option<(&'static str, Compression)> {
    let list = request.header("accept-encoding")?;
    let accepted: Vec<&str> = list.split(',').filter_map(accepted).collect();
    CODINGS.iter().find(|(name, _)| accepted.iter().any(|word| word.eq_ignore_ascii_case(name))).copied()
}

/// The name of a coding, unless it has a weight of zero.
fn accepted(item: &str) -> Option<&str> {
    let (name, rest) = item.split_once(';').unwrap_or((item, ""));
    let weight = rest.trim().strip_prefix("q=").and_then(|weight| weight.trim().parse::<f32>().ok());
    (weight != Some(0.0)).then(|| name.trim())
}

/// Native frames, whose last is written at the end.
struct Framed {
    frames: Option<FrameWriter<Box<dyn Sink>>>,
}

impl Write for Framed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frames.as_mut().map_or(Ok(bytes.len()), |frames| frames.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.frames.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Sink for Framed {
    fn close(&mut self) -> io::Result<()> {
        match self.frames.take() {
            Some(frames) => frames.into_inner()?.close(),
            None => Ok(()),
        }
    }
}

/// Native as a client of this revision of the protocol reads it.
struct NativeBlocks {
    dialect: Dialect,
    schema: Schema,
    sink: Box<dyn Sink>,
}

impl BlockWriter for NativeBlocks {
    fn write(&mut self, block: &Block) -> Result<()> {
        let mut bytes = Vec::new();
        self.dialect.write_body(&mut bytes, &self.schema, block)?;
        self.sink.write_all(&bytes).map_err(gone)
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        self.sink.close().map_err(gone)
    }
}
