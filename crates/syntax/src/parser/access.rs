//! Statements about users, roles and their rights: there is one user, who may not make or see any. They are refused as the
//! kernel refuses them, by the right that is missing.

use super::Parser;
use crate::lexer::TokenKind;
use chalet_base::{Error, err};

/// A kind of object, the right to which is named by the second word, and whether it is given per object.
const OBJECTS: [(&str, &str, bool); 7] = [
    ("USER", "USER", true),
    ("ROLE", "ROLE", true),
    ("ROW POLICY", "ROW POLICY", false),
    ("POLICY", "ROW POLICY", false),
    ("QUOTA", "QUOTA", false),
    ("SETTINGS PROFILE", "SETTINGS PROFILE", false),
    ("PROFILE", "SETTINGS PROFILE", false),
];

impl Parser<'_> {
    /// The error of `CREATE`, `ALTER` or `DROP` before one of these objects; `None` before any other.
    pub(crate) fn access_denied(&mut self, verb: &str) -> Option<Error> {
        let &(words, right, has_name) = OBJECTS.iter().find(|(words, ..)| self.at_keyword(words))?;
        let verb = if verb == "ATTACH" { "CREATE" } else { verb };
        words.split(' ').for_each(|_| {
            self.advance();
        });
        let _ = self.accept_keyword("IF NOT EXISTS") || self.accept_keyword("IF EXISTS");
        let target = match self.ident() {
            Ok(name) if has_name => name.name,
            Ok(_) if right == "ROW POLICY" && verb != "DROP" && self.is_on_cluster() => {
                return Some(err!(QUERY_IS_PROHIBITED, "Replicated DDL queries are disabled"));
            }
            Ok(_) if right == "ROW POLICY" && self.accept_keyword("ON") => match self.object_name() {
                Ok(table) => {
                    let database = table.database.map_or("default".to_string(), |database| database.name);
                    format!("{database}.{}", table.name.name)
                }
                Err(_) => "*.*".into(),
            },
            _ => "*.*".into(),
        };
        Some(err!(
            ACCESS_DENIED,
            "default: Not enough privileges. To execute this query, it's necessary to have the grant {verb} {right} ON {target}"
        ))
    }

    /// Does ON CLUSTER stand in what is left of the statement?
    fn is_on_cluster(&mut self) -> bool {
        let mut is_behind_on = false;
        for ahead in 0.. {
            let token = self.peek(ahead);
            if matches!(token.kind, TokenKind::End | TokenKind::Semicolon | TokenKind::Error(_)) {
                break;
            }
            let text = self.text_of(token);
            if is_behind_on && text.eq_ignore_ascii_case("CLUSTER") {
                return true;
            }
            is_behind_on = text.eq_ignore_ascii_case("ON");
        }
        false
    }

    /// The error of `GRANT ... TO role` and `REVOKE ... FROM role`: there is no role.
    pub(crate) fn unknown_role(&mut self) -> Error {
        let mut last = String::new();
        while !matches!(self.token().kind, TokenKind::End | TokenKind::Semicolon | TokenKind::Error(_)) {
            let is_role = self.accept_keyword("TO") || self.accept_keyword("FROM");
            match self.ident() {
                Ok(name) if is_role => last = name.name,
                Ok(_) => {}
                Err(_) => {
                    self.advance();
                }
            }
        }
        err!(UNKNOWN_ROLE, "There is no role `{last}` in `user directories`")
    }
}
