//! Run-time filters: once the right side of a join is built, its keys are known, and rows of the left side whose keys are not
//! among them need not be read. The scans of the left side get them as dynamic filters, and as ranges that skip whole units
//! of files. A bitmap holds integers that lie close together, a [Bloom filter](super::bloom) any other keys.

use super::bloom::{Bloom, LateBloom};
use super::dense::Dense;
use super::index::{KeyIndex, Rows};
use super::table::{JoinTable, usable_keys};
use crate::RuntimeFilterPolicy;
use crate::expression::Program;
use crate::hash_table::{KeyLayout, extreme_rows, integer_bias};
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker};
use crate::tasks::Team;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_base::hash::hash_u64;
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_columns::{Block, BooleanBuffer, Column};
use chalet_storage::ColumnRange;
use chalet_storage::scan::ScanFilter;
use chalet_types::{DataType, Value};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// A filter that a join will have when its right side is built.
pub struct RuntimeFilter {
    pub slot: Arc<OnceLock<JoinTable>>,
    /// The key over the right side's columns.
    pub key: Program,
    pub ty: DataType,
    /// The join has no other key.
    pub is_only: bool,
    /// The key over the columns of the scan of the left side that it comes from.
    pub scanned: Program,
    /// Positions of these columns among those of the scan.
    pub columns: Vec<usize>,
    /// Where the key is a plain column of the scan.
    pub is_plain: bool,
    pub policy: RuntimeFilterPolicy,
}

/// The filter, made of the keys that there are.
#[derive(Clone)]
pub struct KeyFilter(Arc<Shared>);

struct Shared {
    members: Members,
    layout: Arc<KeyLayout>,
    scanned: Program,
    columns: Vec<usize>,
    policy: RuntimeFilterPolicy,
    /// Blocks that will not be tested.
    skip: AtomicU64,
}

enum Members {
    Bitmap(Bitmap),
    Bloom(Bloom),
    LateBloom(LateBloom),
}

/// A bit for each integer from `least` on.
struct Bitmap {
    bias: u64,
    least: u64,
    /// Of `len` integers, and one behind them that is no key.
    bits: Vec<u64>,
    len: u64,
}

impl Bitmap {
    fn new(bias: u64, least: u64, mut bits: Vec<u64>, len: u64) -> Bitmap {
        bits.resize(len as usize / 64 + 1, 0);
        Bitmap { bias, least, bits, len }
    }

    /// Which of these words are keys. Without a branch: what is no integer of the range is the one behind it.
    fn mask(&self, words: &[u64]) -> BooleanBuffer {
        let Bitmap { bias, least, bits, len } = self;
        let mut masks: Vec<u64> = Vec::with_capacity(words.len().div_ceil(64));
        dispatch_simd(|| {
            for some in words.chunks(64) {
                let mut mask = 0;
                for (place, &word) in some.iter().enumerate() {
                    let at = (word ^ bias).wrapping_sub(*least).min(*len);
                    mask |= (bits[at as usize / 64] >> (at % 64) & 1) << place;
                }
                masks.push(mask);
            }
        });
        BooleanBuffer::new(masks.into(), 0, words.len())
    }
}

/// A range with more integers than this for each key has no bitmap, unless it is small.
const INTEGERS_PER_KEY: u64 = 64;

const SMALL_RANGE: u64 = 1 << 20;

