//! Expressions: literals, identifiers, aliases.

use crate::call::make_call;
use crate::parameter_value::parameter_value;
use crate::scope::Found;
use crate::select::SelectBinder;
use chalet_base::{Result, bail, ensure, err, suggest};
use chalet_plan::{Expr, Literal};
use chalet_syntax::ast::{self, ExprKind};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// Deeper expressions are refused before they exhaust the stack.
const MAX_DEPTH: usize = 300;

impl<'b> SelectBinder<'b> {
    /// Binds an expression; the alias on it, if any, is then known as bound.
    pub(crate) fn expr(&mut self, e: &ast::Expr) -> Result<Expr> {
        self.expr_depth += 1;
        if self.expr_depth > MAX_DEPTH {
            bail!(TOO_DEEP_RECURSION, "Expression is nested too deeply, maximum depth: {MAX_DEPTH}");
        }
        if let Some(key) = self.written_key(&e.kind) {
            self.expr_depth -= 1;
            return Ok(key);
        }
        let bound = match &e.alias {
            Some(alias) if self.lambda_params.is_empty() && self.aliases.contains_key(&alias.name) => {
                self.alias(&alias.name, e)
            }
            Some(alias) if !self.lambda_aliases.is_empty() => match self.by_lambda_alias(&alias.name)? {
                Some(bound) => Ok(bound),
                None => self.kind(e),
            },
            _ => self.kind(e),
        };
        self.expr_depth -= 1;
        Ok(self.nullable_key(bound?))
    }

    /// Binds the expression behind an alias once.
    pub(crate) fn alias(&mut self, name: &str, e: &ast::Expr) -> Result<Expr> {
        // What asks for an alias that is being bound means a column by it this time.
        let mentions = self.aliases_of_alias.get(name).map_or(&[][..], Vec::as_slice);
        if !mentions.iter().any(|mention| self.resolving.contains(mention))
            && let Some(bound) = self.bound_aliases.get(name)
        {
            self.asked_aliases.extend_from_slice(mentions);
            return Ok(bound.clone());
        }
        let n_asked = self.asked_aliases.len();
        self.resolving.push(name.to_string());
        // An alias means the same wherever it is used: lambda parameters around the use do not reach into it.
        let params = std::mem::take(&mut self.lambda_params);
        let lambda_aliases = std::mem::take(&mut self.lambda_aliases);
        let bound = self.kind(e);
        (self.lambda_params, self.lambda_aliases) = (params, lambda_aliases);
        self.resolving.pop();
        // Where there is no such column, it is the alias after all.
        let bound = bound.or_else(|error| self.bound_aliases.get(name).cloned().ok_or(error))?;
        // While another alias is being resolved, names inside may have meant columns instead of aliases.
        if self.resolving.is_empty() {
            let mut asked = self.asked_aliases.split_off(n_asked);
            asked.sort_unstable();
            asked.dedup();
            self.aliases_of_alias.insert(name.to_string(), asked);
            self.bound_aliases.insert(name.to_string(), bound.clone());
        }
        Ok(bound)
    }

    pub(crate) fn kind(&mut self, e: &ast::Expr) -> Result<Expr> {
        match &e.kind {
            ExprKind::Literal(literal) => bind_literal(literal),
            ExprKind::Identifier(parts) => self.identifier(parts),
            ExprKind::Call(call) => self.call(call, e),
            ExprKind::Subquery(query) => self.scalar_subquery(query),
            ExprKind::Exists(query) => self.exists(query, e.span.start),
            ExprKind::Parameter { name, ty } => self.parameter(name, &ty.text),
            ExprKind::Lambda { .. } => {
                bail!(BAD_ARGUMENTS, "Lambda {e} is not allowed in expression context")
            }
            ExprKind::Star(_) | ExprKind::QualifiedStar { .. } | ExprKind::Columns { .. } => {
                let mut expanded = self.expand(e)?;
                match expanded.len() {
                    1 => Ok(expanded.swap_remove(0).1),
                    _ => bail!(UNSUPPORTED_METHOD, "A matcher is not allowed in expression context"),
                }
            }
        }
    }

    fn parameter(&mut self, name: &str, ty: &str) -> Result<Expr> {
        let env = self.query.env;
        let Some(text) = env.parameter(name) else {
            bail!(UNKNOWN_QUERY_PARAMETER, "Substitution `{name}` is not set");
        };
        let ty: DataType = ty.parse()?;
        let vector = parameter_value(name, &text, &ty, env.context().time_zone.clone())?;
        Ok(Expr::Literal(Literal { value: Arc::new(vector), ty }))
    }

