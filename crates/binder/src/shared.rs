//! Sub-queries that a statement writes more than once run once: scalar ones, EXISTS and the sets of IN.
//!
//! The kernel knows a sub-query again by its tree, and so does this, by its text: `(SELECT rand()) = (SELECT rand())` is 1.
//! The text alone is not enough where a name in it means something else in another place, so that the definitions of the
//! common table expressions that it can name belong to the key, as constants do that aliases around it stand for; one that may
//! name another alias is not shared.

use crate::query::{Cte, QueryBinder};
use crate::select::SelectBinder;
use chalet_base::hash::{HashMap, HashSet};
use chalet_function_api::Volatility;
use chalet_plan::{CommonTableId, Expr, IdSource, InSet};
use chalet_syntax::{ast, visit};
use chalet_types::DataType;
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;

/// What is known of the sub-queries bound so far under the same settings.
#[derive(Clone, Default)]
pub(crate) struct Shared(Rc<RefCell<Known>>);

#[derive(Default)]
struct Known {
    values: HashMap<String, Expr>,
    /// By the types of their columns, too.
    sets: HashMap<(String, Vec<DataType>), Arc<InSet>>,
    /// What common table expressions are known by under these settings.
    common_tables: HashMap<CommonTableId, CommonTableId>,
    /// Constants that names of columns do not show, as text; what they are numbered by.
    secrets: Vec<String>,
}

impl Shared {
    /// The id of a common table expression that is bound under these settings.
    pub fn common_table(&self, cte: &Cte, ids: &IdSource) -> CommonTableId {
        let mut known = self.0.borrow_mut();
        *known.common_tables.entry(cte.id).or_insert_with(|| CommonTableId(ids.next().0))
    }

    /// The number of a constant that is not shown, from 1; equal ones have one number.
    pub fn secret(&self, text: String) -> usize {
        let secrets = &mut self.0.borrow_mut().secrets;
        match secrets.iter().position(|known| *known == text) {
            Some(index) => index + 1,
            None => {
                secrets.push(text);
                secrets.len()
            }
        }
    }

    pub fn value(&self, key: &str) -> Option<Expr> {
        self.0.borrow().values.get(key).cloned()
    }

    pub fn add_value(&self, key: String, value: Expr) {
        self.0.borrow_mut().values.insert(key, value);
    }

    pub fn set(&self, key: &str, types: &[DataType]) -> Option<Arc<InSet>> {
        self.0.borrow().sets.get(&(key.to_string(), types.to_vec())).cloned()
    }

    pub fn add_set(&self, key: String, set: Arc<InSet>) {
        self.0.borrow_mut().sets.insert((key, set.types.clone()), set);
    }
}

impl SelectBinder<'_> {
    /// What a sub-query that reads nothing of the queries around it is known by. `None` where it may depend on them.
    pub(crate) fn shared_key(&self, kind: &str, query: &ast::Query) -> Option<String> {
        let mut key = format!("{kind} {query}");
        let words = words(&key);
        self.add_aliases(&words, &mut key)?;
        add_definitions(&self.query, &words, &mut key)?;
        Some(key)
    }

    /// What the aliases among the words stand for, here and further out. `None` where one is not the same everywhere.
    fn add_aliases(&self, words: &HashSet<String>, key: &mut String) -> Option<()> {
        let of_lambdas = self.lambda_aliases.iter().map(|alias| &alias.name);
        let mut changing = self.lambda_params.iter().map(|(name, _)| name).chain(of_lambdas);
        if changing.any(|name| words.contains(name)) {
            return None;
        }
        let mut named: Vec<_> = self.aliases.iter().filter(|(name, _)| words.contains(*name)).collect();
        named.sort_by_key(|(name, _)| *name);
        for (name, definition) in named {
            if !self.is_same_everywhere(definition) {
                return None;
            }
            write!(key, " {name} = {definition}").ok()?;
        }
        self.query.outer.map_or(Some(()), |outer| outer.add_aliases(words, key))
    }

    /// Is it made of constants alone?
    fn is_same_everywhere(&self, e: &ast::Expr) -> bool {
        let mut is_same = true;
        visit::walk(e, &mut |part| {
            is_same &= match &part.kind {
                ast::ExprKind::Literal(_) => true,
                ast::ExprKind::Call(call) => {
                    let function = self.query.env.registry().scalars.get(&call.name);
                    function.is_some_and(|function| function.record().volatility != Volatility::PerRow)
                }
                _ => false,
            };
            is_same
        });
        is_same
    }
}

/// How often a query reads a table of this name without a database, at least.
pub(crate) fn count_uses(body: &ast::SetExpr, name: &str) -> usize {
    match body {
        ast::SetExpr::Select(select) => count_uses_of_select(select, name),
        ast::SetExpr::Query(query) => count_uses(&query.body, name),
        ast::SetExpr::SetOp { inputs, .. } => inputs.iter().map(|input| count_uses(input, name)).sum(),
    }
}

/// As [`count_uses`].
pub(crate) fn count_uses_of_select(select: &ast::Select, name: &str) -> usize {
    let mut uses = 0;
    for table in visit::tables(select) {
        uses += match &table.kind {
            ast::TableKind::Name(object) => {
                usize::from(object.database.is_none() && object.name.name == name)
            }
            ast::TableKind::Query(query) => count_uses(&query.body, name),
            _ => 0,
        };
    }
    for item in &select.with {
        if let ast::WithItem::Cte { query, .. } = item {
            uses += count_uses(&query.body, name);
        }
    }
    visit::for_each_clause(select, &mut |clause| {
        visit::walk(clause, &mut |expr| {
            if let ast::ExprKind::Subquery(query) | ast::ExprKind::Exists(query) = &expr.kind {
                uses += count_uses(&query.body, name);
            }
            true
        });
    });
    uses
}

/// All that may be a name in a text, and more.
fn words(text: &str) -> HashSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    parts.filter(|part| !part.is_empty()).map(str::to_string).collect()
}

/// Appends what the common table expressions among the words mean. `None` for those of a recursion, which change from step
/// to step, and those with names that are no words.
fn add_definitions(query: &QueryBinder, words: &HashSet<String>, key: &mut String) -> Option<()> {
    add_visible(query.ctes.as_ref(), words, &mut HashMap::default(), key)
}

/// `numbers`: of the definitions that are in the key already, by their place in memory.
fn add_visible(
    ctes: Option<&Rc<Cte>>,
    names: &HashSet<String>,
    numbers: &mut HashMap<*const Cte, usize>,
    key: &mut String,
) -> Option<()> {
    let mut seen: HashSet<&str> = HashSet::default();
    let mut next = ctes;
    while let Some(cte) = next {
        next = cte.before.as_ref();
        let is_word = cte.name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if cte.working.is_some() || !is_word {
            return None;
        }
        if !names.contains(&cte.name) || !seen.insert(&cte.name) {
            continue;
        }
        let known = numbers.len();
        if let Some(number) = numbers.get(&Rc::as_ptr(cte)) {
            write!(key, "\n{} = #{number}", cte.name).ok()?;
            continue;
        }
        numbers.insert(Rc::as_ptr(cte), known);
        let text = cte.query.to_string();
        write!(key, "\n{}{:?} {} = {text} WITH (", cte.name, cte.columns, cte.recursive).ok()?;
        add_visible(cte.before.as_ref(), &words(&text), numbers, key)?;
        key.push(')');
    }
    Some(())
}
