//! Tree to text, in the kernel's layout: on one line, or on many as `formatQuery` does.
//!
//! The text parses to an equal tree. Where the kernel's text would not (it drops inline data, and writes
//! `countDistinct` for `count(DISTINCT x)`), ours keeps what was written.
//!
//! - `text`: identifiers, strings and numbers
//! - `expr`: expressions
//! - `query`: SELECT
//! - `create`, `alter`, `backup`, `entity`, `statement`: the other statements

mod alter;
mod backup;
mod create;
mod entity;
mod expr;
mod query;
mod statement;
mod text;

use std::fmt;

use crate::ast::{Expr, Ident, Query, Refresh, Statement};
pub use text::{float_text, string_literal, write_ident, write_quoted, write_string};

/// One line.
pub fn print(statement: &Statement) -> String {
    let mut printer = Printer::new(false);
    printer.statement(statement);
    printer.out
}

/// Many lines, four spaces a level.
pub fn format(statement: &Statement) -> String {
    let mut printer = Printer::new(true);
    printer.statement(statement);
    printer.out
}

/// An expression in one line, without parentheses around the whole of it.
pub fn bare_expr(expr: &Expr) -> String {
    let mut plain = expr.clone();
    plain.span.parenthesised = false;
    plain.to_string()
}

/// Engine and clauses of a table in one line, as `system.tables` has them; empty without an engine.
pub fn engine_full(storage: &crate::ast::Storage) -> String {
    let mut printer = Printer::new(false);
    printer.storage(storage);
    let text = printer.out.trim_start();
    text.strip_prefix("ENGINE = ").unwrap_or_default().to_string()
}

/// A query in one line.
pub fn one_line_query(query: &Query) -> String {
    let mut printer = Printer::new(false);
    printer.query(query);
    printer.out
}

/// [`print`] or, on many lines, [`format`], without the data of INSERT, as the kernel has it.
pub fn without_data(statement: &Statement, many_lines: bool) -> String {
    let mut printer = Printer { drops_data: true, ..Printer::new(many_lines) };
    printer.statement(statement);
    printer.out
}

/// [`format`] of a query.
pub fn format_query(query: &Query) -> String {
    let mut printer = Printer::new(true);
    printer.query(query);
    printer.out
}

pub(crate) struct Printer {
    out: String,
    multiline: bool,
    indent: usize,
    /// The cluster of the statement that is printed.
    cluster: Option<Ident>,
    /// Data behind INSERT are left out.
    drops_data: bool,
}

impl Printer {
    fn new(multiline: bool) -> Self {
        Printer { out: String::new(), multiline, indent: 0, cluster: None, drops_data: false }
    }

    fn word(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// A word behind a space.
    fn then(&mut self, text: &str) {
        self.out.push(' ');
        self.out.push_str(text);
    }

    /// A line end with the current indent, or a space.
    fn line(&mut self) {
        if !self.multiline {
            self.out.push(' ');
            return;
        }
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
    }

    /// The same, nothing instead of a space.
    fn tight_line(&mut self) {
        if self.multiline {
            self.line();
        }
    }

    fn indented(&mut self, body: impl FnOnce(&mut Self)) {
        self.indent += 1;
        body(self);
        self.indent -= 1;
    }

    fn comma_list<T>(&mut self, list: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (i, element) in list.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            item(self, element);
        }
    }

    /// One item on the same line; several on lines of their own.
    fn tall_list<T>(&mut self, list: &[T], mut item: impl FnMut(&mut Self, &T)) {
        if list.len() < 2 || !self.multiline {
            self.out.push(' ');
            self.indented(|p| p.comma_list(list, item));
            return;
        }
        self.indented(|p| {
            for (i, element) in list.iter().enumerate() {
                if i > 0 {
                    p.out.push(',');
                }
                p.line();
                item(p, element);
            }
        });
    }

    fn string(&mut self, bytes: &[u8]) {
        write_string(&mut self.out, bytes);
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

/// The name and the query of a projection on several lines, as SHOW CREATE has them behind PROJECTION.
pub fn projection(written: &crate::ast::ProjectionDef) -> String {
    let mut printer = Printer::new(true);
    printer.projection_def(written);
    printer.out
}

/// The query of a projection in one line.
pub fn projection_query(written: &crate::ast::ProjectionDef) -> String {
    let mut printer = Printer::new(false);
    printer.projection_query(written);
    printer.out
}

/// The rules of TTL behind each other, as the clause of a table has them.
pub fn ttl_rules(rules: &[crate::ast::TtlItem]) -> String {
    let mut printer = Printer::new(false);
    printer.ttl_list(rules);
    printer.out
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new(false);
        printer.query(self);
        f.write_str(&printer.out)
    }
}

impl fmt::Display for Refresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new(false);
        printer.refresh(self);
        f.write_str(&printer.out)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new(false);
        printer.expr(self);
        f.write_str(&printer.out)
    }
}
