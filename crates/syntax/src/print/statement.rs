//! The small statements, and the tail of every statement.

use super::Printer;
use super::text::write_ident;
use crate::ast::{
    Describe, Drop, DropAction, Explain, Expr, Insert, InsertColumns, InsertSource, InsertTarget, KillMode,
    ObjectKind, ObjectName, Optimize, Output, Partition, SetStatement, Show, ShowFilter, ShowKind, Statement,
    StatementKind, TransactionCommand,
};

fn object_word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "TABLE",
        ObjectKind::View => "VIEW",
        ObjectKind::Dictionary => "DICTIONARY",
        ObjectKind::Database => "DATABASE",
        ObjectKind::Function => "FUNCTION",
    }
}

impl Printer {
    pub(crate) fn statement(&mut self, statement: &Statement) {
        self.cluster = statement.cluster.clone();
        self.statement_kind(&statement.kind);
        self.output(&statement.output);
    }

    fn output(&mut self, output: &Output) {
        if let Some(outfile) = &output.outfile {
            self.line();
            self.word("INTO OUTFILE ");
            self.string(&outfile.path);
            for (flag, word) in [
                (outfile.append, " APPEND"),
                (outfile.truncate, " TRUNCATE"),
                (outfile.and_stdout, " AND STDOUT"),
            ] {
                if flag {
                    self.word(word);
                }
            }
            if let Some(compression) = &outfile.compression {
                self.word(" COMPRESSION ");
                self.string(compression);
            }
            if let Some(level) = outfile.level {
                self.word(&format!(" LEVEL {level}"));
            }
        }
        if let Some(format) = &output.format {
            self.line();
            self.word("FORMAT ");
            self.ident(format);
        }
        if !output.settings.is_empty() {
            self.line();
            self.word("SETTINGS ");
            self.settings(&output.settings);
        }
    }

    fn parallel(&mut self, list: &[Statement]) {
        for (index, statement) in list.iter().enumerate() {
            if index > 0 {
                self.line();
                self.word("PARALLEL WITH");
                self.line();
            }
            self.statement(statement);
        }
    }

