//! `normalizeQuery`, `normalizedQueryHash` and their variants: what queries that differ in literals have in common.

use chalet_base::{Result, ensure};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_functions::hash::sip::sip_hash64;
use chalet_functions::plain::Plain;
use chalet_syntax::lexer::{Lexer, Token, TokenKind};
use chalet_types::DataType;

/// Names of machines' making: long ones, and those with several digits or with spaces.
fn is_complex(name: &str) -> bool {
    let n_digits = name.bytes().filter(u8::is_ascii_digit).count();
    name.len() >= 36 || n_digits > 2 || name.bytes().any(|byte| byte.is_ascii_whitespace() || byte == 0x0b)
}

/// What goes on behind a literal: more literals of the list, or its end.
#[derive(Default)]
struct List {
    n_literals: usize,
    comma: bool,
    space: bool,
}

fn is_literal(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Number | TokenKind::String | TokenKind::Heredoc)
}

/// A name that is none of a function.
fn is_name(token: Token, text: &str) -> bool {
    match token.kind {
        TokenKind::QuotedIdent => true,
        TokenKind::Word => text.as_bytes().get(token.end as usize) != Some(&b'('),
        _ => false,
    }
}

/// The query with `?` for literals, `?..` for lists of them and one space for each run of spaces and comments.
fn normalized(query: &str, keep_names: bool) -> String {
    let mut lexer = Lexer::new(query);
    let mut out = String::with_capacity(query.len());
    let mut list = List::default();
    let mut end = 0;
    loop {
        let token = lexer.next_token();
        let (start, after) = (token.start as usize, token.end as usize);
        if start > end {
            if list.n_literals > 0 {
                list.space = true;
            } else if end > 0 {
                out.push(' ');
            }
        }
        end = after;
        match token.kind {
            kind if is_literal(kind) => {
                if list.n_literals == 0 {
                    out.push('?');
                }
                list = List { n_literals: list.n_literals + 1, ..List::default() };
                continue;
            }
            TokenKind::Comma if list.n_literals > 0 => {
                list.comma = true;
                continue;
            }
            // A sign before the next literal of the list.
            TokenKind::Plus | TokenKind::Minus if list.comma => continue,
            _ => {
                out.push_str(if list.n_literals > 1 { ".." } else { "" });
                out.push_str(if list.comma { "," } else { "" });
                out.push_str(if list.space { " " } else { "" });
                list = List::default();
            }
        }
        match token.kind {
            TokenKind::End | TokenKind::Error(_) => return out,
            _ if is_name(token, query) && !keep_names && is_complex(&query[start..after]) => {
                out.push_str("`?`")
            }
            _ => out.push_str(&query[start..after]),
        }
    }
}

/// What `normalizedQueryHash` gives.
pub(crate) fn normalized_hash(query: &str) -> u64 {
    hash(query, false)
}

/// The hash of the significant tokens, literals aside.
fn hash(query: &str, keep_names: bool) -> u64 {
    let mut lexer = Lexer::new(query);
    let mut bytes = Vec::with_capacity(query.len());
    let mut list = List::default();
    loop {
        let token = lexer.next_token();
        match token.kind {
            kind if is_literal(kind) => {
                if list.n_literals == 0 {
                    bytes.push(0);
                }
                list = List { n_literals: list.n_literals + 1, ..List::default() };
                continue;
            }
            TokenKind::Comma if list.n_literals > 0 => {
                list.comma = true;
                continue;
            }
            TokenKind::Comma => {}
            _ => {
                if list.n_literals > 1 {
                    bytes.push(0);
                }
                if list.comma {
                    bytes.push(b',');
                }
                list = List::default();
            }
        }
        let text = &query[token.start as usize..token.end as usize];
        match token.kind {
            TokenKind::End | TokenKind::Error(_) => return sip_hash64((0, 0), &bytes),
            _ if is_name(token, query) && !keep_names && is_complex(text) => bytes.push(1),
            _ => bytes.extend_from_slice(text.as_bytes()),
        }
    }
}

fn bind(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    let ty = &args[0].ty;
    ensure!(
        *ty == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {ty} of argument of function {name}"
    );
    Ok(result.into())
}

fn execute_text(call: &Call, keep_names: bool) -> Result<Column> {
    let mut out = StringBuilder::with_capacity(call.n_rows);
    for query in call.vector(0).strings()?.iter() {
        out.push(normalized(&String::from_utf8_lossy(query), keep_names).as_bytes());
    }
    Ok(Vector::from(out.finish()).into())
}

fn execute_hash(call: &Call, keep_names: bool) -> Result<Column> {
    let queries = call.vector(0).strings()?.iter();
    let hashes: Vec<u64> = queries.map(|query| hash(&String::from_utf8_lossy(query), keep_names)).collect();
    Ok(Vector::from(hashes).into())
}

macro_rules! variant {
    ($name:literal, $summary:literal, $result:expr, $execute:expr, $sql:literal => $answer:literal) => {
        Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(query)"),
                examples: &[Example { sql: $sql, result: $answer }],
                ..Record::DEFAULT
            },
            bind: |name, args, _: &Context| bind(name, args, $result),
            execute: $execute,
        }
    };
}

static FUNCTIONS: &[Plain] = &[
    variant!("normalizeQuery", "A query with placeholders for its literals and for names that look generated.",
        DataType::String, |call| execute_text(call, false),
        "SELECT normalizeQuery('SELECT 1, 2, 3 FROM t')" => "SELECT ?.. FROM t"),
    variant!("normalizeQueryKeepNames", "A query with placeholders for its literals.",
        DataType::String, |call| execute_text(call, true),
        "SELECT normalizeQueryKeepNames('SELECT 1 AS a12345')" => "SELECT ? AS a12345"),
    variant!("normalizedQueryHash", "A hash that queries share which normalizeQuery makes equal.",
        DataType::UInt64, |call| execute_hash(call, false),
        "SELECT normalizedQueryHash('SELECT 1') = normalizedQueryHash('SELECT 2')" => "1"),
    variant!("normalizedQueryHashKeepNames", "A hash that queries share which normalizeQueryKeepNames makes equal.",
        DataType::UInt64, |call| execute_hash(call, true),
        "SELECT normalizedQueryHashKeepNames('SELECT 1') = normalizedQueryHashKeepNames('SELECT 2')" => "1"),
];

pub(crate) fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
