//! `compatibility`: settings have the defaults that they had in an earlier release, unless they are set otherwise.

use super::known::unescaped;
use super::{Settings, find, normalised};
use chalet_base::{Result, err};
use std::sync::Arc;

/// Of each change of a default: the release that made it, the setting, and its default before; the newest first.
const TABLE: &str = include_str!("compatibility.tsv");

impl Settings {
    /// Puts the defaults of a release in place of those of the release that was named before; of none, today's.
    pub(super) fn set_compatibility(&mut self, text: &str) -> Result<()> {
        let release = if text.is_empty() { None } else { Some(version(text)?) };
        self.effective = Arc::default();
        let changed = Arc::make_mut(&mut self.changed);
        let by_compatibility = Arc::make_mut(&mut self.by_compatibility);
        std::mem::take(by_compatibility).iter().for_each(|name| drop(changed.remove(name)));
        let Some(release) = release else { return Ok(()) };
        for line in TABLE.lines() {
            let mut cells = line.split('\t');
            let (Some(since), Some(name), Some(value)) = (cells.next(), cells.next(), cells.next()) else {
                continue;
            };
            if version(since)? <= release {
                break;
            }
            let Some(known) = find(name) else { continue };
            if changed.contains_key(known.name) && !by_compatibility.contains(known.name) {
                continue;
            }
            let value = if known.kind == "Map" && value.is_empty() { "{}" } else { unescaped(value) };
            changed.insert(known.name, normalised(known, value)?);
            by_compatibility.insert(known.name);
        }
        Ok(())
    }
}

/// The first two numbers of `21.8` or `25.3.2.1`; of `21`, 0 is the second.
fn version(text: &str) -> Result<(u32, u32)> {
    let mut numbers = text.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next(), numbers.all(|number| number.is_ok())) {
        (Some(Ok(major)), Some(Ok(minor)), true) => Ok((major, minor)),
        (Some(Ok(major)), None, _) => Ok((major, 0)),
        _ => Err(err!(
            BAD_ARGUMENTS,
            "Cannot parse ClickHouse version here: {text}: in attempt to set the value of setting 'compatibility' to '{text}'"
        )),
    }
}
