//! Does every node find the columns that it reads, with the types that it expects? Runs after every rule.

use crate::{ColumnId, Expr, Plan};
use chalet_base::hash::HashMap;
use chalet_base::{Result, ensure, err};
use chalet_types::DataType;

/// Fails with LOGICAL_ERROR, which is a bug of the engine, not of the query.
pub fn validate(plan: &Plan) -> Result<()> {
    let mut known: HashMap<ColumnId, DataType> = HashMap::default();
    for input in plan.inputs() {
        validate(input)?;
        known.extend(input.fields().into_iter().map(|f| (f.id, f.ty)));
    }
    if let Plan::SharedScan(scan) = plan {
        let fields = scan.source.plan.fields();
        for (position, field) in &scan.columns {
            let same = fields.get(*position).is_some_and(|source| source.ty == field.ty);
            ensure!(same, LOGICAL_ERROR, "SharedScan reads column {position} of a plan that has it not");
        }
    }
    if let Plan::Scan(scan) = plan {
        known.extend(scan.columns.iter().map(|(_, f)| (f.id, f.ty.clone())));
    }
    for expr in plan.expressions() {
        check(expr, plan, &mut known)?;
    }
    if let Plan::Distinct(distinct) = plan {
        for id in &distinct.on {
            ensure!(known.contains_key(id), LOGICAL_ERROR, "Distinct reads unknown column #{}", id.0);
        }
    }
    if let Plan::Fetch(fetch) = plan {
        let id = fetch.row_id;
        ensure!(known.contains_key(&id), LOGICAL_ERROR, "Fetch reads unknown column #{}", id.0);
    }
    Ok(())
}

fn check(expr: &Expr, plan: &Plan, known: &mut HashMap<ColumnId, DataType>) -> Result<()> {
    match expr {
        Expr::Column(id, ty) => {
            let found = known
                .get(id)
                .ok_or_else(|| err!(LOGICAL_ERROR, "{} reads unknown column #{}", plan.name(), id.0))?;
            ensure!(
                found == ty,
                LOGICAL_ERROR,
                "{} reads column #{} as {ty}, but it is {found}",
                plan.name(),
                id.0
            );
            Ok(())
        }
        Expr::Lambda { params, body } => {
            known.extend(params.iter().cloned());
            check(body, plan, known)
        }
        other => other.children().iter().try_for_each(|child| check(child, plan, known)),
    }
}
