//! ORDER BY, WITH FILL, LIMIT and OFFSET.

use crate::call::{call_function, cast};
use crate::clauses::{BoundLimit, RowCount};
use crate::select::SelectBinder;
use chalet_base::{Result, bail, ensure};
use chalet_columns::keys::Order;
use chalet_plan::{Expr, FillColumn, RowParts, SortKey};
use chalet_syntax::ast;
use chalet_types::{DataType, IntervalUnit, Value};

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
        let both = [limit, offset];
        let from_end = both.iter().any(|n| matches!(n, Some(RowCount::FromEnd(_))));
        if from_end {
            for count in both.into_iter().flatten() {
                match count {
                    RowCount::Rows(0) | RowCount::FromEnd(_) => {}
                    RowCount::Rows(_) => {
                        bail!(NOT_IMPLEMENTED, "LIMIT and OFFSET of different signs are not supported")
                    }
                    RowCount::Part(_) => {
                        bail!(
                            NOT_IMPLEMENTED,
                            "Negative LIMIT or OFFSET is not supported with a fractional one yet"
                        )
                    }
                }
            }
        }
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
        let literal = self.constant(e, clause)?;
        ensure!(
            literal.ty.bare().is_number() && !literal.ty.bare().is_decimal()
                || literal.ty.bare() == &DataType::Bool,
            INVALID_LIMIT_EXPRESSION,
            "{clause} expression must be constant with numeric type. Actual: {e}"
        );
        let value = literal.value();
        if let Some(n) = value.as_u64() {
            return Ok(RowCount::Rows(n));
        }
        if let Some(n) = value.as_i64() {
            return Ok(RowCount::FromEnd(n.unsigned_abs()));
        }
        match value {
            Value::Float(x) if x.fract() == 0.0 && x >= 0.0 => Ok(RowCount::Rows(x as u64)),
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
            bare.is_number() || bare.is_date_or_time(),
            INVALID_WITH_FILL_EXPRESSION,
            "WITH FILL expression must be of a numeric, Date or DateTime type, got {ty}"
        );
        let mut bound = |e: Option<&ast::Expr>| -> Result<Option<Value>> {
            let Some(e) = e else { return Ok(None) };
            let literal = self.constant(e, "WITH FILL bound")?;
            if literal.value().is_null() {
                return Ok(None);
            }
            match cast(self.query.env, Expr::Literal(literal), &bare)? {
                Expr::Literal(converted) => Ok(Some(converted.value())),
                _ => bail!(INVALID_WITH_FILL_EXPRESSION, "Incompatible types of WITH FILL expression values"),
            }
        };
        let from = bound(fill.from.as_ref())?;
        let to = bound(fill.to.as_ref())?;
        let (step, step_unit) = match &fill.step {
            Some(e) => self.fill_distance(e)?,
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
                let (value, unit) = self.fill_distance(e)?;
                (Some(value), unit)
            }
            None => (None, None),
        };
        if let (Some(low), Some(high)) = (&from, &to) {
            let order = low.compare(high);
            ensure!(
                if descending { order.is_ge() } else { order.is_le() },
                INVALID_WITH_FILL_EXPRESSION,
                "WITH FILL TO value cannot be less than FROM value for sorting in ascending direction"
            );
        }
        Ok(FillColumn { from, to, step, step_unit, staleness, staleness_unit })
    }

    fn fill_distance(&mut self, e: &ast::Expr) -> Result<(Value, Option<IntervalUnit>)> {
        let literal = self.constant(e, "WITH FILL STEP")?;
        let unit = match literal.ty.bare() {
            DataType::Interval(unit) => Some(*unit),
            _ => None,
        };
        Ok((literal.value(), unit))
    }
}
