//! What the sessions of one database share.

use crate::session::Session;
use chalet_base::{Result, bail};
use chalet_storage::Catalog;
use chalet_syntax::ast;
use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

/// A database: tables and functions made by SQL. Cheap to clone; dropped with the last clone and session.
#[derive(Clone, Default)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Default)]
pub(crate) struct Shared {
    pub catalog: Catalog,
    /// Made by CREATE FUNCTION: the lambda and the statement.
    pub functions: RwLock<BTreeMap<String, SqlFunction>>,
}

#[derive(Clone)]
pub(crate) struct SqlFunction {
    pub params: Vec<String>,
    pub body: ast::Expr,
    pub create_sql: String,
}

impl Database {
    /// `:memory:` or nothing is memory.
    pub fn open(path: &str) -> Result<Database> {
        if !matches!(path, "" | ":memory:") {
            bail!(NOT_IMPLEMENTED, "Databases on disk are not supported yet: {path}. Use ':memory:'");
        }
        Ok(Database::default())
    }

    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }
}
