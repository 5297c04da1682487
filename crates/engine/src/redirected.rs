//! Tables of the engines Buffer and Alias: the rows are those of another table, which is looked up when it is used.

use crate::query_context::QueryContext;
use chalet_base::{Result, bail, ensure, err};
use chalet_storage::catalog::quoted;
use chalet_storage::{Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_syntax::print::string_literal;
use std::any::Any;
use std::sync::Arc;

/// A name for another table.
#[derive(Clone)]
pub(crate) struct Redirected {
    pub engine: &'static str,
    pub schema: TableSchema,
    pub database: String,
    pub table: String,
}

/// What a query that names it reads.
struct Read {
    of: Redirected,
    query: String,
}

impl Redirected {
    fn target(&self, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
        let missing = || err!(UNKNOWN_TABLE, "Table {}.{} does not exist", self.database, self.table);
        let entry = ctx.entry(Some(&self.database), &self.table).ok_or_else(missing)?;
        let is_direct = !entry.table.as_any().is::<Redirected>();
        ensure!(
            is_direct,
            INFINITE_LOOP,
            "Table {}.{} is itself a {}",
            self.database,
            self.table,
            self.engine
        );
        Ok(entry.table)
    }

    /// The rows of the other table in the columns of this one: what it lacks has defaults, as in the kernel.
    pub fn read(&self, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
        let there = self.target(ctx)?.schema();
        let items = self.schema.columns.iter().filter(|column| !column.is_virtual).map(|column| {
            let (name, ty) = (quoted(&column.name), string_literal(column.ty.to_string()));
            match there.index_of(&column.name) {
                Some(at) if there.columns[at].ty == column.ty => name,
                Some(_) => format!("CAST({name}, {ty}) AS {name}"),
                None => format!("CAST(defaultValueOfTypeName({ty}), {ty}) AS {name}"),
            }
        });
        let items = items.collect::<Vec<_>>().join(", ");
        let query = format!("SELECT {items} FROM {}.{}", quoted(&self.database), quoted(&self.table));
        Ok(Arc::new(Read { of: self.clone(), query }))
    }

    /// The table that rows go to, its name, and those of the columns that both have.
    pub fn destination(&self, ctx: &QueryContext) -> Result<(Arc<dyn Table>, Vec<String>)> {
        let table = self.target(ctx)?;
        let there = table.schema();
        let own = self.schema.columns.iter().filter(|column| there.index_of(&column.name).is_some());
        let columns = own.map(|column| column.name.to_string()).collect();
        Ok((table, columns))
    }
}

impl Table for Redirected {
    fn engine(&self) -> &str {
        self.engine
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "Tables of the engine {} are read through a query", self.engine)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for Read {
    fn engine(&self) -> &str {
        self.of.engine
    }

    fn schema(&self) -> TableSchema {
        self.of.schema.clone()
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "Tables of the engine {} are read through a query", self.of.engine)
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        bail!(LOGICAL_ERROR, "Rows of a table of the engine {} go to another one", self.of.engine)
    }

    fn view_query(&self) -> Option<&str> {
        Some(&self.query)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
