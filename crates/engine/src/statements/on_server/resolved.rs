//! What a statement for a server names of its caller: frames are sent along as tables of the query (external tables), relations
//! become sub-queries of its text.

use crate::query_context::QueryContext;
use crate::replacement_query::ReplacementQuery;
use crate::replacement_scan::{ReplacementScan, Table};
use chalet_base::{Result, bail};
use chalet_client::{ExternalTable, Rows};
use chalet_columns::{Block, Builder, Column};
use chalet_formats::Schema;
use chalet_storage::{ScanContext, ScanRequest};
use chalet_syntax::ast::{self, CreateSource, ExprKind, InsertSource, StatementKind, TableKind};
use chalet_syntax::lexer::{Lexer, Token, TokenKind};
use chalet_syntax::visit::{Place, for_each_place_mut};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// A statement as it is sent, and what is sent with it.
pub(crate) struct Resolved {
    pub text: String,
    pub tables: Vec<ExternalTable>,
    /// Values of its parameters, and of those of the queries inside it.
    pub params: Vec<(String, String)>,
}

impl Resolved {
    /// A statement that names nothing of the caller's.
    pub fn nothing(text: &str, ctx: &QueryContext) -> Resolved {
        Resolved { text: text.to_owned(), tables: Vec::new(), params: ctx.params.clone() }
    }

    /// Has it something that the other one has not?
    pub fn is_more_than(&self, other: &Resolved) -> bool {
        self.tables.len() > other.tables.len() || self.text != other.text
    }
}

/// The statement with what was given to it or to the session.
pub(crate) fn resolve(text: &str, ctx: &QueryContext) -> Result<Resolved> {
    resolve_by(text, ctx, false)
}

/// The same, and variables of the caller.
pub(crate) fn resolve_with_variables(text: &str, ctx: &QueryContext) -> Result<Resolved> {
    resolve_by(text, ctx, true)
}

fn resolve_by(text: &str, ctx: &QueryContext, finds: bool) -> Result<Resolved> {
    let Some(scan) = ctx.replacement_scan.as_deref() else { return Ok(Resolved::nothing(text, ctx)) };
    let mut rewriter = Rewriter { finds, tables: Vec::new(), params: ctx.params.clone() };
    let text = rewriter.rewritten(text, scan, false)?;
    let tables = rewriter.tables.iter().map(|sent| external(sent, ctx));
    let tables = tables.collect::<Result<_>>()?;
    Ok(Resolved { text, tables, params: rewriter.params })
}

struct Rewriter {
    /// Variables of the caller are tables.
    finds: bool,
    tables: Vec<Sent>,
    params: Vec<(String, String)>,
}

/// A table that is sent, and what it is called there.
struct Sent {
    name: String,
    table: Arc<dyn Table>,
}

/// A table that a text names.
struct Named {
    name: String,
    span: Range<usize>,
    /// Expressions call it something else.
    has_alias: bool,
    is_set: bool,
}

impl Rewriter {
    /// The text of one statement, for a server that has the tables. Of a query inside of another one (`is_inner`) they have
    /// names that nothing else has.
    fn rewritten(&mut self, text: &str, scan: &dyn ReplacementScan, is_inner: bool) -> Result<String> {
        let mut out = text.to_owned();
        let Some(mut named) = named(text) else {
            // What is not understood here may name each of its words.
            for word in words(text) {
                if let Some(table) = self.find(scan, word)?.filter(|table| query_of(&**table).is_none()) {
                    self.called(word, table, is_inner);
                }
            }
            return Ok(out);
        };
        // From the end: what is written does not move what stands before it.
        named.sort_by_key(|named| std::cmp::Reverse(named.span.start));
        for Named { name, span, has_alias, is_set } in named {
            let Some(table) = self.find(scan, &name)? else { continue };
            let mut written = match query_of(&*table) {
                Some(query) => format!("({})", self.inner(query)?),
                None => match self.called(&name, table.clone(), is_inner) {
                    called if called == name => continue,
                    called => quoted(&called),
                },
            };
            if !has_alias && !is_set {
                written = format!("{written} AS {}", quoted(&name));
            }
            if out.get(span.clone()).is_some() {
                out.replace_range(span, &written);
            }
        }
        Ok(out)
    }

