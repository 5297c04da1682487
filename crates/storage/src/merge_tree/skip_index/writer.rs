//! Rows to granules of indexes, while a part is written.

use super::definition::SkipIndexProgram;
use super::filter::FilterBuilder;
use super::hashing::{each_hash, of_bytes};
use super::kind::{SkipIndexKind, elements};
use super::minmax::MinMaxBuilder;
use super::sets::SetsBuilder;
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_columns::{Block, Data, Vector};

/// The indexes of a part that is being written.
pub struct IndexWriters(Vec<IndexWriter>);

impl IndexWriters {
    /// For these indexes.
    pub fn new(programs: &[SkipIndexProgram]) -> IndexWriters {
        IndexWriters(programs.iter().map(IndexWriter::new).collect())
    }

    /// Takes the next rows of the part.
    pub fn write(&mut self, block: &Block) -> Result<()> {
        self.0.iter_mut().try_for_each(|writer| writer.write(block))
    }

    /// Each index with its granules.
    pub fn finish(self) -> impl Iterator<Item = Result<(SkipIndexProgram, usize, Vec<u8>)>> {
        self.0.into_iter().map(IndexWriter::finish)
    }
}

struct IndexWriter {
    program: SkipIndexProgram,
    /// Rows of the current granule.
    rows: usize,
    n_granules: usize,
    content: Content,
}

enum Content {
    MinMax(Vec<MinMaxBuilder>),
    Sets(SetsBuilder),
    Filters(Vec<FiltersBuilder>),
}

impl IndexWriter {
    fn new(program: &SkipIndexProgram) -> IndexWriter {
        let types = &program.types;
        let content = match &program.kind {
            SkipIndexKind::MinMax => Content::MinMax(types.iter().map(MinMaxBuilder::new).collect()),
            SkipIndexKind::Set { most } => Content::Sets(SetsBuilder::new(types, *most)),
            kind => Content::Filters(types.iter().map(|_| FiltersBuilder::new(kind.clone())).collect()),
        };
        IndexWriter { program: program.clone(), rows: 0, n_granules: 0, content }
    }

    fn write(&mut self, block: &Block) -> Result<()> {
        let columns = (self.program.evaluate)(block)?;
        let values = Block::new(columns, block.n_rows());
        let mut start = 0;
        while start < values.n_rows() {
            let n = (values.n_rows() - start).min(self.program.granule_rows - self.rows);
            self.add(&values.slice(start, n))?;
            self.rows += n;
            start += n;
            if self.rows == self.program.granule_rows {
                self.cut();
            }
        }
        Ok(())
    }

    fn add(&mut self, rows: &Block) -> Result<()> {
        match &mut self.content {
            Content::MinMax(builders) => {
                for (builder, column) in builders.iter_mut().zip(rows.columns()) {
                    builder.add(&column.flat());
                }
            }
            Content::Sets(sets) => sets.add(rows),
            Content::Filters(builders) => {
                for (builder, column) in builders.iter_mut().zip(rows.columns()) {
                    builder.add(&column.flat())?;
                }
            }
        }
        Ok(())
    }

    fn cut(&mut self) {
        match &mut self.content {
            Content::MinMax(builders) => builders.iter_mut().for_each(MinMaxBuilder::cut),
            Content::Sets(sets) => sets.cut(),
            Content::Filters(builders) => builders.iter_mut().for_each(FiltersBuilder::cut),
        }
        self.rows = 0;
        self.n_granules += 1;
    }

    fn finish(mut self) -> Result<(SkipIndexProgram, usize, Vec<u8>)> {
        if self.rows > 0 {
            self.cut();
        }
        let mut out = Vec::new();
        match self.content {
            Content::MinMax(builders) => {
                builders.into_iter().try_for_each(|builder| builder.finish(&mut out))?
            }
            Content::Sets(sets) => sets.finish(&mut out)?,
            Content::Filters(builders) => {
                let mut bits = Vec::new();
                for builder in builders {
                    out.extend(builder.heads);
                    bits.extend(builder.bits);
                }
                out.extend(bits);
            }
        }
        Ok((self.program, self.n_granules, out))
    }
}

/// The filters of one expression.
struct FiltersBuilder {
    kind: SkipIndexKind,
    /// Of the current granule.
    hashes: HashSet<u64>,
    heads: Vec<u8>,
    bits: Vec<u8>,
}

impl FiltersBuilder {
    fn new(kind: SkipIndexKind) -> FiltersBuilder {
        FiltersBuilder { kind, hashes: HashSet::default(), heads: Vec::new(), bits: Vec::new() }
    }

    fn add(&mut self, vector: &Vector) -> Result<()> {
        let FiltersBuilder { kind, hashes, .. } = self;
        let values = elements_of(vector);
        if matches!(kind, SkipIndexKind::Bloom { .. }) {
            return each_hash(&values, &mut |hash| _ = hashes.insert(hash));
        }
        let mut add = |text: &[u8]| kind.words(text, &mut |word| _ = hashes.insert(of_bytes(word)));
        match &values.data {
            Data::Str(strings) => strings.iter().for_each(&mut add),
            Data::Fixed(fixed) => (0..fixed.len()).for_each(|row| add(fixed.get(row))),
            _ => {}
        }
        Ok(())
    }

    fn cut(&mut self) {
        let mut filter = match self.kind {
            SkipIndexKind::Tokens { bytes, hashes } | SkipIndexKind::Ngrams { bytes, hashes, .. } => {
                FilterBuilder::new(bytes, hashes)
            }
            SkipIndexKind::Bloom { false_positives } => {
                FilterBuilder::sized(self.hashes.len(), false_positives)
            }
            _ => FilterBuilder::new(1, 1),
        };
        self.hashes.drain().for_each(|hash| filter.add(hash));
        filter.finish(&mut self.heads, &mut self.bits);
    }
}

/// The elements of the arrays of these very rows, or the values.
fn elements_of(vector: &Vector) -> std::borrow::Cow<'_, Vector> {
    match &vector.data {
        // A slice of arrays shares the elements of all.
        Data::List(list) => {
            std::borrow::Cow::Owned(elements(&Vector::new(Data::List(list.normalised()), None)).clone())
        }
        _ => std::borrow::Cow::Borrowed(vector),
    }
}
