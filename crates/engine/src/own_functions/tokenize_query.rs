//! `tokenizeQuery`: the tokens of a query with their places, white space and comments among them.

use chalet_base::{Result, ensure};
use chalet_columns::{Buf, Data};
use chalet_columns::{Column, List, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_functions::plain::Plain;
use chalet_syntax::lexer::{LexError, Lexer, TokenKind};
use chalet_types::{DataType, EnumValues, TupleField};
use std::borrow::Cow;
use std::sync::Arc;

/// The kinds of tokens, in the order of their numbers.
const KINDS: [&str; 54] = [
    "Whitespace",
    "Comment",
    "BareWord",
    "Number",
    "StringLiteral",
    "QuotedIdentifier",
    "OpeningRoundBracket",
    "ClosingRoundBracket",
    "OpeningSquareBracket",
    "ClosingSquareBracket",
    "OpeningCurlyBrace",
    "ClosingCurlyBrace",
    "Comma",
    "Semicolon",
    "VerticalDelimiter",
    "Dot",
    "Asterisk",
    "HereDoc",
    "DollarSign",
    "Plus",
    "Minus",
    "Slash",
    "Percent",
    "Arrow",
    "QuestionMark",
    "Colon",
    "Caret",
    "DoubleColon",
    "Equals",
    "NotEquals",
    "Less",
    "Greater",
    "LessOrEquals",
    "GreaterOrEquals",
    "Spaceship",
    "PipeMark",
    "PipeOperator",
    "Concatenation",
    "Tilde",
    "TildeAsterisk",
    "NotTilde",
    "NotTildeAsterisk",
    "At",
    "DoubleAt",
    "EndOfStream",
    "Error",
    "ErrorMultilineCommentIsNotClosed",
    "ErrorSingleQuoteIsNotClosed",
    "ErrorDoubleQuoteIsNotClosed",
    "ErrorBackQuoteIsNotClosed",
    "ErrorSingleExclamationMark",
    "ErrorSinglePipeMark",
    "ErrorWrongNumber",
    "ErrorMaxQuerySizeExceeded",
];

const WHITESPACE: i8 = 0;
const COMMENT: i8 = 1;

/// The number of a token's kind; `text` is what it stands on.
fn number(kind: TokenKind, text: &str) -> i8 {
    use TokenKind::*;
    match kind {
        Word => 2,
        Number => 3,
        String | EncodedString => 4,
        QuotedIdent => 5,
        LParen => 6,
        RParen => 7,
        LBracket => 8,
        RBracket => 9,
        LBrace => 10,
        RBrace => 11,
        Comma => 12,
        Semicolon => 13,
        VerticalDelimiter => 14,
        Dot => 15,
        Asterisk => 16,
        Heredoc => 17,
        Plus => 19,
        Minus => 20,
        Slash => 21,
        Percent => 22,
        Arrow => 23,
        Question => 24,
        Colon => 25,
        Caret => 26,
        DoubleColon => 27,
        Equals => 28,
        NotEquals => 29,
        Less => 30,
        Greater => 31,
        LessOrEquals => 32,
        GreaterOrEquals => 33,
        Spaceship => 34,
        Pipe => 36,
        Concatenation => 37,
        Tilde => 38,
        TildeAsterisk => 39,
        NotTilde => 40,
        NotTildeAsterisk => 41,
        At => 42,
        DoubleAt => 43,
        End => 44,
        Error(LexError::UnclosedComment) => 46,
        Error(LexError::UnclosedString) => 47,
        Error(LexError::UnclosedDoubleQuote) => 48,
        Error(LexError::UnclosedBackQuote) => 49,
        Error(LexError::Unrecognized) => match text {
            "$" => 18,
            "|" => 35,
            "!" => 50,
            _ if text.starts_with(|c: char| c.is_ascii_digit()) => 52,
            _ => 45,
        },
    }
}

/// White space and comments, which the parser's tokens leave out, of `text` that begins at `start`.
fn between(text: &str, start: usize, tokens: &mut Vec<(u64, u64, i8)>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let begins = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
        let (len, kind) = if begins(&["--", "//", "#"]) {
            (rest.find('\n').unwrap_or(rest.len()), COMMENT)
        } else if begins(&["/*"]) {
            (closed(rest), COMMENT)
        } else {
            let goes_on = |tail: &str| !["--", "//", "#", "/*"].iter().any(|word| tail.starts_with(word));
            let len = rest.char_indices().find(|&(i, _)| !goes_on(&rest[i..])).map_or(rest.len(), |(i, _)| i);
            (len, WHITESPACE)
        };
        tokens.push(((start + at) as u64, (start + at + len) as u64, kind));
        at += len;
    }
}

/// The length of a comment that begins here; comments nest.
fn closed(text: &str) -> usize {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 && at < text.len() {
        match text.as_bytes().get(at..at + 2) {
            Some(b"/*") => (at, depth) = (at + 2, depth + 1),
            Some(b"*/") => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at
}

/// Bytes that are no text stand for errors, one by one.
fn readable(query: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(query) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut text = String::with_capacity(query.len());
            for chunk in query.utf8_chunks() {
                text.push_str(chunk.valid());
                chunk.invalid().iter().for_each(|_| text.push('\u{1}'));
            }
            Cow::Owned(text)
        }
    }
}

fn tokens(query: &[u8], tokens: &mut Vec<(u64, u64, i8)>) {
    let text = readable(query);
    let mut lexer = Lexer::new(&text);
    let mut end = 0;
    loop {
        let token = lexer.next_token();
        let (start, after) = (token.start as usize, token.end as usize);
        between(&text[end..start], end, tokens);
        if token.kind == TokenKind::End {
            return;
        }
        tokens.push((start as u64, after as u64, number(token.kind, &text[start..after])));
        end = after;
    }
}

fn result_type() -> Result<DataType> {
    let names = KINDS.iter().enumerate().map(|(number, name)| ((*name).into(), number as i16));
    let kind = DataType::Enum8(Arc::new(EnumValues::new(names.collect())?));
    let field = |name: &str, ty: DataType| TupleField { name: Some(name.into()), ty };
    let fields = vec![field("begin", DataType::UInt64), field("end", DataType::UInt64), field("type", kind)];
    Ok(DataType::Tuple(fields.into()).array())
}

pub(super) static FUNCTION: Plain = Plain {
    record: Record {
        name: "tokenizeQuery",
        summary: "The tokens of a query: where each begins and ends, and what it is. White space and comments are tokens too.",
        syntax: "tokenizeQuery(query)",
        examples: &[Example {
            sql: "SELECT tokenizeQuery('1+a')",
            result: "[(0,1,'Number'),(1,2,'Plus'),(2,3,'BareWord')]",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        ensure!(
            args[0].ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'query' to function '{name}'. Expected: String, got: {}",
            args[0].ty
        );
        Ok(result_type()?.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let (mut all, mut offsets) = (Vec::new(), vec![0i64]);
        for query in call.vector(0).strings()?.iter() {
            tokens(query, &mut all);
            offsets.push(all.len() as i64);
        }
        let len = all.len();
        let begins: Vec<u64> = all.iter().map(|token| token.0).collect();
        let ends: Vec<u64> = all.iter().map(|token| token.1).collect();
        let kinds: Vec<i8> = all.iter().map(|token| token.2).collect();
        let fields = vec![Vector::from(begins), Vector::from(ends), Vector::from(kinds)];
        let values = Vector::from(Data::Struct(Struct { fields, len }));
        let list = List { offsets: Buf::from_vec(offsets), values: Arc::new(values) };
        Ok(Vector::from(Data::List(list)).into())
    },
};
