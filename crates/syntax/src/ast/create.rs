//! CREATE, and the pieces of a table definition that ALTER shares.

use super::{Call, Expr, Ident, ObjectName, OrderItem, Query, Refresh, Select, Setting, Span, TypeName};

/// Whether what a statement creates takes the place of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replace {
    /// `CREATE`: there is none.
    #[default]
    No,
    /// `CREATE OR REPLACE`: there may be one.
    OrReplace,
    /// `REPLACE`: there has to be one.
    Must,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub attach: bool,
    pub replace: Replace,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub uuid: Option<String>,
    pub cluster: Option<Ident>,
    pub definition: TableDefinition,
    pub storage: Storage,
    pub source: Option<CreateSource>,
    pub comment: Option<Vec<u8>>,
    pub span: Span,
}

/// Everything between the parentheses of CREATE TABLE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableDefinition {
    pub columns: Vec<ColumnDef>,
    pub indexes: Vec<IndexDef>,
    pub constraints: Vec<ConstraintDef>,
    pub projections: Vec<ProjectionDef>,
    /// `PRIMARY KEY (...)` inside the column list.
    pub primary_key: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    pub name: Ident,
    pub ty: Option<TypeName>,
    /// `NULL` is `Some(true)`, `NOT NULL` is `Some(false)`.
    pub nullable: Option<bool>,
    pub default: Option<ColumnDefault>,
    pub comment: Option<Vec<u8>>,
    pub codec: Vec<Expr>,
    pub statistics: Vec<Expr>,
    pub ttl: Option<Expr>,
    pub collate: Option<String>,
    pub primary_key: bool,
    pub settings: Vec<Setting>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefault {
    pub kind: DefaultKind,
    /// Absent only for EPHEMERAL and AUTO_INCREMENT.
    pub expr: Option<Box<Expr>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultKind {
    Default,
    Materialized,
    Alias,
    Ephemeral,
    AutoIncrement,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    pub name: Ident,
    pub expr: Expr,
    /// `TYPE minmax`, `TYPE bloom_filter(0.01)`: an identifier or a call.
    pub ty: Option<Expr>,
    pub granularity: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConstraintDef {
    pub name: Ident,
    /// `ASSUME` instead of `CHECK`.
    pub assume: bool,
    pub expr: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionDef {
    pub name: Ident,
    /// WITH, SELECT, GROUP BY and ORDER BY only. Of an INDEX the query that it is short for.
    pub query: Box<Select>,
    pub index: Option<ProjectionIndex>,
    /// `WITH SETTINGS (...)`.
    pub settings: Vec<Setting>,
}

/// `PROJECTION p INDEX expr TYPE basic`: where rows are that an expression has its values in.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionIndex {
    pub expr: Expr,
    pub ty: Ident,
}

/// ENGINE and what may follow it, in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    pub engine: Option<Engine>,
    pub partition_by: Option<Expr>,
    pub primary_key: Option<Expr>,
    /// `ORDER BY x`, `ORDER BY (x, y DESC)`, `ORDER BY ()` (then `Some` of no items).
    pub order_by: Option<Vec<OrderItem>>,
    pub sample_by: Option<Expr>,
    pub ttl: Vec<TtlItem>,
    pub settings: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    pub name: String,
    /// `None` also for empty parentheses.
    pub args: Option<Vec<Expr>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TtlItem {
    pub expr: Expr,
    pub action: TtlAction,
    pub where_: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TtlAction {
    /// `DELETE`, also when nothing is written.
    Delete,
    ToDisk(Vec<u8>),
    ToVolume(Vec<u8>),
    Recompress(Vec<Expr>),
    GroupBy {
        keys: Vec<Expr>,
        set: Vec<(Ident, Expr)>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum CreateSource {
    /// `AS SELECT ...`, `EMPTY AS SELECT ...`.
    Query { empty: bool, query: Box<Query> },
    /// `AS db.table`, `CLONE AS db.table`.
    Table { clone: bool, name: ObjectName },
    /// `AS numbers(10)`.
    Function(Box<Call>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    pub attach: bool,
    pub or_replace: bool,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub materialized: bool,
    pub name: ObjectName,
    pub uuid: Option<String>,
    pub cluster: Option<Ident>,
    pub columns: Option<TableDefinition>,
    /// `TO db.table` of a materialized view.
    pub to: Option<ObjectName>,
    pub storage: Storage,
    pub populate: bool,
    pub empty: bool,
    pub refresh: Option<Refresh>,
    /// `DEFINER = user SQL SECURITY DEFINER`.
    pub security: Option<Security>,
    pub query: Box<Query>,
    pub comment: Option<Vec<u8>>,
    pub span: Span,
}

/// With whose rights a view reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Security {
    pub definer: Option<Ident>,
    /// `DEFINER`, `INVOKER` or `NONE`.
    pub kind: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    pub attach: bool,
    pub if_not_exists: bool,
    pub name: Ident,
    pub uuid: Option<String>,
    pub cluster: Option<Ident>,
    pub engine: Option<Engine>,
    pub settings: Vec<Setting>,
    pub comment: Option<Vec<u8>>,
}

/// `CREATE FUNCTION f AS (x) -> x + 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub name: Ident,
    pub cluster: Option<Ident>,
    pub body: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDictionary {
    pub attach: bool,
    pub replace: Replace,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub cluster: Option<Ident>,
    pub attributes: Vec<DictionaryAttribute>,
    pub primary_key: Vec<Ident>,
    /// `SOURCE(CLICKHOUSE(TABLE 't' ...))`.
    pub source: Option<KeyValueFunction>,
    pub layout: Option<KeyValueFunction>,
    pub lifetime: Option<Lifetime>,
    pub range: Option<(Ident, Ident)>,
    pub settings: Vec<Setting>,
    pub comment: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DictionaryAttribute {
    pub name: Ident,
    pub ty: TypeName,
    pub default: Option<Expr>,
    pub expression: Option<Expr>,
    pub hierarchical: bool,
    pub bidirectional: bool,
    pub injective: bool,
    pub is_object_id: bool,
}

/// `NAME(key value key value(...))`.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValueFunction {
    pub name: String,
    /// Is the name followed by parentheses?
    pub has_parens: bool,
    pub pairs: Vec<(String, KeyValue)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum KeyValue {
    Expr(Expr),
    Nested(KeyValueFunction),
    List(Vec<(String, KeyValue)>),
}

/// `LIFETIME(300)`, `LIFETIME(MIN 0 MAX 300)`, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Lifetime {
    pub min: u64,
    pub max: u64,
}
