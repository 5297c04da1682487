//! Visiting and rewriting expressions, and what plans read from outside.

use crate::expr::{InExpr, SubqueryExpr};
use crate::{ColumnId, Expr, Plan};
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_function_api::Volatility;
use chalet_types::DataType;

impl Expr {
    /// The direct sub-expressions.
    pub fn children(&self) -> &[Expr] {
        match self {
            Expr::Column(..) | Expr::Literal(_) => &[],
            Expr::Call { args, .. } => args,
            Expr::Lambda { body, .. } => std::slice::from_ref(&**body),
            Expr::In(e) => &e.needles,
            // The plan inside is another query: it reads nothing but what these give it.
            Expr::Subquery(e) => &e.args,
        }
    }

    /// Visits this expression and all below, outermost first.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.children().iter().for_each(|child| child.visit(f));
    }

    /// Is there a sub-expression (or this one) that passes?
    pub fn any(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        test(self) || self.children().iter().any(|child| child.any(test))
    }

    /// Rewrites from the outside: where `f` gives a replacement, it stands instead and is not looked into.
    pub fn replace(&self, f: &mut dyn FnMut(&Expr) -> Result<Option<Expr>>) -> Result<Expr> {
        if let Some(replacement) = f(self)? {
            return Ok(replacement);
        }
        Ok(match self {
            Expr::Column(..) | Expr::Literal(_) => self.clone(),
            Expr::Call { function, args } => Expr::Call {
                function: function.clone(),
                args: args.iter().map(|arg| arg.replace(f)).collect::<Result<_>>()?,
            },
            Expr::Lambda { params, body } => {
                Expr::Lambda { params: params.clone(), body: Box::new(body.replace(f)?) }
            }
            Expr::In(e) => Expr::In(Box::new(InExpr {
                needles: e.needles.iter().map(|n| n.replace(f)).collect::<Result<_>>()?,
                ..InExpr::clone(e)
            })),
            Expr::Subquery(e) => Expr::Subquery(Box::new(SubqueryExpr {
                args: e.args.iter().map(|arg| arg.replace(f)).collect::<Result<_>>()?,
                ..SubqueryExpr::clone(e)
            })),
        })
    }

    /// Replaces columns by others.
    pub fn rename(&self, names: &[(ColumnId, (ColumnId, DataType))]) -> Expr {
        let renamed = self.replace(&mut |e| {
            Ok(e.as_column().and_then(|id| {
                let (_, (to, ty)) = names.iter().find(|(from, _)| *from == id)?;
                Some(Expr::Column(*to, ty.clone()))
            }))
        });
        // The closure never fails.
        renamed.unwrap_or_else(|_| self.clone())
    }

    /// Columns that the expression reads, without parameters of lambdas inside.
    pub fn columns(&self) -> HashSet<ColumnId> {
        let mut found = HashSet::default();
        self.collect_columns(&mut found);
        found
    }

    /// As [`columns`](Self::columns), added to `found`.
    pub fn collect_columns(&self, found: &mut HashSet<ColumnId>) {
        match self {
            Expr::Column(id, _) => {
                found.insert(*id);
            }
            Expr::Lambda { params, body } => {
                let mut inner = body.columns();
                params.iter().for_each(|(id, _)| {
                    inner.remove(id);
                });
                found.extend(inner);
            }
            other => other.children().iter().for_each(|child| child.collect_columns(found)),
        }
    }

    /// Calls `f` with each column that the expression reads, as [`columns`](Self::columns) does.
    fn collect_typed_columns(&self, f: &mut dyn FnMut(ColumnId, &DataType)) {
        match self {
            Expr::Column(id, ty) => f(*id, ty),
            Expr::Lambda { params, body } => body.collect_typed_columns(&mut |id, ty| {
                if params.iter().all(|(param, _)| *param != id) {
                    f(id, ty);
                }
            }),
            other => other.children().iter().for_each(|child| child.collect_typed_columns(f)),
        }
    }

    /// Equal input rows give equal results, whenever and however often it is evaluated.
    pub fn is_deterministic(&self) -> bool {
        !self.any(&|e| match e {
            Expr::Call { function, .. } => function.function.record().volatility == Volatility::PerRow,
            _ => false,
        })
    }

    /// The result of a row depends on the rows before it.
    pub fn counts_rows(&self) -> bool {
        self.any(&|e| match e {
            Expr::Call { function, .. } => function.function.record().counts_rows,
            _ => false,
        })
    }

    /// Cannot fail, so that it may run on rows that a filter would have taken out.
    pub fn is_total(&self) -> bool {
        !self.any(&|e| match e {
            Expr::Call { function, .. } => !function.function.record().total,
            _ => false,
        })
    }

    /// Splits `a AND b AND c`.
    pub fn conjuncts(self, out: &mut Vec<Expr>) {
        match self {
            Expr::Call { function, args }
                if function.function.record().lazy == chalet_function_api::Lazy::And =>
            {
                args.into_iter().for_each(|arg| arg.conjuncts(out));
            }
            other => out.push(other),
        }
    }
}

impl Plan {
    /// Columns that the plan reads and that none of its nodes makes: those of a query around it.
    pub fn free_columns(&self) -> Vec<(ColumnId, DataType)> {
        let mut free = Vec::new();
        self.collect_free_columns(&mut free);
        free
    }

    fn collect_free_columns(&self, free: &mut Vec<(ColumnId, DataType)>) {
        let mut made: HashSet<ColumnId> = HashSet::default();
        for input in self.inputs() {
            input.collect_free_columns(free);
            made.extend(input.fields().iter().map(|f| f.id));
        }
        match self {
            Plan::Scan(scan) => made.extend(scan.columns.iter().map(|(_, f)| f.id)),
            // HAVING reads what the aggregation puts out.
            Plan::Aggregate(_) => made.extend(self.fields().iter().map(|f| f.id)),
            _ => {}
        }
        let having = match self {
            Plan::Aggregate(node) => node.totals.as_ref().and_then(|t| t.having.as_ref()),
            _ => None,
        };
        for expr in self.expressions().into_iter().chain(having) {
            expr.collect_typed_columns(&mut |id, ty| {
                if !made.contains(&id) && free.iter().all(|(known, _)| *known != id) {
                    free.push((id, ty.clone()));
                }
            });
        }
    }
}
