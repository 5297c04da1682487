//! ORDER BY, WITH FILL, LIMIT and OFFSET.

use crate::call::{call_function, cast};
use crate::clauses::{BoundLimit, RowCount};
use crate::select::SelectBinder;
use chalet_base::{Result, bail, codes, ensure, err};
use chalet_columns::keys::Order;
use chalet_plan::{Expr, FillColumn, FromEnd, Literal, RowParts, SortKey};
use chalet_syntax::ast;
use chalet_types::{DataType, IntervalUnit, Value};

/// 2 to the power of 64.
const AFTER_U64: f64 = 18_446_744_073_709_551_616.0;

impl SelectBinder<'_> {
    pub(crate) fn sort_key(&mut self, item: &ast::OrderItem) -> Result<SortKey> {
        let expr = self.expr(&item.expr)?;
        self.sort_key_over(expr, item)
    }

    /// The key over an expression that is bound already: what a position stands for.
    pub(crate) fn sort_key_over(&self, expr: Expr, item: &ast::OrderItem) -> Result<SortKey> {
        let nulls_first = item.nulls_first.unwrap_or(false);
        let order = Order::new(item.descending, nulls_first);
        let allowed = self.query.env.settings().allow_suspicious_types_in_order_by;
        crate::grouping::check_key_type(expr.ty(), "ORDER BY", "order_by", allowed)?;
        let Some(locale) = &item.collate else { return Ok(SortKey { expr, order }) };
        let locale = Expr::literal(&Value::from(locale.as_str()), DataType::String)?;
        let function = chalet_functions::collation::key_function();
        Ok(SortKey { expr: call_function(self.query.env, function, vec![expr, locale])?, order })
    }

    pub(crate) fn limits(
        &mut self,
        limit: Option<&ast::Expr>,
        offset: Option<&ast::Expr>,
    ) -> Result<Option<BoundLimit>> {
        if limit.is_none() && offset.is_none() {
            return Ok(None);
        }
        let limit = limit.map(|e| self.row_count(e, "LIMIT")).transpose()?;
        let offset = offset.map(|e| self.row_count(e, "OFFSET")).transpose()?;
        let is_from_end = |count: Option<RowCount>| matches!(count, Some(RowCount::FromEnd(_)));
        let from_end = FromEnd { limit: is_from_end(limit), offset: is_from_end(offset) };
        ensure!(
            !from_end.any() || ![limit, offset].iter().any(|count| matches!(count, Some(RowCount::Part(_)))),
            NOT_IMPLEMENTED,
            "Negative LIMIT or OFFSET is not supported with a fractional one yet"
        );
        let rows = |count: Option<RowCount>| match count? {
            RowCount::Rows(n) | RowCount::FromEnd(n) => Some(n),
            RowCount::Part(_) => None,
        };
        let part = |count: Option<RowCount>| match count? {
            RowCount::Part(part) => Some(part),
            _ => None,
        };
        let parts = RowParts { limit: part(limit), offset: part(offset) };
        Ok(Some(BoundLimit { limit: rows(limit), offset: rows(offset).unwrap_or(0), from_end, parts }))
    }

    pub(crate) fn row_count(&mut self, e: &ast::Expr, clause: &str) -> Result<RowCount> {
        let bound = self.expr(e)?;
        let is_constant = bound.columns().is_empty() && bound.is_deterministic();
        let literal = if is_constant { Some(self.constant(e, clause)?) } else { None };
        let is_count = |ty: &DataType| {
            let ty = ty.bare();
            (ty.is_number() && !ty.is_decimal() && ty.physical().width() <= Some(8)) || *ty == DataType::Bool
        };
        let Some(literal) = literal.filter(|literal| is_count(&literal.ty)) else {
            bail!(
                INVALID_LIMIT_EXPRESSION,
                "{clause} expression must be constant with numeric type. Actual: {e}"
            )
        };
        let value = literal.value();
        if let Some(n) = value.as_u64() {
            return Ok(RowCount::Rows(n));
        }
        if let Some(n) = value.as_i64() {
            return Ok(RowCount::FromEnd(n.unsigned_abs()));
        }
        match value {
            Value::Float(x) if x.fract() == 0.0 && (0.0..AFTER_U64).contains(&x) => {
                Ok(RowCount::Rows(x as u64))
            }
            Value::Float(x) if x.fract() == 0.0 && (i64::MIN as f64..0.0).contains(&x) => {
                Ok(RowCount::FromEnd((x as i64).unsigned_abs()))
            }
            Value::Float(x) if x > 0.0 && x < 1.0 => Ok(RowCount::Part(x)),
            _ => bail!(
                INVALID_LIMIT_EXPRESSION,
                "The value {e} of {clause} expression is not representable as UInt64 or Int64 or Float64 in the range \
                 (0, 1)"
            ),
        }
    }

    /// The constants of WITH FILL in the type of the column.
    pub(crate) fn fill_column(
        &mut self,
        fill: &ast::Fill,
        ty: &DataType,
        descending: bool,
    ) -> Result<FillColumn> {
        let bare = ty.bare().clone();
        ensure!(
            bare.is_number() && !bare.is_decimal() || bare.is_date_or_time(),
            INVALID_WITH_FILL_EXPRESSION,
            "Incompatible types of WITH FILL expression values with column type {ty}"
        );
        let mut bound = |e: Option<&ast::Expr>, clause: &str| -> Result<Option<Value>> {
            let Some(e) = e else { return Ok(None) };
            let literal = self.fill_constant(e, clause)?;
            let given = literal.ty.bare();
            ensure!(
                given.is_number() || given.is_date_or_time(),
                INVALID_WITH_FILL_EXPRESSION,
                "Sort FILL {clause} expression must be constant with numeric type. Actual: {e}"
            );
            ensure!(
                !(bare.is_integer() && (given.is_float() || given.is_date_or_time())),
                INVALID_WITH_FILL_EXPRESSION,
                "Incompatible types of WITH FILL expression values with column type {ty}"
            );
            let is_negative = literal.value().as_i64().is_some_and(|x| x < 0);
            ensure!(
                !(is_negative && bare.is_unsigned() && bare.physical().width().is_some_and(|w| w <= 8)),
                INVALID_WITH_FILL_EXPRESSION,
                "WITH FILL bound values cannot be negative for unsigned type {ty}"
            );
            // Of wider types the order of the bounds is what is looked at first.
            let wraps = is_negative && bare.is_unsigned();
            ensure!(
                !wraps || clause == "FROM" || fill.from.is_none() || descending,
                INVALID_WITH_FILL_EXPRESSION,
                "WITH FILL TO value cannot be less than FROM value for sorting in ascending direction"
            );
            ensure!(
                !wraps,
                ARGUMENT_OUT_OF_BOUND,
                "Cannot convert value '{e}': it cannot be represented as {ty}"
            );
            match cast(self.query.env, Expr::Literal(literal), &bare)? {
                Expr::Literal(converted) => Ok(Some(converted.value())),
                _ => bail!(INVALID_WITH_FILL_EXPRESSION, "Incompatible types of WITH FILL expression values"),
            }
        };
        let from = bound(fill.from.as_ref(), "FROM")?;
        let to = bound(fill.to.as_ref(), "TO")?;
        let (step, step_unit) = match &fill.step {
            Some(e) => self.fill_distance(e, "STEP", &bare)?,
            None => (Value::Int(if descending { -1 } else { 1 }), None),
        };
        let sign = step.as_f64().unwrap_or(0.0);
        ensure!(sign != 0.0, INVALID_WITH_FILL_EXPRESSION, "STEP value cannot be zero");
        ensure!(
            sign > 0.0 || descending,
            INVALID_WITH_FILL_EXPRESSION,
            "STEP value cannot be negative for sorting in ascending direction"
        );
        ensure!(
            sign < 0.0 || !descending,
            INVALID_WITH_FILL_EXPRESSION,
            "STEP value should be negative for sorting in descending direction"
        );
        let (staleness, staleness_unit) = match &fill.staleness {
            Some(e) => {
                ensure!(
                    fill.from.is_none(),
                    INVALID_WITH_FILL_EXPRESSION,
                    "WITH FILL STALENESS cannot be used together with WITH FILL FROM"
                );
                let (value, unit) = self.fill_distance(e, "STALENESS", &bare)?;
                let sign = value.as_f64().unwrap_or(0.0);
                ensure!(
                    sign != 0.0 && (sign > 0.0) != descending,
                    INVALID_WITH_FILL_EXPRESSION,
                    "WITH FILL STALENESS value must have the sign of the direction of sorting"
                );
                (Some(value), unit)
            }
            None => (None, None),
        };
        if let (Some(low), Some(high)) = (&from, &to) {
            let order = low.compare(high);
            ensure!(
                if descending { order.is_ge() } else { order.is_le() },
                INVALID_WITH_FILL_EXPRESSION,
                "WITH FILL bounds are in the wrong order for the direction of sorting"
            );
        }
        Ok(FillColumn { from, to, step, step_unit, staleness, staleness_unit })
    }

    fn fill_distance(
        &mut self,
        e: &ast::Expr,
        clause: &str,
        column: &DataType,
    ) -> Result<(Value, Option<IntervalUnit>)> {
        let literal = self.fill_constant(e, clause)?;
        let given = literal.ty.bare();
        let unit = match given {
            DataType::Interval(unit) => Some(*unit),
            _ => None,
        };
        ensure!(
            unit.is_some() || given.is_number(),
            INVALID_WITH_FILL_EXPRESSION,
            "Sort FILL {clause} expression must be constant with numeric or interval type. Actual: {e}"
        );
        ensure!(
            unit.is_none() || column.is_date_or_time(),
            INVALID_WITH_FILL_EXPRESSION,
            "{clause} of Interval type can be used only with Date/DateTime types, but got {column}"
        );
        let is_whole = !given.is_float() || column.is_float();
        ensure!(
            is_whole,
            INVALID_WITH_FILL_EXPRESSION,
            "Incompatible types of WITH FILL expression values with column type {column}"
        );
        if let (DataType::Date | DataType::Date32, Some(unit)) = (column, unit) {
            let seconds = seconds_of(unit) * literal.value().as_f64().unwrap_or(0.0).abs();
            ensure!(
                seconds >= seconds_of(IntervalUnit::Day),
                INVALID_WITH_FILL_EXPRESSION,
                "Value of step is too low ({seconds} seconds). Must be >= 1 day"
            );
        }
        Ok((literal.value(), unit))
    }

    /// A constant of WITH FILL.
    fn fill_constant(&mut self, e: &ast::Expr, clause: &str) -> Result<Literal> {
        let found = self.constant(e, clause);
        found.map_err(|error| match error.code() {
            codes::BAD_ARGUMENTS => err!(
                INVALID_WITH_FILL_EXPRESSION,
                "Sort FILL {clause} expression must be constant with numeric type. Actual: {e}"
            ),
            _ => error,
        })
    }
}

/// The length of a unit of time; that of a month and longer does not matter here.
fn seconds_of(unit: IntervalUnit) -> f64 {
    match unit {
        IntervalUnit::Nanosecond => 1e-9,
        IntervalUnit::Microsecond => 1e-6,
        IntervalUnit::Millisecond => 1e-3,
        IntervalUnit::Second => 1.0,
        IntervalUnit::Minute => 60.0,
        IntervalUnit::Hour => 3600.0,
        _ => 86_400.0,
    }
}