impl RuntimeFilter {
    /// The filter, and the range of the keys where the scan can skip by it; none where the right side is not in memory.
    pub(crate) fn make(&self, team: &Team) -> Result<Option<(KeyFilter, Option<ColumnRange>)>> {
        let Some(table) = self.slot.get().filter(|table| !table.is_spilled() && !table.is_empty()) else {
            return Ok(None);
        };
        let n_rows = table.rows.n_rows();
        let key = self.key.evaluate(&table.rows)?.swap_remove(0);
        let (keys, valid) = usable_keys(vec![key], &[false], n_rows);
        let types = [self.ty.bare().clone()];
        let layout = Arc::new(KeyLayout::new(&types));
        let known = match self.dense_members(team)? {
            Some(known) => Some(known),
            None => bitmap(&keys, &types[0], &valid, &layout),
        };
        let (members, extremes) = match known {
            Some((members, first, last)) => (members, Some((first, last))),
            None => {
                // Where keys come more than once, a smaller filter does, of which caches hold more.
                let n_keys = self.index().map_or(n_rows, |index| index.n_lists().min(n_rows));
                match self.index().and_then(|_| LateBloom::of(&self.slot, n_keys)) {
                    Some(late) => (Members::LateBloom(late), None),
                    None => {
                        let hashes = layout.keys(&keys, n_rows).hashes;
                        (Members::Bloom(Bloom::of(&hashes, &valid, n_keys)), None)
                    }
                }
            }
        };
        let range = match &extremes {
            Some((first, last)) if self.is_plain => {
                let value =
                    |row: usize| Some((keys[0].value(row), true)).filter(|(v, _)| is_bound(v, &types[0]));
                Some(ColumnRange {
                    low: value(*first),
                    high: value(*last),
                    ..ColumnRange::of(self.columns[0])
                })
            }
            _ => None,
        };
        if !matches!(members, Members::LateBloom(_)) {
            events::count(Event::RuntimeFiltersCreated);
        }
        let filter = KeyFilter(Arc::new(Shared {
            members,
            layout,
            scanned: self.scanned.clone(),
            columns: self.columns.clone(),
            policy: self.policy,
            skip: AtomicU64::new(0),
        }));
        Ok(Some((filter, range)))
    }

    /// The index of the join, where this is its only key.
    fn index(&self) -> Option<&KeyIndex> {
        self.slot.get().map(|table| &table.index).filter(|_| self.is_only)
    }

    /// The bitmap of an index of integers that lie close together, by all of a team, and the rows of the least and the greatest key.
    fn dense_members(&self, team: &Team) -> Result<Option<(Members, usize, usize)>> {
        let Some((dense, rows)) = self.index().and_then(KeyIndex::as_dense) else { return Ok(None) };
        let (Some(bias), Some((least, len))) = (integer_bias(self.ty.bare()), dense.range()) else {
            return Ok(None);
        };
        let (first, last) = dense.extreme_rows(rows);
        let n_words = len.div_ceil(64);
        let slot = self.slot.clone();
        let bits = team.collect_all(n_words.div_ceil(WORDS_AT_ONCE), move |at| {
            let words = at * WORDS_AT_ONCE..n_words.min((at + 1) * WORDS_AT_ONCE);
            let index = slot.get().and_then(|table| table.index.as_dense());
            let bits =
                |(dense, rows): (&Dense, &Rows)| words.map(|word| dense.bits(rows, word * 64)).collect();
            Ok(index.map_or_else(Vec::new, bits))
        })?;
        let members = Members::Bitmap(Bitmap::new(bias, least, bits.concat(), len as u64));
        Ok(Some((members, first as usize, last as usize)))
    }
}

/// Rows that are looked at before all are.
const FIRST_ROWS: usize = 1 << 10;

/// Words of a bitmap that a worker makes at a time.
const WORDS_AT_ONCE: usize = 1 << 14;

/// Do values of the type order in statistics of files as they do here?
fn is_bound(value: &Value, ty: &DataType) -> bool {
    matches!(value, Value::UInt(_) | Value::Int(_)) && (ty.is_integer() || ty.is_date_or_time())
}

/// The bitmap of integers that lie close together, and the rows of the least and the greatest.
fn bitmap(
    keys: &[Column],
    ty: &DataType,
    valid: &BooleanBuffer,
    layout: &KeyLayout,
) -> Option<(Members, usize, usize)> {
    let bias = integer_bias(ty)?;
    let words = layout.words(keys, valid.len())?;
    let most = SMALL_RANGE.max((valid.len() as u64).saturating_mul(INTEGERS_PER_KEY));
    let range = |n_rows: usize| {
        let (least, greatest) = extreme_rows(&words, &valid.slice(0, n_rows), bias)?;
        Some((least, greatest, (words[greatest] ^ bias) - (words[least] ^ bias)))
    };
    // A few rows may say already that they lie too far from each other.
    if range(valid.len().min(FIRST_ROWS)).is_some_and(|(.., len)| len >= most) {
        return None;
    }
    let (least, greatest, len) = range(valid.len())?;
    if len >= most {
        return None;
    }
    let low = words[least] ^ bias;
    let mut bits = vec![0u64; len as usize / 64 + 1];
    for row in valid.set_indices() {
        let at = (words[row] ^ bias) - low;
        bits[at as usize / 64] |= 1 << (at % 64);
    }
    Some((Members::Bitmap(Bitmap::new(bias, low, bits, len + 1)), least, greatest))
}

