//! Function calls, and the functions and operands that have a grammar of their own: CAST, EXTRACT, CASE, INTERVAL, ...

use super::literal::string_expr;
use super::{Fail, Parse, Parser};
use crate::ast::{
    Call, CallStyle, Expr, ExprKind, Frame, FrameBound, FrameUnit, Ident, Literal, NullsAction, WindowRef,
    WindowSpec,
};
use crate::lexer::TokenKind;

/// Unit words of INTERVAL and date arithmetic: all spellings, and the kernel's name.
const UNITS: [(&[&str], &str); 11] = [
    (&["NANOSECOND", "NANOSECONDS", "SQL_TSI_NANOSECOND", "NS"], "Nanosecond"),
    (&["MICROSECOND", "MICROSECONDS", "SQL_TSI_MICROSECOND", "US"], "Microsecond"),
    (&["MILLISECOND", "MILLISECONDS", "SQL_TSI_MILLISECOND", "MS"], "Millisecond"),
    (&["SECOND", "SECONDS", "SQL_TSI_SECOND", "SS", "S"], "Second"),
    (&["MINUTE", "MINUTES", "SQL_TSI_MINUTE", "MI", "N"], "Minute"),
    (&["HOUR", "HOURS", "SQL_TSI_HOUR", "HH", "H"], "Hour"),
    (&["DAY", "DAYS", "SQL_TSI_DAY", "DD", "D"], "Day"),
    (&["WEEK", "WEEKS", "SQL_TSI_WEEK", "WK", "WW"], "Week"),
    (&["MONTH", "MONTHS", "SQL_TSI_MONTH", "MM", "M"], "Month"),
    (&["QUARTER", "QUARTERS", "SQL_TSI_QUARTER", "QQ", "Q"], "Quarter"),
    (&["YEAR", "YEARS", "SQL_TSI_YEAR", "YYYY", "YY"], "Year"),
];

/// Unit words of EXTRACT that are no unit of an interval, and their functions.
const EXTRACT_ONLY: [(&str, &str); 5] = [
    ("EPOCH", "toUnixTimestamp"),
    ("DOW", "toDayOfWeek"),
    ("DOY", "toDayOfYear"),
    ("ISODOW", "toDayOfWeek"),
    ("ISOYEAR", "toISOYear"),
];

/// Spans of years of EXTRACT, in years, and whether they are counted from one.
const EXTRACT_YEARS: [(&str, u64, bool); 3] =
    [("DECADE", 10, false), ("CENTURY", 100, true), ("MILLENNIUM", 1000, true)];

fn unit_of(word: &str) -> Option<&'static str> {
    UNITS.iter().find(|(words, _)| words.iter().any(|w| word.eq_ignore_ascii_case(w))).map(|&(_, unit)| unit)
}

