//! ALTER TABLE.

use super::Printer;
use crate::ast::{AlterCommand, AlterTable, ColumnPosition, Ident, Partition, StatisticsAction};

impl Printer {
    pub(crate) fn alter_table(&mut self, alter: &AlterTable) {
        self.word(if alter.temporary { "ALTER TEMPORARY TABLE " } else { "ALTER TABLE " });
        self.object_name(&alter.name);
        self.on_cluster(&alter.cluster);
        self.indented(|p| {
            for (i, command) in alter.commands.iter().enumerate() {
                if i > 0 {
                    p.word(",");
                }
                p.line();
                p.word("(");
                p.alter_command(command);
                p.word(")");
            }
        });
    }

    /// Here the kernel has the name in backquotes.
    fn modify_column_name(&mut self, if_exists: bool, name: &Ident) {
        self.word("MODIFY COLUMN ");
        self.word(if if_exists { "IF EXISTS " } else { "" });
        super::text::write_quoted(&mut self.out, &name.name);
    }

    fn exists(&mut self, flag: bool, text: &str) {
        if flag {
            self.word(text);
        }
    }

    /// `WORDS [IF EXISTS] name [IN PARTITION p]`.
    fn on_name(&mut self, words: &str, if_exists: bool, name: &Ident, partition: &Option<Partition>) {
        self.word(words);
        self.exists(if_exists, " IF EXISTS");
        self.word(" ");
        self.ident(name);
        self.in_partition(partition);
    }

    pub(crate) fn in_partition(&mut self, partition: &Option<Partition>) {
        if let Some(partition) = partition {
            self.word(" IN PARTITION ");
            self.partition(partition);
        }
    }

    pub(crate) fn partition(&mut self, partition: &Partition) {
        match partition {
            Partition::All => self.word("ALL"),
            Partition::Id(id) => {
                self.word("ID ");
                self.closed(id);
            }
            Partition::Value(value) => self.closed(value),
        }
    }

    fn part_or_partition(&mut self, part: bool, partition: &Partition) {
        self.word(if part { " PART " } else { " PARTITION " });
        self.partition(partition);
    }

    fn position(&mut self, position: &Option<ColumnPosition>) {
        match position {
            None => {}
            Some(ColumnPosition::First) => self.word(" FIRST"),
            Some(ColumnPosition::After(name)) => {
                self.word(" AFTER ");
                self.ident(name);
            }
        }
    }

    /// Prints a command: those of columns here, and each group of the others in a function that this one leads to.
    fn alter_command(&mut self, command: &AlterCommand) {
        use AlterCommand::*;
        match command {
            AddColumn { if_not_exists, column, position } => {
                self.word("ADD COLUMN ");
                self.exists(*if_not_exists, "IF NOT EXISTS ");
                self.column_def(column);
                self.position(position);
            }
            DropColumn { if_exists, name } => self.on_name("DROP COLUMN", *if_exists, name, &None),
            ClearColumn { if_exists, name, partition } => {
                self.on_name("CLEAR COLUMN", *if_exists, name, partition)
            }
            ModifyColumn { if_exists, column, position, remove } => {
                self.word("MODIFY COLUMN ");
                self.exists(*if_exists, "IF EXISTS ");
                self.column_def(column);
                if let Some(property) = remove {
                    self.word(" REMOVE ");
                    self.word(property);
                }
                self.position(position);
            }
            ModifyColumnSettings { if_exists, name, settings } => {
                self.modify_column_name(*if_exists, name);
                self.word(" MODIFY SETTING ");
                self.settings(settings);
            }
            ResetColumnSettings { if_exists, name, names } => {
                self.modify_column_name(*if_exists, name);
                self.word(" RESET SETTING ");
                self.comma_list(names, |p, n| p.ident(n));
            }
            RenameColumn { if_exists, from, to } => {
                self.on_name("RENAME COLUMN", *if_exists, from, &None);
                self.word(" TO ");
                self.ident(to);
            }
            CommentColumn { if_exists, name, comment } => {
                self.on_name("COMMENT COLUMN", *if_exists, name, &None);
                self.word(" ");
                self.string(comment);
            }
            MaterializeColumn { name, partition } => {
                self.on_name("MATERIALIZE COLUMN", false, name, partition)
            }
            other => self.alter_table_property(other),
        }
    }

    /// Comment, keys, TTL, settings and query of the table.
    fn alter_table_property(&mut self, command: &AlterCommand) {
        use AlterCommand::*;
        match command {
            ModifyComment(comment) => {
                self.word("MODIFY COMMENT ");
                self.string(comment);
            }
            ModifyOrderBy(key) => {
                self.word("MODIFY ORDER BY ");
                self.sorting_key(key);
            }
            ModifySampleBy(expr) => {
                self.word("MODIFY SAMPLE BY ");
                self.closed(expr);
            }
            RemoveSampleBy => self.word("REMOVE SAMPLE BY"),
            ModifyTtl(list) => {
                self.word("MODIFY TTL ");
                self.ttl_list(list);
            }
            RemoveTtl => self.word("REMOVE TTL"),
            MaterializeTtl { partition } => {
                self.word("MATERIALIZE TTL");
                self.in_partition(partition);
            }
            ModifySettings(settings) => {
                self.word("MODIFY SETTING ");
                self.settings(settings);
            }
            ResetSettings(names) => {
                self.word("RESET SETTING ");
                self.comma_list(names, |p, n| p.ident(n));
            }
            ModifyQuery(query) => {
                self.word("MODIFY QUERY ");
                self.query(query);
            }
            ModifyRefresh(refresh) => {
                self.word(if self.multiline { "MODIFY\nREFRESH " } else { "MODIFY REFRESH " });
                self.refresh(refresh);
            }
            other => self.alter_index(other),
        }
    }

