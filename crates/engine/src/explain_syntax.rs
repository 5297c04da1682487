//! EXPLAIN SYNTAX: the query in functional form. Operators are calls, constants that need it say their type, and what a query leaves
//! unsaid is written: its table, the strictness of its joins, the order of its set operations.

use crate::query_context::QueryContext;
use chalet_binder::table_columns::bind_constant;
use chalet_syntax::ast::{
    Call, CallStyle, Expr, ExprKind, Fill, FrameBound, GroupBy, Ident, Join, JoinConstraint, JoinKind,
    JoinStep, JoinStrictness, LimitBy, Literal, ObjectName, OrderItem, Query, Select, SetExpr, SetOp,
    SetQuantifier, Span, Statement, StatementKind, TableExpr, TableKind, WithItem,
};
use chalet_syntax::visit::for_each_child_mut;
use chalet_syntax::{print, visit};

/// The text of a statement: in one line, or one clause a line.
pub(crate) fn text(statement: &Statement, in_one_line: bool, ctx: &QueryContext) -> String {
    let mut statement = statement.clone();
    match &mut statement.kind {
        StatementKind::Query(query) => Form { ctx }.query(query),
        StatementKind::Insert(insert) => {
            if let chalet_syntax::ast::InsertSource::Query(query) = &mut insert.source {
                visit::for_each_select_mut(query, &mut |select| {
                    each_expr(select, &mut |e| visit::walk_mut(e, &mut as_call));
                });
            }
        }
        _ => {}
    }
    if in_one_line { print::print(&statement) } else { print::format(&statement) }
}

struct Form<'a> {
    ctx: &'a QueryContext,
}

impl Form<'_> {
    fn query(&self, query: &mut Query) {
        self.set(&mut query.body);
        // Parentheses around all of it mean nothing.
        while let SetExpr::Query(inner) = &mut query.body {
            query.body = std::mem::replace(
                &mut inner.body,
                SetExpr::SetOp { op: SetOp::Union, quantifier: SetQuantifier::All, inputs: Vec::new() },
            );
        }
    }

    fn set(&self, body: &mut SetExpr) {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOp { quantifier, inputs, .. } => {
                if *quantifier == SetQuantifier::None {
                    *quantifier = SetQuantifier::All;
                }
                share_with(inputs);
                for input in inputs {
                    self.set(input);
                    if !matches!(input, SetExpr::Query(_)) {
                        let body = std::mem::replace(input, SetExpr::Select(Box::default()));
                        *input = SetExpr::Query(Box::new(Query { body, span: Span::default() }));
                    }
                }
            }
        }
    }

    fn select(&self, select: &mut Select) {
        for item in &mut select.with {
            match item {
                WithItem::Expr(e) => self.expr(e),
                WithItem::Cte { query, .. } => self.query(query),
            }
        }
        if !select.distinct_on.is_empty() {
            let exprs = std::mem::take(&mut select.distinct_on);
            let one = plain(ExprKind::Literal(Literal::UInt(1)));
            select.limit_by = Some(LimitBy { limit: Some(one), offset: None, exprs, all: false });
        }
        match &mut select.from {
            Some(table) => self.table(table),
            None => select.from = Some(one_row()),
        }
        for step in &mut select.joins {
            if let JoinStep::Join(join) = step {
                self.join(join);
            }
        }
        if let Some(GroupBy::Exprs(list)) = &mut select.group_by
            && list.is_empty()
        {
            list.push(call("tuple", Vec::new()));
        }
        each_expr(select, &mut |e| self.expr(e));
    }

    fn join(&self, join: &mut Join) {
        self.table(&mut join.table);
        let is_plain =
            matches!(join.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full);
        match join.strictness {
            JoinStrictness::Unspecified if is_plain => join.strictness = JoinStrictness::All,
            JoinStrictness::Semi | JoinStrictness::Anti if join.kind == JoinKind::Inner => {
                join.kind = JoinKind::Left;
            }
            _ => {}
        }
    }

    fn table(&self, table: &mut TableExpr) {
        match &mut table.kind {
            TableKind::Name(_) | TableKind::File(_) => {}
            TableKind::Function(call) => call.args.iter_mut().for_each(|arg| self.expr(arg)),
            TableKind::Query(query) => self.query(query),
        }
    }

    fn expr(&self, e: &mut Expr) {
        if let Some(ty) = self.type_to_say(e) {
            let alias = e.alias.take();
            let parenthesised = std::mem::take(&mut e.span.parenthesised) && alias.is_some();
            let mut constant = std::mem::replace(e, plain(ExprKind::Literal(Literal::Null)));
            as_floats(&mut constant, false);
            *e = call("_CAST", vec![constant, text_literal(&ty)]);
            e.alias = alias;
            e.span.parenthesised = parenthesised;
            return;
        }
        match &mut e.kind {
            ExprKind::Call(call) if visit::is_in(&call.name) => {
                if let [value, set] = &mut call.args[..] {
                    self.expr(value);
                    self.set_of_in(set);
                }
            }
            ExprKind::Subquery(query) => self.query(query),
            ExprKind::Exists(query) => {
                self.query(query);
                let query = std::mem::replace(query, Box::new(no_query()));
                e.kind = call("exists", vec![plain(ExprKind::Subquery(query))]).kind;
            }
            _ => for_each_child_mut(e, &mut |child| self.expr(child)),
        }
        as_call(e);
    }

    /// The right side of IN: a list of constants stays one.
    fn set_of_in(&self, set: &mut Expr) {
        set.span.parenthesised = false;
        let is_list = matches!(&set.kind, ExprKind::Call(call) if call.style == CallStyle::Tuple && !call.args.is_empty());
        if !(is_list && is_literal_list(set)) {
            self.expr(set);
        }
    }

    /// Of a constant that is printed with its type.
    fn type_to_say(&self, e: &Expr) -> Option<String> {
        let is_said = match &e.kind {
            ExprKind::Literal(literal) => matches!(literal, Literal::Null),
            ExprKind::Call(call) => match call.style {
                CallStyle::Array => is_literal_array(e),
                CallStyle::Tuple => call.args.len() > 1 && is_literal_list(e),
                _ => false,
            },
            _ => false,
        };
        let mut bare = e.clone();
        bare.alias = None;
        let constant = is_said.then(|| bind_constant(&bare, self.ctx, &self.ctx.ids).ok())??;
        Some(constant.ty.to_string())
    }
}

