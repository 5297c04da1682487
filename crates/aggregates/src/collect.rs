//! Aggregates that keep whole rows and look at them at the end: rows stay in their columns, with a group number each.

use chalet_base::{Result, ensure};
use chalet_columns::rows::RowCodec;
use chalet_columns::wire::{put_len, take_len};
use chalet_columns::{Builder, Vector};
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, Argument, States};
use chalet_types::DataType;
use std::any::Any;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

/// More rows are no state of a group.
pub const MAX_ARRAY_SIZE: usize = 0xff_ffff;

/// Row numbers that results of a growing group are made of at once.
const PREFIXES_AT_ONCE: usize = 1 << 16;

/// What is made of the rows of a group.
pub trait Collector: Send + Sync + 'static {
    fn result_type(&self) -> DataType;

    /// The types of what is kept of the arguments, where it is made of them.
    fn kept_types(&self) -> Option<Vec<DataType>> {
        None
    }

    /// What is kept of the arguments, of the types above; all else of a collector is given that.
    fn keep(&self, args: &[Vector]) -> Result<Vec<Vector>> {
        Ok(args.to_vec())
    }

    /// Rows of a group after which the others are not kept.
    fn limit(&self) -> usize {
        usize::MAX
    }

    /// Appends the result of the group whose rows are the given ones, in the order in which they came.
    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()>;

    /// All results at once: those of group `i` are `rows[starts[i]..starts[i + 1]]`.
    fn finish_all(&self, args: &[Vector], starts: &[u32], rows: &[u32]) -> Result<Vector> {
        let mut out = Builder::new(&self.result_type());
        for range in starts.windows(2) {
            self.finish(args, &rows[range[0] as usize..range[1] as usize], &mut out)?;
        }
        Ok(out.finish())
    }

    /// The results of a group that grows: those of its first `ends[i]` rows. Ends ascend.
    fn finish_growing(&self, args: &[Vector], rows: &[u32], ends: &[usize]) -> Result<Vector> {
        finish_prefixes(self, args, rows, ends)
    }

    /// Appends the rows of a group as the kernel's states have them; false where those are not known.
    fn put_rows(&self, args: &[Vector], rows: &[u32], out: &mut Vec<u8>) -> Result<bool> {
        let _ = (args, rows, out);
        Ok(false)
    }

    /// Takes them into builders of the arguments; None where they are not known. Gives how many rows there are.
    fn take_rows(&self, bytes: &mut &[u8], args: &mut [Builder]) -> Result<Option<usize>> {
        let _ = (bytes, args);
        Ok(None)
    }

    /// The results over ranges of the rows of the arguments, of which those with one start stand together; None where they are no quicker made together.
    fn of_ranges(&self, args: &[Vector], ranges: &[Range<usize>]) -> Result<Option<Vector>> {
        let _ = (args, ranges);
        Ok(None)
    }
}

/// The results of a group that grows, each made from all of its rows.
pub fn finish_prefixes<C: Collector + ?Sized>(
    collector: &C,
    args: &[Vector],
    rows: &[u32],
    ends: &[usize],
) -> Result<Vector> {
    // The rows of every result one behind the other, for as many results at once as make no large copy.
    let (mut starts, mut prefixes) = (vec![0u32], Vec::new());
    let mut results = Vec::new();
    for (at, &end) in ends.iter().enumerate() {
        prefixes.extend_from_slice(&rows[..end]);
        starts.push(prefixes.len() as u32);
        if prefixes.len() > PREFIXES_AT_ONCE || at + 1 == ends.len() {
            results.push(collector.finish_all(args, &starts, &prefixes)?);
            starts.truncate(1);
            prefixes.clear();
        }
    }
    Ok(Vector::concat(&results.iter().collect::<Vec<_>>()))
}

/// An aggregate that collects rows of the given arguments.
pub fn collecting(collector: impl Collector, args: &[Argument]) -> Arc<dyn Aggregate> {
    let types = args.iter().map(|arg| arg.ty.clone()).collect();
    let converts = collector.kept_types();
    let (types, converts) = (converts.clone().unwrap_or(types), converts.is_some());
    Arc::new(Collecting { collector: Arc::new(collector), types: types.into(), converts })
}

struct Collecting {
    collector: Arc<dyn Collector>,
    types: Arc<[DataType]>,
    converts: bool,
}

impl Aggregate for Collecting {
    fn result_type(&self) -> DataType {
        self.collector.result_type()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Rows {
            collector: self.collector.clone(),
            types: self.types.clone(),
            converts: self.converts,
            codecs: self.types.iter().map(RowCodec::new).collect(),
            limit: self.collector.limit(),
            chunks: Vec::new(),
            groups: Vec::new(),
            counts: Vec::new(),
            index: OnceCell::new(),
        })
    }
}

struct Rows {
    collector: Arc<dyn Collector>,
    types: Arc<[DataType]>,
    /// Is something else kept than the arguments?
    converts: bool,
    codecs: Vec<RowCodec>,
    limit: usize,
    /// Runs of rows: one vector per argument.
    chunks: Vec<Vec<Vector>>,
    /// The group of each row of all chunks.
    groups: Vec<u32>,
    /// Rows of each group.
    counts: Vec<u32>,
    /// Made when results or bytes are asked for, and thrown away by the next row.
    index: OnceCell<Index>,
}

/// All rows by group.
struct Index {
    args: Vec<Vector>,
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Index {
    /// The rows of a group.
    fn of(&self, group: usize) -> &[u32] {
        &self.rows[self.starts[group] as usize..self.starts[group + 1] as usize]
    }
}

impl Rows {
    fn push(&mut self, args: Vec<Vector>, groups: impl Iterator<Item = u32>) {
        let before = self.groups.len();
        self.groups.extend(groups);
        if self.groups.len() > before {
            self.chunks.push(args);
        }
        self.index.take();
    }

