//! Tokens to tree: recursive descent, with the deepest failure remembered for the message, as the kernel does.
//!
//! - `error`: the text of a syntax error
//! - `memo`: what a rule made of a place, for when it is read again
//! - `literal`: values of number and string tokens
//! - `types`: data types
//! - `expr`: operators
//! - `operand`: what stands between operators
//! - `columns`: stars and column matchers
//! - `call`: function calls and the functions with their own grammar
//! - `select`: queries
//! - `table`: FROM
//! - `statement`: the statement list and the tail of a statement
//! - `create`, `storage`, `dictionary`: CREATE and the pieces of a table definition
//! - `alter`: ALTER TABLE
//! - `insert`: INSERT with its inline data, DELETE, UPDATE
//! - `ddl`: DROP, RENAME, OPTIMIZE and other small statements about tables
//! - `backup`: BACKUP and RESTORE
//! - `entity`: workloads, resources and named collections
//! - `access`: what is said to statements about users and their rights
//! - `refresh`: REFRESH of materialized views
//! - `show`: SHOW, DESCRIBE, EXPLAIN
//! - `system`: SYSTEM

mod access;
mod alter;
mod backup;
mod call;
mod columns;
mod create;
mod ddl;
mod dictionary;
mod entity;
mod error;
mod expr;
mod insert;
mod literal;
mod memo;
mod operand;
mod refresh;
mod select;
mod show;
mod statement;
mod storage;
mod system;
mod table;
mod types;

use chalet_base::{Error, Result, err};

use crate::ast::{ColumnDef, Expr, Ident, ObjectName, Query, Span, Statement};
use crate::lexer::{Lexer, Token, TokenKind};

/// Why a rule did not match.
pub(crate) enum Fail {
    /// The text is not of the grammar; what was expected is in the parser.
    Syntax,
    /// The text is of the grammar but means nothing.
    Error(Error),
}

pub(crate) type Parse<T> = std::result::Result<T, Fail>;

/// Rules inside rules: the default of the kernel's `max_parser_depth`, which counts its own rules the same way.
const MAX_NESTING: u32 = 1000;
/// Depth of the tree: the default of the kernel's `max_ast_depth`. A call is two levels, itself and its arguments.
const MAX_TREE_DEPTH: u32 = 1000;
/// So much more of both has what the printer wrote: it puts parentheses and calls where the statement had none.
const PRINTED: u32 = 8;
/// Nodes that BETWEEN may copy, because it needs its left side twice: the default of `max_ast_elements`.
const MAX_COPIED_NODES: usize = 50_000;
/// Bytes of stack that one level of nesting may need in an unoptimised build, with a margin.
pub(crate) const STACK_RED_ZONE: usize = 128 << 10;
pub(crate) const STACK_GROWTH: usize = 1 << 20;

pub(crate) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    tokens: Vec<Token>,
    pos: usize,
    nesting: u32,
    deepest: u32,
    max_nesting: u32,
    max_tree_depth: u32,
    /// Depth of the deepest tree completed inside the current rule. Trees of chained operators are deeper than the
    /// recursion that made them, and whoever walks or drops them recurses.
    tree_depth: u32,
    copied_nodes: usize,
    operands: memo::Memo<Expr>,
    queries: memo::Memo<Query>,
    /// The furthest token at which something was expected and not found, and what it was.
    furthest: usize,
    expected: Vec<&'static str>,
    /// What `{name:Identifier}` stands for, where that is known.
    parameter: Option<Parameter<'a>>,
    /// The cluster that the current statement names.
    cluster: Option<Ident>,
    /// A `{name:Identifier}` of the current statement that stands for nothing.
    unset: Option<String>,
    /// Inline data have ended with an empty line: another statement may follow at once.
    data_ended: bool,
}

/// The value of a query parameter, by its name.
pub type Parameter<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Parses all statements of a text, separated by semicolons.
pub fn parse_statements(text: &str) -> Result<Vec<Statement>> {
    check_size(text)?;
    let mut parser = Parser::new(text);
    let statements = parser.statements();
    statements.map_err(|fail| parser.into_error(fail))
}

/// As [`parse_statements`], for what was parsed before and printed since.
pub fn parse_printed(text: &str) -> Result<Vec<Statement>> {
    check_size(text)?;
    let mut parser = Parser::new(text);
    parser.max_nesting *= PRINTED;
    parser.max_tree_depth *= PRINTED;
    let statements = parser.statements();
    statements.map_err(|fail| parser.into_error(fail))
}

