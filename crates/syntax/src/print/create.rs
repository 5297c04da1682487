//! CREATE, and the pieces of a table definition that ALTER shares.

use super::Printer;
use super::text::write_quoted;
use crate::ast::{
    CallStyle, ColumnDef, ConstraintDef, CreateDatabase, CreateDictionary, CreateFunction, CreateSource,
    CreateTable, CreateView, DefaultKind, Engine, Expr, ExprKind, Ident, IndexDef, KeyValue,
    KeyValueFunction, OrderItem, ProjectionDef, Refresh, RefreshPeriod, Replace, Storage, TableDefinition,
    TtlAction, TtlItem,
};

/// Of what may replace another, and never has to.
fn replaces(or_replace: bool) -> Replace {
    if or_replace { Replace::OrReplace } else { Replace::No }
}

impl Printer {
    fn head(&mut self, attach: bool, replace: Replace, temporary: bool, kind: &str) {
        self.word(match (attach, replace) {
            (true, _) => "ATTACH ",
            (false, Replace::OrReplace) => "CREATE OR REPLACE ",
            (false, Replace::Must) => "REPLACE ",
            (false, Replace::No) => "CREATE ",
        });
        if temporary {
            self.word("TEMPORARY ");
        }
        self.word(kind);
    }

    fn uuid(&mut self, uuid: &Option<String>) {
        if let Some(uuid) = uuid {
            self.word(" UUID ");
            self.string(uuid.as_bytes());
        }
    }

    /// The cluster of a statement that keeps it beside what it says.
    pub(crate) fn of_cluster(&mut self) {
        let cluster = self.cluster.clone();
        self.on_cluster(&cluster);
    }

    pub(crate) fn on_cluster(&mut self, cluster: &Option<Ident>) {
        if let Some(cluster) = cluster {
            self.word(" ON CLUSTER ");
            self.ident(cluster);
        }
    }

    fn comment(&mut self, comment: &Option<Vec<u8>>) {
        if let Some(comment) = comment {
            self.line();
            self.word("COMMENT ");
            self.string(comment);
        }
    }

    pub(crate) fn create_table(&mut self, table: &CreateTable) {
        self.head(table.attach, table.replace, table.temporary, "TABLE ");
        if table.if_not_exists {
            self.word("IF NOT EXISTS ");
        }
        self.object_name(&table.name);
        self.uuid(&table.uuid);
        self.on_cluster(&table.cluster);
        self.table_definition(&table.definition);
        // `AS table` comes before the engine, `AS SELECT` after it.
        match &table.source {
            Some(CreateSource::Table { clone, name }) => {
                self.word(if *clone { " CLONE AS " } else { " AS " });
                self.object_name(name);
            }
            Some(CreateSource::Function(call)) => {
                self.word(" AS ");
                self.call(call);
            }
            _ => {}
        }
        self.storage(&table.storage);
        self.comment(&table.comment);
        if let Some(CreateSource::Query { empty, query }) = &table.source {
            self.line();
            self.word(if *empty { "EMPTY AS " } else { "AS " });
            self.query(query);
        }
    }

    fn table_definition(&mut self, definition: &TableDefinition) {
        if *definition == TableDefinition::default() {
            return;
        }
        self.line();
        self.word("(");
        self.indented(|p| {
            let mut first = true;
            let mut separate = |p: &mut Self| {
                if !std::mem::take(&mut first) {
                    p.word(",");
                    if !p.multiline {
                        p.word(" ");
                    }
                }
                p.tight_line();
            };
            for column in &definition.columns {
                separate(p);
                p.column_def(column);
            }
            for index in &definition.indexes {
                separate(p);
                p.word("INDEX ");
                p.index_def(index);
            }
            for constraint in &definition.constraints {
                separate(p);
                p.word("CONSTRAINT ");
                p.constraint_def(constraint);
            }
            for projection in &definition.projections {
                separate(p);
                p.word("PROJECTION ");
                p.projection_def(projection);
            }
            if let Some(key) = &definition.primary_key {
                separate(p);
                p.word("PRIMARY KEY ");
                p.closed(key);
            }
        });
        self.tight_line();
        self.word(")");
    }

