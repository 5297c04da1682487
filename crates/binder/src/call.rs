//! Calls of scalar functions: arguments, lambdas, constant folding. Aggregates and windows branch off here.

use crate::environment::Environment;
use crate::select::SelectBinder;
use chalet_base::{Result, bail, err, suggest};
use chalet_columns::{Block, Column};
use chalet_function_api::call::{BoundFunction, Input};
use chalet_function_api::{Argument, Nulls, ScalarFunction, Volatility};
use chalet_plan::{Expr, Literal, Plan, Project};
use chalet_syntax::ast::{self, CallStyle, ExprKind};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// Binds a function over bound arguments, and computes it right away when it can be.
pub fn make_call(env: &dyn Environment, name: &str, args: Vec<Expr>) -> Result<Expr> {
    let function = env.registry().scalars.get(name).cloned().ok_or_else(|| unknown_function(env, name))?;
    call_function(env, function, args)
}

/// The same of a function that has no name in SQL.
pub(crate) fn call_function(
    env: &dyn Environment,
    function: Arc<dyn ScalarFunction>,
    args: Vec<Expr>,
) -> Result<Expr> {
    let arguments: Vec<Argument> = args.iter().map(|arg| argument(arg, "")).collect();
    finish_call(env, function, &arguments, args)
}

/// A cast to exactly this type; nothing when it has it already.
pub fn cast(env: &dyn Environment, expr: Expr, ty: &DataType) -> Result<Expr> {
    if expr.ty() == ty {
        return Ok(expr);
    }
    let target = Expr::literal(&Value::string(ty.to_string()), DataType::String)?;
    make_call(env, "_CAST", vec![expr, target])
}

pub(crate) fn argument(expr: &Expr, name: &str) -> Argument {
    Argument {
        ty: expr.ty().clone(),
        constant: expr.as_literal().map(Literal::value),
        is_lambda: matches!(expr, Expr::Lambda { .. }),
        name: name.into(),
    }
}

#[cold]
pub(crate) fn unknown_function(env: &dyn Environment, name: &str) -> chalet_base::Error {
    let registry = env.registry();
    let names = registry.scalars.names().chain(registry.aggregates.names());
    let near = suggest::nearest(name, names, 2);
    if near.is_empty() {
        return err!(UNKNOWN_FUNCTION, "Function with name `{name}` does not exist");
    }
    let list: Vec<String> = near.iter().map(|n| format!("'{n}'")).collect();
    err!(
        UNKNOWN_FUNCTION,
        "Function with name `{name}` does not exist. Maybe you meant: [{}]",
        list.join(",")
    )
}

fn finish_call(
    env: &dyn Environment,
    function: Arc<dyn ScalarFunction>,
    arguments: &[Argument],
    args: Vec<Expr>,
) -> Result<Expr> {
    let bound = BoundFunction::bind(function, arguments, env.context())?;
    if let Some(value) = bound.known_result() {
        return Ok(Expr::Literal(Literal { value: Arc::new(value), ty: bound.result.clone() }));
    }
    Ok(fold(env, &bound, &args).unwrap_or_else(|| Expr::call(bound, args)))
}

/// The value of a call over literals. An error stays for run time: the rows may never ask for it.
fn fold(env: &dyn Environment, function: &BoundFunction, args: &[Expr]) -> Option<Expr> {
    if function.function.record().volatility == Volatility::PerRow {
        return None;
    }
    let inputs = args.iter().map(|arg| Some(Input::Column(Expr::constant(arg.as_literal()?, 1))));
    let inputs: Vec<Input> = inputs.collect::<Option<_>>()?;
    let column: Column = function.execute(inputs, 1, env.context()).ok()?;
    Some(Expr::Literal(Literal { value: Arc::new(column.into_flat()), ty: function.result.clone() }))
}

/// `SELECT expr`.
pub(crate) fn constant_plan(ids: &chalet_plan::IdSource, expr: Expr) -> Plan {
    let one = Plan::Values(chalet_plan::Values { fields: Vec::new(), block: Block::new(Vec::new(), 1) });
    let field = ids.field("constant", expr.ty().clone());
    Plan::Project(Project { input: Box::new(one), exprs: vec![(field, expr)] })
}

