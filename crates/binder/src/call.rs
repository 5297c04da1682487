//! Calls of scalar functions: arguments, lambdas, constant folding. Aggregates and windows branch off here.

use crate::environment::Environment;
use crate::names::place;
use crate::select::SelectBinder;
use crate::shown_type::{argument, writes_shown_type};
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, err, suggest};
use chalet_columns::{Block, Column};
use chalet_function_api::call::{BoundFunction, Input};
use chalet_function_api::{Argument, Lazy, ScalarFunction, ShownType, Volatility};
use chalet_plan::{Expr, Literal, Plan, Project};
use chalet_syntax::ast::{self, CallStyle, ExprKind};
use chalet_syntax::spelled_lambda;
use chalet_types::{DataType, Value};
use std::rc::Rc;
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

/// A call that nobody wrote: one over constants that fails is left to the rows that ask for it.
fn finish_call(
    env: &dyn Environment,
    function: Arc<dyn ScalarFunction>,
    arguments: &[Argument],
    args: Vec<Expr>,
) -> Result<Expr> {
    finish(env, function, arguments, args, |folded| Ok(folded.ok().flatten()))
}

/// A call that is written: one over constants that fails is an error of the statement, whether rows ask for it or not.
fn finish_written_call(
    env: &dyn Environment,
    function: Arc<dyn ScalarFunction>,
    arguments: &[Argument],
    args: Vec<Expr>,
) -> Result<Expr> {
    finish(env, function, arguments, args, |folded| folded)
}

fn finish(
    env: &dyn Environment,
    function: Arc<dyn ScalarFunction>,
    arguments: &[Argument],
    args: Vec<Expr>,
    judge: impl Fn(Result<Option<Expr>>) -> Result<Option<Expr>>,
) -> Result<Expr> {
    let bound = BoundFunction::bind(function, arguments, env.context())?;
    if let Some(value) = bound.known_result() {
        return Ok(Expr::Literal(Literal { value: Arc::new(value), ty: bound.result.clone() }));
    }
    let folded = match writes_shown_type(bound.function.record(), &args) {
        true => None,
        false => judge(fold(env, &bound, &args))?,
    };
    Ok(folded.unwrap_or_else(|| Expr::call(bound, args)))
}

