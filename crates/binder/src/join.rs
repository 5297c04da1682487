//! JOIN: kinds, strictness, ON and USING.

use crate::call::{cast, make_call};
use crate::scope::{ScopeColumn, TableScope, Using, is_matcher};
use crate::select::{Place, SelectBinder};
use chalet_base::hash::HashSet;
use chalet_base::{Result, bail, ensure, err};
use chalet_plan::{
    AnyRule, AsofOp, ColumnId, Expr, Field, Join, JoinKey, JoinKind, JoinStrictness, Plan, Project,
};
use chalet_syntax::ast::{self, ExprKind};
use chalet_types::{DataType, Value, supertype};
use std::sync::Arc;

/// A column of USING: as each side has it, and the type that both get.
struct MergedPair {
    name: Arc<str>,
    left: Expr,
    right: Expr,
    common: DataType,
    /// The left side is an alias of the SELECT: both sides keep their columns.
    of_alias: bool,
}

/// What ON and USING come to.
#[derive(Default)]
struct Conditions {
    keys: Vec<JoinKey>,
    asof: Option<(Expr, AsofOp, Expr)>,
    /// Why an inequality is none of ASOF.
    not_asof: Option<chalet_base::Error>,
    residual: Vec<Expr>,
}

impl SelectBinder<'_> {
    pub(crate) fn join(&mut self, left: Plan, join: &ast::Join) -> Result<Plan> {
        let (right, mut right_scope) = self.table_expr(&join.table)?;
        let kind = match join.kind {
            ast::JoinKind::Inner => JoinKind::Inner,
            ast::JoinKind::Left => JoinKind::Left,
            ast::JoinKind::Right => JoinKind::Right,
            ast::JoinKind::Full => JoinKind::Full,
            ast::JoinKind::Cross | ast::JoinKind::Comma => JoinKind::Cross,
            ast::JoinKind::Paste => JoinKind::Paste,
        };
        let (kind, strictness) = match (kind, self.strictness(join, kind)?) {
            // One row of a key stands for all: each left row finds it.
            (JoinKind::Inner, JoinStrictness::Any) if self.any_rule().distinct_right_keys => {
                (JoinKind::Left, JoinStrictness::Semi)
            }
            both => both,
        };
        let mut using: Vec<(String, String)> = match &join.constraint {
            ast::JoinConstraint::Using(items) => items.iter().map(using_name).collect::<Result<_>>()?,
            _ => Vec::new(),
        };
        if join.natural {
            let left_columns: Vec<&ScopeColumn> = self.tables.all_columns().filter(|c| c.in_star).collect();
            let common = right_scope.columns.iter().filter(|c| c.in_star);
            using = common
                .filter(|c| left_columns.iter().any(|l| l.name == c.name))
                .map(|c| (c.name.to_string(), c.name.to_string()))
                .collect();
        }
        for (position, (name, _)) in using.iter().enumerate() {
            ensure!(
                !using[..position].iter().any(|(before, _)| before == name),
                BAD_ARGUMENTS,
                "JOIN ... USING identifier '{name}' appears more than once in USING clause"
            );
        }
        let mut pairs = Vec::with_capacity(using.len());
        for (left, right) in &using {
            pairs.push(self.merged_pair(left, right, &right_scope)?);
        }
        let left = self.converted_left(left, &mut pairs)?;
        let right = self.converted_right(right, &mut right_scope, &mut pairs)?;
        let mut conditions = Conditions::default();
        for pair in &pairs {
            conditions.keys.push(self.key(pair.left.clone(), pair.right.clone(), false)?);
        }
        let merged: Vec<&str> = pairs.iter().filter(|pair| !pair.of_alias).map(|pair| &*pair.name).collect();
        self.remember_using(&merged, kind, &right_scope);
        self.tables.list.push(right_scope);
        let left_ids: HashSet<ColumnId> = left.fields().iter().map(|f| f.id).collect();
        let right_ids: HashSet<ColumnId> = right.fields().iter().map(|f| f.id).collect();
        if let ast::JoinConstraint::On(on) = &join.constraint {
            self.on(on, &left_ids, &right_ids, &mut conditions)?;
        }
        if strictness == JoinStrictness::Asof && conditions.asof.is_none() {
            // With USING the last column is the inequality.
            let last = conditions.keys.pop().filter(|_| !using.is_empty());
            let Some(key) = last else {
                if let Some(error) = conditions.not_asof {
                    return Err(error);
                }
                bail!(INVALID_JOIN_ON_EXPRESSION, "ASOF JOIN requires an inequality in its ON section");
            };
            conditions.asof = Some((key.left, AsofOp::GreaterOrEqual, key.right));
        }
        ensure!(
            (kind, strictness) != (JoinKind::Full, JoinStrictness::Any)
                || self.any_rule().distinct_right_keys,
            NOT_IMPLEMENTED,
            "ANY FULL JOINs are not implemented"
        );
        check_algorithms(&self.query.env.settings().join_algorithm, &right, kind, strictness, &conditions)?;
        let needs_condition = !matches!(kind, JoinKind::Cross | JoinKind::Paste) && !join.natural;
        ensure!(
            !needs_condition || !matches!(join.constraint, ast::JoinConstraint::None),
            INVALID_JOIN_ON_EXPRESSION,
            "JOIN without ON or USING is not supported"
        );
        let env_nulls = self.query.env.settings().join_use_nulls;
        check_join_engine(&right, kind, strictness, &conditions, env_nulls)?;
        self.finish_join(left, right, kind, strictness, conditions, pairs)
    }

    /// The columns of one name in USING, and the type that both get.
    fn merged_pair(&mut self, name: &str, right_name: &str, right: &TableScope) -> Result<MergedPair> {
        let alias = self.using_alias(name);
        // `USING (a AS b)` compares two columns, which stay two.
        let of_alias = alias.is_some() || name != right_name;
        let (left, right) = self.using_pair((name, right_name), alias, right)?;
        let (a, b) = (left.ty(), right.ty());
        let common = if a == b {
            a.clone()
        } else {
            let (a, b) = (a.without_low_cardinality(), b.without_low_cardinality());
            supertype::pair(a, b).ok_or_else(|| {
                err!(
                    NO_COMMON_TYPE,
                    "USING cannot infer common type for {a} and {b} in USING for identifier '{name}'"
                )
            })?
        };
        Ok(MergedPair { name: name.into(), left, right, common, of_alias })
    }

    /// The left side with its columns of USING in the common types, as which the query sees them too.
    fn converted_left(&mut self, plan: Plan, pairs: &mut [MergedPair]) -> Result<Plan> {
        let (plan, renamed) = self.converted(plan, pairs.iter().map(|pair| (&pair.left, &pair.common)))?;
        self.tables.rename(&renamed);
        let renamed = ids_and_types(&renamed);
        pairs.iter_mut().for_each(|pair| pair.left = pair.left.rename(&renamed));
        Ok(plan)
    }

    /// The same of the right side. A table of the engine Join stays as it is: its rows are under its own keys.
    fn converted_right(&self, plan: Plan, scope: &mut TableScope, pairs: &mut [MergedPair]) -> Result<Plan> {
        if matches!(&plan, Plan::Scan(scan) if scan.table.join_engine().is_some()) {
            return Ok(plan);
        }
        let (plan, renamed) = self.converted(plan, pairs.iter().map(|pair| (&pair.right, &pair.common)))?;
        scope.rename(&renamed);
        let renamed = ids_and_types(&renamed);
        pairs.iter_mut().for_each(|pair| pair.right = pair.right.rename(&renamed));
        Ok(plan)
    }

    /// A projection that casts some columns, and what they are called after it. Columns that an earlier join computed stay.
    fn converted<'e>(
        &self,
        plan: Plan,
        keys: impl Iterator<Item = (&'e Expr, &'e DataType)>,
    ) -> Result<(Plan, Vec<(ColumnId, Field)>)> {
        let wanted: Vec<(ColumnId, &DataType)> = keys
            .filter(|(key, ty)| key.ty() != *ty)
            .filter_map(|(key, ty)| key.as_column().map(|id| (id, ty)))
            .collect();
        let mut renamed = Vec::new();
        if wanted.is_empty() {
            return Ok((plan, renamed));
        }
        let mut exprs = Vec::new();
        for field in plan.fields() {
            let column = Expr::Column(field.id, field.ty.clone());
            exprs.push(match wanted.iter().find(|(id, _)| *id == field.id) {
                Some((id, ty)) => {
                    let after = self.query.field_like(&field, (*ty).clone());
                    renamed.push((*id, after.clone()));
                    (after, cast(self.query.env, column, ty)?)
                }
                None => (field.clone(), column),
            });
        }
        Ok((Plan::Project(Project { input: Box::new(plan), exprs }), renamed))
    }

    /// Notes what a USING merges, and which merged columns the table at the right makes ambiguous.
    fn remember_using(&mut self, using: &[&str], kind: JoinKind, right: &TableScope) {
        let names: Vec<Arc<str>> = using.iter().map(|name| (*name).into()).collect();
        let is_met_again = |c: &&ScopeColumn| !names.contains(&c.name) && right.find(&c.name).is_some();
        let met_again: Vec<Arc<str>> =
            self.tables.merged.iter().filter(is_met_again).map(|c| c.name.clone()).collect();
        self.tables.ambiguous.extend(met_again);
        if !names.is_empty() {
            let position = self.tables.list.len();
            self.tables.usings.push(Using { position, names, right: kind == JoinKind::Right });
        }
    }

    /// What the settings say of ANY.
    fn any_rule(&self) -> AnyRule {
        let settings = self.query.env.settings();
        let sorts = ["full_sorting_merge", "partial_merge", "prefer_partial_merge"];
        let algorithm = settings.join_algorithm.split(',').next().map_or("", str::trim);
        AnyRule {
            // Only a hash table has a last row.
            takes_last: settings.join_any_take_last_row && !sorts.contains(&algorithm),
            distinct_right_keys: settings.any_join_distinct_right_table_keys,
        }
    }

    fn strictness(&self, join: &ast::Join, kind: JoinKind) -> Result<JoinStrictness> {
        Ok(match join.strictness {
            ast::JoinStrictness::All => JoinStrictness::All,
            ast::JoinStrictness::Any => JoinStrictness::Any,
            ast::JoinStrictness::Asof => JoinStrictness::Asof,
            ast::JoinStrictness::Semi => JoinStrictness::Semi,
            ast::JoinStrictness::Anti => JoinStrictness::Anti,
            ast::JoinStrictness::Unspecified if matches!(kind, JoinKind::Cross | JoinKind::Paste) => {
                JoinStrictness::All
            }
            ast::JoinStrictness::Unspecified => match &*self.query.env.settings().join_default_strictness {
                "ALL" => JoinStrictness::All,
                "ANY" => JoinStrictness::Any,
                _ => bail!(
                    EXPECTED_ALL_OR_ANY,
                    "Expected ANY or ALL in JOIN section, because setting (join_default_strictness) is empty"
                ),
            },
        })
    }

    /// With the setting for it: what an alias of the SELECT is over the columns of the left side.
    fn using_alias(&mut self, name: &str) -> Option<Expr> {
        let target =
            self.select_aliases.get(name).filter(|_| self.query.env.settings().using_means_aliases)?.clone();
        let written = ast::Expr { alias: None, ..ast::Expr::clone(&target) };
        self.resolving.push(name.to_string());
        let bound = self.expr(&written).ok();
        self.resolving.pop();
        bound.filter(|bound| !bound.columns().is_empty())
    }

    fn using_pair(
        &self,
        (name, right_name): (&str, &str),
        alias: Option<Expr>,
        right: &TableScope,
    ) -> Result<(Expr, Expr)> {
        let left = match alias {
            Some(alias) => Some(alias),
            None => self.tables.find(&[name], true)?.map(|f| f.expr),
        };
        let left = left.ok_or_else(|| {
            err!(
                UNKNOWN_IDENTIFIER,
                "JOIN using identifier '{name}' cannot be resolved from left table expression"
            )
        })?;
        let right = right.find(right_name).map(ScopeColumn::named).ok_or_else(|| {
            err!(
                UNKNOWN_IDENTIFIER,
                "JOIN using identifier '{right_name}' cannot be resolved from right table expression"
            )
        })?;
        Ok((left, right))
    }

    /// Both sides in their common type.
    pub(crate) fn key(&self, left: Expr, right: Expr, null_safe: bool) -> Result<JoinKey> {
        let (a, b) = (left.ty().without_low_cardinality(), right.ty().without_low_cardinality());
        if let Some(dynamic) = [a, b].into_iter().find(|ty| matches!(ty, chalet_types::DataType::Dynamic(_)))
        {
            bail!(
                ILLEGAL_COLUMN,
                "JOIN on keys with Dynamic type is not supported: a key has type {dynamic}. In order to use this key in JOIN you \
                 should cast it to any other type"
            );
        }
        let common = supertype::pair_of_keys(a, b).ok_or_else(|| {
            let none = supertype::no_supertype(a, b);
            none.context("JOIN cannot infer common type in ON section for keys")
        })?;
        let env = self.query.env;
        Ok(JoinKey { left: cast(env, left, &common)?, right: cast(env, right, &common)?, null_safe })
    }

    /// What ON says. It is a call, or a constant that is a boolean.
    fn join_condition(&mut self, on: &ast::Expr) -> Result<Expr> {
        ensure!(
            !is_matcher(on),
            INVALID_JOIN_ON_EXPRESSION,
            "JOIN ON {on} join expression expected function"
        );
        let bound = self.expr(on)?;
        let ty = bound.ty().clone();
        if bound.is_literal() {
            ensure!(
                ty.is_only_null() || matches!(ty.bare(), DataType::UInt8 | DataType::Bool),
                INVALID_JOIN_ON_EXPRESSION,
                "Wrong type {ty} of JOIN expression {on}"
            );
            return Ok(bound);
        }
        let parts: &[ast::Ident] = if let ExprKind::Identifier(parts) = &on.kind { parts } else { &[] };
        let is_alias = parts.len() == 1 && self.aliases.contains_key(&parts[0].name);
        ensure!(
            parts.is_empty() || is_alias,
            INVALID_JOIN_ON_EXPRESSION,
            "JOIN ON {on} join expression expected function"
        );
        self.condition(on, "JOIN ON")
    }

    fn on(
        &mut self,
        on: &ast::Expr,
        left_ids: &HashSet<ColumnId>,
        right_ids: &HashSet<ColumnId>,
        conditions: &mut Conditions,
    ) -> Result<()> {
        let outer = std::mem::replace(&mut self.place, Place::Before("JOIN ON"));
        // Columns get other ids by the join: what is bound here is bound anew where it is used next.
        let bound_before = self.bound_aliases.clone();
        let aliases = std::mem::replace(&mut self.aliases, self.select_aliases.clone());
        let bound = self.join_condition(on);
        self.aliases = aliases;
        self.bound_aliases = bound_before;
        self.place = outer;
        let mut parts = Vec::new();
        bound?.conjuncts(&mut parts);
        let side = |e: &Expr| {
            let columns = e.columns();
            let on_left = !columns.is_empty() && columns.iter().all(|c| left_ids.contains(c));
            let on_right = !columns.is_empty() && columns.iter().all(|c| right_ids.contains(c));
            (on_left, on_right)
        };
        for part in parts {
            let Expr::Call { function, args } = &part else {
                conditions.residual.push(part);
                continue;
            };
            let [a, b] = &args[..] else {
                conditions.residual.push(part);
                continue;
            };
            let (left, right, swapped) = match (side(a), side(b)) {
                ((true, _), (_, true)) => (a.clone(), b.clone(), false),
                ((_, true), (true, _)) => (b.clone(), a.clone(), true),
                _ => {
                    conditions.residual.push(part);
                    continue;
                }
            };
            match comparison(function.function.record().name, swapped) {
                Some(Comparison::Equal) => conditions.keys.push(self.key(left, right, false)?),
                Some(Comparison::NullSafe) => conditions.keys.push(self.key(left, right, true)?),
                Some(Comparison::Inequality(op)) if conditions.asof.is_none() => {
                    // For joins other than ASOF it is one more condition, of any two types: `finish_join` decides.
                    match self.key(left, right, false) {
                        Ok(key) => conditions.asof = Some((key.left, op, key.right)),
                        Err(error) => conditions.not_asof = Some(error),
                    }
                    conditions.residual.push(part);
                }
                _ => conditions.residual.push(part),
            }
        }
        Ok(())
    }

    /// Takes the inequality of an ASOF JOIN out of the conditions of pairs, and checks what is left.
    fn settle_asof(
        &mut self,
        kind: JoinKind,
        sides: [HashSet<ColumnId>; 2],
        conditions: &mut Conditions,
    ) -> Result<()> {
        // The first inequality is the ASOF condition and not a condition of pairs.
        if let Some((l, _, r)) = &conditions.asof {
            let (l, r) = (l.columns(), r.columns());
            let all: HashSet<ColumnId> = l.union(&r).copied().collect();
            if let Some(at) = conditions.residual.iter().position(|e| e.columns() == all) {
                conditions.residual.remove(at);
            }
        }
        if let Some((left, _, _)) = &conditions.asof {
            let ty = left.ty().without_nullable();
            let fits = ty.is_number()
                || matches!(
                    ty,
                    DataType::Date
                        | DataType::Date32
                        | DataType::DateTime(_)
                        | DataType::DateTime64(..)
                        | DataType::Time
                        | DataType::Time64(_)
                        | DataType::Enum8(_)
                        | DataType::Enum16(_)
                        | DataType::Interval(_)
                );
            ensure!(fits, BAD_TYPE_OF_FIELD, "ASOF join not supported for type: {ty}");
        }
        let is_true = |e: &Expr| e.as_literal().is_some_and(|l| l.value().as_f64().is_some_and(|x| x != 0.0));
        conditions.residual.retain(|e| !is_true(e));
        let side_of = |part: &Expr| {
            let columns = part.columns();
            sides.iter().position(|side| columns.iter().all(|column| side.contains(column)))
        };
        ensure!(
            conditions.residual.iter().all(|part| side_of(part).is_some()),
            INVALID_JOIN_ON_EXPRESSION,
            "ASOF JOIN requires equalities and one inequality"
        );
        let algorithms = &self.query.env.settings().join_algorithm;
        if conditions.keys.is_empty() && algorithms.trim_start().starts_with("full_sorting_merge") {
            // All rows are of one group.
            let one = Expr::literal(&Value::UInt(1), DataType::UInt8)?;
            conditions.keys.push(JoinKey { left: one.clone(), right: one, null_safe: false });
        }
        ensure!(
            !conditions.keys.is_empty(),
            NOT_IMPLEMENTED,
            "ASOF join with hash algorithm needs at least one equi-join column"
        );
        // What only one side is asked is one more equality: rows for which it does not hold have no partner.
        let env = self.query.env;
        for part in std::mem::take(&mut conditions.residual) {
            let side = side_of(&part);
            let zero = Expr::literal(&Value::UInt(0), DataType::UInt8)?;
            let holds = make_call(env, "notEquals", vec![part, zero])?;
            let one = Expr::literal(&Value::UInt(1), DataType::UInt8)?;
            let (left, right) = if side == Some(0) { (holds, one) } else { (one, holds) };
            conditions.keys.push(self.key(left, right, false)?);
        }
        ensure!(
            matches!(kind, JoinKind::Inner | JoinKind::Left),
            NOT_IMPLEMENTED,
            "ASOF JOIN is only supported as INNER and LEFT"
        );
        Ok(())
    }

    fn finish_join(
        &mut self,
        left: Plan,
        right: Plan,
        kind: JoinKind,
        strictness: JoinStrictness,
        mut conditions: Conditions,
        merged: Vec<MergedPair>,
    ) -> Result<Plan> {
        let env = self.query.env;
        match strictness {
            JoinStrictness::Asof => {
                let sides = [&left, &right].map(|side| side.fields().iter().map(|field| field.id).collect());
                self.settle_asof(kind, sides, &mut conditions)?;
            }
            _ => conditions.asof = None,
        }
        let mut residual = None;
        for part in conditions.residual {
            residual = Some(match residual {
                None => part,
                Some(before) => make_call(env, "and", vec![before, part])?,
            });
        }
        // Columns of a side whose rows may stay without a partner become Nullable when asked for.
        let use_nulls = env.settings().join_use_nulls;
        let left_nulls = use_nulls && matches!(kind, JoinKind::Right | JoinKind::Full);
        let right_nulls = use_nulls && matches!(kind, JoinKind::Left | JoinKind::Full);
        let mut renamed: Vec<(ColumnId, Field)> = Vec::new();
        let mut fields = Vec::new();
        for (side, nulls) in [(&left, left_nulls), (&right, right_nulls)] {
            for field in side.fields() {
                let ty = if nulls { field.ty.clone().nullable() } else { field.ty.clone() };
                let after = self.query.field_like(&field, ty);
                renamed.push((field.id, after.clone()));
                fields.push(after);
            }
        }
        let node = Join {
            left,
            right,
            kind,
            strictness,
            any_rule: self.any_rule(),
            on: conditions.keys,
            asof: conditions.asof,
            residual,
            fields,
            unread: Vec::new(),
        };
        self.tables.rename(&renamed);
        let renamed = ids_and_types(&renamed);
        for pair in merged.into_iter().filter(|pair| !pair.of_alias) {
            let (left, right) = (pair.left.rename(&renamed), pair.right.rename(&renamed));
            let expr = self.merged_column(kind, left, right, &pair.common)?;
            self.tables.merged.retain(|c| c.name != pair.name);
            self.tables.merged.push(ScopeColumn { name: pair.name, expr, in_star: true, mark: None });
        }
        Ok(Plan::Join(Box::new(node)))
    }

    /// The column that USING makes of two: of the side that always has a row, or whichever has one.
    fn merged_column(&self, kind: JoinKind, left: Expr, right: Expr, common: &DataType) -> Result<Expr> {
        let env = self.query.env;
        match kind {
            JoinKind::Right => cast(env, right, common),
            JoinKind::Full => {
                let nulls = left.ty().is_nullable() || right.ty().is_nullable();
                let common = if nulls { common.clone().nullable() } else { common.clone() };
                let plain = common.without_low_cardinality();
                let (l, r) = (cast(env, left, plain)?, cast(env, right, plain)?);
                let whole = if plain.is_nullable() {
                    make_call(env, "coalesce", vec![l, r])?
                } else {
                    // Without NULLs a missing side holds defaults: a default on the left means that the right decides.
                    let default = chalet_columns::Vector::defaults(plain, 1).value(0);
                    let default = Expr::literal(&default, plain.clone())?;
                    let missing = make_call(env, "equals", vec![l.clone(), default])?;
                    make_call(env, "if", vec![missing, r, l])?
                };
                cast(env, whole, &common)
            }
            _ => cast(env, left, common),
        }
    }
}

