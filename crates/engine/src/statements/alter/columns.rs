//! ALTER TABLE ... COLUMN, COMMENT and CONSTRAINT: another version of the columns. Parts are left as they are: what they lack is
//! filled in, and what they have in another type is converted, when they are read or merged.

use super::clauses::with_clause;
use super::target::check_not_of_engine;
use super::{
    Kept, altering, indexes, memory_columns, nested, renamed, settings, settled_types, sorting_key, uses,
};
use crate::column_checks::{
    check_statistics, is_reserved, settings as column_settings, statistics as declared_statistics,
    statistics_kind,
};
use crate::column_definitions::columns;
use crate::defaults_over_stored::over_stored;
use crate::implicit_indexes;
use crate::query_context::QueryContext;
use crate::reading::caster;
use crate::statements::create::{self, skip_index, sorting_keys};
use crate::stored_columns::{bind_stored, validate};
use chalet_base::suggest::nearest;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_binder::table_columns::bind_constant;
use chalet_columns::{Column, Vector};
use chalet_storage::catalog::in_backquotes;
use chalet_storage::merge_tree::change::Change;
use chalet_storage::merge_tree::columns::VersionColumn;
use chalet_storage::merge_tree::{Defaults, Definition, ImplicitIndexes, MergeTree, SortingKey};
use chalet_storage::{
    ColumnSchema, Constraint, DefaultKind, Projection, RowMerging, ScanRequest, SkipIndex, Table, TableSchema,
};
use chalet_syntax::ast::{self, AlterCommand, ColumnPosition, StatisticsAction};
use chalet_types::DataType;
use std::sync::Arc;

pub(super) fn is_of_columns(command: &AlterCommand) -> bool {
    matches!(
        command,
        AlterCommand::AddColumn { .. }
            | AlterCommand::DropColumn { .. }
            | AlterCommand::ModifyColumn { .. }
            | AlterCommand::RenameColumn { .. }
            | AlterCommand::CommentColumn { .. }
            | AlterCommand::ModifyComment(_)
            | AlterCommand::AddConstraint { .. }
            | AlterCommand::DropConstraint { .. }
            | AlterCommand::AddIndex { .. }
            | AlterCommand::DropIndex { .. }
            | AlterCommand::ModifyOrderBy(_)
            | AlterCommand::Statistics { .. }
            | AlterCommand::ModifyColumnSettings { .. }
            | AlterCommand::ResetColumnSettings { .. }
            | AlterCommand::AddProjection { .. }
            | AlterCommand::DropProjection { .. }
    )
}

/// A column with its number among those that are stored.
#[derive(Clone)]
pub(super) struct Altered {
    pub schema: ColumnSchema,
    /// `None` for a column that is new.
    pub id: Option<u32>,
    pub fill: Option<Vector>,
}

/// What becomes of a table.
pub(super) struct Draft<'a> {
    pub columns: Vec<Altered>,
    constraints: Vec<Constraint>,
    indexes: Vec<SkipIndex>,
    implicit_indexes: ImplicitIndexes,
    projections: Vec<Projection>,
    pub comment: String,
    /// That of the rows.
    ttl: String,
    /// Columns whose values must be tried in another type.
    pub converted: Vec<Arc<str>>,
    /// Texts of the keys, which hold names of columns.
    pub keys: Vec<String>,
    /// What merges do with rows of equal keys.
    pub merging: Option<RowMerging>,
    /// The partition key of a table with parts.
    pub partition: Option<String>,
    defaults: Arc<dyn Defaults>,
    /// Columns that are new.
    added: Vec<Arc<str>>,
    /// ORDER BY, where it is changed.
    sorting: Option<Vec<SortingKey>>,
    pub ctx: &'a QueryContext,
}

pub(super) fn run(name: &ast::ObjectName, commands: &[AlterCommand], ctx: &QueryContext) -> Result<()> {
    let kept = Kept::find(name, ctx)?;
    if memory_columns::takes(&*kept.entry.table, commands) {
        return memory_columns::run(&kept, commands, ctx);
    }
    altering(name, ctx, |kept, table| apply(kept, table, commands, ctx))
}