/// The value of a call over literals.
fn fold(env: &dyn Environment, function: &BoundFunction, args: &[Expr]) -> Result<Option<Expr>> {
    if function.function.record().volatility == Volatility::PerRow {
        return Ok(None);
    }
    let inputs = args.iter().map(|arg| Some(Input::Column(Expr::constant(arg.as_literal()?, 1))));
    let Some(inputs) = inputs.collect::<Option<Vec<Input>>>() else { return Ok(None) };
    let column: Column = function.execute(inputs, 1, env.context())?;
    let value = Arc::new(column.into_flat());
    Ok(Some(Expr::Literal(Literal { value, ty: function.result.clone() })))
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
            if call.filter.is_some() {
                bail!(UNKNOWN_FUNCTION, "Function with name `{}If` does not exist", call.name);
            }
            if call.params.is_some() {
                bail!(FUNCTION_CANNOT_HAVE_PARAMETERS, "Function {} is not parametric", call.name);
            }
            if let Some(nulls) = call.nulls {
                let nulls = match nulls {
                    ast::NullsAction::Respect => "RESPECT",
                    ast::NullsAction::Ignore => "IGNORE",
                };
                bail!(SYNTAX_ERROR, "Function with name `{}` cannot use {nulls} NULLS", call.name);
            }
            if call.distinct {
                bail!(
                    ILLEGAL_AGGREGATION,
                    "Function {} is not an aggregate: DISTINCT is not allowed",
                    call.name
                );
            }
            let is_choice = function.record().lazy == Lazy::Conditions;
            let n_aggregates = self.aggregates.len();
            return self.scalar_call(function, call).or_else(|error| {
                let chosen = if is_choice { self.chosen_branch(call) } else { None };
                let chosen = chosen.map(|(branch, bound)| {
                    self.chosen.insert(place(e.span), branch.clone());
                    bound
                });
                // Nobody asks for the aggregates of the other branches.
                if let Some(chosen) = &chosen {
                    let used = chosen.columns();
                    let mut at = 0;
                    self.aggregates.retain(|known| {
                        at += 1;
                        at <= n_aggregates || used.contains(&known.call.field.id)
                    });
                }
                chosen.ok_or(error)
            });
        }
        if let Some(bound) = self.aggregate_call(call, e)? {
            return Ok(bound);
        }
        if let Some(function) = env.registry().windows.get(&call.name).cloned() {
            if let crate::select::Place::Before(clause) = &self.place {
                bail!(ILLEGAL_AGGREGATION, "Window function {e} is found in {clause} in query");
            }
            // Arguments that it would not take over a window either are the nearer mistake.
            let mut args = Vec::new();
            for arg in &call.args {
                args.extend(self.expand_argument(arg)?);
            }
            let parameters = self.parameters(call)?;
            let args: Vec<Argument> = args.iter().map(|(name, expr)| argument(expr, name)).collect();
            function.result_type(&parameters, &args, env.context())?;
            bail!(
                BAD_ARGUMENTS,
                "The function '{}' can only be used as a window function, not as an aggregate function",
                function.record().name
            );
        }
        // What arguments name is looked for before the function is.
        for arg in &call.args {
            if self.lambda_of(arg).is_none() {
                self.expand_argument(arg)?;
            }
        }
        Err(unknown_function(env, &call.name))
    }

    /// The branch that constant conditions choose, where another branch cannot be bound: nobody asks for that one.
    fn chosen_branch<'c>(&mut self, call: &'c ast::Call) -> Option<(&'c ast::Expr, Expr)> {
        if call.args.len() < 3 || call.args.len() % 2 == 0 {
            return None;
        }
        let mut rest = &call.args[..];
        while let [condition, value, more @ ..] = rest {
            let condition = self.expr(condition).ok()?;
            let literal = condition.as_literal()?.value();
            if !literal.is_null() && literal.as_f64()? != 0.0 {
                return Some((value, self.expr(value).ok()?));
            }
            rest = more;
        }
        let [last] = rest else { return None };
        Some((last, self.expr(last).ok()?))
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
                if call.args.iter().any(|arg| self.lambda_of(arg).is_some()) {
                    bail!(
                        ILLEGAL_TYPE_OF_ARGUMENT,
                        "Function {name} can't have lambda-expressions as arguments"
                    );
                }
                let negated = lower.contains("notin") || lower.contains("notnullin");
                if lower.contains("nullin") && !self.query.env.settings().transform_null_in {
                    self.null_in(&call.args[0], &call.args[1], negated)?
                } else {
                    self.in_operator(&call.args[0], &call.args[1], negated)?
                }
            }
            // Beside what is no constant they are IN, whatever their names say.
            "inignoreset"
            | "notinignoreset"
            | "nullinignoreset"
            | "notnullinignoreset"
            | "globalinignoreset"
            | "globalnotinignoreset"
            | "globalnullinignoreset"
            | "globalnotnullinignoreset"
                if call.args.len() == 2
                    && self.query.env.registry().scalars.get(name).is_some()
                    && !matches!(call.args[1].kind, ExprKind::Subquery(_))
                    && self.expr(&call.args[1])?.as_literal().is_none() =>
            {
                self.in_operator(&call.args[0], &call.args[1], false)?
            }
            "in" | "notin" | "globalin" | "globalnotin" | "nullin" | "notnullin" | "globalnullin"
            | "globalnotnullin" => {
                for arg in &call.args {
                    self.expand_argument(arg)?;
                }
                bail!(NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Function '{name}' expects 2 arguments")
            }
            "arrayjoin" | "unnest" if is_array_join(call) => self.array_join_call(call)?,
            "grouping" => self.grouping_call(call, e)?,
            "exists" if matches!(call.args[..], [ast::Expr { kind: ExprKind::Subquery(_), .. }]) => {
                let ExprKind::Subquery(query) = &call.args[0].kind else { return Ok(None) };
                self.exists(query, e.span.start)?
            }
            _ => return self.path_of_value(e),
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
        let by_alias = match self.lambda_called(&call.name) {
            Some(ExprKind::Lambda { params, body }) => {
                Some((params.into_iter().map(|p| p.name).collect::<Vec<_>>(), *body))
            }
            _ => None,
        };
        let is_alias = by_alias.is_some();
        let found = match by_alias {
            Some(found) => Some(found),
            None => self.query.env.sql_function(&call.name)?,
        };
        let Some((params, body)) = found else { return Ok(None) };
        if params.len() != call.args.len() {
            bail!(
                BAD_ARGUMENTS,
                "Lambda {} expect {} arguments. Actual: {}",
                call.name,
                params.len(),
                call.args.len()
            );
        }
        if !is_alias && needs_text(&body) {
            return self.written_out(&params, &call.args, body).map(Some);
        }
        // A lambda among the arguments is known by the parameter's name while the body is bound.
        let mut lambdas = Vec::new();
        let mut values = Vec::new();
        for (param, arg) in params.into_iter().zip(&call.args) {
            match self.lambda_of(arg) {
                Some(kind) => lambdas.push((param, Rc::new(ast::Expr { kind, alias: None, span: arg.span }))),
                None => values.push((param, self.expr(arg)?)),
            }
        }
        let known = self.aliases.clone();
        self.aliases.extend(lambdas);
        let outer = std::mem::replace(&mut self.lambda_params, values);
        let outer_aliases = std::mem::take(&mut self.lambda_aliases);
        let bound = self.expr(&body);
        (self.lambda_params, self.lambda_aliases) = (outer, outer_aliases);
        self.aliases = known;
        bound.map(Some)
    }

    /// The body of an SQL function with the written arguments in place of its parameters. Its aliases become the SELECT's.
    fn written_out(&mut self, params: &[String], args: &[ast::Expr], mut body: ast::Expr) -> Result<Expr> {
        chalet_syntax::substitute(&mut body, &|name| {
            let position = params.iter().position(|param| param == name)?;
            Some(ast::Expr { alias: None, ..args[position].clone() })
        });
        if !self.lambda_params.is_empty() {
            let mut given = HashMap::default();
            crate::aliases::collect_aliases(&body, &mut given)?;
            return self.with_lambda_aliases(given, |binder| binder.expr(&body));
        }
        let mut aliases = self.aliases.clone();
        crate::aliases::collect_aliases(&body, &mut aliases)?;
        let known = std::mem::replace(&mut self.aliases, aliases);
        let bound = self.expr(&body);
        self.aliases = known;
        bound
    }

    /// A wrong number of arguments comes before what they are.
    fn wrong_number(
        &self,
        function: &Arc<dyn ScalarFunction>,
        arguments: &[Argument],
        error: chalet_base::Error,
    ) -> chalet_base::Error {
        match BoundFunction::bind(function.clone(), arguments, self.query.env.context()) {
            Err(other) if other.code() == chalet_base::codes::NUMBER_OF_ARGUMENTS_DOESNT_MATCH => other,
            _ => error,
        }
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
            let types = function.lambda_parameters(index, &arguments, params.len());
            let types = types.map_err(|error| self.wrong_number(&function, &arguments, error))?;
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
            let n_columns = self.lambda_columns.len();
            for (param, (id, ty)) in params.iter().zip(&ids) {
                self.lambda_params.push((param.name.clone(), Expr::Column(*id, ty.clone())));
                self.lambda_columns.push(*id);
            }
            let body = self.lambda_body(&params, &body);
            self.lambda_params.truncate(depth);
            self.lambda_columns.truncate(n_columns);
            let body = body?;
            arguments[index].ty = body.ty().clone();
            exprs[index] = Some(Expr::Lambda { params: ids, body: Box::new(body) });
        }
        let mut args: Vec<Expr> = exprs.into_iter().flatten().collect();
        if function.record().takes_enum
            && let Some(first) = args.first_mut().filter(|first| first.ty().bare().is_enum())
        {
            let text = if first.ty().is_nullable() { DataType::String.nullable() } else { DataType::String };
            *first = cast(env, first.clone(), &text)?;
            arguments[0] = argument(first, "");
        }
        if function.record().shown == ShownType::Seen {
            self.tell_values(&mut arguments, &args);
        }
        if function.record().shown == ShownType::Seen
            && let Some(shown) = self.query.shown_arguments(&arguments, &args)
        {
            arguments = shown;
        }
        finish_written_call(env, function, &arguments, args)
    }

    /// Calls with lambdas are no literals, though they are known before the query runs: a function of what is known is told their values.
    fn tell_values(&self, arguments: &mut [Argument], args: &[Expr]) {
        for (argument, arg) in arguments.iter_mut().zip(args) {
            let has_lambda = arg.any(&|e| matches!(e, Expr::Lambda { .. }));
            if !has_lambda || !arg.columns().is_empty() || !arg.is_deterministic() {
                continue;
            }
            // What fails does so where it is computed.
            let rows = self.query.env.run(constant_plan(self.query.ids, arg.clone())).unwrap_or_default();
            argument.constant =
                rows.iter().find(|b| !b.is_empty()).map(|row| row.column(0).slice(0, 1).into_flat().value(0));
        }
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
            ExprKind::Identifier(parts) if parts.len() == 1 => self.lambda_called(&parts[0].name),
            ExprKind::Call(call) => spelled_lambda(call),
            _ => None,
        }
    }

    /// The lambda that an alias stands for, through other aliases too.
    fn lambda_called(&self, name: &str) -> Option<ExprKind> {
        let mut target = self.aliases.get(name)?;
        // Aliases that stand for each other end somewhere, or in a circle.
        for _ in 0..self.aliases.len() {
            match &target.kind {
                lambda @ ExprKind::Lambda { .. } => return Some(lambda.clone()),
                ExprKind::Identifier(parts) if parts.len() == 1 => {
                    target = self.aliases.get(&parts[0].name)?;
                }
                ExprKind::Call(call) => return spelled_lambda(call),
                _ => return None,
            }
        }
        None
    }

    /// An argument, or several when it is `*` or COLUMNS.
    pub(crate) fn expand_argument(&mut self, arg: &ast::Expr) -> Result<Vec<(String, Expr)>> {
        match &arg.kind {
            ExprKind::Star(_) | ExprKind::QualifiedStar { .. } | ExprKind::Columns { .. } => self.expand(arg),
            ExprKind::Call(call) if call.name == "untuple" && call.args.len() == 1 => {
                let elements = self.untuple(arg, &call.args[0])?;
                let names = elements.iter().map(|(name, _)| name.clone());
                self.untupled.insert(place(arg.span), names.collect());
                Ok(elements)
            }
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
        let array = self.expr(arg)?;
        if self.lambda_columns.iter().any(|param| array.columns().contains(param)) {
            bail!(BAD_ARGUMENTS, "Expression in arrayJoin cannot depend on lambda argument: {arg}");
        }
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

/// Is it `arrayJoin`, which makes several rows of one, or its other name?
pub fn is_array_join(call: &ast::Call) -> bool {
    call.name == "arrayJoin" || call.name.eq_ignore_ascii_case("unnest")
}

/// Has the body of an SQL function something that bound arguments do not reach into: aliases, sub-queries?
fn needs_text(body: &ast::Expr) -> bool {
    let mut found = false;
    chalet_syntax::visit::walk(body, &mut |e| {
        found |= e.alias.is_some() || matches!(e.kind, ExprKind::Subquery(_) | ExprKind::Exists(_));
        true
    });
    found
}
