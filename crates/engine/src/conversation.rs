//! Statements that a server runs, in steps that wait for nothing: an event loop waits for the socket between them.

use crate::answer::{Answer, Rows};
use crate::insert_data::InsertData;
use crate::query_context::QueryContext;
use crate::run_options::RunOptions;
use crate::server::{Known, Server};
use crate::session::Session;
use crate::stack::entered;
use crate::statements::on_server::collected::{Collected, count, count_anew};
use crate::statements::on_server::given_blocks::{Blocks, blocks};
use crate::statements::on_server::resolved::{Resolved, resolve};
use crate::statements::on_server::{Written, keep, parts, request, rows_header, settings};
use crate::statements::output::Output;
use chalet_base::{Error, Result, bail, err};
use chalet_client::hosts::is_gone;
use chalet_client::{Packet, Request, Watch};
use chalet_formats::Schema;
use chalet_memory::thread;
use chalet_syntax::split::Piece;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What is to happen before the next step.
pub enum Step {
    /// Something arrives, but not before this time has passed.
    Read(Duration),
    /// There is room to write.
    Write,
    /// A connection is opened, see [`Conversation::connect`].
    Connect,
    /// Others have had their turn: this step has taken long enough.
    Again,
    /// Nothing: these rows are for who wants them as they come, with the format that the statement names.
    Rows(Rows, Option<String>),
    /// Nothing: the answer is there.
    Done,
}

/// A text of statements on its way.
pub struct Conversation {
    session: Session,
    sql: String,
    options: RunOptions,
    pieces: VecDeque<Piece>,
    /// Rows are handed out as they come, not collected.
    streams: bool,
    /// Of an INSERT.
    data: Option<InsertData>,
    output: Output,
    started: Instant,
    current: Option<Statement>,
    opened: Option<Known>,
}

/// How long a step goes on while the server has more to say.
const SLICE: Duration = Duration::from_millis(5);

/// The statement that runs.
struct Statement {
    ctx: QueryContext,
    /// Up to its data.
    text: String,
    resolved: Resolved,
    data: Option<InsertData>,
    written: Written,
    known: Option<Known>,
    stage: Stage,
    is_second_try: bool,
    /// Somebody has seen rows of it.
    is_seen: bool,
}

enum Stage {
    /// Statements that the connection is to run before.
    Before(Before),
    Query(Collected),
    /// The columns of an INSERT are awaited.
    Columns,
    Insert(Blocks, Schema),
    /// Nothing but the end is awaited.
    End,
}

enum Before {
    /// It is looked which.
    Next,
    /// One of those that the session has run.
    Kept(u64),
    /// What sets the settings of a request.
    Settings(Request),
}

impl Session {
    /// Statements as a conversation with the server that runs them, by the session as it is now.
    pub fn converse(&self, sql: &str, options: RunOptions, data: Option<InsertData>) -> Result<Conversation> {
        if self.server().is_none() {
            bail!(LOGICAL_ERROR, "The database of the session is no server");
        }
        let pieces = chalet_syntax::split::split_statements(sql);
        if data.is_some() && pieces.len() != 1 {
            bail!(BAD_ARGUMENTS, "An INSERT query was expected, not: {sql}");
        }
        Ok(Conversation {
            session: self.fork(),
            sql: sql.to_owned(),
            output: Output::new(&options),
            options,
            pieces: pieces.into(),
            streams: false,
            data,
            started: Instant::now(),
            current: None,
            opened: None,
        })
    }
}

impl Conversation {
    /// Hands rows out as they come.
    pub fn streaming(self) -> Conversation {
        Conversation { streams: true, ..self }
    }

    /// Opens a connection, which takes its time: on a thread that may wait.
    pub fn connect(session: &Session, watch: Option<&Watch>) -> Result<Opened> {
        let server = session.server().ok_or_else(|| err!(LOGICAL_ERROR, "The session has no server"))?;
        entered(|| server.new_connection(watch)).map(Opened)
    }

