//! `uniqExact`: the number of different values, exactly; what `count(DISTINCT ...)` means.

use crate::check::{no_parameters, some_arguments};
use crate::kernel_rows::KernelKeys;
use crate::uniq::key_set::{Key, KeySet};
use crate::uniq::keys::{WideKeys, narrow_keys, word_keys};
use chalet_base::{Result, bail};
use chalet_columns::wire::{put_len, take, take_count};
use chalet_columns::{Data, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::states::same_states;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example, States,
};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "uniqExact",
    summary: "The number of different values, or of different combinations of several arguments.",
    syntax: "uniqExact(x[, ...])",
    examples: &[Example { sql: "SELECT uniqExact(number % 3) FROM numbers(10)", result: "3" }],
    nulls: AggregateNulls::SkipPlainResult,
    zero_when_only_null: true,
    portable_states: true,
    ..AggregateRecord::DEFAULT
};

pub struct UniqExact;

impl AggregateFunction for UniqExact {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        some_arguments(RECORD.name, args)?;
        let width = match args {
            [one] if one.ty.is_comparable_by_number() => one.ty.physical().width(),
            _ => None,
        };
        Ok(match width {
            Some(width @ (1 | 2 | 4)) => Arc::new(Bound(Narrow { width })),
            Some(8) => Arc::new(Bound(Word)),
            _ if is_wide(args) => Arc::new(Bound(Quadruple)),
            _ => Arc::new(Bound(WideKeys::new(args))),
        })
    }

    fn bind_for_states(
        &self,
        parameters: &[Value],
        args: &[Argument],
        ctx: &Context,
    ) -> Result<Arc<dyn Aggregate>> {
        match args {
            [one] if is_number(&one.ty) => self.bind(parameters, args, ctx),
            _ => {
                no_parameters(RECORD.name, parameters)?;
                some_arguments(RECORD.name, args)?;
                let is_plain = matches!(args, [one] if one.ty == DataType::Uuid || is_128(&one.ty));
                Ok(Arc::new(Bound(KernelKeys::new(args, is_plain).of_raw_strings())))
            }
        }
    }
}

/// Does the kernel hold values of the type themselves?
fn is_number(ty: &DataType) -> bool {
    let is_hashed = ty.is_decimal() || is_128(ty) || matches!(ty, DataType::DateTime64(..));
    ty.is_comparable_by_number() && !is_hashed
}

/// One number of 256 bits.
fn is_wide(args: &[Argument]) -> bool {
    matches!(args, [one] if matches!(one.ty, DataType::Int256 | DataType::UInt256))
}

fn is_128(ty: &DataType) -> bool {
    matches!(ty, DataType::Int128 | DataType::UInt128)
}

/// Sets of fewer keys are merged by one thread.
const MIN_DIVIDED: usize = 1 << 13;

/// How arguments become keys.
trait Keys: Clone + Send + Sync + 'static {
    type Key: Key;
    fn each(&self, args: &[Vector], rows: Range<usize>, f: impl FnMut(usize, Self::Key)) -> Result<()>;

    /// Bytes of a key in states.
    fn width(&self) -> usize {
        size_of::<Self::Key>()
    }
}

#[derive(Clone)]
struct Narrow {
    width: usize,
}

impl Keys for Narrow {
    type Key = u32;
    #[inline]
    fn each(&self, args: &[Vector], rows: Range<usize>, f: impl FnMut(usize, u32)) -> Result<()> {
        narrow_keys(&args[0], rows, f)
    }

    fn width(&self) -> usize {
        self.width
    }
}

#[derive(Clone)]
struct Word;

impl Keys for Word {
    type Key = u64;
    #[inline]
    fn each(&self, args: &[Vector], rows: Range<usize>, f: impl FnMut(usize, u64)) -> Result<()> {
        word_keys(&args[0], rows, f)
    }
}

impl Keys for WideKeys {
    type Key = u128;
    #[inline]
    fn each(&self, args: &[Vector], rows: Range<usize>, f: impl FnMut(usize, u128)) -> Result<()> {
        self.for_each(args, rows, f);
        Ok(())
    }
}

