//! Calls of aggregate functions: they become columns of the Aggregate node; the call itself is a reference to one.

use crate::clauses::KnownAggregate;
use crate::select::{Place, SelectBinder};
use crate::shown_type::argument;
use crate::shown_type::without_wrapped;
use chalet_aggregates::resolve::{Resolved, exists, resolve, with_distinct, with_nulls_respected};
use chalet_base::{Result, bail, ensure};
use chalet_function_api::Argument;
use chalet_plan::{AggregateCall, AggregateName, Expr, Literal};
use chalet_syntax::ast::{self, ExprKind};
use chalet_types::{DataType, ScaledValue, Value};

impl SelectBinder<'_> {
    /// `None` when no aggregate has the name.
    pub(crate) fn aggregate_call(&mut self, call: &ast::Call, e: &ast::Expr) -> Result<Option<Expr>> {
        if !exists(self.query.env.registry(), &call.name) {
            return Ok(None);
        }
        match self.place {
            Place::Aggregates => {}
            Place::InsideAggregate => bail!(
                ILLEGAL_AGGREGATION,
                "Aggregate function {e} is found inside another aggregate function in query"
            ),
            Place::Before(clause) => bail!(
                ILLEGAL_AGGREGATION,
                "Aggregate function {e} is found in {clause} in query. Aggregate functions are not allowed in WHERE and \
                 PREWHERE, because they are computed after filtering; use HAVING to filter by the result of an \
                 aggregation"
            ),
        }
        let outer = std::mem::replace(&mut self.place, Place::InsideAggregate);
        let resolved = self.resolve_aggregate(call);
        self.place = outer;
        let (resolved, args, shown) = resolved?;
        // What a lambda is called with is not known to who groups rows.
        ensure!(
            !args.iter().flat_map(Expr::columns).any(|id| self.lambda_columns.contains(&id)),
            NOT_FOUND_COLUMN_IN_BLOCK,
            "Aggregate function {e} takes a parameter of the lambda that it is found in"
        );
        // An alias in the arguments may stand for one that was bound before.
        let inner = args.iter().flat_map(Expr::columns);
        let inner =
            inner.filter_map(|id| self.aggregates.iter().find(|known| known.call.field.id == id)).next();
        if let Some(inner) = inner {
            bail!(
                ILLEGAL_AGGREGATION,
                "Aggregate function {} is found inside another aggregate function in query",
                inner.call.name
            );
        }
        let name: std::sync::Arc<str> = self.result_name(&ast::Expr { alias: None, ..e.clone() }).into();
        let known = self.aggregates.iter().find(|known| {
            known.args == args && known.function == resolved.name && known.parameters == call.params
        });
        if let Some(known) = known {
            let field = &known.call.field;
            return Ok(Some(Expr::Column(field.id, field.ty.clone())));
        }
        let function =
            AggregateName { name: resolved.name.as_str().into(), parameters: self.parameters(call)?.into() };
        let field = self.query.ids.field(name.clone(), resolved.result.clone());
        self.query.ids.show(&field, shown);
        self.aggregates.push(KnownAggregate {
            args: args.clone(),
            function: resolved.name,
            parameters: call.params.clone(),
            call: AggregateCall {
                field: field.clone(),
                aggregate: resolved.aggregate,
                args,
                row_order: resolved.row_order,
                name,
                function: Some(function),
            },
        });
        Ok(Some(Expr::Column(field.id, field.ty)))
    }

    /// The aggregate of a call with its parameters, DISTINCT, FILTER and treatment of NULLs; its arguments; what its result shows in
    /// place of its type, if that is something else.
    pub(crate) fn resolve_aggregate(
        &mut self,
        call: &ast::Call,
    ) -> Result<(Resolved, Vec<Expr>, Option<DataType>)> {
        let env = self.query.env;
        if !call.order_by.is_empty() {
            bail!(NOT_IMPLEMENTED, "ORDER BY inside of an aggregate function is not supported");
        }
        let parameters = self.parameters(call)?;
        let mut args = Vec::new();
        let mut has_lambda = false;
        for arg in &call.args {
            match &arg.kind {
                ExprKind::Lambda { .. } => has_lambda = true,
                // `count(*)` counts rows; other aggregates take the columns.
                ExprKind::Star(transformers)
                    if transformers.is_empty() && self.counts_rows(call, &parameters)? => {}
                _ => args.extend(self.expand_argument(arg)?),
            }
        }
        ensure!(
            !has_lambda,
            UNSUPPORTED_METHOD,
            "Aggregate function `{}` does not support lambda arguments",
            call.name
        );
        let mut name = call.name.clone();
        if call.distinct {
            name = with_distinct(&name, env.context());
        }
        match call.nulls {
            Some(ast::NullsAction::Respect) => name = with_nulls_respected(env.registry(), &name)?,
            Some(ast::NullsAction::Ignore) | None => {}
        }
        if let Some(filter) = &call.filter {
            name.push_str("If");
            args.push((String::new(), self.expr(filter)?));
        }
        let null_for_empty = env.settings().aggregate_functions_null_for_empty;
        if null_for_empty && !name.ends_with("OrNull") && !name.ends_with("OrDefault") {
            let lower = call.name.to_ascii_lowercase();
            if !lower.starts_with("count") {
                name.push_str("OrNull");
            }
        }
        let arguments: Vec<Argument> = args.iter().map(|(name, expr)| argument(expr, name)).collect();
        let args: Vec<Expr> = args.into_iter().map(|(_, expr)| expr).collect();
        match resolve(env.registry(), &name, &parameters, &arguments, env.context())? {
            Some(resolved) => {
                let shown = match self.query.shown_arguments(&arguments, &args).map(without_wrapped) {
                    Some(shown) => resolve(env.registry(), &name, &parameters, &shown, env.context()),
                    None => Ok(None),
                };
                let shown = shown
                    .ok()
                    .flatten()
                    .map_or_else(|| resolved.shown.clone(), |r| Some(r.shown.unwrap_or(r.result)));
                let shown = shown.filter(|shown| shown.without_simple_aggregates() == resolved.result);
                Ok((resolved, args, shown))
            }
            None => bail!(UNKNOWN_AGGREGATE_FUNCTION, "Aggregate function with name `{name}` does not exist"),
        }
    }

    /// Whether the aggregate may be called without arguments, but for a condition.
    fn counts_rows(&self, call: &ast::Call, parameters: &[Value]) -> Result<bool> {
        let env = self.query.env;
        let resolves =
            |name: &str| matches!(resolve(env.registry(), name, parameters, &[], env.context()), Ok(Some(_)));
        Ok(!call.distinct && (resolves(&call.name) || resolves(&call.name.replacen("If", "", 1))))
    }

    /// The constants of `f(parameters)(...)`.
    pub(crate) fn parameters(&mut self, call: &ast::Call) -> Result<Vec<Value>> {
        let what = format!("Parameter of function {}", call.name);
        call.params.iter().flatten().map(|p| Ok(with_scale(&self.constant(p, &what)?))).collect()
    }
}

/// A constant as a parameter: what its type says of its scale goes with it.
fn with_scale(constant: &Literal) -> Value {
    let value = constant.value();
    let scale = match constant.ty.bare() {
        DataType::Decimal { scale, .. } => *scale,
        DataType::DateTime64(scale, _) => *scale,
        _ => return value,
    };
    let bits = constant.ty.physical().width().unwrap_or_default() as u16 * 8;
    match value.as_i256() {
        Some(digits) => Value::Decimal(Box::new(ScaledValue { digits, scale, bits })),
        None => value,
    }
}
