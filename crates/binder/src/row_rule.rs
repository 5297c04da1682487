//! What an engine of the MergeTree family does to rows of equal keys, over columns of a plan: which columns are aggregated
//! by what.

use crate::Environment;
use crate::table_columns::bind_constant;
use chalet_aggregates::combinators::simple_state::check_simple;
use chalet_aggregates::resolve::{Resolved, resolve};
use chalet_base::hash::HashSet;
use chalet_base::{Result, bail, ensure, err};
use chalet_function_api::Argument;
use chalet_plan::{ColumnId, Field, Fold, IdSource, RowRule};
use chalet_storage::RowMerging;
use chalet_syntax::ast::ExprKind;
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// Sums of Summing: numbers in their own type, and arrays by their keys.
const SUM: &str = "sumWithOverflow";
const SUM_MAP: &str = "sumMapWithOverflow";
/// What Coalescing keeps.
const LAST: &str = "anyLast";

/// A column that is merged.
pub struct MergedColumn {
    pub field: Field,
    /// The function of `SimpleAggregateFunction`, as SQL text.
    pub simple_aggregate: Option<Arc<str>>,
}

/// What merging is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergePurpose {
    /// To keep fewer rows.
    Store,
    /// As above, without rows that say that they are deleted.
    StoreWithoutDeleted,
    /// To show the rows as FINAL does.
    Final,
}

/// The rule of a table over its columns; `None` where all rows stay. `key_columns` are those that the expressions of its
/// keys read. Fails where a column cannot be aggregated.
pub fn row_rule(
    merging: &RowMerging,
    columns: &[MergedColumn],
    key_columns: &HashSet<ColumnId>,
    purpose: MergePurpose,
    env: &dyn Environment,
) -> Result<Option<RowRule>> {
    let named = |name: &Arc<str>| {
        let found = columns.iter().find(|column| column.field.name == *name);
        found
            .map(|c| c.field.id)
            .ok_or_else(|| err!(NO_SUCH_COLUMN_IN_TABLE, "There is no physical column {name} in table"))
    };
    let folder = Folder { columns, key_columns, env };
    Ok(Some(match merging {
        RowMerging::None => return Ok(None),
        RowMerging::Replacing { version, is_deleted, .. } => RowRule::Replacing {
            version: version.as_ref().map(named).transpose()?,
            is_deleted: is_deleted.as_ref().map(named).transpose()?,
            drops_deleted: purpose != MergePurpose::Store,
        },
        RowMerging::Collapsing { sign } => {
            RowRule::Collapsing { sign: named(sign)?, only_positive: purpose == MergePurpose::Final }
        }
        RowMerging::VersionedCollapsing { sign, .. } => RowRule::VersionedCollapsing { sign: named(sign)? },
        RowMerging::Summing { columns } => {
            RowRule::Folding { folds: folder.sums(columns)?, drops_zeros: true }
        }
        RowMerging::Coalescing { columns } => {
            RowRule::Folding { folds: folder.lasts(columns)?, drops_zeros: false }
        }
        RowMerging::Aggregating => {
            let folds = columns.iter().filter_map(|column| folder.declared(column).transpose());
            RowRule::Folding { folds: folds.collect::<Result<_>>()?, drops_zeros: false }
        }
    }))
}

struct Folder<'a> {
    columns: &'a [MergedColumn],
    key_columns: &'a HashSet<ColumnId>,
    env: &'a dyn Environment,
}

