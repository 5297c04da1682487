//! The statement list and the statements that need no file of their own.

use super::{
    AlterTable, Backup, Call, CreateDatabase, CreateDictionary, CreateFunction, CreateTable, CreateView,
    EntityStatement, Expr, Ident, ObjectName, Partition, Query, Setting, Span,
};

/// One statement and the tail that any statement with a result may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub kind: StatementKind,
    /// `ON CLUSTER name`, in whichever place of the statement.
    pub cluster: Option<Ident>,
    pub output: Output,
    /// Without the semicolon.
    pub span: Span,
}

/// `INTO OUTFILE ... FORMAT ... SETTINGS ...` at the end of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    pub outfile: Option<Outfile>,
    pub format: Option<Ident>,
    /// SETTINGS after FORMAT or of a statement that is not a SELECT (those of a SELECT stay in the SELECT).
    pub settings: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Outfile {
    pub path: Vec<u8>,
    pub append: bool,
    pub truncate: bool,
    pub and_stdout: bool,
    pub compression: Option<Vec<u8>>,
    pub level: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    Query(Box<Query>),
    Explain(Box<Explain>),
    CreateTable(Box<CreateTable>),
    CreateView(Box<CreateView>),
    CreateDatabase(Box<CreateDatabase>),
    CreateFunction(Box<CreateFunction>),
    CreateDictionary(Box<CreateDictionary>),
    /// About a workload, a resource or a named collection.
    Entity(Box<EntityStatement>),
    AlterTable(Box<AlterTable>),
    /// `ALTER DATABASE d MODIFY COMMENT 'text'`.
    AlterDatabase {
        name: Ident,
        comment: Vec<u8>,
    },
    /// DROP, TRUNCATE, DETACH.
    Drop(Box<Drop>),
    /// `ATTACH TABLE t` without a definition.
    Attach {
        kind: ObjectKind,
        if_not_exists: bool,
        name: ObjectName,
    },
    Rename {
        kind: ObjectKind,
        exchange: bool,
        if_exists: bool,
        pairs: Vec<(ObjectName, ObjectName)>,
    },
    Undrop(ObjectName),
    /// BACKUP, RESTORE.
    Backup(Box<Backup>),
    Insert(Box<Insert>),
    /// `DELETE FROM t [IN PARTITION p] WHERE ...`.
    Delete {
        table: ObjectName,
        partition: Option<Partition>,
        where_: Box<Expr>,
    },
    /// `UPDATE t SET a = 1 [IN PARTITION p] WHERE ...`.
    Update {
        table: ObjectName,
        assignments: Vec<(Ident, Expr)>,
        partition: Option<Partition>,
        where_: Box<Expr>,
    },
    Optimize(Box<Optimize>),
    Set(SetStatement),
    Use(Ident),
    Show(Box<Show>),
    Describe(Box<Describe>),
    Exists {
        kind: ObjectKind,
        temporary: bool,
        name: ObjectName,
    },
    Check {
        table: Option<ObjectName>,
        partition: Option<Partition>,
        part: Option<Vec<u8>>,
    },
    CheckDatabase(Ident),
    /// The command in upper case with single spaces, then its target or other text as written.
    System {
        command: String,
        target: Option<ObjectName>,
        rest: String,
    },
    /// `KILL QUERY WHERE ... [SYNC|ASYNC|TEST]`.
    Kill {
        mutation: bool,
        where_: Box<Expr>,
        mode: KillMode,
    },
    /// `... PARALLEL WITH ...`: two statements or more.
    Parallel(Vec<Statement>),
    /// BEGIN, COMMIT, ROLLBACK.
    Transaction(TransactionCommand),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    pub kind: ExplainKind,
    pub settings: Vec<Setting>,
    pub statement: Box<Statement>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainKind {
    Ast,
    Syntax,
    QueryTree,
    Plan,
    Pipeline,
    Estimate,
    Analyze,
    Profile,
}

impl ExplainKind {
    /// The words that ask for it.
    pub fn words(self) -> &'static str {
        match self {
            ExplainKind::Ast => "EXPLAIN AST",
            ExplainKind::Syntax => "EXPLAIN SYNTAX",
            ExplainKind::QueryTree => "EXPLAIN QUERY TREE",
            ExplainKind::Plan => "EXPLAIN",
            ExplainKind::Pipeline => "EXPLAIN PIPELINE",
            ExplainKind::Estimate => "EXPLAIN ESTIMATE",
            ExplainKind::Analyze => "EXPLAIN ANALYZE",
            ExplainKind::Profile => "EXPLAIN PROFILE",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    Table,
    View,
    Dictionary,
    Database,
    Function,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropAction {
    Drop,
    Truncate,
    Detach,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    pub action: DropAction,
    pub kind: ObjectKind,
    /// `TRUNCATE ALL TABLES FROM db`: `names` then holds the database as `name`.
    pub all_tables: bool,
    /// Which of all tables, by LIKE.
    pub like: Option<ShowFilter>,
    pub temporary: bool,
    pub if_exists: bool,
    pub if_empty: bool,
    /// Several names only for DROP and DETACH TABLE; a database or a function has no `database` part.
    pub names: Vec<ObjectName>,
    pub cluster: Option<Ident>,
    pub permanently: bool,
    pub sync: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    pub target: InsertTarget,
    pub columns: Option<InsertColumns>,
    pub partition_by: Option<Expr>,
    pub settings: Vec<Setting>,
    pub source: InsertSource,
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertTarget {
    Table(ObjectName),
    Function(Box<Call>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertColumns {
    List(Vec<Ident>),
    /// `(*)`, `(* EXCEPT(a, b))`, `(COLUMNS('regex'))`: one expression each.
    Exprs(Vec<Expr>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    Query(Box<Query>),
    /// `VALUES` or `FORMAT name`: the data are the bytes of the statement text in `data`, read later by the format.
    Inline {
        /// What is made of the data: a query over the table function `input`.
        query: Option<Box<Query>>,
        format: Ident,
        data: Bytes,
    },
    /// `FROM INFILE 'path' [COMPRESSION 'c'] [FORMAT f]`.
    Infile {
        path: Vec<u8>,
        compression: Option<Vec<u8>>,
        format: Option<Ident>,
    },
}

/// Bytes of the query text, kept apart from [`Span`] because two of them are equal only when their content is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes {
    pub content: Vec<u8>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Optimize {
    pub table: ObjectName,
    pub cluster: Option<Ident>,
    pub partition: Option<Partition>,
    pub final_: bool,
    pub cleanup: bool,
    pub dry_run: bool,
    /// `DEDUPLICATE` is `Some(empty)`, `DEDUPLICATE BY a, b` holds the list.
    pub deduplicate: Option<Vec<Expr>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetStatement {
    Settings(Vec<Setting>),
    /// `SET ROLE ...`, `SET DEFAULT ROLE ...`, as written.
    Role(String),
    TransactionSnapshot(u64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Show {
    pub kind: ShowKind,
    pub filter: Option<ShowFilter>,
    pub limit: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ShowKind {
    Databases,
    Tables {
        full: bool,
        temporary: bool,
        from: Option<Ident>,
    },
    Dictionaries {
        from: Option<Ident>,
    },
    /// `SHOW CREATE [TABLE|VIEW|DICTIONARY|DATABASE] x`, `SHOW TABLE x`.
    Create {
        kind: ObjectKind,
        temporary: bool,
        name: ObjectName,
    },
    Columns {
        extended: bool,
        full: bool,
        table: ObjectName,
    },
    Indexes {
        extended: bool,
        table: ObjectName,
    },
    Functions,
    Settings {
        changed: bool,
    },
    Setting(Ident),
    Processlist,
    Engines,
    Clusters,
    /// `SHOW CLUSTER 'name'`: its servers.
    Cluster(String),
    Merges,
    /// Of the user of the session, unless names are given.
    Grants {
        names: Vec<Ident>,
        implicit: bool,
        all: bool,
    },
    /// Access control: `USERS`, `ROLES`, ... as written.
    Access(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ShowFilter {
    Like { not: bool, case_insensitive: bool, pattern: Vec<u8> },
    Where(Box<Expr>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Describe {
    pub target: super::TableExpr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillMode {
    Async,
    Sync,
    Test,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionCommand {
    Begin,
    Commit,
    Rollback,
    /// `EXPLAIN CURRENT TRANSACTION`.
    Explain,
}
