//! Format strings of Template: text with `${column:Escaping}` in it.

use crate::positional::shown;
use crate::settings::{EscapingRule, Paths, SettingValue};
use chalet_base::{Error, Result, ensure, err};

/// One place of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub name: String,
    pub rule: EscapingRule,
    /// What the name means; none for a value that is passed over.
    pub column: Option<usize>,
}

/// Text before, between and behind the values: one more than there are values.
#[derive(Clone, Debug, PartialEq)]
pub struct FormatString {
    pub delimiters: Vec<Vec<u8>>,
    pub parts: Vec<Part>,
}

impl FormatString {
    /// `column` says what a name means.
    pub fn parse(text: &str, column: impl Fn(&str) -> Result<Option<usize>>) -> Result<FormatString> {
        let mut format = FormatString { delimiters: vec![Vec::new()], parts: Vec::new() };
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            format.text(&rest[..at]);
            let position = text.len() - rest.len() + at;
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix('$') {
                format.text("$");
                rest = behind;
                continue;
            }
            let Some(inside) = rest.strip_prefix('{') else {
                let message =
                    format!("At pos {}: Expected '{{' or '$' after '$', got \"{rest}\"", position + 1);
                return Err(format.invalid(&message));
            };
            let end = inside.find([':', '}']);
            let name = &inside[..end.unwrap_or(inside.len())];
            let name_end = name.find(|c: char| !(c.is_alphanumeric() || "_ -.()`".contains(c)));
            let (Some(end), None) = (end, name_end) else {
                let name = &name[..name_end.unwrap_or(name.len())];
                let behind = &inside[name.len()..];
                let message = format!(
                    "At pos {}: Expected ':' or '}}' after column name \"{name}\", got \"{behind}\"",
                    position + 2 + name.len()
                );
                return Err(format.invalid(&message));
            };
            let behind = &inside[end..];
            let (rule, behind) = match behind.strip_prefix(':') {
                None => ("", behind),
                Some(rule) => rule.split_at(rule.find('}').unwrap_or(rule.len())),
            };
            let Some(behind) = behind.strip_prefix('}') else {
                return Err(format.invalid("Expected '}' after the escaping rule"));
            };
            let rule = match rule {
                "" => EscapingRule::None,
                rule => EscapingRule::parse(rule)
                    .map_err(|_| err!(BAD_ARGUMENTS, "Unknown escaping rule \"{rule}\""))?,
            };
            let name = name.trim_matches('`').to_string();
            let column = if name.is_empty() { None } else { column(&name)? };
            format.parts.push(Part { name, rule, column });
            format.delimiters.push(Vec::new());
            rest = behind;
        }
        format.text(rest);
        Ok(format)
    }

    fn text(&mut self, text: &str) {
        if let Some(last) = self.delimiters.last_mut() {
            last.extend_from_slice(text.as_bytes());
        }
    }

    /// The error of a format string, with what was understood of it.
    #[cold]
    pub fn invalid(&self, message: &str) -> Error {
        let mut parsed = String::new();
        for (at, delimiter) in self.delimiters.iter().enumerate() {
            parsed.push_str(&format!("Delimiter {at}: {}\n", shown(delimiter)));
            if let Some(part) = self.parts.get(at) {
                let column = match part.column {
                    Some(column) => format!("mapped to table column {column}"),
                    None => "skipped".to_string(),
                };
                let rule = part.rule.print();
                parsed.push_str(&format!("Column {at}: \"{}\" ({column}), Format {rule}\n", part.name));
            }
        }
        err!(
            INVALID_TEMPLATE_FORMAT,
            "Invalid format string for Template: {message}. Parsed format string:\n\n{parsed}"
        )
    }
}

/// The text of a format: as a setting gives it, or in the file that another setting names.
pub fn source(text: &str, file: &str, paths: &Paths) -> Result<Option<String>> {
    if file.is_empty() {
        return Ok((!text.is_empty()).then(|| text.to_string()));
    }
    ensure!(
        text.is_empty(),
        INVALID_TEMPLATE_FORMAT,
        "Expected either a format string or the name of a file with one, but not both"
    );
    let text = std::fs::read_to_string(paths.resolve(file)?).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => err!(FILE_DOESNT_EXIST, "Cannot open file {file}: {e}"),
        _ => err!(CANNOT_OPEN_FILE, "Cannot open file {file}: {e}"),
    })?;
    // Editors end a file with a line feed, which is not meant.
    Ok(Some(text.strip_suffix('\n').map_or(text.clone(), str::to_string)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_values() {
        let column = |name: &str| Ok((name == "b").then_some(1));
        let format = FormatString::parse("a$$${b:CSV}, ${:JSON}!", column).unwrap();
        assert_eq!(format.delimiters, [b"a$".to_vec(), b", ".to_vec(), b"!".to_vec()]);
        let rules: Vec<_> = format.parts.iter().map(|part| (part.rule, part.column)).collect();
        assert_eq!(rules, [(EscapingRule::Csv, Some(1)), (EscapingRule::Json, None)]);
        for broken in ["$", "$a", "${a", "${a:CSV", "${a>}"] {
            assert_eq!(FormatString::parse(broken, column).unwrap_err().code().number, 474, "{broken}");
        }
        assert_eq!(FormatString::parse("${b:Foo}", column).unwrap_err().code().number, 36);
    }
}
