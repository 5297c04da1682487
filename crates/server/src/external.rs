//! Tables that come with a query: temporary tables of the session while it runs.

use chalet_base::{Result, bail};
use chalet_client::packet::Rows;
use chalet_columns::Block;
use chalet_engine::{InsertData, RunOptions, Session};
use std::io::Read;

/// Tables that are dropped when this is.
pub struct ExternalTables<'a> {
    session: &'a Session,
    names: Vec<String>,
}

impl<'a> ExternalTables<'a> {
    pub fn new(session: &'a Session) -> ExternalTables<'a> {
        ExternalTables { session, names: Vec::new() }
    }

    /// Adds rows to a table, which the first of them make.
    pub fn add(&mut self, name: String, rows: Rows) -> Result<()> {
        if !self.names.contains(&name) {
            let columns = rows.schema.iter().map(|(column, ty)| (column.clone(), ty.to_string()));
            self.create(&name, columns)?;
        }
        if rows.block.is_empty() {
            return Ok(());
        }
        let data = InsertData::Rows(Box::new(move |_, _| Ok(given(rows))));
        self.session.insert("INSERT INTO {table:Identifier} VALUES", options(&name), data).map(drop)
    }

    /// A table of these columns (`a Int32, b String`), with rows as bytes of a format.
    pub fn add_written(
        &mut self,
        name: &str,
        structure: &str,
        format: &str,
        data: Box<dyn Read + Send>,
    ) -> Result<()> {
        if format.is_empty() || !format.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            bail!(UNKNOWN_FORMAT, "Unknown format {format}");
        }
        // Read as the engine reads the structure of a file.
        let params = vec![("structure".to_owned(), structure.to_owned())];
        let options_of_structure = RunOptions { params, ..RunOptions::default() };
        let described = self.session.run("DESCRIBE TABLE null({structure:String})", options_of_structure)?;
        let rows = described.rows.iter().flat_map(|rows| &rows.blocks);
        let text = |block: &Block, column: usize, row: usize| {
            let value = block.column(column).value(row);
            String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned()
        };
        let columns: Vec<(String, String)> = rows
            .flat_map(|block| (0..block.n_rows()).map(move |row| (text(block, 0, row), text(block, 1, row))))
            .collect();
        self.create(name, columns)?;
        let insert = format!("INSERT INTO {{table:Identifier}} FORMAT {format}");
        self.session.insert(&insert, options(name), InsertData::Bytes(data)).map(drop)
    }

    fn create(&mut self, name: &str, columns: impl IntoIterator<Item = (String, String)>) -> Result<()> {
        let columns: Vec<String> =
            columns.into_iter().map(|(column, ty)| format!("{} {ty}", quoted(&column))).collect();
        let columns = columns.join(", ");
        self.session.run(
            &format!("CREATE TEMPORARY TABLE {{table:Identifier}} ({columns}) ENGINE = Memory"),
            options(name),
        )?;
        self.names.push(name.to_owned());
        Ok(())
    }
}

fn options(table: &str) -> RunOptions {
    RunOptions { params: vec![("table".to_owned(), table.to_owned())], ..RunOptions::default() }
}

impl Drop for ExternalTables<'_> {
    fn drop(&mut self) {
        for name in self.names.drain(..) {
            // It is there, as far as the query did not drop it itself.
            let _ = self.session.run("DROP TEMPORARY TABLE IF EXISTS {table:Identifier}", options(&name));
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