impl SelectBinder<'_> {
    pub(crate) fn call(&mut self, call: &ast::Call, e: &ast::Expr) -> Result<Expr> {
        if call.over.is_some() {
            return self.window_call(call, e);
        }
        if let Some(bound) = self.special(call, e)? {
            return Ok(bound);
        }
        if let Some(bound) = self.substitution(call)? {
            return Ok(bound);
        }
        let env = self.query.env;
        let registry = env.registry();
        let is_written = call.style == CallStyle::Function;
        let function =
            if is_written { registry.called(&call.name) } else { registry.scalars.get(&call.name) };
        if let Some(function) = function.cloned() {
            if call.params.is_some() {
                bail!(FUNCTION_CANNOT_HAVE_PARAMETERS, "Function {} is not parametric", call.name);
            }
            if call.distinct {
                bail!(
                    ILLEGAL_AGGREGATION,
                    "Function {} is not an aggregate: DISTINCT is not allowed",
                    call.name
                );
            }
            return self.scalar_call(function, call);
        }
        if let Some(bound) = self.aggregate_call(call, e)? {
            return Ok(bound);
        }
        if let Some(function) = env.registry().windows.get(&call.name) {
            if let crate::select::Place::Before(clause) = &self.place {
                bail!(ILLEGAL_AGGREGATION, "Window function {e} is found in {clause} in query");
            }
            bail!(
                BAD_ARGUMENTS,
                "The function '{}' can only be used as a window function, not as an aggregate function",
                function.record().name
            );
        }
        Err(unknown_function(env, &call.name))
    }

    /// Calls that are not functions of values.
    fn special(&mut self, call: &ast::Call, e: &ast::Expr) -> Result<Option<Expr>> {
        let name = call.name.as_str();
        let lower = name.to_ascii_lowercase();
        Ok(Some(match lower.as_str() {
            "in" | "notin" | "globalin" | "globalnotin" | "nullin" | "notnullin" | "globalnullin"
            | "globalnotnullin"
                if call.args.len() == 2 =>
            {
                let negated = lower.contains("notin") || lower.contains("notnullin");
                let null_in = lower.contains("nullin");
                self.in_operator(&call.args[0], &call.args[1], negated, null_in)?
            }
            "arrayjoin" if name == "arrayJoin" => self.array_join_call(call)?,
            "grouping" => self.grouping_call(call, e)?,
            "exists" if matches!(call.args[..], [ast::Expr { kind: ExprKind::Subquery(_), .. }]) => {
                let ExprKind::Subquery(query) = &call.args[0].kind else { return Ok(None) };
                self.exists(query)?
            }
            _ if call.style == CallStyle::Operator => return self.path_of_value(e),
            _ => return Ok(None),
        }))
    }

    /// `(json).a.b`: one path of the value, not an element of an element.
    fn path_of_value(&mut self, e: &ast::Expr) -> Result<Option<Expr>> {
        let mut names: Vec<String> = Vec::new();
        let mut at = e;
        while let ExprKind::Call(call) = &at.kind
            && self.query.env.registry().scalars.get(&call.name).is_some_and(|f| f.record().part_by_name)
            && let [inner, name] = &call.args[..]
            && let ExprKind::Literal(ast::Literal::String(name)) = &name.kind
        {
            names.insert(0, String::from_utf8_lossy(name).into_owned());
            at = inner;
        }
        if names.is_empty() {
            return Ok(None);
        }
        let base = self.expr(at)?;
        if !crate::expression::has_paths(base.ty()) {
            return Ok(None);
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.elements(base, &names).map(Some)
    }

    /// A lambda with a name (`WITH x -> x + 1 AS f`) or a function made by CREATE FUNCTION: its body with the
    /// arguments in place of its parameters.
    fn substitution(&mut self, call: &ast::Call) -> Result<Option<Expr>> {
        let by_alias = self.aliases.get(&call.name).and_then(|e| match &e.kind {
            ExprKind::Lambda { params, body } => {
                Some((params.iter().map(|p| p.name.clone()).collect::<Vec<_>>(), ast::Expr::clone(body)))
            }
            _ => None,
        });
        let found = match by_alias {
            Some(found) => Some(found),
            None => self.query.env.sql_function(&call.name)?,
        };
        let Some((params, body)) = found else { return Ok(None) };
        if params.len() != call.args.len() {
            bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Number of arguments for function {} doesn't match: passed {}, should be {}",
                call.name,
                call.args.len(),
                params.len()
            );
        }
        let args = call.args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>>>()?;
        let outer = std::mem::take(&mut self.lambda_params);
        self.lambda_params = params.into_iter().zip(args).collect();
        let bound = self.expr(&body);
        self.lambda_params = outer;
        bound.map(Some)
    }

    fn scalar_call(&mut self, function: Arc<dyn ScalarFunction>, call: &ast::Call) -> Result<Expr> {
        let env = self.query.env;
        // Lambdas wait until the other arguments have types.
        let mut exprs: Vec<Option<Expr>> = Vec::new();
        let mut arguments: Vec<Argument> = Vec::new();
        let mut lambdas: Vec<(usize, Vec<ast::Ident>, ast::Expr)> = Vec::new();
        for arg in &call.args {
            match &self.lambda_of(arg) {
                Some(ExprKind::Lambda { params, body }) => {
                    lambdas.push((exprs.len(), params.clone(), ast::Expr::clone(body)));
                    exprs.push(None);
                    arguments.push(Argument { is_lambda: true, ..Argument::of_type(DataType::Nothing) });
                }
                _ => {
                    let table = function.record().takes_table_name && exprs.is_empty();
                    if let Some(expr) = table.then(|| self.table_name(arg)).flatten() {
                        arguments.push(argument(&expr, ""));
                        exprs.push(Some(expr));
                        continue;
                    }
                    for (name, expr) in self.expand_argument(arg)? {
                        arguments.push(argument(&expr, &name));
                        exprs.push(Some(expr));
                    }
                }
            }
        }
        for (index, params, body) in lambdas {
            let types = function.lambda_parameters(index, &arguments, params.len())?;
            if types.len() != params.len() {
                bail!(
                    TYPE_MISMATCH,
                    "Function {} expects a lambda with {} arguments, found one with {}",
                    call.name,
                    types.len(),
                    params.len()
                );
            }
            let depth = self.lambda_params.len();
            let ids: Vec<_> = types.into_iter().map(|ty| (self.query.ids.next(), ty)).collect();
            for (param, (id, ty)) in params.iter().zip(&ids) {
                self.lambda_params.push((param.name.clone(), Expr::Column(*id, ty.clone())));
            }
            let body = self.expr(&body);
            self.lambda_params.truncate(depth);
            let body = body?;
            arguments[index].ty = body.ty().clone();
            exprs[index] = Some(Expr::Lambda { params: ids, body: Box::new(body) });
        }
        let args: Vec<Expr> = exprs.into_iter().flatten().collect();
        if function.record().nulls == Nulls::Propagate && args.is_empty() {
            return finish_call(env, function, &arguments, args);
        }
        finish_call(env, function, &arguments, args)
    }

    /// The text of a name that stands for a table; none of an alias, whose value is the name.
    fn table_name(&self, arg: &ast::Expr) -> Option<Expr> {
        let ExprKind::Identifier(parts) = &arg.kind else { return None };
        let is_known = |name: &str| {
            self.aliases.contains_key(name) || self.lambda_params.iter().any(|(known, _)| known == name)
        };
        if parts.len() > 2 || is_known(&parts[0].name) {
            return None;
        }
        let name = parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".");
        Expr::literal(&Value::string(name), DataType::String).ok()
    }

    /// The lambda that an argument is, also by its alias.
    fn lambda_of(&self, arg: &ast::Expr) -> Option<ExprKind> {
        match &arg.kind {
            ExprKind::Lambda { .. } => Some(arg.kind.clone()),
            ExprKind::Identifier(parts) if parts.len() == 1 => {
                match &self.aliases.get(&parts[0].name)?.kind {
                    lambda @ ExprKind::Lambda { .. } => Some(lambda.clone()),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// An argument, or several when it is `*` or COLUMNS.
    pub(crate) fn expand_argument(&mut self, arg: &ast::Expr) -> Result<Vec<(String, Expr)>> {
        match &arg.kind {
            ExprKind::Star(_) | ExprKind::QualifiedStar { .. } | ExprKind::Columns { .. } => self.expand(arg),
            _ => Ok(vec![(self.result_name(arg), self.expr(arg)?)]),
        }
    }

    /// `arrayJoin(x)`: the rows multiply; the call itself is a column of the new rows.
    fn array_join_call(&mut self, call: &ast::Call) -> Result<Expr> {
        let [arg] = &call.args[..] else {
            bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Number of arguments for function arrayJoin doesn't match: passed {}, should be 1",
                call.args.len()
            );
        };
        if !self.lambda_params.is_empty() {
            bail!(BAD_ARGUMENTS, "Function arrayJoin is not allowed inside of a lambda expression");
        }
        let array = self.expr(arg)?;
        let Some(element) = array.ty().without_low_cardinality().element() else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument for function arrayJoin must be Array or Map, got {}",
                array.ty()
            );
        };
        let late = self.place == crate::select::Place::Aggregates;
        if let Some(known) = self.array_joins.iter_mut().find(|known| known.array == array) {
            known.late &= late;
            return Ok(Expr::Column(known.field.id, known.field.ty.clone()));
        }
        let field = self.query.ids.field("arrayJoin", element);
        self.array_joins.push(crate::clauses::KnownArrayJoin { field: field.clone(), array, late });
        Ok(Expr::Column(field.id, field.ty))
    }
}
