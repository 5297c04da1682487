//! The layouts of dictionaries: what their keys are, and which of several rows of one key counts.

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// One UInt64.
    Simple,
    /// One or more values of any type.
    Complex,
    /// A network prefix; addresses are looked up.
    Prefix,
    /// A polygon, or several; points are looked up.
    Polygon,
    /// A regular expression; texts are looked up.
    Pattern,
}

/// A layout that is supported.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// In lower case, as it is written in LAYOUT.
    pub word: &'static str,
    /// As `system.dictionaries` shows it.
    pub type_name: &'static str,
    pub keys: KeyKind,
    /// A key has rows for ranges of a further value.
    pub has_ranges: bool,
    /// Of several rows of a key the last counts, not the first.
    pub last_wins: bool,
    /// Rows are in the order of keys, which are below a limit.
    pub is_flat: bool,
    /// Nothing is kept: each statement reads the source.
    pub reads_through: bool,
    /// Rows of a key that another row has taken are still read by SELECT.
    pub keeps_duplicates: bool,
}

impl Layout {
    /// Has a key one row at most, whatever else is asked?
    pub fn has_unique_keys(&self) -> bool {
        !self.has_ranges && matches!(self.keys, KeyKind::Simple | KeyKind::Complex)
    }
}

const HASHED: Layout = Layout {
    word: "hashed",
    type_name: "Hashed",
    keys: KeyKind::Simple,
    has_ranges: false,
    last_wins: false,
    is_flat: false,
    reads_through: false,
    keeps_duplicates: false,
};

const COMPLEX: Layout =
    Layout { word: "complex_key_hashed", type_name: "ComplexKeyHashed", keys: KeyKind::Complex, ..HASHED };

/// What reads its source for each statement: nothing of it is kept.
const READ_THROUGH: Layout = Layout { last_wins: true, reads_through: true, ..HASHED };

const POLYGON: Layout = Layout { word: "polygon", type_name: "Polygon", keys: KeyKind::Polygon, ..HASHED };

/// The layout of polygons whose edges belong to them.
pub(super) const EDGES_BELONG: &str = "polygon_simple";

const LAYOUTS: &[Layout] = &[
    Layout { word: "flat", type_name: "Flat", last_wins: true, is_flat: true, ..HASHED },
    HASHED,
    Layout { word: "sparse_hashed", type_name: "SparseHashed", ..HASHED },
    Layout { word: "hashed_array", type_name: "HashedArray", ..HASHED },
    COMPLEX,
    Layout { word: "complex_key_sparse_hashed", type_name: "ComplexKeySparseHashed", ..COMPLEX },
    Layout { word: "complex_key_hashed_array", type_name: "ComplexHashedArray", ..COMPLEX },
    Layout { word: "range_hashed", type_name: "RangeHashed", has_ranges: true, ..HASHED },
    Layout {
        word: "complex_key_range_hashed",
        type_name: "ComplexKeyRangeHashed",
        has_ranges: true,
        ..COMPLEX
    },
    Layout { word: "cache", type_name: "Cache", ..READ_THROUGH },
    Layout {
        word: "complex_key_cache",
        type_name: "ComplexKeyCache",
        keys: KeyKind::Complex,
        ..READ_THROUGH
    },
    Layout { word: "direct", type_name: "Direct", keeps_duplicates: true, ..READ_THROUGH },
    Layout {
        word: "complex_key_direct",
        type_name: "ComplexKeyDirect",
        keys: KeyKind::Complex,
        keeps_duplicates: true,
        ..READ_THROUGH
    },
    Layout { word: "ip_trie", type_name: "Trie", keys: KeyKind::Prefix, last_wins: true, ..HASHED },
    POLYGON,
    Layout { word: EDGES_BELONG, ..POLYGON },
    Layout { word: "polygon_index_each", ..POLYGON },
    Layout { word: "polygon_index_cell", ..POLYGON },
    Layout { word: "regexp_tree", type_name: "RegExpTree", keys: KeyKind::Pattern, ..HASHED },
];

/// Layouts of the kernel that are not here.
pub(crate) const OTHERS: [&str; 2] = ["ssd_cache", "complex_key_ssd_cache"];

/// The words of all layouts, and whether their keys may be of several columns and of other types than UInt64.
pub(crate) fn names() -> impl Iterator<Item = (&'static str, bool)> {
    LAYOUTS.iter().map(|known| (known.word, !matches!(known.keys, KeyKind::Simple)))
}

/// The layout of a word in lower case.
pub(crate) fn layout(word: &str) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|known| known.word == word)
}