    /// Counts the row, unless its group is full.
    fn admit(&mut self, group: u32) -> bool {
        let count = &mut self.counts[group as usize];
        let room = (*count as usize) < self.limit;
        *count += u32::from(room);
        room
    }

    /// Adds rows of what is kept.
    fn add_kept(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let room = self.limit.saturating_sub(self.counts[group] as usize);
        let n = rows.len().min(room);
        self.counts[group] += n as u32;
        let chunk = args.iter().map(|arg| {
            let slice = arg.slice(rows.start, n);
            // A slice keeps its whole column alive.
            if n * 2 < arg.len() { slice.gather(&(0..n as u32).collect::<Vec<_>>()) } else { slice }.compact()
        });
        let chunk = chunk.collect();
        self.push(chunk, std::iter::repeat_n(group as u32, n));
        Ok(())
    }

    fn add_kept_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let admitted: Vec<u32> =
            (0..groups.len() as u32).filter(|&row| self.admit(groups[row as usize])).collect();
        if admitted.len() == groups.len() {
            self.push(args.iter().map(Vector::compact).collect(), groups.iter().copied());
        } else {
            let chunk = args.iter().map(|arg| arg.gather(&admitted).compact()).collect();
            self.push(chunk, admitted.iter().map(|&row| groups[row as usize]));
        }
        Ok(())
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let args = (0..self.types.len()).map(|arg| {
                let parts: Vec<&Vector> = self.chunks.iter().map(|chunk| &chunk[arg]).collect();
                if parts.is_empty() { Vector::defaults(&self.types[arg], 0) } else { Vector::concat(&parts) }
            });
            let mut starts = Vec::with_capacity(self.counts.len() + 1);
            starts.push(0u32);
            self.counts.iter().for_each(|count| starts.push(starts[starts.len() - 1] + count));
            let mut next = starts.clone();
            let mut rows = vec![0u32; self.groups.len()];
            for (row, &group) in self.groups.iter().enumerate() {
                let place = &mut next[group as usize];
                rows[*place as usize] = row as u32;
                *place += 1;
            }
            Index { args: args.collect(), starts, rows }
        })
    }
}

impl States for Rows {
    fn grow(&mut self, n: usize) {
        if self.counts.len() < n {
            self.counts.resize(n, 0);
            self.index.take();
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        if !self.converts {
            return self.add_kept(group, args, rows);
        }
        let some: Vec<Vector> = args.iter().map(|arg| arg.slice(rows.start, rows.len())).collect();
        self.add_kept(group, &self.collector.keep(&some)?, 0..rows.len())
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        match self.converts {
            true => self.add_kept_groups(groups, &self.collector.keep(args)?),
            false => self.add_kept_groups(groups, args),
        }
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        let index = other.index();
        let (mut rows, mut groups) = (Vec::new(), Vec::new());
        for (&from, &into) in from.iter().zip(into) {
            rows.extend_from_slice(index.of(from as usize));
            groups.resize(rows.len(), into);
        }
        let args: Vec<Vector> = index.args.iter().map(|arg| arg.gather(&rows)).collect();
        self.add_kept_groups(&groups, &args)
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        let index = self.index();
        let rows = index.of(group);
        // Arguments are of the types that were bound, with which nothing fails.
        if self.collector.put_rows(&index.args, rows, out).unwrap_or(false) {
            return;
        }
        put_len(rows.len(), out);
        for &row in rows {
            self.codecs.iter().zip(&index.args).for_each(|(codec, arg)| codec.put(arg, row as usize, out));
        }
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let mut builders: Vec<Builder> = self.types.iter().map(Builder::new).collect();
        let known = self.collector.take_rows(bytes, &mut builders)?;
        let n = known.map_or_else(|| take_len(bytes), Ok)?;
        ensure!(
            n <= MAX_ARRAY_SIZE,
            TOO_LARGE_ARRAY_SIZE,
            "Too large array size {n} (maximum: {MAX_ARRAY_SIZE})"
        );
        if known.is_none() {
            for _ in 0..n {
                for (codec, builder) in self.codecs.iter().zip(&mut builders) {
                    codec.take(bytes, builder)?;
                }
            }
        }
        let args: Vec<Vector> = builders.into_iter().map(Builder::finish).collect();
        self.add_kept(group, &args, 0..n)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let index = self.index();
        let starts = &index.starts[..=n];
        self.collector.finish_all(&index.args, starts, &index.rows[..starts[n] as usize])
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        self.grow(1);
        let before = self.counts[0] as usize;
        self.add(0, args, from..ends.last().copied().unwrap_or(from))?;
        let index = self.index();
        let rows = index.of(0);
        // Rows beyond the limit have not been kept.
        let ends: Vec<usize> = ends.iter().map(|end| (before + end - from).min(rows.len())).collect();
        self.collector.finish_growing(&index.args, rows, &ends)
    }

    fn running_frames(&mut self, args: &[Vector], frames: &[Range<usize>]) -> Result<Option<Vector>> {
        match self.converts {
            true => self.collector.of_ranges(&self.collector.keep(args)?, frames),
            false => self.collector.of_ranges(args, frames),
        }
    }

    fn memory(&self) -> usize {
        let chunks: usize = self.chunks.iter().flatten().map(Vector::memory).sum();
        chunks + self.groups.capacity() * 4 + self.counts.capacity() * 4
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
