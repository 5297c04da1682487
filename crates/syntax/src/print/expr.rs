//! Expressions. An operator inside an operator is always in parentheses, as the kernel writes them.

use super::Printer;
use super::text::{float_text, write_ident, write_string};
use crate::ast::{
    Call, CallStyle, ColumnsMatcher, Expr, ExprKind, FrameBound, FrameUnit, Ident, Literal, NullsAction,
    OrderItem, Setting, SettingValue, Transformer, WindowRef, WindowSpec,
};
use crate::visit::is_in;

/// The symbol of an operator of two operands.
fn infix_symbol(name: &str) -> Option<&'static str> {
    Some(match name {
        "plus" => "+",
        "minus" => "-",
        "multiply" => "*",
        "divide" => "/",
        "modulo" => "%",
        "equals" => "=",
        "notEquals" => "!=",
        "less" => "<",
        "greater" => ">",
        "lessOrEquals" => "<=",
        "greaterOrEquals" => ">=",
        "isNotDistinctFrom" => "<=>",
        "isDistinctFrom" => "IS DISTINCT FROM",
        "and" => "AND",
        "or" => "OR",
        "concat" => "||",
        "like" => "LIKE",
        "notLike" => "NOT LIKE",
        "ilike" => "ILIKE",
        "notILike" => "NOT ILIKE",
        "in" => "IN",
        "notIn" => "NOT IN",
        "globalIn" => "GLOBAL IN",
        "globalNotIn" => "GLOBAL NOT IN",
        _ => return None,
    })
}

impl Printer {
    /// With its alias and the parentheses it was written in.
    pub(crate) fn expr(&mut self, expr: &Expr) {
        let wrap = expr.span.parenthesised;
        if wrap {
            self.word("(");
        }
        self.bare(expr);
        if wrap {
            self.word(")");
        }
        self.alias(expr);
    }

    fn alias(&mut self, expr: &Expr) {
        if let Some(alias) = &expr.alias {
            self.word(" AS ");
            self.ident(alias);
        }
    }

    /// Where the grammar has no place for an alias: an expression that has one stands in parentheses.
    pub(crate) fn closed(&mut self, expr: &Expr) {
        let wrap = expr.alias.is_some();
        if wrap {
            self.word("(");
        }
        self.expr(expr);
        if wrap {
            self.word(")");
        }
    }

    pub(crate) fn ident(&mut self, ident: &Ident) {
        if ident.parameter {
            self.word("{");
            self.word(&ident.name);
            self.word(":Identifier}");
        } else {
            write_ident(&mut self.out, &ident.name);
        }
    }

