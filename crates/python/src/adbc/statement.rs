//! A statement: a query, rows bound to it, or rows that go into a table.

use super::bound::{Bound, BoundRowsScan, NAME};
use super::connection::{Asker, quoted, schema_of};
use super::failure::{failed, missing};
use super::info::empty;
use super::{placeholders, text_of, unknown};
use crate::arrow::{self, Style};
use adbc_core::error::{Error, Result, Status};
use adbc_core::options::{IngestMode, OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Optionable, PartitionedResult};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::Schema;
use chalet_engine::{Answer, RunOptions};
use chalet_types::DataType;
use std::sync::Arc;

type Reader = Box<dyn RecordBatchReader + Send + 'static>;

/// Said where parameters are given as a mapping.
const BIND_BY_NAME: &str = "adbc.statement.bind_by_name";

pub struct Statement {
    asker: Asker,
    query: Option<String>,
    bound: Option<Arc<Bound>>,
    /// The query has told a schema with them, and takes them along when it goes.
    is_bound_to_query: bool,
    /// They go to parameters of their names, whatever those are.
    by_name: bool,
    /// Where bound rows go, instead of a query.
    target: Option<String>,
    database: Option<String>,
    temporary: bool,
    mode: IngestMode,
}

impl Statement {
    pub fn new(asker: Asker) -> Statement {
        Statement {
            asker,
            query: None,
            bound: None,
            is_bound_to_query: false,
            by_name: false,
            target: None,
            database: None,
            temporary: false,
            mode: IngestMode::Create,
        }
    }

    fn run(&mut self) -> Result<Answer> {
        self.asker.begin();
        let bound = self.bound.take();
        if let Some(target) = &self.target {
            let bound = bound.ok_or_else(|| state("No rows are bound that could be ingested"))?;
            return self.ingest(target, bound);
        }
        let query = self.query.as_deref().ok_or_else(|| state("The statement has no query"))?;
        let answer = match bound {
            Some(bound) => self.run_bound(query, bound)?,
            None => self.asker.run(query, RunOptions::default())?,
        };
        if answer.bytes.is_empty() {
            return Ok(answer);
        }
        // The rows of all statements but the last are text.
        if answer.rows.is_some() || answer.format.is_empty() {
            return Err(invalid("Several of the statements give rows: execute them one by one"));
        }
        Err(asks_for(&answer.format))
    }

    /// Runs the query for each bound row; an INSERT of values takes all of them at once.
    fn run_bound(&self, query: &str, bound: Arc<Bound>) -> Result<Answer> {
        let places = Places::of(query, &bound, self.by_name)?;
        if !places.by_name
            && let Some(head) = placeholders::insert_head(query, places.names.len())
        {
            return self.insert(head, bound);
        }
        places.check()?;
        let mut all: Option<Answer> = None;
        for row in bound.rows()? {
            let (text, options) = places.filled(row);
            let answer = self.asker.run(&text, options)?;
            match &mut all {
                None => all = Some(answer),
                Some(all) => append(all, answer)?,
            }
        }
        all.ok_or_else(|| state("No row is bound"))
    }

    fn insert(&self, head: &str, bound: Arc<Bound>) -> Result<Answer> {
        let columns: Vec<String> = bound.names().iter().map(|name| quoted(name)).collect();
        let sql = format!("{head} SELECT {} FROM {}", columns.join(", "), quoted(NAME));
        let replacement_scan: Arc<dyn chalet_engine::replacement_scan::ReplacementScan> =
            Arc::new(BoundRowsScan(bound));
        self.asker.run(&sql, RunOptions { replacement_scan: Some(replacement_scan), ..RunOptions::default() })
    }

    fn ingest(&self, target: &str, bound: Arc<Bound>) -> Result<Answer> {
        let prefix = self.database.as_ref().map(|name| format!("{}.", quoted(name))).unwrap_or_default();
        let table = format!("{prefix}{}", quoted(target));
        let names = bound.names();
        let types = bound.types().map_err(failed)?;
        let columns = names.iter().zip(&types).map(|(name, ty)| format!("{} {ty}", quoted(name)));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let kind = if self.temporary { "TEMPORARY TABLE" } else { "TABLE" };
        let create = |clause: &str| {
            // What a database takes for its own engine.
            self.asker.run(&format!("CREATE {kind} {clause}{table} ({columns})"), RunOptions::default())
        };
        match self.mode {
            IngestMode::Create => drop(create("")?),
            IngestMode::CreateAppend => drop(create("IF NOT EXISTS ")?),
            IngestMode::Replace => {
                self.asker.run(&format!("DROP {kind} IF EXISTS {table}"), RunOptions::default())?;
                create("")?;
            }
            IngestMode::Append => {}
        }
        let listed: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        self.insert(&format!("INSERT INTO {table} ({})", listed.join(", ")), bound)
    }
}

/// Where the values of a row go in a query.
struct Places<'a> {
    query: &'a str,
    names: Vec<String>,
    types: Vec<DataType>,
    by_name: bool,
}

