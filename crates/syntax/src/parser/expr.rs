//! Operators and operands: a Pratt parser over the kernel's table of priorities. Operators become calls at once.

use super::literal::string_expr;
use super::{Parse, Parser};
use crate::ast::{Call, CallStyle, Expr, ExprKind, Ident, Literal, Query, Span};
use crate::lexer::TokenKind;

/// Priorities: a higher one binds tighter. All binary operators group from the left.
mod prio {
    pub const LAMBDA: u8 = 1;
    pub const TERNARY: u8 = 2;
    pub const OR: u8 = 3;
    pub const AND: u8 = 4;
    pub const NOT: u8 = 5;
    pub const IS: u8 = 6;
    pub const BETWEEN: u8 = 7;
    pub const COMPARE: u8 = 9;
    pub const CONCAT: u8 = 10;
    pub const ADD: u8 = 11;
    pub const MULTIPLY: u8 = 12;
    pub const NEGATE: u8 = 13;
    pub const ACCESS: u8 = 14;
}

/// Operators of two operands that are words or symbols and mean exactly one function.
const COMPARE_WORDS: [(&str, &str); 12] = [
    ("LIKE", "like"),
    ("ILIKE", "ilike"),
    ("NOT LIKE", "notLike"),
    ("NOT ILIKE", "notILike"),
    ("REGEXP", "match"),
    ("IN", "in"),
    ("NOT IN", "notIn"),
    ("GLOBAL IN", "globalIn"),
    ("GLOBAL NOT IN", "globalNotIn"),
    ("IS NOT DISTINCT FROM", "isNotDistinctFrom"),
    ("IS DISTINCT FROM", "isDistinctFrom"),
    ("AT TIME ZONE", "toTimeZone"),
];

/// Tests of one operand that follow it. `IS [NOT] TRUE` compares with a Bool.
const IS_WORDS: [(&str, &str, Option<bool>); 8] = [
    ("IS NOT NULL", "isNotNull", None),
    ("IS NULL", "isNull", None),
    ("IS NOT UNKNOWN", "isNotNull", None),
    ("IS UNKNOWN", "isNull", None),
    ("IS NOT TRUE", "isDistinctFrom", Some(true)),
    ("IS TRUE", "isNotDistinctFrom", Some(true)),
    ("IS NOT FALSE", "isDistinctFrom", Some(false)),
    ("IS FALSE", "isNotDistinctFrom", Some(false)),
];

/// Words that cannot be an alias without AS, because they begin what may follow an expression.
pub(crate) const RESERVED_ALIAS: &[&str] = &[
    "ALL",
    "AND",
    "ANTI",
    "ANY",
    "ARRAY",
    "AS",
    "ASOF",
    "BETWEEN",
    "CROSS",
    "DIV",
    "ELSE",
    "EXCEPT",
    "FETCH",
    "FINAL",
    "FORMAT",
    "FROM",
    "FULL",
    "GLOBAL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTO",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "LOCAL",
    "MOD",
    "NATURAL",
    "NOT",
    "OFFSET",
    "ON",
    "ONLY",
    "OR",
    "ORDER",
    "PARALLEL",
    "PASTE",
    "PREWHERE",
    "QUALIFY",
    "REGEXP",
    "RIGHT",
    "SAMPLE",
    "SELECT",
    "SEMI",
    "SETTINGS",
    "STREAM",
    "UNION",
    "USING",
    "WHERE",
    "WINDOW",
    "WITH",
];

