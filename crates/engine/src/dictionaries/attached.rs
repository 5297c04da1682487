//! A dictionary as a statement sees it: with the means to load it, which the statement has and the dictionary has not.

use super::definition::Definition;
use super::loaded::Loaded;
use super::table::Dictionary;
use chalet_base::Result;
use chalet_storage::fixed::BlockScan;
use chalet_storage::{Scan, ScanRequest, Table, TableSchema};
use std::any::Any;
use std::sync::Arc;

type Load = Box<dyn Fn(&Arc<Definition>) -> Result<Loaded> + Send + Sync>;

/// A table of some columns of a dictionary, or of all.
pub(crate) struct Attached {
    pub dictionary: Dictionary,
    schema: TableSchema,
    /// Where the columns are among those of the dictionary.
    columns: Vec<usize>,
    is_whole: bool,
    load: Load,
}

impl Attached {
    pub fn new(dictionary: Dictionary, load: Load) -> Attached {
        let schema = dictionary.definition.schema.clone();
        let columns = (0..schema.columns.len()).collect();
        Attached { dictionary, schema, columns, is_whole: true, load }
    }

    /// The same of these columns, as they are found by name.
    pub fn with_columns(self, schema: TableSchema) -> Attached {
        let all = &self.dictionary.definition.schema;
        let columns = schema.columns.iter().filter_map(|column| all.index_of(&column.name)).collect();
        Attached { schema, columns, is_whole: false, ..self }
    }

    /// Is it the dictionary, and not a table over it?
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The rows, loaded now if they are not there or too old.
    pub fn loaded(&self) -> Result<Arc<Loaded>> {
        self.dictionary.loaded(&*self.load)
    }

    /// The rows, loaded now.
    pub fn reloaded(&self) -> Result<Arc<Loaded>> {
        self.dictionary.load(&*self.load)
    }
}

impl Table for Attached {
    fn engine(&self) -> &str {
        self.dictionary.engine()
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        let loaded = self.loaded()?;
        let mut request = request.clone();
        request.columns.iter_mut().for_each(|column| *column = self.columns[*column]);
        Ok(Arc::new(BlockScan::new(vec![loaded.rows.clone()].into(), &request)))
    }

    fn truncate(&self) -> Result<()> {
        self.dictionary.truncate()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