/// The keys of the kernel, which other sets would take longer to make.
impl Keys for KernelKeys {
    type Key = u128;
    fn each(&self, args: &[Vector], rows: Range<usize>, f: impl FnMut(usize, u128)) -> Result<()> {
        self.for_each(args, rows, f);
        Ok(())
    }
}

/// Numbers of 256 bits.
#[derive(Clone)]
struct Quadruple;

impl Keys for Quadruple {
    type Key = [u64; 4];
    fn each(&self, args: &[Vector], rows: Range<usize>, mut f: impl FnMut(usize, [u64; 4])) -> Result<()> {
        match &args[0].data {
            Data::U256(v) => rows.for_each(|row| f(row, words(v[row].to_le_bytes()))),
            Data::I256(v) => rows.for_each(|row| f(row, words(v[row].to_le_bytes()))),
            _ => bail!(LOGICAL_ERROR, "Column is not of numbers of 256 bits"),
        }
        Ok(())
    }
}

fn words(bytes: [u8; 32]) -> [u64; 4] {
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|at| u64::from_le_bytes(words[at]))
}

struct Bound<W>(W);

impl<W: Keys> Aggregate for Bound<W> {
    fn result_type(&self) -> DataType {
        DataType::UInt64
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Sets { keys: self.0.clone(), sets: Vec::new() })
    }

    fn counts_distinct(&self) -> bool {
        true
    }
}

struct Sets<W: Keys> {
    keys: W,
    sets: Vec<KeySet<W::Key>>,
}

impl<W: Keys> States for Sets<W> {
    fn grow(&mut self, n: usize) {
        if self.sets.len() < n {
            self.sets.resize_with(n, KeySet::default);
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let set = &mut self.sets[group];
        self.keys.each(args, rows, |_, key| set.insert(key))
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let sets = &mut self.sets;
        self.keys.each(args, 0..groups.len(), |row, key| sets[groups[row] as usize].insert(key))
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            self.sets[into as usize].merge(std::mem::take(&mut other.sets[from as usize]));
        }
        Ok(())
    }

    fn is_divisible(&self) -> bool {
        true
    }

    fn divide(&mut self, group: usize, parts: usize) -> Option<Vec<Box<dyn States>>> {
        let set = &mut self.sets[group];
        if set.len() < MIN_DIVIDED {
            return None;
        }
        let of_part = |set| Box::new(Sets { keys: self.keys.clone(), sets: vec![set] }) as Box<dyn States>;
        Some(std::mem::take(set).divide(parts).into_iter().map(of_part).collect())
    }

    fn unite(&mut self, group: usize, parts: &mut [&mut (dyn States + 'static)]) -> Result<()> {
        let sets = parts.iter_mut().map(|part| Ok(std::mem::take(&mut same_states::<Self>(*part)?.sets[0])));
        self.sets[group] = KeySet::of_parts(sets.collect::<Result<_>>()?);
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        let set = &self.sets[group];
        put_len(set.len(), out);
        let mut bytes = Vec::new();
        set.for_each(|key| {
            bytes.clear();
            key.put(&mut bytes);
            // The lowest bytes come first.
            out.extend_from_slice(&bytes[..self.keys.width()]);
        });
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let width = self.keys.width();
        let n = take_count(bytes, width)?;
        // Keys come in the order of their hashes: in a table without room for all they would crowd its beginning.
        self.sets[group].reserve(n);
        for _ in 0..n {
            let mut key = [0; 32];
            key[..width].copy_from_slice(take(bytes, width)?);
            self.sets[group].insert(W::Key::take(&mut &key[..])?);
        }
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        Ok(self.sets[..n].iter().map(|set| set.len() as u64).collect::<Vec<u64>>().into())
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let set = &mut self.sets[0];
        let mut counts = Vec::with_capacity(ends.len());
        self.keys.each(args, from..ends.last().copied().unwrap_or(from), |row, key| {
            while ends.get(counts.len()).is_some_and(|&end| end <= row) {
                counts.push(set.len() as u64);
            }
            set.insert(key);
        })?;
        counts.resize(ends.len(), set.len() as u64);
        Ok(counts.into())
    }

    fn memory(&self) -> usize {
        let heap: usize = self.sets.iter().map(KeySet::heap).sum();
        self.sets.capacity() * size_of::<KeySet<W::Key>>() + heap
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
