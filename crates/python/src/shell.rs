//! What a shell asks of the dialect: where statements end, and what the tokens of a text are. Neither runs anything.

use chalet_engine::lexer::{LexError, Lexer, TokenKind};
use chalet_engine::split::{self, End};
use pyo3::prelude::*;

/// Statement, data of an INSERT that follow it, and what ends it.
type Statement = (String, Option<String>, &'static str);

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(split_statements, module)?)?;
    module.add_function(wrap_pyfunction!(tokens, module)?)
}

/// The statements of a text as `(statement, data, end)`. `data` are those of an INSERT, which are also a part of the
/// statement, else None; `end` is "semicolon", "vertical" (`\\G`), "data" or, at the end of the text, "text".
#[pyfunction]
fn split_statements(text: &str) -> Vec<Statement> {
    let pieces = split::split_statements(text).into_iter();
    let told = pieces.map(|piece| {
        let end = match piece.end {
            End::Semicolon => "semicolon",
            End::Vertical => "vertical",
            End::Data => "data",
            End::Text => "text",
        };
        (text[piece.range].to_owned(), piece.data.map(|data| text[data].to_owned()), end)
    });
    told.collect()
}

/// All of a text as `(kind, text)`; the kinds are "space", "comment", "word", "name" (in quotes), "number", "string",
/// "symbol", "error", and "unclosed" for a string, name or comment that the text ends in.
#[pyfunction]
fn tokens(text: &str) -> Vec<(&'static str, &str)> {
    let mut lexer = Lexer::new(text);
    let mut list = Vec::new();
    let mut last = 0;
    loop {
        let token = lexer.next_token();
        let (start, end) = (token.start as usize, token.end as usize);
        if start > last {
            let between = &text[last..start];
            list.push((if between.trim().is_empty() { "space" } else { "comment" }, between));
        }
        if token.kind == TokenKind::End {
            return list;
        }
        list.push((kind_name(token.kind), &text[start..end]));
        last = end;
    }
}

fn kind_name(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::Word => "word",
        TokenKind::QuotedIdent => "name",
        TokenKind::Number => "number",
        TokenKind::String | TokenKind::EncodedString | TokenKind::Heredoc => "string",
        TokenKind::Error(LexError::Unrecognized) => "error",
        TokenKind::Error(_) => "unclosed",
        _ => "symbol",
    }
}
