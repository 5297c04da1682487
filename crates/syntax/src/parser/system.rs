//! SYSTEM: which commands there are, and what may follow each.

use super::{Fail, Parse, Parser};
use crate::ast::{ObjectName, StatementKind};
use crate::lexer::TokenKind;

/// What follows the words of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    Nothing,
    /// A table, or nothing: all.
    PerhapsTable,
    Table,
    /// Words and strings, which are kept as they are written.
    Text(Rest),
    /// A table, and behind it words and strings.
    TableAnd(Rest),
}

/// What is kept as it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Any,
    /// An identifier.
    Name,
    String,
    PerhapsString,
    /// An identifier or a string.
    NameOrString,
    /// The name of a dictionary: a string, or else it is a target.
    Dictionary,
    /// A whole number.
    Number,
    /// `FOR` and one of these, or nothing.
    For(&'static [&'static str]),
    /// A name, and behind it one of these or nothing.
    NameAnd(&'static [&'static str]),
    /// `'name' [FROM SHARD 's'] [FROM DATABASE d | FROM ZKPATH '/path' | FROM TABLE t]`; has it the last form?
    Replica(bool),
    /// `TAG 'tag'`, or nothing.
    Tag,
    /// `'name' [KEY k [OFFSET n]]`, or nothing.
    FileCache,
    /// Names behind each other with commas, or nothing.
    Names,
    /// `[IF EXISTS] [STRICT | LIGHTWEIGHT [FROM 'a', 'b'] | PULL]`
    Modes,
    /// `PATH 'path'`
    Path,
    /// `PARTS 'a', 'b'`
    Parts,
    /// `WITH NAME 'name'`
    WithName,
    /// `policy.volume`
    Volume,
    /// `FOR n SECOND`
    Time,
    /// `'name' [FROM ...]`
    Snapshot,
    /// The protocols that a server listens to.
    Protocols,
}

use Follows::{Nothing, PerhapsTable, Table, TableAnd, Text};

