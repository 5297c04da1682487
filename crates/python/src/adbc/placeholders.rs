//! `?` of a statement as parameters of the engine, and what else its tokens tell of parameters.

use chalet_engine::lexer::{Lexer, Token, TokenKind};
use chalet_engine::split::split_statements;

/// All tokens of a text.
fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let mut lexer = Lexer::new(text);
    std::iter::from_fn(move || {
        let token = lexer.next_token();
        (token.kind != TokenKind::End).then_some(token)
    })
}

/// Does `{name:Type}` stand in the text, for some of these names?
pub fn names_one_of(text: &str, names: &[String]) -> bool {
    let all: Vec<Token> = tokens(text).collect();
    all.windows(3).any(|three| {
        let word = &text[three[1].start as usize..three[1].end as usize];
        three[0].kind == TokenKind::LBrace
            && three[2].kind == TokenKind::Colon
            && names.iter().any(|name| name == word)
    })
}

/// How many `?` there are.
pub fn count(text: &str) -> usize {
    tokens(text).filter(|token| token.kind == TokenKind::Question).count()
}

/// The text with other texts in place of its `?`.
pub fn replaced(text: &str, with: &[String]) -> String {
    let mut made = String::with_capacity(text.len());
    let mut last = 0;
    let marks = tokens(text).filter(|token| token.kind == TokenKind::Question);
    for (token, with) in marks.zip(with) {
        made.push_str(&text[last..token.start as usize]);
        made.push_str(with);
        last = token.end as usize;
    }
    made.push_str(&text[last..]);
    made
}

/// `INSERT INTO t (a, b)` of `INSERT INTO t (a, b) VALUES (?, ?)` with so many `?`; none for any other statement.
pub fn insert_head(text: &str, marks: usize) -> Option<&str> {
    let [piece] = &split_statements(text)[..] else { return None };
    let data = piece.data.clone()?;
    let head = text[piece.range.start..data.start].trim_end();
    let word = head.len().checked_sub("VALUES".len())?;
    if !head.is_char_boundary(word) || !head[word..].eq_ignore_ascii_case("VALUES") {
        return None;
    }
    let kinds: Vec<TokenKind> = tokens(&text[data]).map(|token| token.kind).collect();
    let mut wanted = vec![TokenKind::LParen];
    for mark in 0..marks {
        if mark > 0 {
            wanted.push(TokenKind::Comma);
        }
        wanted.push(TokenKind::Question);
    }
    wanted.push(TokenKind::RParen);
    (kinds == wanted).then(|| &head[..word])
}