    pub(crate) fn path(&mut self, parts: &[Ident]) {
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.word(".");
            }
            match json_step(&part.name) {
                Some((sign, name)) if i > 0 && !part.parameter => {
                    self.word(sign);
                    write_ident(&mut self.out, name);
                }
                _ => self.ident(part),
            }
        }
    }

    pub(crate) fn exprs(&mut self, list: &[Expr]) {
        self.comma_list(list, |p, e| p.expr(e));
    }

    pub(crate) fn bare(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Identifier(parts) => self.path(parts),
            ExprKind::Star(transformers) => {
                self.word("*");
                self.transformers(transformers);
            }
            ExprKind::QualifiedStar { prefix, transformers } => {
                self.path(prefix);
                self.word(".*");
                self.transformers(transformers);
            }
            ExprKind::Columns { prefix, matcher, transformers } => {
                for part in prefix {
                    self.ident(part);
                    self.word(".");
                }
                self.word("COLUMNS(");
                match matcher {
                    ColumnsMatcher::Regex(regex) => self.string(regex),
                    ColumnsMatcher::List(list) => self.exprs(list),
                }
                self.word(")");
                self.transformers(transformers);
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::Lambda { params, body } => self.lambda(params, body, params.len() != 1),
            ExprKind::Subquery(query) => self.subquery(query),
            ExprKind::Exists(query) => {
                self.word("exists(");
                self.subquery(query);
                self.word(")");
            }
            ExprKind::Parameter { name, ty } => {
                self.word("{");
                self.word(name);
                self.word(":");
                self.word(&ty.text);
                self.word("}");
            }
        }
    }

    pub(crate) fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.word("NULL"),
            Literal::Bool(value) => self.word(if *value { "true" } else { "false" }),
            Literal::UInt(value) => self.word(&value.to_string()),
            Literal::Int(value) => self.word(&value.to_string()),
            Literal::Float(value) => self.word(&float_text(*value)),
            Literal::String(bytes) => self.string(bytes),
        }
    }

    fn lambda(&mut self, params: &[Ident], body: &Expr, parenthesised: bool) {
        if parenthesised {
            self.word("(");
        }
        self.comma_list(params, |p, param| p.ident(param));
        self.word(if parenthesised { ") -> " } else { " -> " });
        self.operand(body);
    }

    /// In parentheses when it is an operator, a lambda, or has an alias.
    fn operand(&mut self, expr: &Expr) {
        let wrap = expr.alias.is_some()
            || match &expr.kind {
                _ if expr.span.parenthesised => false,
                ExprKind::Call(call) => is_operator(call),
                ExprKind::Lambda { .. } => true,
                ExprKind::Star(t) | ExprKind::QualifiedStar { transformers: t, .. } => !t.is_empty(),
                ExprKind::Columns { transformers, .. } => !transformers.is_empty(),
                _ => false,
            };
        if wrap {
            self.word("(");
        }
        // These are the parentheses that it was written in.
        if wrap && expr.span.parenthesised {
            self.bare(expr);
            self.alias(expr);
        } else {
            self.expr(expr);
        }
        if wrap {
            self.word(")");
        }
    }

    pub(crate) fn call(&mut self, call: &Call) {
        match call.style {
            CallStyle::Operator if is_operator(call) => self.operator(call),
            CallStyle::Array => {
                self.word("[");
                self.arguments(&call.args);
                self.word("]");
            }
            CallStyle::Tuple => {
                self.word("(");
                self.arguments(&call.args);
                self.word(")");
            }
            _ => self.function(call),
        }
    }

    /// As the kernel has them, IN is in parentheses where it is one of several.
    fn arguments_of_function(&mut self, args: &[Expr]) {
        let mut args = std::borrow::Cow::Borrowed(args);
        if args.len() > 1 {
            let is_in_call =
                |e: &Expr| matches!(&e.kind, ExprKind::Call(c) if is_operator(c) && is_in(&c.name));
            if args.iter().any(is_in_call) {
                args.to_mut().iter_mut().filter(|e| is_in_call(e)).for_each(|e| e.span.parenthesised = true);
            }
        }
        self.arguments(&args);
    }

    fn arguments(&mut self, args: &[Expr]) {
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                self.word(", ");
            }
            match &arg.kind {
                // After another argument `y -> x` would take that argument for a parameter.
                ExprKind::Lambda { params, body }
                    if i > 0 && arg.alias.is_none() && !arg.span.parenthesised =>
                {
                    self.lambda(params, body, true)
                }
                _ => self.expr(arg),
            }
        }
    }

    fn function(&mut self, call: &Call) {
        write_function_name(&mut self.out, &call.name, call.style);
        if let Some(params) = &call.params {
            self.word("(");
            self.arguments(params);
            self.word(")");
        }
        self.word("(");
        if call.distinct {
            self.word("DISTINCT ");
        }
        match &call.args[..] {
            // `view(SELECT 1)` takes its query without parentheses of its own.
            [Expr { kind: ExprKind::Subquery(query), alias: None, .. }] if call.name == "view" => {
                self.indented(|p| {
                    p.tight_line();
                    p.query(query);
                });
                self.tight_line();
            }
            [Expr { kind: ExprKind::Subquery(query), alias: None, .. }, other]
                if call.name == "viewIfPermitted" =>
            {
                self.query(query);
                self.word(" ELSE ");
                self.expr(other);
            }
            args => self.arguments_of_function(args),
        }
        if !call.order_by.is_empty() {
            self.word(" ORDER BY ");
            self.order_items(&call.order_by);
        }
        if !call.settings.is_empty() {
            self.word(if call.args.is_empty() { "SETTINGS " } else { ", SETTINGS " });
            self.settings(&call.settings);
        }
        self.word(")");
        if let Some(filter) = &call.filter {
            self.word(" FILTER (WHERE ");
            self.expr(filter);
            self.word(")");
        }
        match call.nulls {
            Some(NullsAction::Respect) => self.word(" RESPECT NULLS"),
            Some(NullsAction::Ignore) => self.word(" IGNORE NULLS"),
            None => {}
        }
        match &call.over {
            Some(WindowRef::Named(name)) => {
                self.word(" OVER ");
                self.ident(name);
            }
            Some(WindowRef::Spec(spec)) => {
                self.word(" OVER ");
                self.window_spec(spec);
            }
            None => {}
        }
    }

    fn operator(&mut self, call: &Call) {
        match (call.name.as_str(), &call.args[..]) {
            ("negate", [arg]) => {
                self.word("-");
                let plain = arg.alias.is_none() && !arg.span.parenthesised;
                let literal = matches!(arg.kind, ExprKind::Literal(_)) && plain;
                if literal {
                    self.word("(");
                }
                self.operand(arg);
                if literal {
                    self.word(")");
                }
            }
            ("not", [arg]) => {
                self.word("NOT ");
                let wrap = matches!(arg.kind, ExprKind::Subquery(_)) && arg.alias.is_none();
                if wrap {
                    self.word("(");
                }
                self.operand(arg);
                if wrap {
                    self.word(")");
                }
            }
            ("isNull", [arg]) => {
                self.operand(arg);
                self.word(" IS NULL");
            }
            ("isNotNull", [arg]) => {
                self.operand(arg);
                self.word(" IS NOT NULL");
            }
            ("arrayElement", [array, index]) => {
                self.operand(array);
                self.word("[");
                self.expr(index);
                self.word("]");
            }
            ("tupleElement", [tuple, index]) => self.element(tuple, index),
            ("like" | "notLike" | "ilike" | "notILike", [value, pattern, escape]) => {
                self.operand(value);
                self.word(" ");
                self.word(infix_symbol(&call.name).unwrap_or("LIKE"));
                self.word(" ");
                self.operand(pattern);
                self.word(" ESCAPE ");
                self.operand(escape);
            }
            (name, args) => {
                let symbol = infix_symbol(name).unwrap_or("+");
                for (i, arg) in args.iter().enumerate() {
                    if i > 0 {
                        self.word(" ");
                        self.word(symbol);
                        self.word(" ");
                    }
                    if i == 1 && is_in(name) { self.right_of_in(arg) } else { self.operand(arg) }
                }
            }
        }
    }

    /// A single value on the right side of IN is in parentheses, which do not make it a tuple.
    fn right_of_in(&mut self, arg: &Expr) {
        match &arg.kind {
            ExprKind::Literal(_) | ExprKind::Identifier(_) | ExprKind::Parameter { .. }
                if arg.alias.is_none() =>
            {
                self.word("(");
                self.bare(arg);
                self.word(")");
            }
            // A tuple has its own.
            ExprKind::Call(call) if call.style == CallStyle::Tuple && arg.alias.is_none() => self.bare(arg),
            _ => self.operand(arg),
        }
    }

    /// `t.1`, `t.-1`, `(t).name`.
    fn element(&mut self, tuple: &Expr, index: &Expr) {
        let by_name = matches!(index.kind, ExprKind::Literal(Literal::String(_)));
        let wrap = match &tuple.kind {
            _ if tuple.span.parenthesised => false,
            ExprKind::Identifier(_) => by_name,
            ExprKind::Call(call) => {
                let is_collection = matches!(call.name.as_str(), "tuple" | "array");
                !is_collection || call.over.is_some() || call.nulls.is_some()
            }
            ExprKind::Parameter { .. } => false,
            _ => true,
        };
        if tuple.alias.is_some() {
            self.operand(tuple);
        } else {
            if wrap {
                self.word("(");
            }
            self.expr(tuple);
            if wrap {
                self.word(")");
            }
        }
        self.word(".");
        match &index.kind {
            ExprKind::Literal(Literal::String(name)) => {
                write_ident(&mut self.out, &String::from_utf8_lossy(name));
            }
            ExprKind::Call(call) if call.args.len() == 1 => {
                self.word("-");
                self.expr(&call.args[0]);
            }
            _ => self.expr(index),
        }
    }

    fn transformers(&mut self, transformers: &[Transformer]) {
        for transformer in transformers {
            match transformer {
                Transformer::Except { strict, columns } => {
                    self.word(if *strict { " EXCEPT STRICT " } else { " EXCEPT " });
                    if let [column] = &columns[..] {
                        self.ident(column);
                    } else {
                        self.word("(");
                        self.comma_list(columns, |p, c| p.ident(c));
                        self.word(")");
                    }
                }
                Transformer::ExceptRegex(regex) => {
                    self.word(" EXCEPT (");
                    self.string(regex);
                    self.word(")");
                }
                Transformer::Replace { strict, items } => {
                    self.word(if *strict { " REPLACE STRICT (" } else { " REPLACE (" });
                    self.comma_list(items, |p, (expr, name)| {
                        p.closed(expr);
                        p.word(" AS ");
                        p.ident(name);
                    });
                    self.word(")");
                }
                Transformer::Apply { function, params, prefix } => {
                    self.word(if prefix.is_some() { " APPLY(" } else { " APPLY " });
                    write_ident(&mut self.out, function);
                    if !params.is_empty() {
                        self.word("(");
                        self.exprs(params);
                        self.word(")");
                    }
                    if let Some(prefix) = prefix {
                        self.word(", ");
                        self.string(prefix);
                        self.word(")");
                    }
                }
                Transformer::ApplyLambda { param, body } => {
                    self.word(" APPLY ");
                    self.lambda(std::slice::from_ref(param), body, false);
                }
            }
        }
    }

    pub(crate) fn order_items(&mut self, items: &[OrderItem]) {
        self.comma_list(items, |p, item| p.order_item(item));
    }

    pub(crate) fn order_item(&mut self, item: &OrderItem) {
        self.expr(&item.expr);
        self.word(if item.descending { " DESC" } else { " ASC" });
        match item.nulls_first {
            Some(true) => self.word(" NULLS FIRST"),
            Some(false) => self.word(" NULLS LAST"),
            None => {}
        }
        if let Some(collate) = &item.collate {
            self.word(" COLLATE ");
            write_string(&mut self.out, collate.as_bytes());
        }
        if let Some(fill) = &item.fill {
            self.word(" WITH FILL");
            for (word, value) in
                [("FROM", &fill.from), ("TO", &fill.to), ("STEP", &fill.step), ("STALENESS", &fill.staleness)]
            {
                if let Some(value) = value {
                    self.then(word);
                    self.word(" ");
                    self.closed(value);
                }
            }
        }
    }

    pub(crate) fn window_spec(&mut self, spec: &WindowSpec) {
        self.word("(");
        let mut first = true;
        let mut space = |p: &mut Self| {
            if !std::mem::take(&mut first) {
                p.word(" ");
            }
        };
        if let Some(base) = &spec.base {
            space(self);
            self.ident(base);
        }
        if !spec.partition_by.is_empty() {
            space(self);
            self.word("PARTITION BY ");
            self.exprs(&spec.partition_by);
        }
        if !spec.order_by.is_empty() {
            space(self);
            self.word("ORDER BY ");
            self.order_items(&spec.order_by);
        }
        if let Some(frame) = &spec.frame {
            space(self);
            self.word(match frame.unit {
                FrameUnit::Rows => "ROWS",
                FrameUnit::Range => "RANGE",
                FrameUnit::Groups => "GROUPS",
            });
            self.word(" BETWEEN ");
            self.frame_bound(&frame.start);
            self.word(" AND ");
            self.frame_bound(&frame.end);
        }
        self.word(")");
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.word("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.word("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => self.word("CURRENT ROW"),
            FrameBound::Preceding(value) => {
                self.operand(value);
                self.word(" PRECEDING");
            }
            FrameBound::Following(value) => {
                self.operand(value);
                self.word(" FOLLOWING");
            }
        }
    }

    pub(crate) fn settings(&mut self, settings: &[Setting]) {
        self.comma_list(settings, |p, setting| {
            // A dot in the name of a custom setting is no quoting reason.
            for (i, part) in setting.name.name.split('.').enumerate() {
                if i > 0 {
                    p.word(".");
                }
                write_ident(&mut p.out, part);
            }
            p.word(" = ");
            match &setting.value {
                SettingValue::Default => p.word("DEFAULT"),
                SettingValue::Expr(value) => p.setting_value(value),
            }
        });
    }

    fn setting_value(&mut self, value: &Expr) {
        match &value.kind {
            ExprKind::Call(call) if call.name == "map" && call.style == CallStyle::Array => {
                self.word("{");
                for (i, pair) in call.args.chunks(2).enumerate() {
                    if i > 0 {
                        self.word(", ");
                    }
                    self.setting_value(&pair[0]);
                    self.word(":");
                    self.setting_value(&pair[1]);
                }
                self.word("}");
            }
            _ => self.closed(value),
        }
    }
}