fn apply(kept: &Kept, table: &MergeTree, commands: &[AlterCommand], ctx: &QueryContext) -> Result<()> {
    for command in commands {
        if let AlterCommand::DropColumn { name, .. } = command {
            check_not_of_engine(table, &name.name)?;
        }
    }
    let version = table.definition().columns.clone();
    let known = |name: &str| {
        let found = version.columns.iter().find(|column| *column.name == *name);
        found.map(|column| (column.id, column.fill.clone()))
    };
    let mut draft = Draft {
        ttl: table.definition().keys.ttl.to_string(),
        keys: key_texts(table),
        merging: Some(table.definition().keys.merging.clone()),
        partition: Some(table.definition().keys.partition.to_string()),
        ..Draft::of(kept, table, table.definition().defaults.clone(), known, ctx)
    };
    let schema = draft.altered_by(commands)?;
    skip_index::check(&schema, ctx)?;
    if commands.iter().any(|command| matches!(command, AlterCommand::AddProjection { .. })) {
        super::projection_modes::check_merging(table, &kept.entry, ctx)?;
    }
    create::projection::check(&schema, ctx)?;
    bind_stored(draft.keys.iter().map(String::as_str), &schema, ctx)?;
    let altered = altered(table, &draft, &schema)?;
    create::ttl::check(&altered.definition().keys, &schema, ctx)?;
    create::ttl::check_columns(&altered.definition().keys, &schema, ctx)?;
    let engine = match draft.ttl == *table.definition().keys.ttl {
        true => kept.engine()?.to_string(),
        false => with_clause(kept.engine()?, "TTL", Some(&draft.ttl)),
    };
    let (altered, engine) = match &draft.sorting {
        None => (altered, engine),
        Some(sorting) => {
            let settings = super::projection_modes::settings_of(&kept.entry, ctx)?;
            let keys = sorting_key::changed(&altered, sorting, &draft.added, &schema, &settings, ctx)?;
            let engine = sorting_key::engine(&engine, &keys);
            let definition = Definition { keys, ..Definition::clone(altered.definition()) };
            (MergeTree::of(definition, altered.parts().clone()), engine)
        }
    };
    super::projections::check_converted(&draft.projections, &draft.converted, ctx)?;
    let columns = altered.definition().columns.clone();
    let changed = columns.columns.iter().filter(|column| {
        version.position(column.id).is_some_and(|before| version.columns[before].ty != column.ty)
    });
    let changed: Vec<u32> = changed.map(|column| column.id).collect();
    settled_types::settle(table, &changed, ctx)?;
    for name in &draft.converted {
        try_conversion(&altered, name, ctx)?;
    }
    let is_same =
        version.columns.len() == columns.columns.len()
            && version.columns.iter().zip(columns.columns.iter()).all(|(a, b)| {
                a.id == b.id && a.name == b.name && a.ty == b.ty && same_value(&a.fill, &b.fill)
            });
    if is_same {
        let handle = MergeTree::of(
            Definition { columns: version, ..Definition::clone(altered.definition()) },
            table.parts().clone(),
        );
        kept.replace_engine(Arc::new(handle), &schema, &engine, &draft.comment, ctx)?;
        return remove_dropped(table, &draft, ctx);
    }
    // The journal first: a version that no definition names is forgotten when the table is opened.
    table.parts().commit(Change { columns: vec![columns.clone()], ..Change::default() })?;
    let kept = kept.replace_engine(Arc::new(altered), &schema, &engine, &draft.comment, ctx);
    // The definition may be one that both versions have, and rows that follow are of the one that is in use.
    let settled = match &kept {
        Ok(()) if columns.definition == 0 => return remove_dropped(table, &draft, ctx),
        Ok(()) => table.parts().settle_columns(&columns),
        Err(_) => table.parts().settle_columns(&version),
    };
    if let (Err(_), Some(folder)) = (settled, table.parts().folder()) {
        folder.lose();
    }
    kept?;
    remove_dropped(table, &draft, ctx)
}

