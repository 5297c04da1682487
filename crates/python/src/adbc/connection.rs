//! A session, and what the driver manager asks of the database through it.

use super::failure::{failed, missing};
use super::info;
use super::objects::{Wanted, objects};
use super::statement::Statement;
use super::{text_of, unknown};
use crate::arrow::{Export, Style};
use adbc_core::error::{Error, Result, Status};
use adbc_core::options::{InfoCode, ObjectDepth, OptionConnection, OptionValue};
use adbc_core::{CancelHandle, Optionable};
use arrow_array::RecordBatchReader;
use arrow_schema::Schema;
use chalet_base::{codes, err};
use chalet_engine::{Answer, Rows, RunOptions, Session, StreamPart};
use chalet_types::Value;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

type Reader = Box<dyn RecordBatchReader + Send + 'static>;

/// Runs statements of a session, until it is told to stop.
#[derive(Clone)]
pub struct Asker {
    session: Arc<Session>,
    stopped: Arc<AtomicBool>,
}

impl Asker {
    /// What was stopped is over.
    pub fn begin(&self) {
        self.stopped.store(false, Relaxed);
    }

    fn stoppable(&self, options: RunOptions) -> RunOptions {
        let stopped = self.stopped.clone();
        RunOptions { interrupt: Some(Arc::new(move || stopped.load(Relaxed))), ..options }
    }

    /// Runs statements; their rows are columns.
    pub fn run(&self, sql: &str, options: RunOptions) -> Result<Answer> {
        self.session.run(sql, self.stoppable(options)).map_err(failed)
    }

    /// The columns of a statement without its rows, and the format that it names. A query is not run; a statement that
    /// gives no rows has neither columns nor an effect.
    pub fn header(&self, sql: &str, options: RunOptions) -> Result<Option<(Rows, Option<String>)>> {
        let stream = match self.session.stream(sql, self.stoppable(options)) {
            Ok(stream) => stream,
            // What it says of statements that are written well, but have no rows to stream.
            Err(error) if error.code() == codes::BAD_ARGUMENTS => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let found = Arc::new(Mutex::new(None));
        let target = found.clone();
        let run = stream.run(Box::new(move |part| {
            if let StreamPart::Header(rows, format) = part {
                *target.lock().unwrap_or_else(PoisonError::into_inner) = Some((rows, format));
            }
            // Comes before the rows, and is all that is wanted.
            Err(err!(QUERY_WAS_CANCELLED, "Query was cancelled"))
        }));
        let found = found.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (found, run) {
            (None, Err(error)) => Err(failed(error)),
            (found, _) => Ok(found),
        }
    }

    /// The rows of a small query; parameters are plain texts.
    pub fn values(&self, sql: &str, params: &[(&str, &str)]) -> Result<Vec<Vec<Value>>> {
        self.begin();
        let params = params.iter().map(|(name, text)| ((*name).to_owned(), escaped(text))).collect();
        let answer = self.run(sql, RunOptions { params, ..RunOptions::default() })?;
        let blocks = answer.rows.into_iter().flat_map(|rows| rows.blocks);
        let rows = blocks.flat_map(|block| {
            let row = |row| block.columns().iter().map(|column| column.value(row)).collect();
            (0..block.n_rows()).map(row).collect::<Vec<Vec<Value>>>()
        });
        Ok(rows.collect())
    }
}

/// A text as the engine reads a parameter.
fn escaped(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => made.push_str("\\\\"),
            '\t' => made.push_str("\\t"),
            '\n' => made.push_str("\\n"),
            other => made.push(other),
        }
    }
    made
}

/// A name in quotes.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// Stops what runs.
struct Stopper(Arc<AtomicBool>);

impl CancelHandle for Stopper {
    fn try_cancel(&self) -> Result<()> {
        self.0.store(true, Relaxed);
        Ok(())
    }
}

impl Asker {
    pub fn stopper(&self) -> Box<dyn CancelHandle> {
        Box::new(Stopper(self.stopped.clone()))
    }
}

/// One session of a database.
pub struct Connection {
    asker: Asker,
}

impl Connection {
    pub fn new(session: Session) -> Connection {
        Connection { asker: Asker { session: Arc::new(session), stopped: Arc::default() } }
    }
}

