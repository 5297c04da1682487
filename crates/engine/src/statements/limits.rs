//! `max_query_size`, `max_parser_depth`, `max_ast_depth` and `max_ast_elements`, where they are set: the defaults are
//! the parser's own limits. And `enforce_strict_identifier_format`.

use crate::settings::Settings;
use chalet_base::{Result, ensure};
use chalet_syntax::ast::{InsertSource, Span, Statement, StatementKind};
use chalet_syntax::lexer::{Lexer, TokenKind};

/// Checks a statement of the text under the settings that it runs with.
pub(crate) fn check(sql: &str, statement: &Statement, settings: &Settings) -> Result<()> {
    if settings.flag("enforce_strict_identifier_format") == Some(true) {
        check_identifiers(sql.get(without_data(statement).range()).unwrap_or_default())?;
    }
    let limit = |name| settings.number(name).filter(|&n| n > 0);
    if let Some(most) = limit("max_query_size") {
        // Data of an INSERT may be of any size.
        let span = without_data(statement);
        ensure!(
            span.range().len() as u64 <= most,
            SYNTAX_ERROR,
            "Max query size exceeded (can be increased with the `max_query_size` setting): Syntax error: failed at position \
             {}",
            u64::from(span.start) + most + 1
        );
    }
    if let Some(most) = limit("max_parser_depth") {
        let text = sql.get(statement.span.range()).unwrap_or_default();
        ensure!(
            u64::from(chalet_syntax::parser::nesting_of(text)?) <= most,
            TOO_DEEP_RECURSION,
            "Maximum parse depth ({most}) exceeded. Consider rising max_parser_depth parameter"
        );
    }
    let (depth, elements) = (limit("max_ast_depth"), limit("max_ast_elements"));
    if (depth, elements) == (None, None) {
        return Ok(());
    }
    let Ok(size) = chalet_syntax::explain::tree_size(statement) else { return Ok(()) };
    if let Some(most) = depth {
        ensure!(size.depth <= most, TOO_DEEP_AST, "AST is too deep. Maximum: {most}");
    }
    if let Some(most) = elements {
        ensure!(size.elements <= most, TOO_BIG_AST, "AST is too big. Maximum: {most}");
    }
    Ok(())
}

/// Where a statement is, up to the data of an INSERT.
fn without_data(statement: &Statement) -> Span {
    let mut span = statement.span;
    if let StatementKind::Insert(insert) = &statement.kind
        && let InsertSource::Inline { data, .. } = &insert.source
    {
        span.end = data.span.start;
    }
    span
}

/// `enforce_strict_identifier_format`: also in quotes a name is letters, digits and underscores.
fn check_identifiers(text: &str) -> Result<()> {
    let mut lexer = Lexer::new(text);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End => return Ok(()),
            TokenKind::QuotedIdent => {
                let quoted = text.get(token.start as usize..token.end as usize).unwrap_or_default();
                let name = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
                ensure!(
                    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
                    BAD_ARGUMENTS,
                    "Identifier '{name}' contains characters other than alphanumeric and cannot be when \
                     enforce_strict_identifier_format is enabled"
                );
            }
            _ => {}
        }
    }
}