/// As [`parse_statements`], with names in the place of `{name:Identifier}`. One that is not set is an error, but in the
/// definition of a view, which keeps it.
pub fn parse_statements_with(text: &str, parameter: Parameter) -> Result<Vec<Statement>> {
    check_size(text)?;
    let mut parser = Parser::new(text);
    parser.parameter = Some(parameter);
    let statements = parser.statements();
    statements.map_err(|fail| parser.into_error(fail))
}

/// Parses what follows the word REFRESH, as it was printed.
pub fn parse_refresh(text: &str) -> Result<crate::ast::Refresh> {
    check_size(text)?;
    let mut parser = Parser::new(text);
    let refresh = parser.behind_refresh().and_then(|refresh| {
        if parser.at(TokenKind::End) { Ok(refresh) } else { Err(parser.expect_here("end of query")) }
    });
    refresh.map_err(|fail| parser.into_error(fail))
}

/// Parses a text that is one expression, with an alias or without.
pub fn parse_expression(text: &str) -> Result<Expr> {
    check_size(text)?;
    let mut parser = Parser::new(text);
    let expr = parser.aliased_expr().and_then(|expr| {
        if parser.at(TokenKind::End) { Ok(expr) } else { Err(parser.expect_here("end of query")) }
    });
    expr.map_err(|fail| parser.into_error(fail))
}

/// Parses a table structure given as text, as the argument of `file()` and `values()`: `a UInt8, b String DEFAULT 'x'`.
pub fn parse_structure(text: &str) -> Result<Vec<ColumnDef>> {
    check_size(text)?;
    let mut parser = Parser::new(text);
    let columns = parser.structure();
    columns.map_err(|fail| parser.into_error(fail))
}

/// How deep rules are nested in a text of statements: what `max_parser_depth` limits.
pub fn nesting_of(text: &str) -> Result<u32> {
    check_size(text)?;
    let mut parser = Parser::new(text);
    match parser.statements() {
        Ok(_) => Ok(parser.deepest),
        Err(fail) => Err(parser.into_error(fail)),
    }
}

