//! Names of columns as tables show them: long ones that are no plain identifiers lose their middle.

use crate::FormatSettings;
use chalet_text::width::{cut, width};

/// The name, at most as wide as the settings want it.
pub fn shown_name(name: &str, settings: &FormatSettings) -> String {
    shown_above(name, 0, settings)
}

/// The same above values of a width: a name that is no wider than they are takes no room.
pub fn shown_above(name: &str, values: usize, settings: &FormatSettings) -> String {
    let wanted = settings.output_format_pretty_max_column_name_width_cut_to as usize;
    let most = if wanted == 0 { 0 } else { wanted.max(values) };
    let spared = settings.output_format_pretty_max_column_name_width_min_chars_to_cut as usize;
    let whole = width(name.as_bytes(), 0);
    if most == 0 || whole <= most.saturating_add(spared) || is_identifier(name) {
        return name.to_string();
    }
    let (before, after) = (most / 2, most - most / 2 - 1);
    let head = cut(name.as_bytes(), before);
    let skipped = cut(name.as_bytes(), whole - after).len();
    let mark = if settings.output_format_pretty_grid_charset == "ASCII" { "~" } else { "⋯" };
    format!("{}{mark}{}", String::from_utf8_lossy(head), &name[skipped..])
}

/// Such a name may be copied into a query: it stays whole.
fn is_identifier(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}
