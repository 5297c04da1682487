//! What the paths mean that settings name: a user of a server may not name all files of its machine.

use super::FormatSettings;
use chalet_base::Result;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

type Rule = Arc<dyn Fn(&str) -> Result<String> + Send + Sync>;

/// Gives the path that one in a setting means, or an error where it may not be used. Without a rule it means itself.
#[derive(Clone, Default)]
pub struct Paths(Option<Rule>);

impl Paths {
    pub fn new(rule: impl Fn(&str) -> Result<String> + Send + Sync + 'static) -> Paths {
        Paths(Some(Arc::new(rule)))
    }

    /// The path that is meant.
    pub fn resolve<'a>(&self, written: &'a str) -> Result<Cow<'a, Path>> {
        match &self.0 {
            Some(rule) => Ok(Cow::Owned(rule(written)?.into())),
            None => Ok(Cow::Borrowed(Path::new(written))),
        }
    }
}

impl fmt::Debug for Paths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Paths(ruled)" } else { "Paths" })
    }
}

impl PartialEq for Paths {
    /// Who asks is no setting.
    fn eq(&self, _: &Paths) -> bool {
        true
    }
}

impl FormatSettings {
    /// The paths that settings name.
    pub fn named_files(&self) -> impl Iterator<Item = &str> {
        let schema = if self.format_schema_source == "file" { self.format_schema.as_str() } else { "" };
        let others = [&self.format_template_row, &self.format_template_resultset, &self.output_format_schema];
        others.into_iter().map(String::as_str).chain([schema]).filter(|path| !path.is_empty())
    }
}
