//! The tables that a SELECT sees, and their columns.

use chalet_base::{Result, bail};
use chalet_plan::{ColumnId, Expr, Field};
use chalet_syntax::ast;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// One table expression of FROM.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableScope {
    /// The alias, else the table's name.
    pub name: Option<String>,
    /// Only when there is no alias.
    pub database: Option<String>,
    /// The table's own name beside an alias: it stands for the table too, unless another one is meant.
    pub own_name: Option<String>,
    /// The database of the table, beside an alias.
    pub own_database: Option<String>,
    /// What PREWHERE is refused for.
    pub no_prewhere: Option<Arc<str>>,
    pub columns: Vec<ScopeColumn>,
    /// Names of EPHEMERAL columns, which INSERT alone knows.
    pub ephemeral: Vec<Arc<str>>,
}

#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    pub name: Arc<str>,
    pub expr: Expr,
    pub in_star: bool,
    /// Set when a name is resolved to the column, where the table wants to know.
    pub mark: Option<Arc<AtomicBool>>,
}

impl ScopeColumn {
    /// What a name that is resolved to the column stands for.
    pub fn named(&self) -> Expr {
        if let Some(mark) = &self.mark {
            mark.store(true, Relaxed);
        }
        self.expr.clone()
    }
}

/// `*`, `t.*` and `COLUMNS(...)`.
pub(crate) fn is_matcher(e: &ast::Expr) -> bool {
    matches!(
        e.kind,
        ast::ExprKind::Star(_) | ast::ExprKind::QualifiedStar { .. } | ast::ExprKind::Columns { .. }
    )
}

/// The columns of a Nested: their names in it, and what they are.
pub(crate) type Group<'s> = Vec<(&'s str, Expr)>;

impl TableScope {
    /// The columns `name.x` of a Nested.
    pub fn group(&self, name: &str) -> Option<Group<'_>> {
        let of_group = |c: &'_ ScopeColumn| c.name.strip_prefix(name)?.strip_prefix('.').map(str::len);
        let columns = self.columns.iter().filter_map(|c| {
            let len = of_group(c)?;
            Some((&c.name[c.name.len() - len..], c.named()))
        });
        Some(columns.collect()).filter(|columns: &Group| !columns.is_empty())
    }

    pub fn find(&self, name: &str) -> Option<&ScopeColumn> {
        self.columns.iter().find(|c| &*c.name == name)
    }

    pub fn of_fields(name: Option<String>, fields: &[Field]) -> TableScope {
        let columns = fields.iter().map(|f| ScopeColumn {
            name: f.name.clone(),
            expr: Expr::Column(f.id, f.ty.clone()),
            in_star: true,
            mark: None,
        });
        TableScope { name, columns: columns.collect(), ..TableScope::default() }
    }

    /// Replaces columns by others (after a join changed their type).
    pub fn rename(&mut self, renamed: &[(ColumnId, Field)]) {
        let pairs: Vec<_> = renamed.iter().map(|(from, to)| (*from, (to.id, to.ty.clone()))).collect();
        self.columns.iter_mut().for_each(|c| c.expr = c.expr.rename(&pairs));
    }
}

/// All tables of FROM, in order, and the columns that USING merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub list: Vec<TableScope>,
    /// Found by their bare name before any table's.
    pub merged: Vec<ScopeColumn>,
    /// What the joins with USING merged, in their order.
    pub usings: Vec<Using>,
    /// Merged columns whose names a later join found in its right table too: the bare name means neither.
    pub ambiguous: Vec<Arc<str>>,
    /// Elements that ARRAY JOIN gave the name of a column: the bare name means them, `*` does not.
    pub joined: Vec<ScopeColumn>,
    /// Nested columns that ARRAY JOIN took apart, by the names that their elements have now.
    pub unnested: Vec<Arc<str>>,
}

/// A USING.
#[derive(Clone, Debug)]
pub(crate) struct Using {
    /// The position of the table at the right.
    pub position: usize,
    pub names: Vec<Arc<str>>,
    /// Is it a RIGHT JOIN, whose merged columns are the right table's?
    pub right: bool,
}

/// Where a qualified name finds its column.
pub(crate) struct PlaceOfColumn {
    pub table: usize,
    /// How many parts name the table.
    pub qualifier: usize,
    /// How many parts name the table and the column.
    pub used: usize,
}

/// A column, and how many of the name's parts it took.
pub(crate) struct Found {
    pub expr: Expr,
    pub used: usize,
}

impl Tables {
    /// Resolves `column`, `table.column` or `database.table.column` at the front of the parts.
    pub fn find(&self, parts: &[&str], prefer_left: bool) -> Result<Option<Found>> {
        // Column names may have dots inside (nested columns): the longest match wins.
        for used in (1..=parts.len()).rev() {
            let name = parts[..used].join(".");
            let joined = self.joined.iter().find(|c| *c.name == *name);
            if joined.is_none() && self.ambiguous.iter().any(|merged| **merged == *name) {
                bail!(AMBIGUOUS_IDENTIFIER, "JOIN ... ambiguous identifier '{name}'");
            }
            if let Some(column) = joined.or_else(|| self.merged.iter().find(|c| *c.name == *name)) {
                return Ok(Some(Found { expr: column.named(), used }));
            }
            let mut matches = self.list.iter().filter_map(|t| t.find(&name));
            if let Some(first) = matches.next() {
                if matches.next().is_some() && !(prefer_left && self.list.len() <= 2) {
                    bail!(AMBIGUOUS_IDENTIFIER, "JOIN ... ambiguous identifier '{name}'");
                }
                return Ok(Some(Found { expr: first.named(), used }));
            }
        }
        Ok(self.find_qualified(parts))
    }