/// Columns and what they become, for expressions over them.
fn ids_and_types(renamed: &[(ColumnId, Field)]) -> Vec<(ColumnId, (ColumnId, DataType))> {
    renamed.iter().map(|(from, to)| (*from, (to.id, to.ty.clone()))).collect()
}

/// Fails where none of the algorithms of `join_algorithm` could do the join in the kernel.
fn check_algorithms(
    names: &str,
    right: &Plan,
    kind: JoinKind,
    strictness: JoinStrictness,
    conditions: &Conditions,
) -> Result<()> {
    use JoinKind::{Cross, Full, Inner, Left, Paste, Right};
    use JoinStrictness::{All, Anti, Any, Asof, Semi};
    if matches!(kind, Cross | Paste) || conditions.keys.is_empty() && conditions.asof.is_none() {
        return Ok(());
    }
    let sorts = |name: &str| match name {
        "full_sorting_merge" => Some(!matches!(strictness, Semi | Anti)),
        "partial_merge" => Some(match strictness {
            All => true,
            Any => matches!(kind, Inner | Left),
            Semi => kind != Right,
            Anti | Asof => false,
        }),
        _ => None,
    };
    let can = |name: &str| match name {
        "full_sorting_merge" | "partial_merge" => sorts(name) == Some(true),
        "grace_hash" => strictness != Asof,
        // Of tables that have their rows under their keys.
        "direct" => matches!(right, Plan::Scan(_)),
        _ => true,
    };
    let list: Vec<String> = names.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
    let word = match strictness {
        All => "ALL",
        Any => "ANY",
        Semi => "SEMI",
        Anti => "ANTI",
        Asof => "ASOF",
    };
    let side = match kind {
        Left => "LEFT",
        Right => "RIGHT",
        Full => "FULL",
        _ => "INNER",
    };
    ensure!(
        list.iter().any(|name| can(name)),
        NOT_IMPLEMENTED,
        "None of the algorithms enabled by the 'join_algorithm' setting [{names}] can execute this {word} {side} JOIN with the given \
         right table storage type"
    );
    ensure!(
        kind == Inner
            || strictness == Asof
            || conditions.residual.is_empty()
            || !list.iter().all(|name| sorts(name).is_some()),
        NOT_IMPLEMENTED,
        "JOIN with mixed conditions supports only hash join or grace hash join"
    );
    Ok(())
}

