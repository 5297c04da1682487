//! A position in text, and the questions that readers ask there.

use chalet_base::{Error, Result, err};

/// Text being read. Readers stop behind the value they read.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// What is left.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    #[inline(always)]
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    #[inline(always)]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Steps over bytes that were looked at.
    #[inline(always)]
    pub fn advance(&mut self, n: usize) {
        debug_assert!(self.at + n <= self.bytes.len());
        self.at = (self.at + n).min(self.bytes.len());
    }

    /// Steps over a byte if it is next.
    #[inline(always)]
    pub fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Steps over a word in any case if it is next.
    pub fn accept_word(&mut self, word: &[u8]) -> bool {
        let found = self.rest().get(..word.len()).is_some_and(|next| next.eq_ignore_ascii_case(word));
        if found {
            self.at += word.len();
        }
        found
    }

    /// Steps over exactly these bytes if they are next.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> bool {
        let found = self.rest().starts_with(bytes);
        if found {
            self.at += bytes.len();
        }
        found
    }

    #[inline]
    pub fn skip_whitespace(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)) {
            self.at += 1;
        }
    }

    /// Fails unless the byte is next.
    #[inline]
    pub fn expect(&mut self, byte: u8) -> Result<()> {
        if self.accept(byte) { Ok(()) } else { Err(self.expected(&[byte])) }
    }

    pub fn expect_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.accept_bytes(bytes) { Ok(()) } else { Err(self.expected(bytes)) }
    }

    /// The error that something else stands here.
    #[cold]
    pub fn expected(&self, wanted: &[u8]) -> Error {
        if self.is_at_end() {
            return err!(
                CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                "Cannot parse input: expected {} at end of stream",
                shown(wanted)
            );
        }
        let next = &self.rest()[..self.rest().len().min(100)];
        err!(
            CANNOT_PARSE_INPUT_ASSERTION_FAILED,
            "Cannot parse input: expected {} before: {}",
            shown(wanted),
            shown(next)
        )
    }

    /// The bytes up to the first for which `stop` holds, or to the end.
    #[inline]
    pub fn take_until(&mut self, stop: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let len = rest.iter().position(|&b| stop(b)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// A cursor over the next bytes up to the first for which `stop` holds.
    pub fn limited(&self, stop: impl Fn(u8) -> bool) -> Cursor<'a> {
        Cursor { bytes: Cursor::take_until(&mut self.clone(), stop), at: 0 }
    }
}

/// Text in single quotes with escapes, as messages show it.
pub fn shown(text: &[u8]) -> String {
    let mut out = Vec::new();
    crate::write::escape::quoted(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

/// Text as it is, as far as it is UTF-8.
pub fn plain(text: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(text)
}