impl<'a> Places<'a> {
    fn of(query: &'a str, bound: &Bound, by_name: bool) -> Result<Places<'a>> {
        let names = bound.names();
        let by_name = by_name || placeholders::names_one_of(query, &names);
        Ok(Places { query, names, types: bound.types().map_err(failed)?, by_name })
    }

    /// Is there one for each?
    fn check(&self) -> Result<()> {
        let (marks, values) = (placeholders::count(self.query), self.names.len());
        if self.by_name || marks == values {
            return Ok(());
        }
        Err(invalid(&format!("The statement has {marks} placeholders, {values} values are bound")))
    }

    /// The query to run with the values of a row.
    fn filled(&self, row: Vec<String>) -> (String, RunOptions) {
        let (text, params) = if self.by_name {
            (self.query.to_owned(), self.names.iter().cloned().zip(row).collect())
        } else {
            let typed = self.types.iter().zip(&row).enumerate().map(|(place, (ty, value))| {
                // Where a NULL may not stand, its type may not either.
                let ty = if value == "\\N" { ty } else { ty.without_nullable() };
                format!("{{p{place}:{ty}}}")
            });
            let text = placeholders::replaced(self.query, &typed.collect::<Vec<_>>());
            let params = row.into_iter().enumerate().map(|(place, value)| (format!("p{place}"), value));
            (text, params.collect())
        };
        (text, RunOptions { params, ..RunOptions::default() })
    }
}

fn state(text: &str) -> Error {
    Error::with_message_and_status(text, Status::InvalidState)
}

fn invalid(text: &str) -> Error {
    Error::with_message_and_status(text, Status::InvalidArguments)
}

fn asks_for(format: &str) -> Error {
    invalid(&format!("The statement asks for the format {format}: leave that out"))
}

/// The rows of another run of the same query.
fn append(all: &mut Answer, more: Answer) -> Result<()> {
    all.rows_written += more.rows_written;
    match (&mut all.rows, more.rows) {
        (Some(rows), Some(more)) if rows.types == more.types => rows.blocks.extend(more.blocks),
        (None, None) => {}
        _ => {
            return Err(state("The bound rows give results of different types: bind them one by one"));
        }
    }
    Ok(())
}

impl Optionable for Statement {
    type Option = OptionStatement;

    fn set_option(&mut self, option: OptionStatement, value: OptionValue) -> Result<()> {
        let text = text_of(value)?;
        match option {
            OptionStatement::TargetTable => {
                self.target = Some(text);
                self.query = None;
            }
            OptionStatement::TargetDbSchema => self.database = Some(text).filter(|name| !name.is_empty()),
            OptionStatement::TargetCatalog if text.is_empty() => {}
            OptionStatement::Temporary => self.temporary = text == "true",
            OptionStatement::IngestMode => self.mode = text.parse()?,
            OptionStatement::Other(name) if name == BIND_BY_NAME => self.by_name = text == "true",
            other => return Err(missing(&format!("The option {} with the value {text:?}", other.as_ref()))),
        }
        Ok(())
    }

    fn get_option_string(&self, option: OptionStatement) -> Result<String> {
        match (&option, &self.target) {
            (OptionStatement::TargetTable, Some(target)) => Ok(target.clone()),
            _ => Err(unknown(option.as_ref())),
        }
    }

    fn get_option_bytes(&self, option: OptionStatement) -> Result<Vec<u8>> {
        self.get_option_string(option).map(String::into_bytes)
    }

    fn get_option_int(&self, option: OptionStatement) -> Result<i64> {
        Err(unknown(option.as_ref()))
    }

    fn get_option_double(&self, option: OptionStatement) -> Result<f64> {
        Err(unknown(option.as_ref()))
    }
}

impl adbc_core::Statement for Statement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        let schema = batch.schema();
        self.bind_stream(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
    }

    fn bind_stream(&mut self, reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        self.bound = Some(Arc::new(Bound::new(reader)));
        self.is_bound_to_query = false;
        Ok(())
    }

    fn execute(&mut self) -> Result<Reader> {
        let answer = self.run()?;
        match &answer.rows {
            Some(rows) => arrow::reader(rows, Style::Meaning).map_err(failed),
            None => empty(Arc::new(Schema::empty())),
        }
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        let answer = self.run()?;
        Ok(match &answer.rows {
            Some(rows) => i64::try_from(rows.n_rows()).ok(),
            None => i64::try_from(answer.rows_written).ok(),
        })
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        let query = self.query.as_deref().ok_or_else(|| state("The statement has no query"))?;
        self.asker.begin();
        let (text, options) = match &self.bound {
            Some(bound) => {
                let places = Places::of(query, bound, self.by_name)?;
                places.check()?;
                self.is_bound_to_query = true;
                places.filled(bound.first_row()?.ok_or_else(|| state("No row is bound"))?)
            }
            None => (query.to_owned(), RunOptions::default()),
        };
        match self.asker.header(&text, options)? {
            Some((_, Some(format))) => Err(asks_for(&format)),
            Some((rows, None)) => schema_of(Some(&rows)),
            None => Ok(Schema::empty()),
        }
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        Err(missing("A result in partitions"))
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        Err(missing("The schema of parameters, which take what is bound,"))
    }

    fn prepare(&mut self) -> Result<()> {
        if self.query.is_none() {
            return Err(state("The statement has no query"));
        }
        Ok(())
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.query = Some(query.as_ref().to_owned());
        self.target = None;
        if std::mem::take(&mut self.is_bound_to_query) {
            self.bound = None;
        }
        Ok(())
    }

    fn set_substrait_plan(&mut self, _plan: impl AsRef<[u8]>) -> Result<()> {
        Err(missing("Substrait"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.asker.stopper()
    }
}