/// The commands. Where the words of one begin another's, the longer one comes first.
const COMMANDS: &[(&str, Follows)] = &[
    ("STOP MERGES ON VOLUME", Text(Rest::Volume)),
    ("START MERGES ON VOLUME", Text(Rest::Volume)),
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
    ("STOP REPLICATED DDL QUERIES", Nothing),
    ("START REPLICATED DDL QUERIES", Nothing),
    ("STOP REPLICATION QUEUES", PerhapsTable),
    ("START REPLICATION QUEUES", PerhapsTable),
    ("STOP PULLING REPLICATION LOG", PerhapsTable),
    ("START PULLING REPLICATION LOG", PerhapsTable),
    ("STOP DISTRIBUTED SENDS", PerhapsTable),
    ("START DISTRIBUTED SENDS", PerhapsTable),
    ("STOP CLEANUP", PerhapsTable),
    ("START CLEANUP", PerhapsTable),
    ("STOP REDUCE BLOCKING PARTS", PerhapsTable),
    ("START REDUCE BLOCKING PARTS", PerhapsTable),
    ("STOP VIRTUAL PARTS UPDATE", PerhapsTable),
    ("START VIRTUAL PARTS UPDATE", PerhapsTable),
    ("STOP ALL BACKGROUND", Nothing),
    ("START ALL BACKGROUND", Nothing),
    ("STOP THREAD FUZZER", Nothing),
    ("START THREAD FUZZER", Nothing),
    ("STOP LISTEN", Text(Rest::Protocols)),
    ("START LISTEN", Text(Rest::Protocols)),
    ("STOP VIEWS", Nothing),
    ("START VIEWS", Nothing),
    ("PAUSE VIEWS", Nothing),
    ("STOP REPLICATED VIEW", Table),
    ("START REPLICATED VIEW", Table),
    ("STOP VIEW", Table),
    ("START VIEW", Table),
    ("PAUSE VIEW", Table),
    ("REFRESH VIEW", Table),
    ("CANCEL VIEW", Table),
    ("WAIT VIEW", Table),
    ("TEST VIEW", TableAnd(Rest::Any)),
    ("WAIT LOADING PARTS", Table),
    ("WAIT QUERY RUNNER", Table),
    ("WAIT BLOBS CLEANUP", Text(Rest::NameOrString)),
    ("LOAD PRIMARY KEY", PerhapsTable),
    ("UNLOAD PRIMARY KEY", PerhapsTable),
    ("PREWARM MARK CACHE", Table),
    ("PREWARM PRIMARY INDEX CACHE", Table),
    ("SCHEDULE MERGE", TableAnd(Rest::Parts)),
    ("SYNC MERGES", PerhapsTable),
    ("SYNC REPLICA", TableAnd(Rest::Modes)),
    ("SYNC DATABASE REPLICA", Text(Rest::NameAnd(&["STRICT"]))),
    ("RESTART REPLICAS", Nothing),
    ("RESTART REPLICA", Table),
    ("RESTART DISK", Text(Rest::NameOrString)),
    ("RESTORE REPLICA", Table),
    ("RESTORE DATABASE REPLICA", Text(Rest::Name)),
    ("DROP REPLICA", Text(Rest::Replica(true))),
    ("DROP DATABASE REPLICA", Text(Rest::Replica(false))),
    ("DROP CATALOG REPLICA", Text(Rest::String)),
    ("REPLICA READY", Nothing),
    ("REPLICA UNREADY", Nothing),
    ("RECONNECT ZOOKEEPER", Nothing),
    ("FLUSH DISTRIBUTED", TableAnd(Rest::Any)),
    ("FLUSH LOGS", Text(Rest::Names)),
    ("FLUSH ASYNC INSERT QUEUE", Text(Rest::Names)),
    ("FLUSH OBJECT STORAGE QUEUE", TableAnd(Rest::Path)),
    ("SYNC FILE CACHE", Nothing),
    ("SYNC FILESYSTEM CACHE", Text(Rest::PerhapsString)),
    ("SYNC TRANSACTION LOG", Nothing),
    ("RELOAD DICTIONARIES", Nothing),
    ("RELOAD EMBEDDED DICTIONARIES", Nothing),
    ("RELOAD DICTIONARY", Text(Rest::Dictionary)),
    ("RELOAD CONFIG", Nothing),
    ("RELOAD USERS", Nothing),
    ("RELOAD FUNCTIONS", Nothing),
    ("RELOAD FUNCTION", Text(Rest::NameOrString)),
    ("RELOAD ASYNCHRONOUS METRICS", Nothing),
    ("RELOAD DELTA KERNEL TRACING", Text(Rest::Name)),
    ("UNLOAD DICTIONARIES", Nothing),
    ("UNLOAD DICTIONARY", Text(Rest::Dictionary)),
    ("RESET COVERAGE", Nothing),
    ("RESET DDL WORKER", Nothing),
    ("SET COVERAGE TEST", Text(Rest::PerhapsString)),
    ("JEMALLOC PURGE", Nothing),
    ("JEMALLOC ENABLE PROFILE", Nothing),
    ("JEMALLOC DISABLE PROFILE", Nothing),
    ("JEMALLOC FLUSH PROFILE", Nothing),
    ("UNFREEZE", Text(Rest::WithName)),
    ("UNLOCK SNAPSHOT", Text(Rest::Snapshot)),
    ("ENABLE FAILPOINT", Text(Rest::Name)),
    ("DISABLE FAILPOINT", Text(Rest::Name)),
    ("NOTIFY FAILPOINT", Text(Rest::Name)),
    ("WAIT FAILPOINT", Text(Rest::NameAnd(&["PAUSE", "RESUME"]))),
    ("ALLOCATE MEMORY", Text(Rest::Number)),
    ("FREE MEMORY", Nothing),
    ("INSTRUMENT ADD", Nothing),
    ("INSTRUMENT REMOVE", Nothing),
    ("SHUTDOWN", Nothing),
    ("KILL", Nothing),
    ("SUSPEND", Text(Rest::Time)),
];

