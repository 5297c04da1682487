//! SYSTEM: which commands there are, and what may follow each.

use super::{Fail, Parse, Parser};
use crate::ast::StatementKind;
use crate::lexer::TokenKind;

/// What follows the words of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    Nothing,
    /// A table, or nothing: all.
    PerhapsTable,
    Table,
    /// Anything, which is kept as it was written.
    Text,
}

use Follows::{Nothing, PerhapsTable, Table, Text};

/// The commands. Where the words of one begin another's, the longer one comes first.
const COMMANDS: &[(&str, Follows)] = &[
    ("STOP MERGES", PerhapsTable),
    ("START MERGES", PerhapsTable),
    ("STOP TTL MERGES", PerhapsTable),
    ("START TTL MERGES", PerhapsTable),
    ("STOP MOVES", PerhapsTable),
    ("START MOVES", PerhapsTable),
    ("STOP FETCHES", PerhapsTable),
    ("START FETCHES", PerhapsTable),
    ("STOP REPLICATED SENDS", PerhapsTable),
    ("START REPLICATED SENDS", PerhapsTable),
    ("STOP REPLICATION QUEUES", PerhapsTable),
    ("START REPLICATION QUEUES", PerhapsTable),
    ("STOP PULLING REPLICATION LOG", PerhapsTable),
    ("START PULLING REPLICATION LOG", PerhapsTable),
    ("STOP DISTRIBUTED SENDS", PerhapsTable),
    ("START DISTRIBUTED SENDS", PerhapsTable),
    ("STOP CLEANUP", PerhapsTable),
    ("START CLEANUP", PerhapsTable),
    ("STOP THREAD FUZZER", Nothing),
    ("START THREAD FUZZER", Nothing),
    ("STOP VIEWS", Nothing),
    ("START VIEWS", Nothing),
    ("PAUSE VIEWS", Nothing),
    ("STOP VIEW", Table),
    ("START VIEW", Table),
    ("PAUSE VIEW", Table),
    ("REFRESH VIEW", Table),
    ("CANCEL VIEW", Table),
    ("WAIT VIEW", Table),
    ("TEST VIEW", Table),
    ("WAIT LOADING PARTS", Table),
    ("LOAD PRIMARY KEY", PerhapsTable),
    ("UNLOAD PRIMARY KEY", PerhapsTable),
    ("PREWARM MARK CACHE", Table),
    ("PREWARM PRIMARY INDEX CACHE", Table),
    ("SYNC MERGES", PerhapsTable),
    ("SYNC REPLICA", Table),
    ("RESTART REPLICAS", Nothing),
    ("RESTART REPLICA", Table),
    ("RESTORE REPLICA", Table),
    ("DROP REPLICA", Text),
    ("REPLICA READY", Nothing),
    ("REPLICA UNREADY", Nothing),
    ("FLUSH DISTRIBUTED", Table),
    ("FLUSH LOGS", Text),
    ("FLUSH ASYNC INSERT QUEUE", Text),
    ("SYNC FILE CACHE", Nothing),
    ("SYNC FILESYSTEM CACHE", Text),
    ("SYNC TRANSACTION LOG", Nothing),
    ("RELOAD DICTIONARIES", Nothing),
    ("RELOAD EMBEDDED DICTIONARIES", Nothing),
    ("RELOAD DICTIONARY", Table),
    ("RELOAD CONFIG", Nothing),
    ("RELOAD USERS", Nothing),
    ("RELOAD FUNCTIONS", Nothing),
    ("RELOAD FUNCTION", Text),
    ("RELOAD ASYNCHRONOUS METRICS", Nothing),
    ("DROP FILESYSTEM CACHE", Text),
    ("DROP FORMAT SCHEMA CACHE", Text),
    ("DROP SCHEMA CACHE", Text),
    ("DROP QUERY CACHE", Text),
    ("RESET COVERAGE", Nothing),
    ("JEMALLOC PURGE", Nothing),
    ("UNFREEZE", Text),
    ("ENABLE FAILPOINT", Text),
    ("DISABLE FAILPOINT", Text),
    ("NOTIFY FAILPOINT", Text),
    ("WAIT FAILPOINT", Text),
    ("ALLOCATE MEMORY", Text),
    ("FREE MEMORY", Nothing),
];

