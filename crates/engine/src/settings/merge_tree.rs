//! Settings of tables of the MergeTree family: every name of the kernel, with its type and default, as its
//! `system.merge_tree_settings` has them.

use super::{Known, normalised, number};
use chalet_base::{Result, bail, ensure};
use chalet_types::Value;
use std::sync::LazyLock;

/// One row of `system.merge_tree_settings`.
#[derive(Debug)]
pub struct MergeTreeSetting {
    pub known: Known,
    /// Said in CREATE only.
    pub is_readonly: bool,
    pub tier: &'static str,
    /// Of a setting that is one of a few words: those.
    allowed: Vec<&'static str>,
}

/// Tab-separated: name, type, default, 1 where ALTER does not change it, tier, the words that it may be.
const TABLE: &str = include_str!("merge_tree.tsv");

static ALL: LazyLock<Vec<MergeTreeSetting>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter_map(|line| {
        let mut cells = line.split('\t');
        Some(MergeTreeSetting {
            known: Known {
                name: cells.next()?,
                kind: cells.next()?,
                default: cells.next()?,
                alias_for: "",
                tier: "",
            },
            is_readonly: cells.next()? == "1",
            tier: cells.next()?,
            allowed: cells.next()?.split(',').filter(|word| !word.is_empty()).collect(),
        })
    });
    rows.collect()
});

/// Sorted by name.
pub fn all() -> &'static [MergeTreeSetting] {
    &ALL
}

/// The setting of this name.
pub fn find(name: &str) -> Option<&'static MergeTreeSetting> {
    let at = ALL.binary_search_by(|setting| setting.known.name.cmp(name)).ok()?;
    Some(&ALL[at])
}

impl MergeTreeSetting {
    /// The value that a literal stands for, in the form that it is compared and read in; `text` is that of the literal.
    pub fn value(&self, literal: &Value, text: &str) -> Result<String> {
        let kind = self.known.kind;
        if kind == "Bool" {
            let is_bool = match literal {
                Value::Null => {
                    bail!(CANNOT_CONVERT_TYPE, "Invalid value NULL of the setting, which needs bool")
                }
                Value::Bytes(_) => true,
                other => matches!(other.as_u64(), Some(0 | 1)),
            };
            ensure!(is_bool, CANNOT_CONVERT_TYPE, "Field value {text} is out of range of bool type");
        }
        if !self.allowed.is_empty() {
            ensure!(
                self.allowed.contains(&text),
                BAD_ARGUMENTS,
                "Unexpected value of {kind}: '{text}'. Must be one of ['{}']",
                self.allowed.join("', '")
            );
        }
        match number::text_of_literal(kind, literal)? {
            Some(text) => normalised(&self.known, &text),
            None => normalised(&self.known, text),
        }
    }
}
