//! Settings: every name of the kernel is known, with its type and default; those that mean something here reach the rooms
//! as typed structs.

mod compatibility;
mod effective;
mod enumerations;
mod known;
pub mod merge_tree;
mod number;
pub mod server;

pub(crate) use effective::Effective;
pub use known::{Known, TIERS, all, find};

use chalet_base::{Result, bail, ensure, err, suggest};
use chalet_types::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// What the kernel cuts sizes of blocks to.
const MOST_ROWS_OF_BLOCK: u64 = 1 << 32;
/// ... and sizes of buffers, in bytes.
const MOST_BYTES_READ: u64 = 1 << 28;
/// ... and `max_threads`.
const THREADS_PER_CORE: u64 = 256;

/// The settings of a session or a statement: those that differ from the defaults, as text.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    changed: Arc<BTreeMap<&'static str, String>>,
    /// Those of them that only differ because an earlier release is to be like.
    by_compatibility: Arc<BTreeSet<&'static str>>,
    /// What the rooms take of them, once it was asked for.
    effective: Arc<OnceLock<Arc<Effective>>>,
}

impl Settings {
    /// Sets one setting from its text, after checking it against the setting's type.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        let known = find(name).ok_or_else(|| unknown(name))?;
        let text = normalised(known, text)?;
        check_value(known.name, name, &text)?;
        // Values that a room refuses must fail here and not in every later statement.
        let mut formats = chalet_formats::FormatSettings::default();
        formats.set(known.name, &text)?;
        if known.name == "compatibility" {
            self.set_compatibility(&text)?;
        }
        self.set_otherwise(known.name);
        self.changed_mut().insert(known.name, text);
        Ok(())
    }

    /// Sets one setting from a literal, whose text is `text`.
    pub fn set_literal(&mut self, name: &str, value: &Value, text: &str) -> Result<()> {
        let kind = find(name).map_or("", |known| known.kind);
        match number::text_of_literal(kind, value)? {
            Some(text) => self.set(name, &text),
            None => self.set(name, text),
        }
    }

    pub fn reset(&mut self, name: &str) -> Result<()> {
        let known = find(name).ok_or_else(|| unknown(name))?;
        if known.name == "compatibility" {
            self.set_compatibility("")?;
        }
        self.set_otherwise(known.name);
        self.changed_mut().remove(known.name);
        Ok(())
    }

    /// Those that are changed, to change them further.
    fn changed_mut(&mut self) -> &mut BTreeMap<&'static str, String> {
        self.effective = Arc::default();
        Arc::make_mut(&mut self.changed)
    }

    /// Notes that a setting no longer follows `compatibility`.
    fn set_otherwise(&mut self, name: &str) {
        if self.by_compatibility.contains(name) {
            Arc::make_mut(&mut self.by_compatibility).remove(name);
        }
    }

    /// The text of a setting's value; `None` for a name that the kernel does not have.
    pub fn get(&self, name: &str) -> Option<String> {
        // Most statements change nothing: the list of names is not even read then.
        if let Some(text) = self.changed.get(name) {
            return Some(text.clone());
        }
        let known = find(name)?;
        if let Some(text) = self.changed.get(known.name) {
            return Some(text.clone());
        }
        Some(default_of(known))
    }

    pub fn is_changed(&self, name: &str) -> bool {
        self.changed.contains_key(name)
    }

    pub fn changed(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.changed.iter().map(|(name, text)| (*name, text.as_str()))
    }

    /// The names of settings whose values are others there.
    pub(crate) fn differing<'a>(&'a self, other: &'a Settings) -> impl Iterator<Item = &'static str> + 'a {
        let names = self.changed.keys().chain(other.changed.keys()).copied();
        let value =
            |settings: &Settings, name| settings.get(name).map(|text| number_of_auto(&text).to_owned());
        names.filter(move |name| value(self, name) != value(other, name))
    }

    /// The text of a changed setting.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.changed.get(name).map(String::as_str)
    }

    /// The entries of a setting that is a map of strings.
    pub(crate) fn entries(&self, name: &str) -> Vec<(String, String)> {
        self.text(name).map(map_entries).unwrap_or_default()
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    pub(crate) fn ratio(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok()
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.text(name).map(|text| text == "1")
    }

    /// Seconds, with fractions.
    pub(crate) fn seconds(&self, name: &str) -> Option<std::time::Duration> {
        let seconds: f64 = self.text(name)?.parse().ok()?;
        std::time::Duration::try_from_secs_f64(seconds).ok()
    }
}

/// Where the machine decides, ours; else the kernel's.
fn default_of(known: &Known) -> String {
    match known.name {
        "max_threads" => format!("auto({})", chalet_base::cores()),
        _ => known.default.to_string(),
    }
}

