//! HTTP as what queries go over: a request each, whose response is rows in format Native, told as the packets of the native protocol.
//! A response that ends well, and only such a one, ends in `EndOfStream`: what breaks off, or has an error behind its rows, is an error.
//!
//! - [`body`]: where a body ends
//! - [`multipart`]: a statement with the tables that come along
//! - [`head`]: heads of requests and of responses
//! - [`failure`]: errors as text, and where they stand behind rows
//! - [`response`]: a response as packets

pub(crate) mod body;
mod failure;
mod head;
mod multipart;
mod response;

use self::multipart::Form;
use self::response::{Outcome, Response};
use crate::channel::Channel;
use crate::compression::{Method, write_frames};
use crate::handshake::{ChunkMode, ServerHello};
use crate::options::Options;
use crate::packet::{Packet, Rows};
use crate::request::{Insertion, Request};
use crate::revision;
use chalet_base::{Result, bail, codes, ensure};
use chalet_columns::Block;
use chalet_formats::Schema;
use chalet_formats::native::{BlockLayout, write_block};
use std::time::{Duration, Instant};

/// The conversation over one connection.
pub(crate) struct Http {
    /// Of the blocks that are asked for; 0 where the server knows of none.
    revision: u64,
    stage: Stage,
    /// After this time the server may be about to close the connection.
    usable_until: Option<Instant>,
}

enum Stage {
    Idle,
    /// The response to a query. Where it has no block its columns are asked for by the second text.
    Query(Response, Option<Request>),
    /// The response that tells the columns of a result without rows.
    Columns(Response),
    /// The response that tells the columns of an INSERT, which follows.
    Before(Response, Request),
    /// The body of an INSERT is being written; its response follows.
    Sending(Response),
}

/// What a server without `Keep-Alive` is trusted to wait for the next request.
const IDLE: Duration = Duration::from_secs(2);

/// Tells the columns of rows that are not there, also by old servers.
const COLUMNS_FORMAT: &str = "TabSeparatedWithNamesAndTypes";

impl Http {
    /// Asks the server what it is, as this user.
    pub fn open(channel: &mut Channel, options: &Options) -> Result<(Http, ServerHello)> {
        let mut http = Http { revision: revision::OLDEST, stage: Stage::Idle, usable_until: None };
        let told = match http.ask_version(channel, options) {
            // It takes the revision for a setting.
            Err(error) if error.code() == codes::UNKNOWN_SETTING => None,
            told => told?,
        };
        if let Some(hello) = told {
            return Ok((http, hello));
        }
        ensure!(!http.is_over(), NETWORK_ERROR, "The server {} closes each connection", channel.peer());
        http.revision = 0;
        match http.ask_version(channel, options)? {
            Some(hello) => Ok((http, hello)),
            None => bail!(NETWORK_ERROR, "What has answered is no ClickHouse server ({})", channel.peer()),
        }
    }

    fn ask_version(&mut self, channel: &mut Channel, options: &Options) -> Result<Option<ServerHello>> {
        self.send(channel, options, &Request::new("SELECT version() AS v, timezone() AS z"))?;
        let mut told = None;
        let hello = ServerHello {
            name: "ClickHouse".into(),
            version: (0, 0, 0),
            revision: self.revision,
            time_zone: "UTC".into(),
            display_name: String::new(),
            chunks: (ChunkMode::NEVER, ChunkMode::NEVER),
            password_rules: Vec::new(),
            nonce: 0,
            settings: Vec::new(),
        };
        loop {
            match self.read(channel, options)? {
                Some(Packet::Data(rows)) if rows.block.n_rows() == 1 && rows.schema.len() == 2 => {
                    let text = |column: usize| {
                        let value = rows.block.column(column).value(0);
                        String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned()
                    };
                    let (version, zone) = (text(0), text(1));
                    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
                    let mut next = || parts.next().unwrap_or(0);
                    let version = (next(), next(), next());
                    told = Some(ServerHello { version, time_zone: zone, ..hello.clone() });
                }
                Some(Packet::Exception(error)) => return Err(error),
                Some(Packet::EndOfStream) => return Ok(told),
                Some(_) => {}
                None => bail!(LOGICAL_ERROR, "A connection is opened without waiting"),
            }
        }
    }

    /// Can another request be sent?
    pub fn is_usable(&self) -> bool {
        matches!(self.stage, Stage::Idle) && self.usable_until.is_none_or(|until| Instant::now() < until)
    }

    /// The connection ends with the response that was read last.
    pub fn is_over(&self) -> bool {
        self.usable_until.is_some_and(|until| Instant::now() >= until)
    }

    /// Sends a statement, or what is to be known before it.
    pub fn send(&mut self, channel: &mut Channel, options: &Options, request: &Request) -> Result<()> {
        match &request.insertion {
            None => {
                let response = self.post(channel, options, request, "Native")?;
                self.stage = Stage::Query(response, request.header.as_ref().map(|text| request.about(text)));
            }
            Some(Insertion { probe, .. }) => {
                let response = self.post(channel, options, &request.about(probe), COLUMNS_FORMAT)?;
                self.stage = Stage::Before(response, request.clone());
            }
        }
        Ok(())
    }