impl Parser<'_> {
    /// `name(args)` with everything that may follow; the current token is the parenthesis.
    pub(crate) fn call(&mut self, name: Ident, start: usize) -> Parse<Expr> {
        let call = self.call_body(name.name)?;
        Ok(self.call_expr(call, start))
    }

    pub(crate) fn call_body(&mut self, mut name: String) -> Parse<Call> {
        // Functions with a grammar of their own lose their spelling also where they are called plainly.
        if ["substring", "position", "extract"].iter().any(|n| name.eq_ignore_ascii_case(n)) {
            name.make_ascii_lowercase();
        }
        let mut call = Call::new(name, Vec::new(), CallStyle::Function);
        self.nested(|p| p.arguments(&mut call))?;
        let least = match call.name.as_str() {
            "substring" | "position" => 2,
            name if ["trim", "ltrim", "rtrim", "overlay"].iter().any(|n| name.eq_ignore_ascii_case(n)) => 1,
            _ => 0,
        };
        if call.args.len() < least {
            return Err(self.expect_here("Comma"));
        }
        if self.at(TokenKind::LParen) {
            call.params = Some(std::mem::take(&mut call.args));
            self.nested(|p| p.arguments(&mut call))?;
        }
        if self.at_keyword("FILTER") && self.peek(1).kind == TokenKind::LParen {
            self.advance();
            let condition = self.parens(|p| {
                p.expect_keyword("WHERE")?;
                p.expr()
            })?;
            call.filter = Some(Box::new(condition));
        }
        if self.accept_keyword("RESPECT NULLS") {
            call.nulls = Some(NullsAction::Respect);
        } else if self.accept_keyword("IGNORE NULLS") {
            call.nulls = Some(NullsAction::Ignore);
        }
        if self.at_keyword("OVER") && !self.at_keyword("OVER AS") && self.peek(1).kind != TokenKind::Comma {
            self.advance();
            call.over = Some(if self.at(TokenKind::LParen) {
                WindowRef::Spec(Box::new(self.window_spec()?))
            } else {
                WindowRef::Named(self.ident()?)
            });
        }
        Ok(call)
    }

    /// A table function that is written to: parentheses behind its arguments list columns.
    pub(crate) fn insert_function(&mut self, name: String) -> Parse<Call> {
        let mut call = Call::new(name, Vec::new(), CallStyle::Function);
        self.nested(|p| p.arguments(&mut call))?;
        Ok(call)
    }

    /// `( [DISTINCT] args [SETTINGS ...] )`.
    fn arguments(&mut self, call: &mut Call) -> Parse<()> {
        self.expect(TokenKind::LParen)?;
        if self.at_keyword("DISTINCT")
            && self.peek(1).kind != TokenKind::RParen
            && self.peek(1).kind != TokenKind::Comma
        {
            self.advance();
            call.distinct = true;
        } else if self.at_keyword("ALL")
            && matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent)
        {
            self.advance();
        }
        if self.accept(TokenKind::RParen) {
            return Ok(());
        }
        if self.at_settings() {
            return self.argument_settings(call);
        }
        loop {
            let parenthesised = self.at(TokenKind::LParen);
            let arg = if call.name.starts_with("view") { self.argument()? } else { self.expr()? };
            match arg.kind {
                // `f(x, y -> x)` is a function of one lambda of two parameters; what stands before the arrow can be nothing else.
                ExprKind::Lambda { mut params, body } if !parenthesised && !call.args.is_empty() => {
                    if !call.args.iter().all(is_plain_name) {
                        return Err(self.expect_here("token"));
                    }
                    let mut all: Vec<Ident> = Vec::new();
                    for arg in call.args.drain(..) {
                        if let ExprKind::Identifier(parts) = arg.kind {
                            all.extend(parts);
                        }
                    }
                    all.append(&mut params);
                    call.args.push(Expr { kind: ExprKind::Lambda { params: all, body }, ..arg });
                }
                kind => call.args.push(Expr { kind, ..arg }),
            }
            if self.accept(TokenKind::RParen) {
                return Ok(());
            }
            if self.at_keyword("SETTINGS") {
                return self.argument_settings(call);
            }
            if call.name == "viewIfPermitted" && self.accept_keyword("ELSE") {
                call.args.push(self.expr()?);
                return self.expect(TokenKind::RParen);
            }
            if self.at_keyword("ORDER BY") {
                self.advance();
                self.advance();
                call.order_by = self.comma_list(|p| p.order_item())?;
                return self.expect(TokenKind::RParen);
            }
            self.expect(TokenKind::Comma)?;
            if self.at_settings() {
                return self.argument_settings(call);
            }
        }
    }

    fn argument_settings(&mut self, call: &mut Call) -> Parse<()> {
        self.advance();
        call.settings = self.settings_list()?;
        self.expect(TokenKind::RParen)
    }

    /// An argument may also be a query without parentheses: `view(SELECT 1)`.
    fn argument(&mut self) -> Parse<Expr> {
        let query_word = self.at_keyword("SELECT") || self.at_keyword("WITH") || self.at_keyword("EXPLAIN");
        if query_word && !matches!(self.peek(1).kind, TokenKind::Comma | TokenKind::RParen) {
            let start = self.start();
            if let Some(query) = self.maybe(|p| p.query())? {
                let span = self.span_from(start);
                return Ok(Expr { kind: ExprKind::Subquery(Box::new(query)), alias: None, span });
            }
        }
        self.expr()
    }

    // ---- windows

    pub(crate) fn window_spec(&mut self) -> Parse<WindowSpec> {
        self.parens(|p| {
            let clause = ["PARTITION BY", "ORDER BY", "ROWS", "RANGE", "GROUPS"];
            let has_base = !p.at(TokenKind::RParen) && !clause.iter().any(|c| p.at_keyword(c));
            let base = if has_base { Some(p.ident()?) } else { None };
            let partition_by =
                if p.accept_keyword("PARTITION BY") { p.comma_list(|p| p.expr())? } else { Vec::new() };
            let order_by =
                if p.accept_keyword("ORDER BY") { p.comma_list(|p| p.order_item())? } else { Vec::new() };
            Ok(WindowSpec { base, partition_by, order_by, frame: p.frame()? })
        })
    }

    fn frame(&mut self) -> Parse<Option<Frame>> {
        let unit = match self.accept_any_keyword(&["ROWS", "RANGE", "GROUPS"]) {
            None => return Ok(None),
            Some(0) => FrameUnit::Rows,
            Some(1) => FrameUnit::Range,
            Some(_) => FrameUnit::Groups,
        };
        if self.accept_keyword("BETWEEN") {
            let start = self.frame_bound()?;
            self.expect_keyword("AND")?;
            let end = self.frame_bound()?;
            return Ok(Some(Frame { unit, start, end }));
        }
        Ok(Some(Frame { unit, start: self.frame_bound()?, end: FrameBound::CurrentRow }))
    }

    fn frame_bound(&mut self) -> Parse<FrameBound> {
        if self.accept_keyword("CURRENT ROW") {
            return Ok(FrameBound::CurrentRow);
        }
        let value = if self.accept_keyword("UNBOUNDED") { None } else { Some(Box::new(self.bare_expr()?)) };
        let preceding = match self.accept_any_keyword(&["PRECEDING", "FOLLOWING"]) {
            Some(index) => index == 0,
            None => return Err(Fail::Syntax),
        };
        Ok(match (value, preceding) {
            (None, true) => FrameBound::UnboundedPreceding,
            (None, false) => FrameBound::UnboundedFollowing,
            (Some(value), true) => FrameBound::Preceding(value),
            (Some(value), false) => FrameBound::Following(value),
        })
    }

    // ---- words with a grammar of their own

    /// CASE, INTERVAL, DATE '...', TIMESTAMP '...': no parenthesis follows the word.
    pub(crate) fn keyword_operand(&mut self, start: usize) -> Parse<Option<Expr>> {
        if self.at_keyword("CASE") {
            return self.maybe(|p| p.case(start));
        }
        if self.at_keyword("INTERVAL") {
            return self.maybe(|p| p.interval(start));
        }
        for (word, function) in [("DATE", "toDate"), ("TIMESTAMP", "toDateTime")] {
            if self.at_keyword(word) && matches!(self.peek(1).kind, TokenKind::String | TokenKind::Heredoc) {
                self.advance();
                let at = self.start();
                let value = self.string()?;
                let arg = string_expr(value, self.span_from(at));
                return Ok(Some(self.function(function, vec![arg], start)));
            }
        }
        Ok(None)
    }

    fn case(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        let mut args = Vec::new();
        let with_operand = !self.at_keyword("WHEN");
        if with_operand {
            args.push(self.expr()?);
        }
        while self.accept_keyword("WHEN") {
            args.push(self.expr()?);
            self.expect_keyword("THEN")?;
            args.push(self.expr()?);
        }
        if self.accept_keyword("ELSE") {
            args.push(self.expr()?);
        } else {
            let span = self.span_from(start);
            args.push(Expr { kind: ExprKind::Literal(Literal::Null), alias: None, span });
        }
        self.expect_keyword("END")?;
        let name = if with_operand { "caseWithExpression" } else { "multiIf" };
        Ok(self.function(name, args, start))
    }

    /// `INTERVAL expr unit`, `INTERVAL '1 day 2 hours'`, `INTERVAL '1 2' DAY TO HOUR`.
    pub(crate) fn interval(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        let at = self.start();
        let pos = self.pos;
        if let Some(bytes) = self.string_token() {
            let span = self.span_from(at);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some(unit) = self.interval_unit() {
                let Some(last) = self.interval_range_end()? else {
                    return Ok(self.function(
                        &format!("toInterval{unit}"),
                        vec![string_expr(bytes, span)],
                        start,
                    ));
                };
                return self.interval_range(&text, unit, last, start);
            }
            if let Some(parts) = spelled_interval(&text) {
                return Ok(self.interval_parts(parts, start));
            }
            self.pos = pos;
        }
        let value = self.expr()?;
        match self.interval_unit() {
            Some(unit) => Ok(self.function(&format!("toInterval{unit}"), vec![value], start)),
            None => Err(self.expect_here("interval unit")),
        }
    }

    fn interval_range_end(&mut self) -> Parse<Option<&'static str>> {
        if !self.accept_keyword("TO") {
            return Ok(None);
        }
        match self.interval_unit() {
            Some(unit) => Ok(Some(unit)),
            None => Err(self.expect_here("interval unit")),
        }
    }

    /// `'1-2' YEAR TO MONTH`, `'1 2:3:4.5' DAY TO SECOND`: the numbers of the text are the units between the two.
    fn interval_range(&mut self, text: &str, first: &str, last: &str, start: usize) -> Parse<Expr> {
        let order = ["Year", "Month", "Day", "Hour", "Minute", "Second"];
        let from = order.iter().position(|u| *u == first);
        let to = order.iter().position(|u| *u == last);
        let (Some(from), Some(to)) = (from, to) else { return Err(self.expect_here("interval unit")) };
        let negative = text.trim_start().starts_with('-');
        let numbers: Option<Vec<i64>> = text
            .trim_start()
            .trim_start_matches(['-', '+'])
            .split([' ', '-', ':'])
            .filter(|part| !part.is_empty())
            .map(|part| part.parse::<i64>().ok().map(|n| if negative { -n } else { n }))
            .collect();
        match numbers {
            Some(numbers) if from < to && numbers.len() == to - from + 1 => {
                let parts = numbers.into_iter().zip(order[from..=to].iter().copied()).collect();
                Ok(self.interval_parts(parts, start))
            }
            _ => Err(self.expect_here("interval value")),
        }
    }

    /// One unit is the interval itself, several are a tuple of intervals.
    fn interval_parts(&self, parts: Vec<(i64, &'static str)>, start: usize) -> Expr {
        let span = self.span_from(start);
        let mut calls: Vec<Expr> = parts
            .into_iter()
            .map(|(value, unit)| {
                let literal =
                    if value < 0 { Literal::Int(value) } else { Literal::UInt(value.unsigned_abs()) };
                let arg = Expr { kind: ExprKind::Literal(literal), alias: None, span };
                self.function(&format!("toInterval{unit}"), vec![arg], start)
            })
            .collect();
        match (calls.len(), calls.pop()) {
            (1, Some(call)) => call,
            (_, last) => {
                calls.extend(last);
                self.call_expr(Call::new("tuple", calls, CallStyle::Tuple), start)
            }
        }
    }

    pub(crate) fn interval_unit(&mut self) -> Option<&'static str> {
        let token = self.token();
        if token.kind == TokenKind::Word
            && let Some(unit) = unit_of(self.text_of(token))
        {
            self.advance();
            return Some(unit);
        }
        None
    }

    /// Functions whose arguments have a grammar of their own; `None` leaves the call to the general rule.
    pub(crate) fn special_call(&mut self, start: usize) -> Parse<Option<Expr>> {
        let token = self.token();
        let name = self.text_of(token).to_ascii_lowercase();
        match name.as_str() {
            "cast" => self.cast_call(start).map(Some),
            "extract" => self.maybe(|p| p.extract(start)),
            "substring" | "substr" => self.maybe(|p| p.substring(start)),
            "position" => self.maybe(|p| p.position(start)),
            "overlay" => self.maybe(|p| p.overlay(start)),
            "trim" => self.maybe(|p| p.trim(start)),
            "ltrim" | "rtrim" => self.maybe(|p| p.one_sided_trim(name == "ltrim", start)),
            "exists" => self.maybe(|p| p.exists(start)),
            "date_add" | "dateadd" | "timestampadd" | "timestamp_add" => {
                self.maybe(|p| p.date_arithmetic("plus", start))
            }
            "date_sub" | "datesub" | "timestampsub" | "timestamp_sub" => {
                self.maybe(|p| p.date_arithmetic("minus", start))
            }
            "date_diff" | "datediff" | "timestampdiff" | "timestamp_diff" => {
                self.maybe(|p| p.date_diff(start))
            }
            "columns" => self.maybe(|p| p.columns(Vec::new(), start)),
            _ => Ok(None),
        }
    }

    /// `CAST(x AS T)`, and `CAST(x, 'T')` which is an ordinary call with the kernel's spelling.
    fn cast_call(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        self.expect(TokenKind::LParen)?;
        let mut value = self.bare_expr()?;
        // `CAST(x alias AS T)`, `CAST(x alias, 'T')`.
        if !self.at_keyword("AS") {
            value.alias = self.short_alias();
        }
        if self.accept(TokenKind::Comma) {
            let ty = self.aliased_expr()?;
            self.accept(TokenKind::Comma);
            self.expect(TokenKind::RParen)?;
            return Ok(self.call_expr(Call::new("CAST", vec![value, ty], CallStyle::Cast), start));
        }
        self.expect_keyword("AS")?;
        // `CAST(x AS alias AS T)`, `CAST(x AS alias, 'T')`.
        let alias = self.maybe(|p| {
            let alias = p.ident()?;
            if p.at(TokenKind::Comma) || p.at_keyword("AS") { Ok(alias) } else { Err(Fail::Syntax) }
        })?;
        if let Some(alias) = alias {
            value.alias = Some(alias);
            if self.accept(TokenKind::Comma) {
                let ty = self.aliased_expr()?;
                self.expect(TokenKind::RParen)?;
                return Ok(self.call_expr(Call::new("CAST", vec![value, ty], CallStyle::Cast), start));
            }
            self.expect_keyword("AS")?;
        }
        let ty = self.type_name()?;
        self.expect(TokenKind::RParen)?;
        let args = vec![value, string_expr(ty.text, ty.span)];
        Ok(self.call_expr(Call::new("CAST", args, CallStyle::Cast), start))
    }

    fn extract(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        self.expect(TokenKind::LParen)?;
        let token = self.token();
        let word =
            if token.kind == TokenKind::Word { self.text_of(token) } else { return Err(Fail::Syntax) };
        if let Some(&(_, years, from_one)) = EXTRACT_YEARS.iter().find(|(w, ..)| word.eq_ignore_ascii_case(w))
        {
            return self.extract_years(years, from_one, start);
        }
        let function = EXTRACT_ONLY
            .iter()
            .find(|(w, _)| word.eq_ignore_ascii_case(w))
            .map(|&(_, function)| function.to_string())
            .or_else(|| unit_of(word).map(extract_function));
        let Some(function) = function else { return Err(Fail::Syntax) };
        self.advance();
        self.expect_keyword("FROM")?;
        let mut args = vec![self.aliased_expr()?];
        self.expect(TokenKind::RParen)?;
        if word.eq_ignore_ascii_case("DOW") {
            // Mode 2 counts from Sunday, which is 0.
            let mode = Literal::UInt(2);
            args.push(Expr { kind: ExprKind::Literal(mode), alias: None, span: self.span_from(start) });
        }
        Ok(self.function(&function, args, start))
    }

    /// Decades begin with year 0, centuries and millennia with year 1.
    fn extract_years(&mut self, years: u64, from_one: bool, start: usize) -> Parse<Expr> {
        self.advance();
        self.expect_keyword("FROM")?;
        let value = self.aliased_expr()?;
        self.expect(TokenKind::RParen)?;
        let span = self.span_from(start);
        let number = |n: u64| Expr { kind: ExprKind::Literal(Literal::UInt(n)), alias: None, span };
        let mut year = self.function("toYear", vec![value], start);
        if from_one {
            year = self.operator("minus", vec![year, number(1)], start);
        }
        let count = self.function("intDiv", vec![year, number(years)], start);
        Ok(if from_one { self.operator("plus", vec![count, number(1)], start) } else { count })
    }

    /// An argument that may have an alias without AS, which none of the words that may follow is.
    fn aliased_before(&mut self, words: &[&'static str]) -> Parse<Expr> {
        let mut expr = self.expr()?;
        if expr.alias.is_none() && !words.iter().any(|word| self.at_keyword(word)) {
            expr.alias = self.short_alias();
        }
        Ok(expr)
    }

    /// `SUBSTRING(s FROM a FOR b)`.
    fn substring(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        self.expect(TokenKind::LParen)?;
        let mut args = vec![self.aliased_before(&["FOR", "PLACING"])?];
        self.expect_keyword("FROM")?;
        args.push(self.aliased_before(&["FOR", "PLACING"])?);
        if self.accept_keyword("FOR") {
            args.push(self.aliased_before(&["FOR", "PLACING"])?);
        }
        self.expect(TokenKind::RParen)?;
        Ok(self.function("substring", args, start))
    }

    /// `POSITION(needle IN haystack)`. The needle stops before IN, which would otherwise be the operator.
    fn position(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        self.expect(TokenKind::LParen)?;
        let mut needle = self.nested(|p| p.above_comparison())?;
        if self.accept_keyword("AS") {
            needle.alias = Some(self.ident()?);
        } else if !self.at_keyword("IN") {
            needle.alias = self.short_alias();
        }
        self.expect_keyword("IN")?;
        let haystack = self.aliased_expr()?;
        self.expect(TokenKind::RParen)?;
        Ok(self.function("position", vec![haystack, needle], start))
    }

    /// `OVERLAY(s PLACING r FROM a FOR b)`.
    fn overlay(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        self.expect(TokenKind::LParen)?;
        let mut args = vec![self.aliased_before(&["FOR", "PLACING"])?];
        self.expect_keyword("PLACING")?;
        args.push(self.aliased_before(&["FOR", "PLACING"])?);
        self.expect_keyword("FROM")?;
        args.push(self.aliased_before(&["FOR", "PLACING"])?);
        if self.accept_keyword("FOR") {
            args.push(self.aliased_before(&["FOR", "PLACING"])?);
        }
        self.expect(TokenKind::RParen)?;
        Ok(self.function("overlay", args, start))
    }

    /// `TRIM([BOTH|LEADING|TRAILING] [chars FROM] s)`.
    fn trim(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        self.expect(TokenKind::LParen)?;
        let side = self.accept_any_keyword(&["BOTH", "LEADING", "TRAILING"]);
        let function = match side {
            Some(1) => "trimLeft",
            Some(2) => "trimRight",
            _ => "trimBoth",
        };
        let first = self.aliased_expr()?;
        let args = if side.is_some() {
            self.expect_keyword("FROM")?;
            vec![self.aliased_expr()?, first]
        } else if self.accept(TokenKind::Comma) {
            vec![first, self.aliased_expr()?]
        } else {
            vec![first]
        };
        self.expect(TokenKind::RParen)?;
        Ok(self.function(function, args, start))
    }

    fn one_sided_trim(&mut self, left: bool, start: usize) -> Parse<Expr> {
        self.advance();
        let args = self.paren_list(false, |p| p.aliased_expr())?;
        Ok(self.function(if left { "trimLeft" } else { "trimRight" }, args, start))
    }

    fn exists(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        let query = self.parens(|p| p.query())?;
        Ok(Expr { kind: ExprKind::Exists(Box::new(query)), alias: None, span: self.span_from(start) })
    }

    /// `DATE_ADD(unit, n, d)`, `DATE_ADD(d, INTERVAL n unit)`.
    fn date_arithmetic(&mut self, function: &str, start: usize) -> Parse<Expr> {
        self.advance();
        self.expect(TokenKind::LParen)?;
        let with_unit = self.maybe(|p| {
            let unit = p.interval_unit().ok_or(Fail::Syntax)?;
            p.expect(TokenKind::Comma)?;
            let at = p.start();
            let value = p.aliased_expr()?;
            let interval = p.function(&format!("toInterval{unit}"), vec![value], at);
            p.expect(TokenKind::Comma)?;
            let date = p.aliased_expr()?;
            p.expect(TokenKind::RParen)?;
            Ok(vec![date, interval])
        })?;
        let args = match with_unit {
            Some(args) => args,
            None => {
                let args = self.comma_list(|p| p.aliased_expr())?;
                self.expect(TokenKind::RParen)?;
                args
            }
        };
        Ok(self.function(function, args, start))
    }

    /// `DATE_DIFF(unit, a, b [, zone])`; the unit becomes a string.
    fn date_diff(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        self.expect(TokenKind::LParen)?;
        let at = self.start();
        let unit = self.maybe(|p| {
            let unit = p.interval_unit().ok_or(Fail::Syntax)?;
            p.expect(TokenKind::Comma)?;
            Ok(unit)
        })?;
        let mut args = Vec::new();
        if let Some(unit) = unit {
            let span = self.span_from(at);
            args.push(string_expr(unit.to_ascii_lowercase(), span));
        }
        args.append(&mut self.comma_list(|p| p.aliased_expr())?);
        self.expect(TokenKind::RParen)?;
        Ok(self.function("dateDiff", args, start))
    }
}

fn is_plain_name(expr: &Expr) -> bool {
    expr.alias.is_none() && matches!(&expr.kind, ExprKind::Identifier(parts) if parts.len() == 1)
}

fn extract_function(unit: &'static str) -> String {
    match unit {
        "Day" => "toDayOfMonth".to_string(),
        "Week" => "toISOWeek".to_string(),
        other => format!("to{other}"),
    }
}

/// `1 day 2 hours`, `-1 week`: numbers and units in turn.
fn spelled_interval(text: &str) -> Option<Vec<(i64, &'static str)>> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    if words.is_empty() || words.len() % 2 != 0 {
        return None;
    }
    words.chunks(2).map(|pair| Some((pair[0].parse().ok()?, unit_of(pair[1])?))).collect()
}
