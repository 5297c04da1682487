//! Fields by escaping rule: what CustomSeparated, Template and Regexp let the user choose.

use crate::settings::EscapingRule;
use crate::{FormatSettings, infer};
use chalet_base::{Result, bail, err};
use chalet_text::Style;
use chalet_text::read::Syntax;
use chalet_text::read::cursor::Cursor;
use chalet_text::read::string::{self, CsvQuotes};
use chalet_text::write::escape::{JsonStrings, escaped, json};

/// How cells are written. The rule None is for what is not written.
pub fn style(rule: EscapingRule) -> Result<Style> {
    Ok(match rule {
        EscapingRule::Raw => Style::Raw,
        EscapingRule::Xml => Style::Xml,
        EscapingRule::Json => Style::Json,
        EscapingRule::Csv => Style::Csv,
        EscapingRule::Quoted => Style::Quoted,
        EscapingRule::Escaped => Style::Escaped,
        EscapingRule::None => bail!(BAD_ARGUMENTS, "Cannot serialize field with None escaping rule"),
    })
}

/// How values are read. XML is only written.
pub fn syntax(rule: EscapingRule) -> Result<Syntax> {
    Ok(match rule {
        EscapingRule::Raw => Syntax::Raw,
        EscapingRule::Json => Syntax::Json,
        EscapingRule::Csv => Syntax::Csv,
        EscapingRule::Quoted => Syntax::Quoted,
        EscapingRule::Escaped => Syntax::Escaped,
        EscapingRule::Xml | EscapingRule::None => {
            bail!(BAD_ARGUMENTS, "Cannot deserialize field with {} escaping rule", name(rule))
        }
    })
}

pub fn name(rule: EscapingRule) -> String {
    crate::settings::SettingValue::print(&rule)
}

/// Appends a name as a string of the rule.
pub fn put_text(out: &mut Vec<u8>, rule: EscapingRule, text: &[u8]) {
    let doubled = |out: &mut Vec<u8>| {
        out.push(b'"');
        for &byte in text {
            out.extend(std::iter::repeat_n(byte, if byte == b'"' { 2 } else { 1 }));
        }
        out.push(b'"');
    };
    match rule {
        EscapingRule::Raw | EscapingRule::None => out.extend_from_slice(text),
        EscapingRule::Escaped => escaped(out, text),
        EscapingRule::Csv => doubled(out),
        EscapingRule::Json => json(out, text, JsonStrings { escape_slashes: true, validate: true }),
        EscapingRule::Quoted => {
            out.push(b'\'');
            escaped(out, text);
            out.push(b'\'');
        }
        EscapingRule::Xml => {
            for &byte in text {
                match byte {
                    b'<' => out.extend_from_slice(b"&lt;"),
                    b'&' => out.extend_from_slice(b"&amp;"),
                    other => out.push(other),
                }
            }
        }
    }
}

/// What the rules ask of the settings.
#[derive(Clone, Copy, Debug)]
pub struct FieldRules {
    pub csv_delimiter: u8,
    pub quotes: CsvQuotes,
}

impl FieldRules {
    pub fn new(settings: &FormatSettings) -> FieldRules {
        FieldRules {
            csv_delimiter: settings.format_csv_delimiter.0,
            quotes: CsvQuotes {
                single: settings.format_csv_allow_single_quotes,
                double: settings.format_csv_allow_double_quotes,
                trim: settings.input_format_csv_trim_whitespaces,
            },
        }
    }

    /// The string at the cursor, escapes resolved.
    pub fn text(&self, rule: EscapingRule, cur: &mut Cursor<'_>) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        match rule {
            EscapingRule::Raw => text.extend_from_slice(string::raw(cur)),
            EscapingRule::Escaped => string::escaped(cur, &mut text)?,
            EscapingRule::Csv => string::csv(cur, self.csv_delimiter, self.quotes, &mut text)?,
            EscapingRule::Json => string::json(cur, &mut text)?,
            EscapingRule::Quoted => string::quoted(cur, b'\'', &mut text)?,
            EscapingRule::Xml | EscapingRule::None => {
                bail!(BAD_ARGUMENTS, "Cannot read value with {} escaping rule", name(rule))
            }
        }
        Ok(text)
    }

    /// Steps over a field and gives its text as it stands.
    pub fn skip<'a>(&self, rule: EscapingRule, cur: &mut Cursor<'a>) -> Result<&'a [u8]> {
        let start = cur.rest();
        match rule {
            EscapingRule::Json => drop(string::json_value(cur)?),
            EscapingRule::Quoted => {
                if infer::literal(cur, &FormatSettings::default()).is_none() {
                    return Err(cur.expected(b"'"));
                }
            }
            other => drop(self.text(other, cur)?),
        }
        Ok(&start[..start.len() - cur.rest().len()])
    }

    /// What the field at the cursor may be.
    pub fn guess(
        &self,
        rule: EscapingRule,
        cur: &mut Cursor<'_>,
        settings: &FormatSettings,
    ) -> Result<infer::Guess> {
        match rule {
            EscapingRule::Json => infer::json_value(cur, settings),
            EscapingRule::Quoted => infer::literal(cur, settings).ok_or_else(|| {
                err!(INCORRECT_DATA, "Cannot determine the type of the value here: {}", shown(cur.rest()))
            }),
            EscapingRule::Csv => Ok(infer::csv_field(self.skip(rule, cur)?, settings)),
            _ => Ok(infer::tsv_field(self.skip(rule, cur)?, settings)),
        }
    }
}

/// How inference merges the values of fields of a rule.
pub fn dialect(rule: EscapingRule, settings: &FormatSettings) -> infer::Dialect {
    match rule {
        EscapingRule::Json => infer::Dialect::json(settings),
        EscapingRule::Quoted => infer::Dialect::Literals,
        _ => infer::Dialect::Text,
    }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(30)]).into_owned()
}