/// The WITH of the first query is that of the others too.
fn share_with(inputs: &mut [SetExpr]) {
    let Some((SetExpr::Select(first), others)) = inputs.split_first_mut() else { return };
    for other in others {
        if let SetExpr::Select(other) = other {
            other.with.splice(0..0, first.with.iter().cloned());
            other.recursive |= first.recursive;
        }
    }
}

/// Where one number of an array is a float, all are written as floats.
fn as_floats(e: &mut Expr, is_among_floats: bool) {
    fn has_float(e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Literal(literal) => matches!(literal, Literal::Float(_)),
            ExprKind::Call(call) => call.style == CallStyle::Array && call.args.iter().any(has_float),
            _ => false,
        }
    }
    let is_array = matches!(&e.kind, ExprKind::Call(call) if call.style == CallStyle::Array);
    let is_among_floats = is_among_floats || is_array && has_float(e);
    match &mut e.kind {
        ExprKind::Literal(Literal::UInt(value)) if is_among_floats => {
            e.kind = ExprKind::Literal(Literal::Float(*value as f64));
        }
        ExprKind::Literal(Literal::Int(value)) if is_among_floats => {
            e.kind = ExprKind::Literal(Literal::Float(*value as f64));
        }
        ExprKind::Call(call) => {
            let goes_on = call.style == CallStyle::Array && is_among_floats;
            call.args.iter_mut().for_each(|arg| as_floats(arg, goes_on));
        }
        _ => {}
    }
}

/// An array of literals and such arrays.
fn is_literal_array(e: &Expr) -> bool {
    let ExprKind::Call(call) = &e.kind else { return false };
    let is_part = |e: &Expr| e.alias.is_none() && (is_literal(e) || is_literal_array(e));
    call.style == CallStyle::Array && call.args.iter().all(is_part)
}

/// A tuple of literals and such tuples.
fn is_literal_list(e: &Expr) -> bool {
    let ExprKind::Call(call) = &e.kind else { return false };
    let is_part = |e: &Expr| e.alias.is_none() && (is_literal(e) || is_literal_list(e));
    call.style == CallStyle::Tuple && call.args.iter().all(is_part)
}

fn is_literal(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(_))
}

