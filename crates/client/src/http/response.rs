//! A response as packets: its head, its rows block by block, and how it ends.

use super::body::Body;
use super::failure;
use super::head::Head;
use crate::bounded::LONG;
use crate::channel::Channel;
use crate::compression::{FrameReader, Unpacked};
use crate::packet::{Dialect, Packet, Progress, Rows};
use chalet_base::{Error, Result, bail, codes, err};
use chalet_formats::Schema;
use chalet_formats::binary::Source;
use chalet_formats::native::{BlockLayout, read_block_of};
use std::io::Read;
use std::time::Duration;

/// What a response gives next.
pub(super) enum Outcome {
    Packet(Packet),
    /// The response has ended: were there rows? And the columns that were asked for.
    Ended(bool, Option<Schema>),
    /// The server has told an error.
    Failed(Error),
}

/// A response that is read.
pub(super) struct Response {
    /// The revision of the blocks; none where the body has columns alone.
    layout: Option<u64>,
    is_compressed: bool,
    /// How long the server keeps the connection, if it says so; none where it does not keep it.
    pub keep_alive: Option<Option<Duration>>,
    /// Marks an error behind rows.
    tag: String,
    stage: Stage,
    /// Bytes of the body without compression.
    unpacked: Unpacked,
    /// So many bytes were not enough for a block.
    short_of: usize,
    has_blocks: bool,
    /// The end of the block that was read last: where a server broke off, its error may have been taken for values.
    before: Vec<u8>,
    progress: Option<Progress>,
}

enum Stage {
    Head,
    Rows,
    /// The body is an error, of a response with this status.
    Error(u16),
    /// The rows cannot be read: the server may tell why at the end.
    Broken(Error),
    Ended,
}

/// Bytes of a body that are looked through for an error.
const TAIL: usize = 256 << 10;
/// Bytes of the block before it.
const BEFORE: usize = 4 << 10;

impl Response {
    pub fn new(layout: Option<u64>, is_compressed: bool) -> Response {
        Response {
            layout,
            is_compressed,
            keep_alive: None,
            tag: String::new(),
            stage: Stage::Head,
            unpacked: Unpacked::default(),
            short_of: 0,
            has_blocks: false,
            before: Vec::new(),
            progress: None,
        }
    }

    /// The same once all was told.
    pub fn ended(self) -> Response {
        Response { stage: Stage::Ended, ..self }
    }

    /// What comes next; none where nobody waits for it.
    pub fn read(&mut self, channel: &mut Channel) -> Result<Option<Outcome>> {
        loop {
            match &self.stage {
                Stage::Head => {
                    let Some(head) = channel.attempt(Head::read)? else { return Ok(None) };
                    self.begin(&head, channel)?;
                }
                Stage::Ended => return Ok(Some(Outcome::Ended(self.has_blocks, None))),
                Stage::Rows => {
                    if let Some(progress) = self.progress.take() {
                        return Ok(Some(Outcome::Packet(Packet::Progress(progress))));
                    }
                    if let Some(rows) = self.block(false) {
                        return Ok(Some(Outcome::Packet(Packet::Data(rows))));
                    }
                    if !matches!(self.stage, Stage::Rows) {
                        continue;
                    }
                    match self.more(channel) {
                        Ok(None) => return Ok(None),
                        Ok(Some(true)) => {}
                        Ok(Some(false)) => return self.end(channel).map(Some),
                        Err(error) => self.breaks(error, channel),
                    }
                }
                Stage::Error(_) | Stage::Broken(_) => match self.more(channel) {
                    Ok(None) => return Ok(None),
                    Ok(Some(true)) => {
                        let excess = self.unpacked.rest().len().saturating_sub(LONG);
                        self.unpacked.advance(excess);
                    }
                    Ok(Some(false)) => return self.fail(channel).map(Some),
                    // It was no frame: what follows is read as it is.
                    Err(error) if self.is_packed() => self.breaks(error, channel),
                    Err(error) => {
                        self.breaks(error, channel);
                        return self.fail(channel).map(Some);
                    }
                },
            }
        }
    }

