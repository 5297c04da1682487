//! Workloads, resources and named collections of a database. Those of a database on disk are on disk before they are seen.
//!
//! Workloads and resources schedule what servers do at a time; in one process they are definitions without effect.

use chalet_base::{Result, bail, ensure};
use chalet_storage::disk::{Definition, DefinitionFile, DefinitionKind, Store};
use chalet_syntax::ast::{
    self, CollectionKey, EntityAction, EntityDefinition, EntityKind, EntityStatement, ExprKind, Literal,
    ResourceOperation, SettingValue, StatementKind, WorkloadSetting,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The definitions by name. Workloads and resources have their names in common, collections have their own.
type ByName = BTreeMap<(bool, String), EntityDefinition>;

/// What a workload may set: numbers from 0 up, but for `priority` and `precedence`.
const WORKLOAD_SETTINGS: [&str; 21] = [
    "inflight_requests",
    "max_burst",
    "max_burst_bytes",
    "max_burst_cpu_seconds",
    "max_burst_queries",
    "max_bytes_inflight",
    "max_bytes_per_second",
    "max_concurrent_queries",
    "max_concurrent_threads",
    "max_concurrent_threads_ratio_to_cores",
    "max_cost",
    "max_cpu_share",
    "max_cpus",
    "max_io_requests",
    "max_memory",
    "max_queries_per_second",
    "max_requests",
    "max_speed",
    "max_waiting_queries",
    "precedence",
    "priority",
];

#[derive(Default)]
pub(crate) struct Entities {
    made: RwLock<Arc<ByName>>,
    /// Where they are kept; `None` in memory.
    store: Option<Arc<Store>>,
    /// Held by a change: definitions that cannot be read, which are written again as they were found.
    unread: Mutex<Vec<Definition>>,
}

impl Entities {
    pub fn new(store: Option<Arc<Store>>) -> Entities {
        Entities { store, ..Entities::default() }
    }

    /// The definitions of a kind by name, as they are now.
    pub fn of_kind(&self, kind: EntityKind) -> Vec<(String, EntityDefinition)> {
        let all = self.all();
        let found = all.iter().filter(|(_, definition)| kind_of(definition) == kind);
        found.map(|((_, name), definition)| (name.clone(), definition.clone())).collect()
    }

    /// Runs a statement about one of them.
    pub fn run(&self, entity: &EntityStatement) -> Result<()> {
        let name = &entity.name.name;
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = ByName::clone(&self.all());
        let is_changed = match &entity.action {
            EntityAction::Create { or_replace, if_not_exists, definition } => {
                create(&mut changed, name, definition, *or_replace, *if_not_exists)?
            }
            EntityAction::Alter { if_exists, set, delete } => {
                alter(&mut changed, name, *if_exists, set, delete)?
            }
            EntityAction::Drop { if_exists } => drop(&mut changed, entity.kind, name, *if_exists)?,
        };
        if !is_changed {
            return Ok(());
        }
        if let Some(store) = &self.store {
            let mut all = definitions(&changed);
            all.extend(unread.iter().cloned());
            store.write(DefinitionFile::Entities, &all)?;
        }
        self.publish(changed);
        Ok(())
    }

    /// Takes what is on disk, and says what of it cannot be used.
    pub fn load(&self) -> Result<Vec<String>> {
        let (mut found, mut warnings) = (ByName::new(), Vec::new());
        let Some(store) = &self.store else { return Ok(warnings) };
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.clear();
        for stored in store.read(DefinitionFile::Entities)? {
            match definition_of(&stored.text) {
                Some(definition) => {
                    found.insert(key(kind_of(&definition), &stored.name), definition);
                }
                None => {
                    warnings.push(format!("The definition of {} cannot be read", stored.name));
                    unread.push(stored);
                }
            }
        }
        self.publish(found);
        Ok(warnings)
    }

    fn all(&self) -> Arc<ByName> {
        self.made.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, made: ByName) {
        *self.made.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(made);
    }
}

/// The statement that makes it.
pub(crate) fn create_statement(name: &str, definition: &EntityDefinition) -> ast::Statement {
    let action =
        EntityAction::Create { or_replace: false, if_not_exists: false, definition: definition.clone() };
    let entity =
        EntityStatement { kind: kind_of(definition), name: ast::Ident::new(name), cluster: None, action };
    ast::Statement {
        kind: StatementKind::Entity(Box::new(entity)),
        cluster: None,
        output: ast::Output::default(),
        span: ast::Span::default(),
    }
}

fn kind_of(definition: &EntityDefinition) -> EntityKind {
    match definition {
        EntityDefinition::Workload { .. } => EntityKind::Workload,
        EntityDefinition::Resource(_) => EntityKind::Resource,
        EntityDefinition::NamedCollection(_) => EntityKind::NamedCollection,
    }
}

fn key(kind: EntityKind, name: &str) -> (bool, String) {
    (kind == EntityKind::NamedCollection, name.to_owned())
}

fn definitions(entities: &ByName) -> Vec<Definition> {
    let definition = |((_, name), definition): (&(bool, String), &EntityDefinition)| Definition {
        kind: DefinitionKind::Entity,
        folder: 0,
        database: String::new(),
        name: name.clone(),
        text: chalet_syntax::print::print(&create_statement(name, definition)),
    };
    entities.iter().map(definition).collect()
}

/// The definition in the text of a statement on disk.
fn definition_of(text: &str) -> Option<EntityDefinition> {
    let statements = chalet_syntax::parse_printed(text).ok()?;
    let [ast::Statement { kind: StatementKind::Entity(entity), .. }] = &statements[..] else { return None };
    match &entity.action {
        EntityAction::Create { definition, .. } => Some(definition.clone()),
        _ => None,
    }
}

/// Says whether it changed anything, as its neighbours do.
fn create(
    entities: &mut ByName,
    name: &str,
    definition: &EntityDefinition,
    or_replace: bool,
    if_not_exists: bool,
) -> Result<bool> {
    let key = key(kind_of(definition), name);
    if entities.contains_key(&key) && !or_replace {
        if if_not_exists {
            return Ok(false);
        }
        let is_collection = key.0;
        ensure!(
            !is_collection,
            NAMED_COLLECTION_ALREADY_EXISTS,
            "A named collection `{name}` already exists"
        );
        bail!(BAD_ARGUMENTS, "Workload entity '{name}' already exists");
    }
    let definition = match definition {
        EntityDefinition::Workload { parent, settings } => {
            settings.iter().try_for_each(check_setting)?;
            check_place(entities, name, parent.as_ref().map(|parent| &*parent.name), settings)?;
            definition.clone()
        }
        EntityDefinition::Resource(operations) => {
            check_operations(entities, name, operations)?;
            definition.clone()
        }
        EntityDefinition::NamedCollection(keys) => {
            let mut sorted = keys.clone();
            sorted.sort_by(|a, b| a.setting.name.name.cmp(&b.setting.name.name));
            for pair in sorted.windows(2) {
                let repeated = &pair[1].setting.name.name;
                ensure!(
                    pair[0].setting.name.name != *repeated,
                    BAD_ARGUMENTS,
                    "Key `{repeated}` already exists"
                );
            }
            EntityDefinition::NamedCollection(sorted)
        }
    };
    entities.insert(key, definition);
    Ok(true)
}

fn check_setting(written: &WorkloadSetting) -> Result<()> {
    let name = &*written.setting.name.name;
    let known = name == "weight" || WORKLOAD_SETTINGS.contains(&name);
    ensure!(known, BAD_ARGUMENTS, "Unknown workload setting '{name}'");
    let SettingValue::Expr(ast::Expr { kind: ExprKind::Literal(value), .. }) = &written.setting.value else {
        bail!(BAD_ARGUMENTS, "Expected a literal as the value of workload setting '{name}'");
    };
    let is_signed = matches!(name, "priority" | "precedence");
    let number = match value {
        Literal::UInt(value) => *value as f64,
        Literal::Int(value) => *value as f64,
        Literal::Float(value) => *value,
        Literal::String(text) => {
            ensure!(!is_signed, BAD_GET, "Bad get: has String, requested Int64");
            let text = String::from_utf8_lossy(text);
            let (digits, _) =
                text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
            let Ok(number) = digits.parse() else {
                bail!(
                    CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                    "Cannot parse input: expected 'eof' before: '{text}'"
                );
            };
            number
        }
        _ => bail!(BAD_GET, "Bad get: the value of workload setting '{name}' is no number"),
    };
    if is_signed {
        ensure!(!matches!(value, Literal::Float(_)), BAD_GET, "Bad get: has Float64, requested Int64");
        return Ok(());
    }
    ensure!(number >= 0.0, BAD_ARGUMENTS, "Unexpected negative value {number} for workload setting '{name}'");
    ensure!(
        name != "weight" || number > 0.0,
        INVALID_SCHEDULER_NODE,
        "Zero, negative and non-finite node weights are not allowed: {number}"
    );
    Ok(())
}

/// Workloads are one tree: there is one root, and what a workload names is there.
fn check_place(
    entities: &ByName,
    name: &str,
    parent: Option<&str>,
    settings: &[WorkloadSetting],
) -> Result<()> {
    let resources = settings.iter().filter_map(|setting| Some(&*setting.resource.as_ref()?.name));
    for referenced in parent.into_iter().chain(resources) {
        ensure!(
            entities.contains_key(&key(EntityKind::Workload, referenced)),
            BAD_ARGUMENTS,
            "Workload entity '{name}' references another workload entity '{referenced}' that doesn't exist"
        );
    }
    let root = entities.iter().find_map(|((_, known), definition)| match definition {
        EntityDefinition::Workload { parent: None, .. } => Some(&**known),
        _ => None,
    });
    match (parent, root) {
        (None, Some(root)) => ensure!(
            root == name,
            BAD_ARGUMENTS,
            "The second root is not allowed. You should probably add 'PARENT {root}' clause"
        ),
        (Some(_), Some(root)) => {
            ensure!(root != name, BAD_ARGUMENTS, "It is not allowed to remove root workload");
        }
        (_, None) => {}
    }
    let mut above = parent;
    while let Some(at) = above {
        ensure!(at != name, BAD_ARGUMENTS, "Workload entity '{name}' would be below itself");
        above = match entities.get(&key(EntityKind::Workload, at)) {
            Some(EntityDefinition::Workload { parent, .. }) => parent.as_ref().map(|parent| &*parent.name),
            _ => None,
        };
    }
    Ok(())
}

/// The unit that an operation of a resource is counted in.
pub(crate) fn unit(operation: &ResourceOperation) -> &'static str {
    match operation {
        ResourceOperation::ReadDisk(_) | ResourceOperation::WriteDisk(_) => "IOByte",
        ResourceOperation::MasterThread | ResourceOperation::WorkerThread => "CPUNanosecond",
        ResourceOperation::Query => "QuerySlot",
        ResourceOperation::MemoryReservation => "MemoryByte",
    }
}