/// `DROP ... CACHE` and `CLEAR ... CACHE`, which are one.
const CACHES: &[(&str, &str, Follows)] = &[
    ("DROP DNS CACHE", "CLEAR DNS CACHE", Nothing),
    ("DROP CONNECTIONS CACHE", "CLEAR CONNECTIONS CACHE", Nothing),
    ("DROP MARK CACHE", "CLEAR MARK CACHE", Nothing),
    ("DROP UNCOMPRESSED CACHE", "CLEAR UNCOMPRESSED CACHE", Nothing),
    ("DROP COMPILED EXPRESSION CACHE", "CLEAR COMPILED EXPRESSION CACHE", Nothing),
    ("DROP MMAP CACHE", "CLEAR MMAP CACHE", Nothing),
    ("DROP INDEX MARK CACHE", "CLEAR INDEX MARK CACHE", Nothing),
    ("DROP INDEX UNCOMPRESSED CACHE", "CLEAR INDEX UNCOMPRESSED CACHE", Nothing),
    ("DROP PRIMARY INDEX CACHE", "CLEAR PRIMARY INDEX CACHE", Nothing),
    ("DROP QUERY CONDITION CACHE", "CLEAR QUERY CONDITION CACHE", Nothing),
    ("DROP QUERY CACHE", "CLEAR QUERY CACHE", Text(Rest::Tag)),
    ("DROP PAGE CACHE", "CLEAR PAGE CACHE", Nothing),
    ("DROP S3 CLIENT CACHE", "CLEAR S3 CLIENT CACHE", Nothing),
    ("DROP ICEBERG METADATA CACHE", "CLEAR ICEBERG METADATA CACHE", Nothing),
    ("DROP PAIMON METADATA CACHE", "CLEAR PAIMON METADATA CACHE", Nothing),
    ("DROP PARQUET METADATA CACHE", "CLEAR PARQUET METADATA CACHE", Nothing),
    ("DROP ENCRYPTION HEADERS CACHE", "CLEAR ENCRYPTION HEADERS CACHE", Nothing),
    ("DROP POINT IN POLYGON CACHE", "CLEAR POINT IN POLYGON CACHE", Nothing),
    ("DROP AVRO SCHEMA CACHE", "CLEAR AVRO SCHEMA CACHE", Nothing),
    ("DROP DISTRIBUTED CACHE", "CLEAR DISTRIBUTED CACHE", Nothing),
    ("DROP TEXT INDEX HEADER CACHE", "CLEAR TEXT INDEX HEADER CACHE", Nothing),
    ("DROP TEXT INDEX POSTINGS CACHE", "CLEAR TEXT INDEX POSTINGS CACHE", Nothing),
    ("DROP TEXT INDEX TOKENS CACHE", "CLEAR TEXT INDEX TOKENS CACHE", Nothing),
    ("DROP TEXT INDEX CACHES", "CLEAR TEXT INDEX CACHES", Nothing),
    ("DROP VECTOR SIMILARITY INDEX CACHE", "CLEAR VECTOR SIMILARITY INDEX CACHE", Nothing),
    ("DROP FILESYSTEM CACHE", "CLEAR FILESYSTEM CACHE", Text(Rest::FileCache)),
    ("DROP DISK METADATA CACHE", "CLEAR DISK METADATA CACHE", Text(Rest::NameOrString)),
    ("DROP FORMAT SCHEMA CACHE", "CLEAR FORMAT SCHEMA CACHE", Text(Rest::For(&["PROTOBUF", "FILES"]))),
    ("DROP SCHEMA CACHE", "CLEAR SCHEMA CACHE", Text(Rest::For(&["FILE", "S3", "HDFS", "URL", "AZURE"]))),
];

/// What is done to whatever a table does in the background.
const OF_ANY_TABLE: &[&str] = &["STOP", "START", "PAUSE", "CANCEL", "REFRESH"];

const PROTOCOLS: &[&str] = &[
    "TCP WITH PROXY",
    "TCP SECURE",
    "TCP SSH",
    "TCP",
    "HTTPS",
    "HTTP",
    "MYSQL",
    "GRPC",
    "ARROW FLIGHT",
    "POSTGRESQL",
    "PROMETHEUS",
    "INTERSERVER HTTPS",
    "INTERSERVER HTTP",
    "CUSTOM",
    "QUERIES ALL",
    "QUERIES DEFAULT",
    "QUERIES CUSTOM",
];

