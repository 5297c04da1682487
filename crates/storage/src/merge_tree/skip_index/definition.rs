//! An index as it is evaluated and stored.

use super::{Granules, SkipIndexKind};
use chalet_base::Result;
use chalet_columns::{Block, BooleanBuffer, Column};
use chalet_types::DataType;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// An index of a table whose expressions can be computed.
#[derive(Clone)]
pub struct SkipIndexProgram {
    pub name: Arc<str>,
    pub kind: SkipIndexKind,
    /// Rows of a granule.
    pub granule_rows: usize,
    /// All that its content depends on beside the rows: equal only for indexes of equal content.
    pub identity: Arc<str>,
    /// Of the expressions.
    pub types: Arc<[DataType]>,
    /// The expressions over a block of the stored columns.
    pub evaluate: Arc<dyn Fn(&Block) -> Result<Vec<Column>> + Send + Sync>,
}

impl SkipIndexProgram {
    /// What its files go by.
    pub fn key(&self) -> u64 {
        key_of(&self.identity)
    }
}

pub(crate) fn key_of(identity: &str) -> u64 {
    xxh3_64(identity.as_bytes())
}

/// A condition that an index tests.
#[derive(Clone)]
pub struct SkipCondition {
    pub name: Arc<str>,
    /// That of the index.
    pub identity: Arc<str>,
    pub kind: SkipIndexKind,
    pub types: Arc<[DataType]>,
    /// In which granules a row may meet the condition.
    pub may_match: Arc<dyn Fn(&Granules) -> Result<BooleanBuffer> + Send + Sync>,
}
