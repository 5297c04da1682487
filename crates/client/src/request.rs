//! A query to run, and what a transport without a conversation has to know of it.

use crate::packet::Rows;

/// A query to run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub text: String,
    /// Empty: the server makes one up.
    pub id: String,
    pub settings: Vec<(String, String)>,
    /// Values of `{name:Type}`, in the form of TabSeparated.
    pub parameters: Vec<(String, String)>,
    /// Tables that the server has while the query runs.
    pub tables: Vec<ExternalTable>,
    /// Of an INSERT over HTTP.
    pub insertion: Option<Insertion>,
    /// A query that gives the columns of this one, for HTTP, where a result without rows has none.
    pub header: Option<String>,
}

/// An INSERT without its data, as HTTP takes it.
#[derive(Clone, Debug)]
pub struct Insertion {
    /// The statement, whose data are in format Native.
    pub text: String,
    /// A query that gives the columns that it takes.
    pub probe: String,
}

/// Rows of the client as a table of one query.
#[derive(Clone, Debug)]
pub struct ExternalTable {
    pub name: String,
    /// Of the same columns each; at least one, which may be without rows.
    pub blocks: Vec<Rows>,
}

impl Request {
    /// A text without settings.
    pub fn new(text: impl Into<String>) -> Request {
        Request { text: text.into(), ..Request::default() }
    }

    /// Another text with the same settings and parameters, and with tables of the same columns, which have no rows.
    pub(crate) fn about(&self, text: &str) -> Request {
        let without_rows = |table: &ExternalTable| {
            let first = table.blocks.first();
            let blocks =
                first.map(|rows| Rows { schema: rows.schema.clone(), block: rows.block.slice(0, 0) });
            ExternalTable { name: table.name.clone(), blocks: blocks.into_iter().collect() }
        };
        Request {
            text: text.to_owned(),
            settings: self.settings.clone(),
            parameters: self.parameters.clone(),
            tables: self.tables.iter().map(without_rows).collect(),
            ..Request::default()
        }
    }
}
