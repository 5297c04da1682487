//! A lexer of Rust that is just good enough for the checks: they must not be fooled by comments and strings.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word or a number.
    Word(String),
    /// The inside of a string literal as written; escapes stay as they are.
    Text(String),
    Symbol(char),
}

#[derive(Clone, Debug)]
pub struct Placed {
    pub token: Token,
    /// From 1.
    pub line: usize,
}

/// The tokens of a source, without comments, lifetimes and character literals.
pub fn tokens(source: &str) -> Vec<Placed> {
    Lexer { rest: source.chars().collect(), at: 0, line: 1, out: Vec::new() }.run()
}

/// The tokens before the file's test module.
pub fn code_tokens(source: &str) -> Vec<Placed> {
    let mut all = tokens(source);
    let test = ["#", "[", "cfg", "(", "test", ")", "]"];
    let found = all.windows(test.len()).position(|w| w.iter().zip(test).all(|(t, expected)| t.is(expected)));
    if let Some(end) = found {
        all.truncate(end);
    }
    all
}

impl Placed {
    pub fn is(&self, expected: &str) -> bool {
        match &self.token {
            Token::Word(word) => word == expected,
            Token::Symbol(symbol) => expected.len() == 1 && expected.starts_with(*symbol),
            Token::Text(_) => false,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.token {
            Token::Text(text) => Some(text),
            _ => None,
        }
    }
}

struct Lexer {
    rest: Vec<char>,
    at: usize,
    line: usize,
    out: Vec<Placed>,
}

impl Lexer {
    fn run(mut self) -> Vec<Placed> {
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('/')) => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.skip();
                    }
                }
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('\'', _) => self.quote(),
                _ if c.is_alphanumeric() || c == '_' => self.word(),
                _ => {
                    if !c.is_whitespace() {
                        self.out.push(Placed { token: Token::Symbol(c), line: self.line });
                    }
                    self.skip();
                }
            }
        }
        self.out
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn skip(&mut self) {
        if self.peek(0) == Some('\n') {
            self.line += 1;
        }
        self.at += 1;
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('*')) => {
                    depth += 1;
                    self.at += 2;
                }
                ('*', Some('/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.skip(),
            }
        }
    }

    fn string(&mut self) {
        let (line, start) = (self.line, self.at + 1);
        self.skip();
        while self.peek(0).is_some_and(|c| c != '"') {
            if self.peek(0) == Some('\\') {
                self.skip();
            }
            self.skip();
        }
        self.push_text(line, start, self.at);
        self.skip();
    }

    /// At `#`s or `"` after `r` or `br`.
    fn raw_string(&mut self) {
        let line = self.line;
        let mut hashes = 0;
        while self.peek(0) == Some('#') {
            hashes += 1;
            self.skip();
        }
        self.skip();
        let start = self.at;
        while self.peek(0).is_some() {
            if self.peek(0) == Some('"') && (1..=hashes).all(|i| self.peek(i) == Some('#')) {
                break;
            }
            self.skip();
        }
        self.push_text(line, start, self.at);
        self.at += 1 + hashes;
    }

    fn push_text(&mut self, line: usize, start: usize, end: usize) {
        let end = end.min(self.rest.len());
        let text = self.rest[start.min(end)..end].iter().collect();
        self.out.push(Placed { token: Token::Text(text), line });
    }

    /// A character literal or a lifetime: neither is of interest.
    fn quote(&mut self) {
        match (self.peek(1), self.peek(2)) {
            (Some('\\'), _) => {
                self.at += 3;
                while self.peek(0).is_some_and(|c| c != '\'') {
                    self.skip();
                }
                self.skip();
            }
            (Some(_), Some('\'')) => {
                self.skip();
                self.skip();
                self.skip();
            }
            _ => {
                self.skip();
                while self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    self.skip();
                }
            }
        }
    }

    fn word(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.at += 1;
        }
        let word: String = self.rest[start..self.at].iter().collect();
        let raw = matches!(word.as_str(), "r" | "br" | "cr");
        let opens = |c: Option<char>| c == Some('"') || c == Some('#');
        match self.peek(0) {
            next if raw && opens(next) && (next == Some('"') || opens(self.peek(1))) => self.raw_string(),
            Some('"') if word == "b" || word == "c" => self.string(),
            _ => self.out.push(Placed { token: Token::Word(word), line: self.line }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(source: &str) -> String {
        let mut out = String::new();
        for placed in code_tokens(source) {
            match placed.token {
                Token::Word(word) => out += &word,
                Token::Text(text) => out += &format!("<{text}>"),
                Token::Symbol(symbol) => out.push(symbol),
            }
            out.push(' ');
        }
        out
    }

    #[test]
    fn comments_and_literals_do_not_leak() {
        assert_eq!(printed("a /* \"b\" /* c */ d */ e // \"f\"\n\"g\\\"h\""), "a e <g\\\"h> ");
        assert_eq!(printed(r###"r#"x "y" z"# b"w" '"' '\'' 'a 1"###), "<x \"y\" z> <w> 1 ");
    }

    #[test]
    fn tests_are_cut_off() {
        assert_eq!(printed("fn a() {}\n#[cfg(test)]\nmod tests { \"b\" }"), "fn a ( ) { } ");
    }

    #[test]
    fn lines_count_from_one() {
        let found = tokens("a\n\"b\nc\"\nd");
        let lines: Vec<usize> = found.iter().map(|p| p.line).collect();
        assert_eq!(lines, [1, 2, 4]);
    }
}
