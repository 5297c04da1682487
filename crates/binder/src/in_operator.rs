//! IN: the right side becomes a set of constant rows or of the rows of a query.

use crate::call::{cast, make_call};
use crate::select::SelectBinder;
use chalet_base::{Result, bail, codes, ensure, err};
use chalet_columns::{Block, Builder, Column};
use chalet_plan::{Expr, InExpr, InSet, Literal, Plan, Project, SetSource, SubqueryKind};
use chalet_syntax::ast::{self, CallStyle, ExprKind};
use chalet_types::{DataType, Value, supertype};
use std::sync::{Arc, OnceLock};

impl SelectBinder<'_> {
    pub(crate) fn in_operator(&mut self, left: &ast::Expr, right: &ast::Expr, negated: bool) -> Result<Expr> {
        let null_in = self.query.env.settings().transform_null_in;
        self.in_operator_where(left, right, negated, null_in, null_in)
    }

    /// IN where NULL is a value of sets or not, and of lists that are no constants.
    fn in_operator_where(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        negated: bool,
        null_in: bool,
        null_in_lists: bool,
    ) -> Result<Expr> {
        let left = self.expr(left)?;
        if matches!(left.ty().bare(), DataType::Tuple(fields) if fields.is_empty()) {
            // There is one empty tuple.
            let right = self.expr(right)?;
            ensure!(
                matches!(right.ty().bare(), DataType::Tuple(_)),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Unsupported types for IN. First argument type {}. Second argument type {}",
                left.ty(),
                right.ty()
            );
            return Expr::literal(&Value::UInt(u64::from(!negated)), DataType::UInt8);
        }
        let function = if negated { "notIn" } else { "in" };
        if let Some(query) = self.set_query(right)? {
            check_key(function, left.ty())?;
            let key = self.shared_key("set", &query);
            self.bind_mentioned_aliases(&query);
            let mut binder = self.query.in_expression_of(self);
            if !matches!(right.kind, ExprKind::Subquery(_)) {
                // A name stands in this query, not in one below it.
                binder.ctes = self.query.ctes.clone();
                binder.is_named_set = true;
            }
            let bound = binder.query(&query).map_err(|error| match &right.kind {
                ExprKind::Identifier(parts) if parts.len() == 1 && error.code() == codes::UNKNOWN_TABLE => {
                    let name = &parts[0].name;
                    err!(UNKNOWN_IDENTIFIER, "Unknown expression or table expression identifier `{name}`")
                }
                _ => error,
            })?;
            return self.in_query(left, bound, key, negated, null_in);
        }
        let (elements, set_depth) = self.set_elements(&left, right)?;
        ensure!(
            !matches!(&elements[..], [one] if depth(left.ty()) > 0 && is_plain(one.ty())),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Unsupported types for IN. First argument type {}. Second argument type {}",
            left.ty(),
            elements[0].ty()
        );
        if let [array] = &elements[..]
            && is_list_of(array.ty(), left.ty())
            && array.as_literal().is_none()
        {
            return self.in_array(left, array.clone(), negated, null_in_lists);
        }
        if let Some(literals) = elements.iter().map(|e| e.as_literal().cloned()).collect::<Option<Vec<_>>>() {
            check_key(function, left.ty())?;
            self.check_depths(left.ty(), right, set_depth)?;
            return self.in_constants(left, &literals, negated, null_in);
        }
        let result = if is_list(right) { DataType::UInt8.nullable() } else { DataType::UInt8 };
        self.in_expressions(left, elements, (negated, null_in_lists), result)
    }

    /// `nullIn` without the setting that makes NULL a value: sets hold no NULL then, and what is NULL is not found in them, but lists
    /// that differ from row to row may have it.
    pub(crate) fn null_in(&mut self, left: &ast::Expr, right: &ast::Expr, negated: bool) -> Result<Expr> {
        let env = self.query.env;
        let null_in = env.settings().transform_null_in;
        let found = self.in_operator_where(left, right, false, null_in, true)?;
        let found = make_call(env, "ifNull", vec![found, Expr::literal(&Value::UInt(0), DataType::UInt8)?])?;
        let found = cast(env, found, &DataType::UInt8)?;
        if negated { make_call(env, "not", vec![found]) } else { Ok(found) }
    }

    /// IN over a list of which something is not constant: compares with each element.
    fn in_expressions(
        &mut self,
        left: Expr,
        elements: Vec<Expr>,
        (negated, null_in): (bool, bool),
        of_not_null: DataType,
    ) -> Result<Expr> {
        let env = self.query.env;
        let mut result: Option<Expr> = None;
        for element in elements {
            // NULL is in no list.
            if element.ty().is_only_null() && !null_in {
                continue;
            }
            let comparison = if null_in { "isNotDistinctFrom" } else { "equals" };
            let mut equal = make_call(env, comparison, vec![left.clone(), element])?;
            // An element that is NULL, or has a part that is, is not what is looked for.
            if equal.ty().is_nullable() {
                equal =
                    make_call(env, "ifNull", vec![equal, Expr::literal(&Value::UInt(0), DataType::UInt8)?])?;
            }
            result = Some(match result {
                None => equal,
                Some(before) => make_call(env, "or", vec![before, equal])?,
            });
        }
        let Some(found) = result else { bail!(BAD_ARGUMENTS, "The right side of IN is empty") };
        self.null_of_null(left, found, (negated, null_in), of_not_null)
    }

    /// What is found of a NULL is NULL, unless NULL is looked for as a value. `of_not_null` is the type of what is found of others.
    fn null_of_null(
        &mut self,
        left: Expr,
        mut found: Expr,
        (negated, null_in): (bool, bool),
        of_not_null: DataType,
    ) -> Result<Expr> {
        let env = self.query.env;
        let is_nullable = left.ty().without_low_cardinality().is_nullable() && !null_in;
        let ty = match (null_in, is_nullable) {
            (true, _) => DataType::UInt8,
            (false, true) => DataType::UInt8.nullable(),
            (false, false) => of_not_null,
        };
        if is_nullable {
            let missing = make_call(env, "isNull", vec![left])?;
            found = make_call(env, "if", vec![missing, Expr::literal(&Value::Null, ty.clone())?, found])?;
        }
        let found = cast(env, found, &ty)?;
        if negated { make_call(env, "not", vec![found]) } else { Ok(found) }
    }

    /// IN over the elements of an array that differs from row to row.
    fn in_array(&mut self, left: Expr, array: Expr, negated: bool, null_in: bool) -> Result<Expr> {
        let is_null = left.ty().is_only_null() || left.as_literal().is_some_and(|l| l.value().is_null());
        if is_null && !null_in {
            return Expr::literal(&Value::Null, DataType::UInt8.nullable());
        }
        let found = make_call(self.query.env, "has", vec![array, left.clone()])?;
        self.null_of_null(left, found, (negated, null_in), DataType::UInt8.nullable())
    }

    /// The query on the right side, or the table that stands for `SELECT * FROM table`.
    fn set_query(&mut self, right: &ast::Expr) -> Result<Option<ast::Query>> {
        match &right.kind {
            ExprKind::Subquery(query) => Ok(Some(ast::Query::clone(query))),
            ExprKind::Identifier(parts) if parts.len() <= 2 => {
                let names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
                let is_param = self.lambda_params.iter().any(|(name, _)| name == names[0]);
                if is_param
                    || self.aliases.contains_key(names[0])
                    || self.tables.find(&names, true)?.is_some()
                {
                    return Ok(None);
                }
                let (database, name) = match &parts[..] {
                    [database, name] => (Some(database.clone()), name.clone()),
                    _ => (None, parts[0].clone()),
                };
                let object = ast::ObjectName { database, name };
                Ok(Some(select_all(ast::TableKind::Name(object), right.span)))
            }
            ExprKind::Call(call)
                if call.style == CallStyle::Function
                    && self.query.env.registry().scalars.get(&call.name).is_none()
                    && !self.aliases.contains_key(&call.name) =>
            {
                Ok(Some(select_all(ast::TableKind::Function(call.clone()), right.span)))
            }
            _ => Ok(None),
        }
    }

    /// A constant right side is a set of values of the left one, or one such value: tuples and arrays are nested as deep, or one deeper.
    fn check_depths(&mut self, left: &DataType, right: &ast::Expr, of_right: usize) -> Result<()> {
        let of_left = depth(left);
        if of_right == of_left + 1 {
            return Ok(());
        }
        let is_tuple = |ty: &DataType| matches!(ty.bare(), DataType::Tuple(_));
        let is_array = |ty: &DataType| matches!(ty.bare(), DataType::Array(_));
        let right = self.expr(right)?;
        let right = right.ty();
        ensure!(
            of_right == of_left,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Unsupported types for IN. First argument type {left}. Second argument type {right}"
        );
        ensure!(
            !(is_array(left) && is_tuple(right)),
            TYPE_MISMATCH,
            "Type mismatch in IN or VALUES section. Expected: {left}. Got: Tuple"
        );
        Ok(())
    }

    /// The elements of a tuple or an array on the right side, one element when it is neither, and how deep tuples and arrays are
    /// nested in the right side as a whole.
    fn set_elements(&mut self, left: &Expr, right: &ast::Expr) -> Result<(Vec<Expr>, usize)> {
        let around = |elements: Vec<Expr>| {
            let depth = 1 + elements.first().map_or(0, |first| depth(first.ty()));
            (elements, depth)
        };
        let left_is_tuple = matches!(left.ty().bare(), DataType::Tuple(_));
        let left_is_array = matches!(left.ty().bare(), DataType::Array(_));
        if let ExprKind::Call(call) = &right.kind
            && call.over.is_none()
        {
            let is_tuple = call.style == CallStyle::Tuple || call.name == "tuple";
            let is_array = call.style == CallStyle::Array || call.name == "array";
            // `(1, 2) IN (1, 2)`: the right side is one tuple, unless it is nested deeper than the left one.
            if (is_tuple && !left_is_tuple) || (is_array && !left_is_array) {
                return Ok(around(call.args.iter().map(|a| self.expr(a)).collect::<Result<_>>()?));
            }
            if is_tuple && call.args.iter().all(|a| self.is_row(a)) {
                let rows = call.args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
                if rows.first().is_none_or(|row| depth(row.ty()) >= depth(left.ty())) {
                    return Ok(around(rows));
                }
            }
            if is_array && left_is_array && !call.args.is_empty() && call.args.iter().all(is_array_literal) {
                let rows = call.args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
                if depth(rows[0].ty()) >= depth(left.ty()) {
                    return Ok(around(rows));
                }
            }
        }
        let bound = self.expr(right)?;
        let spread = match bound.ty().bare() {
            DataType::Array(inner) => {
                !left_is_array || matches!(**inner, DataType::Array(_)) && depth(inner) >= depth(left.ty())
            }
            DataType::Tuple(fields) => {
                !left_is_tuple
                    || depth(bound.ty()) > depth(left.ty())
                        && fields.iter().all(|f| matches!(f.ty.bare(), DataType::Tuple(_)))
            }
            _ => false,
        };
        let depth = depth(bound.ty());
        let Some(literal) = bound.as_literal().filter(|_| spread) else { return Ok((vec![bound], depth)) };
        let elements = match (literal.value(), literal.ty.bare()) {
            (Value::Array(items), DataType::Array(inner)) => {
                items.iter().map(|item| Expr::literal(item, DataType::clone(inner))).collect()
            }
            (Value::Tuple(items), DataType::Tuple(fields)) => {
                items.iter().zip(fields.iter()).map(|(item, f)| Expr::literal(item, f.ty.clone())).collect()
            }
            _ => Ok(vec![bound]),
        };
        Ok((elements?, depth))
    }

    fn is_row(&self, e: &ast::Expr) -> bool {
        matches!(&e.kind, ExprKind::Call(call) if call.style == CallStyle::Tuple || call.name == "tuple")
    }

    /// Casts each element to the left side's type; one that the type cannot hold is in no row.
    fn in_constants(
        &mut self,
        left: Expr,
        elements: &[Literal],
        negated: bool,
        null_in: bool,
    ) -> Result<Expr> {
        if left.ty().is_only_null() && !null_in {
            return Expr::literal(&Value::Null, left.ty().clone());
        }
        let coded = is_coded(&left);
        let needles = self.needles(left)?;
        let types: Vec<DataType> = needles.iter().map(|n| set_type(n.ty())).collect();
        let mut builders: Vec<Builder> = types.iter().map(Builder::new).collect();
        let mut n_rows = 0;
        for element in elements {
            let row = self.row_of(element, &types)?;
            let Some(row) = row else { continue };
            if !null_in && row.iter().any(Value::is_null) {
                continue;
            }
            for (builder, value) in builders.iter_mut().zip(&row) {
                builder.push_value(value)?;
            }
            n_rows += 1;
        }
        let columns = builders.into_iter().map(|b| Column::Flat(b.finish())).collect();
        let source = SetSource::Block(Block::new(columns, n_rows));
        Ok(with_dictionary(self.finish_in(needles, types, source, negated, null_in)?, coded))
    }

    /// One expression per column of the set.
    fn needles(&mut self, left: Expr) -> Result<Vec<Expr>> {
        let DataType::Tuple(fields) = left.ty().bare().clone() else { return Ok(vec![left]) };
        let env = self.query.env;
        if let Expr::Call { function, args } = &left
            && function.function.record().name == "tuple"
        {
            return Ok(args.clone());
        }
        (1..=fields.len() as u64)
            .map(|i| {
                let index = Expr::literal(&Value::UInt(i), DataType::UInt64)?;
                make_call(env, "tupleElement", vec![left.clone(), index])
            })
            .collect()
    }

    /// A float that is looked for among numbers of another type, which have one zero.
    fn without_negative_zero(&self, needle: Expr, set_type: &DataType) -> Result<Expr> {
        let (ty, other) = (needle.ty().clone(), set_type.bare());
        if !ty.bare().is_float() || !other.is_number() || other.is_float() {
            return Ok(needle);
        }
        let zero = Expr::literal(&Value::UInt(0), DataType::UInt8)?;
        cast(self.query.env, make_call(self.query.env, "plus", vec![needle, zero])?, &ty)
    }

    fn in_query(
        &mut self,
        left: Expr,
        right: crate::query::BoundQuery,
        key: Option<String>,
        negated: bool,
        null_in: bool,
    ) -> Result<Expr> {
        let env = self.query.env;
        if left.ty().is_only_null() && !null_in {
            check_width(std::slice::from_ref(&left), &right)?;
            return Expr::literal(&Value::Null, left.ty().clone());
        }
        let coded = is_coded(&left);
        let is_tuple = matches!(left.ty().bare(), DataType::Tuple(_));
        let right_is_tuple = matches!(right.fields[0].ty.bare(), DataType::Tuple(_));
        let whole = right.fields.len() == 1 && is_tuple == right_is_tuple;
        if whole
            && let (DataType::Tuple(a), DataType::Tuple(b)) = (left.ty().bare(), right.fields[0].ty.bare())
        {
            ensure!(
                a.len() == b.len(),
                NUMBER_OF_COLUMNS_DOESNT_MATCH,
                "Number of columns in section IN doesn't match. {} at left, {} at right",
                a.len(),
                right.fields.len()
            );
        }
        let needles = if whole { vec![left] } else { self.needles(left)? };
        check_width(&needles, &right)?;
        let mut types = Vec::with_capacity(needles.len());
        let mut exprs = Vec::with_capacity(needles.len());
        let mut cast_needles = Vec::with_capacity(needles.len());
        for (needle, field) in needles.into_iter().zip(&right.fields) {
            let needle = self.without_negative_zero(needle, &field.ty)?;
            let (a, b) = (needle.ty().without_low_cardinality(), field.ty.without_low_cardinality());
            let common = match supertype::pair_of_keys(a, b) {
                Some(common) => common,
                None => a.clone().nullable(),
            };
            let column = Expr::Column(field.id, field.ty.clone());
            let column = if supertype::pair(a, b).is_some() {
                cast(env, column, &common)?
            } else {
                let target = Expr::literal(&Value::string(a.bare().to_string()), DataType::String)?;
                make_call(env, "accurateCastOrNull", vec![column, target])?
            };
            exprs.push((self.query.ids.field(field.name.clone(), column.ty().clone()), column));
            let needle_type = if needle.ty().is_nullable() { common.clone() } else { common.bare().clone() };
            cast_needles.push(cast(env, needle, &needle_type)?);
            types.push(common);
        }
        let plan = Plan::Project(Project { input: Box::new(right.plan), exprs });
        if !plan.free_columns().is_empty() {
            let ty = found_type(&cast_needles, null_in);
            let kind = SubqueryKind::In { negated, null_in };
            return Ok(self.correlated(kind, plan, cast_needles, ty));
        }
        let known = key.as_ref().and_then(|key| self.query.shared.set(key, &types));
        let set = match known {
            Some(set) => set,
            None => {
                let source = SetSource::Plan(Box::new(env.optimized_set(plan)?));
                let set = Arc::new(InSet { types, source, built: OnceLock::new() });
                if let Some(key) = key {
                    self.query.shared.add_set(key, set.clone());
                }
                set
            }
        };
        let ty = found_type(&cast_needles, null_in);
        let found = Expr::In(Box::new(InExpr { needles: cast_needles, negated, null_in, set, ty }));
        Ok(with_dictionary(found, coded))
    }

    fn finish_in(
        &mut self,
        needles: Vec<Expr>,
        types: Vec<DataType>,
        source: SetSource,
        negated: bool,
        null_in: bool,
    ) -> Result<Expr> {
        let ty = found_type(&needles, null_in);
        let set = Arc::new(InSet { types, source, built: OnceLock::new() });
        Ok(Expr::In(Box::new(InExpr { needles, negated, null_in, set, ty })))
    }
}

