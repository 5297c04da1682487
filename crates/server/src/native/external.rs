//! Tables that come with a query: temporary tables of the session while it runs.

use super::wire::SharedWire;
use chalet_base::Result;
use chalet_client::packet::Rows;
use chalet_columns::Block;
use chalet_engine::{InsertData, RunOptions, Session};

/// Tables that are dropped when this is.
pub struct ExternalTables<'a> {
    session: &'a Session,
    names: Vec<String>,
}

/// Receives the tables of a query, up to the block without columns that ends them. Whatever is wrong with one, all are received.
pub fn receive<'a>(wire: &SharedWire, session: &'a Session) -> Result<ExternalTables<'a>> {
    let mut tables = ExternalTables { session, names: Vec::new() };
    let mut failure = None;
    loop {
        let (name, rows) = wire.lock().receive_rows()?;
        if rows.schema.is_empty() {
            return failure.map_or(Ok(tables), Err);
        }
        if failure.is_none() {
            failure = tables.add(name, rows).err();
        }
    }
}

impl ExternalTables<'_> {
    fn add(&mut self, name: String, rows: Rows) -> Result<()> {
        let params = vec![("table".to_owned(), name.clone())];
        let options = || RunOptions { params: params.clone(), ..RunOptions::default() };
        if !self.names.contains(&name) {
            let columns: Vec<String> =
                rows.schema.iter().map(|(column, ty)| format!("{} {ty}", quoted(column))).collect();
            let columns = columns.join(", ");
            self.session.run(
                &format!("CREATE TEMPORARY TABLE {{table:Identifier}} ({columns}) ENGINE = Memory"),
                options(),
            )?;
            self.names.push(name);
        }
        if rows.block.is_empty() {
            return Ok(());
        }
        let data = InsertData::Rows(Box::new(move |_, _| Ok(given(rows))));
        self.session.insert("INSERT INTO {table:Identifier} VALUES", options(), data).map(drop)
    }
}

impl Drop for ExternalTables<'_> {
    fn drop(&mut self) {
        for name in self.names.drain(..) {
            let params = vec![("table".to_owned(), name)];
            // It is there, as far as the query did not drop it itself.
            let _ = self.session.run(
                "DROP TEMPORARY TABLE IF EXISTS {table:Identifier}",
                RunOptions { params, ..RunOptions::default() },
            );
        }
    }
}

/// Rows as the engine takes them.
pub fn given(rows: Rows) -> (Vec<chalet_types::DataType>, Block) {
    (rows.schema.into_iter().map(|(_, ty)| ty).collect(), rows.block)
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}
