//! The ways in which every SQL test runs: other settings, the same answers.

/// A mode: settings of the session, and what happens to the text of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    pub name: &'static str,
    pub settings: &'static [(&'static str, &'static str)],
    /// Statements are parsed, printed, and the print is run.
    pub reprint: bool,
}

pub const MODES: &[Mode] = &[
    Mode { name: "default", settings: &[], reprint: false },
    Mode { name: "block_1", settings: &[("max_block_size", "1")], reprint: false },
    Mode { name: "threads_1", settings: &[("max_threads", "1")], reprint: false },
    Mode { name: "threads_8", settings: &[("max_threads", "8"), ("max_block_size", "7")], reprint: false },
    Mode { name: "no_optimizer", settings: &[("query_plan_enable_optimizations", "0")], reprint: false },
    Mode { name: "reprint", settings: &[], reprint: true },
];

/// A mode by its name.
pub fn mode(name: &str) -> Option<&'static Mode> {
    MODES.iter().find(|m| m.name == name)
}
