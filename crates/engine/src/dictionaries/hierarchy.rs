//! Keys that have parents: the ways up and down.

use chalet_base::Result;
use chalet_base::hash::{HashMap, HashSet};
use chalet_columns::Vector;

/// The parents and children of the keys of a dictionary.
pub(crate) struct Hierarchy {
    /// None for keys at the top.
    parents: HashMap<u64, Option<u64>>,
    children: HashMap<u64, Vec<u64>>,
    /// What a parent is that is none.
    none: Option<u64>,
}

impl Hierarchy {
    /// `parents` are UInt64, Nullable or not; one of the value `none` is no parent.
    pub fn new(keys: &[u64], parents: &Vector, none: Option<u64>) -> Result<Hierarchy> {
        let mut made = Hierarchy { parents: HashMap::default(), children: HashMap::default(), none };
        for (row, (&key, &parent)) in keys.iter().zip(parents.values::<u64>()?).enumerate() {
            let parent = Some(parent).filter(|_| !parents.is_null(row));
            made.parents.insert(key, parent);
            if let Some(parent) = parent {
                made.children.entry(parent).or_default().push(key);
            }
        }
        Ok(made)
    }

    /// The key, its parent, and so on to the top; nothing for a key that is not there. A circle is gone round once.
    pub fn ancestors(&self, key: u64) -> Vec<u64> {
        let mut way = Vec::new();
        let mut seen = HashSet::default();
        if !self.parents.contains_key(&key) {
            return way;
        }
        let mut next = Some(key).filter(|key| Some(*key) != self.none);
        while let Some(key) = next.filter(|key| seen.insert(*key)) {
            way.push(key);
            next = self.parents.get(&key).copied().flatten().filter(|parent| Some(*parent) != self.none);
        }
        way
    }

    /// The keys whose parent this is.
    pub fn children(&self, key: u64) -> &[u64] {
        self.children.get(&key).map_or(&[], Vec::as_slice)
    }

    /// All below a key, or those that are so many levels below it: the children of a key, then what is below the last of
    /// them, and so on to the first.
    pub fn descendants(&self, key: u64, level: u64) -> Vec<u64> {
        let mut found = Vec::new();
        let mut seen = HashSet::default();
        let mut stack = vec![(key, 0)];
        while let Some((key, depth)) = stack.pop() {
            if level > 0 && depth == level {
                continue;
            }
            for &child in self.children(key).iter().filter(|child| seen.insert(**child)) {
                if level == 0 || depth + 1 == level {
                    found.push(child);
                }
                stack.push((child, depth + 1));
            }
        }
        found
    }
}
