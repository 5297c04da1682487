//! Statements about named settings beside the tables: workloads, resources and named collections.

use super::{Ident, Setting};

/// `CREATE WORKLOAD`, `ALTER NAMED COLLECTION`, `DROP RESOURCE` and their like.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityStatement {
    pub kind: EntityKind,
    pub name: Ident,
    pub cluster: Option<Ident>,
    pub action: EntityAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntityKind {
    Workload,
    Resource,
    NamedCollection,
}

impl EntityKind {
    pub const ALL: [EntityKind; 3] =
        [EntityKind::Workload, EntityKind::Resource, EntityKind::NamedCollection];

    /// The words of a statement about it.
    pub fn words(self) -> &'static str {
        match self {
            EntityKind::Workload => "WORKLOAD",
            EntityKind::Resource => "RESOURCE",
            EntityKind::NamedCollection => "NAMED COLLECTION",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum EntityAction {
    Create {
        or_replace: bool,
        if_not_exists: bool,
        definition: EntityDefinition,
    },
    /// Of named collections alone.
    Alter {
        if_exists: bool,
        set: Vec<CollectionKey>,
        delete: Vec<Ident>,
    },
    Drop {
        if_exists: bool,
    },
}

/// What follows the name in CREATE.
#[derive(Clone, Debug, PartialEq)]
pub enum EntityDefinition {
    /// `IN parent SETTINGS ...`.
    Workload {
        parent: Option<Ident>,
        settings: Vec<WorkloadSetting>,
    },
    Resource(Vec<ResourceOperation>),
    NamedCollection(Vec<CollectionKey>),
}

/// `weight = 2 FOR resource`.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSetting {
    pub setting: Setting,
    pub resource: Option<Ident>,
}

/// An access to a disk without a name is one to any disk.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceOperation {
    ReadDisk(Option<Ident>),
    WriteDisk(Option<Ident>),
    MasterThread,
    WorkerThread,
    Query,
    MemoryReservation,
}

/// `url = 'http://...' NOT OVERRIDABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionKey {
    pub setting: Setting,
    pub overridable: Option<bool>,
}