/// Removes what parts have of indexes and projections that are gone.
fn remove_dropped(table: &MergeTree, draft: &Draft, ctx: &QueryContext) -> Result<()> {
    indexes::remove_dropped(table, &draft.indexes, ctx)?;
    super::projections::remove_dropped(table, &draft.projections, ctx)
}

fn altered(table: &MergeTree, draft: &Draft, schema: &TableSchema) -> Result<MergeTree> {
    let mut next_id = table.next_column_id()?;
    let stored = draft.columns.iter().filter(|column| column.schema.is_stored());
    let version = stored.map(|column| {
        let id = column.id.unwrap_or_else(|| {
            next_id += 1;
            next_id - 1
        });
        let ty = column.schema.ty.clone();
        let fill = column.fill.clone().unwrap_or_else(|| Vector::unsaid(&ty, 1));
        VersionColumn { id, name: column.schema.name.clone(), ty, fill }
    });
    let altered = table.with_columns(schema.clone(), version.collect())?;
    let mut definition = Definition::clone(altered.definition());
    definition.keys.ttl = draft.ttl.as_str().into();
    Ok(MergeTree::of(definition, table.parts().clone()))
}

/// Expressions whose columns stay: those of the keys, and what the rule for rows of equal keys names.
fn key_texts(table: &MergeTree) -> Vec<String> {
    let keys = &table.definition().keys;
    let named = keys.merging.columns().into_iter().map(|name| in_backquotes(name));
    let sampling = (!keys.sampling.is_empty()).then(|| keys.sampling.to_string());
    keys.all().map(|(text, _)| text.to_string()).chain(sampling).chain(named).collect()
}

fn same_value(a: &Vector, b: &Vector) -> bool {
    a.value(0) == b.value(0)
}

/// Fails where a value cannot be converted to the column's new type.
fn try_conversion(table: &MergeTree, name: &str, ctx: &QueryContext) -> Result<()> {
    let Some(column) = table.schema().index_of(name) else { return Ok(()) };
    let request =
        ScanRequest { columns: vec![column], context: ctx.exec.scan.clone(), ..ScanRequest::default() };
    let mut rows = table.scan(&request)?.worker()?;
    while rows.next()?.is_some() {
        ctx.control.check_with_interrupt()?;
    }
    Ok(())
}

