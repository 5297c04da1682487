//! Settings and query parameters as text with flags, a name of no bytes behind the last. Old clients send each value in a form that its
//! setting has: see [`Form`].

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

/// How clients before [`SETTINGS_AS_TEXT`](crate::revision::SETTINGS_AS_TEXT) write the value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A number of variable length: numbers that are not negative, flags, and times in the unit of their setting.
    Unsigned,
    /// The same with the sign in the lowest bit.
    Signed,
    /// A string: also of floats and of words.
    Text,
}

pub fn write(out: &mut Vec<u8>, settings: &[Setting]) {
    for setting in settings {
        put_string(out, setting.name.as_bytes());
        put_var_uint(out, setting.flags);
        put_string(out, setting.value.as_bytes());
    }
    out.push(0);
}

pub fn read(from: &mut impl Source) -> Result<Vec<Setting>> {
    read_each(from, |from, name| {
        let flags = from.var_uint()?;
        let value = bounded::text(from, LONG, "the value of a setting")?;
        Ok(Setting { name, value, flags })
    })
}

/// Reads settings as old clients write them: values without flags, in forms that both sides know.
pub fn read_formed(from: &mut impl Source, form: impl Fn(&str) -> Option<Form>) -> Result<Vec<Setting>> {
    read_each(from, |from, name| {
        // Where the value ends is not known either.
        let Some(form) = form(&name) else { bail!(UNKNOWN_SETTING, "Unknown setting {name}") };
        let value = match form {
            Form::Unsigned => from.var_uint()?.to_string(),
            Form::Signed => {
                let x = from.var_uint()?;
                ((x >> 1) as i64 ^ -((x & 1) as i64)).to_string()
            }
            Form::Text => bounded::text(from, LONG, "the value of a setting")?,
        };
        Ok(Setting { name, value, flags: 0 })
    })
}

/// Reads names up to one of no bytes; `rest` reads what follows each.
fn read_each<S: Source>(
    from: &mut S,
    rest: impl Fn(&mut S, String) -> Result<Setting>,
) -> Result<Vec<Setting>> {
    let mut settings = Vec::new();
    loop {
        let name = bounded::text(from, SHORT, "the name of a setting")?;
        if name.is_empty() {
            return Ok(settings);
        }
        if settings.len() == MAX_SETTINGS {
            bail!(TOO_LARGE_ARRAY_SIZE, "Too many settings (maximum: {MAX_SETTINGS})");
        }
        settings.push(rest(from, name)?);
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

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_base::codes;
    use chalet_formats::binary::Cursor;

    fn form(name: &str) -> Option<Form> {
        Some(match name {
            "max_block_size" => Form::Unsigned,
            "level" => Form::Signed,
            "totals_mode" => Form::Text,
            _ => return None,
        })
    }

    #[test]
    fn settings_of_old_clients() {
        let mut bytes = Vec::new();
        put_string(&mut bytes, b"max_block_size");
        put_var_uint(&mut bytes, 300);
        put_string(&mut bytes, b"level");
        put_var_uint(&mut bytes, 5);
        put_string(&mut bytes, b"totals_mode");
        put_string(&mut bytes, b"before_having");
        bytes.push(0);
        let read = read_formed(&mut Cursor::new(&bytes), form).unwrap();
        let read: Vec<_> = read.iter().map(|s| (s.name.as_str(), s.value.as_str(), s.flags)).collect();
        let expected =
            [("max_block_size", "300", 0), ("level", "-3", 0), ("totals_mode", "before_having", 0)];
        assert_eq!(read, expected);
        for end in 0..bytes.len() {
            assert!(read_formed(&mut Cursor::new(&bytes[..end]), form).is_err(), "{end}");
        }
        let unknown = read_formed(&mut Cursor::new(b"\x03new\x01\0"), form).unwrap_err();
        assert_eq!((unknown.code(), unknown.message()), (codes::UNKNOWN_SETTING, "Unknown setting new"));
    }
}