/// A resource has one unit, and there is one resource for the threads, queries and memory of the process.
fn check_operations(entities: &ByName, name: &str, operations: &[ResourceOperation]) -> Result<()> {
    let mixed = operations.windows(2).any(|pair| unit(&pair[0]) != unit(&pair[1]));
    ensure!(!mixed, BAD_ARGUMENTS, "Resource definition could not mix CPU and IO operations");
    for ((_, other), definition) in entities {
        let EntityDefinition::Resource(taken) = definition else { continue };
        let of_disks = |operation: &ResourceOperation| {
            matches!(operation, ResourceOperation::ReadDisk(_) | ResourceOperation::WriteDisk(_))
        };
        let twice = operations.iter().find(|operation| !of_disks(operation) && taken.contains(operation));
        if other != name
            && let Some(operation) = twice
        {
            let words = match operation {
                ResourceOperation::MasterThread => "MASTER THREAD",
                ResourceOperation::WorkerThread => "WORKER THREAD",
                ResourceOperation::Query => "QUERY",
                _ => "MEMORY RESERVATION",
            };
            bail!(
                BAD_ARGUMENTS,
                "The second resource for {words} is not allowed. Current resource name: '{other}'"
            );
        }
    }
    Ok(())
}

fn alter(
    entities: &mut ByName,
    name: &str,
    if_exists: bool,
    set: &[CollectionKey],
    delete: &[ast::Ident],
) -> Result<bool> {
    let Some(EntityDefinition::NamedCollection(keys)) =
        entities.get_mut(&key(EntityKind::NamedCollection, name))
    else {
        ensure!(
            if_exists,
            NAMED_COLLECTION_DOESNT_EXIST,
            "Cannot update collection `{name}`, because it doesn't exist"
        );
        return Ok(false);
    };
    for changed in set {
        keys.retain(|known| known.setting.name.name != changed.setting.name.name);
        keys.push(changed.clone());
    }
    for gone in delete {
        let before = keys.len();
        keys.retain(|known| known.setting.name.name != gone.name);
        ensure!(
            keys.len() < before,
            BAD_ARGUMENTS,
            "Cannot delete key `{}` because it does not exist in collection",
            gone.name
        );
    }
    keys.sort_by(|a, b| a.setting.name.name.cmp(&b.setting.name.name));
    Ok(true)
}

fn drop(entities: &mut ByName, kind: EntityKind, name: &str, if_exists: bool) -> Result<bool> {
    let is_collection = kind == EntityKind::NamedCollection;
    let key = key(kind, name);
    if !entities.contains_key(&key) {
        ensure!(
            if_exists || !is_collection,
            NAMED_COLLECTION_DOESNT_EXIST,
            "Cannot remove collection `{name}`, because it doesn't exist"
        );
        ensure!(if_exists, BAD_ARGUMENTS, "Workload entity '{name}' doesn't exist");
        return Ok(false);
    }
    let names_it = |definition: &EntityDefinition| match definition {
        EntityDefinition::Workload { parent, settings } => {
            let resources = settings.iter().filter_map(|setting| setting.resource.as_ref());
            !is_collection && parent.iter().chain(resources).any(|ident| ident.name == name)
        }
        _ => false,
    };
    let users: Vec<&str> =
        entities.iter().filter(|(_, other)| names_it(other)).map(|((_, user), _)| &**user).collect();
    ensure!(
        users.is_empty(),
        BAD_ARGUMENTS,
        "Workload entity '{name}' cannot be dropped. It is referenced by: {}",
        users.join(", ")
    );
    entities.remove(&key);
    Ok(true)
}