    fn begin(&mut self, head: &Head, channel: &mut Channel) -> Result<()> {
        // What precedes the response itself.
        if head.status == 100 {
            return Ok(());
        }
        let is_chunked =
            head.get("Transfer-Encoding").is_some_and(|text| text.eq_ignore_ascii_case("chunked"));
        let length = head.get("Content-Length").and_then(|text| text.parse().ok());
        let body = match length {
            _ if is_chunked => Body::of_chunks(),
            Some(length) => Body::of_length(length),
            None => bail!(
                NETWORK_ERROR,
                "The response of {} (status {}) does not say where it ends",
                channel.peer(),
                head.status
            ),
        };
        channel.begin_body(body);
        let closes = head.get("Connection").is_some_and(|text| text.eq_ignore_ascii_case("close"));
        let time = head.get("Keep-Alive").and_then(|text| {
            let seconds = text.split(',').find_map(|part| part.trim().strip_prefix("timeout="))?;
            // A request that is on its way when the server goes is lost.
            Some(Duration::from_secs(seconds.trim().parse().ok()?).saturating_sub(Duration::from_millis(500)))
        });
        self.keep_alive = (!closes).then_some(time);
        self.tag = head.get("X-ClickHouse-Exception-Tag").unwrap_or_default().to_owned();
        self.progress = head.get("X-ClickHouse-Summary").map(progress);
        self.stage = if head.status == 200 && head.get("X-ClickHouse-Exception-Code").is_none() {
            Stage::Rows
        } else {
            // The text of an error is never compressed, or it is told as the rows would be.
            Stage::Error(head.status)
        };
        Ok(())
    }

    /// Does the body come in frames?
    fn is_packed(&self) -> bool {
        self.is_compressed && !matches!(self.stage, Stage::Error(_))
    }

    /// Takes what arrives of the body; false at its end, none where nobody waits.
    fn more(&mut self, channel: &mut Channel) -> Result<Option<bool>> {
        let is_packed = self.is_packed();
        let unpacked = &mut self.unpacked;
        unpacked.compact();
        channel.attempt(|channel| {
            if !channel.has_more()? {
                return Ok(false);
            }
            if is_packed {
                unpacked.read_frame(channel)?;
            } else {
                let n = channel.at_hand().len();
                unpacked.put(channel.take(n)?);
            }
            Ok(true)
        })
    }

    /// A block out of what has arrived, if it is all there.
    fn block(&mut self, is_last: bool) -> Option<Rows> {
        let revision = self.layout?;
        let known = self.unpacked.rest().len();
        // It is not tried anew for each byte: what is read twice is a half at most.
        if known == 0 || (!is_last && known < self.short_of + self.short_of / 2) {
            return None;
        }
        let mut part = Part { bytes: self.unpacked.rest(), at: 0, is_short: false };
        let read = if revision > 0 {
            Dialect { revision, compression: None }.read_body(&mut part)
        } else {
            read_block_of(&mut part, BlockLayout::FILE).map(|(schema, block)| Rows { schema, block })
        };
        let (is_short, taken) = (part.is_short, part.at);
        match read {
            Ok(rows) if rows.schema.is_empty() => {
                self.stage = Stage::Broken(err!(INCORRECT_DATA, "The server sent a block without columns"));
                None
            }
            Ok(rows) => {
                let read = &self.unpacked.rest()[..taken];
                self.before = read[taken.saturating_sub(BEFORE)..].to_vec();
                self.unpacked.advance(taken);
                self.short_of = 0;
                self.has_blocks = true;
                Some(rows)
            }
            Err(_) if is_short && !is_last => {
                self.short_of = known;
                None
            }
            Err(error) => {
                let error = if is_short {
                    err!(CANNOT_READ_ALL_DATA, "Cannot read all data: the rows end amid a block")
                } else {
                    error
                };
                self.stage = Stage::Broken(error);
                None
            }
        }
    }

    /// The body has ended.
    fn end(&mut self, channel: &mut Channel) -> Result<Outcome> {
        if self.layout.is_none() {
            let columns = columns(self.unpacked.rest());
            channel.end_body();
            return Ok(Outcome::Ended(false, Some(columns?)));
        }
        if let Some(rows) = self.block(true) {
            return Ok(Outcome::Packet(Packet::Data(rows)));
        }
        if let Stage::Broken(_) = self.stage {
            return self.fail(channel);
        }
        channel.end_body();
        self.stage = Stage::Ended;
        Ok(Outcome::Ended(self.has_blocks, None))
    }

    /// The rows cannot be read any further, or the connection has broken.
    fn breaks(&mut self, error: Error, channel: &mut Channel) {
        // What is no frame is the text of an error, maybe.
        self.unpacked.put(channel.at_hand());
        channel.drop_input();
        match self.stage {
            Stage::Error(_) => {}
            Stage::Broken(_) => self.is_compressed = false,
            _ => {
                self.is_compressed = false;
                self.stage = Stage::Broken(error);
            }
        }
    }

