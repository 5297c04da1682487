//! The rows of a source, ready to be looked up.

use super::definition::Definition;
use super::hierarchy::Hierarchy;
use super::index::{self, Index};
use super::layout::KeyKind;
use super::patterns::Patterns;
use chalet_base::Result;
use chalet_columns::{Block, Vector};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One state of a dictionary. Statements that use it keep it, whatever becomes of the dictionary.
pub(crate) struct Loaded {
    pub definition: Arc<Definition>,
    /// Keys, bounds of ranges, attributes.
    pub rows: Block,
    /// The attributes, the default before the rows: what [`find`](Self::find) gives are positions in them.
    values: Vec<Vector>,
    index: Index,
    hierarchy: OnceLock<Hierarchy>,
    /// Of a dictionary whose keys are regular expressions, which has no rows then but those that are made for texts.
    pub patterns: Option<Patterns>,
    /// Keys that were looked up, and those of them that were there.
    pub asked: AtomicU64,
    pub found: AtomicU64,
}

impl Loaded {
    /// Indexes blocks whose columns are those of the definition.
    pub fn new(definition: Arc<Definition>, blocks: &[Block]) -> Result<Loaded> {
        if definition.layout.keys == KeyKind::Pattern {
            let patterns = Patterns::new(&definition.attributes, blocks)?;
            return Ok(Loaded { patterns: Some(patterns), ..Loaded::indexed(definition, &[])? });
        }
        Loaded::indexed(definition, blocks)
    }

    /// The values of texts, of a dictionary whose keys are regular expressions.
    pub fn of_texts(&self, patterns: &Patterns, texts: &Vector) -> Result<Loaded> {
        let rows = patterns.rows(texts, &self.definition)?;
        self.asked.fetch_add(texts.len() as u64, Relaxed);
        Loaded::indexed(self.definition.clone(), &[rows])
    }

    fn indexed(definition: Arc<Definition>, blocks: &[Block]) -> Result<Loaded> {
        let block = match blocks {
            [] => {
                let columns = definition.schema.columns.iter();
                Block::new(columns.map(|column| Vector::defaults(&column.ty, 0).into()).collect(), 0)
            }
            blocks => Block::concat(blocks),
        };
        let (rows, index) = index::build(&definition, block)?;
        let first = definition.first_attribute();
        let values = definition.attributes.iter().zip(&rows.columns()[first..]);
        let values = values.map(|(attribute, column)| Vector::concat(&[&attribute.default, &*column.flat()]));
        Ok(Loaded {
            values: values.collect(),
            rows,
            index,
            hierarchy: OnceLock::new(),
            patterns: None,
            asked: AtomicU64::new(0),
            found: AtomicU64::new(0),
            definition,
        })
    }

    /// The rows of keys: positions among the values of an attribute, 0 where a key is not there. `range` as for
    /// [`Index::find`].
    pub fn find(&self, keys: &[Vector], range: Option<&Vector>) -> Result<Vec<u32>> {
        let rows = self.index.find(keys, range)?;
        self.asked.fetch_add(rows.len() as u64, Relaxed);
        self.found.fetch_add(rows.iter().filter(|row| **row > 0).count() as u64, Relaxed);
        Ok(rows)
    }

    /// The values of an attribute, the default first.
    pub fn values(&self, attribute: usize) -> &Vector {
        &self.values[attribute]
    }

    /// Parents and children of keys, if an attribute says them.
    pub fn hierarchy(&self) -> Result<Option<&Hierarchy>> {
        let Some(attribute) = self.definition.hierarchical() else { return Ok(None) };
        if let Some(known) = self.hierarchy.get() {
            return Ok(Some(known));
        }
        let keys = self.rows.column(0).flat();
        let parents = self.rows.column(self.definition.first_attribute() + attribute).flat();
        let default = self.definition.attributes[attribute].default.value(0).as_u64();
        let made = Hierarchy::new(keys.values()?, &parents, default)?;
        Ok(Some(self.hierarchy.get_or_init(|| made)))
    }

    /// Bytes that the rows occupy.
    pub fn memory(&self) -> usize {
        self.rows.memory() + self.values.iter().map(Vector::memory).sum::<usize>()
    }
}
