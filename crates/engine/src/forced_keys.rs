//! `force_primary_key` and `force_index_by_date`: whether the condition of each table that is read says something of its keys.

use crate::projections::groups::GroupBy;
use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_base::{Result, ensure};
use chalet_function_api::Lazy;
use chalet_plan::{ColumnId, Expr, Plan, ScanNode};
use chalet_storage::merge_tree::{MergeTree, PartSet};
use chalet_types::Value;

/// Fails where a table is read without its keys, and a setting forbids it.
pub(crate) fn check(plan: &Plan, ctx: &QueryContext) -> Result<()> {
    let is_set = |name| ctx.state.settings.flag(name) == Some(true);
    let forced =
        Forced { primary: is_set("force_primary_key"), partition: is_set("force_index_by_date"), ctx };
    if forced.primary || forced.partition { forced.check(plan, &[]) } else { Ok(()) }
}

struct Forced<'a> {
    primary: bool,
    partition: bool,
    ctx: &'a QueryContext,
}

impl Forced<'_> {
    /// `conditions`: of what stands above, over the fields of the plan.
    fn check(&self, plan: &Plan, conditions: &[Expr]) -> Result<()> {
        match plan {
            Plan::Filter(filter) => {
                let all: Vec<Expr> = conditions.iter().cloned().chain([filter.condition.clone()]).collect();
                self.check(&filter.input, &all)
            }
            Plan::Project(project) => {
                let below = |condition: &Expr| {
                    condition.replace(&mut |e| {
                        let id = e.as_column();
                        let found = project.exprs.iter().find(|(field, _)| Some(field.id) == id);
                        Ok(found.map(|(_, expr)| expr.clone()))
                    })
                };
                let below = conditions.iter().map(below).collect::<Result<Vec<_>>>()?;
                self.check(&project.input, &below)
            }
            // Answered without a look at rows.
            Plan::Aggregate(node)
                if GroupBy::of(node).is_some_and(|by| by.is_known() || by.is_of_partitions()) =>
            {
                Ok(())
            }
            Plan::Scan(node) => self.check_scan(node, conditions),
            other => other.inputs().into_iter().try_for_each(|input| self.check(input, &[])),
        }
    }

    fn check_scan(&self, node: &ScanNode, conditions: &[Expr]) -> Result<()> {
        let table = &*node.table;
        let is_of_family = table.as_any().is::<MergeTree>() || table.as_any().is::<PartSet>();
        let Some(keys) = table.keys().filter(|_| is_of_family && table.total_rows() != Some(0)) else {
            return Ok(());
        };
        let conditions: Vec<&Expr> = node.filter.iter().chain(conditions).collect();
        // Nothing is read.
        if conditions.iter().any(|condition| is_never(condition)) {
            return Ok(());
        }
        let primary: Vec<&str> = keys.sorting[..keys.n_primary].iter().map(|key| &*key.expr).collect();
        let (ids, _) = self.columns_of(&primary, node)?;
        ensure!(
            !self.primary || conditions.iter().any(|condition| says_something(condition, &ids)),
            INDEX_NOT_USED,
            "Primary key ({}) is not used and setting 'force_primary_key' is set",
            primary.join(", ")
        );
        if self.partition && !keys.partition.is_empty() {
            let (ids, names) = self.columns_of(&[&*keys.partition], node)?;
            // `PARTITION BY tuple()` reads nothing.
            ensure!(
                names.is_empty() || conditions.iter().any(|condition| says_something(condition, &ids)),
                INDEX_NOT_USED,
                "Neither MinMax index by columns ({}) nor partition expr is used and setting 'force_index_by_date' is set",
                names.join(", ")
            );
        }
        Ok(())
    }

    /// The columns of a scan that expressions of keys read, and their names.
    fn columns_of(&self, texts: &[&str], node: &ScanNode) -> Result<(Vec<ColumnId>, Vec<String>)> {
        let (fields, bound) = bind_stored(texts.iter().copied(), &node.table.schema(), self.ctx)?;
        let read: Vec<_> = bound.iter().map(Expr::columns).collect();
        let is_read = |field: &&chalet_plan::Field| read.iter().any(|ids| ids.contains(&field.id));
        let names: Vec<String> = fields.iter().filter(is_read).map(|field| field.name.to_string()).collect();
        let scanned = node.columns.iter().filter(|(_, field)| names.iter().any(|name| **name == *field.name));
        Ok((scanned.map(|(_, field)| field.id).collect(), names))
    }
}

/// Is it a constant that no row passes?
pub(crate) fn is_never(condition: &Expr) -> bool {
    let Expr::Literal(literal) = condition else { return false };
    matches!(literal.value(), Value::Null | Value::UInt(0))
}

/// Does a condition bound one of the columns? Of alternatives all must.
fn says_something(condition: &Expr, ids: &[ColumnId]) -> bool {
    if let Expr::Call { function, args } = condition {
        let record = function.function.record();
        match record.lazy {
            Lazy::Or => return args.iter().all(|arg| says_something(arg, ids)),
            Lazy::And => return args.iter().any(|arg| says_something(arg, ids)),
            _ => {}
        }
    }
    let read = condition.columns();
    ids.iter().any(|id| read.contains(id))
}
