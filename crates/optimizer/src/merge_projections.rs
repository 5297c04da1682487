//! A projection that only picks columns of another becomes part of it.
//!
//! ```text
//! Project a            Project a := x + 1
//!   Project a := x + 1, b := y    =>      Scan
//!     Scan
//! ```

use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_plan::{Plan, Project};

pub(crate) fn apply(plan: Plan, _: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| {
        let Plan::Project(outer) = node else { return Ok(node) };
        let picks_columns = outer.exprs.iter().all(|(_, e)| e.as_column().is_some());
        match *outer.input {
            Plan::Project(inner) if picks_columns => {
                let exprs = outer.exprs.into_iter().map(|(field, e)| {
                    let found = inner.exprs.iter().find(|(f, _)| Some(f.id) == e.as_column());
                    (field, found.map_or(e, |(_, inner)| inner.clone()))
                });
                Ok(Plan::Project(Project { exprs: exprs.collect(), input: inner.input }))
            }
            input => Ok(Plan::Project(Project { exprs: outer.exprs, input: Box::new(input) })),
        }
    })
}
