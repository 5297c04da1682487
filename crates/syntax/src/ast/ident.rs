//! Positions, identifiers and object names, the leaves shared by the whole tree.

use std::fmt;
use std::hash::{Hash, Hasher};

/// A byte range of the query text. All spans are equal to each other, so that trees compare by content.
#[derive(Clone, Copy, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
    /// Of an expression: it was written in parentheses, which printing keeps as the kernel does.
    pub parenthesised: bool,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Span { start: start as u32, end: end as u32, parenthesised: false }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Self {
        let (start, end) = (self.start.min(other.start), self.end.max(other.end));
        Span { start, end, parenthesised: false }
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

impl Hash for Span {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// One identifier, unquoted and unescaped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ident {
    pub name: String,
    /// The identifier was written `{name:Identifier}`: `name` is the name of a query parameter that holds it.
    pub parameter: bool,
    pub span: Span,
}

impl Ident {
    pub fn new(name: impl Into<String>) -> Self {
        Ident { name: name.into(), parameter: false, span: Span::default() }
    }

    pub fn at(name: impl Into<String>, span: Span) -> Self {
        Ident { name: name.into(), parameter: false, span }
    }
}

/// `table` or `database.table` (also of views, dictionaries).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub database: Option<Ident>,
    pub name: Ident,
}

impl ObjectName {
    pub fn span(&self) -> Span {
        self.database.as_ref().map_or(self.name.span, |d| d.span.to(self.name.span))
    }
}

/// The text of a data type in normal form: `Nullable(DateTime64(3, 'UTC'))`. The room of types parses it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypeName {
    pub text: String,
    pub span: Span,
}
