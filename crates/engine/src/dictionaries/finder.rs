//! How a statement finds the rows of keys: among all rows of a dictionary that were loaded, or, of one that keeps none or few of them, by
//! asking the source for these keys alone.

use super::attached::Attached;
use super::definition::Definition;
use super::key_cache::{KeyCache, KnownRow, gathered};
use super::loaded::Loaded;
use chalet_base::hash::HashMap;
use chalet_base::{Result, err};
use chalet_columns::Vector;
use chalet_columns::rows::RowCodec;
use chalet_storage::Table;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// When a statement has asked for so many keys, the source is read as a whole: each query of it takes time, and a list of keys too.
const MOST_KEYS: usize = 10_000;

/// Finds rows for one call of a statement.
pub(crate) enum Finder {
    Loaded(Arc<Loaded>),
    ByKey {
        /// An [`Attached`].
        table: Arc<dyn Table>,
        definition: Arc<Definition>,
        seen: Mutex<Seen>,
    },
}

/// What one statement has read of the source.
pub(crate) struct Seen {
    /// Of a dictionary that keeps nothing itself.
    keys: KeyCache,
    asked: usize,
    whole: Option<Arc<Loaded>>,
}

/// Rows of keys: those of `loaded`, as [`Loaded::find`] numbers them.
pub(crate) struct Found {
    pub loaded: Arc<Loaded>,
    pub rows: Vec<u32>,
}

/// The different keys of a call.
struct Distinct {
    bytes: Vec<Box<[u8]>>,
    /// The first row that has the key.
    first: Vec<u32>,
    /// Which of them each row has.
    of_row: Vec<u32>,
}

impl Distinct {
    fn new(definition: &Definition, keys: &[Vector]) -> Distinct {
        let codecs: Vec<RowCodec> = definition.keys().iter().map(|key| RowCodec::new(&key.ty)).collect();
        let mut numbers: HashMap<Box<[u8]>, u32> = HashMap::default();
        let mut distinct = Distinct { bytes: Vec::new(), first: Vec::new(), of_row: Vec::new() };
        for row in 0..keys.first().map_or(0, Vector::len) {
            let mut bytes = Vec::new();
            codecs.iter().zip(keys).for_each(|(codec, key)| codec.put(key, row, &mut bytes));
            let next = distinct.first.len() as u32;
            let number = *numbers.entry(bytes.as_slice().into()).or_insert(next);
            if number == next {
                distinct.bytes.push(bytes.into());
                distinct.first.push(row as u32);
            }
            distinct.of_row.push(number);
        }
        distinct
    }
}

impl Finder {
    /// For a table that is an [`Attached`].
    pub fn new(table: &Arc<dyn Table>) -> Result<Finder> {
        let attached = attached(table)?;
        let definition = attached.dictionary.definition.clone();
        if !definition.layout.reads_through {
            return Ok(Finder::Loaded(attached.loaded()?));
        }
        let seen = Seen { keys: KeyCache::new(usize::MAX), asked: 0, whole: None };
        Ok(Finder::ByKey { table: table.clone(), definition, seen: Mutex::new(seen) })
    }

    pub fn definition(&self) -> &Arc<Definition> {
        match self {
            Finder::Loaded(loaded) => &loaded.definition,
            Finder::ByKey { definition, .. } => definition,
        }
    }

    /// The rows of keys, as for [`Loaded::find`].
    pub fn find(&self, keys: &[Vector], range: Option<&Vector>) -> Result<Found> {
        match self {
            Finder::Loaded(loaded) if let Some(patterns) = &loaded.patterns => {
                let made = loaded.of_texts(patterns, &keys[0])?;
                Ok(Found { rows: made.find(keys, range)?, loaded: Arc::new(made) })
            }
            Finder::Loaded(loaded) => Ok(Found { rows: loaded.find(keys, range)?, loaded: loaded.clone() }),
            Finder::ByKey { table, definition, seen } => {
                find_by_key(attached(table)?, definition, seen, keys)
            }
        }
    }
}