    fn identifier(&mut self, parts: &[ast::Ident]) -> Result<Expr> {
        let names: Vec<String> = parts.iter().map(|p| self.ident(p)).collect::<Result<_>>()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if let Some(bound) = self.by_lambda_alias(names[0])? {
            return self.elements(bound, &names[1..]);
        }
        if let Some((_, param)) = self.lambda_params.iter().rev().find(|(name, _)| name == names[0]) {
            let param = param.clone();
            return self.elements(param, &names[1..]);
        }
        let aliases_first = !self.query.env.settings().prefer_column_name_to_alias;
        if aliases_first && let Some(found) = self.by_alias(&names)? {
            return Ok(found);
        }
        if let Some(found) = self.by_column(&names)? {
            return Ok(found);
        }
        if !aliases_first && let Some(found) = self.by_alias(&names)? {
            return Ok(found);
        }
        if let Some(found) = self.by_outer(&names)? {
            return Ok(found);
        }
        if let Some(found) = self.by_outer_with(&names) {
            return Ok(found);
        }
        if let [name] = names[..]
            && let Some(function) = self.query.env.registry().scalars.get(name)
            && function.record().without_parentheses
        {
            return make_call(self.query.env, name, Vec::new());
        }
        Err(self.unknown_identifier(&names))
    }

    /// The text of an identifier, which may be a query parameter.
    pub(crate) fn ident(&self, ident: &ast::Ident) -> Result<String> {
        if !ident.parameter {
            return Ok(ident.name.clone());
        }
        let found = self.query.env.parameter(&ident.name);
        found.ok_or_else(|| err!(UNKNOWN_QUERY_PARAMETER, "Substitution `{}` is not set", ident.name))
    }

    fn by_alias(&mut self, names: &[&str]) -> Result<Option<Expr>> {
        let name = names[0];
        if self.resolving.iter().any(|r| r == name) {
            return Ok(None);
        }
        let Some(target) = self.aliases.get(name).cloned() else { return Ok(None) };
        if !self.resolving.is_empty() {
            self.asked_aliases.push(name.to_string());
        }
        let bound = self.alias(name, &target)?;
        Ok(Some(self.elements(bound, &names[1..])?))
    }

    fn by_column(&mut self, names: &[&str]) -> Result<Option<Expr>> {
        let prefer_left = self.query.env.settings().single_join_prefer_left_table;
        let mut found = self.tables.find(names, prefer_left)?;
        // A table that is called as one of its columns: `t.x` is the column `x` unless the column `t` has such an element.
        if let Some(column) = &found
            && column.used < names.len()
            && let Some(qualified) = self.tables.find_qualified(names)
        {
            let element = self.elements(column.expr.clone(), &names[column.used..]);
            found = element.map_or(Some(qualified), |expr| Some(Found { expr, used: names.len() }));
        }
        match found {
            // A table of a query around comes before one that has another name here.
            Some(_) if self.tables.by_own_name(names[0]).is_some() && self.outer_has_table(names[0]) => {
                Ok(None)
            }
            Some(found) => Ok(Some(self.elements(found.expr, &names[found.used..])?)),
            None => self.nested_group(names),
        }
    }

    fn outer_has_table(&self, name: &str) -> bool {
        let mut query = &self.query;
        while let Some(select) = query.outer {
            if select.tables.table(&[name]).is_some() {
                return true;
            }
            query = &select.query;
        }
        false
    }

    /// Names of the queries around: their aliases, as far as they are bound, and their columns. A sub-query in FROM sees
    /// constants only.
    fn by_outer(&mut self, names: &[&str]) -> Result<Option<Expr>> {
        let mut query = &self.query;
        while let Some(select) = query.outer {
            if let Some(bound) = select.bound_aliases.get(names[0])
                && (bound.is_literal() || query.in_expression)
                && self.query.env.settings().enable_global_with_statement
            {
                let bound = if bound.is_literal() { bound.clone() } else { select.as_parameter(bound) };
                self.outer_columns.extend(bound.columns());
                return Ok(Some(self.elements(bound, &names[1..])?));
            }
            if let Some(found) = select.tables.find(names, true)? {
                ensure!(
                    query.in_expression,
                    NOT_IMPLEMENTED,
                    "A subquery in FROM that reads identifier `{}` of the query around is not supported",
                    names.join(".")
                );
                self.outer_columns.extend(found.expr.columns());
                return Ok(Some(self.elements(found.expr, &names[found.used..])?));
            }
            query = &select.query;
        }
        Ok(None)
    }

    /// An expression that WITH of a query around gives a name to, and that this query has the columns for.
    fn by_outer_with(&mut self, names: &[&str]) -> Option<Expr> {
        if self.resolving.iter().any(|name| name == names[0]) {
            return None;
        }
        let target = self.query.outer_with(names[0])?;
        let bound = self.alias(names[0], &target).ok()?;
        self.elements(bound, &names[1..]).ok()
    }