    fn post(
        &self,
        channel: &mut Channel,
        options: &Options,
        request: &Request,
        format: &str,
    ) -> Result<Response> {
        let mut target = head::Target::new(options, request);
        target.put("default_format", format);
        if format == "Native" && self.revision > 0 {
            target.put("client_protocol_version", &self.revision.to_string());
        }
        // The newest servers that know no revision lose the end of what they compress: 18.16 sends nothing of what fits one frame.
        let is_compressed =
            self.revision > 0 && options.compression.is_some_and(|method| method != Method::None);
        if is_compressed {
            target.put("compress", "1");
        }
        let form = Form::of(request)?;
        form.tables.iter().flat_map(|table| &table.about).for_each(|(name, value)| target.put(name, value));
        let head = target.head(options, Some(form.len(&request.text)), form.content_type().as_deref());
        channel.out.extend_from_slice(head.as_bytes());
        form.write(&request.text, &mut channel.out);
        channel.flush()?;
        let layout = (format == "Native").then_some(self.revision);
        Ok(Response::new(layout, is_compressed))
    }

    /// Begins an INSERT, whose rows follow in chunks.
    fn begin_rows(&mut self, channel: &mut Channel, options: &Options, request: &Request) -> Result<()> {
        let text = request.insertion.as_ref().map_or("", |insertion| &insertion.text);
        let mut target = head::Target::new(options, request);
        target.put("query", text);
        if options.compression.is_some() {
            target.put("decompress", "1");
        }
        channel.out.extend_from_slice(target.head(options, None, None).as_bytes());
        channel.flush()?;
        self.stage = Stage::Sending(Response::new(Some(0), false));
        Ok(())
    }

    /// Sends rows of an INSERT; none end it.
    pub fn put_rows(&mut self, channel: &mut Channel, options: &Options, rows: &Rows) -> Result<()> {
        ensure!(matches!(self.stage, Stage::Sending(_)), LOGICAL_ERROR, "Rows without an INSERT");
        if rows.block.is_empty() {
            channel.out.extend_from_slice(b"0\r\n\r\n");
            return channel.flush();
        }
        let mut bytes = Vec::new();
        write_block(&mut bytes, &rows.schema, &rows.block, BlockLayout::FILE)?;
        if let Some(method) = options.compression {
            let plain = std::mem::take(&mut bytes);
            write_frames(&mut bytes, method, &plain)?;
        }
        channel.out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
        channel.out.extend_from_slice(&bytes);
        channel.out.extend_from_slice(b"\r\n");
        channel.flush()
    }

    /// The next packet; none where it has not all arrived and nobody waits. An error that the server tells is a packet; any other
    /// breaks the conversation.
    pub fn read(&mut self, channel: &mut Channel, options: &Options) -> Result<Option<Packet>> {
        loop {
            let response = match &mut self.stage {
                Stage::Query(response, _) | Stage::Columns(response) | Stage::Before(response, _) => response,
                Stage::Sending(response) => response,
                Stage::Idle => bail!(LOGICAL_ERROR, "No request was sent to {}", channel.peer()),
            };
            let outcome = match response.read(channel)? {
                None => return Ok(None),
                Some(Outcome::Packet(packet)) => return Ok(Some(packet)),
                Some(outcome) => outcome,
            };
            let kept = response.keep_alive.map(|time| time.unwrap_or(IDLE));
            self.usable_until = Some(Instant::now() + kept.unwrap_or_default());
            let stage = std::mem::replace(&mut self.stage, Stage::Idle);
            match (outcome, stage) {
                // The body of the request may not have been written to its end.
                (Outcome::Failed(error), Stage::Sending(_)) => {
                    self.usable_until = Some(Instant::now());
                    return Ok(Some(Packet::Exception(error)));
                }
                // The server cannot say of which columns there are no rows.
                (Outcome::Failed(_), Stage::Columns(_)) => return Ok(Some(Packet::EndOfStream)),
                (Outcome::Failed(error), _) => return Ok(Some(Packet::Exception(error))),
                (Outcome::Ended(false, _), Stage::Query(_, Some(about))) if kept.is_some() => {
                    let response = self.post(channel, options, &about, COLUMNS_FORMAT)?;
                    self.stage = Stage::Columns(response);
                }
                (Outcome::Ended(_, Some(columns)), Stage::Columns(response)) => {
                    self.stage = Stage::Columns(response.ended());
                    return Ok(Some(Packet::Data(no_rows(columns))));
                }
                (Outcome::Ended(_, columns), Stage::Before(_, request)) => {
                    ensure!(
                        kept.is_some(),
                        NETWORK_ERROR,
                        "The server {} has closed the connection",
                        channel.peer()
                    );
                    self.begin_rows(channel, options, &request)?;
                    return Ok(Some(Packet::Data(no_rows(columns.unwrap_or_default()))));
                }
                _ => return Ok(Some(Packet::EndOfStream)),
            }
        }
    }
}

fn no_rows(schema: Schema) -> Rows {
    Rows { schema, block: Block::new(Vec::new(), 0) }
}
