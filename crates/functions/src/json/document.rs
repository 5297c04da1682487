//! A JSON document as a flat list of nodes. Strict like the kernel's parser: a document with any fault is no document.

use std::ops::Range;

/// Containers nest at most this deep.
const MAX_DEPTH: usize = 1024;

/// A value. The nodes of a container's content follow its own, in order; in an object keys and values alternate.
#[derive(Clone, Copy, Debug)]
pub enum Node {
    Null,
    Bool(bool),
    /// Negative integers that fit.
    Int(i64),
    /// Other integers that fit.
    UInt(u64),
    Float(f64),
    /// An integer of too many digits, as it stands in the text.
    Big(Span),
    Str(Span),
    Array {
        /// Elements.
        len: u32,
        /// The first node behind the content.
        end: u32,
    },
    Object {
        /// Pairs.
        len: u32,
        end: u32,
    },
}

/// Bytes of [`Document::text`].
#[derive(Clone, Copy, Debug)]
pub struct Span {
    start: u32,
    end: u32,
}

/// A parsed document; kept between rows, so that its memory is.
#[derive(Default)]
pub struct Document {
    nodes: Vec<Node>,
    /// What strings and big integers say, without escapes.
    text: Vec<u8>,
    open: Vec<Open>,
}

/// A container whose end has not come yet.
struct Open {
    node: usize,
    is_object: bool,
    len: u32,
}

/// A value of a document.
#[derive(Clone, Copy)]
pub struct Element<'a> {
    document: &'a Document,
    index: usize,
}

impl Document {
    /// Parses the whole of a text; `None` when it is not one JSON value.
    pub fn parse(&mut self, source: &[u8]) -> Option<Element<'_>> {
        self.nodes.clear();
        self.text.clear();
        self.open.clear();
        // Offsets are 32 bits wide.
        if source.len() > u32::MAX as usize / 2 || std::str::from_utf8(source).is_err() {
            return None;
        }
        Parser { source, at: 0, document: self }.document()?;
        Some(Element { document: self, index: 0 })
    }

    fn span(&self, span: Span) -> &[u8] {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The node behind a value and its content.
    fn after(&self, index: usize) -> usize {
        match self.nodes[index] {
            Node::Array { end, .. } | Node::Object { end, .. } => end as usize,
            _ => index + 1,
        }
    }
}

impl<'a> Element<'a> {
    pub fn node(self) -> Node {
        self.document.nodes[self.index]
    }

    pub fn text(self, span: Span) -> &'a [u8] {
        self.document.span(span)
    }

    /// The string itself, if it is one.
    pub fn as_str(self) -> Option<&'a [u8]> {
        match self.node() {
            Node::Str(span) => Some(self.text(span)),
            _ => None,
        }
    }

    /// The elements of an array; none of anything else.
    pub fn elements(self) -> impl Iterator<Item = Element<'a>> {
        let end = match self.node() {
            Node::Array { end, .. } => end as usize,
            _ => 0,
        };
        let mut next = self.index + 1;
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let element = Element { index: next, ..self };
            next = self.document.after(next);
            Some(element)
        })
    }

    /// The pairs of an object; none of anything else.
    pub fn members(self) -> impl Iterator<Item = (&'a [u8], Element<'a>)> {
        let end = match self.node() {
            Node::Object { end, .. } => end as usize,
            _ => 0,
        };
        let mut next = self.index + 1;
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let key = Element { index: next, ..self }.as_str().unwrap_or_default();
            let value = Element { index: next + 1, ..self };
            next = self.document.after(next + 1);
            Some((key, value))
        })
    }

    /// Elements of an array, pairs of an object.
    pub fn len(self) -> Option<usize> {
        match self.node() {
            Node::Array { len, .. } | Node::Object { len, .. } => Some(len as usize),
            _ => None,
        }
    }
}

struct Parser<'a, 'd> {
    source: &'a [u8],
    at: usize,
    document: &'d mut Document,
}

impl Parser<'_, '_> {
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.source.get(self.at) {
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        let there = self.source.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self, word: &[u8], node: Node) -> Option<()> {
        if !self.source[self.at..].starts_with(word) {
            return None;
        }
        self.at += word.len();
        self.document.nodes.push(node);
        Some(())
    }