    /// Takes what [`connect`](Self::connect) has opened.
    pub fn give(&mut self, opened: Opened) {
        self.opened = Some(opened.0);
    }

    /// What the operating system knows the socket by that is waited for.
    pub fn descriptor(&self) -> Option<i32> {
        self.current.as_ref()?.known.as_ref()?.connection.descriptor()
    }

    /// Goes as far as is possible without waiting.
    pub fn step(&mut self) -> Result<Step> {
        entered(|| self.steps()).inspect_err(|_| self.current = None)
    }

    /// What the statements have given, when they are done.
    pub fn into_answer(self) -> Answer {
        self.output.into_answer(self.started.elapsed())
    }

    fn steps(&mut self) -> Result<Step> {
        loop {
            let Some(mut statement) = self.current.take() else {
                let Some(piece) = self.pieces.pop_front() else { return Ok(Step::Done) };
                self.current = Some(self.begin(&piece)?);
                continue;
            };
            let _charged = thread::enter(&statement.ctx.control.memory);
            match self.advance(&mut statement) {
                Ok(Some(step)) => {
                    self.current = Some(statement);
                    return Ok(step);
                }
                Ok(None) => self.end(statement)?,
                Err(error) => self.current = Some(self.again(statement, error)?),
            }
        }
    }

    fn begin(&mut self, piece: &Piece) -> Result<Statement> {
        let ctx = self.session.context(&self.options)?;
        let (text, data) = parts(&self.sql, piece, self.data.take())?;
        let written = if data.is_some() { Written::none() } else { Written::of(text)? };
        let resolved = if data.is_some() { Resolved::nothing(text, &ctx) } else { resolve(text, &ctx)? };
        Ok(Statement {
            ctx,
            text: text.to_owned(),
            resolved,
            data,
            written,
            known: None,
            stage: Stage::Before(Before::Next),
            is_second_try: false,
            is_seen: false,
        })
    }

    /// One statement, as far as it goes; none at its end.
    fn advance(&mut self, statement: &mut Statement) -> Result<Option<Step>> {
        let server = self.session.server().ok_or_else(|| err!(LOGICAL_ERROR, "The session has no server"))?;
        if statement.known.is_none() {
            let idle = self.opened.take().or_else(|| server.idle(&settings(&statement.ctx)));
            let Some(mut known) = idle else { return Ok(Some(Step::Connect)) };
            known.connection.set_waits(false)?;
            statement.known = Some(known);
        }
        let began = Instant::now();
        loop {
            if began.elapsed() > SLICE {
                return Ok(Some(Step::Again));
            }
            statement.ctx.control.check_with_interrupt()?;
            let Some(known) = &mut statement.known else { return Ok(None) };
            if !known.connection.push()? {
                return Ok(Some(Step::Write));
            }
            if statement.writes(server, &mut self.output)? {
                continue;
            }
            let Some(known) = &mut statement.known else { return Ok(None) };
            let Some(packet) = known.connection.try_receive()? else {
                return Ok(Some(Step::Read(known.connection.patience())));
            };
            if let Packet::EndOfStream = packet {
                if statement.stage_ends()? {
                    return Ok(None);
                }
            } else if let Some(rows) = statement.take(packet, server, self.streams)? {
                let format = statement.written.output.format.as_ref().map(|format| format.name.clone());
                return Ok(Some(Step::Rows(rows, format)));
            }
        }
    }

    fn end(&mut self, statement: Statement) -> Result<()> {
        let Statement { ctx, text, written, known, stage, .. } = statement;
        let Some(server) = self.session.server() else { return Ok(()) };
        known.into_iter().for_each(|known| server.put_back(known));
        if let Stage::Query(collected) = stage {
            collected.finish(&written.output, &ctx, &mut self.output)?;
        }
        ctx.control.tell_end(self.output.rows_written, self.output.bytes_written);
        self.output.count(&ctx);
        keep(&text, server, &ctx)
    }

