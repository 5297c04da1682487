//! What stands between the parentheses of a JSON type.

use crate::type_parser::Parser;
use crate::{DataType, JsonType};
use chalet_base::{Result, bail, ensure};

const MAX_DYNAMIC_PATHS: i64 = 10_000;
const MAX_DYNAMIC_TYPES: i64 = 254;

impl Parser<'_> {
    /// `a.b UInt32, SKIP c, SKIP REGEXP 'd.*', max_dynamic_paths = 8)`
    pub(crate) fn json_parameters(&mut self) -> Result<JsonType> {
        let mut json = JsonType::default();
        if self.accept(')') {
            return Ok(json);
        }
        loop {
            self.json_parameter(&mut json)?;
            if self.accept(')') {
                break;
            }
            if !self.accept(',') {
                return Err(self.failed("comma or closing parenthesis"));
            }
        }
        json.typed.sort_by(|a, b| a.0.cmp(&b.0));
        json.skipped.sort();
        json.skipped.dedup();
        Ok(json)
    }

    fn json_parameter(&mut self, json: &mut JsonType) -> Result<()> {
        let (path, bare) = self.json_path()?;
        if bare && path.eq_ignore_ascii_case("SKIP") {
            let before = self.position();
            let is_regexp = self.word().is_some_and(|word| word.eq_ignore_ascii_case("REGEXP"));
            if is_regexp && self.peek() == Some('\'') {
                json.skipped_regexps.push(self.quoted('\'')?.into());
                return Ok(());
            }
            self.go_to(before);
            // A path may be called SKIP: then a type follows and nothing else.
            let (skipped, _) = self.json_path()?;
            json.skipped.push(skipped.into());
            return Ok(());
        }
        if bare && self.accept('=') {
            self.peek();
            let number = self.number()?;
            let (target, most): (&str, i64) = match path.as_str() {
                "max_dynamic_paths" => ("max_dynamic_paths", MAX_DYNAMIC_PATHS),
                "max_dynamic_types" => ("max_dynamic_types", MAX_DYNAMIC_TYPES),
                other => bail!(
                    UNEXPECTED_AST_STRUCTURE,
                    "Unexpected parameter in JSON type arguments: {other}. Expected 'max_dynamic_types' or \
                     `max_dynamic_paths`"
                ),
            };
            ensure!(
                (0..=most).contains(&number),
                UNEXPECTED_AST_STRUCTURE,
                "'{target}' parameter for JSON type should be a positive integer between 0 and {most}. Got {number}"
            );
            match most {
                MAX_DYNAMIC_PATHS => json.max_dynamic_paths = number as u32,
                _ => json.max_dynamic_types = number as u8,
            }
            return Ok(());
        }
        let ty: DataType = self.data_type()?;
        ensure!(
            json.typed.iter().all(|(known, _)| **known != *path),
            BAD_ARGUMENTS,
            "Found duplicated path with type: {path}"
        );
        json.typed.push((path.into(), ty));
        Ok(())
    }

    /// Names with dots between them; is it one that is not quoted?
    fn json_path(&mut self) -> Result<(String, bool)> {
        let mut path = String::new();
        let mut bare = true;
        loop {
            match self.peek() {
                Some(quote @ ('`' | '"')) => {
                    path.push_str(&self.quoted(quote)?);
                    bare = false;
                }
                _ => match self.word() {
                    Some(word) => path.push_str(word),
                    None => return Err(self.failed("path")),
                },
            }
            if !self.accept('.') {
                return Ok((path, bare));
            }
            bare = false;
            path.push('.');
        }
    }
}
