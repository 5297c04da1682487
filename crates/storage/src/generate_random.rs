//! `generateRandom` and the engine GenerateRandom: endless rows of random values. The same seed gives the same rows, however many
//! threads read them and in whatever blocks.

use crate::{Morsel, Scan, ScanRequest, ScanWorker, Table, TableSchema};
use chalet_base::{Result, bail};
use chalet_columns::{Block, Buf, Column, Data, Fixed, List, StringBuilder, Struct, Vector};
use chalet_types::{DataType, I256, Physical, U256};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Rows of a task: the values of a task depend on nothing but its number.
const ROWS_PER_TASK: u64 = 4096;
/// One value in so many of a Nullable type is NULL.
const NULL_EVERY: u64 = 16;

/// Rows of random values.
pub struct GenerateRandom {
    pub schema: TableSchema,
    pub seed: u64,
    pub max_string_length: u64,
    pub max_array_length: u64,
}

impl Table for GenerateRandom {
    fn engine(&self) -> &str {
        "GenerateRandom"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        let columns = request.columns.iter().map(|&at| (at as u64, self.schema.columns[at].ty.clone()));
        let columns: Vec<(u64, DataType)> = columns.collect();
        columns.iter().try_for_each(|(_, ty)| check(ty))?;
        Ok(Arc::new(RandomScan(Arc::new(Shared {
            columns,
            limits: Limits { string: self.max_string_length, array: self.max_array_length },
            seed: self.seed,
            limit: request.limit.filter(|_| request.filter.is_none()),
            block_size: request.context.max_block_size.max(1),
            next: AtomicU64::new(0),
        }))))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Fails for a type of which no values are made.
fn check(ty: &DataType) -> Result<()> {
    match ty {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => check(inner),
        DataType::Array(element) => check(element),
        DataType::Tuple(fields) => fields.iter().try_for_each(|field| check(&field.ty)),
        DataType::Map(key, value) => check(key).and_then(|()| check(value)),
        DataType::Json(_)
        | DataType::Variant(_)
        | DataType::Dynamic(_)
        | DataType::AggregateFunction(_)
        | DataType::QBit(_)
        | DataType::BFloat16
        | DataType::Time
        | DataType::Time64(_)
        | DataType::Interval(_)
        | DataType::Nothing => {
            bail!(NOT_IMPLEMENTED, "The 'GenerateRandom' is not implemented for type {ty}")
        }
        _ => Ok(()),
    }
}

#[derive(Clone, Copy)]
struct Limits {
    string: u64,
    array: u64,
}

struct Shared {
    /// Positions in the table, which seed the values, and types.
    columns: Vec<(u64, DataType)>,
    limits: Limits,
    seed: u64,
    limit: Option<u64>,
    block_size: usize,
    next: AtomicU64,
}

struct RandomScan(Arc<Shared>);

impl Scan for RandomScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { shared: self.0.clone(), task: 0, number: 0, current: None }))
    }

    fn parallelism(&self) -> usize {
        let tasks = self.0.limit.map(|limit| limit.div_ceil(ROWS_PER_TASK));
        tasks.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    fn total_rows(&self) -> Option<u64> {
        self.0.limit
    }
}

struct Worker {
    shared: Arc<Shared>,
    task: u64,
    number: u32,
    /// The rows of the task, and how many of them have been put out.
    current: Option<(Block, usize)>,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let (rows, first) = match self.current.take() {
            Some((rows, first)) if first < rows.n_rows() => (rows, first),
            _ => {
                self.task = self.shared.next.fetch_add(1, Relaxed);
                self.number = 0;
                let start = self.task.saturating_mul(ROWS_PER_TASK);
                let left = self.shared.limit.map_or(ROWS_PER_TASK, |limit| limit.saturating_sub(start));
                match left.min(ROWS_PER_TASK) {
                    0 => return Ok(None),
                    n => (self.shared.rows(self.task, n as usize), 0),
                }
            }
        };
        let n = (rows.n_rows() - first).min(self.shared.block_size);
        let block = if n == rows.n_rows() { rows.clone() } else { rows.slice(first, n) };
        self.current = Some((rows, first + n));
        self.number += 1;
        Ok(Some(Morsel { block, task: self.task as u32, number: self.number - 1 }))
    }
}

impl Shared {
    /// The first rows of a task.
    fn rows(&self, task: u64, n: usize) -> Block {
        let columns = self.columns.iter().map(|(at, ty)| {
            let mut random = Random::new(self.seed).fork(*at).fork(task);
            Column::Flat(values(ty, n, &mut random, self.limits))
        });
        Block::new(columns.collect(), n)
    }
}

/// The generator of SplitMix64 (Guy Steele, Doug Lea and Christine Flood, "Fast Splittable Pseudorandom Number Generators").
pub struct Random(u64);

