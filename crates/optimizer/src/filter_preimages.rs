//! Comparisons of a function that never falls with a constant become bounds of what it is given: nothing is computed for each row,
//! and statistics, keys and indexes of the column apply. The kernel does so for some functions (`optimize_time_filter_with_preimage`).
//!
//! ```text
//! Filter toYYYYMM(t) = 202402   =>   Filter t >= '2024-02-01 00:00:00' AND t < '2024-03-01 00:00:00'
//! ```
//!
//! The bounds are searched for with the function itself.

use crate::conditions::of_filters;
use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::call::{BoundFunction, Input};
use chalet_function_api::{Argument, Comparison};
use chalet_plan::{Expr, Literal, Plan};
use chalet_types::{DataType, Value};
use std::cmp::Ordering;
use std::sync::Arc;

pub(crate) const NAME: &str = "filter_preimages";

pub(crate) fn apply(mut plan: Plan, with: &Rewriter) -> Result<Plan> {
    let mut indexed: Vec<Arc<str>> = Vec::new();
    plan = bottom_up(plan, &mut |node| {
        if let Plan::Scan(scan) = &node {
            indexed.extend(scan.table.schema().indexes.iter().map(|index| index.expr.clone()));
        }
        Ok(node)
    })?;
    of_filters(plan, with, &mut |expr| bounds(expr, &indexed, with))
}

/// The bounds that a comparison is. `indexed`: expressions of indexes, which look for the function as it is.
fn bounds(expr: &Expr, indexed: &[Arc<str>], with: &Rewriter) -> Result<Option<Expr>> {
    let Expr::Call { function, args } = expr else { return Ok(None) };
    let comparison = function.function.record().comparison;
    let (image, constant, comparison) = match &args[..] {
        [image, Expr::Literal(constant)] => (image, constant, comparison),
        [Expr::Literal(constant), image] => (image, constant, comparison.mirrored()),
        _ => return Ok(None),
    };
    if comparison == Comparison::No {
        return Ok(None);
    }
    let Expr::Call { function, args } = image else { return Ok(None) };
    let [value, others @ ..] = &args[..] else { return Ok(None) };
    let record = function.function.record();
    let is_single = others.iter().all(Expr::is_literal) && value.as_column().is_some();
    if !is_single || !function.never_falls(with.context) {
        return Ok(None);
    }
    let names = || [record.name].into_iter().chain(record.aliases.iter().copied());
    if indexed.iter().any(|index| names().any(|name| index.contains(name))) {
        return Ok(None);
    }
    let Some(search) = Search::new(function, others, constant, with)? else { return Ok(None) };
    let call = |name, bound: Expr| (with.call)(name, vec![value.clone(), bound]);
    // Where a bound is missing, the comparison is true or false for all values, and is left to the function.
    let (low, high) = (search.reaches(false), search.reaches(true));
    Ok(match (comparison, low, high) {
        (Comparison::Equal, Some(low), Some(high)) => {
            with.all_of(vec![call("greaterOrEquals", low)?, call("less", high)?])?
        }
        (Comparison::NotEqual, Some(low), Some(high)) => {
            Some((with.call)("or", vec![call("less", low)?, call("greaterOrEquals", high)?])?)
        }
        (Comparison::Less, Some(low), _) => Some(call("less", low)?),
        (Comparison::GreaterOrEqual, Some(low), _) => Some(call("greaterOrEquals", low)?),
        (Comparison::LessOrEqual, _, Some(high)) => Some(call("less", high)?),
        (Comparison::Greater, _, Some(high)) => Some(call("greaterOrEquals", high)?),
        _ => None,
    })
}

/// Looks for the least values that a function takes to a constant, or beyond.
struct Search<'a> {
    function: BoundFunction,
    /// The type of the values.
    ty: DataType,
    others: Vec<Column>,
    constant: Value,
    with: &'a Rewriter<'a>,
}

impl Search<'_> {
    /// None for types of which values are not numbers, or compare in other ways.
    fn new<'a>(
        function: &BoundFunction,
        others: &[Expr],
        constant: &Literal,
        with: &'a Rewriter,
    ) -> Result<Option<Search<'a>>> {
        let (own, result) = (constant.ty.bare(), function.result.bare());
        let is_timestamp = |ty: &DataType| matches!(ty, DataType::DateTime(_));
        let alike = own == result
            || own.is_integer() && result.is_integer()
            || is_timestamp(own) && is_timestamp(result);
        let value = constant.value();
        let is_number = matches!(value, Value::Int(_) | Value::UInt(_));
        let ty = function.arg_types[0].bare().clone();
        if !alike || !is_number || domain(&ty).is_none() {
            return Ok(None);
        }
        let mut arguments = vec![Argument::of_type(ty.clone())];
        let mut columns = Vec::new();
        for other in others {
            let Some(literal) = other.as_literal() else { return Ok(None) };
            let constant = Some(literal.value());
            arguments.push(Argument { constant, ..Argument::of_type(literal.ty.clone()) });
            columns.push(Column::Const { value: Vector::clone(&literal.value), len: 1 });
        }
        let function = BoundFunction::bind(function.function.clone(), &arguments, with.context)?;
        Ok(Some(Search { function, ty, others: columns, constant: value, with }))
    }

    /// The least value at which the function has reached the constant, or is `beyond` it; none where there is no such value, it is
    /// the least of all, or the function fails for a value, which no row may have.
    fn reaches(&self, beyond: bool) -> Option<Expr> {
        let (least, most) = domain(&self.ty)?;
        let (mut low, mut high) = (least, most);
        while low < high {
            // Both may be far from 0: neither their sum nor their distance is taken in 64 bits.
            let middle = ((i128::from(low) + i128::from(high)).div_euclid(2)) as i64;
            if self.has_reached(middle, beyond)? { high = middle } else { low = middle + 1 }
        }
        let is_inside = low > least && (low < most || self.has_reached(low, beyond)?);
        let bound = is_inside.then(|| Expr::literal(&self.vector(low).value(0), self.ty.clone()))?;
        bound.ok()
    }

    fn has_reached(&self, value: i64, beyond: bool) -> Option<bool> {
        let first = Column::Flat(self.vector(value));
        let inputs = [first].into_iter().chain(self.others.iter().cloned()).map(Input::Column);
        let result = self.function.execute(inputs.collect(), 1, self.with.context).ok()?.into_flat();
        Some(match result.value(0).compare(&self.constant) {
            Ordering::Greater => true,
            Ordering::Equal => !beyond,
            Ordering::Less => false,
        })
    }

    fn vector(&self, value: i64) -> Vector {
        match self.ty {
            DataType::Date => Vector::from(vec![value as u16]),
            DataType::DateTime(_) => Vector::from(vec![value as u32]),
            _ => Vector::from(vec![value]),
        }
    }
}

/// All values of a type, as numbers.
fn domain(ty: &DataType) -> Option<(i64, i64)> {
    match ty {
        DataType::Date => Some((0, u16::MAX.into())),
        DataType::DateTime(_) => Some((0, u32::MAX.into())),
        DataType::DateTime64(..) => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}
