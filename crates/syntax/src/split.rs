//! A text cut into statements by its tokens alone, for shells and scripts: the statements may be wrong, and the last one
//! not written to its end.

use crate::lexer::{LexError, Lexer, TokenKind};
use std::ops::Range;

/// A statement of a text, in bytes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// From its first token to what ends it. The data of an INSERT are part of it.
    pub range: Range<usize>,
    /// What stands behind the name of the format of an INSERT, or behind VALUES.
    pub data: Option<Range<usize>>,
    pub end: End,
}

/// What ends a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Semicolon,
    /// `\G`: its rows are wanted one below the other.
    Vertical,
    /// Inline data were over.
    Data,
    /// The end of the text, also amid a string or comment.
    Text,
}

/// How far an INSERT is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Insert {
    /// This is none, or one whose rows come from elsewhere.
    No,
    /// Behind INSERT, before its source.
    Head,
    /// Behind VALUES: rows to the next semicolon.
    Values(usize),
}

/// All statements of a text. Data of an INSERT with a format that begin on the line of its name are the rest of that line;
/// those that begin on the next one end with an empty line.
pub fn split_statements(text: &str) -> Vec<Piece> {
    let mut lexer = Lexer::new(text);
    let mut pieces = Vec::new();
    let mut start: Option<usize> = None;
    let mut insert = Insert::No;
    let mut depth = 0_usize;
    // The token before was one behind which a name stands, or `(`.
    let (mut name_follows, mut opened) = (false, false);
    loop {
        let token = lexer.next_token();
        let (from, to) = (token.start as usize, token.end as usize);
        let end = match token.kind {
            TokenKind::Semicolon => Some(End::Semicolon),
            TokenKind::VerticalDelimiter => Some(End::Vertical),
            TokenKind::End => Some(End::Text),
            TokenKind::Error(LexError::UnclosedComment) if start.is_none() => Some(End::Text),
            _ => None,
        };
        if let Some(end) = end {
            if let Some(start) = start.take() {
                let data = match insert {
                    Insert::Values(begin) => Some(begin..from),
                    _ => None,
                };
                pieces.push(Piece { range: start..from, data, end });
            } else if matches!(token.kind, TokenKind::Error(_)) {
                pieces.push(Piece { range: from..to, data: None, end });
            }
            if end == End::Text {
                return pieces;
            }
            (insert, depth, name_follows, opened) = (Insert::No, 0, false, false);
            continue;
        }
        let word = match token.kind {
            TokenKind::Word => &text[from..to],
            _ => "",
        };
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        if start.is_none() {
            start = Some(from);
            if is("INSERT") {
                insert = Insert::Head;
                continue;
            }
        }
        if insert == Insert::Head && opened && (is("SELECT") || is("WITH")) {
            insert = Insert::No;
        } else if insert == Insert::Head && depth == 0 && !name_follows {
            if is("SELECT") || is("WITH") || is("FROM") {
                insert = Insert::No;
            } else if is("VALUES") {
                insert = Insert::Values(to);
            } else if is("FORMAT") {
                let name = lexer.next_token();
                let end = name.end as usize;
                let is_values = text[name.start as usize..end].eq_ignore_ascii_case("Values");
                match name.kind {
                    TokenKind::Word if is_values => insert = Insert::Values(end),
                    TokenKind::Word => {
                        let (data, ended, next) = inline_data(text, end);
                        let range = start.take().unwrap_or(from)..data.end;
                        pieces.push(Piece { range, data: Some(data), end: ended });
                        insert = Insert::No;
                        lexer.seek(next);
                        continue;
                    }
                    // Not a format: what this is, is found out elsewhere.
                    _ => lexer.seek(name.start as usize),
                }
            }
        }
        match token.kind {
            TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace => depth += 1,
            TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace => depth = depth.saturating_sub(1),
            _ => {}
        }
        opened = token.kind == TokenKind::LParen;
        name_follows = token.kind == TokenKind::Dot || is("INTO") || is("TABLE") || is("FUNCTION");
    }
}

/// The data behind the name of a format, what ends them, and where the text goes on.
fn inline_data(text: &str, after_name: usize) -> (Range<usize>, End, usize) {
    let rest = &text[after_name..];
    let start = after_name + rest.len() - rest.trim_start_matches([' ', '\t', '\x0c']).len();
    let line = text[start..].split('\n').next().unwrap_or_default();
    if line.starts_with(';') {
        // They come from elsewhere. (No row of a format begins so.)
        return (start..start, End::Semicolon, start + 1);
    }
    let has_line_end = start + line.len() < text.len();
    if !line.trim().is_empty() {
        let end = start + line.trim_end_matches('\r').len();
        return (start..end, if has_line_end { End::Data } else { End::Text }, start + line.len());
    }
    if !has_line_end {
        return (text.len()..text.len(), End::Text, text.len());
    }
    let start = start + line.len() + 1;
    let mut end = start;
    for line in text[start..].split_inclusive('\n') {
        if line.ends_with('\n') && line.trim().is_empty() {
            return (start..end, End::Data, end + line.len());
        }
        end += line.len();
    }
    (start..end, End::Text, end)
}

