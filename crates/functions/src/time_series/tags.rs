//! Sets of tags, and what one query knows of them.

use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure, err};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pairs of name and value, by name, one per name, none of an empty value.
pub type Tags = Arc<[(Box<[u8]>, Box<[u8]>)]>;

/// Makes a set of pairs in any order; those of an empty value are left out.
pub fn set_of<'a>(function: &str, pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Result<Tags> {
    let mut tags: Vec<(Box<[u8]>, Box<[u8]>)> = Vec::new();
    for (name, value) in pairs {
        ensure!(
            !name.is_empty(),
            BAD_ARGUMENTS,
            "Function {function} must not be called with an empty tag name"
        );
        if !value.is_empty() {
            tags.push((name.into(), value.into()));
        }
    }
    tags.sort();
    tags.dedup();
    if let Some(pair) = tags.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        bail!(
            BAD_ARGUMENTS,
            "Found two tags with the same name '{}' but different values '{}' and '{}' while executing function {function}",
            String::from_utf8_lossy(&pair[0].0),
            String::from_utf8_lossy(&pair[0].1),
            String::from_utf8_lossy(&pair[1].1)
        );
    }
    Ok(tags.into())
}

/// The value of a tag.
pub fn value_of<'a>(tags: &'a Tags, name: &[u8]) -> Option<&'a [u8]> {
    let at = tags.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
    Some(&tags[at].1)
}

/// As messages show them.
pub fn shown(tags: &Tags) -> String {
    let text = |bytes: &[u8]| format!("'{}'", String::from_utf8_lossy(bytes));
    let pairs: Vec<String> =
        tags.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect();
    format!("{{{}}}", pairs.join(", "))
}

/// The groups and identifiers of one query.
#[derive(Default)]
pub struct Known(Mutex<Groups>);

impl Known {
    /// Keeps others out meanwhile: hold it for a block, not for a query.
    pub fn lock(&self) -> MutexGuard<'_, Groups> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
pub struct Groups {
    /// By number, which begin with 1: no tags are the group 0.
    sets: Vec<Tags>,
    numbers: HashMap<Tags, u64>,
    /// By the identifier's type and bytes.
    identifiers: HashMap<Box<[u8]>, u64>,
}

impl Groups {
    /// The group of a set.
    pub fn number(&mut self, tags: Tags) -> u64 {
        if tags.is_empty() {
            return 0;
        }
        if let Some(number) = self.numbers.get(&tags) {
            return *number;
        }
        self.sets.push(tags.clone());
        let number = self.sets.len() as u64;
        self.numbers.insert(tags, number);
        number
    }

    /// The set of a group.
    pub fn tags(&self, group: u64) -> Result<Tags> {
        if group == 0 {
            return Ok(Tags::default());
        }
        let found = usize::try_from(group - 1).ok().and_then(|at| self.sets.get(at));
        found.cloned().ok_or_else(|| {
            err!(BAD_ARGUMENTS, "Group {group} is out of bounds, must be between 0 and {}", self.sets.len())
        })
    }

    /// Remembers the tags of an identifier; `name` is for messages.
    pub fn store(&mut self, identifier: &[u8], tags: Tags, name: impl FnOnce() -> String) -> Result<()> {
        let number = self.number(tags);
        match self.identifiers.get(identifier) {
            Some(&known) => ensure!(
                known == number,
                BAD_ARGUMENTS,
                "Cannot add identifier {} with tags {} because it was added before with tags {}",
                name(),
                shown(&self.tags(number)?),
                shown(&self.tags(known)?)
            ),
            None => {
                self.identifiers.insert(identifier.into(), number);
            }
        }
        Ok(())
    }

    /// The group of an identifier.
    pub fn of_identifier(&self, identifier: &[u8]) -> Option<u64> {
        self.identifiers.get(identifier).copied()
    }
}
