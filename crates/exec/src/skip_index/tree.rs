//! A filter without what an index says nothing about: it holds wherever the filter does.

use chalet_base::Result;
use chalet_columns::BooleanBuffer;
use chalet_function_api::Lazy;
use chalet_plan::Expr;

/// Conditions put together.
pub enum Tree<A> {
    All(Vec<Tree<A>>),
    Any(Vec<Tree<A>>),
    Atom(A),
}

impl<A> Tree<A> {
    /// What is left of a filter, or of its negation; none where nothing is. `atom` makes a condition of an expression that must be
    /// true, or false where the second argument says so: NULL is neither.
    pub fn of(expr: &Expr, negated: bool, atom: &dyn Fn(&Expr, bool) -> Option<A>) -> Option<Tree<A>> {
        if let Expr::Call { function, args } = expr {
            let record = function.function.record();
            let is_all = match record.lazy {
                Lazy::And => Some(!negated),
                Lazy::Or => Some(negated),
                _ => None,
            };
            if let Some(is_all) = is_all {
                let parts = args.iter().map(|arg| Tree::of(arg, negated, atom));
                return match is_all {
                    true => {
                        let parts: Vec<_> = parts.flatten().collect();
                        (!parts.is_empty()).then_some(Tree::All(parts))
                    }
                    false => Some(Tree::Any(parts.collect::<Option<_>>()?)),
                };
            }
            if record.hints_index && !negated {
                let parts: Vec<_> = args.iter().filter_map(|hint| Tree::of(hint, false, atom)).collect();
                return (!parts.is_empty()).then_some(Tree::All(parts));
            }
            if let ("not", [inner]) = (record.name, &args[..]) {
                return Tree::of(inner, !negated, atom);
            }
        }
        atom(expr, negated).map(Tree::Atom)
    }

    /// Where it holds, by where its atoms do.
    pub fn mask(&self, atom: &dyn Fn(&A) -> Result<BooleanBuffer>) -> Result<BooleanBuffer> {
        match self {
            Tree::Atom(one) => atom(one),
            Tree::All(parts) => fold(parts, atom, |a, b| a & b),
            Tree::Any(parts) => fold(parts, atom, |a, b| a | b),
        }
    }
}

fn fold<A>(
    parts: &[Tree<A>],
    atom: &dyn Fn(&A) -> Result<BooleanBuffer>,
    join: impl Fn(&BooleanBuffer, &BooleanBuffer) -> BooleanBuffer,
) -> Result<BooleanBuffer> {
    let mut masks = parts.iter().map(|part| part.mask(atom));
    let first = masks.next().unwrap_or_else(|| Ok(BooleanBuffer::new_unset(0)))?;
    masks.try_fold(first, |all, next| Ok(join(&all, &next?)))
}
