//! A set of byte strings.

use chalet_base::hash::HashSet;
use chalet_columns::Strings;
use chalet_columns::strings::{INLINE, inline_view};
use std::sync::OnceLock;

/// Sets of no more strings are searched by comparisons.
const FEW: usize = 8;

#[derive(Default)]
pub struct StringSet {
    set: HashSet<Box<[u8]>>,
    n_bytes: usize,
    /// Made when the first value is searched; none of many strings.
    few: OnceLock<Option<Few>>,
}

/// Few strings, as they are compared with views.
struct Few {
    /// Views of those that are whole in their views.
    short: Vec<u128>,
    /// Others, with the first halves of their views.
    long: Vec<(u64, Box<[u8]>)>,
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
        match self.few.get_or_init(|| (self.set.len() <= FEW).then(|| Few::of(&self.set))) {
            Some(few) => few.find(strings),
            None => strings.iter().map(|text| u8::from(self.set.contains(text))).collect(),
        }
    }
}

impl Few {
    fn of(set: &HashSet<Box<[u8]>>) -> Few {
        let mut few = Few { short: Vec::new(), long: Vec::new() };
        for text in set {
            if text.len() <= INLINE {
                few.short.push(inline_view(text));
                continue;
            }
            let mut head = [0; 8];
            head[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
            head[4..].copy_from_slice(&text[..4]);
            few.long.push((u64::from_le_bytes(head), text.clone()));
        }
        few
    }

    /// 1 for each string that is there. Most long ones differ from each of a few in their length or their first bytes.
    fn find(&self, strings: &Strings) -> Vec<u8> {
        let is_short =
            |view: u128| self.short.iter().fold(0, |found, &short| found | u8::from(view == short));
        let is_long = |row: usize, view: u128| {
            self.long.iter().any(|(head, text)| view as u64 == *head && strings.get(row) == &**text)
        };
        let views = strings.views().iter();
        match self.long.is_empty() {
            true => views.map(|&view| is_short(view)).collect(),
            false => {
                views.enumerate().map(|(row, &view)| is_short(view) | u8::from(is_long(row, view))).collect()
            }
        }
    }
}