impl Folder<'_> {
    fn fold(&self, name: &str, parameters: &[Value], columns: &[&Field], can_be_zero: bool) -> Result<Fold> {
        let args: Vec<Argument> = columns.iter().map(|f| Argument::of_type(f.ty.clone())).collect();
        let resolved = resolve(self.env.registry(), name, parameters, &args, self.env.context())?;
        let Some(Resolved { aggregate, .. }) = resolved else {
            bail!(UNKNOWN_AGGREGATE_FUNCTION, "Unknown aggregate function {name}");
        };
        let columns = columns.iter().map(|f| (f.id, f.ty.clone())).collect();
        Ok(Fold { columns, aggregate, can_be_zero })
    }

    /// Of a column that names its function, or of states, which are merged.
    fn declared(&self, column: &MergedColumn) -> Result<Option<Fold>> {
        let DataType::AggregateFunction(states) = &column.field.ty else { return self.simple(column) };
        if self.key_columns.contains(&column.field.id) {
            return Ok(None);
        }
        let name = format!("{}MergeState", states.function());
        self.fold(&name, states.parameters(), &[&column.field], false).map(Some)
    }

    /// Of a column that names its function.
    fn simple(&self, column: &MergedColumn) -> Result<Option<Fold>> {
        let Some(text) = &column.simple_aggregate else { return Ok(None) };
        if self.key_columns.contains(&column.field.id) {
            return Ok(None);
        }
        let (name, parameters) = function_and_parameters(text, self.env)?;
        self.fold(&name, &parameters, &[&column.field], false).map(Some)
    }

    /// Is the column one that the definition lists, where it lists any?
    fn is_listed(listed: &[Arc<str>], field: &Field) -> bool {
        let table = field.name.split_once('.').map_or(&*field.name, |(table, _)| table);
        listed.is_empty() || listed.iter().any(|name| *name == field.name || **name == *table)
    }

    fn sums(&self, listed: &[Arc<str>]) -> Result<Vec<Fold>> {
        let mut folds = Vec::new();
        let mut maps: Vec<(&str, Vec<&Field>)> = Vec::new();
        for column in self.columns {
            let field = &column.field;
            if self.key_columns.contains(&field.id) {
                continue;
            }
            // Whether or not they are listed.
            if let (DataType::Array(_), Some((table, _)), None) =
                (&field.ty, field.name.split_once('.'), &column.simple_aggregate)
                && table.ends_with("Map")
            {
                match maps.iter_mut().find(|(known, _)| *known == table) {
                    Some((_, fields)) => fields.push(field),
                    None => maps.push((table, vec![field])),
                }
                continue;
            }
            if !Self::is_listed(listed, field) {
                continue;
            }
            if let Some(fold) = self.declared(column)? {
                folds.push(fold);
            } else if is_summable(&field.ty) {
                folds.push(self.fold(SUM, &[], &[field], true)?);
            }
        }
        for (table, fields) in maps {
            folds.extend(self.map_sum(table, &fields)?);
        }
        Ok(folds)
    }

    /// Of the columns of a Nested whose first is the key.
    fn map_sum(&self, table: &str, fields: &[&Field]) -> Result<Option<Fold>> {
        let mut n_keys = 0;
        for (at, field) in fields.iter().enumerate() {
            let Some(element) = field.ty.element() else { return Ok(None) };
            let is_key = at == 0 || ["ID", "Key", "Type"].iter().any(|end| field.name.ends_with(end));
            if is_key && is_map_key(&element) {
                n_keys += 1;
            } else if is_key || !is_summable(&element) {
                return Ok(None);
            }
        }
        ensure!(
            n_keys <= 1,
            NOT_IMPLEMENTED,
            "Summing of the nested data structure {table} by more than one key is not supported"
        );
        if fields.len() < 2 {
            return Ok(None);
        }
        self.fold(SUM_MAP, &[], fields, false).map(Some)
    }

    fn lasts(&self, listed: &[Arc<str>]) -> Result<Vec<Fold>> {
        let mut folds = Vec::new();
        for column in self.columns {
            let field = &column.field;
            if self.key_columns.contains(&field.id) || !Self::is_listed(listed, field) {
                continue;
            }
            folds.push(match self.declared(column)? {
                Some(fold) => fold,
                None => self.fold(LAST, &[], &[field], false)?,
            });
        }
        Ok(folds)
    }
}

fn is_summable(ty: &DataType) -> bool {
    ty.bare().is_number()
}

/// May Nested columns of this element be summed by it?
fn is_map_key(ty: &DataType) -> bool {
    use DataType::*;
    ty.is_integer()
        || ty.is_string()
        || matches!(ty, Date | Date32 | DateTime(_) | Enum8(_) | Enum16(_) | IPv4)
}

/// `f` or `f(1, 2)`.
fn function_and_parameters(text: &str, env: &dyn Environment) -> Result<(String, Vec<Value>)> {
    let written = chalet_syntax::parse_expression(text)?;
    let ids = IdSource::default();
    match &written.kind {
        ExprKind::Call(call) => {
            let parameters = call.args.iter().map(|arg| Ok(bind_constant(arg, env, &ids)?.value()));
            Ok((call.name.clone(), parameters.collect::<Result<_>>()?))
        }
        _ => Ok((text.to_string(), Vec::new())),
    }
}

/// Fails where the function of a `SimpleAggregateFunction` cannot be one, or gives another type than the column has.
pub fn check_simple_aggregate(function: &str, ty: &DataType, env: &dyn Environment) -> Result<()> {
    let (name, parameters) = function_and_parameters(function, env)?;
    let args = [Argument::of_type(ty.clone())];
    let resolved = resolve(env.registry(), &name, &parameters, &args, env.context())?;
    let Some(resolved) = resolved else {
        bail!(UNKNOWN_AGGREGATE_FUNCTION, "Unknown aggregate function {name}");
    };
    check_simple(&resolved.name)?;
    let stored = ty.recursively_without_low_cardinality();
    ensure!(
        resolved.result == stored,
        BAD_ARGUMENTS,
        "Incompatible data types between aggregate function '{name}' which returns {} and column storage type {ty}",
        resolved.result
    );
    Ok(())
}