    /// What the server has told at the end of a body that has no rows, or not all of them.
    fn fail(&mut self, channel: &mut Channel) -> Result<Outcome> {
        let host = channel.peer().clone();
        let mut packed = Vec::new();
        let mut rest = self.unpacked.rest();
        // Old servers compress the text of an error as they would have compressed rows.
        if self.is_compressed && !rest.starts_with(b"Code: ") {
            let unpacked = FrameReader::new(rest).take(LONG as u64).read_to_end(&mut packed);
            rest = if unpacked.is_ok() && !packed.is_empty() { &packed } else { rest };
        }
        let tail = [&self.before, &rest[rest.len().saturating_sub(TAIL)..]].concat();
        let told = match &self.stage {
            Stage::Error(_) => failure::of_text(&String::from_utf8_lossy(rest), &host)
                .or_else(|| failure::behind_rows(&tail, &self.tag, &host)),
            _ => failure::behind_rows(&tail, &self.tag, &host),
        };
        let is_over = channel.body_is_over();
        if is_over {
            channel.end_body();
        } else {
            self.keep_alive = None;
        }
        match (told, &self.stage) {
            (Some(error), _) => Ok(Outcome::Failed(error)),
            (None, Stage::Broken(error)) => Err(error.clone()),
            (None, Stage::Error(status)) => {
                let text: String = String::from_utf8_lossy(rest).trim().chars().take(300).collect();
                Ok(Outcome::Failed(Error::new(
                    codes::RECEIVED_ERROR_FROM_REMOTE_IO_SERVER,
                    format!(
                        "Received error from remote server {host}. HTTP status code: {status}, body: {text}"
                    ),
                )))
            }
            _ => bail!(LOGICAL_ERROR, "No error of {host}"),
        }
    }
}

/// `{"read_rows":"1", ...}`, of which numbers alone are wanted.
fn progress(text: &str) -> Progress {
    let number = |name: &str| {
        let rest = text.split_once(&format!("\"{name}\":"))?.1.trim_start().trim_start_matches('"');
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let number = |name| number(name).unwrap_or(0);
    Progress {
        rows: number("read_rows"),
        bytes: number("read_bytes"),
        total_rows: number("total_rows_to_read"),
        written_rows: number("written_rows"),
        written_bytes: number("written_bytes"),
        elapsed_ns: number("elapsed_ns"),
        ..Progress::default()
    }
}

/// Names and types, as TabSeparatedWithNamesAndTypes begins.
fn columns(bytes: &[u8]) -> Result<Schema> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().map(|line| line.split('\t').map(unescaped));
    let (Some(names), Some(types)) = (lines.next(), lines.next()) else {
        bail!(CANNOT_READ_ALL_DATA, "The server has not told the columns of the result")
    };
    let schema = names.zip(types).map(|(name, ty)| {
        let ty = ty.parse().map_err(|e: Error| e.context(format!("column {name}")))?;
        Ok((name, ty))
    });
    schema.collect()
}

/// A field of TabSeparated.
fn unescaped(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut rest = field.chars();
    while let Some(c) = rest.next() {
        text.push(match c {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('0') => '\0',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => break,
            },
            c => c,
        });
    }
    text
}

/// Bytes of which more may follow.
struct Part<'a> {
    bytes: &'a [u8],
    at: usize,
    /// More was asked for than there is.
    is_short: bool,
}

impl Source for Part<'_> {
    #[inline]
    fn take(&mut self, n: usize) -> Result<&[u8]> {
        if self.bytes.len() - self.at < n {
            self.is_short = true;
            bail!(CANNOT_READ_ALL_DATA, "Cannot read all data");
        }
        let at = self.at;
        self.at += n;
        Ok(&self.bytes[at..at + n])
    }

    fn at_most(&self) -> usize {
        usize::MAX
    }

    fn at_hand(&self) -> &[u8] {
        &self.bytes[self.at..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_no_rows() {
        let known = columns(b"a\tb\\tc\nUInt8\tDateTime(\\'UTC\\')\n").unwrap();
        assert_eq!(known[1].0, "b\tc");
        assert_eq!(known[1].1.to_string(), "DateTime('UTC')");
        assert!(columns(b"a\n").is_err());
        assert!(columns(b"a\nNoType\n").is_err());
    }

    #[test]
    fn summaries() {
        let told = progress(r#"{"read_rows":"10","read_bytes":"80","total_rows_to_read":"x"}"#);
        assert_eq!((told.rows, told.bytes, told.total_rows), (10, 80, 0));
    }
}
