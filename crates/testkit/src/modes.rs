//! The ways in which every SQL test runs: other settings, the same answers.

/// A mode: settings of the session, and what happens to the text of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    pub name: &'static str,
    pub settings: &'static [(&'static str, &'static str)],
    /// Statements are parsed, printed, and the print is run.
    pub reprint: bool,
    /// The database is on disk, and tables that would be in memory are, too.
    pub on_disk: bool,
}

impl Mode {
    const fn with(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Mode {
        Mode { name, settings, reprint: false, on_disk: false }
    }
}

pub const MODES: &[Mode] = &[
    Mode::with("default", &[]),
    Mode::with("block_1", &[("max_block_size", "1")]),
    Mode::with("threads_1", &[("max_threads", "1")]),
    Mode::with(
        "threads_8",
        &[("max_threads", "8"), ("max_block_size", "7"), ("parallel_hash_join_threshold", "0")],
    ),
    Mode::with("no_optimizer", &[("query_plan_enable_optimizations", "0")]),
    Mode::with(
        "spill",
        &[
            ("max_bytes_before_external_sort", "1"),
            ("max_bytes_before_external_group_by", "1"),
            ("max_bytes_before_external_distinct", "1"),
            ("max_bytes_before_external_join", "1"),
        ],
    ),
    Mode { reprint: true, ..Mode::with("reprint", &[]) },
    Mode { on_disk: true, ..Mode::with("on_disk", &[]) },
];

/// A mode by its name.
pub fn mode(name: &str) -> Option<&'static Mode> {
    MODES.iter().find(|m| m.name == name)
}