/// How deep arrays and tuples are nested, as the kernel counts: along the first elements.
pub(crate) fn depth(ty: &DataType) -> usize {
    match ty.bare() {
        DataType::Array(inner) => 1 + depth(inner),
        DataType::Tuple(fields) => 1 + fields.first().map_or(0, |field| depth(&field.ty)),
        _ => 0,
    }
}

/// Values whose type is known in their rows only are no keys of sets.
fn check_key(function: &str, left: &DataType) -> Result<()> {
    ensure!(
        !left.is_or_contains(&|ty| matches!(ty, DataType::Dynamic(_) | DataType::Json(_))),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {left} of argument of function {function}"
    );
    Ok(())
}

/// Can no value of the type be a tuple or an array?
pub(crate) fn is_plain(ty: &DataType) -> bool {
    depth(ty) == 0 && (ty.bare().is_number() || ty.bare().is_date_or_time())
}

/// The type of the answer. Rows are compared in parts: a NULL part makes a tuple be in no set, it does not make the answer
/// NULL.
fn found_type(needles: &[Expr], null_in: bool) -> DataType {
    let nullable = needles.len() == 1 && needles[0].ty().is_nullable() && !null_in;
    if nullable { DataType::UInt8.nullable() } else { DataType::UInt8 }
}