    /// A relation's query as a part of another one.
    fn inner(&mut self, query: &ReplacementQuery) -> Result<String> {
        let whole = query.view_query().unwrap_or_default();
        let span = chalet_syntax::parse_statements(whole).ok().and_then(|parsed| Some(parsed.first()?.span));
        let mut text = span.and_then(|span| whole.get(span.range())).unwrap_or(whole).to_owned();
        for (name, value) in &query.params {
            let known = |name: &str| self.params.iter().find(|(known, _)| known == name);
            match known(name) {
                None => self.params.push((name.clone(), value.clone())),
                Some((_, other)) if other == value => {}
                Some(_) => {
                    let free = (1..).map(|number| format!("{name}_{number}"));
                    let Some(free) = free.into_iter().find(|free| known(free).is_none()) else { continue };
                    text = with_parameter(&text, name, &free);
                    self.params.push((free, value.clone()));
                }
            }
        }
        // A comment at its end ends with its line.
        Ok(format!("\n{}\n", self.rewritten(&text, &*query.replacement_scan, true)?))
    }

    fn find(&self, scan: &dyn ReplacementScan, name: &str) -> Result<Option<Arc<dyn Table>>> {
        match scan.given(name)? {
            None if self.finds => scan.found(name),
            given => Ok(given),
        }
    }

    /// What a table is called where it is sent.
    fn called(&mut self, name: &str, table: Arc<dyn Table>, is_inner: bool) -> String {
        if let Some(sent) = self.tables.iter().find(|sent| Arc::ptr_eq(&sent.table, &table)) {
            return sent.name.clone();
        }
        let is_free = |name: &str| self.tables.iter().all(|sent| sent.name != name);
        let others = (1..).map(|number: u64| format!("_{name}_{number}"));
        let own = (!is_inner).then(|| name.to_owned());
        let called = own.into_iter().chain(others).find(|name| is_free(name)).unwrap_or_default();
        self.tables.push(Sent { name: called.clone(), table });
        called
    }
}

fn query_of(table: &dyn Table) -> Option<&ReplacementQuery> {
    table.as_any().downcast_ref()
}

/// The tables without a database that a statement reads, but for queries of its WITH; none where it is not understood.
fn named(text: &str) -> Option<Vec<Named>> {
    let mut parsed = chalet_syntax::parse_statements(text).ok()?;
    let statement = parsed.first_mut()?;
    let mut named = Vec::new();
    let mut of_with = HashSet::new();
    let Some(query) = query_in(&mut statement.kind) else { return Some(named) };
    for_each_place_mut(query, &mut |place| match place {
        Place::Cte(name) => drop(of_with.insert(name.name.clone())),
        Place::Table(table) => {
            if let TableKind::Name(ast::ObjectName { database: None, name }) = &table.kind
                && !name.parameter
            {
                named.push(Named {
                    name: name.name.clone(),
                    span: name.span.range(),
                    has_alias: table.alias.is_some(),
                    is_set: false,
                });
            }
        }
        Place::Set(set) => {
            if let ExprKind::Identifier(parts) = &set.kind
                && let [name] = &parts[..]
            {
                let (name, span) = (name.name.clone(), name.span.range());
                named.push(Named { name, span, has_alias: false, is_set: true });
            }
        }
    });
    named.retain(|named| !of_with.contains(&named.name));
    Some(named)
}

