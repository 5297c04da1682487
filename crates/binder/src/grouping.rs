//! GROUP BY in all its forms, and what may stand beside it.

use crate::call::make_call;
use crate::select::{After, Item, Place, SelectBinder};
use chalet_base::hash::HashSet;
use chalet_base::{Result, bail, ensure, err};
use chalet_plan::{Aggregate, ColumnId, Expr, GroupingKind, Plan, Totals};
use chalet_syntax::ast::{self, ExprKind};
use chalet_types::{DataType, Value};

impl SelectBinder<'_> {
    /// Binds the keys; positions among them mean result columns.
    pub(crate) fn group_by(&mut self, select: &ast::Select, items: &[Item]) -> Result<()> {
        self.place = Place::Before("GROUP BY");
        self.grouping.is_present = select.group_by.is_some();
        let indexes = |binder: &mut Self, exprs: &[ast::Expr]| -> Result<Vec<usize>> {
            let mut found = Vec::new();
            for e in exprs {
                match binder.position(e, items.len())?.map(|position| &items[position]) {
                    Some(Item::Written(target)) => found.extend(binder.add_key(target)?),
                    Some(Item::Bound(name, expr)) => found.push(binder.add_checked_key(name, expr.clone())?),
                    None => found.extend(binder.add_key(e)?),
                }
            }
            Ok(found)
        };
        match &select.group_by {
            None | Some(ast::GroupBy::All | ast::GroupBy::AllRollup | ast::GroupBy::AllCube) => {}
            Some(ast::GroupBy::Exprs(exprs)) => {
                indexes(self, exprs)?;
                // Without rows there is one group of constants then, as if there were no keys.
                let none = self.grouping.keys.iter().all(|(_, key)| key.is_literal());
                if none && self.query.env.settings().row_of_constant_keys {
                    self.grouping.keys.clear();
                }
            }
            Some(ast::GroupBy::Rollup(exprs)) => {
                let keys = each_once(indexes(self, exprs)?);
                self.grouping.sets = rollup(&keys);
                self.twice_without_keys();
            }
            Some(ast::GroupBy::Cube(exprs)) => {
                let keys = each_once(indexes(self, exprs)?);
                self.grouping.sets = cube(&keys)?;
                self.twice_without_keys();
            }
            Some(ast::GroupBy::GroupingSets(sets)) => {
                let sets = sets.iter().map(|set| indexes(self, set)).collect::<Result<Vec<_>>>()?;
                self.grouping.sets = sets;
                let keys = &self.grouping.keys;
                self.grouping.are_listed = keys.is_empty() || keys.iter().any(|(_, key)| !key.is_literal());
            }
        }
        if !self.grouping.sets.is_empty() && self.query.env.settings().group_by_use_nulls {
            for (field, _) in &mut self.grouping.keys {
                if field.ty.without_low_cardinality().can_be_nullable() {
                    field.ty = field.ty.clone().nullable();
                }
            }
            self.grouping.use_nulls = true;
            // What was bound as a key has another type from here on.
            self.bound_aliases.retain(|_, bound| bound.is_literal());
        }
        Ok(())
    }

    /// ROLLUP and CUBE of `()`: of all rows and of none of the keys, which is the same set twice.
    fn twice_without_keys(&mut self) {
        if self.grouping.keys.is_empty() {
            self.grouping.sets = vec![Vec::new(); 2];
        }
    }

    /// With `group_by_use_nulls`: the Nullable column of the key that an expression after aggregation is.
    pub(crate) fn nullable_key(&self, bound: Expr) -> Expr {
        if !self.grouping.use_nulls || self.place != Place::Aggregates {
            return bound;
        }
        match self.grouping.keys.iter().find(|(_, key)| *key == bound && !key.is_literal()) {
            Some((field, _)) => Expr::Column(field.id, field.ty.clone()),
            None => bound,
        }
    }

    /// Adds the keys of an expression; a tuple in parentheses stands for its elements.
    fn add_key(&mut self, e: &ast::Expr) -> Result<Vec<usize>> {
        if let ExprKind::Call(call) = &e.kind
            && call.style == ast::CallStyle::Tuple
            && e.alias.is_none()
            && !is_literal_tuple(call)
        {
            let mut found = Vec::new();
            for arg in &call.args {
                found.extend(self.add_key(arg)?);
            }
            return Ok(found);
        }
        if matches!(e.kind, ExprKind::Star(_) | ExprKind::QualifiedStar { .. } | ExprKind::Columns { .. }) {
            let columns = self.expand(e)?;
            return columns.into_iter().map(|(name, expr)| self.add_checked_key(&name, expr)).collect();
        }
        let name = self.result_name(e);
        let expr = self.expr(e)?;
        let index = self.add_checked_key(&name, expr)?;
        // With an alias in between, the expression behind it is the key too.
        let mut written = &e.kind;
        while let ExprKind::Identifier(parts) = written
            && let [part] = &parts[..]
            && let Some(target) = self.aliases.get(&part.name)
            && target.kind != *written
        {
            written = &target.kind;
            if self.grouping.written.len() > MAX_WRITTEN {
                break;
            }
            self.grouping.written.push((written.clone(), index));
        }
        self.grouping.written.push((e.kind.clone(), index));
        Ok(vec![index])
    }

    fn add_checked_key(&mut self, name: &str, expr: Expr) -> Result<usize> {
        let allowed = self.query.env.settings().allow_suspicious_types_in_group_by;
        check_key_type(expr.ty(), "GROUP BY", "group_by", allowed)?;
        Ok(self.add_bound_key(name, expr))
    }

    /// With `group_by_use_nulls`: the key that an expression after aggregation is written as. Its parts may be keys
    /// themselves, which it must not be computed from.
    pub(crate) fn written_key(&self, e: &ExprKind) -> Option<Expr> {
        if !self.grouping.use_nulls || self.place != Place::Aggregates {
            return None;
        }
        let (_, index) = self.grouping.written.iter().find(|(kind, _)| kind == e)?;
        let (field, key) = &self.grouping.keys[*index];
        (!key.is_literal()).then(|| Expr::Column(field.id, field.ty.clone()))
    }

    fn add_bound_key(&mut self, name: &str, expr: Expr) -> usize {
        if let Some(known) = self.grouping.keys.iter().position(|(_, k)| *k == expr) {
            return known;
        }
        let field = self.query.field_of(name, &expr);
        self.grouping.keys.push((field, expr));
        self.grouping.keys.len() - 1
    }

    /// GROUP BY ALL: whatever is not under an aggregate.
    pub(crate) fn group_by_all(&mut self, select: &ast::Select, projection: &[(String, Expr)]) -> Result<()> {
        let Some(ast::GroupBy::All | ast::GroupBy::AllRollup | ast::GroupBy::AllCube) = &select.group_by
        else {
            return Ok(());
        };
        let mut computed: HashSet<ColumnId> = self.aggregates.iter().map(|a| a.call.field.id).collect();
        // Windows come after the groups; what they read is grouped by.
        computed.extend(self.windows.iter().map(|w| w.call.field.id));
        let of_windows = self.windows.iter().flat_map(|window| {
            let sorted = window.order_by.iter().map(|key| &key.expr);
            window.call.args.iter().chain(&window.partition_by).chain(sorted)
        });
        let of_windows: Vec<(String, Expr)> = of_windows.map(|e| (String::new(), e.clone())).collect();
        for (name, expr) in projection.iter().chain(&of_windows) {
            let mut keys = Vec::new();
            keys_of(expr, &computed, &mut keys);
            for key in keys {
                self.add_bound_key(name, key);
            }
        }
        let keys: Vec<usize> = (0..self.grouping.keys.len()).collect();
        match &select.group_by {
            Some(ast::GroupBy::AllRollup) => self.grouping.sets = rollup(&keys),
            Some(ast::GroupBy::AllCube) => self.grouping.sets = cube(&keys)?,
            _ => {}
        }
        Ok(())
    }

    /// The result columns that no aggregate is in: what LIMIT BY ALL goes by.
    pub(crate) fn without_aggregates(&self, projection: &[(String, Expr)]) -> Vec<Expr> {
        let aggregates: HashSet<ColumnId> = self.aggregates.iter().map(|a| a.call.field.id).collect();
        let plain = projection.iter().filter(|(_, e)| e.columns().is_disjoint(&aggregates));
        plain.map(|(_, e)| e.clone()).collect()
    }

    /// The Aggregate node, and what the clauses after it may refer to.
    pub(crate) fn aggregate(
        &mut self,
        input: Plan,
        select: &ast::Select,
        totals_having: Option<&Expr>,
        after: &mut After,
    ) -> Result<Plan> {
        let settings = self.query.env.settings();
        let mut keys = std::mem::take(&mut self.grouping.keys);
        let mut sets = std::mem::take(&mut self.grouping.sets);
        // Constant keys change nothing, unless no other is left: an empty input then still makes no group.
        if sets.is_empty() && keys.iter().any(|(_, k)| !k.is_literal()) {
            keys.retain(|(_, k)| !k.is_literal());
        }
        // A listed set of constants is the empty one, which has a group without rows, if some set has a key.
        if self.grouping.are_listed {
            sets.iter_mut().for_each(|set| set.retain(|&index| !keys[index].1.is_literal()));
        }
        let calls: Vec<_> = self.aggregates.iter().map(|a| a.call.clone()).collect();
        // A constant stays what it is in every grouping set.
        after.keys = keys.iter().filter(|(_, k)| !k.is_literal()).cloned().collect();
        after.allowed = keys.iter().map(|k| k.0.id).chain(calls.iter().map(|c| c.field.id)).collect();
        after.allowed.extend(&self.outer_columns);
        after.allowed.extend(self.grouping.set_number.as_ref().map(|f| f.id));
        let totals = if select.with_totals {
            let having = totals_having.map(|h| self.after_aggregation(h, after, true)).transpose()?;
            let include_filtered = settings.totals_mode == "before_having";
            Some(Totals { having, include_filtered })
        } else {
            None
        };
        for (field, key) in &mut keys {
            *key = crate::call::cast(self.query.env, key.clone(), &field.ty)?;
        }
        // `GROUP BY ()` is written, though without a key: rows that there are not are no group.
        let is_empty_list = matches!(&select.group_by, Some(ast::GroupBy::Exprs(exprs)) if exprs.is_empty());
        let empty_if_no_rows = settings.empty_result_for_aggregation_by_empty_set
            || is_empty_list
            || !sets.is_empty() && !self.grouping.are_listed;
        Ok(Plan::Aggregate(Aggregate {
            input: Box::new(input),
            keys,
            calls,
            grouping: if sets.is_empty() { GroupingKind::Plain } else { GroupingKind::Sets },
            sets,
            set_number: self.grouping.set_number.clone(),
            empty_if_no_rows,
            limit: None,
            totals,
            is_partial: false,
        }))
    }

    /// Replaces keys by the columns that hold them, and refuses columns that are neither keys nor aggregated.
    pub(crate) fn after_aggregation(&self, e: &Expr, after: &After, aggregated: bool) -> Result<Expr> {
        if !aggregated {
            return Ok(e.clone());
        }
        let rewritten = e.replace(&mut |x| {
            let found = after.keys.iter().find(|(_, key)| key == x);
            Ok(found.map(|(field, _)| Expr::Column(field.id, field.ty.clone())))
        })?;
        if let Some(foreign) = rewritten.columns().into_iter().find(|id| !after.allowed.contains(id)) {
            let name = self.tables.all_columns().find(|c| c.expr.as_column() == Some(foreign));
            let name = name.map_or("arrayJoin", |c| &c.name);
            return Err(err!(
                NOT_AN_AGGREGATE,
                "Column '{name}' is not under aggregate function and not in GROUP BY keys"
            ));
        }
        Ok(rewritten)
    }

    /// `grouping(a, b)`: a bit per argument, 1 where the row's grouping set lacks it.
    pub(crate) fn grouping_call(&mut self, call: &ast::Call, e: &ast::Expr) -> Result<Expr> {
        let env = self.query.env;
        ensure!(
            !call.args.is_empty(),
            TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            "Function GROUPING expects at least one argument"
        );
        if let Place::Before(clause) = self.place {
            bail!(ILLEGAL_AGGREGATION, "GROUPING function {e} is found in {clause} in query");
        }
        ensure!(
            self.grouping.is_present,
            ILLEGAL_AGGREGATION,
            "GROUPING function {e} is found in SELECT without GROUP BY in query"
        );
        let outer = std::mem::replace(&mut self.place, Place::Before("grouping"));
        let args = call.args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>();
        self.place = outer;
        let mut indexes = Vec::with_capacity(call.args.len());
        for (arg, e) in args?.iter().zip(&call.args) {
            let index = self.grouping.keys.iter().position(|(_, k)| k == arg);
            indexes.push(index.ok_or_else(|| {
                err!(BAD_ARGUMENTS, "Argument of grouping function {e} is not a part of GROUP BY clause")
            })?);
        }
        if self.grouping.sets.is_empty() {
            return Expr::literal(&Value::UInt(0), DataType::UInt64);
        }
        let standard = env.settings().force_grouping_standard_compatibility;
        let masks = self.grouping.sets.iter().map(|set| {
            let bit = |index: &usize| u64::from(set.contains(index) != standard);
            let bits = indexes.iter().fold(0u64, |mask, index| mask << 1 | bit(index));
            Value::UInt(bits)
        });
        let masks = Expr::literal(&Value::Array(masks.collect()), DataType::UInt64.array())?;
        let ids = self.query.ids;
        let number = self.grouping.set_number.get_or_insert_with(|| ids.field("__set", DataType::UInt64));
        let number = Expr::Column(number.id, DataType::UInt64);
        let one = Expr::literal(&Value::UInt(1), DataType::UInt8)?;
        let position = make_call(env, "plus", vec![number, one])?;
        make_call(env, "arrayElement", vec![masks, position])
    }
}