/// Whether the call is printed as an operator and not as a function.
fn is_operator(call: &Call) -> bool {
    if call.style != CallStyle::Operator {
        return false;
    }
    match call.args.len() {
        1 => matches!(call.name.as_str(), "negate" | "not" | "isNull" | "isNotNull"),
        2 => {
            // A number too large for an index is a float, which after a point would read otherwise.
            let float = matches!(call.args[1].kind, ExprKind::Literal(Literal::Float(_)));
            call.name == "arrayElement"
                || call.name == "tupleElement" && !float
                || infix_symbol(&call.name).is_some()
        }
        3 if matches!(call.name.as_str(), "like" | "notLike" | "ilike" | "notILike") => true,
        _ => matches!(call.name.as_str(), "and" | "or" | "concat"),
    }
}

/// A function's name; words that are safe before a parenthesis stay bare.
fn write_function_name(out: &mut String, name: &str, style: CallStyle) {
    let bare = [
        "if", "array", "any", "all", "mod", "id", "and", "or", "in", "like", "ilike", "not", "exists", "cast",
    ];
    if style == CallStyle::Cast || bare.iter().any(|word| name.eq_ignore_ascii_case(word)) {
        out.push_str(name);
    } else {
        write_ident(out, name);
    }
}

/// The sign and the name of a step into JSON (`.^a`, `.:Type`), as the parser keeps them in a path.
fn json_step(part: &str) -> Option<(&str, &str)> {
    let (sign, quoted) = part.split_at_checked(1)?;
    let name = quoted.strip_prefix('`')?.strip_suffix('`')?;
    [":", "^", "@"].contains(&sign).then_some((sign, name))
}