fn is_coded(left: &Expr) -> bool {
    matches!(left.ty(), DataType::LowCardinality(_))
}

/// IN answers once per distinct value of a LowCardinality, and so in a LowCardinality.
fn with_dictionary(mut found: Expr, coded: bool) -> Expr {
    if let (true, Expr::In(e)) = (coded, &mut found) {
        e.ty = e.ty.clone().low_cardinality();
    }
    found
}

/// A set's column: as the needle, Nullable when that is.
fn set_type(needle: &DataType) -> DataType {
    needle.without_low_cardinality().clone()
}

fn is_array_literal(e: &ast::Expr) -> bool {
    matches!(&e.kind, ExprKind::Call(call) if call.style == CallStyle::Array || call.name == "array")
}

fn select_all(table: ast::TableKind, span: ast::Span) -> ast::Query {
    let star = ast::Expr { kind: ExprKind::Star(Vec::new()), alias: None, span };
    let from = ast::TableExpr {
        kind: table,
        alias: None,
        column_aliases: Vec::new(),
        final_: false,
        sample: None,
        span,
    };
    let select = ast::Select { projection: vec![star], from: Some(from), span, ..ast::Select::default() };
    ast::Query { body: ast::SetExpr::Select(Box::new(select)), span }
}

fn check_width(needles: &[Expr], right: &crate::query::BoundQuery) -> Result<()> {
    ensure!(
        needles.len() == right.fields.len(),
        NUMBER_OF_COLUMNS_DOESNT_MATCH,
        "Number of columns in section IN doesn't match. {} at left, {} at right",
        needles.len(),
        right.fields.len()
    );
    Ok(())
}

/// Is a type that of arrays of what is looked for?
fn is_list_of(array: &DataType, element: &DataType) -> bool {
    match array.bare() {
        DataType::Array(inner) => {
            let is_array = |ty: &DataType| matches!(ty.bare(), DataType::Array(_));
            is_array(inner) == is_array(element)
        }
        _ => false,
    }
}

/// Is it written as a list, of one element or more?
fn is_list(right: &ast::Expr) -> bool {
    matches!(&right.kind, ExprKind::Call(call) if call.over.is_none()
        && (matches!(call.style, CallStyle::Tuple | CallStyle::Array) || call.name == "tuple" || call.name == "array"))
}
