//! Joins with dictionaries as look-ups: the dictionary is asked for the keys of the other side, as in the kernel, where `join_algorithm` has
//! `direct`. Its rows are neither copied nor indexed once more, and one that keeps a part of them (a cache) finds those that it lacks.
//!
//! ```text
//! Join Left on [k = d.k]                  Project left, row.2 .. row.n
//!   left                           ->       Project left, row := dictionaryRow('d', k)
//!   Scan d                                    left
//! ```
//!
//! An inner join keeps the rows that are there, a semi join too, an anti join the others. A condition on columns of a dictionary that has
//! all rows is better tested on these, because the other side is then told which keys are left (a run-time filter).

use crate::dictionaries::attached::Attached;
use crate::own_functions::row_of_keys;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_plan::{ColumnId, Expr, Field, Filter, Join, JoinKind, JoinStrictness, Plan, Project, ScanNode};
use chalet_types::{DataType, Value};

/// Puts look-ups in the places of joins that can be done so.
pub(crate) fn rewrite(plan: &mut Plan, ctx: &QueryContext) -> Result<()> {
    let algorithms = ctx.state.settings.get("join_algorithm");
    let is_direct = |name: &str| matches!(&*name.trim().to_ascii_lowercase(), "direct" | "default");
    if algorithms.is_none_or(|names| names.split(',').any(is_direct)) { replace(plan, ctx) } else { Ok(()) }
}

fn replace(plan: &mut Plan, ctx: &QueryContext) -> Result<()> {
    for input in plan.inputs_mut() {
        replace(input, ctx)?;
    }
    if let Plan::Join(join) = plan
        && let Some(lookup) = Lookup::of(join)
    {
        events::count(Event::DirectJoins);
        *plan = lookup.plan(ctx)?;
    }
    Ok(())
}

/// What becomes of the rows of the other side.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    All,
    WithPartner,
    WithoutPartner,
}

/// Puts out some of the columns that it gets, and nothing else.
fn only_leaves_out(project: &Project) -> bool {
    project.exprs.iter().all(|(field, expr)| expr.as_column() == Some(field.id))
}

struct Lookup<'a> {
    join: &'a Join,
    other: &'a Plan,
    /// What the join sees of the dictionary: fields of the scan, or some of them.
    own: Vec<Field>,
    scan: &'a ScanNode,
    /// What must hold of a pair besides, over columns of both sides.
    conditions: Vec<&'a Expr>,
    /// The dictionary stands on the left.
    is_swapped: bool,
    kept: Kept,
    /// Of the other side, in the order of the dictionary's keys.
    keys: Vec<Expr>,
    /// Positions of the scan's columns among those of the dictionary, with the types that they have behind the join.
    columns: Vec<(usize, DataType)>,
}