    /// Elements of tuples, and the sub-columns that the kernel gives every type.
    pub(crate) fn elements(&mut self, mut expr: Expr, names: &[&str]) -> Result<Expr> {
        for (i, name) in names.iter().enumerate() {
            let env = self.query.env;
            let ty = expr.ty().clone();
            if has_paths(&ty) {
                let rest = Expr::literal(&Value::from(&*names[i..].join(".")), DataType::String)?;
                return make_call(env, "getSubcolumn", vec![expr, rest]).map_err(|e| {
                    let name = names.join(".");
                    err!(UNKNOWN_IDENTIFIER, "Identifier '{name}' cannot be resolved: {}", e.message())
                });
            }
            expr = match (*name, ty.without_low_cardinality()) {
                ("null", DataType::Nullable(_)) => make_call(env, "isNull", vec![expr])?,
                ("size", DataType::String) => make_call(env, "length", vec![expr])?,
                // The functions of maps know no dictionaries.
                ("keys" | "values", map)
                    if is_map(map) && *map != map.recursively_without_low_cardinality() =>
                {
                    let part = Expr::literal(&Value::from(*name), DataType::String)?;
                    make_call(env, "getSubcolumn", vec![expr, part])?
                }
                (name, DataType::Array(inner)) if let Some(below) = below_array(name, inner) => {
                    self.of_each_element(expr, &below)?
                }
                ("size0", DataType::Array(_) | DataType::Map(..)) => make_call(env, "length", vec![expr])?,
                ("keys", DataType::Map(..)) => make_call(env, "mapKeys", vec![expr])?,
                ("values", DataType::Map(..)) => make_call(env, "mapValues", vec![expr])?,
                _ => {
                    let index = match name.parse::<u64>() {
                        Ok(number) => Expr::literal(&Value::UInt(number), DataType::UInt64)?,
                        Err(_) => Expr::literal(&Value::from(*name), DataType::String)?,
                    };
                    make_call(env, "tupleElement", vec![expr, index]).map_err(|e| {
                        err!(
                            UNKNOWN_IDENTIFIER,
                            "Identifier '{}' cannot be resolved: {}",
                            names.join("."),
                            e.message()
                        )
                    })?
                }
            };
        }
        Ok(expr)
    }

    /// A sub-column of all elements of an array.
    fn of_each_element(&mut self, array: Expr, name: &str) -> Result<Expr> {
        let Some(ty) = array.ty().without_low_cardinality().element() else {
            bail!(LOGICAL_ERROR, "Elements of {}", array.ty());
        };
        let id = self.query.ids.next();
        let body = self.elements(Expr::Column(id, ty.clone()), &[name])?;
        let lambda = Expr::Lambda { params: vec![(id, ty)], body: Box::new(body) };
        make_call(self.query.env, "arrayMap", vec![lambda, array])
    }

    #[cold]
    fn unknown_identifier(&self, names: &[&str]) -> chalet_base::Error {
        let name = names.join(".");
        if let Some(error) = self.never_stored(names) {
            return error;
        }
        if names.len() > 1
            && let Some(table) = self.tables.table(&names[..names.len() - 1])
        {
            let of = table.name.as_deref().unwrap_or_default();
            return err!(
                UNKNOWN_IDENTIFIER,
                "Identifier '{name}' cannot be resolved from table with name {of}"
            );
        }
        let candidates = self.tables.all_columns().map(|c| &*c.name).chain(self.aliases.keys().map(|k| &**k));
        match suggest::nearest(&name, candidates, 1).first() {
            Some(near) => {
                err!(
                    UNKNOWN_IDENTIFIER,
                    "Unknown expression identifier `{name}`. Maybe you meant: ['{near}']"
                )
            }
            None => err!(UNKNOWN_IDENTIFIER, "Unknown expression identifier `{name}`"),
        }
    }

    /// The error for an EPHEMERAL column, which no row has.
    fn never_stored(&self, names: &[&str]) -> Option<chalet_base::Error> {
        let (wanted, before) = names.split_last()?;
        let named = self.tables.table(before).filter(|_| !before.is_empty());
        let mut tables = self.tables.list.iter().filter(|table| match (before, named) {
            ([], _) => true,
            (_, Some(named)) => std::ptr::eq(*table, named),
            _ => false,
        });
        let table = tables.find(|table| table.ephemeral.iter().any(|name| **name == **wanted))?;
        let columns: Vec<&str> = table.columns.iter().filter(|c| c.in_star).map(|c| &*c.name).collect();
        Some(err!(
            NO_SUCH_COLUMN_IN_TABLE,
            "There is no column with name `{wanted}` in table {}. There are columns: {}",
            table.name.as_deref().unwrap_or_default(),
            columns.join(", ")
        ))
    }