    /// The same statement on another connection, where nobody has seen that its server went away; else fails.
    fn again(&self, mut statement: Statement, error: Error) -> Result<Statement> {
        let Some(server) = self.session.server() else { return Err(error) };
        let known = statement.known.take();
        if !is_gone(&error) {
            // The server may have said what is wrong, and can be asked again.
            known.into_iter().for_each(|known| server.put_back(known));
            return Err(error);
        }
        known.into_iter().for_each(|known| server.avoid(&known.connection));
        if !statement.written.is_query || statement.is_second_try || statement.is_seen {
            return Err(error);
        }
        count_anew(&statement.ctx);
        Ok(Statement { is_second_try: true, stage: Stage::Before(Before::Next), ..statement })
    }
}

/// A connection that was opened for a conversation.
pub struct Opened(Known);

impl Statement {
    /// Writes what is to be written next; false where it is the server's turn.
    fn writes(&mut self, server: &Server, output: &mut Output) -> Result<bool> {
        let Some(known) = &mut self.known else { return Ok(false) };
        match &mut self.stage {
            Stage::Before(before @ Before::Next) => {
                if let Some((number, request)) = server.unknown(known, &settings(&self.ctx)) {
                    known.connection.send_prepared(&request)?;
                    *before = Before::Kept(number);
                    return Ok(true);
                }
                let request = request(&self.resolved, server, &self.ctx)?;
                if let Some(preparation) = known.connection.preparation(&request)? {
                    known.connection.send_prepared(&preparation)?;
                    *before = Before::Settings(request);
                } else {
                    known.connection.send_prepared(&request)?;
                    let inserts = self.data.is_some();
                    self.stage = if inserts { Stage::Columns } else { Stage::Query(Collected::default()) };
                }
                Ok(true)
            }
            Stage::Insert(next, schema) => {
                match next()? {
                    Some(block) => {
                        output.rows_written += block.n_rows() as u64;
                        output.bytes_written += block.memory() as u64;
                        let rows = chalet_client::Rows { schema: schema.clone(), block };
                        known.connection.queue_rows(Some(&rows))?;
                    }
                    None => {
                        known.connection.queue_rows(None)?;
                        self.stage = Stage::End;
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The server has said all; is that the end of the statement?
    fn stage_ends(&mut self) -> Result<bool> {
        let Some(known) = &mut self.known else { return Ok(true) };
        match &mut self.stage {
            Stage::Before(before) => {
                match std::mem::replace(before, Before::Next) {
                    Before::Kept(number) => known.known = number,
                    Before::Settings(request) => known.connection.prepared(&request),
                    Before::Next => {}
                }
                Ok(false)
            }
            Stage::Query(_) | Stage::End => Ok(true),
            Stage::Columns | Stage::Insert(..) => {
                bail!(
                    UNEXPECTED_PACKET_FROM_SERVER,
                    "The server {} wants no rows for the statement: {}",
                    known.connection.peer(),
                    self.text
                )
            }
        }
    }

    /// What a packet says; rows where they are handed out.
    fn take(&mut self, packet: Packet, server: &Server, streams: bool) -> Result<Option<Rows>> {
        match (&mut self.stage, packet) {
            (_, Packet::Progress(progress)) => count(&progress, &self.ctx),
            (Stage::Query(_), Packet::Data(rows)) if streams => {
                if rows.block.is_empty() {
                    return Ok(None);
                }
                self.is_seen = true;
                let header = rows_header(&rows.schema, server, &self.ctx);
                return Ok(Some(Rows { blocks: vec![rows.block], ..header }));
            }
            (Stage::Query(collected), packet) => collected.take(packet, server, &self.ctx)?,
            (Stage::Columns, Packet::Data(rows)) => {
                let data = self.data.take().ok_or_else(|| err!(LOGICAL_ERROR, "An INSERT without data"))?;
                let blocks = blocks(&self.text, data, &rows.schema, server, &self.ctx)?;
                self.stage = Stage::Insert(blocks, rows.schema);
            }
            _ => {}
        }
        Ok(None)
    }
}
