//! A dictionary as a statement sees it: with the means to load it, which the statement has and the dictionary has not.

use super::definition::Definition;
use super::key_cache::gathered;
use super::layout::KeyKind;
use super::loaded::Loaded;
use super::table::Dictionary;
use chalet_base::{Result, ensure};
use chalet_columns::{Block, Vector};
use chalet_storage::fixed::BlockScan;
use chalet_storage::{Scan, ScanRequest, Table, TableSchema};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

type Load = Box<dyn Fn(&Arc<Definition>) -> Result<Loaded> + Send + Sync>;

/// Reads the rows of some keys; none where the source cannot be asked for them.
type OfKeys = Box<dyn Fn(&Definition, &[Vector]) -> Result<Option<Vec<Block>>> + Send + Sync>;

/// A table of some columns of a dictionary, or of all.
pub(crate) struct Attached {
    pub dictionary: Dictionary,
    schema: TableSchema,
    /// Where the columns are among those of the dictionary.
    columns: Vec<usize>,
    is_whole: bool,
    load: Load,
    of_keys: OfKeys,
}

impl Attached {
    pub fn new(dictionary: Dictionary, load: Load, of_keys: OfKeys) -> Attached {
        let schema = dictionary.definition.shown_schema();
        let columns = dictionary.definition.shown_order();
        Attached { dictionary, schema, columns, is_whole: true, load, of_keys }
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

    /// Where a column of the table is among those of the dictionary.
    pub fn position(&self, column: usize) -> Option<usize> {
        self.columns.get(column).copied()
    }

    /// The rows, loaded now if they are not there or too old.
    pub fn loaded(&self) -> Result<Arc<Loaded>> {
        self.dictionary.loaded(&*self.load)
    }

    /// All rows, loaded now.
    pub fn reloaded(&self) -> Result<Arc<Loaded>> {
        self.dictionary.load(&*self.load)
    }

    /// The rows that the source has for keys, and perhaps others; none where it cannot be asked for them.
    pub fn of_keys(&self, keys: &[Vector]) -> Result<Option<Loaded>> {
        let definition = &self.dictionary.definition;
        let blocks = self.dictionary.read(|| (self.of_keys)(definition, keys))?;
        blocks.map(|blocks| Loaded::new(definition.clone(), &blocks)).transpose()
    }
}

impl Table for Attached {
    fn engine(&self) -> &str {
        self.dictionary.engine()
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        let definition = &self.dictionary.definition;
        ensure!(
            definition.layout.keys != KeyKind::Polygon || definition.keeps_polygons,
            UNSUPPORTED_METHOD,
            "Set `store_polygon_key_column` setting in dictionary configuration to true to support reading from \
             PolygonDictionary"
        );
        ensure!(
            definition.layout.keys != KeyKind::Pattern,
            NOT_FOUND_COLUMN_IN_BLOCK,
            "A dictionary of regular expressions has no rows that could be read"
        );
        let blocks = match definition.is_cache() {
            // What is there, as in the kernel: nobody asked for the others.
            true => gathered(self.dictionary.cache().rows(Instant::now()).into_iter()),
            false => vec![self.loaded()?.rows.clone()],
        };
        let mut request = request.clone();
        request.columns.iter_mut().for_each(|column| *column = self.columns[*column]);
        Ok(Arc::new(BlockScan::new(blocks.into(), &request)))
    }

    fn truncate(&self) -> Result<()> {
        self.dictionary.truncate()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