    fn statement_kind(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::Query(query) => self.query(query),
            StatementKind::Explain(explain) => self.explain(explain),
            StatementKind::CreateTable(table) => self.create_table(table),
            StatementKind::CreateView(view) => self.create_view(view),
            StatementKind::CreateDatabase(database) => self.create_database(database),
            StatementKind::CreateFunction(function) => self.create_function(function),
            StatementKind::CreateDictionary(dictionary) => self.create_dictionary(dictionary),
            StatementKind::Entity(entity) => self.entity(entity),
            StatementKind::AlterTable(alter) => self.alter_table(alter),
            StatementKind::AlterDatabase { name, comment } => {
                self.word("ALTER DATABASE ");
                self.ident(name);
                self.of_cluster();
                self.word(" MODIFY COMMENT ");
                self.string(comment);
            }
            StatementKind::Drop(drop) => self.drop_statement(drop),
            StatementKind::Attach { kind, if_not_exists, name } => {
                self.word("ATTACH ");
                self.word(object_word(*kind));
                self.word(if *if_not_exists { " IF NOT EXISTS " } else { " " });
                self.object_name(name);
                self.of_cluster();
            }
            StatementKind::Rename { kind, exchange, if_exists, pairs } => {
                self.rename(*kind, *exchange, *if_exists, pairs);
                self.of_cluster();
            }
            StatementKind::Undrop(name) => {
                self.word("UNDROP TABLE ");
                self.object_name(name);
                self.of_cluster();
            }
            StatementKind::Backup(backup) => self.backup(backup),
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Delete { table, partition, where_ } => {
                self.word("DELETE FROM ");
                self.object_name(table);
                self.of_cluster();
                self.in_partition(partition);
                self.word(" WHERE ");
                self.closed(where_);
            }
            StatementKind::Update { table, assignments, partition, where_ } => {
                self.word("UPDATE ");
                self.object_name(table);
                self.of_cluster();
                self.word(" SET ");
                self.assignments(assignments);
                self.in_partition(partition);
                self.word(" WHERE ");
                self.closed(where_);
            }
            StatementKind::Optimize(optimize) => self.optimize(optimize),
            StatementKind::Set(set) => self.set(set),
            StatementKind::Use(name) => {
                self.word("USE ");
                self.ident(name);
            }
            StatementKind::Show(show) => self.show(show),
            StatementKind::Describe(describe) => self.describe(describe),
            StatementKind::Exists { kind, temporary, name } => {
                self.word(if *temporary { "EXISTS TEMPORARY " } else { "EXISTS " });
                self.word(object_word(*kind));
                self.word(" ");
                self.object_name(name);
            }
            StatementKind::Check { table, partition, part } => {
                self.check(table.as_ref(), partition.as_ref(), part.as_ref());
            }
            StatementKind::CheckDatabase(name) => {
                self.word("CHECK DATABASE ");
                self.ident(name);
            }
            StatementKind::System { command, target, rest } => {
                self.word("SYSTEM ");
                self.word(command);
                self.of_cluster();
                if let Some(target) = target {
                    self.word(" ");
                    self.object_name(target);
                }
                if !rest.is_empty() {
                    self.then(rest);
                }
            }
            StatementKind::Kill { mutation, where_, mode } => self.kill(*mutation, where_, mode),
            StatementKind::Parallel(list) => self.parallel(list),
            StatementKind::Transaction(command) => self.word(match command {
                TransactionCommand::Begin => "BEGIN TRANSACTION",
                TransactionCommand::Commit => "COMMIT",
                TransactionCommand::Rollback => "ROLLBACK",
                TransactionCommand::Explain => "EXPLAIN CURRENT TRANSACTION",
            }),
        }
    }

    fn kill(&mut self, mutation: bool, where_: &Expr, mode: &KillMode) {
        self.word(if mutation { "KILL MUTATION" } else { "KILL QUERY" });
        self.of_cluster();
        self.word(" WHERE ");
        self.closed(where_);
        self.word(match mode {
            KillMode::Async => " ASYNC",
            KillMode::Sync => " SYNC",
            KillMode::Test => " TEST",
        });
    }

    fn set(&mut self, set: &SetStatement) {
        match set {
            SetStatement::Settings(settings) => {
                self.word("SET ");
                self.settings(settings);
            }
            SetStatement::Role(text) => {
                self.word("SET ");
                self.word(text);
            }
            SetStatement::TransactionSnapshot(number) => {
                self.word(&format!("SET TRANSACTION SNAPSHOT {number}"))
            }
        }
    }

    fn check(&mut self, table: Option<&ObjectName>, partition: Option<&Partition>, part: Option<&Vec<u8>>) {
        match table {
            Some(table) => {
                self.word("CHECK TABLE ");
                self.object_name(table);
            }
            None => self.word("CHECK ALL TABLES"),
        }
        if let Some(partition) = partition {
            self.word(" PARTITION ");
            self.partition(partition);
        }
        if let Some(part) = part {
            self.word(" PART ");
            self.string(part);
        }
    }

    fn explain(&mut self, explain: &Explain) {
        self.word(explain.kind.words());
        if !explain.settings.is_empty() {
            self.word(" ");
            self.settings(&explain.settings);
        }
        self.line();
        self.statement(&explain.statement);
    }

    fn drop_statement(&mut self, drop: &Drop) {
        self.word(match drop.action {
            DropAction::Drop => "DROP ",
            DropAction::Truncate => "TRUNCATE ",
            DropAction::Detach => "DETACH ",
        });
        if drop.all_tables {
            self.word("ALL TABLES FROM ");
        } else {
            if drop.temporary {
                self.word("TEMPORARY ");
            }
            self.word(object_word(drop.kind));
            self.word(" ");
        }
        if drop.if_exists {
            self.word("IF EXISTS ");
        }
        if drop.if_empty {
            self.word("IF EMPTY ");
        }
        self.comma_list(&drop.names, |p, name| p.object_name(name));
        self.show_filter(&drop.like);
        self.on_cluster(&drop.cluster);
        if drop.permanently {
            self.word(" PERMANENTLY");
        }
        if drop.sync {
            self.word(" SYNC");
        }
    }

    fn rename(
        &mut self,
        kind: ObjectKind,
        exchange: bool,
        if_exists: bool,
        pairs: &[(ObjectName, ObjectName)],
    ) {
        self.word(match (exchange, kind) {
            (true, ObjectKind::Dictionary) => "EXCHANGE DICTIONARIES ",
            (true, _) => "EXCHANGE TABLES ",
            (false, ObjectKind::Dictionary) => "RENAME DICTIONARY ",
            (false, ObjectKind::Database) => "RENAME DATABASE ",
            (false, _) => "RENAME TABLE ",
        });
        if if_exists {
            self.word("IF EXISTS ");
        }
        self.comma_list(pairs, |p, (from, to)| {
            p.object_name(from);
            p.word(if exchange { " AND " } else { " TO " });
            p.object_name(to);
        });
    }

    fn insert(&mut self, insert: &Insert) {
        self.word("INSERT INTO ");
        match &insert.target {
            InsertTarget::Table(name) => self.object_name(name),
            InsertTarget::Function(call) => {
                self.word("FUNCTION ");
                self.call(call);
            }
        }
        if let Some(by) = &insert.partition_by {
            self.word(" PARTITION BY ");
            self.closed(by);
        }
        match &insert.columns {
            None => {}
            Some(InsertColumns::List(list)) => {
                self.word(" (");
                self.comma_list(list, |p, c| p.ident(c));
                self.word(")");
            }
            Some(InsertColumns::Exprs(list)) => {
                self.word(" (");
                self.exprs(list);
                self.word(")");
            }
        }
        if !insert.settings.is_empty() {
            self.word(" SETTINGS ");
            self.settings(&insert.settings);
        }
        match &insert.source {
            InsertSource::Query(query) => {
                self.word(" ");
                self.query(query);
            }
            InsertSource::Inline { query, format, data } => {
                if let Some(query) = query {
                    self.word(" ");
                    self.query(query);
                }
                let values = format.name.eq_ignore_ascii_case("Values");
                if self.drops_data {
                    self.word(" FORMAT ");
                    match values {
                        true => self.word("Values"),
                        false => write_ident(&mut self.out, &format.name),
                    }
                    return;
                }
                if values && query.is_none() {
                    self.word(" VALUES");
                } else {
                    self.word(" FORMAT ");
                    write_ident(&mut self.out, &format.name);
                    // The data begin on a line of their own, whatever they begin with.
                    self.word("\n");
                }
                self.word(&String::from_utf8_lossy(&data.content));
            }
            InsertSource::Infile { path, compression, format } => {
                self.word(" FROM INFILE ");
                self.string(path);
                if let Some(compression) = compression {
                    self.word(" COMPRESSION ");
                    self.string(compression);
                }
                if let Some(format) = format {
                    self.word(" FORMAT ");
                    self.ident(format);
                }
            }
        }
    }

    fn optimize(&mut self, optimize: &Optimize) {
        self.word("OPTIMIZE TABLE ");
        self.object_name(&optimize.table);
        self.on_cluster(&optimize.cluster);
        if optimize.dry_run {
            self.word(" DRY RUN");
        }
        if let Some(partition) = &optimize.partition {
            self.word(" PARTITION ");
            self.partition(partition);
        }
        if optimize.final_ {
            self.word(" FINAL");
        }
        if let Some(columns) = &optimize.deduplicate {
            self.word(" DEDUPLICATE");
            if !columns.is_empty() {
                self.word(" BY ");
                self.exprs(columns);
            }
        }
        if optimize.cleanup {
            self.word(" CLEANUP");
        }
    }

    fn describe(&mut self, describe: &Describe) {
        self.word("DESCRIBE TABLE ");
        self.table_expr(&describe.target);
    }

    fn table_and_database(&mut self, table: &ObjectName) {
        self.word(" FROM ");
        self.ident(&table.name);
        if let Some(database) = &table.database {
            self.word(" FROM ");
            self.ident(database);
        }
    }

    fn show(&mut self, show: &Show) {
        self.word("SHOW ");
        match &show.kind {
            ShowKind::Databases => self.word("DATABASES"),
            ShowKind::Tables { full, temporary, from } => {
                if *full {
                    self.word("FULL ");
                }
                if *temporary {
                    self.word("TEMPORARY ");
                }
                self.word("TABLES");
                if let Some(from) = from {
                    self.word(" FROM ");
                    self.ident(from);
                }
            }
            ShowKind::Dictionaries { from } => {
                self.word("DICTIONARIES");
                if let Some(from) = from {
                    self.word(" FROM ");
                    self.ident(from);
                }
            }
            ShowKind::Create { kind, temporary, name } => {
                self.word("CREATE ");
                if *temporary {
                    self.word("TEMPORARY ");
                }
                self.word(object_word(*kind));
                self.word(" ");
                self.object_name(name);
            }
            ShowKind::Columns { extended, full, table } => {
                if *extended {
                    self.word("EXTENDED ");
                }
                if *full {
                    self.word("FULL ");
                }
                self.word("COLUMNS");
                self.table_and_database(table);
            }
            ShowKind::Indexes { extended, table } => {
                self.word(if *extended { "EXTENDED INDEXES" } else { "INDEXES" });
                self.table_and_database(table);
            }
            ShowKind::Functions => self.word("FUNCTIONS"),
            ShowKind::Settings { changed } => {
                self.word(if *changed { "CHANGED SETTINGS" } else { "SETTINGS" })
            }
            ShowKind::Setting(name) => {
                self.word("SETTING ");
                self.ident(name);
            }
            ShowKind::Processlist => self.word("PROCESSLIST"),
            ShowKind::Engines => self.word("ENGINES"),
            ShowKind::Clusters => self.word("CLUSTERS"),
            ShowKind::Cluster(name) => {
                self.word("CLUSTER ");
                self.string(name.as_bytes());
            }
            ShowKind::Merges => self.word("MERGES"),
            ShowKind::Grants { names, implicit, all } => {
                self.word("GRANTS");
                for (index, name) in names.iter().enumerate() {
                    self.word(if index == 0 { " FOR " } else { ", " });
                    self.ident(name);
                }
                self.word(if *implicit { " WITH IMPLICIT" } else { "" });
                self.word(if *all { " FINAL" } else { "" });
            }
            ShowKind::Access(text) => self.word(text),
        }
        self.show_filter(&show.filter);
        if let Some(limit) = &show.limit {
            self.word(" LIMIT ");
            self.closed(limit);
        }
    }

    fn show_filter(&mut self, filter: &Option<ShowFilter>) {
        match filter {
            None => {}
            Some(ShowFilter::Like { not, case_insensitive, pattern }) => {
                self.word(match (not, case_insensitive) {
                    (false, false) => " LIKE ",
                    (false, true) => " ILIKE ",
                    (true, false) => " NOT LIKE ",
                    (true, true) => " NOT ILIKE ",
                });
                self.string(pattern);
            }
            Some(ShowFilter::Where(condition)) => {
                self.word(" WHERE ");
                self.closed(condition);
            }
        }
    }
}