impl Parser<'_> {
    /// An expression that may end in `AS name`.
    pub(crate) fn expr(&mut self) -> Parse<Expr> {
        let mut expr = self.bare_expr()?;
        if self.accept_keyword("AS") {
            expr.alias = Some(self.ident()?);
        }
        Ok(expr)
    }

    /// An expression that may end in `AS name` or just `name`.
    pub(crate) fn aliased_expr(&mut self) -> Parse<Expr> {
        let mut expr = self.expr()?;
        if expr.alias.is_none() && !matches!(expr.kind, ExprKind::Star(_)) {
            expr.alias = self.short_alias();
        }
        Ok(expr)
    }

    /// A name without AS, unless the word begins the next clause.
    pub(crate) fn short_alias(&mut self) -> Option<Ident> {
        self.note("alias");
        self.note("AS");
        let token = self.token();
        let legal = match token.kind {
            TokenKind::QuotedIdent => true,
            TokenKind::Word => {
                let text = self.text_of(token);
                !RESERVED_ALIAS.iter().any(|word| text.eq_ignore_ascii_case(word))
            }
            _ => false,
        };
        if legal { self.ident().ok() } else { None }
    }

    /// An expression without an alias of its own.
    pub(crate) fn bare_expr(&mut self) -> Parse<Expr> {
        self.nested(|p| p.operators(0))
    }

    fn operators(&mut self, min: u8) -> Parse<Expr> {
        let mut left = self.prefix()?;
        // Whether `left` is a chain of AND, OR or || that was made here, not in parentheses and not by BETWEEN.
        let mut chain = false;
        loop {
            let step = self.infix(left, min, chain)?;
            chain = matches!(step, Step::Chain(_) | Step::Widened(_));
            match step {
                Step::Done(expr) => return Ok(expr),
                Step::More(expr) | Step::Chain(expr) => {
                    left = expr;
                    self.deepen(2)?;
                }
                Step::Widened(expr) => left = expr,
            }
        }
    }

    fn prefix(&mut self) -> Parse<Expr> {
        let start = self.start();
        let token = self.token();
        match token.kind {
            TokenKind::Plus => {
                while self.at(TokenKind::Plus) {
                    self.advance();
                }
                // A plus before a number keeps the number positive: `+ -1` is negate(1), as in the kernel.
                if self.at(TokenKind::Minus) {
                    return self.unary("negate", start, prio::NEGATE);
                }
                self.nested(Self::prefix)
            }
            TokenKind::Minus => match self.literal()? {
                Some(literal) => Ok(literal),
                None => self.unary("negate", start, prio::NEGATE),
            },
            TokenKind::Word if self.at_keyword("NOT") && !self.at_dot_after_word() => {
                self.unary("not", start, prio::NOT)
            }
            _ => self.operand(),
        }
    }

    fn at_dot_after_word(&mut self) -> bool {
        self.peek(1).kind == TokenKind::Dot
    }

    fn unary(&mut self, name: &str, start: usize, priority: u8) -> Parse<Expr> {
        self.advance();
        let operand = self.nested(|p| p.operators(priority))?;
        self.deepen(1)?;
        Ok(self.operator(name, vec![operand], start))
    }

    /// A call that was written as an operator, up to the last consumed token.
    pub(crate) fn operator(&self, name: &str, args: Vec<Expr>, start: usize) -> Expr {
        self.call_expr(Call::new(name, args, CallStyle::Operator), start)
    }

    pub(crate) fn function(&self, name: &str, args: Vec<Expr>, start: usize) -> Expr {
        self.call_expr(Call::new(name, args, CallStyle::Function), start)
    }

    pub(crate) fn call_expr(&self, call: Call, start: usize) -> Expr {
        Expr { kind: ExprKind::Call(Box::new(call)), alias: None, span: self.span_from(start) }
    }

    /// The operator after `left`, with its right side, or `left` itself when none of at least `min` follows.
    fn infix(&mut self, left: Expr, min: u8, chain: bool) -> Parse<Step> {
        use TokenKind::*;
        let token = self.token();
        let start = left.span.start as usize;
        let (name, priority) = match token.kind {
            Word => return self.infix_word(left, min, chain),
            Equals => ("equals", prio::COMPARE),
            NotEquals => ("notEquals", prio::COMPARE),
            Less => ("less", prio::COMPARE),
            Greater => ("greater", prio::COMPARE),
            LessOrEquals => ("lessOrEquals", prio::COMPARE),
            GreaterOrEquals => ("greaterOrEquals", prio::COMPARE),
            Spaceship => ("isNotDistinctFrom", prio::COMPARE),
            Tilde => ("match", prio::COMPARE),
            TildeAsterisk => ("matchCaseInsensitive", prio::COMPARE),
            NotTilde => ("notMatch", prio::COMPARE),
            NotTildeAsterisk => ("notMatchCaseInsensitive", prio::COMPARE),
            Concatenation => ("concat", prio::CONCAT),
            Plus => ("plus", prio::ADD),
            Minus => ("minus", prio::ADD),
            Asterisk => ("multiply", prio::MULTIPLY),
            Slash => ("divide", prio::MULTIPLY),
            Percent => ("modulo", prio::MULTIPLY),
            Dot if min <= prio::ACCESS => return self.element(left).map(Step::More),
            LBracket if min <= prio::ACCESS => {
                self.advance();
                let index = self.expr()?;
                self.expect(RBracket)?;
                return Ok(Step::More(self.operator("arrayElement", vec![left, index], start)));
            }
            DoubleColon if min <= prio::ACCESS => {
                self.advance();
                return self.cast(left).map(Step::More);
            }
            Question if min <= prio::TERNARY => return self.ternary(left).map(Step::More),
            Arrow if min <= prio::LAMBDA => return self.lambda(left).map(Step::More),
            _ => {
                self.note("token");
                return Ok(Step::Done(left));
            }
        };
        if priority < min {
            return Ok(Step::Done(left));
        }
        self.advance();
        if priority == prio::COMPARE
            && let Some(index) = self.quantified()
        {
            return self.quantified_comparison(name, index != 1, left).map(Step::More);
        }
        let right = self.nested(|p| p.operators(priority + 1))?;
        if name == "concat" {
            return Ok(self.merge(name, left, right, start, chain));
        }
        if matches!(token.kind, Tilde | TildeAsterisk | NotTilde | NotTildeAsterisk) {
            return Ok(Step::More(self.function(name, vec![left, right], start)));
        }
        Ok(Step::More(self.operator(name, vec![left, right], start)))
    }

    fn infix_word(&mut self, left: Expr, min: u8, chain: bool) -> Parse<Step> {
        let start = left.span.start as usize;
        for (word, name, priority) in [
            ("OR", "or", prio::OR),
            ("AND", "and", prio::AND),
            ("MOD", "modulo", prio::MULTIPLY),
            ("DIV", "intDiv", prio::MULTIPLY),
        ] {
            if self.at_keyword(word) {
                if priority < min {
                    return Ok(Step::Done(left));
                }
                self.advance();
                let right = self.nested(|p| p.operators(priority + 1))?;
                return Ok(match name {
                    "or" | "and" => self.merge(name, left, right, start, chain),
                    "intDiv" => Step::More(self.function(name, vec![left, right], start)),
                    _ => Step::More(self.operator(name, vec![left, right], start)),
                });
            }
            self.note(word);
        }
        if min <= prio::IS {
            for (words, name, value) in IS_WORDS {
                if self.accept_keyword(words) {
                    let mut args = vec![left];
                    if let Some(value) = value {
                        let span = self.span_from(start);
                        args.push(Expr { kind: ExprKind::Literal(Literal::Bool(value)), alias: None, span });
                    }
                    return Ok(Step::More(self.operator(name, args, start)));
                }
            }
        }
        if min <= prio::BETWEEN {
            for (words, not) in [("BETWEEN", false), ("NOT BETWEEN", true)] {
                if self.accept_keyword(words) {
                    return self.between(left, not).map(Step::More);
                }
            }
        }
        for (words, name) in COMPARE_WORDS {
            let priority = match name {
                "isDistinctFrom" | "isNotDistinctFrom" => prio::IS,
                "toTimeZone" => prio::ACCESS,
                _ => prio::COMPARE,
            };
            if name == "in" && self.at_keyword("IN PARTITION") && self.partition_follows() {
                break;
            }
            if min <= priority && self.accept_keyword(words) {
                let right = self.nested(|p| p.operators(priority + 1))?;
                if words.ends_with("LIKE") && self.accept_keyword("ESCAPE") {
                    if !self.at(TokenKind::String) {
                        return Err(self.expect_here("string literal"));
                    }
                    let escape = self.nested(|p| p.operators(priority + 1))?;
                    return Ok(Step::More(self.operator(name, vec![left, right, escape], start)));
                }
                if matches!(name, "toTimeZone" | "match") {
                    return Ok(Step::More(self.function(name, vec![left, right], start)));
                }
                return Ok(Step::More(self.operator(name, vec![left, right], start)));
            }
        }
        Ok(Step::Done(left))
    }

    /// `UPDATE a = 1 IN PARTITION 202001`: not the operator IN with a column named partition.
    fn partition_follows(&mut self) -> bool {
        matches!(
            self.peek(2).kind,
            TokenKind::Number | TokenKind::String | TokenKind::LParen | TokenKind::LBrace
        ) || ["ID", "ALL", "tuple"].iter().any(|word| self.at_keyword_ahead(2, word))
    }

    /// `a AND b AND c` is one call of three arguments, but `(a AND b) AND c` is not.
    fn merge(&self, name: &str, left: Expr, right: Expr, start: usize, chain: bool) -> Step {
        match left.kind {
            ExprKind::Call(mut call) if chain && call.name == name => {
                call.args.push(right);
                Step::Widened(Expr { kind: ExprKind::Call(call), alias: None, span: self.span_from(start) })
            }
            kind => {
                let left = Expr { kind, ..left };
                Step::Chain(self.operator(name, vec![left, right], start))
            }
        }
    }

    fn between(&mut self, left: Expr, not: bool) -> Parse<Expr> {
        let start = left.span.start as usize;
        let low = self.nested(|p| p.operators(prio::BETWEEN + 1))?;
        self.expect_keyword("AND")?;
        let high = self.nested(|p| p.operators(prio::BETWEEN + 1))?;
        let (outer, first, second) =
            if not { ("or", "less", "greater") } else { ("and", "greaterOrEquals", "lessOrEquals") };
        let copy = self.copy(&left)?;
        let first = self.operator(first, vec![copy, low], start);
        let second = self.operator(second, vec![left, high], start);
        Ok(self.operator(outer, vec![first, second], start))
    }

    fn ternary(&mut self, condition: Expr) -> Parse<Expr> {
        let start = condition.span.start as usize;
        self.advance();
        let then = self.nested(|p| p.operators(prio::TERNARY))?;
        self.expect(TokenKind::Colon)?;
        let otherwise = self.nested(|p| p.operators(prio::TERNARY))?;
        Ok(self.function("if", vec![condition, then, otherwise], start))
    }

    fn lambda(&mut self, left: Expr) -> Parse<Expr> {
        let start = left.span.start as usize;
        let params = match left.kind {
            ExprKind::Identifier(mut parts) if parts.len() == 1 => parts.pop().into_iter().collect(),
            ExprKind::Call(call)
                if call.style == CallStyle::Tuple || (call.name == "tuple" && call.params.is_none()) =>
            {
                let mut params = Vec::new();
                for arg in call.args {
                    match arg.kind {
                        ExprKind::Identifier(mut parts) if parts.len() == 1 && arg.alias.is_none() => {
                            params.extend(parts.pop());
                        }
                        _ => return Err(self.expect_here("lambda expression")),
                    }
                }
                params
            }
            _ => return Err(self.expect_here("lambda expression")),
        };
        self.expect(TokenKind::Arrow)?;
        let body = Box::new(self.nested(|p| p.operators(prio::LAMBDA + 1))?);
        Ok(Expr { kind: ExprKind::Lambda { params, body }, alias: None, span: self.span_from(start) })
    }

    /// `x::Type`. A literal on the left goes to the cast as its source text, so that no digit is lost on the way.
    fn cast(&mut self, left: Expr) -> Parse<Expr> {
        let start = left.span.start as usize;
        let left_span = left.span;
        let value = match &left.kind {
            _ if left.alias.is_some() => left,
            ExprKind::Literal(Literal::String(_)) => left,
            ExprKind::Literal(literal @ (Literal::UInt(_) | Literal::Int(_) | Literal::Float(_)))
                if !is_word(literal) =>
            {
                string_expr(self.source(left_span), left_span)
            }
            ExprKind::Call(call)
                if matches!(call.style, CallStyle::Array | CallStyle::Tuple) && plain_collection(&left) =>
            {
                string_expr(self.source(left_span), left_span)
            }
            _ => left,
        };
        let ty = self.type_name()?;
        let args = vec![value, string_expr(ty.text, ty.span)];
        Ok(self.call_expr(Call::new("CAST", args, CallStyle::Cast), start))
    }

    /// `.1`, `.-1`, `.name` after something that is not a name.
    fn element(&mut self, left: Expr) -> Parse<Expr> {
        let start = left.span.start as usize;
        self.advance();
        let token = self.token();
        let index = match token.kind {
            TokenKind::Number => match self.literal()? {
                Some(index) => index,
                None => return Err(self.expect_here("number")),
            },
            TokenKind::Minus => {
                let at = self.start();
                self.advance();
                // One sign only: a literal could bring another.
                let index = if self.token().kind == TokenKind::Number { self.literal()? } else { None };
                match index {
                    Some(index) => self.operator("negate", vec![index], at),
                    None => return Err(self.expect_here("number")),
                }
            }
            // `t.'name'`
            TokenKind::String => {
                let at = self.start();
                let name = self.string()?;
                string_expr(String::from_utf8_lossy(&name).into_owned(), self.span_from(at))
            }
            _ => {
                let name = self.ident()?;
                string_expr(name.name, name.span)
            }
        };
        // As the kernel shows it.
        let is_call = !matches!(token.kind, TokenKind::Number | TokenKind::Minus);
        Ok(match is_call {
            true => self.function("tupleElement", vec![left, index], start),
            false => self.operator("tupleElement", vec![left, index], start),
        })
    }

    /// ANY or ALL before a query in parentheses, by index.
    fn quantified(&mut self) -> Option<usize> {
        let index = ["ANY", "ALL", "SOME"].iter().position(|word| self.at_keyword(word))?;
        let query = self.peek(1).kind == TokenKind::LParen
            && (self.at_keyword_ahead(2, "SELECT") || self.at_keyword_ahead(2, "WITH"));
        if !query {
            return None;
        }
        self.advance();
        Some(index)
    }

    /// `x = ANY (query)` is IN; the other comparisons ask the least, the greatest or the only row of the query.
    fn quantified_comparison(&mut self, name: &str, any: bool, left: Expr) -> Parse<Expr> {
        let start = left.span.start as usize;
        let at = self.start();
        let query = self.parens(|p| p.query())?;
        let span = self.span_from(at);
        let aggregate = match (name, any) {
            ("equals", true) => None,
            ("notEquals", false) => None,
            ("equals", false) | ("notEquals", true) => Some("singleValueOrNull"),
            ("less" | "lessOrEquals", true) | ("greater" | "greaterOrEquals", false) => Some("max"),
            ("greater" | "greaterOrEquals", true) | ("less" | "lessOrEquals", false) => Some("min"),
            _ => return Err(self.expect_here("comparison operator")),
        };
        let operator = match (name, any) {
            ("equals", _) => "in",
            ("notEquals", _) => "notIn",
            _ => name,
        };
        let query = match aggregate {
            None => query,
            Some(function) => aggregate_of_query(function, query, span),
        };
        let right = Expr { kind: ExprKind::Subquery(Box::new(query)), alias: None, span };
        Ok(self.operator(operator, vec![left, right], start))
    }
}

