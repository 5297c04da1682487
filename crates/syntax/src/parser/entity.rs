//! CREATE, ALTER and DROP of workloads, resources and named collections.

use super::{Fail, Parse, Parser};
use crate::ast::{
    CollectionKey, EntityAction, EntityDefinition, EntityKind, EntityStatement, Ident, ResourceOperation,
    Setting, SettingValue, StatementKind, WorkloadSetting,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// The words of what the statement is about, where they stand here.
    pub(super) fn entity_kind(&mut self) -> Option<EntityKind> {
        EntityKind::ALL.into_iter().find(|kind| self.accept_keyword(kind.words()))
    }

    /// What follows `CREATE WORKLOAD` and its like.
    pub(super) fn create_entity(&mut self, kind: EntityKind, or_replace: bool) -> Parse<StatementKind> {
        if or_replace && kind == EntityKind::NamedCollection {
            return Err(Fail::Syntax);
        }
        let if_not_exists = !or_replace && self.if_not_exists();
        let name = self.ident()?;
        let cluster = self.on_cluster()?;
        let definition = match kind {
            EntityKind::Workload => self.workload()?,
            EntityKind::Resource => {
                EntityDefinition::Resource(self.paren_list(false, |p| p.resource_operation())?)
            }
            EntityKind::NamedCollection => {
                self.expect_keyword("AS")?;
                EntityDefinition::NamedCollection(self.comma_list(|p| p.collection_key())?)
            }
        };
        let action = EntityAction::Create { or_replace, if_not_exists, definition };
        Ok(StatementKind::Entity(Box::new(EntityStatement { kind, name, cluster, action })))
    }

    /// What follows `DROP WORKLOAD` and its like.
    pub(super) fn drop_entity(&mut self, kind: EntityKind) -> Parse<StatementKind> {
        let action = EntityAction::Drop { if_exists: self.if_exists() };
        let name = self.ident()?;
        let cluster = self.on_cluster()?;
        Ok(StatementKind::Entity(Box::new(EntityStatement { kind, name, cluster, action })))
    }

    /// What follows `ALTER NAMED COLLECTION`.
    pub(super) fn alter_named_collection(&mut self) -> Parse<StatementKind> {
        let if_exists = self.if_exists();
        let name = self.ident()?;
        let cluster = self.on_cluster()?;
        let set = match self.accept_keyword("SET") {
            true => self.comma_list(|p| p.collection_key())?,
            false => Vec::new(),
        };
        let delete = match self.accept_keyword("DELETE") {
            true => self.comma_list(|p| p.ident())?,
            false => Vec::new(),
        };
        let action = EntityAction::Alter { if_exists, set, delete };
        let kind = EntityKind::NamedCollection;
        Ok(StatementKind::Entity(Box::new(EntityStatement { kind, name, cluster, action })))
    }

    fn workload(&mut self) -> Parse<EntityDefinition> {
        let parent = if self.accept_keyword("IN") { Some(self.ident()?) } else { None };
        let settings = match self.accept_keyword("SETTINGS") {
            true => self.comma_list(|p| p.workload_setting())?,
            false => Vec::new(),
        };
        Ok(EntityDefinition::Workload { parent, settings })
    }

    fn workload_setting(&mut self) -> Parse<WorkloadSetting> {
        let setting = self.key_and_literal()?;
        let resource = if self.accept_keyword("FOR") { Some(self.ident()?) } else { None };
        Ok(WorkloadSetting { setting, resource })
    }

    fn collection_key(&mut self) -> Parse<CollectionKey> {
        let setting = self.key_and_literal()?;
        let words = ["NOT OVERRIDABLE", "OVERRIDABLE"];
        let overridable = self.accept_any_keyword(&words).map(|index| index == 1);
        Ok(CollectionKey { setting, overridable })
    }

    fn key_and_literal(&mut self) -> Parse<Setting> {
        let start = self.start();
        let mut name = self.ident()?;
        while self.accept(TokenKind::Dot) {
            let part = self.ident()?;
            name = Ident::at(format!("{}.{}", name.name, part.name), self.span_from(start));
        }
        self.expect(TokenKind::Equals)?;
        match self.literal()? {
            Some(value) => Ok(Setting { name, value: SettingValue::Expr(value) }),
            None => Err(self.expect_here("literal")),
        }
    }

    fn resource_operation(&mut self) -> Parse<ResourceOperation> {
        let words = ["READ", "WRITE", "MASTER THREAD", "WORKER THREAD", "QUERY", "MEMORY RESERVATION"];
        Ok(match self.accept_any_keyword(&words) {
            Some(0) => ResourceOperation::ReadDisk(self.disk()?),
            Some(1) => ResourceOperation::WriteDisk(self.disk()?),
            Some(2) => ResourceOperation::MasterThread,
            Some(3) => ResourceOperation::WorkerThread,
            Some(4) => ResourceOperation::Query,
            Some(_) => ResourceOperation::MemoryReservation,
            None => return Err(Fail::Syntax),
        })
    }

    /// `DISK name`, or `ANY DISK`.
    fn disk(&mut self) -> Parse<Option<Ident>> {
        if self.accept_keyword("ANY DISK") {
            return Ok(None);
        }
        self.expect_keyword("DISK")?;
        self.ident().map(Some)
    }
}