    /// Resolves `table.column` or `database.table.column` at the front of the parts.
    pub fn find_qualified(&self, parts: &[&str]) -> Option<Found> {
        for (table, skips) in self.qualified(parts) {
            let table = &self.list[table];
            for skip in skips {
                for used in (skip + 1..=parts.len()).rev() {
                    let name = parts[skip..used].join(".");
                    if let Some(column) = table.find(&name) {
                        return Some(Found { expr: column.named(), used });
                    }
                }
            }
        }
        None
    }

    /// The tables that the front of the parts may name, and how many parts do: by what they are called here, then by the
    /// own names of those with an alias.
    pub fn qualified(&self, parts: &[&str]) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let called = self.list.iter().enumerate().map(|(i, table)| (i, self.prefix_len(table, parts)));
        let own = parts.first().and_then(|name| self.position_by_own_name(name)).map(|i| (i, vec![1]));
        let of_database = match parts {
            [database, name, _, ..] => self.position_of_own(database, name).map(|i| (i, vec![2])),
            _ => None,
        };
        called.chain(own).chain(of_database).collect::<Vec<_>>().into_iter()
    }

    /// Where the column is that `table.column` or `database.table.column` names.
    pub fn place_of(&self, parts: &[&str]) -> Option<PlaceOfColumn> {
        for (table, qualifiers) in self.qualified(parts) {
            for qualifier in qualifiers {
                for used in (qualifier + 1..=parts.len()).rev() {
                    let name = parts[qualifier..used].join(".");
                    let whole = || used == parts.len() && self.list[table].group(&name).is_some();
                    if self.list[table].find(&name).is_some() || whole() {
                        return Some(PlaceOfColumn { table, qualifier, used });
                    }
                }
            }
        }
        None
    }

    /// The columns that the join with the table at a position merged.
    pub fn using_at(&self, position: usize) -> &[Arc<str>] {
        self.usings.iter().find(|using| using.position == position).map_or(&[], |using| &using.names)
    }

    /// Has a RIGHT JOIN merged columns of this name?
    pub fn is_of_right_join(&self, column: &str) -> bool {
        self.usings.iter().any(|using| using.right && using.names.iter().any(|name| **name == *column))
    }

    /// How many parts may name this table.
    fn prefix_len(&self, table: &TableScope, parts: &[&str]) -> Vec<usize> {
        let mut lengths = Vec::new();
        let named = |part: &str| table.name.as_deref() == Some(part);
        if parts.len() > 2 && table.database.as_deref() == Some(parts[0]) && named(parts[1]) {
            lengths.push(2);
        }
        if parts.len() > 1 && named(parts[0]) {
            lengths.push(1);
        }
        lengths
    }

    /// The first table that has an alias beside this name, when no table is called so.
    pub fn by_own_name(&self, name: &str) -> Option<&TableScope> {
        self.position_by_own_name(name).map(|position| &self.list[position])
    }

    fn position_by_own_name(&self, name: &str) -> Option<usize> {
        if self.list.iter().any(|table| table.name.as_deref() == Some(name)) {
            return None;
        }
        self.list.iter().position(|table| table.own_name.as_deref() == Some(name))
    }

    fn position_of_own(&self, database: &str, name: &str) -> Option<usize> {
        let is_named = |own: &Option<String>, name| own.as_deref() == Some(name);
        self.list
            .iter()
            .position(|table| is_named(&table.own_database, database) && is_named(&table.own_name, name))
    }

    /// The table of `t.*` or `db.t.*`.
    pub fn table(&self, parts: &[&str]) -> Option<&TableScope> {
        let called = self.list.iter().find(|table| match parts {
            [name] => table.name.as_deref() == Some(name),
            [database, name] => {
                table.database.as_deref() == Some(database) && table.name.as_deref() == Some(name)
            }
            _ => false,
        });
        match parts {
            [name] => called.or_else(|| self.by_own_name(name)),
            _ => called,
        }
    }

    pub fn all_columns(&self) -> impl Iterator<Item = &ScopeColumn> {
        self.list.iter().flat_map(|t| &t.columns)
    }

    pub fn rename(&mut self, renamed: &[(ColumnId, Field)]) {
        self.list.iter_mut().for_each(|t| t.rename(renamed));
        let pairs: Vec<_> = renamed.iter().map(|(from, to)| (*from, (to.id, to.ty.clone()))).collect();
        self.merged.iter_mut().chain(&mut self.joined).for_each(|c| c.expr = c.expr.rename(&pairs));
    }
}
