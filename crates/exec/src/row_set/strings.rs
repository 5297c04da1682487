//! A set of byte strings.

use chalet_base::hash::HashSet;
use chalet_columns::Strings;
use std::sync::OnceLock;

/// Sets of no more strings are searched by comparisons.
const FEW: usize = 8;
/// Strings of so many bytes are whole in the head of a view.
const IN_HEAD: usize = 4;

#[derive(Default)]
pub struct StringSet {
    set: HashSet<Box<[u8]>>,
    n_bytes: usize,
    /// The heads of the views of few strings, and the strings; made when the first value is searched.
    few: OnceLock<Option<Vec<(u64, Box<[u8]>)>>>,
}

impl StringSet {
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.set.capacity() * 17 + self.n_bytes
    }

    /// Adds a string, if it is not there.
    pub fn insert(&mut self, text: &[u8]) -> bool {
        if self.set.contains(text) {
            return false;
        }
        self.n_bytes += text.len();
        self.few.take();
        self.set.insert(text.into())
    }

    /// 1 for each string that is there.
    pub fn find(&self, strings: &Strings) -> Vec<u8> {
        match self.few.get_or_init(|| self.heads()) {
            Some(few) => find_few(strings, few),
            None => strings.iter().map(|text| u8::from(self.set.contains(text))).collect(),
        }
    }

    fn heads(&self) -> Option<Vec<(u64, Box<[u8]>)>> {
        let head = |text: &[u8]| {
            let mut start = [0; 8];
            start[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
            let n = text.len().min(IN_HEAD);
            start[4..4 + n].copy_from_slice(&text[..n]);
            u64::from_le_bytes(start)
        };
        (self.set.len() <= FEW).then(|| self.set.iter().map(|text| (head(text), text.clone())).collect())
    }
}

/// Most strings differ from each of a few in their length or their first bytes, which a view begins with.
fn find_few(strings: &Strings, few: &[(u64, Box<[u8]>)]) -> Vec<u8> {
    let find = |(row, view): (usize, &u128)| {
        let is = |(head, text): &(u64, Box<[u8]>)| {
            *view as u64 == *head && (text.len() <= IN_HEAD || strings.get(row) == &**text)
        };
        u8::from(few.iter().any(is))
    };
    strings.views().iter().enumerate().map(find).collect()
}