    pub(crate) fn column_def(&mut self, column: &ColumnDef) {
        if column.name.parameter {
            self.ident(&column.name);
        } else {
            write_quoted(&mut self.out, &column.name.name);
        }
        if let Some(ty) = &column.ty {
            self.then(&ty.text);
        }
        match column.nullable {
            Some(true) => self.word(" NULL"),
            Some(false) => self.word(" NOT NULL"),
            None => {}
        }
        if let Some(default) = &column.default {
            self.word(match default.kind {
                DefaultKind::Default => " DEFAULT",
                DefaultKind::Materialized => " MATERIALIZED",
                DefaultKind::Alias => " ALIAS",
                DefaultKind::Ephemeral => " EPHEMERAL",
                DefaultKind::AutoIncrement => " AUTO_INCREMENT",
            });
            if let Some(expr) = &default.expr {
                self.word(" ");
                self.closed(expr);
            }
        }
        if let Some(comment) = &column.comment {
            self.word(" COMMENT ");
            self.string(comment);
        }
        if !column.codec.is_empty() {
            self.word(" CODEC(");
            self.exprs(&column.codec);
            self.word(")");
        }
        if !column.statistics.is_empty() {
            self.word(" STATISTICS(");
            self.exprs(&column.statistics);
            self.word(")");
        }
        if let Some(ttl) = &column.ttl {
            self.word(" TTL ");
            self.closed(ttl);
        }
        if let Some(collate) = &column.collate {
            self.word(" COLLATE ");
            super::write_ident(&mut self.out, collate);
        }
        if column.primary_key {
            self.word(" PRIMARY KEY");
        }
        if !column.settings.is_empty() {
            self.word(" SETTINGS (");
            self.settings(&column.settings);
            self.word(")");
        }
    }

    pub(crate) fn index_def(&mut self, index: &IndexDef) {
        self.ident(&index.name);
        self.word(" ");
        self.closed(&index.expr);
        if let Some(ty) = &index.ty {
            self.word(" TYPE ");
            self.closed(ty);
        }
        if let Some(granularity) = index.granularity {
            self.word(&format!(" GRANULARITY {granularity}"));
        }
    }

    pub(crate) fn constraint_def(&mut self, constraint: &ConstraintDef) {
        self.ident(&constraint.name);
        self.word(if constraint.assume { " ASSUME " } else { " CHECK " });
        self.closed(&constraint.expr);
    }

    pub(crate) fn projection_def(&mut self, projection: &ProjectionDef) {
        self.ident(&projection.name);
        if let Some(index) = &projection.index {
            self.word(" INDEX ");
            self.expr(&index.expr);
            self.word(" TYPE ");
            self.ident(&index.ty);
        } else {
            self.line();
            self.word("(");
            self.indented(|p| {
                p.tight_line();
                p.projection_query(projection);
            });
            self.tight_line();
            self.word(")");
        }
        if !projection.settings.is_empty() {
            self.word(" WITH SETTINGS (");
            self.settings(&projection.settings);
            self.word(")");
        }
    }

    /// Its ORDER BY has no directions.
    pub(crate) fn projection_query(&mut self, projection: &ProjectionDef) {
        let mut select = projection.query.clone();
        let order_by = std::mem::take(&mut select.order_by);
        self.select(&select);
        if !order_by.is_empty() {
            self.line();
            self.word("ORDER BY");
            self.tall_list(&order_by, |p, item| p.expr(&item.expr));
        }
    }

    pub(crate) fn storage(&mut self, storage: &Storage) {
        if let Some(engine) = &storage.engine {
            self.engine(engine);
        }
        self.storage_clause("PARTITION BY ", &storage.partition_by);
        self.storage_clause("PRIMARY KEY ", &storage.primary_key);
        if let Some(key) = &storage.order_by {
            self.line();
            self.word("ORDER BY ");
            self.sorting_key(key);
        }
        self.storage_clause("SAMPLE BY ", &storage.sample_by);
        if !storage.ttl.is_empty() {
            self.line();
            self.word("TTL ");
            self.ttl_list(&storage.ttl);
        }
        if !storage.settings.is_empty() {
            self.line();
            self.word("SETTINGS ");
            self.settings(&storage.settings);
        }
    }

    fn storage_clause(&mut self, words: &str, expr: &Option<Expr>) {
        if let Some(expr) = expr {
            self.line();
            self.word(words);
            self.closed(expr);
        }
    }

    fn engine(&mut self, engine: &Engine) {
        self.line();
        self.word("ENGINE = ");
        super::write_ident(&mut self.out, &engine.name);
        if let Some(args) = &engine.args {
            self.word("(");
            self.exprs(args);
            self.word(")");
        }
    }

