//! What rows that WITH FILL makes have beside the filled columns.

use chalet_plan::{ColumnId, Expr, Field, Plan, Project};

/// Columns that have the expression of a sorted one have its values in the rows that WITH FILL makes, too.
pub(crate) fn with_copies(plan: Plan, known: &[(Field, Expr)], sorted: &[ColumnId]) -> Plan {
    let source = |field: &Field, expr: &Expr| {
        let same = known.iter().find(|(other, e)| sorted.contains(&other.id) && e == expr && !e.is_literal());
        same.map_or(field.id, |(other, _)| other.id)
    };
    if known.iter().all(|(field, expr)| source(field, expr) == field.id) {
        return plan;
    }
    let column =
        |(field, expr): &(Field, Expr)| (field.clone(), Expr::Column(source(field, expr), field.ty.clone()));
    Plan::Project(Project { input: Box::new(plan), exprs: known.iter().map(column).collect() })
}