    fn document(&mut self) -> Option<()> {
        loop {
            self.skip_space();
            // A value begins here; a container that is not empty stays open.
            match *self.source.get(self.at)? {
                b @ (b'{' | b'[') => {
                    self.at += 1;
                    let is_object = b == b'{';
                    self.document.open.push(Open { node: self.document.nodes.len(), is_object, len: 0 });
                    if self.document.open.len() > MAX_DEPTH {
                        return None;
                    }
                    self.document.nodes.push(Node::Null);
                    self.skip_space();
                    if !self.accept(if is_object { b'}' } else { b']' }) {
                        self.begin_item(is_object)?;
                        continue;
                    }
                    self.close();
                }
                b'"' => {
                    let span = self.string()?;
                    self.document.nodes.push(Node::Str(span));
                }
                b't' => self.word(b"true", Node::Bool(true))?,
                b'f' => self.word(b"false", Node::Bool(false))?,
                b'n' => self.word(b"null", Node::Null)?,
                _ => self.number()?,
            }
            // Behind a value: ends of containers, then a comma and the next value.
            loop {
                self.skip_space();
                let Some(open) = self.document.open.last() else {
                    return (self.at == self.source.len()).then_some(());
                };
                let is_object = open.is_object;
                if self.accept(b',') {
                    self.begin_item(is_object)?;
                    break;
                }
                if !self.accept(if is_object { b'}' } else { b']' }) {
                    return None;
                }
                self.close();
            }
        }
    }

    /// Counts an item of the innermost container, and reads its key.
    fn begin_item(&mut self, is_object: bool) -> Option<()> {
        self.document.open.last_mut()?.len += 1;
        if is_object {
            self.skip_space();
            if self.source.get(self.at) != Some(&b'"') {
                return None;
            }
            let key = self.string()?;
            self.document.nodes.push(Node::Str(key));
            self.skip_space();
            if !self.accept(b':') {
                return None;
            }
        }
        Some(())
    }

    fn close(&mut self) {
        let end = self.document.nodes.len() as u32;
        if let Some(Open { node, is_object, len }) = self.document.open.pop() {
            self.document.nodes[node] =
                if is_object { Node::Object { len, end } } else { Node::Array { len, end } };
        }
    }

    fn keep(&mut self, bytes: Range<usize>) -> Span {
        let start = self.document.text.len() as u32;
        self.document.text.extend_from_slice(&self.source[bytes]);
        Span { start, end: self.document.text.len() as u32 }
    }

    /// A string from its opening quote on.
    fn string(&mut self) -> Option<Span> {
        let end = string(&self.source[self.at + 1..], &mut self.document.text)?;
        self.at += 1 + end.consumed;
        Some(Span { start: end.start as u32, end: self.document.text.len() as u32 })
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        let negative = self.accept(b'-');
        let first = self.at;
        let digits = |parser: &mut Self| {
            let from = parser.at;
            while parser.source.get(parser.at).is_some_and(u8::is_ascii_digit) {
                parser.at += 1;
            }
            parser.at - from
        };
        let whole = digits(self);
        if whole == 0 || whole > 1 && self.source[first] == b'0' {
            return None;
        }
        let mut is_float = false;
        if self.accept(b'.') {
            is_float = true;
            if digits(self) == 0 {
                return None;
            }
        }
        if self.accept(b'e') || self.accept(b'E') {
            is_float = true;
            let _ = self.accept(b'+') || self.accept(b'-');
            if digits(self) == 0 {
                return None;
            }
        }
        let text = std::str::from_utf8(&self.source[start..self.at]).ok()?;
        let node = if is_float {
            Node::Float(text.parse().ok().filter(|x: &f64| x.is_finite())?)
        } else if let Some(x) = text.parse().ok().filter(|_| !negative) {
            Node::UInt(x)
        } else if let Ok(x) = text.parse() {
            Node::Int(x)
        } else {
            Node::Big(self.keep(start..self.at))
        };
        self.document.nodes.push(node);
        Some(())
    }
}

/// A string that was read.
pub struct ReadString {
    /// Where it begins in the output.
    pub start: usize,
    /// Bytes of the source, the closing quote included.
    pub consumed: usize,
}

/// Reads a string behind its opening quote and appends what it says; `None` when it is no valid string of JSON.
pub fn string(source: &[u8], out: &mut Vec<u8>) -> Option<ReadString> {
    let start = out.len();
    let mut at = 0;
    loop {
        let plain = source[at..].iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20)?;
        out.extend_from_slice(&source[at..at + plain]);
        at += plain;
        match source[at] {
            b'"' => return Some(ReadString { start, consumed: at + 1 }),
            b'\\' => at += escape(&source[at..], out)?,
            _ => return None,
        }
    }
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(..4)?;
    digits.iter().try_fold(0, |value, &b| Some(value * 16 + char::from(b).to_digit(16)?))
}

/// Appends what an escape stands for; its length in the source.
fn escape(source: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let plain = match *source.get(1)? {
        b @ (b'"' | b'\\' | b'/') => b,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => {
            let mut code = hex4(&source[2..])?;
            let mut len = 6;
            if (0xd800..0xdc00).contains(&code) {
                let low = source.get(6..8).filter(|next| *next == b"\\u").and_then(|_| hex4(&source[8..]))?;
                let low = low.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                code = 0x10000 + ((code - 0xd800) << 10) + low;
                len = 12;
            }
            let mut buffer = [0; 4];
            out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut buffer).as_bytes());
            return Some(len);
        }
        _ => return None,
    };
    out.push(plain);
    Some(2)
}
