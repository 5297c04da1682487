//! BACKUP and RESTORE.

use super::{Printer, write_ident};
use crate::ast::{Backup, BackupElement};

impl Printer {
    pub(crate) fn backup(&mut self, backup: &Backup) {
        self.word(if backup.restore { "RESTORE " } else { "BACKUP " });
        self.comma_list(&backup.elements, |p, element| p.backup_element(element));
        self.of_cluster();
        self.word(if backup.restore { " FROM " } else { " TO " });
        write_ident(&mut self.out, &backup.place.name);
        if let Some(args) = &backup.place.args {
            self.word("(");
            self.comma_list(args, |p, arg| p.closed(arg));
            self.word(")");
        }
        if !backup.settings.is_empty() {
            self.word(" SETTINGS ");
            self.settings(&backup.settings);
        }
    }

    fn backup_element(&mut self, element: &BackupElement) {
        match element {
            BackupElement::Table { temporary, name, new_name, partitions } => {
                self.word(if *temporary { "TEMPORARY TABLE " } else { "TABLE " });
                self.object_name(name);
                if let Some(new_name) = new_name {
                    self.word(" AS ");
                    self.object_name(new_name);
                }
                if !partitions.is_empty() {
                    // The kernel prints two spaces.
                    self.word(if partitions.len() == 1 { " PARTITION  " } else { " PARTITIONS  " });
                    self.comma_list(partitions, |p, partition| p.partition(partition));
                }
            }
            BackupElement::Database { name, new_name, except } => {
                self.word("DATABASE ");
                self.ident(name);
                if let Some(new_name) = new_name {
                    self.word(" AS ");
                    self.ident(new_name);
                }
                self.except(" EXCEPT TABLE", ", ", except, |p, name| p.object_name(name));
            }
            BackupElement::All { except_databases, except_tables } => {
                self.word("ALL");
                // The kernel puts no space behind these commas.
                self.except(" EXCEPT DATABASE", ",", except_databases, |p, name| p.ident(name));
                self.except(" EXCEPT TABLE", ", ", except_tables, |p, name| p.object_name(name));
            }
        }
    }

    fn except<T>(&mut self, what: &str, comma: &str, names: &[T], one: impl Fn(&mut Printer, &T)) {
        if names.is_empty() {
            return;
        }
        self.word(what);
        self.word(if names.len() == 1 { " " } else { "S " });
        for (at, name) in names.iter().enumerate() {
            self.word(if at == 0 { "" } else { comma });
            one(self, name);
        }
    }
}