fn attached(table: &Arc<dyn Table>) -> Result<&Attached> {
    let attached = table.as_any().downcast_ref::<Attached>();
    attached.ok_or_else(|| err!(LOGICAL_ERROR, "A dictionary is looked up without the means to load it"))
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find_by_key(
    attached: &Attached,
    definition: &Arc<Definition>,
    seen: &Mutex<Seen>,
    keys: &[Vector],
) -> Result<Found> {
    let distinct = Distinct::new(definition, keys);
    let keeps = definition.is_cache();
    let now = Instant::now();
    let known_of = |cache: &KeyCache| distinct.bytes.iter().map(|key| cache.get(key, now)).collect();
    let mut known: Vec<Option<KnownRow>> =
        if keeps { known_of(&attached.dictionary.cache()) } else { known_of(&lock(seen).keys) };
    let missing: Vec<u32> = (0..).zip(&known).filter(|(_, row)| row.is_none()).map(|(at, _)| at).collect();
    if !missing.is_empty() {
        let first: Vec<u32> = missing.iter().map(|&at| distinct.first[at as usize]).collect();
        let asked: Vec<Vector> = keys.iter().map(|key| key.gather(&first)).collect();
        let loaded = read(attached, definition, seen, &asked)?;
        let rows = loaded.find(&asked, None)?;
        let until = attached.dictionary.lifetime(now).map(|lifetime| now + lifetime);
        let note = |cache: &mut KeyCache, until| {
            for (&at, &row) in missing.iter().zip(&rows) {
                cache.insert(&distinct.bytes[at as usize], (loaded.clone(), row), until);
            }
        };
        if keeps {
            note(&mut attached.dictionary.cache(), until);
        } else {
            note(&mut lock(seen).keys, None);
        }
        for (&at, &row) in missing.iter().zip(&rows) {
            known[at as usize] = Some((loaded.clone(), row));
        }
    }
    let is_missing: Vec<bool> = {
        let mut flags = vec![false; known.len()];
        missing.iter().for_each(|&at| flags[at as usize] = true);
        flags
    };
    let known: Vec<KnownRow> = known.into_iter().flatten().collect();
    let found = together(definition, &known, &distinct.of_row)?;
    let n_hits = distinct.of_row.iter().filter(|&&number| !keeps || !is_missing[number as usize]).count();
    attached.dictionary.note_lookups(&found.rows, n_hits);
    Ok(found)
}

/// Rows of one place from rows of several.
fn together(definition: &Arc<Definition>, known: &[KnownRow], of_row: &[u32]) -> Result<Found> {
    let with_rows = || known.iter().filter(|(_, row)| *row > 0);
    let first = with_rows().next().or(known.first());
    if let Some((one, _)) = first
        && with_rows().all(|(of, _)| Arc::ptr_eq(of, one))
    {
        let rows = of_row.iter().map(|&number| known[number as usize].1).collect();
        return Ok(Found { loaded: one.clone(), rows });
    }
    let loaded = Arc::new(Loaded::new(definition.clone(), &gathered(with_rows().cloned()))?);
    let mut next = 0;
    let numbers: Vec<u32> = known
        .iter()
        .map(|(_, row)| {
            next += u32::from(*row > 0);
            if *row > 0 { next } else { 0 }
        })
        .collect();
    Ok(Found { loaded, rows: of_row.iter().map(|&number| numbers[number as usize]).collect() })
}

/// The rows that the source has for keys, and no others where a cache is to keep them.
fn read(
    attached: &Attached,
    definition: &Arc<Definition>,
    seen: &Mutex<Seen>,
    keys: &[Vector],
) -> Result<Arc<Loaded>> {
    let (whole, is_much) = {
        let mut seen = lock(seen);
        seen.asked += keys.first().map_or(0, Vector::len);
        (seen.whole.clone(), seen.asked > MOST_KEYS)
    };
    let whole = match whole {
        Some(whole) => whole,
        None => {
            if !is_much && let Some(loaded) = attached.of_keys(keys)? {
                return Ok(Arc::new(loaded));
            }
            let whole = attached.reloaded()?;
            lock(seen).whole = Some(whole.clone());
            whole
        }
    };
    if !definition.is_cache() {
        return Ok(whole);
    }
    let rows = whole.find(keys, None)?;
    let rows: Vec<u32> = rows.into_iter().filter(|row| *row > 0).map(|row| row - 1).collect();
    Ok(Arc::new(Loaded::new(definition.clone(), &[whole.rows.gather(&rows)])?))
}