/// Writes an operator, a lambda, DISTINCT and FILTER as a call.
fn as_call(e: &mut Expr) {
    let is_query = matches!(e.kind, ExprKind::Subquery(_));
    e.span.parenthesised &= e.alias.is_some() && !is_query;
    match &mut e.kind {
        ExprKind::Lambda { params, body } => {
            let params = params.drain(..).map(|param| plain(ExprKind::Identifier(vec![param]))).collect();
            let body = std::mem::replace(&mut **body, plain(ExprKind::Literal(Literal::Null)));
            e.kind = call("lambda", vec![call("tuple", params), body]).kind;
        }
        ExprKind::Call(found) => {
            match found.style {
                CallStyle::Array => found.name = "array".into(),
                CallStyle::Tuple => {
                    found.name = "tuple".into();
                    e.span.parenthesised = false;
                }
                CallStyle::Cast => found.name = "CAST".into(),
                CallStyle::Operator | CallStyle::Function => {}
            }
            found.style = CallStyle::Function;
            if std::mem::take(&mut found.distinct) {
                found.name.push_str("Distinct");
            }
            if let Some(filter) = found.filter.take() {
                if found.counts_rows() {
                    found.args.clear();
                }
                found.name.push_str("If");
                found.args.push(*filter);
            }
        }
        _ => {}
    }
}

/// Calls `f` with the expressions that stand directly in the clauses of a SELECT, but those of WITH.
fn each_expr(select: &mut Select, f: &mut dyn FnMut(&mut Expr)) {
    for step in &mut select.joins {
        match step {
            JoinStep::ArrayJoin { exprs, .. } => exprs.iter_mut().for_each(&mut *f),
            JoinStep::Join(join) => match &mut join.constraint {
                JoinConstraint::None => {}
                JoinConstraint::On(condition) => f(condition),
                JoinConstraint::Using(list) => list.iter_mut().for_each(&mut *f),
            },
        }
    }
    select.projection.iter_mut().for_each(&mut *f);
    let conditions = [&mut select.prewhere, &mut select.where_, &mut select.having, &mut select.qualify];
    conditions.into_iter().flatten().for_each(&mut *f);
    match &mut select.group_by {
        None | Some(GroupBy::All | GroupBy::AllRollup | GroupBy::AllCube) => {}
        Some(GroupBy::Exprs(list) | GroupBy::Rollup(list) | GroupBy::Cube(list)) => {
            list.iter_mut().for_each(&mut *f);
        }
        Some(GroupBy::GroupingSets(sets)) => sets.iter_mut().flatten().for_each(&mut *f),
    }
    for window in &mut select.windows {
        let spec = &mut window.spec;
        spec.partition_by.iter_mut().for_each(&mut *f);
        spec.order_by.iter_mut().for_each(|item| of_order_item(item, f));
        for bound in spec.frame.iter_mut().flat_map(|frame| [&mut frame.start, &mut frame.end]) {
            if let FrameBound::Preceding(value) | FrameBound::Following(value) = bound {
                f(value);
            }
        }
    }
    select.order_by.iter_mut().for_each(|item| of_order_item(item, f));
    select.interpolate.iter_mut().flatten().filter_map(|item| item.expr.as_mut()).for_each(&mut *f);
    if let Some(by) = &mut select.limit_by {
        [&mut by.limit, &mut by.offset].into_iter().flatten().for_each(&mut *f);
        by.exprs.iter_mut().for_each(&mut *f);
    }
    [&mut select.limit, &mut select.offset].into_iter().flatten().for_each(&mut *f);
}

fn of_order_item(item: &mut OrderItem, f: &mut dyn FnMut(&mut Expr)) {
    f(&mut item.expr);
    if let Some(Fill { from, to, step, staleness }) = item.fill.as_deref_mut() {
        [from, to, step, staleness].into_iter().flatten().for_each(&mut *f);
    }
}

fn plain(kind: ExprKind) -> Expr {
    Expr { kind, alias: None, span: Span::default() }
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    plain(ExprKind::Call(Box::new(Call::new(name, args, CallStyle::Function))))
}

fn text_literal(text: &str) -> Expr {
    plain(ExprKind::Literal(Literal::String(text.as_bytes().to_vec())))
}

fn no_query() -> Query {
    Query { body: SetExpr::Select(Box::default()), span: Span::default() }
}

/// `system.one`, which a query without FROM reads.
fn one_row() -> TableExpr {
    let name = ObjectName { database: Some(Ident::new("system")), name: Ident::new("one") };
    let kind = TableKind::Name(name);
    TableExpr {
        kind,
        alias: None,
        column_aliases: Vec::new(),
        final_: false,
        sample: None,
        span: Span::default(),
    }
}