impl Random {
    /// Of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Another stream, which is the same whatever else is drawn of this one.
    fn fork(&self, number: u64) -> Random {
        let mut mixed = Random(self.0 ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(17));
        mixed.next();
        Random(mixed.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 to `most`.
    pub fn up_to(&mut self, most: u64) -> u64 {
        match most.checked_add(1) {
            Some(n) => ((u128::from(self.next()) * u128::from(n)) >> 64) as u64,
            None => self.next(),
        }
    }

    fn next_u128(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    fn next_u256(&mut self) -> U256 {
        U256::from_words(self.next_u128(), self.next_u128())
    }
}

/// `n` values; a smaller `n` gives the first of them.
fn values(ty: &DataType, n: usize, random: &mut Random, limits: Limits) -> Vector {
    match ty {
        DataType::LowCardinality(inner) => return values(inner, n, random, limits),
        DataType::Nullable(inner) => {
            let mut nulls = random.fork(1);
            let plain = values(inner, n, &mut random.fork(2), limits);
            let valid = (0..n).map(|_| nulls.up_to(NULL_EVERY - 1) != 0);
            return plain.with_nulls(Some(&valid.collect::<Vec<bool>>().into()));
        }
        _ => {}
    }
    let data = match ty {
        DataType::Bool => Data::U8((0..n).map(|_| (random.next() & 1) as u8).collect()),
        // From 1900-01-01 to 2299-12-31.
        DataType::Date32 => Data::I32((0..n).map(|_| random.up_to(146_096) as i32 - 25_567).collect()),
        DataType::DateTime64(scale, _) => {
            let per_second = 10u64.pow((*scale).into());
            // Seconds as DateTime has them.
            let tick =
                |random: &mut Random| (random.next() >> 32) * per_second + random.up_to(per_second - 1);
            Data::I64((0..n).map(|_| tick(random) as i64).collect())
        }
        DataType::Enum8(names) => {
            let most = names.entries().len() as u64 - 1;
            Data::I8((0..n).map(|_| names.entries()[random.up_to(most) as usize].1 as i8).collect())
        }
        DataType::Enum16(names) => {
            let most = names.entries().len() as u64 - 1;
            Data::I16((0..n).map(|_| names.entries()[random.up_to(most) as usize].1).collect())
        }
        DataType::Decimal { precision, .. } => decimals(*precision, ty.physical(), n, random),
        DataType::Array(inner) => list(inner, n, limits.array, random, limits),
        // Half as many pairs, as in ClickHouse.
        DataType::Map(..) => {
            list(&ty.element().unwrap_or(DataType::Nothing), n, limits.array / 2, random, limits)
        }
        DataType::Tuple(fields) => {
            let field = |(at, ty)| values(ty, n, &mut random.fork(at as u64), limits);
            let fields = fields.iter().map(|field| &field.ty).enumerate().map(field).collect();
            Data::Struct(Struct { fields, len: n })
        }
        _ => plain(ty.physical(), n, random, limits),
    };
    Vector::new(data, None)
}

fn list(inner: &DataType, n: usize, longest: u64, random: &Random, limits: Limits) -> Data {
    let mut lengths = random.fork(1);
    let mut offsets = Vec::with_capacity(n + 1);
    offsets.push(0);
    for row in 0..n {
        offsets.push(offsets[row] + lengths.up_to(longest) as i64);
    }
    let values = Arc::new(values(inner, offsets[n] as usize, &mut random.fork(2), limits));
    Data::List(List { offsets: offsets.into_iter().collect(), values })
}

fn decimals(precision: u8, physical: Physical, n: usize, random: &mut Random) -> Data {
    let precision = u32::from(precision);
    match physical {
        Physical::I32 => Data::I32((0..n).map(|_| random.next() as i32 % 10i32.pow(precision)).collect()),
        Physical::I64 => Data::I64((0..n).map(|_| random.next() as i64 % 10i64.pow(precision)).collect()),
        Physical::I128 => {
            Data::I128((0..n).map(|_| random.next_u128() as i128 % 10i128.pow(precision)).collect())
        }
        _ => {
            let most = I256::new(10).pow(precision);
            Data::I256((0..n).map(|_| random.next_u256().as_i256() % most).collect())
        }
    }
}

fn plain(physical: Physical, n: usize, random: &mut Random, limits: Limits) -> Data {
    match physical {
        Physical::U8 => Data::U8((0..n).map(|_| random.next() as u8).collect()),
        Physical::U16 => Data::U16((0..n).map(|_| random.next() as u16).collect()),
        Physical::U32 => Data::U32((0..n).map(|_| random.next() as u32).collect()),
        Physical::U64 => Data::U64((0..n).map(|_| random.next()).collect()),
        Physical::U128 => Data::U128((0..n).map(|_| random.next_u128()).collect()),
        Physical::U256 => Data::U256((0..n).map(|_| random.next_u256()).collect()),
        Physical::I8 => Data::I8((0..n).map(|_| random.next() as i8).collect()),
        Physical::I16 => Data::I16((0..n).map(|_| random.next() as i16).collect()),
        Physical::I32 => Data::I32((0..n).map(|_| random.next() as i32).collect()),
        Physical::I64 => Data::I64((0..n).map(|_| random.next() as i64).collect()),
        Physical::I128 => Data::I128((0..n).map(|_| random.next_u128() as i128).collect()),
        Physical::I256 => Data::I256((0..n).map(|_| random.next_u256().as_i256()).collect()),
        // Any bits: NaN and infinities among them.
        Physical::F32 => Data::F32((0..n).map(|_| f32::from_bits(random.next() as u32)).collect()),
        Physical::F64 => Data::F64((0..n).map(|_| f64::from_bits(random.next())).collect()),
        Physical::Str => {
            let mut out = StringBuilder::with_capacity(n);
            for _ in 0..n {
                let length = random.up_to(limits.string);
                // What can be printed.
                out.push_with(|bytes| bytes.extend((0..length).map(|_| b' ' + random.up_to(94) as u8)));
            }
            Data::Str(out.finish())
        }
        Physical::Fixed(width) => {
            let width = width as usize;
            let bytes: Buf<u8> = (0..n * width).map(|_| random.next() as u8).collect();
            Data::Fixed(Fixed { width, bytes })
        }
        Physical::Nothing | Physical::BF16 | Physical::List | Physical::Struct => Data::Nothing(n),
    }
}
