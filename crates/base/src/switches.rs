//! Switches of what works below every query, where no setting reaches: the environment variable `CHALET_SWITCHES`, read once.
//!
//! `-name` switches a mechanism off, `+name` a candidate on; several stand behind commas. They are there for experiments, which
//! compare a program with itself but for one mechanism.

use crate::{Result, err};
use std::sync::LazyLock;

/// The environment variable.
pub const VARIABLE: &str = "CHALET_SWITCHES";

/// What can be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Strings that lie side by side are searched as one text, by two bytes of the needle at once.
    TwoByteSearch,
    /// Every thread counts events in a cache line of its own.
    CounterShards,
    /// Python's cyclic collector waits while rows are made.
    SuspendedCollector,
    /// Long strings in states of aggregates are kept for the next ones when they are replaced. A candidate: off.
    FreeLists,
    /// Aggregates that depend on the order of rows are computed by all workers.
    OrderedRuns,
    /// Integers of the right side of a join are picked from copies in fewer bytes.
    NarrowCopies,
    /// Keys of several dictionaries are grouped by their codes.
    CodedKeys,
    /// Entries of sorts hold all that is compared of their keys, where many rows share the first eight bytes.
    WideSorts,
    /// Blocks of sorts are clustered by bucket before their rows are gathered.
    ClusteredSorts,
    /// Partitions and peers of windows are told by sorted entries where eight bytes tell all keys apart.
    EntryBounds,
    /// Bloom filters of very many keys of a join are made when rows of its left side have shown that they pay.
    LateBlooms,
    /// Large hash tables ask the system for huge pages.
    HugePages,
    /// Aggregates over whole partitions of many rows are those of groups, joined with the rows.
    WindowGroups,
    SubqueryWindows,
    OrderedInputs,
    /// Files of parts stay mapped between queries.
    KeptMappings,
    /// Pages that are passed by are jumped over, where the page index says where the next one begins.
    JumpedPages,
    /// Pages without a NULL are read as those of columns that cannot have any.
    FullPages,
    /// Dictionaries of strings are decoded as far as the codes of few rows go.
    PartsOfDictionaries,
    /// Registers of 512 bits, where the processor has them.
    Avx512,
}

/// Name, and whether it is on where nobody says otherwise.
const ALL: [(Switch, &str, bool); 20] = [
    (Switch::TwoByteSearch, "two-byte-search", true),
    (Switch::CounterShards, "counter-shards", true),
    (Switch::SuspendedCollector, "suspended-collector", true),
    (Switch::FreeLists, "free-lists", false),
    (Switch::OrderedRuns, "ordered-runs", true),
    (Switch::NarrowCopies, "narrow-copies", true),
    (Switch::CodedKeys, "coded-keys", true),
    (Switch::WideSorts, "wide-sorts", true),
    (Switch::ClusteredSorts, "clustered-sorts", true),
    (Switch::EntryBounds, "entry-bounds", true),
    (Switch::LateBlooms, "late-blooms", true),
    (Switch::HugePages, "huge-pages", true),
    (Switch::WindowGroups, "window-groups", true),
    (Switch::SubqueryWindows, "subquery-windows", true),
    (Switch::OrderedInputs, "ordered-inputs", true),
    (Switch::KeptMappings, "kept-mappings", true),
    (Switch::JumpedPages, "jumped-pages", true),
    (Switch::FullPages, "full-pages", true),
    (Switch::PartsOfDictionaries, "parts-of-dictionaries", true),
    (Switch::Avx512, "avx-512", true),
];

type States = [bool; ALL.len()];

static STATES: LazyLock<(States, Option<String>)> =
    LazyLock::new(|| match parsed(&std::env::var(VARIABLE).unwrap_or_default()) {
        Ok(states) => (states, None),
        Err(unknown) => (ALL.map(|(.., on)| on), Some(unknown)),
    });

/// Whether a mechanism works.
#[inline]
pub fn is_on(switch: Switch) -> bool {
    STATES.0[switch as usize]
}

/// An error where the variable names something that cannot be switched.
pub fn check() -> Result<()> {
    match &STATES.1 {
        None => Ok(()),
        Some(unknown) => Err(err!(
            BAD_ARGUMENTS,
            "{VARIABLE} has '{unknown}', which is none of -name and +name with a name of {}",
            ALL.map(|(_, name, _)| name).join(", ")
        )),
    }
}

/// What a text says, or the part of it that says nothing.
fn parsed(text: &str) -> std::result::Result<States, String> {
    let mut states = ALL.map(|(.., on)| on);
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (on, name) = match (part.strip_prefix('+'), part.strip_prefix('-')) {
            (Some(name), _) => (true, name),
            (_, Some(name)) => (false, name),
            _ => return Err(part.to_string()),
        };
        let place = ALL.iter().position(|(_, known, _)| *known == name).ok_or_else(|| part.to_string())?;
        states[place] = on;
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_in_the_order_of_their_numbers() {
        assert!(ALL.iter().enumerate().all(|(place, (switch, ..))| *switch as usize == place));
    }

    #[test]
    fn names_are_parsed() {
        let usual = ALL.map(|(.., on)| on);
        assert_eq!(parsed(""), Ok(usual));
        let switched = parsed("-two-byte-search, +free-lists").unwrap();
        let changed = ALL.map(|(switch, ..)| matches!(switch, Switch::TwoByteSearch | Switch::FreeLists));
        assert_eq!(std::array::from_fn(|place| switched[place] != usual[place]), changed);
        assert_eq!(parsed("-none"), Err("-none".to_string()));
        assert_eq!(parsed("free-lists"), Err("free-lists".to_string()));
    }
}