/// What one step of the operator loop made.
enum Step {
    /// No more operators of this priority.
    Done(Expr),
    /// A new node above the left side.
    More(Expr),
    /// The same, and the next operand may join it.
    Chain(Expr),
    /// The left side with one more argument.
    Widened(Expr),
}

/// Whether the elements are literals or such collections again, so that a cast may take the text.
fn plain_collection(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(literal) => expr.alias.is_none() && !is_word(literal),
        ExprKind::Call(call) if matches!(call.style, CallStyle::Array | CallStyle::Tuple) => {
            expr.alias.is_none() && call.args.iter().all(plain_collection)
        }
        _ => false,
    }
}

/// Is the literal written as a word?
fn is_word(literal: &Literal) -> bool {
    match literal {
        Literal::Null | Literal::Bool(_) => true,
        Literal::Float(x) => !x.is_finite(),
        _ => false,
    }
}

/// `SELECT f(*) FROM (query)`.
fn aggregate_of_query(function: &str, query: Query, span: Span) -> Query {
    use crate::ast::{Select, SetExpr, TableExpr, TableKind};
    let star = Expr { kind: ExprKind::Star(Vec::new()), alias: None, span };
    let call = Call::new(function, vec![star], CallStyle::Function);
    let projection = vec![Expr { kind: ExprKind::Call(Box::new(call)), alias: None, span }];
    let from = TableExpr {
        kind: TableKind::Query(Box::new(query)),
        alias: None,
        column_aliases: Vec::new(),
        final_: false,
        sample: None,
        span,
    };
    let select = Select { projection, from: Some(from), span, ..Select::default() };
    Query { body: SetExpr::Select(Box::new(select)), span }
}

impl Parser<'_> {
    /// An expression whose operators all bind tighter than comparisons.
    pub(crate) fn above_comparison(&mut self) -> Parse<Expr> {
        self.operators(prio::COMPARE + 1)
    }
}