    pub(crate) fn sorting_key(&mut self, key: &[OrderItem]) {
        let item = |p: &mut Self, item: &OrderItem| {
            p.closed(&item.expr);
            if item.descending {
                p.word(" DESC");
            }
        };
        // Without parentheses only what cannot begin with one or read as `tuple(...)`.
        let plain = |expr: &Expr| match &expr.kind {
            ExprKind::Identifier(_) | ExprKind::Literal(_) => true,
            ExprKind::Call(call) => {
                matches!(call.style, CallStyle::Function | CallStyle::Cast) && call.name != "tuple"
            }
            _ => false,
        };
        match key {
            [] => self.word("tuple()"),
            [one] if one.descending && one.expr.span.parenthesised => {
                self.word("tuple(");
                self.word(&super::bare_expr(&one.expr));
                self.word(" DESC)");
            }
            [one] if plain(&one.expr) || one.expr.span.parenthesised => item(self, one),
            _ => {
                self.word("(");
                self.comma_list(key, item);
                self.word(")");
            }
        }
    }

    pub(crate) fn ttl_list(&mut self, list: &[TtlItem]) {
        self.comma_list(list, |p, ttl| {
            p.closed(&ttl.expr);
            match &ttl.action {
                TtlAction::Delete => {}
                TtlAction::ToDisk(name) => {
                    p.word(" TO DISK ");
                    p.string(name);
                }
                TtlAction::ToVolume(name) => {
                    p.word(" TO VOLUME ");
                    p.string(name);
                }
                TtlAction::Recompress(codec) => {
                    p.word(" RECOMPRESS CODEC(");
                    p.exprs(codec);
                    p.word(")");
                }
                TtlAction::GroupBy { keys, set } => {
                    p.word(" GROUP BY ");
                    p.exprs(keys);
                    if !set.is_empty() {
                        p.word(" SET ");
                        p.assignments(set);
                    }
                }
            }
            if let Some(condition) = &ttl.where_ {
                p.word(" WHERE ");
                p.closed(condition);
            }
        });
    }

    pub(crate) fn assignments(&mut self, list: &[(Ident, Expr)]) {
        self.comma_list(list, |p, (name, value)| {
            p.ident(name);
            p.word(" = ");
            p.closed(value);
        });
    }

    pub(crate) fn create_view(&mut self, view: &CreateView) {
        let kind = if view.materialized { "MATERIALIZED VIEW " } else { "VIEW " };
        self.head(view.attach, replaces(view.or_replace), view.temporary, kind);
        if view.if_not_exists {
            self.word("IF NOT EXISTS ");
        }
        self.object_name(&view.name);
        self.uuid(&view.uuid);
        self.on_cluster(&view.cluster);
        if let Some(refresh) = &view.refresh {
            self.line();
            self.word("REFRESH ");
            self.refresh(refresh);
        }
        if let Some(to) = &view.to {
            self.word(" TO ");
            self.object_name(to);
        }
        if let Some(columns) = &view.columns {
            self.table_definition(columns);
        }
        self.storage(&view.storage);
        if view.populate {
            self.word(" POPULATE");
        }
        if view.empty {
            self.word(" EMPTY");
        }
        if let Some(security) = &view.security {
            self.line();
            if let Some(definer) = &security.definer {
                self.word("DEFINER = ");
                self.ident(definer);
            }
            if let Some(kind) = security.kind {
                self.word(if security.definer.is_some() { " SQL SECURITY " } else { "SQL SECURITY " });
                self.word(kind);
            }
        }
        self.comment(&view.comment);
        self.line();
        self.word("AS ");
        self.query(&view.query);
    }

    /// What follows the word REFRESH.
    pub(crate) fn refresh(&mut self, refresh: &Refresh) {
        match &refresh.period {
            RefreshPeriod::Every { period, offset } => {
                self.time_span("EVERY", period);
                self.time_span(" OFFSET", offset);
            }
            RefreshPeriod::After(period) => self.time_span("AFTER", period),
            RefreshPeriod::Dependencies => {}
        }
        self.time_span(" RANDOMIZE FOR", &refresh.randomize);
        if !refresh.depends_on.is_empty() {
            let has_period = !matches!(refresh.period, RefreshPeriod::Dependencies);
            self.word(if has_period { " DEPENDS ON " } else { "DEPENDS ON " });
            self.comma_list(&refresh.depends_on, |p, name| p.object_name(name));
        }
        if !refresh.settings.is_empty() {
            self.word(" SETTINGS ");
            self.settings(&refresh.settings);
        }
        if refresh.append {
            self.word(" APPEND");
        }
    }