impl Optionable for Connection {
    type Option = OptionConnection;

    /// What is no option of ADBC is a setting of ClickHouse.
    fn set_option(&mut self, option: OptionConnection, value: OptionValue) -> Result<()> {
        let text = text_of(value)?;
        match option {
            OptionConnection::AutoCommit if text == "true" => Ok(()),
            OptionConnection::AutoCommit => Err(missing("A transaction")),
            OptionConnection::ReadOnly => {
                let level = if text == "true" { "2" } else { "0" };
                self.asker.session.set("readonly", level).map_err(failed)
            }
            OptionConnection::CurrentSchema => {
                self.asker.begin();
                self.asker.run(&format!("USE {}", quoted(&text)), RunOptions::default()).map(drop)
            }
            OptionConnection::CurrentCatalog if text.is_empty() => Ok(()),
            OptionConnection::CurrentCatalog | OptionConnection::IsolationLevel => {
                Err(missing(&format!("The option {} with the value {text:?}", option.as_ref())))
            }
            other => self.asker.session.set(other.as_ref(), &text).map_err(failed),
        }
    }

    fn get_option_string(&self, option: OptionConnection) -> Result<String> {
        match option {
            OptionConnection::AutoCommit => Ok("true".to_owned()),
            OptionConnection::CurrentCatalog => Ok(String::new()),
            OptionConnection::CurrentSchema => {
                let rows = self.asker.values("SELECT currentDatabase()", &[])?;
                let name = rows.first().and_then(|row| row[0].as_str()).unwrap_or_default();
                Ok(name.to_owned())
            }
            other => Err(unknown(other.as_ref())),
        }
    }

    fn get_option_bytes(&self, option: OptionConnection) -> Result<Vec<u8>> {
        self.get_option_string(option).map(String::into_bytes)
    }

    fn get_option_int(&self, option: OptionConnection) -> Result<i64> {
        Err(unknown(option.as_ref()))
    }

    fn get_option_double(&self, option: OptionConnection) -> Result<f64> {
        Err(unknown(option.as_ref()))
    }
}

impl adbc_core::Connection for Connection {
    type StatementType = Statement;

    fn new_statement(&mut self) -> Result<Statement> {
        Ok(Statement::new(self.asker.clone()))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.asker.stopper()
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
        info::info(codes)
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        database: Option<&str>,
        table: Option<&str>,
        kinds: Option<Vec<&str>>,
        column: Option<&str>,
    ) -> Result<Reader> {
        objects(&self.asker, &Wanted { depth, catalog, database, table, kinds, column })
    }

    fn get_table_schema(&self, catalog: Option<&str>, database: Option<&str>, table: &str) -> Result<Schema> {
        if catalog.is_some_and(|name| !name.is_empty()) {
            return Err(Error::with_message_and_status("There are no catalogs", Status::NotFound));
        }
        let prefix = database.map(|name| format!("{}.", quoted(name))).unwrap_or_default();
        let sql = format!("SELECT * FROM {prefix}{} LIMIT 0", quoted(table));
        self.asker.begin();
        let answer = self.asker.run(&sql, RunOptions::default())?;
        schema_of(answer.rows.as_ref())
    }

    fn get_table_types(&self) -> Result<Reader> {
        info::table_types()
    }

    fn get_statistic_names(&self) -> Result<Reader> {
        Err(missing("A statistic"))
    }

    fn get_statistics(
        &self,
        _catalog: Option<&str>,
        _database: Option<&str>,
        _table: Option<&str>,
        _approximate: bool,
    ) -> Result<Reader> {
        Err(missing("A statistic"))
    }

    /// Every statement stands on its own.
    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        Ok(())
    }

    fn read_partition(&self, _partition: impl AsRef<[u8]>) -> Result<Reader> {
        Err(missing("A partition of a result"))
    }
}

/// The Arrow schema of rows; without columns where there are none.
pub fn schema_of(rows: Option<&Rows>) -> Result<Schema> {
    let Some(rows) = rows else { return Ok(Schema::empty()) };
    let export = Export::new(rows, Style::Meaning, |_| true).map_err(failed)?;
    Ok(Schema::clone(&export.schema()))
}