#[cfg(test)]
mod tests {
    use super::{End, split_statements};

    /// Each statement, its data and its end.
    fn split(text: &str) -> Vec<(&str, Option<&str>, End)> {
        let pieces = split_statements(text);
        pieces.into_iter().map(|p| (&text[p.range], p.data.map(|d| &text[d]), p.end)).collect()
    }

    #[test]
    fn semicolons_end_statements_outside_of_quotes_and_comments() {
        assert_eq!(
            split(" ; SELECT ';', \";\" -- ;\n, `;` /* ; */, $$;$$ ; SELECT 2\\G;SELECT 3"),
            [
                ("SELECT ';', \";\" -- ;\n, `;` /* ; */, $$;$$ ", None, End::Semicolon),
                ("SELECT 2", None, End::Vertical),
                ("SELECT 3", None, End::Text),
            ]
        );
        assert!(split(" -- nothing\n;;").is_empty());
    }

    #[test]
    fn what_is_not_closed_goes_on() {
        assert_eq!(split("SELECT 'a; b"), [("SELECT 'a; b", None, End::Text)]);
        assert_eq!(split("SELECT 1 /* ;"), [("SELECT 1 /* ;", None, End::Text)]);
        assert_eq!(split("/* ; "), [("/* ; ", None, End::Text)]);
    }

    #[test]
    fn data_of_an_insert() {
        assert_eq!(
            split("INSERT INTO t VALUES (1, ';'); SELECT 1"),
            [
                ("INSERT INTO t VALUES (1, ';')", Some(" (1, ';')"), End::Semicolon),
                ("SELECT 1", None, End::Text),
            ]
        );
        assert_eq!(
            split("INSERT INTO t (a) FORMAT CSV 1;2\nSELECT 1;"),
            [
                ("INSERT INTO t (a) FORMAT CSV 1;2", Some("1;2"), End::Data),
                ("SELECT 1", None, End::Semicolon),
            ]
        );
        assert_eq!(
            split("INSERT INTO t FORMAT CSV\n'1\n2;\n\nSELECT 1"),
            [
                ("INSERT INTO t FORMAT CSV\n'1\n2;\n", Some("'1\n2;\n"), End::Data),
                ("SELECT 1", None, End::Text),
            ]
        );
        assert_eq!(
            split("INSERT INTO t FORMAT CSV\n1\n"),
            [("INSERT INTO t FORMAT CSV\n1\n", Some("1\n"), End::Text)]
        );
    }

    #[test]
    fn an_insert_whose_data_come_from_elsewhere() {
        assert_eq!(split("INSERT INTO t FORMAT CSV"), [("INSERT INTO t FORMAT CSV", Some(""), End::Text)]);
        assert_eq!(
            split("INSERT INTO t FORMAT CSV; SELECT 1"),
            [("INSERT INTO t FORMAT CSV", Some(""), End::Semicolon), ("SELECT 1", None, End::Text)]
        );
        assert_eq!(
            split("INSERT INTO t FORMAT CSV ;\nSELECT 1"),
            [("INSERT INTO t FORMAT CSV ", Some(""), End::Semicolon), ("SELECT 1", None, End::Text)]
        );
    }

    #[test]
    fn an_insert_from_a_query_has_no_data() {
        for text in [
            "INSERT INTO t SELECT 1 FORMAT CSV",
            "INSERT INTO t FROM INFILE 'x' FORMAT CSV",
            "INSERT INTO t WITH 1 AS x SELECT x FORMAT Null",
            "INSERT INTO t (a) (SELECT 1) FORMAT Null",
            "SELECT 1 FORMAT CSV",
        ] {
            assert_eq!(
                split(&format!("{text}; SELECT 2")),
                [(text, None, End::Semicolon), ("SELECT 2", None, End::Text)]
            );
        }
        assert_eq!(
            split("INSERT INTO values VALUES (1); INSERT INTO FUNCTION file('x', 'CSV') VALUES (2)"),
            [
                ("INSERT INTO values VALUES (1)", Some(" (1)"), End::Semicolon),
                ("INSERT INTO FUNCTION file('x', 'CSV') VALUES (2)", Some(" (2)"), End::Text),
            ]
        );
    }
}
