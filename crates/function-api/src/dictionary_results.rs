//! What a function gives for the values of a dictionary that many blocks share: computed once, instead of once a block.

use crate::Shared;
use chalet_columns::{Column, Vector};
use std::sync::{Arc, Mutex, PoisonError};

/// Dictionaries whose results are kept: workers may each be in a part of their own.
const MOST: usize = 8;

/// The results of one bound function, shared by its copies.
#[derive(Clone, Default)]
pub struct DictionaryResults(Arc<Mutex<Vec<Entry>>>);

struct Entry {
    /// The query: results may depend on what its context says.
    query: Shared,
    /// The values, and those of constant arguments; kept, so that no others take their place in memory.
    arguments: Vec<Vector>,
    state: State,
}

impl Entry {
    fn is_of(&self, query: &Shared, arguments: &[&Vector]) -> bool {
        self.query.is_same(query)
            && self.arguments.len() == arguments.len()
            && self.arguments.iter().zip(arguments).all(|(own, other)| own.is_same(other))
    }
}

enum State {
    /// So many rows had their codes in it so far.
    Seen(usize),
    Known(Column),
    /// The function fails for some value, which no row may use.
    Fails,
}

/// What to do with rows of a dictionary.
pub enum Advice {
    /// There are so few values, or so many rows in all blocks so far, that the function should run over the values.
    Compute,
    /// The rows one by one.
    Rows,
    Known(Column),
}

impl DictionaryResults {
    /// What to do with `n_rows` rows of the dictionary among the arguments, which is of `n_values` values.
    pub fn advice(&self, query: &Shared, arguments: &[&Vector], n_values: usize, n_rows: usize) -> Advice {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = entries.iter().position(|entry| entry.is_of(query, arguments));
        let at = found.unwrap_or_else(|| {
            if entries.len() == MOST {
                entries.remove(0);
            }
            entries.push(Entry {
                query: query.clone(),
                arguments: arguments.iter().copied().cloned().collect(),
                state: State::Seen(0),
            });
            entries.len() - 1
        });
        match &mut entries[at].state {
            State::Known(column) => Advice::Known(column.clone()),
            State::Fails => Advice::Rows,
            State::Seen(rows) => {
                *rows += n_rows;
                if n_values <= *rows { Advice::Compute } else { Advice::Rows }
            }
        }
    }

    /// Remembers the results for the values, or that there are none for some.
    pub fn put(&self, query: &Shared, arguments: &[&Vector], results: Option<&Column>) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.iter_mut().find(|entry| entry.is_of(query, arguments)) {
            entry.state = results.map_or(State::Fails, |results| State::Known(results.clone()));
        }
    }
}
