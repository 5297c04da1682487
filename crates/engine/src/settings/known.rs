//! Names, types and defaults of all settings, as the kernel's `system.settings` prints them (newest release).

use chalet_base::hash::HashMap;
use std::sync::LazyLock;

/// One row of `system.settings`.
#[derive(Debug)]
pub struct Known {
    pub name: &'static str,
    /// The kernel's name of the value's kind: `Bool`, `UInt64`, `Seconds`.
    pub kind: &'static str,
    pub default: &'static str,
    /// Empty unless the name is another name of a setting.
    pub alias_for: &'static str,
    /// How far the kernel's makers stand by it.
    pub tier: &'static str,
}

/// The words of [`Known::tier`] with their numbers.
pub const TIERS: [(&str, i16); 5] =
    [("Production", 0), ("Obsolete", 4), ("Experimental", 8), ("Beta", 12), ("PrivatePreview", 16)];

/// Tab-separated: name, type, default with escapes, the setting that the name is an alias of, tier if it is not Production.
const TABLE: &str = include_str!("known.tsv");

/// Of a setting that is not said to be anything else.
const PRODUCTION: &str = "Production";

/// What the kernel has in its files of configuration: set here like anything else, and not listed among the kernel's.
const OWN: &[Known] = &[
    Known { name: "chalet_clusters", kind: "Map", default: "{}", alias_for: "", tier: PRODUCTION },
    Known { name: "chalet_local_replicas", kind: "Bool", default: "0", alias_for: "", tier: PRODUCTION },
    Known { name: "chalet_push_down_groups", kind: "Bool", default: "1", alias_for: "", tier: PRODUCTION },
    Known { name: "chalet_push_down_rows", kind: "Bool", default: "1", alias_for: "", tier: PRODUCTION },
    Known { name: "chalet_tls", kind: "Map", default: "{}", alias_for: "", tier: PRODUCTION },
    Known {
        name: "chalet_use_dictionary_cache",
        kind: "Bool",
        default: "1",
        alias_for: "",
        tier: PRODUCTION,
    },
];

static ALL: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter_map(|line| {
        let mut cells = line.split('\t');
        Some(Known {
            name: cells.next()?,
            kind: cells.next()?,
            default: unescaped(cells.next()?),
            alias_for: cells.next().unwrap_or_default(),
            tier: cells.next().unwrap_or(PRODUCTION),
        })
    });
    rows.collect()
});

/// A default as it is; of the few that have escapes, a text that lasts as long as the process.
pub(super) fn unescaped(text: &'static str) -> &'static str {
    if !text.contains('\\') {
        return text;
    }
    let plain = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\");
    Box::leak(plain.into_boxed_str())
}

static BY_NAME: LazyLock<HashMap<&'static str, usize>> =
    LazyLock::new(|| ALL.iter().enumerate().map(|(i, known)| (known.name, i)).collect());

/// Sorted by name.
pub fn all() -> &'static [Known] {
    &ALL
}

/// The setting of a name or of an alias.
pub fn find(name: &str) -> Option<&'static Known> {
    let Some(&at) = BY_NAME.get(name) else { return OWN.iter().find(|known| known.name == name) };
    let known = &ALL[at];
    if known.alias_for.is_empty() { Some(known) } else { find(known.alias_for) }
}