    /// Indexes, projections, constraints and statistics.
    fn alter_index(&mut self, command: &AlterCommand) {
        use AlterCommand::*;
        match command {
            AddIndex { if_not_exists, index, position } => {
                self.word("ADD INDEX ");
                self.exists(*if_not_exists, "IF NOT EXISTS ");
                self.index_def(index);
                self.position(position);
            }
            DropIndex { if_exists, name } => self.on_name("DROP INDEX", *if_exists, name, &None),
            ClearIndex { if_exists, name, partition } => {
                self.on_name("CLEAR INDEX", *if_exists, name, partition)
            }
            MaterializeIndex { if_exists, name, partition } => {
                self.on_name("MATERIALIZE INDEX", *if_exists, name, partition);
            }
            AddProjection { if_not_exists, projection, position } => {
                self.word("ADD PROJECTION ");
                self.exists(*if_not_exists, "IF NOT EXISTS ");
                self.projection_def(projection);
                self.position(position);
            }
            DropProjection { if_exists, name } => self.on_name("DROP PROJECTION", *if_exists, name, &None),
            ClearProjection { if_exists, name, partition } => {
                self.on_name("CLEAR PROJECTION", *if_exists, name, partition);
            }
            MaterializeProjection { if_exists, name, partition } => {
                self.on_name("MATERIALIZE PROJECTION", *if_exists, name, partition);
            }
            AddConstraint { if_not_exists, constraint } => {
                self.word("ADD CONSTRAINT ");
                self.exists(*if_not_exists, "IF NOT EXISTS ");
                self.constraint_def(constraint);
            }
            DropConstraint { if_exists, name } => self.on_name("DROP CONSTRAINT", *if_exists, name, &None),
            Statistics { action, if_exists, columns, types } => {
                self.word(match action {
                    StatisticsAction::Add => "ADD STATISTICS ",
                    StatisticsAction::Modify => "MODIFY STATISTICS ",
                    StatisticsAction::Drop => "DROP STATISTICS ",
                    StatisticsAction::Clear => "CLEAR STATISTICS ",
                    StatisticsAction::Materialize => "MATERIALIZE STATISTICS ",
                });
                self.exists(*if_exists, "IF EXISTS ");
                if columns.is_empty() {
                    self.word("ALL");
                }
                self.comma_list(columns, |p, c| p.ident(c));
                if !types.is_empty() {
                    self.word(" TYPE ");
                    self.exprs(types);
                }
            }
            other => self.mutate_rows(other),
        }
    }

    /// DELETE and UPDATE.
    fn mutate_rows(&mut self, command: &AlterCommand) {
        use AlterCommand::*;
        match command {
            Delete { partition, where_ } => {
                self.word("DELETE");
                self.in_partition(partition);
                self.word(" WHERE ");
                self.closed(where_);
            }
            Update { assignments, partition, where_ } => {
                self.word("UPDATE ");
                self.assignments(assignments);
                self.in_partition(partition);
                self.word(" WHERE ");
                self.closed(where_);
            }
            other => self.alter_partition(other),
        }
    }

    /// Partitions and parts.
    fn alter_partition(&mut self, command: &AlterCommand) {
        use AlterCommand::*;
        match command {
            DropPartition { detach, part, partition } => {
                self.word(if *detach { "DETACH" } else { "DROP" });
                self.part_or_partition(*part, partition);
            }
            DropDetachedPartition { part, partition } => {
                self.word("DROP DETACHED");
                self.part_or_partition(*part, partition);
            }
            AttachPartition { part, partition } => {
                self.word("ATTACH");
                self.part_or_partition(*part, partition);
            }
            AttachPartitionFrom { partition, table } => {
                self.word("ATTACH PARTITION ");
                self.partition(partition);
                self.word(" FROM ");
                self.object_name(table);
            }
            ReplacePartition { partition, table } => {
                self.word("REPLACE PARTITION ");
                self.partition(partition);
                self.word(" FROM ");
                self.object_name(table);
            }
            MovePartitionToTable { partition, table } => {
                self.word("MOVE PARTITION ");
                self.partition(partition);
                self.word(" TO TABLE ");
                self.object_name(table);
            }
            MovePartitionToDisk { part, partition, volume, target } => {
                self.word("MOVE");
                self.part_or_partition(*part, partition);
                self.word(if *volume { " TO VOLUME " } else { " TO DISK " });
                self.string(target);
            }
            FetchPartition { part, partition, from } => {
                self.word("FETCH");
                self.part_or_partition(*part, partition);
                self.word(" FROM ");
                self.string(from);
            }
            Freeze { partition, name } => {
                self.word("FREEZE");
                if let Some(partition) = partition {
                    self.part_or_partition(false, partition);
                }
                if let Some(name) = name {
                    self.word(" WITH NAME ");
                    self.string(name);
                }
            }
            Unfreeze { partition, name } => {
                self.word("UNFREEZE");
                if let Some(partition) = partition {
                    self.part_or_partition(false, partition);
                }
                self.word(" WITH NAME ");
                self.string(name);
            }
            ForgetPartition(partition) => {
                self.word("FORGET");
                self.part_or_partition(false, partition);
            }
            ApplyDeletedMask { partition } => {
                self.word("APPLY DELETED MASK");
                self.in_partition(partition);
            }
            ApplyPatches { partition } => {
                self.word("APPLY PATCHES");
                self.in_partition(partition);
            }
            RewriteParts { partition } => {
                self.word("REWRITE PARTS");
                self.in_partition(partition);
            }
            // Everything else was printed by the caller.
            _ => {}
        }
    }
}
