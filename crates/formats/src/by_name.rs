//! Columns of a file that knows its own names and types, put into the columns that are asked for.

use crate::{ReadRequest, convert};
use chalet_base::{Result, bail};
use chalet_columns::{Block, BooleanBuffer, Column, Vector};
use chalet_types::DataType;

/// How the wanted columns are made from those of a file.
pub struct ByName {
    /// Positions among the file's columns that are needed, in the order that [`block`](Self::block) takes them.
    pub read: Vec<usize>,
    sources: Vec<Source>,
}

struct Source {
    /// Position in `read` and type there; none when the file lacks the column.
    from: Option<(usize, DataType)>,
    to: DataType,
}

impl ByName {
    /// `file_types`: the type of a column of the file, asked only for those that are needed.
    pub fn new<'a>(
        request: &ReadRequest,
        file_names: impl Iterator<Item = &'a str> + Clone,
        mut file_types: impl FnMut(usize) -> Result<DataType>,
        ignore_case: bool,
        allow_missing: bool,
    ) -> Result<ByName> {
        let mut by_name = ByName { read: Vec::new(), sources: Vec::with_capacity(request.wanted.len()) };
        for &wanted in request.wanted.iter() {
            let (name, ty) = &request.structure[wanted];
            let exact = file_names.clone().position(|n| n == name);
            let folded = || file_names.clone().position(|n| ignore_case && n.eq_ignore_ascii_case(name));
            let from = match exact.or_else(folded) {
                Some(position) => {
                    by_name.read.push(position);
                    Some((by_name.read.len() - 1, file_types(position)?))
                }
                None if allow_missing => None,
                None => bail!(THERE_IS_NO_COLUMN, "Column '{name}' is not presented in input data"),
            };
            by_name.sources.push(Source { from, to: ty.clone() });
        }
        Ok(by_name)
    }

    /// Position in [`read`](Self::read) of a wanted column, if the file has it in the very type that is wanted.
    pub fn as_it_is(&self, wanted: usize) -> Option<usize> {
        let source = self.sources.get(wanted)?;
        let (position, from) = source.from.as_ref()?;
        (*from == source.to).then_some(*position)
    }

    /// The same of a column that has NULL where the wanted one has it.
    pub fn with_its_nulls(&self, wanted: usize) -> Option<usize> {
        let source = self.sources.get(wanted)?;
        let (position, from) = source.from.as_ref()?;
        (from.without_low_cardinality() == source.to.without_low_cardinality()).then_some(*position)
    }

    /// The wanted columns of a block of the file's columns in the order of [`read`](Self::read).
    pub fn block(&self, block: &Block, request: &ReadRequest) -> Result<Block> {
        let n = block.n_rows();
        let columns = self.sources.iter().map(|source| match &source.from {
            Some((position, from)) => convert::column(block.column(*position), from, &source.to, request),
            None => Ok(Column::constant(Vector::defaults(&source.to, 1), n)),
        });
        Ok(Block::new(columns.collect::<Result<_>>()?, n))
    }

    /// What [`BlockReader::omitted`](crate::BlockReader::omitted) says of a block of `n` rows.
    pub fn omitted(&self, n: usize) -> Vec<Option<BooleanBuffer>> {
        if self.sources.iter().all(|source| source.from.is_some()) {
            return Vec::new();
        }
        self.sources.iter().map(|source| source.from.is_none().then(|| BooleanBuffer::new_set(n))).collect()
    }
}
