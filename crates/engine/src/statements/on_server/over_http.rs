//! Statements as HTTP takes them: each request stands alone, the format of its rows is asked for beside the text, and data of an
//! INSERT are in a format that the text names.

use crate::query_context::QueryContext;
use crate::server::Server;
use crate::written_settings::setting_text;
use chalet_base::Result;
use chalet_binder::table_columns::bind_constant;
use chalet_client::{Insertion, Request};
use chalet_syntax::ast::{self, StatementKind};
use chalet_syntax::print;

/// Completes a request: what was set before comes with it, and rows come in the format that is read here.
pub(super) fn complete(mut request: Request, server: &Server, ctx: &QueryContext) -> Result<Request> {
    let parsed = chalet_syntax::parse_statements(&request.text).ok().and_then(|mut parsed| parsed.pop());
    let set = parsed.as_ref().map_or(Ok(None), |statement| assignments(&statement.kind, ctx))?;
    let is_set = set.is_some();
    // What is set here takes the place of what was set before.
    let mut remembered = server.remembered();
    for (name, value) in set.into_iter().flatten() {
        remembered.retain(|(known, _)| *known != name);
        remembered.extend(value.map(|value| (name, value)));
    }
    for (name, value) in remembered {
        match name.strip_prefix("param_") {
            Some(name) => add_missing(&mut request.parameters, name, value),
            None => add_missing(&mut request.settings, &name, value),
        }
    }
    if is_set {
        // Old servers know SET and USE in sessions alone. A query with these settings tells as well what is wrong with them.
        request.text = "SELECT 1 WHERE 0".into();
        return Ok(request);
    }
    let Some(statement) = parsed else { return Ok(request) };
    if let Some(format) = &statement.output.format {
        let (start, end) = (format.span.start as usize, format.span.end as usize);
        if let Some(text) = without(&request.text, start, end) {
            request.text = text;
        }
    }
    if let StatementKind::Query(_) = statement.kind {
        request.header = Some(format!("SELECT * FROM (\n{}\n) LIMIT 0", request.text));
    }
    request.insertion = insertion(statement);
    Ok(request)
}

/// What this request says itself is the last word.
fn add_missing(to: &mut Vec<(String, String)>, name: &str, value: String) {
    if !to.iter().any(|(known, _)| known == name) {
        to.push((name.to_owned(), value));
    }
}

/// The text without `FORMAT name`, whose name stands there.
fn without(text: &str, start: usize, end: usize) -> Option<String> {
    const WORD: &str = "FORMAT";
    let before = text.get(..start)?.trim_end();
    let at = before.len().checked_sub(WORD.len())?;
    let is_there = before.get(at..)?.eq_ignore_ascii_case(WORD);
    is_there.then(|| format!("{}{}", before[..at].trim_end(), text.get(end..).unwrap_or_default()))
}

/// An INSERT whose data are given beside its text.
fn insertion(statement: ast::Statement) -> Option<Insertion> {
    const BEGIN: &str = "INSERT INTO ";
    const END: &str = " FORMAT Native";
    let ast::Statement { kind: StatementKind::Insert(insert), span, .. } = statement else { return None };
    if let ast::InsertSource::Query(_) = insert.source {
        return None;
    }
    let printed = |insert: &ast::Insert| {
        let kind = StatementKind::Insert(Box::new(insert.clone()));
        let mut text =
            print::print(&ast::Statement { kind, cluster: None, output: ast::Output::default(), span });
        let end = text.rfind(" FORMAT ").or_else(|| text.rfind(" VALUES"))?;
        text.truncate(end);
        Some(text)
    };
    let whole = printed(&insert)?;
    let named = ast::Insert { settings: Vec::new(), partition_by: None, ..(*insert).clone() };
    let bare = printed(&ast::Insert { columns: None, ..named.clone() })?;
    let target = bare.strip_prefix(BEGIN)?;
    let target = target.strip_prefix("FUNCTION ").unwrap_or(target);
    let named = printed(&named)?;
    let columns = named.strip_prefix(&bare)?.trim();
    let columns = columns.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or("*");
    Some(Insertion {
        text: format!("{whole}{END}"),
        probe: format!("SELECT {columns} FROM {target} LIMIT 0"),
    })
}

/// What a statement that has run means for those that follow.
pub(super) fn keep(text: &str, server: &Server, ctx: &QueryContext) -> Result<()> {
    let parsed = chalet_syntax::parse_statements(text).ok().and_then(|mut parsed| parsed.pop());
    let set = parsed.map_or(Ok(None), |statement| assignments(&statement.kind, ctx))?;
    set.into_iter().flatten().for_each(|(name, value)| server.remember(&name, value));
    Ok(())
}

/// A name and its value; none where it is to be what the server has.
type Assignment = (String, Option<String>);

/// What SET and USE say; none where it is another statement.
fn assignments(kind: &StatementKind, ctx: &QueryContext) -> Result<Option<Vec<Assignment>>> {
    let list = match kind {
        StatementKind::Use(name) => return Ok(Some(vec![("database".into(), Some(name.name.clone()))])),
        StatementKind::Set(ast::SetStatement::Settings(list)) => list,
        _ => return Ok(None),
    };
    let assignments = list.iter().map(|setting| {
        let value = match &setting.value {
            ast::SettingValue::Default => None,
            ast::SettingValue::Expr(e) => {
                let literal = bind_constant(e, ctx, &ctx.ids)?;
                Some(setting_text(&literal.value(), &literal.ty))
            }
        };
        Ok((setting.name.name.clone(), value))
    });
    assignments.collect::<Result<_>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Insertion {
        insertion(chalet_syntax::parse_statements(text).unwrap().pop().unwrap()).unwrap()
    }

    #[test]
    fn insertions() {
        let Insertion { text, probe } = of("INSERT INTO d.t (a, `b c`) SETTINGS async_insert = 1 VALUES");
        assert_eq!(text, "INSERT INTO d.t (a, `b c`) SETTINGS async_insert = 1 FORMAT Native");
        assert_eq!(probe, "SELECT a, `b c` FROM d.t LIMIT 0");
        let Insertion { text, probe } = of("insert into t format CSV");
        assert_eq!((&*text, &*probe), ("INSERT INTO t FORMAT Native", "SELECT * FROM t LIMIT 0"));
        let Insertion { text, probe } = of("INSERT INTO FUNCTION remote('h', d.t) VALUES");
        assert_eq!(text, "INSERT INTO FUNCTION remote('h', d.t) FORMAT Native");
        assert_eq!(probe, "SELECT * FROM remote('h', d.t) LIMIT 0");
    }

    #[test]
    fn formats() {
        let cut = |text: &str| {
            let parsed = chalet_syntax::parse_statements(text).unwrap().pop().unwrap();
            let span = parsed.output.format.unwrap().span;
            without(text, span.start as usize, span.end as usize).unwrap()
        };
        assert_eq!(cut("SELECT 'FORMAT x' FORMAT CSV"), "SELECT 'FORMAT x'");
        assert_eq!(cut("SELECT 1 format\nTSV SETTINGS max_threads = 1"), "SELECT 1 SETTINGS max_threads = 1");
    }
}