/// The query that a statement runs.
fn query_in(kind: &mut StatementKind) -> Option<&mut ast::Query> {
    match kind {
        StatementKind::Query(query) => Some(query),
        StatementKind::Explain(explain) => query_in(&mut explain.statement.kind),
        StatementKind::Insert(insert) => match &mut insert.source {
            InsertSource::Query(query) => Some(query),
            _ => None,
        },
        StatementKind::CreateTable(create) => match &mut create.source {
            Some(CreateSource::Query { query, .. }) => Some(query),
            _ => None,
        },
        _ => None,
    }
}

fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let mut lexer = Lexer::new(text);
    std::iter::from_fn(move || Some(lexer.next_token()))
        .take_while(|token| !matches!(token.kind, TokenKind::End | TokenKind::Error(_)))
}

fn words(text: &str) -> Vec<&str> {
    let words = tokens(text).filter(|token| token.kind == TokenKind::Word);
    words.filter_map(|token| text.get(token.start as usize..token.end as usize)).collect()
}

/// The text with `{name:` as `{other:`.
fn with_parameter(text: &str, name: &str, other: &str) -> String {
    let tokens: Vec<Token> = tokens(text).collect();
    let mut out = text.to_owned();
    for around in tokens.windows(3).rev() {
        let range = around[1].start as usize..around[1].end as usize;
        let is_parameter = around[0].kind == TokenKind::LBrace && around[2].kind == TokenKind::Colon;
        if is_parameter && text.get(range.clone()) == Some(name) {
            out.replace_range(range, other);
        }
    }
    out
}

/// A table with all its rows.
fn external(sent: &Sent, ctx: &QueryContext) -> Result<ExternalTable> {
    let declared = sent.table.schema();
    let columns = declared.stored_positions();
    let schema: Schema =
        columns.iter().map(|&at| &declared.columns[at]).map(|c| (c.name.to_string(), c.ty.clone())).collect();
    if let Some((column, ty)) = schema.iter().find(|(_, ty)| ty.contains_several_types()) {
        bail!(
            NOT_IMPLEMENTED,
            "Column {column} of {} has type {ty}, which cannot be sent to a server",
            sent.name
        );
    }
    let context = ScanContext { progress: Arc::default(), ..ctx.exec.scan.clone() };
    let request = ScanRequest { columns, context, ..ScanRequest::default() };
    let mut rows = sent.table.scan(&request)?.worker()?;
    let mut blocks = Vec::new();
    while let Some(morsel) = rows.next()? {
        ctx.control.check_with_interrupt()?;
        if !morsel.block.is_empty() {
            blocks.push(Rows { schema: schema.clone(), block: morsel.block });
        }
    }
    if blocks.is_empty() {
        let columns = schema.iter().map(|(_, ty)| Column::Flat(Builder::new(ty).finish())).collect();
        blocks.push(Rows { schema, block: Block::new(columns, 0) });
    }
    Ok(ExternalTable { name: sent.name.clone(), blocks })
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let all = |text: &str| {
            let mut found: Vec<String> = named(text).unwrap().into_iter().map(|named| named.name).collect();
            found.sort();
            found.join(" ")
        };
        assert_eq!(all("SELECT a FROM t JOIN d.u USING a WHERE b IN s AND c IN (SELECT e FROM v)"), "s t v");
        assert_eq!(all("WITH c AS (SELECT 1 FROM t) SELECT * FROM c UNION ALL SELECT * FROM u"), "t u");
        assert_eq!(all("INSERT INTO t SELECT * FROM u"), "u");
        assert_eq!(all("CREATE TABLE t ENGINE = Memory AS SELECT * FROM u"), "u");
        assert_eq!(all("EXPLAIN PLAN SELECT * FROM u"), "u");
        assert_eq!(all("DROP TABLE t"), "");
        assert!(named("SELECT FROM FROM").is_none());
    }

    #[test]
    fn parameters() {
        let text = "SELECT {a:Int8}, '{a:Int8}', { a : String}, {ab:Int8}";
        assert_eq!(
            with_parameter(text, "a", "a_1"),
            "SELECT {a_1:Int8}, '{a:Int8}', { a_1 : String}, {ab:Int8}"
        );
    }
}
