//! ALTER TABLE, command by command.

use super::{Fail, Parse, Parser};
use crate::ast::{AlterCommand, AlterTable, ColumnPosition, Partition, StatementKind, StatisticsAction};
use crate::lexer::TokenKind;
use chalet_base::err;

impl Parser<'_> {
    pub(crate) fn alter(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("ALTER")?;
        let temporary = self.accept_keyword("TEMPORARY");
        if !self.accept_keyword("TABLE") {
            if let Some(error) = self.access_denied("ALTER") {
                return Err(Fail::Error(error));
            }
            if self.accept_keyword("DATABASE") {
                return self.alter_database();
            }
            if self.accept_keyword("NAMED COLLECTION") {
                return self.alter_named_collection();
            }
            if self.at_keyword("VIEW") {
                return Err(Fail::Error(err!(NOT_IMPLEMENTED, "ALTER VIEW is not implemented")));
            }
            return Err(Fail::Syntax);
        }
        let name = self.object_name()?;
        let cluster = self.on_cluster()?;
        let commands = self.comma_list(|p| {
            if p.at(TokenKind::LParen) { p.parens(|p| p.alter_command()) } else { p.alter_command() }
        })?;
        Ok(StatementKind::AlterTable(Box::new(AlterTable { temporary, name, cluster, commands })))
    }

    /// What follows `ALTER DATABASE`.
    fn alter_database(&mut self) -> Parse<StatementKind> {
        let name = self.ident()?;
        self.on_cluster()?;
        if self.at_keyword("MODIFY SETTING") {
            return Err(Fail::Error(err!(
                NOT_IMPLEMENTED,
                "ALTER DATABASE ... MODIFY SETTING is not implemented"
            )));
        }
        self.expect_keyword("MODIFY COMMENT")?;
        Ok(StatementKind::AlterDatabase { name, comment: self.string()? })
    }

    fn alter_command(&mut self) -> Parse<AlterCommand> {
        if self.accept_keyword("ADD") {
            return self.alter_add();
        }
        if self.accept_keyword("DROP") {
            return self.alter_drop();
        }
        if self.accept_keyword("CLEAR") {
            return self.alter_clear();
        }
        if self.accept_keyword("MATERIALIZE") {
            return self.alter_materialize();
        }
        if self.accept_keyword("MODIFY") {
            return self.alter_modify();
        }
        if self.accept_keyword("ALTER COLUMN") {
            let if_exists = self.if_exists();
            let pos = self.pos;
            let name = self.column_path()?;
            if self.accept_keyword("TYPE") {
                let mut column = self.name_only(name);
                column.ty = Some(self.type_name()?);
                self.column_properties(&mut column)?;
                let position = self.column_position()?;
                return Ok(AlterCommand::ModifyColumn { if_exists, column, position, remove: None });
            }
            self.pos = pos;
            return self.modify_column(if_exists);
        }
        if self.accept_keyword("RENAME COLUMN") {
            let if_exists = self.if_exists();
            let from = self.column_path()?;
            self.expect_keyword("TO")?;
            return Ok(AlterCommand::RenameColumn { if_exists, from, to: self.column_path()? });
        }
        if self.accept_keyword("COMMENT COLUMN") {
            let if_exists = self.if_exists();
            let name = self.column_path()?;
            return Ok(AlterCommand::CommentColumn { if_exists, name, comment: self.string()? });
        }
        if self.accept_keyword("REMOVE TTL") {
            return Ok(AlterCommand::RemoveTtl);
        }
        if self.accept_keyword("REMOVE SAMPLE BY") {
            return Ok(AlterCommand::RemoveSampleBy);
        }
        if self.accept_keyword("RESET SETTING") {
            return Ok(AlterCommand::ResetSettings(self.comma_list(|p| p.ident())?));
        }
        if self.accept_keyword("DELETE") {
            let partition = self.in_partition()?;
            self.expect_keyword("WHERE")?;
            return Ok(AlterCommand::Delete { partition, where_: self.bare_expr()? });
        }
        if self.accept_keyword("UPDATE") {
            let assignments = self.assignments()?;
            let partition = self.in_partition()?;
            self.expect_keyword("WHERE")?;
            return Ok(AlterCommand::Update { assignments, partition, where_: self.bare_expr()? });
        }
        if self.at_keyword("EXECUTE") {
            return Err(Fail::Error(err!(NOT_IMPLEMENTED, "ALTER TABLE EXECUTE is not implemented")));
        }
        self.alter_partition()
    }

    fn alter_add(&mut self) -> Parse<AlterCommand> {
        if self.accept_keyword("INDEX") {
            let if_not_exists = self.if_not_exists();
            let index = self.index_def()?;
            return Ok(AlterCommand::AddIndex { if_not_exists, index, position: self.column_position()? });
        }
        if self.accept_keyword("PROJECTION") {
            let if_not_exists = self.if_not_exists();
            let projection = self.projection_def()?;
            return Ok(AlterCommand::AddProjection {
                if_not_exists,
                projection,
                position: self.column_position()?,
            });
        }
        if self.accept_keyword("CONSTRAINT") {
            let if_not_exists = self.if_not_exists();
            return Ok(AlterCommand::AddConstraint { if_not_exists, constraint: self.constraint_def()? });
        }
        if self.accept_keyword("STATISTICS") {
            return self.statistics(StatisticsAction::Add);
        }
        self.expect_keyword("COLUMN")?;
        let if_not_exists = self.if_not_exists();
        let column = self.altered_column_def()?;
        if column.ty.is_none() && column.default.is_none() {
            return Err(self.expect_here("data type"));
        }
        Ok(AlterCommand::AddColumn { if_not_exists, column, position: self.column_position()? })
    }

    fn alter_drop(&mut self) -> Parse<AlterCommand> {
        if self.accept_keyword("COLUMN") {
            let if_exists = self.if_exists();
            return Ok(AlterCommand::DropColumn { if_exists, name: self.column_path()? });
        }
        if self.accept_keyword("INDEX") {
            let if_exists = self.if_exists();
            return Ok(AlterCommand::DropIndex { if_exists, name: self.ident()? });
        }
        if self.accept_keyword("PROJECTION") {
            let if_exists = self.if_exists();
            return Ok(AlterCommand::DropProjection { if_exists, name: self.ident()? });
        }
        if self.accept_keyword("CONSTRAINT") {
            let if_exists = self.if_exists();
            return Ok(AlterCommand::DropConstraint { if_exists, name: self.ident()? });
        }
        if self.accept_keyword("STATISTICS") {
            return self.statistics(StatisticsAction::Drop);
        }
        if let Some(index) = self.accept_any_keyword(&["DETACHED PARTITION", "DETACHED PART"]) {
            let part = index == 1;
            return Ok(AlterCommand::DropDetachedPartition {
                part,
                partition: self.partition_or_part(part)?,
            });
        }
        match self.accept_any_keyword(&["PARTITION", "PART"]) {
            Some(index) => {
                let part = index == 1;
                Ok(AlterCommand::DropPartition {
                    detach: false,
                    part,
                    partition: self.partition_or_part(part)?,
                })
            }
            None => Err(Fail::Syntax),
        }
    }

    fn alter_clear(&mut self) -> Parse<AlterCommand> {
        let kinds = ["COLUMN", "INDEX", "PROJECTION", "STATISTICS"];
        let kind = self.accept_any_keyword(&kinds).ok_or(Fail::Syntax)?;
        if kind == 3 {
            return self.statistics(StatisticsAction::Clear);
        }
        let if_exists = self.if_exists();
        let name = self.column_path()?;
        let partition = self.in_partition()?;
        Ok(match kind {
            0 => AlterCommand::ClearColumn { if_exists, name, partition },
            1 => AlterCommand::ClearIndex { if_exists, name, partition },
            _ => AlterCommand::ClearProjection { if_exists, name, partition },
        })
    }

    fn alter_materialize(&mut self) -> Parse<AlterCommand> {
        let kinds = ["COLUMN", "INDEX", "PROJECTION", "STATISTICS", "TTL"];
        let kind = self.accept_any_keyword(&kinds).ok_or(Fail::Syntax)?;
        if kind == 3 {
            return self.statistics(StatisticsAction::Materialize);
        }
        if kind == 4 {
            return Ok(AlterCommand::MaterializeTtl { partition: self.in_partition()? });
        }
        let if_exists = kind != 0 && self.if_exists();
        let name = self.column_path()?;
        let partition = self.in_partition()?;
        Ok(match kind {
            0 => AlterCommand::MaterializeColumn { name, partition },
            1 => AlterCommand::MaterializeIndex { if_exists, name, partition },
            _ => AlterCommand::MaterializeProjection { if_exists, name, partition },
        })
    }

    fn alter_modify(&mut self) -> Parse<AlterCommand> {
        if self.accept_keyword("COLUMN") {
            let if_exists = self.if_exists();
            return self.modify_column(if_exists);
        }
        if self.accept_keyword("ORDER BY") {
            return Ok(AlterCommand::ModifyOrderBy(self.sorting_key()?));
        }
        if self.accept_keyword("SAMPLE BY") {
            return Ok(AlterCommand::ModifySampleBy(self.bare_expr()?));
        }
        if self.accept_keyword("TTL") {
            return Ok(AlterCommand::ModifyTtl(self.ttl_list()?));
        }
        if self.accept_keyword("SETTING") {
            return Ok(AlterCommand::ModifySettings(self.settings_list()?));
        }
        if self.accept_keyword("QUERY") {
            return Ok(AlterCommand::ModifyQuery(Box::new(self.query()?)));
        }
        if self.accept_keyword("COMMENT") {
            return Ok(AlterCommand::ModifyComment(self.string()?));
        }
        if self.accept_keyword("STATISTICS") {
            return self.statistics(StatisticsAction::Modify);
        }
        if self.accept_keyword("REFRESH") {
            return Ok(AlterCommand::ModifyRefresh(self.behind_refresh()?));
        }
        for word in ["DEFINER", "SQL SECURITY", "PROJECTION"] {
            if self.at_keyword(word) {
                return Err(Fail::Error(err!(
                    NOT_IMPLEMENTED,
                    "ALTER TABLE MODIFY {word} is not implemented"
                )));
            }
        }
        Err(Fail::Syntax)
    }

    fn name_only(&self, name: crate::ast::Ident) -> crate::ast::ColumnDef {
        let span = name.span;
        crate::ast::ColumnDef {
            name,
            ty: None,
            nullable: None,
            default: None,
            comment: None,
            codec: Vec::new(),
            statistics: Vec::new(),
            ttl: None,
            collate: None,
            primary_key: false,
            settings: Vec::new(),
            span,
        }
    }

    /// What follows `MODIFY COLUMN`.
    fn modify_column(&mut self, if_exists: bool) -> Parse<AlterCommand> {
        let pos = self.pos;
        let name = self.column_path()?;
        if self.accept_keyword("REMOVE") {
            let properties =
                ["DEFAULT", "MATERIALIZED", "ALIAS", "COMMENT", "CODEC", "TTL", "SETTINGS", "STATISTICS"];
            let Some(index) = self.accept_any_keyword(&properties) else { return Err(Fail::Syntax) };
            let remove = Some(properties[index].to_string());
            let column = self.name_only(name);
            return Ok(AlterCommand::ModifyColumn { if_exists, column, position: None, remove });
        }
        if self.accept_keyword("MODIFY SETTING") {
            let settings = self.settings_list()?;
            return Ok(AlterCommand::ModifyColumnSettings { if_exists, name, settings });
        }
        if self.accept_keyword("RESET SETTING") {
            let names = self.comma_list(|p| p.ident())?;
            return Ok(AlterCommand::ResetColumnSettings { if_exists, name, names });
        }
        self.pos = pos;
        let column = self.altered_column_def()?;
        let position = self.column_position()?;
        Ok(AlterCommand::ModifyColumn { if_exists, column, position, remove: None })
    }

    fn column_position(&mut self) -> Parse<Option<ColumnPosition>> {
        if self.accept_keyword("FIRST") {
            return Ok(Some(ColumnPosition::First));
        }
        if self.accept_keyword("AFTER") {
            return Ok(Some(ColumnPosition::After(self.column_path()?)));
        }
        Ok(None)
    }

    /// `STATISTICS [IF EXISTS] a, b [TYPE t, u]`.
    fn statistics(&mut self, action: StatisticsAction) -> Parse<AlterCommand> {
        let if_exists = self.if_exists() || self.if_not_exists();
        let columns = if self.accept_keyword("ALL") { Vec::new() } else { self.comma_list(|p| p.ident())? };
        let types =
            if self.accept_keyword("TYPE") { self.comma_list(|p| p.name_or_call())? } else { Vec::new() };
        Ok(AlterCommand::Statistics { action, if_exists, columns, types })
    }

    // ---- partitions

    fn alter_partition(&mut self) -> Parse<AlterCommand> {
        let part_words = ["PARTITION", "PART"];
        if self.accept_keyword("DETACH") {
            let part = self.accept_any_keyword(&part_words).ok_or(Fail::Syntax)? == 1;
            return Ok(AlterCommand::DropPartition {
                detach: true,
                part,
                partition: self.partition_or_part(part)?,
            });
        }
        if self.accept_keyword("ATTACH") {
            let part = self.accept_any_keyword(&part_words).ok_or(Fail::Syntax)? == 1;
            let partition = self.partition_or_part(part)?;
            if !part && self.accept_keyword("FROM") {
                return Ok(AlterCommand::AttachPartitionFrom { partition, table: self.object_name()? });
            }
            return Ok(AlterCommand::AttachPartition { part, partition });
        }
        if self.accept_keyword("REPLACE PARTITION") {
            let partition = self.partition()?;
            self.expect_keyword("FROM")?;
            return Ok(AlterCommand::ReplacePartition { partition, table: self.object_name()? });
        }
        if self.accept_keyword("MOVE") {
            return self.move_partition();
        }
        if self.accept_keyword("FETCH") {
            let part = self.accept_any_keyword(&part_words).ok_or(Fail::Syntax)? == 1;
            let partition = self.partition_or_part(part)?;
            self.expect_keyword("FROM")?;
            return Ok(AlterCommand::FetchPartition { part, partition, from: self.string()? });
        }
        if self.accept_keyword("FREEZE") {
            let partition = if self.accept_keyword("PARTITION") { Some(self.partition()?) } else { None };
            let name = if self.accept_keyword("WITH NAME") { Some(self.string()?) } else { None };
            return Ok(AlterCommand::Freeze { partition, name });
        }
        if self.accept_keyword("UNFREEZE") {
            let partition = if self.accept_keyword("PARTITION") { Some(self.partition()?) } else { None };
            self.expect_keyword("WITH NAME")?;
            return Ok(AlterCommand::Unfreeze { partition, name: self.string()? });
        }
        if self.accept_keyword("FORGET PARTITION") {
            return Ok(AlterCommand::ForgetPartition(self.partition()?));
        }
        if self.accept_keyword("APPLY DELETED MASK") {
            return Ok(AlterCommand::ApplyDeletedMask { partition: self.in_partition()? });
        }
        if self.accept_keyword("APPLY PATCHES") {
            return Ok(AlterCommand::ApplyPatches { partition: self.in_partition()? });
        }
        if self.accept_keyword("REWRITE PARTS") {
            return Ok(AlterCommand::RewriteParts { partition: self.in_partition()? });
        }
        Err(Fail::Syntax)
    }

    fn move_partition(&mut self) -> Parse<AlterCommand> {
        let part = self.accept_any_keyword(&["PARTITION", "PART"]).ok_or(Fail::Syntax)? == 1;
        let partition = self.partition_or_part(part)?;
        match self.accept_any_keyword(&["TO DISK", "TO VOLUME", "TO TABLE"]) {
            Some(2) if !part => {
                Ok(AlterCommand::MovePartitionToTable { partition, table: self.object_name()? })
            }
            Some(index) if index < 2 => {
                let target = self.string()?;
                Ok(AlterCommand::MovePartitionToDisk { part, partition, volume: index == 1, target })
            }
            _ => Err(Fail::Syntax),
        }
    }

    fn partition_or_part(&mut self, part: bool) -> Parse<Partition> {
        if part { Ok(Partition::Value(self.bare_expr()?)) } else { self.partition() }
    }

    pub(crate) fn in_partition(&mut self) -> Parse<Option<Partition>> {
        if self.accept_keyword("IN PARTITION") { Ok(Some(self.partition()?)) } else { Ok(None) }
    }

    /// What follows the word PARTITION.
    pub(crate) fn partition(&mut self) -> Parse<Partition> {
        if self.accept_keyword("ALL") {
            return Ok(Partition::All);
        }
        if self.at_keyword("ID")
            && matches!(self.peek(1).kind, TokenKind::String | TokenKind::Heredoc | TokenKind::LBrace)
        {
            self.advance();
            let start = self.start();
            let id = if self.at(TokenKind::LBrace) { Some(self.parameter(start)?) } else { self.literal()? };
            return id.map(Partition::Id).ok_or(Fail::Syntax);
        }
        Ok(Partition::Value(self.bare_expr()?))
    }
}
