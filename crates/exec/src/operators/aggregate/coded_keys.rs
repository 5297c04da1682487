//! Keys that are codes of dictionaries: an array over the combinations of their codes has the groups, so that each combination is looked
//! up once for as long as blocks share their dictionaries.

use crate::hash_table::NO_GROUP;
use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use chalet_columns::{Column, Data, Native, Vector, each_native};

/// The groups of combinations of values.
pub(super) struct CodedKeys {
    /// By key: held, so that no other dictionary can come to lie at the same place.
    dictionaries: Vec<Vector>,
    /// By combination; [`NO_GROUP`] where it has not come yet.
    groups: Vec<u32>,
}

/// A dictionary with more values per row than this is not worth an array over its codes.
const MAX_CODES_PER_ROW: usize = 16;

/// Nor are several with more combinations than this, since most of these do not come.
const MAX_COMBINATIONS: usize = 1 << 14;

/// The values of a key, if it has codes; a constant has one value.
fn dictionary(key: &Column) -> Option<&Vector> {
    match key {
        Column::Dict { values, .. } | Column::Const { value: values, .. } => Some(values),
        Column::Flat(_) => None,
    }
}

/// Are they the same values at the same place?
fn is_same(known: &Data, given: &Data) -> bool {
    fn lie_there<T: Native>(known: &[T], given: &Data) -> bool {
        T::unwrap(given).is_some_and(|given| std::ptr::eq(known, &given[..]))
    }
    each_native!(known, values => lie_there(values, given),
        Data::Str(known) => match given {
            Data::Str(given) => std::ptr::eq(&known.views()[..], &given.views()[..]),
            _ => false,
        },
        _ => false)
}

impl CodedKeys {
    /// Do all keys have codes, of which there are few enough beside the rows?
    pub fn pay(keys: &[Column], n_rows: usize) -> bool {
        let n_combinations = keys.iter().try_fold(1usize, |n, key| n.checked_mul(dictionary(key)?.len()));
        let most = match keys {
            [Column::Dict { .. }] => n_rows * MAX_CODES_PER_ROW,
            // The row of a constant is looked up.
            [_] => 0,
            _ if !switches::is_on(Switch::CodedKeys) => 0,
            _ => n_rows.min(MAX_COMBINATIONS),
        };
        n_combinations.is_some_and(|n| (1..=most).contains(&n))
    }

    /// No combination of these has come yet.
    pub fn new(keys: &[Column]) -> CodedKeys {
        let dictionaries: Vec<Vector> = keys.iter().filter_map(dictionary).cloned().collect();
        let groups = vec![NO_GROUP; dictionaries.iter().map(Vector::len).product()];
        CodedKeys { dictionaries, groups }
    }

    /// Do these keys have the same dictionaries?
    pub fn are_of(&self, keys: &[Column]) -> bool {
        self.dictionaries.len() == keys.len()
            && self.dictionaries.iter().zip(keys).all(|(known, key)| {
                let given = dictionary(key);
                given.is_some_and(|given| {
                    known.validity == given.validity && is_same(&known.data, &given.data)
                })
            })
    }

    /// The group of every row. The first rows of combinations that have not come before are looked up.
    pub fn groups(
        &mut self,
        keys: &[Column],
        n_rows: usize,
        look_up: impl FnOnce(&[u32]) -> Vec<u32>,
    ) -> Vec<u32> {
        /// The combination came in this block for the first time.
        const PENDING: u32 = NO_GROUP - 1;
        let mut combined = vec![0u32; n_rows];
        for (key, values) in keys.iter().zip(&self.dictionaries) {
            if let Column::Dict { codes, .. } = key {
                let n_values = values.len() as u32;
                combined.iter_mut().zip(&codes[..]).for_each(|(at, &code)| *at = *at * n_values + code);
            }
        }
        if keys.len() > 1 {
            events::count(Event::BlocksGroupedByCodes);
        }
        let mut fresh: Vec<u32> = Vec::new();
        for (&at, row) in combined.iter().zip(0..) {
            let group = &mut self.groups[at as usize];
            if *group == NO_GROUP {
                *group = PENDING;
                fresh.push(row);
            }
        }
        if !fresh.is_empty() {
            let found = look_up(&fresh);
            fresh.iter().zip(found).for_each(|(&row, group)| {
                self.groups[combined[row as usize] as usize] = group;
            });
        }
        combined.iter_mut().for_each(|at| *at = self.groups[*at as usize]);
        combined
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.groups.capacity() * 4
    }
}