impl Parser<'_> {
    pub(crate) fn system(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("SYSTEM")?;
        for (command, follows) in COMMANDS {
            if self.accept_keyword(command) {
                return self.behind_command(command, *follows);
            }
        }
        for (command, other, follows) in CACHES {
            if self.accept_keyword(command) || self.accept_keyword(other) {
                return self.behind_command(command, *follows);
            }
        }
        for command in OF_ANY_TABLE {
            if self.accept_keyword(command) {
                return self.behind_command(command, Table);
            }
        }
        Err(self.expect_here("SYSTEM query"))
    }

    fn behind_command(&mut self, command: &str, follows: Follows) -> Parse<StatementKind> {
        self.on_cluster()?;
        let command = command.to_string();
        let (target, rest) = match follows {
            Nothing => (None, String::new()),
            Table => (Some(self.object_name()?), String::new()),
            PerhapsTable if self.at_name() => (Some(self.object_name()?), String::new()),
            PerhapsTable => (None, String::new()),
            Text(Rest::Dictionary) if self.at_name() => (Some(self.object_name()?), String::new()),
            Text(rest) => (None, self.rest(rest)?),
            TableAnd(rest) => (Some(self.object_name()?), self.rest(rest)?),
        };
        self.on_cluster()?;
        Ok(StatementKind::System { command, target, rest })
    }

    fn at_name(&mut self) -> bool {
        matches!(self.token().kind, TokenKind::Word | TokenKind::QuotedIdent | TokenKind::LBrace)
            && !self.at_keyword("ON CLUSTER")
            && !self.at_keyword("PARALLEL WITH")
    }

    /// What is of this kind, as it is written.
    fn rest(&mut self, rest: Rest) -> Parse<String> {
        if rest == Rest::Any {
            return Ok(self.rest_of_statement());
        }
        let start = self.start();
        self.skip_rest(rest)?;
        Ok(self.source(self.span_from(start)).to_string())
    }

    fn skip_rest(&mut self, rest: Rest) -> Parse<()> {
        match rest {
            Rest::Any => {}
            Rest::Name => _ = self.ident()?,
            Rest::String | Rest::Dictionary => _ = self.string()?,
            Rest::PerhapsString => _ = self.string_token(),
            Rest::NameOrString => self.name_or_string()?,
            Rest::Number => _ = self.unsigned()?,
            Rest::For(kinds) => {
                if self.accept_keyword("FOR") && self.accept_any_keyword(kinds).is_none() {
                    return Err(Fail::Syntax);
                }
            }
            Rest::NameAnd(words) => {
                self.ident()?;
                self.accept_any_keyword(words);
            }
            Rest::Replica(has_tables) => self.replica(has_tables)?,
            Rest::Tag => {
                if self.accept_keyword("TAG") {
                    self.string_token();
                }
            }
            Rest::FileCache => {
                if self.string_token().is_some() && self.accept_keyword("KEY") {
                    self.maybe(|p| p.ident())?;
                    if self.accept_keyword("OFFSET") {
                        self.unsigned()?;
                    }
                }
            }
            Rest::Names => {
                if self.at_name() {
                    self.comma_list(|p| p.object_name())?;
                }
            }
            Rest::Modes => {
                self.if_exists();
                if self.accept_any_keyword(&["STRICT", "PULL"]).is_none()
                    && self.accept_keyword("LIGHTWEIGHT")
                    && self.accept_keyword("FROM")
                {
                    self.comma_list(|p| p.string())?;
                }
            }
            Rest::Path => {
                self.expect_keyword("PATH")?;
                self.string()?;
            }
            Rest::Parts => {
                self.expect_keyword("PARTS")?;
                self.comma_list(|p| p.string())?;
            }
            Rest::WithName => {
                self.expect_keyword("WITH NAME")?;
                self.string()?;
            }
            Rest::Volume => _ = self.object_name()?,
            Rest::Time => {
                self.expect_keyword("FOR")?;
                self.unsigned()?;
                self.ident()?;
            }
            Rest::Snapshot => {
                self.string()?;
                if self.accept_keyword("FROM") {
                    self.rest_of_statement();
                }
            }
            Rest::Protocols => {
                if self.accept_any_keyword(PROTOCOLS).is_none() {
                    return Err(Fail::Syntax);
                }
                self.string_token();
                if self.accept_keyword("EXCEPT") {
                    self.rest_of_statement();
                }
            }
        }
        Ok(())
    }

    fn name_or_string(&mut self) -> Parse<()> {
        match self.string_token() {
            Some(_) => Ok(()),
            None => self.ident().map(|_| ()),
        }
    }

    fn replica(&mut self, has_tables: bool) -> Parse<()> {
        self.string()?;
        if !self.accept_keyword("FROM") {
            return Ok(());
        }
        if self.accept_keyword("SHARD") {
            self.string()?;
            if !self.accept_keyword("FROM") {
                return Ok(());
            }
        }
        if self.accept_keyword("DATABASE") {
            return self.ident().map(|_| ());
        }
        if self.accept_keyword("ZKPATH") {
            return self.string().map(|_| ());
        }
        if has_tables && self.accept_keyword("TABLE") {
            return self.object_name().map(|_: ObjectName| ());
        }
        Err(Fail::Syntax)
    }
}