    /// Words and a span of time; nothing for an empty one.
    fn time_span(&mut self, words: &str, span: &[(u64, &'static str)]) {
        if span.is_empty() {
            return;
        }
        self.word(words);
        for (number, unit) in span {
            self.word(&format!(" {number} {}", unit.to_ascii_uppercase()));
        }
    }

    pub(crate) fn create_database(&mut self, database: &CreateDatabase) {
        self.head(database.attach, Replace::No, false, "DATABASE ");
        if database.if_not_exists {
            self.word("IF NOT EXISTS ");
        }
        self.ident(&database.name);
        self.uuid(&database.uuid);
        self.on_cluster(&database.cluster);
        if let Some(engine) = &database.engine {
            self.engine(engine);
        }
        if !database.settings.is_empty() {
            self.line();
            self.word("SETTINGS ");
            self.settings(&database.settings);
        }
        self.comment(&database.comment);
    }

    pub(crate) fn create_function(&mut self, function: &CreateFunction) {
        self.head(false, replaces(function.or_replace), false, "FUNCTION ");
        if function.if_not_exists {
            self.word("IF NOT EXISTS ");
        }
        self.ident(&function.name);
        self.on_cluster(&function.cluster);
        self.word(" AS ");
        self.closed(&function.body);
    }

    pub(crate) fn create_dictionary(&mut self, dictionary: &CreateDictionary) {
        self.head(dictionary.attach, dictionary.replace, false, "DICTIONARY ");
        if dictionary.if_not_exists {
            self.word("IF NOT EXISTS ");
        }
        self.object_name(&dictionary.name);
        self.on_cluster(&dictionary.cluster);
        if !dictionary.attributes.is_empty() {
            self.line();
            self.word("(");
            self.attribute_list(&dictionary.attributes, |p, attribute| {
                write_quoted(&mut p.out, &attribute.name.name);
                p.then(&attribute.ty.text);
                for (word, value) in
                    [(" DEFAULT ", &attribute.default), (" EXPRESSION ", &attribute.expression)]
                {
                    if let Some(value) = value {
                        p.word(word);
                        p.closed(value);
                    }
                }
                for (flag, word) in [
                    (attribute.hierarchical, " HIERARCHICAL"),
                    (attribute.bidirectional, " BIDIRECTIONAL"),
                    (attribute.injective, " INJECTIVE"),
                    (attribute.is_object_id, " IS_OBJECT_ID"),
                ] {
                    if flag {
                        p.word(word);
                    }
                }
            });
            self.tight_line();
            self.word(")");
        }
        if !dictionary.primary_key.is_empty() {
            self.line();
            self.word("PRIMARY KEY ");
            self.comma_list(&dictionary.primary_key, |p, name| {
                super::text::write_word(&mut p.out, &name.name)
            });
        }
        self.dictionary_part("SOURCE(", &dictionary.source);
        if let Some(lifetime) = &dictionary.lifetime {
            self.line();
            self.word(&format!("LIFETIME(MIN {} MAX {})", lifetime.min, lifetime.max));
        }
        self.dictionary_part("LAYOUT(", &dictionary.layout);
        if let Some((min, max)) = &dictionary.range {
            self.line();
            self.word("RANGE(MIN ");
            self.ident(min);
            self.word(" MAX ");
            self.ident(max);
            self.word(")");
        }
        if !dictionary.settings.is_empty() {
            self.line();
            self.word("SETTINGS(");
            self.settings(&dictionary.settings);
            self.word(")");
        }
        self.comment(&dictionary.comment);
    }

    fn dictionary_part(&mut self, word: &str, function: &Option<KeyValueFunction>) {
        if let Some(function) = function {
            self.line();
            self.word(word);
            self.key_value_function(function);
            self.word(")");
        }
    }

    /// Each on a line of its own.
    fn attribute_list<T>(&mut self, list: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.indented(|p| {
            for (i, element) in list.iter().enumerate() {
                if i > 0 {
                    p.word(if p.multiline { "," } else { ", " });
                }
                p.tight_line();
                item(p, element);
            }
        });
    }

    fn key_value_function(&mut self, function: &KeyValueFunction) {
        super::text::write_word(&mut self.out, &function.name);
        if !function.has_parens {
            return;
        }
        self.word("(");
        self.key_value_pairs(&function.pairs);
        self.word(")");
    }

    fn key_value_pairs(&mut self, pairs: &[(String, KeyValue)]) {
        for (i, (key, value)) in pairs.iter().enumerate() {
            if i > 0 {
                self.word(" ");
            }
            super::text::write_word(&mut self.out, key);
            self.word(" ");
            match value {
                KeyValue::Expr(expr) => self.closed(expr),
                KeyValue::Nested(function) => self.key_value_function(function),
                KeyValue::List(pairs) => {
                    self.word("(");
                    self.key_value_pairs(pairs);
                    self.word(")");
                }
            }
        }
    }
}
