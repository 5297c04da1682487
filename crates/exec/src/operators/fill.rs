//! Fill: WITH FILL, rows for the missing values of sorted columns. Sees all rows in order; holds them.
//!
//! The values to fill with form a grid that begins at FROM (or at the first row) and goes on by STEP, whatever the rows
//! are. Before each row the grid advances to it; where several columns are filled, a later column runs through its whole
//! range for each value of an earlier one.

use super::aggregate::split;
use super::collect::blocks_as_source;
use super::materialize;
use crate::ExecContext;
use crate::expression::Program;
use crate::pipeline::{Sink, SinkWorker};
use chalet_base::{Error, Result, ensure, err};
use chalet_columns::keys::{Order, group_keys};
use chalet_columns::{Block, Builder, Column};
use chalet_memory::Reservation;
use chalet_plan::FillColumn;
use chalet_storage::Scan;
use chalet_types::calendar::{Civil, LocalTime, days_in_month};
use chalet_types::{DataType, I256, IntervalUnit, TimeZone, Value};
use std::cmp::Ordering;
use std::sync::Arc;

/// The sink of WITH FILL.
pub struct Fill {
    /// Types of the input's columns.
    pub types: Vec<DataType>,
    /// Positions of ORDER BY columns before the first filled one: each run of equal values is filled on its own.
    pub prefix: Vec<usize>,
    pub columns: Vec<Target>,
    /// Position of the column and the index of its value in the program.
    pub interpolate: Vec<(usize, Program)>,
    /// Zone of date-times whose type names none.
    pub zone: TimeZone,
}

/// A column that is filled.
#[derive(Clone)]
pub struct Target {
    pub position: usize,
    pub order: Order,
    pub fill: FillColumn,
}

impl Target {
    /// A row's value, as far as it counts for the grid: behind TO there is nothing to fill.
    fn until_end(&self, value: Value) -> Value {
        match &self.fill.to {
            Some(to) if !value.is_null() && is_finite(&value) && !before(&value, to, self) => to.clone(),
            _ => value,
        }
    }
}

/// More generated rows than this are refused: a STEP far smaller than the gap is a mistake.
const MAX_ROWS: u64 = 100_000_000;

type Point = Vec<Value>;

impl Sink for Fill {
    fn name(&self) -> &'static str {
        "Fill"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(materialize::worker(ctx))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let rows = Block::concat(&materialize::in_order(workers));
        let mut filler = Filler {
            spec: self,
            ctx,
            builders: self.types.iter().map(Builder::new).collect(),
            last: None,
            prefix: Vec::new(),
            n_rows: 0,
            generated: 0,
            memory: Reservation::new(ctx.control.memory.clone()),
        };
        filler.fill(&rows)?;
        let n_rows = filler.n_rows;
        let columns = filler.builders.into_iter().map(|b| Column::Flat(b.finish())).collect();
        Ok(blocks_as_source(split(Block::new(columns, n_rows), ctx.settings.max_block_size), ctx))
    }
}

struct Filler<'a> {
    spec: &'a Fill,
    ctx: &'a ExecContext,
    builders: Vec<Builder>,
    /// The row put out last, for INTERPOLATE.
    last: Option<Vec<Value>>,
    /// Values of the prefix columns in the run at hand.
    prefix: Vec<Value>,
    n_rows: usize,
    generated: u64,
    memory: Reservation,
}