/// Fails where a table of the engine Join is joined as it cannot be: it has its rows under its keys, for one kind of join.
fn check_join_engine(
    right: &Plan,
    kind: JoinKind,
    strictness: JoinStrictness,
    conditions: &Conditions,
    use_nulls: bool,
) -> Result<()> {
    let Plan::Scan(scan) = right else { return Ok(()) };
    let Some((engine, keys)) = scan.table.join_engine() else { return Ok(()) };
    let word = match kind {
        JoinKind::Inner => "INNER",
        JoinKind::Left => "LEFT",
        JoinKind::Right => "RIGHT",
        JoinKind::Full => "FULL",
        JoinKind::Cross | JoinKind::Paste => return Ok(()),
    };
    let strict = match strictness {
        JoinStrictness::All => "ALL",
        JoinStrictness::Any => "ANY",
        JoinStrictness::Semi => "SEMI",
        JoinStrictness::Anti => "ANTI",
        JoinStrictness::Asof => "ASOF",
    };
    ensure!(
        engine.kind == word && engine.strictness == strict,
        INCOMPATIBLE_TYPE_OF_JOIN,
        "Table '{}' has incompatible type of JOIN",
        scan.name
    );
    ensure!(
        engine.use_nulls == use_nulls || !matches!(kind, JoinKind::Left | JoinKind::Full),
        INCOMPATIBLE_TYPE_OF_JOIN,
        "Table {} needs the same join_use_nulls setting as present in LEFT or FULL JOIN",
        scan.name
    );
    ensure!(
        conditions.keys.len() == keys.len(),
        INCOMPATIBLE_TYPE_OF_JOIN,
        "Number of keys in JOIN ON section ({}) doesn't match number of keys in Join engine ({})",
        conditions.keys.len(),
        keys.len()
    );
    let schema = scan.table.schema();
    let names: Vec<&str> = schema.stored().map(|column| &*column.name).collect();
    let is_key = |expr: &Expr| {
        let Expr::Column(id, _) = expr else { return false };
        let field = scan.columns.iter().map(|(_, field)| field).find(|field| field.id == *id);
        field.is_some_and(|field| keys.iter().any(|key| names[*key] == &*field.name))
    };
    ensure!(
        conditions.residual.is_empty() && conditions.keys.iter().all(|key| is_key(&key.right)),
        INCOMPATIBLE_TYPE_OF_JOIN,
        "JOIN with 'Join' table engine should be performed by storage keys [{}], but another column was found",
        keys.iter().map(|key| names[*key]).collect::<Vec<_>>().join(", ")
    );
    Ok(())
}