    /// An expression that must be constant.
    pub(crate) fn constant(&mut self, e: &ast::Expr, what: &str) -> Result<Literal> {
        self.computed(e, what, Expr::is_deterministic)
    }

    /// An expression that is computed now, whether it would give the same another time or not.
    pub(crate) fn computed_once(&mut self, e: &ast::Expr, what: &str) -> Result<Literal> {
        self.computed(e, what, |_| true)
    }

    fn computed(&mut self, e: &ast::Expr, what: &str, may_run: fn(&Expr) -> bool) -> Result<Literal> {
        match self.expr(e)? {
            Expr::Literal(literal) => Ok(literal),
            // Not folded (a lambda is no literal), but it reads nothing either.
            call if call.columns().is_empty() && may_run(&call) => {
                let ty = call.ty().clone();
                let rows = self.query.env.run(crate::call::constant_plan(self.query.ids, call))?;
                let row = rows.iter().find(|b| !b.is_empty());
                let Some(row) = row else {
                    bail!(BAD_ARGUMENTS, "{what} must be a constant expression, got {e}")
                };
                Ok(Literal { value: Arc::new(row.column(0).slice(0, 1).into_flat()), ty })
            }
            _ => bail!(BAD_ARGUMENTS, "{what} must be a constant expression, got {e}"),
        }
    }
}

/// Maps, and arrays of them.
fn is_map(ty: &DataType) -> bool {
    match ty {
        DataType::Map(..) => true,
        DataType::Array(inner) => is_map(inner),
        _ => false,
    }
}

/// What a sub-column of an array is of its elements: their NULLs, keys and values, and the sizes of the arrays among them.
fn below_array(name: &str, element: &DataType) -> Option<String> {
    match element.without_low_cardinality() {
        DataType::Nullable(_) if name == "null" => Some(name.to_string()),
        DataType::Map(..) if matches!(name, "keys" | "values") => Some(name.to_string()),
        DataType::Array(_) => {
            let level: u8 = name.strip_prefix("size")?.parse().ok()?;
            Some(format!("size{}", level.checked_sub(1)?))
        }
        _ => None,
    }
}

/// Are names behind a value of this type paths or types, of any depth?
pub(crate) fn has_paths(ty: &DataType) -> bool {
    match ty.without_nullable() {
        DataType::Array(inner) => has_paths(inner),
        DataType::Json(_) | DataType::Variant(_) | DataType::Dynamic(_) => true,
        _ => false,
    }
}

/// Literals in brackets, as an item of SELECT: the kernel names the array by what its literals are without a Variant, which they
/// must have then.
pub(crate) fn check_literal_array(e: &ast::Expr, ty: &DataType) -> Result<()> {
    fn is_literal(e: &ast::Expr, is_item: bool) -> bool {
        match &e.kind {
            _ if e.alias.is_some() && !is_item => false,
            ExprKind::Literal(_) => !is_item,
            ExprKind::Call(call) => {
                call.style == ast::CallStyle::Array && call.args.iter().all(|arg| is_literal(arg, false))
            }
            _ => false,
        }
    }
    if !is_literal(e, true) {
        return Ok(());
    }
    let mut element = ty;
    while let DataType::Array(inner) = element {
        element = inner.as_ref();
    }
    match element {
        DataType::Variant(types) => common_supertype(types).map(drop),
        _ => Ok(()),
    }
}

/// Literals have the smallest type that holds them.
pub(crate) fn bind_literal(literal: &ast::Literal) -> Result<Expr> {
    use DataType::*;
    let (value, ty) = match literal {
        ast::Literal::Null => (Value::Null, Nullable(Arc::new(Nothing))),
        ast::Literal::Bool(b) => (Value::UInt((*b).into()), Bool),
        ast::Literal::UInt(x) => {
            let ty = match *x {
                0..=0xff => UInt8,
                0x100..=0xffff => UInt16,
                0x1_0000..=0xffff_ffff => UInt32,
                _ => UInt64,
            };
            (Value::UInt(*x), ty)
        }
        ast::Literal::Int(x) => {
            let ty = match *x {
                -0x80..=0x7f => Int8,
                -0x8000..=0x7fff => Int16,
                -0x8000_0000..=0x7fff_ffff => Int32,
                _ => Int64,
            };
            (Value::Int(*x), ty)
        }
        ast::Literal::Float(x) => (Value::Float(*x), Float64),
        ast::Literal::String(bytes) => (Value::string(bytes), String),
    };
    Expr::literal(&value, ty)
}