impl Filler<'_> {
    fn fill(&mut self, rows: &Block) -> Result<()> {
        if rows.is_empty() {
            if self.spec.prefix.is_empty() {
                self.run(rows, 0..0)?;
            }
            return Ok(());
        }
        let columns: Vec<&Column> = self.spec.prefix.iter().map(|&p| rows.column(p)).collect();
        let keys = group_keys(&columns, rows.n_rows());
        let mut start = 0;
        for row in 1..=rows.n_rows() {
            if row == rows.n_rows() || keys.get(row) != keys.get(start) {
                self.prefix = columns.iter().map(|c| c.value(start)).collect();
                self.run(rows, start..row)?;
                start = row;
            }
        }
        Ok(())
    }

    /// Fills one run of rows with equal prefix.
    fn run(&mut self, rows: &Block, range: std::ops::Range<usize>) -> Result<()> {
        let targets = &self.spec.columns;
        let mut at: Option<Point> = None;
        let mut previous: Option<Point> = None;
        for row in range {
            let point: Point =
                targets.iter().map(|t| t.until_end(rows.column(t.position).value(row))).collect();
            let limit = self.stale(previous.as_ref())?;
            match &mut at {
                None => {
                    let start: Point = targets
                        .iter()
                        .zip(&point)
                        .map(|(t, value)| t.fill.from.clone().unwrap_or_else(|| value.clone()))
                        .collect();
                    let order = self.compare(&start, &point);
                    if order == Ordering::Less {
                        self.emit(&start)?;
                    }
                    // The grid begins behind rows that are before FROM.
                    if order != Ordering::Greater {
                        let mut current = start;
                        while self.advance(&mut current, &point, limit.as_ref())? {
                            self.emit(&current)?;
                        }
                        at = Some(current);
                    }
                }
                Some(current) => {
                    let mut moved = std::mem::take(current);
                    // The grid is ahead of the row before where rows of several runs are filled as one.
                    let is_ahead = previous.as_ref().is_some_and(|p| self.compare(p, &moved).is_lt());
                    if is_ahead && self.compare(&moved, &point).is_lt() {
                        self.emit(&moved)?;
                    }
                    while self.advance(&mut moved, &point, limit.as_ref())? {
                        self.emit(&moved)?;
                    }
                    at = Some(moved);
                }
            }
            self.copy(rows, row)?;
            previous = Some(point);
        }
        let is_ahead = at.as_ref().zip(previous.as_ref()).is_some_and(|(at, p)| self.compare(p, at).is_lt());
        if at.is_none() {
            // No row has reached FROM.
            let starts: Option<Point> = targets.iter().map(|t| t.fill.from.clone()).collect();
            if let Some(start) = starts
                && targets[0].fill.to.as_ref().is_some_and(|to| before(&start[0], to, &targets[0]))
            {
                self.emit(&start)?;
                at = Some(start);
            }
        }
        let Some(mut current) = at else { return Ok(()) };
        let ends: Point = targets.iter().map(|t| t.fill.to.clone().unwrap_or(Value::Null)).collect();
        let limit = self.stale(previous.as_ref())?;
        if is_ahead && !ends[0].is_null() && before(&current[0], &ends[0], &targets[0]) {
            self.emit(&current)?;
        }
        while self.advance_to_end(&mut current, &ends, limit.as_ref())? {
            self.emit(&current)?;
        }
        Ok(())
    }

    /// Where STALENESS ends the filling after a row.
    fn stale(&self, previous: Option<&Point>) -> Result<Option<Value>> {
        let target = &self.spec.columns[0];
        match (previous, &target.fill.staleness) {
            (Some(point), Some(distance)) => {
                Ok(Some(self.moved(&point[0], distance, target.fill.staleness_unit, target)?))
            }
            _ => Ok(None),
        }
    }

    fn compare(&self, a: &Point, b: &Point) -> Ordering {
        let unequal = self.spec.columns.iter().enumerate().find_map(|(i, t)| {
            if before(&a[i], &b[i], t) {
                Some(Ordering::Less)
            } else if before(&b[i], &a[i], t) {
                Some(Ordering::Greater)
            } else {
                None
            }
        });
        unequal.unwrap_or(Ordering::Equal)
    }

    /// Moves the grid one step towards a row; `false` when the next point of the grid is not before the row.
    fn advance(&self, current: &mut Point, row: &Point, limit: Option<&Value>) -> Result<bool> {
        let targets = &self.spec.columns;
        let Some(at) = (0..targets.len()).find(|&i| !is_same(&current[i], &row[i])) else { return Ok(false) };
        if row[at].is_null() || current[at].is_null() || !is_finite(&row[at]) {
            return Ok(false);
        }
        if self.advance_inner(current, at)? {
            return Ok(true);
        }
        let next = self.stepped(&current[at], &targets[at])?;
        if !before(&current[at], &next, &targets[at]) {
            return Ok(false);
        }
        let stale = at == 0 && limit.is_some_and(|limit| !before(&next, limit, &targets[0]));
        let is_end = targets[at].fill.to.as_ref().is_some_and(|to| !before(&next, to, &targets[at]));
        if is_end || before(&row[at], &next, &targets[at]) {
            return Ok(false);
        }
        // Past the staleness the grid begins anew at the row.
        current[at] = if stale { row[at].clone() } else { next };
        if is_same(&current[at], &row[at]) {
            // The row itself is next, unless later columns have something to fill before it.
            let mut inner = false;
            for i in at + 1..targets.len() {
                match &targets[i].fill.from {
                    Some(from) if !inner && before(from, &row[i], &targets[i]) => {
                        inner = true;
                        self.restart(current, i);
                    }
                    _ if inner => {}
                    _ => current[i] = row[i].clone(),
                }
            }
            return Ok(inner);
        }
        self.restart(current, at + 1);
        Ok(true)
    }

    /// Steps a column behind `at` that has not reached its TO yet.
    fn advance_inner(&self, current: &mut Point, at: usize) -> Result<bool> {
        let targets = &self.spec.columns;
        for i in (at + 1..targets.len()).rev() {
            let Some(to) = &targets[i].fill.to else { continue };
            if current[i].is_null() {
                continue;
            }
            let next = self.stepped(&current[i], &targets[i])?;
            if before(&next, to, &targets[i]) && before(&current[i], &next, &targets[i]) {
                current[i] = next;
                self.restart(current, i + 1);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// After the last row: on until every TO.
    fn advance_to_end(&self, current: &mut Point, ends: &Point, limit: Option<&Value>) -> Result<bool> {
        let target = &self.spec.columns[0];
        if self.advance_inner(current, 0)? {
            return Ok(true);
        }
        if current[0].is_null() {
            return Ok(false);
        }
        let next = self.stepped(&current[0], target)?;
        if !before(&current[0], &next, target) {
            return Ok(false);
        }
        let within = !ends[0].is_null() && before(&next, &ends[0], target);
        let fresh = limit.is_some_and(|limit| before(&next, limit, target));
        let open_end = target.fill.staleness.is_some() && ends[0].is_null() && fresh;
        let in_range = within && (limit.is_none() || fresh);
        if !in_range && !open_end {
            return Ok(false);
        }
        current[0] = next;
        self.restart(current, 1);
        Ok(true)
    }

    /// Sets later columns to where they begin.
    fn restart(&self, current: &mut Point, from: usize) {
        for (value, target) in current.iter_mut().zip(&self.spec.columns).skip(from) {
            *value = target.fill.from.clone().unwrap_or(Value::Null);
        }
    }

    fn stepped(&self, value: &Value, target: &Target) -> Result<Value> {
        self.moved(value, &target.fill.step, target.fill.step_unit, target)
    }

    /// A value moved by a distance, in the column's own units or in calendar units.
    fn moved(
        &self,
        value: &Value,
        distance: &Value,
        unit: Option<IntervalUnit>,
        target: &Target,
    ) -> Result<Value> {
        let ty = self.spec.types[target.position].bare();
        if let Some(unit) = unit {
            return self.moved_in_calendar(value, distance.as_i64().unwrap_or(0), unit, ty);
        }
        Ok(match (value.as_i256(), distance.as_i256()) {
            (Some(x), Some(d)) => {
                let scaled = match ty {
                    DataType::Decimal { scale, .. } => {
                        d.checked_mul(chalet_types::decimal::pow10(u32::from(*scale)))
                    }
                    _ => Some(d),
                };
                narrow(scaled.and_then(|d| x.checked_add(d)).ok_or_else(overflow)?)
            }
            _ => Value::Float(value.as_f64().unwrap_or(f64::NAN) + distance.as_f64().unwrap_or(f64::NAN)),
        })
    }

    fn moved_in_calendar(&self, value: &Value, n: i64, unit: IntervalUnit, ty: &DataType) -> Result<Value> {
        let x = value.as_i64().unwrap_or(0);
        let months = match unit {
            IntervalUnit::Month => Some(n),
            IntervalUnit::Quarter => Some(n.checked_mul(3).ok_or_else(overflow)?),
            IntervalUnit::Year => Some(n.checked_mul(12).ok_or_else(overflow)?),
            _ => None,
        };
        let is_date = matches!(ty, DataType::Date | DataType::Date32);
        let ticks = match ty {
            DataType::DateTime64(scale, _) => chalet_types::decimal::pow10_i64((*scale).into()),
            _ => 1,
        };
        let moved = match months {
            Some(months) if is_date => i64::from(add_months(x as i32, months).ok_or_else(overflow)?),
            Some(months) => {
                let zone = LocalTime::new(ty.time_zone().unwrap_or(&self.spec.zone));
                let local = zone.of_timestamp(x.div_euclid(ticks));
                let day = add_months(local.div_euclid(86_400) as i32, months).ok_or_else(overflow)?;
                let timestamp = zone.to_timestamp(i64::from(day) * 86_400 + local.rem_euclid(86_400));
                timestamp
                    .checked_mul(ticks)
                    .and_then(|t| t.checked_add(x.rem_euclid(ticks)))
                    .ok_or_else(overflow)?
            }
            None => {
                let nanoseconds: i128 = match unit {
                    IntervalUnit::Nanosecond => 1,
                    IntervalUnit::Microsecond => 1_000,
                    IntervalUnit::Millisecond => 1_000_000,
                    IntervalUnit::Second => 1_000_000_000,
                    IntervalUnit::Minute => 60_000_000_000,
                    IntervalUnit::Hour => 3_600_000_000_000,
                    IntervalUnit::Day => 86_400_000_000_000,
                    _ => 604_800_000_000_000,
                };
                let own: i128 = if is_date { 86_400_000_000_000 } else { 1_000_000_000 / i128::from(ticks) };
                let distance = i128::from(n) * nanoseconds;
                ensure!(
                    distance % own == 0 && distance != 0,
                    INVALID_WITH_FILL_EXPRESSION,
                    "The STEP of WITH FILL is finer than the type {ty} of its column"
                );
                i64::try_from(distance / own).ok().and_then(|d| x.checked_add(d)).ok_or_else(overflow)?
            }
        };
        Ok(narrow(I256::from(moved)))
    }

    /// Puts out a generated row.
    fn emit(&mut self, point: &Point) -> Result<()> {
        self.generated += 1;
        ensure!(self.generated <= MAX_ROWS, TOO_MANY_ROWS, "WITH FILL generates more than {MAX_ROWS} rows");
        if self.generated.is_multiple_of(4096) {
            self.ctx.control.check_with_interrupt()?;
            self.memory.grow(4096 * 16 * self.builders.len())?;
        }
        let mut row: Vec<Option<Value>> = vec![None; self.builders.len()];
        for (&position, value) in self.spec.prefix.iter().zip(&self.prefix) {
            row[position] = Some(value.clone());
        }
        for (target, value) in self.spec.columns.iter().zip(point) {
            row[target.position] = Some(value.clone()).filter(|v| !v.is_null());
        }
        if !self.spec.interpolate.is_empty() {
            let block = self.row_before()?;
            for (position, program) in &self.spec.interpolate {
                row[*position] = Some(program.evaluate(&block)?[0].value(0));
            }
        }
        let defaults = self.spec.types.iter().map(|ty| chalet_columns::Vector::defaults(ty, 1).value(0));
        let row: Vec<Value> =
            row.into_iter().zip(defaults).map(|(value, default)| value.unwrap_or(default)).collect();
        for (builder, value) in self.builders.iter_mut().zip(&row) {
            builder.push_value(value)?;
        }
        if !self.spec.interpolate.is_empty() {
            self.last = Some(row);
        }
        self.n_rows += 1;
        Ok(())
    }

    /// The row put out last, defaults when there is none.
    fn row_before(&self) -> Result<Block> {
        let columns = self.spec.types.iter().enumerate().map(|(i, ty)| match &self.last {
            Some(last) => Column::of_value(&last[i], ty, 1),
            None => Ok(Column::Flat(chalet_columns::Vector::defaults(ty, 1))),
        });
        Ok(Block::new(columns.collect::<Result<_>>()?, 1))
    }

    fn copy(&mut self, rows: &Block, row: usize) -> Result<()> {
        for (builder, column) in self.builders.iter_mut().zip(rows.columns()) {
            let (vector, row) = column.locate(row);
            builder.push_from(vector, row);
        }
        if !self.spec.interpolate.is_empty() {
            self.last = Some(rows.columns().iter().map(|c| c.value(row)).collect());
        }
        self.n_rows += 1;
        Ok(())
    }
}

/// No grid of steps reaches infinity or NaN.
fn is_finite(value: &Value) -> bool {
    !matches!(value, Value::Float(x) if !x.is_finite())
}

/// The same number, whatever the width that it is held in.
fn is_same(a: &Value, b: &Value) -> bool {
    a.compare(b).is_eq()
}

/// Does `a` come before `b` in the column's direction?
fn before(a: &Value, b: &Value, target: &Target) -> bool {
    let order = a.compare(b);
    if target.order.descending { order.is_gt() } else { order.is_lt() }
}

/// An integer in the form that values of columns have.
fn narrow(x: I256) -> Value {
    if let Ok(x) = u64::try_from(x) {
        return Value::UInt(x);
    }
    i64::try_from(x).map_or(Value::Int256(x), Value::Int)
}

fn overflow() -> Error {
    err!(INVALID_WITH_FILL_EXPRESSION, "Overflow in WITH FILL step value")
}

/// Years beyond this are far outside of all types.
const MAX_YEAR: i64 = 1_000_000;

/// The same day some months later, or the last day of that month; None far outside of all types.
fn add_months(days: i32, months: i64) -> Option<i32> {
    let date = Civil::of_days(days);
    let month = (i64::from(date.year) * 12 + i64::from(date.month) - 1).checked_add(months)?;
    let year = Some(month.div_euclid(12)).filter(|year| year.abs() <= MAX_YEAR)? as i32;
    let month = month.rem_euclid(12) as u8 + 1;
    Some(Civil::new(year, month, date.day.min(days_in_month(year, month))).days())
}