fn check_size(text: &str) -> Result<()> {
    match u32::try_from(text.len()) {
        Ok(len) if len < u32::MAX => Ok(()),
        _ => Err(err!(SYNTAX_ERROR, "Query of {} bytes is too long: at most 4 GiB", text.len())),
    }
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut parser = Parser {
            text,
            lexer: Lexer::new(text),
            tokens: Vec::with_capacity(text.len() / 4 + 2),
            pos: 0,
            nesting: 0,
            deepest: 0,
            max_nesting: MAX_NESTING,
            max_tree_depth: MAX_TREE_DEPTH,
            tree_depth: 0,
            copied_nodes: 0,
            operands: memo::Memo::default(),
            queries: memo::Memo::default(),
            furthest: 0,
            expected: Vec::new(),
            parameter: None,
            cluster: None,
            unset: None,
            data_ended: false,
        };
        parser.fill(0);
        parser
    }

    fn structure(&mut self) -> Parse<Vec<ColumnDef>> {
        let mut columns = vec![self.column_def()?];
        while self.accept(TokenKind::Comma) && !self.at(TokenKind::End) {
            columns.push(self.column_def()?);
        }
        self.expect(TokenKind::End)?;
        Ok(columns)
    }

    /// Forgets the tokens that were read ahead and goes on at a byte.
    pub(crate) fn skip_to(&mut self, byte: usize) {
        self.tokens.truncate(self.pos);
        self.operands.clear();
        self.queries.clear();
        self.lexer.seek(byte);
        self.fill(self.pos);
    }

    /// Makes the token at an index exist; the list always ends with `End`.
    fn fill(&mut self, index: usize) {
        while self.tokens.len() <= index {
            let token = self.lexer.next_token();
            self.tokens.push(token);
        }
    }

    // ---- tokens

    pub(crate) fn peek(&mut self, ahead: usize) -> Token {
        let index = self.pos + ahead;
        if index >= self.tokens.len() {
            self.fill(index);
        }
        self.tokens[index]
    }

    pub(crate) fn token(&mut self) -> Token {
        self.peek(0)
    }

    pub(crate) fn at(&mut self, kind: TokenKind) -> bool {
        self.token().kind == kind
    }

    pub(crate) fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.pos += 1;
        }
        token
    }

    pub(crate) fn text_of(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }

    pub(crate) fn source(&self, span: Span) -> &'a str {
        &self.text[span.range()]
    }

    /// Where the current token starts.
    pub(crate) fn start(&mut self) -> usize {
        self.token().start as usize
    }

    /// From a byte to the end of the last consumed token.
    pub(crate) fn span_from(&self, start: usize) -> Span {
        let end = if self.pos == 0 { start } else { self.tokens[self.pos - 1].end as usize };
        Span::new(start, end.max(start))
    }

    // ---- expectations

    /// Notes that `what` would have been legal here.
    pub(crate) fn note(&mut self, what: &'static str) {
        self.note_at(self.pos, what);
    }

    fn note_at(&mut self, pos: usize, what: &'static str) {
        if pos > self.furthest {
            self.furthest = pos;
            self.expected.clear();
        }
        if pos == self.furthest && !self.expected.contains(&what) {
            self.expected.push(what);
        }
    }

    pub(crate) fn expect_here(&mut self, what: &'static str) -> Fail {
        self.note(what);
        Fail::Syntax
    }

    pub(crate) fn accept(&mut self, kind: TokenKind) -> bool {
        if self.at(kind) {
            self.pos += 1;
            return true;
        }
        self.note(error::token_name(kind));
        false
    }

    pub(crate) fn expect(&mut self, kind: TokenKind) -> Parse<()> {
        if self.accept(kind) { Ok(()) } else { Err(Fail::Syntax) }
    }

    /// Whether the words of a keyword (in capitals, separated by spaces) stand at `ahead`.
    pub(crate) fn at_keyword_ahead(&mut self, ahead: usize, keyword: &str) -> bool {
        self.may_begin(ahead, keyword) && self.has_words(ahead, keyword)
    }

    /// Whether the first letters agree: most keywords that are asked for are told apart by these.
    #[inline]
    fn may_begin(&mut self, ahead: usize, keyword: &str) -> bool {
        let token = self.peek(ahead);
        let first = |text: &str| text.as_bytes().first().map(u8::to_ascii_uppercase);
        token.kind == TokenKind::Word && first(self.text_of(token)) == first(keyword)
    }

    fn has_words(&mut self, ahead: usize, keyword: &str) -> bool {
        for (i, word) in keyword.split(' ').enumerate() {
            let token = self.peek(ahead + i);
            if token.kind != TokenKind::Word || !self.text_of(token).eq_ignore_ascii_case(word) {
                return false;
            }
        }
        true
    }

    pub(crate) fn at_keyword(&mut self, keyword: &str) -> bool {
        self.at_keyword_ahead(0, keyword)
    }

    pub(crate) fn accept_keyword(&mut self, keyword: &'static str) -> bool {
        if !self.may_begin(0, keyword) {
            self.note_at(self.pos, keyword);
            return false;
        }
        let mut rest = keyword;
        let mut words = 0;
        loop {
            let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
            if !self.at_keyword_ahead(words, word) {
                // The words that do stand here are accepted as far as the message is concerned.
                self.note_at(self.pos + words, rest);
                return false;
            }
            words += 1;
            if tail.is_empty() {
                self.pos += words;
                return true;
            }
            rest = tail;
        }
    }

    pub(crate) fn expect_keyword(&mut self, keyword: &'static str) -> Parse<()> {
        if self.accept_keyword(keyword) { Ok(()) } else { Err(Fail::Syntax) }
    }

    /// The first of the keywords that stands here, by index.
    pub(crate) fn accept_any_keyword(&mut self, keywords: &[&'static str]) -> Option<usize> {
        (0..keywords.len()).find(|&i| self.accept_keyword(keywords[i]))
    }

    // ---- combinators

    /// Tries a rule; when the text is not of it, goes back and says `None`.
    pub(crate) fn maybe<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<Option<T>> {
        let pos = self.pos;
        match rule(self) {
            Ok(found) => Ok(Some(found)),
            Err(Fail::Syntax) => {
                self.pos = pos;
                Ok(None)
            }
            Err(fail) => Err(fail),
        }
    }

    /// One or more, separated by commas.
    pub(crate) fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut list = vec![item(self)?];
        while self.accept(TokenKind::Comma) {
            list.push(item(self)?);
        }
        Ok(list)
    }

    /// `( a, b )`, empty only when `allow_empty`.
    pub(crate) fn paren_list<T>(
        &mut self,
        allow_empty: bool,
        item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        self.expect(TokenKind::LParen)?;
        if allow_empty && self.accept(TokenKind::RParen) {
            return Ok(Vec::new());
        }
        let list = self.comma_list(item)?;
        self.expect(TokenKind::RParen)?;
        Ok(list)
    }

    pub(crate) fn parens<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.expect(TokenKind::LParen)?;
        let inner = rule(self)?;
        self.expect(TokenKind::RParen)?;
        Ok(inner)
    }

    /// Runs a rule one level deeper. The stack grows on the heap when the caller's thread has a small one, because
    /// Python threads may have as little as 512 KiB and the nesting is the user's to choose.
    pub(crate) fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.nested_by(1, rule)
    }

    /// A query in a query counts more, as it does in the kernel, because it is many levels for whoever walks the tree.
    pub(crate) fn nested_by<T>(&mut self, levels: u32, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.nesting + levels > self.max_nesting {
            return Err(Fail::Error(err!(
                TOO_DEEP_RECURSION,
                "Maximum parse depth ({}) exceeded. Consider rising max_parser_depth parameter",
                self.max_nesting
            )));
        }
        self.nesting += levels;
        self.deepest = self.deepest.max(self.nesting);
        let outside = std::mem::take(&mut self.tree_depth);
        let result = stacker::maybe_grow(STACK_RED_ZONE, STACK_GROWTH, || rule(self));
        self.tree_depth = outside.max(self.tree_depth + 1);
        self.nesting -= levels;
        result
    }

    /// A node was put on top of what the current rule has made so far.
    pub(crate) fn deepen(&mut self, levels: u32) -> Parse<()> {
        self.tree_depth += levels;
        if self.tree_depth > self.max_tree_depth {
            return Err(Fail::Error(err!(TOO_DEEP_AST, "AST is too deep. Maximum: {}", self.max_tree_depth)));
        }
        Ok(())
    }

    /// A copy of an expression that stands twice in the tree though once in the text.
    pub(crate) fn copy(&mut self, expr: &Expr) -> Parse<Expr> {
        self.copied_nodes += crate::visit::count_nodes(expr);
        if self.copied_nodes > MAX_COPIED_NODES {
            return Err(Fail::Error(err!(TOO_BIG_AST, "AST is too big. Maximum: {MAX_COPIED_NODES}")));
        }
        Ok(expr.clone())
    }

    // ---- names

    /// An identifier, quoted or not, or the parameter `{name:Identifier}`.
    pub(crate) fn ident(&mut self) -> Parse<Ident> {
        let token = self.token();
        let span = Span::new(token.start as usize, token.end as usize);
        match token.kind {
            TokenKind::Word => {
                self.pos += 1;
                Ok(Ident::at(self.text_of(token), span))
            }
            TokenKind::QuotedIdent => {
                let name = literal::unquote_ident(self.text_of(token));
                if name.is_empty() {
                    return Err(self.expect_here("identifier"));
                }
                self.pos += 1;
                Ok(Ident::at(name, span))
            }
            TokenKind::LBrace => self.ident_parameter(),
            _ => Err(self.expect_here("identifier")),
        }
    }

    fn ident_parameter(&mut self) -> Parse<Ident> {
        let start = self.start();
        self.expect(TokenKind::LBrace)?;
        let token = self.token();
        if token.kind != TokenKind::Word {
            return Err(self.expect_here("substitution name (identifier)"));
        }
        self.pos += 1;
        self.expect(TokenKind::Colon)?;
        self.expect_keyword("Identifier")?;
        self.expect(TokenKind::RBrace)?;
        let span = self.span_from(start);
        Ok(self.substituted(self.text_of(token).to_string(), span))
    }

    /// The identifier that a query parameter holds, or one that says that it is to be asked for.
    pub(crate) fn substituted(&mut self, name: String, span: Span) -> Ident {
        let Some(parameter) = self.parameter else { return Ident { name, parameter: true, span } };
        match parameter(&name) {
            Some(held) => Ident::at(held, span),
            None => {
                self.unset.get_or_insert_with(|| name.clone());
                Ident { name, parameter: true, span }
            }
        }
    }

    /// `name` or `database.name`.
    pub(crate) fn object_name(&mut self) -> Parse<ObjectName> {
        let first = self.ident()?;
        if !self.accept(TokenKind::Dot) {
            return Ok(ObjectName { database: None, name: first });
        }
        Ok(ObjectName { database: Some(first), name: self.ident()? })
    }

    pub(crate) fn string(&mut self) -> Parse<Vec<u8>> {
        match self.string_token() {
            Some(bytes) => Ok(bytes),
            None => Err(self.expect_here("string literal")),
        }
    }

    pub(crate) fn unsigned(&mut self) -> Parse<u64> {
        let token = self.token();
        if token.kind == TokenKind::Number
            && let Ok(value) = self.text_of(token).parse()
        {
            self.pos += 1;
            return Ok(value);
        }
        Err(self.expect_here("unsigned integer"))
    }
}
