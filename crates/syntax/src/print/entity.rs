//! Statements about workloads, resources and named collections.

use super::Printer;
use crate::ast::{
    CollectionKey, EntityAction, EntityDefinition, EntityStatement, Ident, ResourceOperation, Setting,
};

impl Printer {
    pub(crate) fn entity(&mut self, entity: &EntityStatement) {
        let (verb, exists) = match &entity.action {
            EntityAction::Create { or_replace: true, .. } => ("CREATE OR REPLACE ", ""),
            EntityAction::Create { if_not_exists: true, .. } => ("CREATE ", "IF NOT EXISTS "),
            EntityAction::Create { .. } => ("CREATE ", ""),
            EntityAction::Alter { if_exists: true, .. } => ("ALTER ", "IF EXISTS "),
            EntityAction::Alter { .. } => ("ALTER ", ""),
            EntityAction::Drop { if_exists: true } => ("DROP ", "IF EXISTS "),
            EntityAction::Drop { .. } => ("DROP ", ""),
        };
        self.word(verb);
        self.word(entity.kind.words());
        self.word(" ");
        self.word(exists);
        self.ident(&entity.name);
        self.on_cluster(&entity.cluster);
        match &entity.action {
            EntityAction::Create { definition, .. } => self.entity_definition(definition),
            EntityAction::Alter { set, delete, .. } => {
                if !set.is_empty() {
                    self.word(" SET ");
                    self.comma_list(set, |p, key| p.collection_key(key));
                }
                if !delete.is_empty() {
                    self.word(" DELETE ");
                    self.comma_list(delete, |p, key| p.ident(key));
                }
            }
            EntityAction::Drop { .. } => {}
        }
    }

    fn entity_definition(&mut self, definition: &EntityDefinition) {
        match definition {
            EntityDefinition::Workload { parent, settings } => {
                if let Some(parent) = parent {
                    self.word(" IN ");
                    self.ident(parent);
                }
                if !settings.is_empty() {
                    self.word(" SETTINGS ");
                    self.comma_list(settings, |p, setting| {
                        p.setting_of_entity(&setting.setting);
                        if let Some(resource) = &setting.resource {
                            p.word(" FOR ");
                            p.ident(resource);
                        }
                    });
                }
            }
            EntityDefinition::Resource(operations) => {
                self.word(" (");
                self.comma_list(operations, |p, operation| p.resource_operation(operation));
                self.word(")");
            }
            EntityDefinition::NamedCollection(keys) => {
                self.word(" AS ");
                self.comma_list(keys, |p, key| p.collection_key(key));
            }
        }
    }

    fn resource_operation(&mut self, operation: &ResourceOperation) {
        let mut access = |verb: &str, disk: &Option<Ident>| {
            self.word(verb);
            match disk {
                Some(disk) => {
                    self.word(" DISK ");
                    self.ident(disk);
                }
                None => self.word(" ANY DISK"),
            }
        };
        match operation {
            ResourceOperation::ReadDisk(disk) => access("READ", disk),
            ResourceOperation::WriteDisk(disk) => access("WRITE", disk),
            ResourceOperation::MasterThread => self.word("MASTER THREAD"),
            ResourceOperation::WorkerThread => self.word("WORKER THREAD"),
            ResourceOperation::Query => self.word("QUERY"),
            ResourceOperation::MemoryReservation => self.word("MEMORY RESERVATION"),
        }
    }

    fn collection_key(&mut self, key: &CollectionKey) {
        self.setting_of_entity(&key.setting);
        match key.overridable {
            Some(true) => self.word(" OVERRIDABLE"),
            Some(false) => self.word(" NOT OVERRIDABLE"),
            None => {}
        }
    }

    fn setting_of_entity(&mut self, setting: &Setting) {
        self.settings(std::slice::from_ref(setting));
    }
}
