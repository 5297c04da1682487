//! The format of files whose names do not tell it: the first one of a list in which their contents make sense.

use crate::file::{in_file, open_input};
use chalet_base::{Result, bail, err};
use chalet_formats::{Format, FormatSettings};
use std::path::{Path, PathBuf};

/// Formats in the order in which they are tried.
pub struct Candidates {
    /// Those that fail on what is not theirs.
    pub strict: Vec<&'static Format>,
    /// Those of a JSON object that says its columns: its rows are objects in the first one, arrays in the second.
    pub described: [&'static Format; 2],
    /// Those of which every text is one, commas first: the one that finds more columns is taken.
    pub separated: [&'static Format; 2],
}

/// The format of the first file that a path means and that says something.
pub fn detect(
    path: &str,
    candidates: &Candidates,
    compression: Option<&str>,
    settings: &FormatSettings,
) -> Result<&'static Format> {
    const WHAT: &str = "The data format cannot be detected by the contents of the files";
    let files = crate::paths::expand(path)?;
    let existing: Vec<&PathBuf> = files.iter().filter(|file| file.exists()).collect();
    if existing.is_empty() {
        if let [file] = &files[..] {
            bail!(CANNOT_STAT, "Cannot stat file {}: No such file or directory: {WHAT}", file.display());
        }
        bail!(
            CANNOT_EXTRACT_TABLE_STRUCTURE,
            "{WHAT}, because there are no files with provided path. You can specify the format manually: {path}"
        );
    }
    let columns = |file: &PathBuf, format: &'static Format| -> Result<usize> {
        let mut input = open_input(file, compression)?;
        // What is no error of opening the file says that the format is another.
        Ok(format.infer_schema(&mut input, settings).map_or(0, |schema| schema.len()))
    };
    for file in &existing {
        if let Some(rows_are_arrays) = described(file, compression)? {
            return Ok(candidates.described[usize::from(rows_are_arrays)]);
        }
        for &format in &candidates.strict {
            if columns(file, format)? > 0 {
                return Ok(format);
            }
        }
        let [commas, tabs] = candidates.separated;
        match (columns(file, commas)?, columns(file, tabs)?) {
            (0, 0) => {}
            (by_commas, by_tabs) => return Ok(if by_commas >= by_tabs { commas } else { tabs }),
        }
    }
    Err(err!(CANNOT_DETECT_FORMAT, "{WHAT}. You can specify the format manually: {}", in_file(existing[0])))
}

/// Of a JSON object that says its columns and then gives rows: are these arrays?
fn described(file: &Path, compression: Option<&str>) -> Result<Option<bool>> {
    /// Bytes in which the columns must be told.
    const HEAD: usize = 1 << 20;
    let mut input = open_input(file, compression)?;
    let (head, _) = input.head(HEAD)?;
    let after = |text: &[u8], key: &[u8]| {
        let at = text.windows(key.len()).position(|window| window == key)?;
        let rest = text[at + key.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        Some(rest.strip_prefix(b"[")?.trim_ascii_start().to_vec())
    };
    let is_object = head.trim_ascii_start().starts_with(b"{");
    let rows = after(head, b"\"meta\"").filter(|_| is_object).and_then(|rest| after(&rest, b"\"data\""));
    Ok(match rows.as_deref().and_then(<[u8]>::first) {
        Some(b'{') => Some(false),
        Some(b'[') => Some(true),
        _ => None,
    })
}