impl<'a> Draft<'a> {
    /// The table as it is; `known`: the number of a stored column, and what rows have that lack it.
    pub fn of(
        kept: &Kept,
        table: &dyn Table,
        defaults: Arc<dyn Defaults>,
        known: impl Fn(&str) -> Option<(u32, Vector)>,
        ctx: &'a QueryContext,
    ) -> Draft<'a> {
        let own = table.schema();
        let columns = own.columns.iter().filter(|column| !column.is_virtual).map(|column| {
            let (id, fill) = known(&column.name).unzip();
            Altered { schema: column.clone(), id, fill }
        });
        Draft {
            columns: columns.collect(),
            constraints: own.constraints.to_vec(),
            indexes: own.indexes.to_vec(),
            implicit_indexes: match table.as_any().downcast_ref::<MergeTree>() {
                Some(table) => table.definition().implicit_indexes,
                None => ImplicitIndexes::default(),
            },
            projections: own.projections.to_vec(),
            comment: kept.entry.comment.to_string(),
            ttl: String::new(),
            converted: Vec::new(),
            keys: Vec::new(),
            merging: None,
            partition: None,
            defaults,
            added: Vec::new(),
            sorting: None,
            ctx,
        }
    }

    /// What the commands make of the columns, checked.
    pub fn altered_by(&mut self, commands: &[AlterCommand]) -> Result<TableSchema> {
        let columns_now = |draft: &Self| -> Vec<ColumnSchema> {
            draft.columns.iter().map(|column| column.schema.clone()).collect()
        };
        nested::check_renames(commands)?;
        for command in commands {
            let before = columns_now(self);
            self.apply(command)?;
            let after = columns_now(self);
            implicit_indexes::follow(&mut self.indexes, &before, &after, self.implicit_indexes);
        }
        let schema = TableSchema {
            constraints: self.constraints.clone().into(),
            indexes: self.indexes.clone().into(),
            projections: self.projections.clone().into(),
            ..TableSchema::new(self.columns.iter().map(|column| column.schema.clone()).collect())
        };
        ensure!(
            schema.columns.iter().any(ColumnSchema::is_stored),
            BAD_ARGUMENTS,
            "Cannot drop or clear all columns"
        );
        validate(&schema, self.ctx)?;
        Ok(schema)
    }

    fn apply(&mut self, command: &AlterCommand) -> Result<()> {
        match command {
            AlterCommand::AddColumn { if_not_exists, column, position } => {
                self.add(*if_not_exists, column, position.as_ref())
            }
            AlterCommand::DropColumn { if_exists, name } => self.drop(*if_exists, &name.name),
            AlterCommand::ModifyColumn { if_exists, column, position, remove } => {
                self.modify(*if_exists, column, position.as_ref(), remove.as_deref())
            }
            AlterCommand::RenameColumn { if_exists, from, to } => {
                self.rename(*if_exists, &from.name, &to.name)
            }
            AlterCommand::CommentColumn { if_exists, name, comment } => {
                let Some(at) = self.position(&name.name, *if_exists)? else { return Ok(()) };
                self.columns[at].schema.comment = String::from_utf8_lossy(comment).into();
                Ok(())
            }
            AlterCommand::ModifyComment(comment) => {
                self.comment = String::from_utf8_lossy(comment).into_owned();
                Ok(())
            }
            AlterCommand::AddConstraint { if_not_exists, constraint } => {
                let name = &constraint.name.name;
                if self.constraints.iter().any(|c| *c.name == **name) {
                    ensure!(
                        *if_not_exists,
                        ILLEGAL_COLUMN,
                        "Cannot add constraint {name}: constraint with this name already exists"
                    );
                    return Ok(());
                }
                self.constraints.push(Constraint {
                    name: name.as_str().into(),
                    expr: constraint.expr.to_string().into(),
                    is_assumed: constraint.assume,
                });
                Ok(())
            }
            AlterCommand::DropConstraint { if_exists, name } => {
                let before = self.constraints.len();
                self.constraints.retain(|c| *c.name != *name.name);
                ensure!(
                    *if_exists || self.constraints.len() < before,
                    BAD_ARGUMENTS,
                    "Wrong constraint name. Cannot find constraint `{}` to drop",
                    name.name
                );
                Ok(())
            }
            AlterCommand::AddIndex { if_not_exists, index, position } => indexes::add(
                &mut self.indexes,
                self.implicit_indexes,
                index,
                position.as_ref(),
                *if_not_exists,
            ),
            AlterCommand::DropIndex { if_exists, name } => {
                indexes::drop(&mut self.indexes, &name.name, *if_exists)
            }
            AlterCommand::ModifyOrderBy(items) => {
                self.sorting = Some(sorting_keys(items));
                Ok(())
            }
            AlterCommand::Statistics { action, if_exists, columns, types } => {
                self.statistics(*action, *if_exists, columns, types)
            }
            AlterCommand::ModifyColumnSettings { if_exists, name, settings } => {
                let Some(at) = self.position(&name.name, *if_exists)? else { return Ok(()) };
                let names = settings.iter().map(|setting| setting.name.name.as_str());
                settings::check_of_column(names.clone())?;
                let mut kept = self.settings_without(at, &names.collect::<Vec<_>>())?;
                kept.extend(settings.iter().cloned());
                self.set_settings(at, kept);
                Ok(())
            }
            AlterCommand::ResetColumnSettings { if_exists, name, names } => {
                let Some(at) = self.position(&name.name, *if_exists)? else { return Ok(()) };
                let names = names.iter().map(|name| name.name.as_str());
                settings::check_of_column(names.clone())?;
                let kept = self.settings_without(at, &names.collect::<Vec<_>>())?;
                self.set_settings(at, kept);
                Ok(())
            }
            AlterCommand::AddProjection { if_not_exists, projection, position } => {
                super::projections::add(&mut self.projections, projection, position.as_ref(), *if_not_exists)
            }
            AlterCommand::DropProjection { if_exists, name } => {
                super::projections::drop(&mut self.projections, &name.name, *if_exists)
            }
            _ => bail!(LOGICAL_ERROR, "A command that is not of columns"),
        }
    }

    /// What is declared changes: the files of parts have statistics of every column, so that none are kept beside them.
    fn statistics(
        &mut self,
        action: StatisticsAction,
        if_exists: bool,
        columns: &[ast::Ident],
        types: &[ast::Expr],
    ) -> Result<()> {
        let all = columns.is_empty();
        let named = |column: &Altered| all || columns.iter().any(|c| c.name == *column.schema.name);
        for ast::Ident { name, .. } in columns {
            let word = if matches!(action, StatisticsAction::Drop) { "drop" } else { "clear" };
            let found = self.columns.iter().find(|column| *column.schema.name == **name);
            match (action, found) {
                (StatisticsAction::Add | StatisticsAction::Modify, None) => bail!(
                    ILLEGAL_STATISTICS,
                    "Cannot add statistics for column {name}: this column is not found"
                ),
                (StatisticsAction::Drop | StatisticsAction::Clear, found) => ensure!(
                    if_exists || found.is_some_and(|column| !column.schema.statistics.is_empty()),
                    ILLEGAL_STATISTICS,
                    "Wrong statistics name. Cannot find statistics `{name}` to {word}"
                ),
                _ => {}
            }
        }
        for column in self.columns.iter_mut().filter(|column| named(column)) {
            let name = column.schema.name.to_string();
            match action {
                StatisticsAction::Drop => column.schema.statistics = "".into(),
                StatisticsAction::Clear | StatisticsAction::Materialize => {}
                StatisticsAction::Add | StatisticsAction::Modify => {
                    let mut written = definition_of(&column.schema)?;
                    let before = std::mem::take(&mut written.statistics);
                    for kind in types {
                        let kind_name = statistics_kind(kind)?;
                        let is_there =
                            before.iter().any(|known| statistics_kind(known) == Ok(kind_name.clone()));
                        if !is_there || matches!(action, StatisticsAction::Modify) {
                            written.statistics.push(kind.clone());
                            continue;
                        }
                        ensure!(
                            if_exists,
                            ILLEGAL_STATISTICS,
                            "Statistics type name {kind_name} has existed in column {name}"
                        );
                    }
                    check_statistics(&written, &column.schema.ty, self.ctx)?;
                    if matches!(action, StatisticsAction::Add) {
                        written.statistics.extend(before);
                    }
                    column.schema.statistics = declared_statistics(&written)?;
                }
            }
        }
        Ok(())
    }

    /// The settings of a column but for these.
    fn settings_without(&self, at: usize, names: &[&str]) -> Result<Vec<ast::Setting>> {
        let mut kept = definition_of(&self.columns[at].schema)?.settings;
        kept.retain(|setting| !names.contains(&setting.name.name.as_str()));
        Ok(kept)
    }

    fn set_settings(&mut self, at: usize, settings: Vec<ast::Setting>) {
        self.columns[at].schema.settings = column_settings(&settings);
    }

    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| &*column.schema.name).collect()
    }

    /// Where a column is; `None` where there is none and that is allowed.
    pub fn position(&self, name: &str, if_exists: bool) -> Result<Option<usize>> {
        let found = self.columns.iter().position(|column| *column.schema.name == *name);
        match found {
            None if !if_exists => Err(self.missing(name)),
            found => Ok(found),
        }
    }

    fn missing(&self, name: &str) -> Error {
        let names = self.columns.iter().map(|column| &*column.schema.name);
        match nearest(name, names, 1).first() {
            Some(near) => err!(
                NOT_FOUND_COLUMN_IN_BLOCK,
                "Wrong column name. Cannot find column `{name}`, maybe you meant: ['{near}']"
            ),
            None => err!(NOT_FOUND_COLUMN_IN_BLOCK, "Wrong column name. Cannot find column `{name}`"),
        }
    }

    pub fn place(&self, position: Option<&ColumnPosition>) -> Result<usize> {
        Ok(match position {
            None => self.columns.len(),
            Some(ColumnPosition::First) => 0,
            Some(ColumnPosition::After(name)) => match nested::last(&self.names(), &name.name) {
                Some(at) => at + 1,
                None => bail!(
                    NO_SUCH_COLUMN_IN_TABLE,
                    "Wrong column name. Cannot find column {} to insert after",
                    name.name
                ),
            },
        })
    }

    /// All columns with this one as it is written, checked; the one is returned, or the several of a Nested.
    pub fn declared(
        &self,
        column: &ast::ColumnDef,
        others: impl Iterator<Item = usize>,
    ) -> Result<Vec<ColumnSchema>> {
        let mut defs = Vec::new();
        for at in others {
            defs.push(definition_of(&self.columns[at].schema)?);
        }
        defs.push(column.clone());
        let name = &column.name.name;
        let mut made = columns(&defs, self.ctx)?;
        made.retain(|made| *made.name == **name || nested::is_member(&made.name, name));
        // CREATE makes the type Nullable.
        let says_null = |made: &ColumnSchema| {
            made.default.as_ref().is_some_and(|(_, text)| text.eq_ignore_ascii_case("NULL"))
        };
        let is_null = made.iter().any(says_null);
        let ty = column.ty.as_ref().map(|ty| ty.text.parse::<DataType>()).transpose()?;
        ensure!(
            !is_null || ty.is_none_or(|ty| ty.is_nullable()),
            CANNOT_CONVERT_TYPE,
            "Cannot convert NULL to a non-nullable type: default expression and column type are incompatible"
        );
        Ok(made)
    }

    fn add(
        &mut self,
        if_not_exists: bool,
        column: &ast::ColumnDef,
        position: Option<&ColumnPosition>,
    ) -> Result<()> {
        let name = &column.name.name;
        ensure!(
            !is_reserved(name),
            ILLEGAL_COLUMN,
            "Cannot add column `{name}`: this column name is reserved for persistent virtual column"
        );
        if nested::last(&self.names(), name).is_some() {
            ensure!(
                if_not_exists,
                DUPLICATE_COLUMN,
                "Cannot add column {name}: column with this name already exists"
            );
            return Ok(());
        }
        ensure!(
            column.ty.is_some(),
            BAD_ARGUMENTS,
            "Data type have to be specified for column `{name}` to add"
        );
        let declared = self.declared(column, 0..self.columns.len())?;
        let at = self.place(position)?;
        for (behind, schema) in declared.into_iter().enumerate() {
            let fill = self.fill(&schema)?;
            self.added.push(schema.name.clone());
            self.columns.insert(at + behind, Altered { schema, id: None, fill });
        }
        Ok(())
    }

    /// What rows have that are there already.
    pub fn fill(&self, column: &ColumnSchema) -> Result<Option<Vector>> {
        let Some((DefaultKind::Default | DefaultKind::Materialized, text)) = &column.default else {
            return Ok(None);
        };
        let others = self.columns.iter().map(|other| other.schema.clone());
        let others = TableSchema::new(others.filter(|other| other.name != column.name).collect());
        let written = over_stored(chalet_syntax::parse_expression(text)?, &others)?;
        let mut reads = false;
        chalet_syntax::visit::walk(&written, &mut |e| {
            reads |= matches!(&e.kind, ast::ExprKind::Identifier(_));
            !reads
        });
        if reads {
            // It is computed when parts without the column are read.
            self.defaults.reads(column, &others)?;
            return Ok(None);
        }
        let literal = bind_constant(&written, self.ctx, &self.ctx.ids)?;
        let value = Column::of_value(&literal.value(), &literal.ty, 1)?;
        let cast = caster(self.ctx)(&value, &literal.ty, &column.ty)?;
        Ok(Some(cast.into_flat()))
    }

    /// Fails where a key or another column needs the column.
    fn check_free(&self, name: &str, what: &str) -> Result<()> {
        check_not_in_keys(&self.keys, name, what)?;
        self.check_not_read(name, what)
    }

    /// Fails where a default or a constraint reads the column.
    fn check_not_read(&self, name: &str, what: &str) -> Result<()> {
        for column in self.columns.iter().filter(|column| *column.schema.name != *name) {
            if let Some((_, text)) = &column.schema.default
                && !text.is_empty()
                && uses(text, name)?
            {
                bail!(
                    ILLEGAL_COLUMN,
                    "Cannot {what} column {name}, because column {} depends on it",
                    column.schema.name
                );
            }
        }
        for constraint in &self.constraints {
            ensure!(
                !uses(&constraint.expr, name)?,
                ILLEGAL_COLUMN,
                "Cannot {what} column {name}, because constraint {} depends on it",
                constraint.name
            );
        }
        Ok(())
    }

    fn drop(&mut self, if_exists: bool, name: &str) -> Result<()> {
        let members = nested::members(&self.names(), name);
        for member in &members {
            self.check_free(member, "drop")?;
        }
        if !members.is_empty() {
            self.columns.retain(|column| !nested::is_member(&column.schema.name, name));
            return Ok(());
        }
        let Some(at) = self.position(name, if_exists)? else { return Ok(()) };
        self.check_free(name, "drop")?;
        self.columns.remove(at);
        Ok(())
    }

    fn rename(&mut self, if_exists: bool, from: &str, to: &str) -> Result<()> {
        ensure!(
            nested::members(&self.names(), from).is_empty(),
            NOT_IMPLEMENTED,
            "Cannot rename whole Nested struct"
        );
        let Some(at) = self.position(from, if_exists)? else { return Ok(()) };
        ensure!(
            !self.columns.iter().any(|column| *column.schema.name == *to),
            DUPLICATE_COLUMN,
            "Cannot rename to {to}: column with this name already exists"
        );
        nested::check_rename(from, to)?;
        check_not_in_keys(&self.keys, from, "rename")?;
        for column in &mut self.columns {
            if let Some((_, text)) = &mut column.schema.default
                && !text.is_empty()
                && uses(text, from)?
            {
                *text = renamed(text, from, to)?.into();
            }
        }
        for constraint in &mut self.constraints {
            constraint.expr = renamed(&constraint.expr, from, to)?.into();
        }
        indexes::rename(&mut self.indexes, from, to)?;
        for column in &mut self.columns {
            if let Some(ttl) = &column.schema.ttl {
                column.schema.ttl = Some(renamed(ttl, from, to)?.into());
            }
        }
        self.ttl = super::ttl::renamed_rules(&self.ttl, from, to)?;
        self.columns[at].schema.name = to.into();
        Ok(())
    }
}

