//! Settings and query parameters as text with flags, a name of no bytes behind the last.

use crate::bounded::{self, LONG, SHORT};
use chalet_base::{Result, bail};
use chalet_formats::binary::{Source, put_string, put_var_uint};

/// A setting of a query, or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub value: String,
    pub flags: u64,
}

/// A server that does not know the setting refuses the query.
pub const IMPORTANT: u64 = 1;
/// The value is the text of a literal.
pub const CUSTOM: u64 = 2;

/// More of them are taken for damage.
const MAX_SETTINGS: usize = 100_000;

pub fn write(out: &mut Vec<u8>, settings: &[Setting]) {
    for setting in settings {
        put_string(out, setting.name.as_bytes());
        put_var_uint(out, setting.flags);
        put_string(out, setting.value.as_bytes());
    }
    out.push(0);
}

pub fn read(from: &mut impl Source) -> Result<Vec<Setting>> {
    let mut settings = Vec::new();
    loop {
        let name = bounded::text(from, SHORT, "the name of a setting")?;
        if name.is_empty() {
            return Ok(settings);
        }
        if settings.len() == MAX_SETTINGS {
            bail!(TOO_LARGE_ARRAY_SIZE, "Too many settings (maximum: {MAX_SETTINGS})");
        }
        let flags = from.var_uint()?;
        let value = bounded::text(from, LONG, "the value of a setting")?;
        settings.push(Setting { name, value, flags });
    }
}

/// A text as a literal of the dialect: parameters and `SET` take such.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for c in text.chars() {
        if matches!(c, '\\' | '\'') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('\'');
    quoted
}