enum Comparison {
    Equal,
    NullSafe,
    Inequality(AsofOp),
}

/// The comparison that a function's record names, seen from the left table.
fn comparison(name: &str, swapped: bool) -> Option<Comparison> {
    use AsofOp::*;
    const INEQUALITIES: [(&str, AsofOp, AsofOp); 4] = [
        ("greaterOrEquals", GreaterOrEqual, LessOrEqual),
        ("greater", Greater, Less),
        ("lessOrEquals", LessOrEqual, GreaterOrEqual),
        ("less", Less, Greater),
    ];
    if name == "equals" {
        return Some(Comparison::Equal);
    }
    if name == "isNotDistinctFrom" {
        return Some(Comparison::NullSafe);
    }
    let (_, direct, mirrored) = INEQUALITIES.into_iter().find(|(n, ..)| *n == name)?;
    Some(Comparison::Inequality(if swapped { mirrored } else { direct }))
}

/// What an item of USING names at the left and at the right.
fn using_name(e: &ast::Expr) -> Result<(String, String)> {
    match &e.kind {
        ExprKind::Identifier(parts) => match parts.last() {
            Some(last) => {
                let right = e.alias.as_ref().unwrap_or(last);
                Ok((last.name.clone(), right.name.clone()))
            }
            None => bail!(UNSUPPORTED_METHOD, "Empty identifier in USING"),
        },
        _ => bail!(BAD_ARGUMENTS, "JOIN USING clause expected identifier. Actual: {e}"),
    }
}