/// Fails where a key has the column.
pub(super) fn check_not_in_keys<'k>(
    keys: impl IntoIterator<Item = &'k String>,
    name: &str,
    what: &str,
) -> Result<()> {
    for key in keys {
        ensure!(
            !uses(key, name)?,
            ALTER_OF_COLUMN_IS_FORBIDDEN,
            "Trying to ALTER {what} key {name} column: it is part of the key expression {key}"
        );
    }
    Ok(())
}

/// The column as a statement declares it.
pub(super) fn definition_of(column: &ColumnSchema) -> Result<ast::ColumnDef> {
    let schema = TableSchema::new(vec![column.clone()]);
    let text =
        format!("CREATE TABLE t\n(\n{}\n)\nENGINE = Memory", crate::statements::create::columns_sql(&schema));
    let parsed = chalet_syntax::parse_printed(&text)?;
    match parsed.into_iter().next().map(|statement| statement.kind) {
        Some(ast::StatementKind::CreateTable(create)) if create.definition.columns.len() == 1 => Ok(create
            .definition
            .columns
            .into_iter()
            .next()
            .ok_or_else(|| err!(LOGICAL_ERROR, "A column is lost"))?),
        _ => bail!(LOGICAL_ERROR, "A column cannot be printed: {text}"),
    }
}