/// The number in `auto(2)`, or the text as it is.
fn number_of_auto(text: &str) -> &str {
    text.trim_matches('\'').strip_prefix("auto(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(text)
}

/// The entries of a setting that is a map of strings, `{'l':'k > 1'}`.
fn map_entries(text: &str) -> Vec<(String, String)> {
    use chalet_syntax::ast::{ExprKind, Literal, SetStatement, SettingValue, StatementKind};
    // Only a setting can be written so.
    let parsed = chalet_syntax::parse_statements(&format!("SET x = {text}")).unwrap_or_default();
    let Some(StatementKind::Set(set)) = parsed.first().map(|s| &s.kind) else { return Vec::new() };
    let SetStatement::Settings(list) = set else { return Vec::new() };
    let Some(SettingValue::Expr(value)) = list.first().map(|s| &s.value) else { return Vec::new() };
    let ExprKind::Call(call) = &value.kind else { return Vec::new() };
    let texts = call.args.iter().map(|arg| match &arg.kind {
        ExprKind::Literal(Literal::String(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    });
    let texts: Vec<String> = texts.collect();
    texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// Refuses values that would make every later statement fail.
fn check_value(known: &str, written: &str, text: &str) -> Result<()> {
    match known {
        "enable_analyzer" | "allow_experimental_analyzer" => ensure!(
            text == "1",
            SETTING_CONSTRAINT_VIOLATION,
            "Setting '{written}' cannot be disabled: the analyzer is mandatory since v26.9 and the old query analysis \
             is no longer supported"
        ),
        "session_timezone" => ensure!(
            text.is_empty() || chalet_types::TimeZone::named(text).is_ok(),
            BAD_ARGUMENTS,
            "Invalid time zone: {text}"
        ),
        _ => {}
    }
    Ok(())
}

#[cold]
fn unknown(name: &str) -> chalet_base::Error {
    let near = suggest::nearest(name, all().iter().map(|k| k.name), 1);
    match near.first() {
        Some(near) => err!(UNKNOWN_SETTING, "Unknown setting '{name}'. Maybe you meant: ['{near}']"),
        None => err!(UNKNOWN_SETTING, "Unknown setting '{name}'"),
    }
}

fn boolean(text: &str) -> Result<String> {
    let is_true = match text.to_ascii_lowercase().as_str() {
        "1" | "true" => true,
        "0" | "false" => false,
        _ => bail!(CANNOT_PARSE_BOOL, "Cannot parse bool from string '{text}'"),
    };
    Ok(u8::from(is_true).to_string())
}

/// The value in the form that it is shown and read in.
fn normalised(known: &Known, text: &str) -> Result<String> {
    let number = |text: &str| -> Result<String> { Ok(number::unsigned_with_suffix(text)?.to_string()) };
    Ok(match known.kind {
        "Bool" => boolean(text)?,
        "BoolAuto" if text == "auto" => text.into(),
        "BoolAuto" => boolean(text)?,
        "UInt64" => at_most(known.name, number::unsigned_with_suffix(text)?),
        "NonZeroUInt64" => match number::unsigned_with_suffix(text)? {
            0 => bail!(BAD_ARGUMENTS, "A setting's value has to be greater than 0"),
            n => at_most(known.name, n),
        },
        "MaxThreads" => match number_of_auto(text) {
            "auto" | "0" => default_of(known),
            n => at_most(known.name, number::plain_unsigned(n)?),
        },
        "Map" => {
            ensure!(
                text.starts_with('{'),
                CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                "Cannot parse input: expected '{{' before: '{text}'"
            );
            text.into()
        }
        "Int64" | "Int32" => number::signed_with_suffix(text)?.to_string(),
        "Milliseconds" => number(text)?,
        "Float" | "Double" | "Seconds" => {
            number::check_float(text)?;
            text.into()
        }
        kind => enumerations::checked(kind, text)?.into_owned(),
    })
}

/// The number, or what is the most that makes sense.
fn at_most(name: &str, n: u64) -> String {
    let most = match name {
        "max_block_size"
        | "max_insert_block_size"
        | "max_joined_block_size_rows"
        | "min_external_table_block_size_rows"
        | "min_insert_block_size_bytes_for_materialized_views"
        | "min_insert_block_size_rows" => MOST_ROWS_OF_BLOCK,
        "max_read_buffer_size" | "max_read_buffer_size_local_fs" | "max_read_buffer_size_remote_fs" => {
            MOST_BYTES_READ
        }
        "max_threads" => THREADS_PER_CORE * chalet_base::cores() as u64,
        _ => u64::MAX,
    };
    n.min(most).to_string()
}