/// `DROP ... CACHE` and `CLEAR ... CACHE`.
const CACHES: &[&str] = &[
    "DNS",
    "CONNECTIONS",
    "MARK",
    "UNCOMPRESSED",
    "COMPILED EXPRESSION",
    "MMAP",
    "INDEX MARK",
    "INDEX UNCOMPRESSED",
    "PRIMARY INDEX",
    "QUERY CONDITION",
    "PAGE",
    "S3 CLIENT",
    "ICEBERG METADATA",
    "PARQUET METADATA",
    "TEXT INDEX HEADER",
    "TEXT INDEX POSTINGS",
    "TEXT INDEX TOKENS",
    "VECTOR SIMILARITY INDEX",
];

/// What other commands begin with.
const OTHERS: &[&str] = &[
    "CLEAR",
    "DROP",
    "RELOAD",
    "FLUSH",
    "STOP",
    "START",
    "SYNC",
    "RESTART",
    "RESTORE",
    "SHUTDOWN",
    "KILL",
    "WAIT",
    "SUSPEND",
    "ENABLE",
    "DISABLE",
    "UNFREEZE",
    "UNLOCK",
    "LOAD",
    "UNLOAD",
    "PREWARM",
    "NOTIFY",
    "RESET",
    "JEMALLOC",
    "THREAD",
    "PREFETCH",
    "INSTRUMENT",
    "ALLOCATE",
    "FREE",
    "REPLICA",
    "CLEANUP",
    "SCHEDULE",
    "PAUSE",
    "CANCEL",
    "REFRESH",
    "TEST",
];

impl Parser<'_> {
    pub(crate) fn system(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("SYSTEM")?;
        for (command, follows) in COMMANDS {
            if self.accept_keyword(command) {
                return self.behind_command(command, *follows);
            }
        }
        for cache in CACHES {
            let is_it =
                ["DROP", "CLEAR"].iter().any(|verb| self.at_keyword(&format!("{verb} {cache} CACHE")));
            if is_it {
                (0..cache.split(' ').count() + 2).for_each(|_| _ = self.advance());
                self.on_cluster()?;
                let command = format!("DROP {cache} CACHE");
                return Ok(StatementKind::System { command, target: None, rest: String::new() });
            }
        }
        if !OTHERS.iter().any(|word| self.at_keyword(word)) {
            return Err(self.expect_here("SYSTEM query"));
        }
        let mut words = Vec::new();
        while self.at(TokenKind::Word) {
            let token = self.advance();
            words.push(self.text_of(token).to_ascii_uppercase());
        }
        if let [verb, .., last] = &words[..]
            && matches!(verb.as_str(), "DROP" | "CLEAR")
            && last == "CACHE"
        {
            return Err(Fail::Syntax);
        }
        let rest = self.rest_of_statement();
        Ok(StatementKind::System { command: words.join(" "), target: None, rest })
    }

    fn behind_command(&mut self, command: &str, follows: Follows) -> Parse<StatementKind> {
        self.on_cluster()?;
        let command = command.to_string();
        let named = matches!(self.token().kind, TokenKind::Word | TokenKind::QuotedIdent | TokenKind::LBrace);
        let target = match follows {
            Table | PerhapsTable if named => Some(self.object_name()?),
            // The name of a dictionary may be a string.
            Table if command != "RELOAD DICTIONARY" => return Err(Fail::Syntax),
            _ => None,
        };
        // Behind a table there may be modes: STRICT, LIGHTWEIGHT, PULL.
        let rest = if follows == Nothing { String::new() } else { self.rest_of_statement() };
        Ok(StatementKind::System { command, target, rest })
    }
}