impl Shared {
    /// Which of these keys may be among those of the filter; none while there is no filter yet.
    fn members_among(&self, keys: &[Column], valid: &BooleanBuffer) -> Option<BooleanBuffer> {
        let n_rows = valid.len();
        let bloom = match &self.members {
            Members::Bitmap(bitmap) => {
                return Some(bitmap.mask(&self.layout.words(keys, n_rows).unwrap_or_default()));
            }
            Members::Bloom(bloom) => bloom,
            Members::LateBloom(late) => {
                if late.get().is_none() {
                    if !late.pays(keys, valid, self.policy.most_passing) {
                        self.skip.store(self.policy.blocks_to_skip, Relaxed);
                        return None;
                    }
                    late.make();
                }
                late.get()?
            }
        };
        Some(match self.layout.words(keys, n_rows) {
            Some(words) => bloom.mask(n_rows, |row| hash_u64(words[row])),
            None => {
                let hashes = self.layout.keys(keys, n_rows).hashes;
                bloom.mask(n_rows, |row| hashes[row])
            }
        })
    }
}

impl KeyFilter {
    /// The filter for a scan.
    pub fn for_scan(&self) -> ScanFilter {
        let (columns, filter) = (self.0.columns.clone(), self.clone());
        ScanFilter {
            columns,
            unread: Vec::new(),
            condition: None,
            evaluate: Arc::new(move |block| filter.mask(block)),
            stages: Vec::new(),
        }
    }

    /// Which rows of a block of the columns that the key is made of may have a partner.
    fn mask(&self, block: &Block) -> Result<BooleanBuffer> {
        let shared = &*self.0;
        let n_rows = block.n_rows();
        if shared.skip.fetch_update(Relaxed, Relaxed, |skip| skip.checked_sub(1)).is_ok() {
            events::count(Event::RuntimeFilterBlocksSkipped);
            events::add(Event::RuntimeFilterRowsSkipped, n_rows as u64);
            return Ok(BooleanBuffer::new_set(n_rows));
        }
        // Where it fails, rows may be at fault that a filter above takes out.
        let Ok(mut key) = shared.scanned.evaluate(block) else { return Ok(BooleanBuffer::new_set(n_rows)) };
        let key = key.swap_remove(0);
        let (keys, valid) = usable_keys(vec![key], &[false], n_rows);
        let Some(mask) = shared.members_among(&keys, &valid) else {
            return Ok(BooleanBuffer::new_set(n_rows));
        };
        let mask = if valid.count_set_bits() < n_rows { &mask & &valid } else { mask };
        let n_passing = mask.count_set_bits();
        events::count(Event::RuntimeFilterBlocksProcessed);
        events::add(Event::RuntimeFilterRowsChecked, n_rows as u64);
        events::add(Event::RuntimeFilterRowsPassed, n_passing as u64);
        if n_passing as f64 > n_rows as f64 * shared.policy.most_passing {
            shared.skip.store(shared.policy.blocks_to_skip, Relaxed);
        }
        Ok(mask)
    }
}

/// The operator that filters where the scan does not do it.
#[derive(Clone)]
pub struct FilterByKeys {
    /// What the scan got when it was opened.
    pub filters: Arc<OnceLock<Vec<KeyFilter>>>,
    pub done_by_scan: Arc<AtomicBool>,
}

impl Operator for FilterByKeys {
    fn name(&self) -> &'static str {
        "RuntimeFilter"
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        let filters = self.filters.get().filter(|_| !self.done_by_scan.load(Relaxed));
        Ok(Box::new(Worker(filters.cloned().unwrap_or_default())))
    }
}

struct Worker(Vec<KeyFilter>);

impl OperatorWorker for Worker {
    fn push(&mut self, mut block: Block, emit: Emit) -> Result<Flow> {
        for filter in &self.0 {
            let columns: Vec<Column> = filter.0.columns.iter().map(|&c| block.column(c).clone()).collect();
            let mask = filter.mask(&Block::new(columns, block.n_rows()))?;
            if mask.count_set_bits() < block.n_rows() {
                block = block.filter(&mask);
            }
            if block.is_empty() {
                return Ok(Flow::Continue);
            }
        }
        emit(block)
    }
}