impl<'a> Lookup<'a> {
    /// None where the join is to be done as others are.
    fn of(join: &'a Join) -> Option<Lookup<'a>> {
        use JoinKind::{Inner, Left, Right};
        use JoinStrictness::{All, Anti, Any, Semi};
        if join.asof.is_some() {
            return None;
        }
        let kept = |outer| match join.strictness {
            All if join.kind == Inner => Some(Kept::WithPartner),
            All | Any if join.kind == outer => Some(Kept::All),
            Semi if join.kind == outer => Some(Kept::WithPartner),
            Anti if join.kind == outer => Some(Kept::WithoutPartner),
            _ => None,
        };
        let of_side = |is_swapped: bool| {
            let (other, own, outer) = match is_swapped {
                false => (&join.left, &join.right, Left),
                true => (&join.right, &join.left, Right),
            };
            let mut conditions: Vec<&Expr> = join.residual.iter().collect();
            let mut own = own;
            let scan = loop {
                match own {
                    Plan::Filter(filter) => {
                        conditions.push(&filter.condition);
                        own = &filter.input;
                    }
                    Plan::Project(project) if only_leaves_out(project) => own = &project.input,
                    Plan::Scan(scan) => break scan,
                    _ => return None,
                }
            };
            conditions.extend(&scan.filter);
            Lookup::with(join, other, scan, conditions, is_swapped, kept(outer)?)
        };
        of_side(false).or_else(|| of_side(true))
    }

    fn with(
        join: &'a Join,
        other: &'a Plan,
        scan: &'a ScanNode,
        conditions: Vec<&'a Expr>,
        is_swapped: bool,
        kept: Kept,
    ) -> Option<Lookup<'a>> {
        let attached = scan.table.as_any().downcast_ref::<Attached>()?;
        let definition = &attached.dictionary.definition;
        // What else must hold decides which rows have a partner.
        if !definition.layout.has_unique_keys()
            || !conditions.is_empty() && (join.kind != JoinKind::Inner || !definition.layout.reads_through)
            || scan.limit.is_some()
            || scan.row_id.is_some()
            || join.on.len() != definition.n_keys
        {
            return None;
        }
        let position = |id: ColumnId| {
            let (at, _) = scan.columns.iter().find(|(_, field)| field.id == id)?;
            attached.position(*at)
        };
        let keys = (0..definition.n_keys).map(|key| {
            let wanted = &definition.keys()[key].ty;
            join.on.iter().filter(|on| !on.null_safe).find_map(|on| {
                let (own, theirs) = if is_swapped { (&on.left, &on.right) } else { (&on.right, &on.left) };
                let is_key = position(own.as_column()?)? == key;
                (is_key && own.ty() == wanted && theirs.ty() == wanted).then(|| theirs.clone())
            })
        });
        let keys = keys.collect::<Option<Vec<Expr>>>()?;
        let own = if is_swapped { join.left.fields() } else { join.right.fields() };
        let from = if is_swapped { 0 } else { other.fields().len() };
        let columns = scan.columns.iter().map(|(at, column)| {
            let position = attached.position(*at)?;
            let ty = &definition.schema.columns[position].ty;
            let behind = match own.iter().position(|field| field.id == column.id) {
                Some(at) => &join.fields.get(from + at)?.ty,
                None => ty,
            };
            (behind == ty || *behind == ty.clone().nullable()).then(|| (position, behind.clone()))
        });
        let columns = columns.collect::<Option<Vec<_>>>()?;
        Some(Lookup { join, other, own, scan, conditions, is_swapped, kept, keys, columns })
    }

    fn plan(&self, ctx: &QueryContext) -> Result<Plan> {
        let Lookup { join, scan, .. } = self;
        let row =
            row_of_keys(&scan.table, &scan.name, self.keys.clone(), self.columns.clone(), &ctx.functions)?;
        let field = ctx.ids.field("row", row.ty().clone());
        let element = |number: usize| {
            let whole = Expr::Column(field.id, field.ty.clone());
            let number = Expr::literal(&Value::UInt(number as u64 + 1), DataType::UInt64)?;
            chalet_binder::make_call(ctx, "tupleElement", vec![whole, number])
        };
        let same = |field: &Field| (field.clone(), Expr::Column(field.id, field.ty.clone()));
        let mut exprs: Vec<(Field, Expr)> = self.other.fields().iter().map(same).collect();
        exprs.push((field.clone(), row));
        let input = Plan::Project(Project { input: Box::new(self.other.clone()), exprs });
        let elements: Vec<Expr> = (1..=self.columns.len()).map(element).collect::<Result<_>>()?;
        let element_of = |id: ColumnId| {
            let at = scan.columns.iter().position(|(_, field)| field.id == id);
            at.map(|at| elements[at].clone())
        };
        let with_elements =
            |condition: &Expr| condition.replace(&mut |expr| Ok(expr.as_column().and_then(element_of)));
        let mut conditions = match self.kept {
            Kept::All => vec![],
            Kept::WithPartner => vec![element(0)?],
            Kept::WithoutPartner => vec![chalet_binder::make_call(ctx, "not", vec![element(0)?])?],
        };
        for condition in &self.conditions {
            conditions.push(with_elements(condition)?);
        }
        let filter = |input, condition| Plan::Filter(Filter { input: Box::new(input), condition });
        let plan = conditions.into_iter().fold(input, filter);
        let own: Vec<Expr> = self.own.iter().filter_map(|field| element_of(field.id)).collect();
        let theirs = self.other.fields().iter().map(|field| same(field).1).collect::<Vec<_>>();
        let parts = if self.is_swapped { [own, theirs] } else { [theirs, own] };
        let exprs = join.fields.iter().cloned().zip(parts.into_iter().flatten()).collect();
        Ok(Plan::Project(Project { input: Box::new(plan), exprs }))
    }
}
