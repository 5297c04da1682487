//! What a rule made of the text at a token, so that going back and reading the same text by another rule does not
//! read it twice at every level of nesting, which would take time exponential in the depth.

use super::{Fail, Parse, Parser};
use std::collections::HashMap;

/// The outcomes of one rule by the token it began at. An outcome depends on nothing else.
pub(crate) struct Memo<T>(HashMap<usize, Outcome<T>>);

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Memo(HashMap::new())
    }
}

enum Outcome<T> {
    Failed,
    /// It matched once. Most text is never read again, so nothing is copied yet.
    Matched,
    /// It matched twice: the tree, the token after it, and the tree's depth.
    Known(T, usize, u32),
}

impl<T> Memo<T> {
    /// The text after a token is another one now.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Where a rule keeps its outcomes.
type Slot<T> = for<'p, 't> fn(&'p mut Parser<'t>) -> &'p mut Memo<T>;

impl Parser<'_> {
    /// Runs a rule, or says what it made of this place before. What it expected was noted then.
    pub(crate) fn remembered<T: Clone>(
        &mut self,
        slot: Slot<T>,
        rule: impl FnOnce(&mut Self) -> Parse<T>,
    ) -> Parse<T> {
        let start = self.pos;
        let again = match slot(self).0.get(&start) {
            None => false,
            Some(Outcome::Matched) => true,
            Some(Outcome::Failed) => return Err(Fail::Syntax),
            Some(Outcome::Known(tree, end, depth)) => {
                let (tree, end, depth) = (tree.clone(), *end, *depth);
                self.pos = end;
                self.tree_depth = self.tree_depth.max(depth);
                return Ok(tree);
            }
        };
        let outside = std::mem::take(&mut self.tree_depth);
        let result = rule(self);
        let depth = self.tree_depth;
        self.tree_depth = outside.max(depth);
        let outcome = match &result {
            Ok(tree) if again => Outcome::Known(tree.clone(), self.pos, depth),
            Ok(_) => Outcome::Matched,
            Err(Fail::Syntax) => Outcome::Failed,
            Err(Fail::Error(_)) => return result,
        };
        slot(self).0.insert(start, outcome);
        result
    }
}