/// Is a tuple in parentheses a literal, since all that is in it is? As a key it stands for itself.
fn is_literal_tuple(call: &ast::Call) -> bool {
    !call.args.is_empty()
        && call.args.iter().all(|arg| match &arg.kind {
            ExprKind::Literal(_) => arg.alias.is_none(),
            ExprKind::Call(inner) if matches!(inner.style, ast::CallStyle::Tuple | ast::CallStyle::Array) => {
                arg.alias.is_none() && is_literal_tuple(inner)
            }
            _ => false,
        })
}

/// More written forms of keys are not remembered: aliases that stand for each other in a circle.
const MAX_WRITTEN: usize = 1000;

/// A key that is named again makes no more sets.
fn each_once(mut keys: Vec<usize>) -> Vec<usize> {
    let mut seen = HashSet::default();
    keys.retain(|key| seen.insert(*key));
    keys
}

/// The grouping sets of ROLLUP: all keys, all but the last, and so on.
fn rollup(keys: &[usize]) -> Vec<Vec<usize>> {
    (0..=keys.len()).rev().map(|n| keys[..n].to_vec()).collect()
}

/// The grouping sets of CUBE: all selections of the keys.
fn cube(keys: &[usize]) -> Result<Vec<Vec<usize>>> {
    ensure!(keys.len() <= 12, TOO_MANY_COLUMNS, "Too many keys of CUBE: {}", keys.len());
    let selection = |mask: usize| {
        let bit = |i: &usize| mask >> (keys.len() - 1 - i) & 1 == 1;
        (0..keys.len()).filter(bit).map(|i| keys[i]).collect()
    };
    Ok((0..1usize << keys.len()).rev().map(selection).collect())
}

/// The largest parts of an expression that hold no aggregate.
fn keys_of(e: &Expr, aggregates: &HashSet<ColumnId>, keys: &mut Vec<Expr>) {
    let columns = e.columns();
    if columns.is_empty() {
        return;
    }
    if columns.iter().any(|id| aggregates.contains(id)) {
        e.children().iter().for_each(|child| keys_of(child, aggregates, keys));
    } else {
        keys.push(e.clone());
    }
}

/// Fails on keys whose values are of several types, unless the setting allows them.
pub(crate) fn check_key_type(ty: &DataType, clause: &str, setting: &str, allowed: bool) -> Result<()> {
    if !allowed && ty.is_or_contains(&DataType::is_of_several_types) {
        bail!(
            ILLEGAL_COLUMN,
            "Data types Variant/Dynamic are not allowed in {clause} keys, because it can lead to unexpected results. Consider \
             using a subcolumn with a specific data type instead (for example 'column.Int64' or 'json.some.path.:Int64' if its a \
             JSON path subcolumn) or casting this column to a specific data type. Set setting \
             allow_suspicious_types_in_{setting} = 1 in order to allow it"
        );
    }
    Ok(())
}
