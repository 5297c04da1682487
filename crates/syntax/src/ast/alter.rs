//! ALTER TABLE, one variant per command.

use super::{
    ColumnDef, ConstraintDef, Expr, Ident, IndexDef, ObjectName, OrderItem, ProjectionDef, Query, Refresh,
    Setting, TtlItem,
};

#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    pub temporary: bool,
    pub name: ObjectName,
    pub cluster: Option<Ident>,
    pub commands: Vec<AlterCommand>,
}

/// `FIRST` or `AFTER column`.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnPosition {
    First,
    After(Ident),
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterCommand {
    AddColumn {
        if_not_exists: bool,
        column: ColumnDef,
        position: Option<ColumnPosition>,
    },
    DropColumn {
        if_exists: bool,
        name: Ident,
    },
    ClearColumn {
        if_exists: bool,
        name: Ident,
        partition: Option<Partition>,
    },
    /// `MODIFY COLUMN` and `ALTER COLUMN ... TYPE`; `remove` is the property of `MODIFY COLUMN c REMOVE property`.
    ModifyColumn {
        if_exists: bool,
        column: ColumnDef,
        position: Option<ColumnPosition>,
        remove: Option<String>,
    },
    ModifyColumnSettings {
        if_exists: bool,
        name: Ident,
        settings: Vec<Setting>,
    },
    ResetColumnSettings {
        if_exists: bool,
        name: Ident,
        names: Vec<Ident>,
    },
    RenameColumn {
        if_exists: bool,
        from: Ident,
        to: Ident,
    },
    CommentColumn {
        if_exists: bool,
        name: Ident,
        comment: Vec<u8>,
    },
    MaterializeColumn {
        name: Ident,
        partition: Option<Partition>,
    },
    ModifyComment(Vec<u8>),
    ModifyOrderBy(Vec<OrderItem>),
    ModifySampleBy(Expr),
    RemoveSampleBy,
    ModifyTtl(Vec<TtlItem>),
    RemoveTtl,
    MaterializeTtl {
        partition: Option<Partition>,
    },
    ModifySettings(Vec<Setting>),
    ResetSettings(Vec<Ident>),
    ModifyQuery(Box<Query>),
    ModifyRefresh(Refresh),
    AddIndex {
        if_not_exists: bool,
        index: IndexDef,
        position: Option<ColumnPosition>,
    },
    DropIndex {
        if_exists: bool,
        name: Ident,
    },
    ClearIndex {
        if_exists: bool,
        name: Ident,
        partition: Option<Partition>,
    },
    MaterializeIndex {
        if_exists: bool,
        name: Ident,
        partition: Option<Partition>,
    },
    AddProjection {
        if_not_exists: bool,
        projection: ProjectionDef,
        position: Option<ColumnPosition>,
    },
    DropProjection {
        if_exists: bool,
        name: Ident,
    },
    ClearProjection {
        if_exists: bool,
        name: Ident,
        partition: Option<Partition>,
    },
    MaterializeProjection {
        if_exists: bool,
        name: Ident,
        partition: Option<Partition>,
    },
    AddConstraint {
        if_not_exists: bool,
        constraint: ConstraintDef,
    },
    DropConstraint {
        if_exists: bool,
        name: Ident,
    },
    /// `ADD`, `MODIFY`, `DROP`, `CLEAR`, `MATERIALIZE STATISTICS columns [TYPE types]`.
    Statistics {
        action: StatisticsAction,
        if_exists: bool,
        columns: Vec<Ident>,
        types: Vec<Expr>,
    },
    Delete {
        partition: Option<Partition>,
        where_: Expr,
    },
    Update {
        assignments: Vec<(Ident, Expr)>,
        partition: Option<Partition>,
        where_: Expr,
    },
    DropPartition {
        detach: bool,
        part: bool,
        partition: Partition,
    },
    DropDetachedPartition {
        part: bool,
        partition: Partition,
    },
    AttachPartition {
        part: bool,
        partition: Partition,
    },
    AttachPartitionFrom {
        partition: Partition,
        table: ObjectName,
    },
    ReplacePartition {
        partition: Partition,
        table: ObjectName,
    },
    MovePartitionToTable {
        partition: Partition,
        table: ObjectName,
    },
    MovePartitionToDisk {
        part: bool,
        partition: Partition,
        volume: bool,
        target: Vec<u8>,
    },
    FetchPartition {
        part: bool,
        partition: Partition,
        from: Vec<u8>,
    },
    /// `FREEZE [PARTITION p] [WITH NAME 'n']`.
    Freeze {
        partition: Option<Partition>,
        name: Option<Vec<u8>>,
    },
    Unfreeze {
        partition: Option<Partition>,
        name: Vec<u8>,
    },
    ForgetPartition(Partition),
    ApplyDeletedMask {
        partition: Option<Partition>,
    },
    ApplyPatches {
        partition: Option<Partition>,
    },
    RewriteParts {
        partition: Option<Partition>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticsAction {
    Add,
    Modify,
    Drop,
    Clear,
    Materialize,
}

/// What follows PARTITION or PART.
#[derive(Clone, Debug, PartialEq)]
pub enum Partition {
    All,
    /// `ID 'x'`.
    Id(Expr),
    Value(Expr),
}
