//! Bytes to tokens. Whitespace and comments are skipped here, values are decoded later by `literal`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word without quotes: keyword or identifier.
    Word,
    /// `` `a` `` or `"a"`.
    QuotedIdent,
    Number,
    /// `'...'`.
    String,
    /// `x'4142'` or `b'0101'`.
    EncodedString,
    /// `$tag$...$tag$`.
    Heredoc,
    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    Comma,
    Semicolon,
    Dot,
    Asterisk,
    Plus,
    Minus,
    Slash,
    Percent,
    Arrow,
    Question,
    Colon,
    DoubleColon,
    Equals,
    NotEquals,
    Less,
    Greater,
    LessOrEquals,
    GreaterOrEquals,
    /// `<=>`.
    Spaceship,
    /// `||`.
    Concatenation,
    /// `~`, `~*`, `!~`, `!~*`: regular expressions as PostgreSQL writes them.
    Tilde,
    TildeAsterisk,
    NotTilde,
    NotTildeAsterisk,
    /// `|>`.
    Pipe,
    Caret,
    At,
    DoubleAt,
    /// `\G` of the MySQL client.
    VerticalDelimiter,
    Error(LexError),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexError {
    UnclosedComment,
    UnclosedString,
    UnclosedBackQuote,
    UnclosedDoubleQuote,
    Unrecognized,
}

#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub start: u32,
    pub end: u32,
}

pub struct Lexer<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// After a dot a number is an element index: in `t.1.2` there is no `1.2`.
    after_name_or_close: bool,
    after_dot: bool,
}

fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$'
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Lexer { bytes: text.as_bytes(), pos: 0, after_name_or_close: false, after_dot: false }
    }

    /// Continues at a byte, after inline data that are no tokens.
    pub fn seek(&mut self, pos: usize) {
        self.pos = pos;
        self.after_name_or_close = false;
        self.after_dot = false;
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// The next token that is neither space nor comment.
    pub fn next_token(&mut self) -> Token {
        if let Some(error) = self.skip_space() {
            return error;
        }
        let start = self.pos;
        let kind = self.scan();
        use TokenKind::*;
        self.after_dot = kind == Dot;
        self.after_name_or_close = matches!(kind, RParen | RBracket | RBrace | Word | QuotedIdent | Number);
        Token { kind, start: start as u32, end: self.pos as u32 }
    }

    fn skip_space(&mut self) -> Option<Token> {
        loop {
            let rest = &self.bytes[self.pos..];
            let &first = rest.first()?;
            match first {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.pos += 1,
                b'-' if rest.get(1) == Some(&b'-') => self.skip_line(),
                b'#' if matches!(rest.get(1), Some(b' ' | b'!')) => self.skip_line(),
                b'/' if rest.get(1) == Some(&b'/') => self.skip_line(),
                b'/' if rest.get(1) == Some(&b'*') => {
                    if let Some(error) = self.skip_block_comment() {
                        return Some(error);
                    }
                }
                0x80.. => match unicode_space(rest) {
                    0 => return None,
                    n => self.pos += n,
                },
                _ => return None,
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.pos..];
        self.pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    /// Block comments nest.
    fn skip_block_comment(&mut self) -> Option<Token> {
        let start = self.pos;
        self.pos += 2;
        let mut depth = 1;
        while depth > 0 {
            match (self.bytes.get(self.pos), self.bytes.get(self.pos + 1)) {
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.pos += 2;
                }
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.pos += 2;
                }
                (Some(_), _) => self.pos += 1,
                (None, _) => {
                    let kind = TokenKind::Error(LexError::UnclosedComment);
                    return Some(Token { kind, start: start as u32, end: self.pos as u32 });
                }
            }
        }
        None
    }

    fn take(&mut self, len: usize, kind: TokenKind) -> TokenKind {
        self.pos += len;
        kind
    }

    fn scan(&mut self) -> TokenKind {
        use TokenKind::*;
        let Some(&first) = self.bytes.get(self.pos) else { return End };
        match first {
            b'0'..=b'9' => self.number_or_word(),
            b'\'' => self.quoted(b'\'', String, LexError::UnclosedString),
            b'"' => self.quoted(b'"', QuotedIdent, LexError::UnclosedDoubleQuote),
            b'`' => self.quoted(b'`', QuotedIdent, LexError::UnclosedBackQuote),
            b'(' => self.take(1, LParen),
            b')' => self.take(1, RParen),
            b'[' => self.take(1, LBracket),
            b']' => self.take(1, RBracket),
            b'{' => self.take(1, LBrace),
            b'}' => self.take(1, RBrace),
            b',' => self.take(1, Comma),
            b';' => self.take(1, Semicolon),
            b'.' => {
                // `.5` is a number unless it follows something that has elements, or another point.
                if !self.after_name_or_close && !self.after_dot && self.peek(1).is_ascii_digit() {
                    self.number_or_word()
                } else {
                    self.take(1, Dot)
                }
            }
            b'*' => self.take(1, Asterisk),
            b'+' => self.take(1, Plus),
            b'-' if self.peek(1) == b'>' => self.take(2, Arrow),
            b'-' => self.take(1, Minus),
            b'/' => self.take(1, Slash),
            b'%' => self.take(1, Percent),
            b'?' => self.take(1, Question),
            b':' if self.peek(1) == b':' => self.take(2, DoubleColon),
            b':' => self.take(1, Colon),
            b'=' if self.peek(1) == b'=' => self.take(2, Equals),
            b'=' => self.take(1, Equals),
            b'!' if self.peek(1) == b'=' => self.take(2, NotEquals),
            b'<' if self.peek(1) == b'=' && self.peek(2) == b'>' => self.take(3, Spaceship),
            b'<' if self.peek(1) == b'=' => self.take(2, LessOrEquals),
            b'<' if self.peek(1) == b'>' => self.take(2, NotEquals),
            b'<' => self.take(1, Less),
            b'>' if self.peek(1) == b'=' => self.take(2, GreaterOrEquals),
            b'>' => self.take(1, Greater),
            b'|' if self.peek(1) == b'|' => self.take(2, Concatenation),
            b'|' if self.peek(1) == b'>' => self.take(2, Pipe),
            b'~' if self.peek(1) == b'*' => self.take(2, TildeAsterisk),
            b'~' => self.take(1, Tilde),
            b'!' if self.peek(1) == b'~' && self.peek(2) == b'*' => self.take(3, NotTildeAsterisk),
            b'!' if self.peek(1) == b'~' => self.take(2, NotTilde),
            b'^' => self.take(1, Caret),
            b'@' if self.peek(1) == b'@' => self.take(2, DoubleAt),
            b'@' => self.take(1, At),
            b'\\' if self.peek(1) == b'G' => self.take(2, VerticalDelimiter),
            b'$' => self.heredoc_or_word(),
            0xe2 => self.unicode_quoted(),
            _ if is_word_start(first) => self.word(),
            _ => {
                // The whole character, so that the position after it is on a boundary.
                let len = utf8_len(first).min(self.bytes.len() - self.pos);
                self.take(len, Error(LexError::Unrecognized))
            }
        }
    }

    fn word(&mut self) -> TokenKind {
        let first = self.bytes[self.pos];
        if matches!(first, b'x' | b'X' | b'b' | b'B') && self.peek(1) == b'\'' {
            let digit: fn(&u8) -> bool = if matches!(first, b'x' | b'X') {
                u8::is_ascii_hexdigit
            } else {
                |b| matches!(b, b'0' | b'1')
            };
            let body = &self.bytes[self.pos + 2..];
            let len = body.iter().take_while(|b| digit(b)).count();
            if body.get(len) == Some(&b'\'') {
                return self.take(len + 3, TokenKind::EncodedString);
            }
        }
        let rest = &self.bytes[self.pos..];
        let len = rest.iter().position(|&b| !is_word(b)).unwrap_or(rest.len());
        self.take(len, TokenKind::Word)
    }

    fn digits(&self, mut pos: usize, is_digit: fn(&u8) -> bool) -> usize {
        loop {
            match self.bytes.get(pos) {
                Some(b) if is_digit(b) => pos += 1,
                // One underscore between two digits separates groups.
                Some(b'_')
                    if pos > 0
                        && is_digit(&self.bytes[pos - 1])
                        && self.bytes.get(pos + 1).is_some_and(is_digit) =>
                {
                    pos += 1;
                }
                _ => return pos,
            }
        }
    }

    fn number_or_word(&mut self) -> TokenKind {
        let start = self.pos;
        let at = |p: usize| self.bytes.get(p).copied().unwrap_or(0);
        let mut pos = start;
        if self.after_dot {
            // An element index: digits only, and then maybe the rest of a word (`t.1a`).
            pos = self.digits(pos, u8::is_ascii_digit);
        } else {
            let hex =
                at(pos) == b'0' && matches!(at(pos + 1), b'x' | b'X') && at(pos + 2).is_ascii_hexdigit();
            let bin =
                at(pos) == b'0' && matches!(at(pos + 1), b'b' | b'B') && matches!(at(pos + 2), b'0' | b'1');
            let digit: fn(&u8) -> bool = match (hex, bin) {
                (true, _) => u8::is_ascii_hexdigit,
                (_, true) => |b| matches!(b, b'0' | b'1'),
                _ => u8::is_ascii_digit,
            };
            if hex || bin {
                pos += 2;
            }
            pos = self.digits(pos, digit);
            if !bin && at(pos) == b'.' {
                pos = self.digits(pos + 1, digit);
            }
            let exponent = if hex { [b'p', b'P'] } else { [b'e', b'E'] };
            if !bin && exponent.contains(&at(pos)) {
                let sign = usize::from(matches!(at(pos + 1), b'+' | b'-'));
                if at(pos + 1 + sign).is_ascii_digit() {
                    pos = self.digits(pos + 1 + sign, u8::is_ascii_digit);
                }
            }
        }
        if pos < self.bytes.len() && is_word(self.bytes[pos]) {
            // `1a`, `2024_backup`: an identifier that starts with digits, unless a dot made it a number.
            let word = &self.bytes[start..];
            let len = word.iter().position(|&b| !is_word(b)).unwrap_or(word.len());
            if start + len > pos {
                return self.take(len, TokenKind::Word);
            }
            self.pos = pos;
            let rest = &self.bytes[pos..];
            let len = rest.iter().position(|&b| !is_word(b)).unwrap_or(rest.len());
            return self.take(len, TokenKind::Error(LexError::Unrecognized));
        }
        self.pos = pos;
        TokenKind::Number
    }

    /// A doubled quote and a backslash pair do not end it.
    fn quoted(&mut self, quote: u8, kind: TokenKind, unclosed: LexError) -> TokenKind {
        self.pos += 1;
        loop {
            match self.bytes.get(self.pos) {
                None => return TokenKind::Error(unclosed),
                Some(b'\\') => self.pos = (self.pos + 2).min(self.bytes.len()),
                Some(&b) if b == quote => {
                    self.pos += 1;
                    if self.bytes.get(self.pos) != Some(&quote) {
                        return kind;
                    }
                    self.pos += 1;
                }
                Some(_) => self.pos += 1,
            }
        }
    }

    fn heredoc_or_word(&mut self) -> TokenKind {
        let rest = &self.bytes[self.pos..];
        let name = 1 + rest[1..]
            .iter()
            .position(|&b| !(b.is_ascii_alphanumeric() || b == b'_'))
            .unwrap_or(rest.len() - 1);
        if rest.get(name) == Some(&b'$') {
            let tag = &rest[..=name];
            let body = &rest[tag.len()..];
            if let Some(end) = body.windows(tag.len()).position(|w| w == tag) {
                return self.take(tag.len() * 2 + end, TokenKind::Heredoc);
            }
        }
        if name > 1 {
            let word = rest.iter().position(|&b| !is_word(b)).unwrap_or(rest.len());
            return self.take(word, TokenKind::Word);
        }
        self.take(1, TokenKind::Error(LexError::Unrecognized))
    }

    /// Typographic quotes from word processors: ‘string’ and “identifier”.
    fn unicode_quoted(&mut self) -> TokenKind {
        let rest = &self.bytes[self.pos..];
        let (close, kind, unclosed): (&[u8], _, _) = match rest.get(..3) {
            Some([0xe2, 0x80, 0x98]) => (&[0xe2, 0x80, 0x99], TokenKind::String, LexError::UnclosedString),
            Some([0xe2, 0x80, 0x9c]) => {
                (&[0xe2, 0x80, 0x9d], TokenKind::QuotedIdent, LexError::UnclosedDoubleQuote)
            }
            // The minus sign.
            Some([0xe2, 0x88, 0x92]) => return self.take(3, TokenKind::Minus),
            _ => return self.take(3.min(rest.len()), TokenKind::Error(LexError::Unrecognized)),
        };
        match rest[3..].windows(3).position(|w| w == close) {
            Some(end) => self.take(end + 6, kind),
            None => self.take(rest.len(), TokenKind::Error(unclosed)),
        }
    }
}

fn utf8_len(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// Length of the Unicode space, byte order mark or zero-width character at the start, 0 when there is none.
fn unicode_space(rest: &[u8]) -> usize {
    match rest {
        [0xc2, 0xa0, ..] => 2,
        [0xe1, 0xa0, 0x8e, ..]
        | [0xe2, 0x80, 0x80..=0x8d | 0xa8 | 0xa9 | 0xaf, ..]
        | [0xe2, 0x81, 0x9f | 0xa0, ..]
        | [0xe3, 0x80, 0x80, ..]
        | [0xef, 0xbb, 0xbf, ..] => 3,
        _ => 0,
    }
}
