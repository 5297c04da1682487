//! Functions over Variant and Dynamic: the rows of each type go through the function as that type.

use crate::call::{BoundFunction, Input};
use crate::{Argument, Context, ScalarFunction, SeveralTypes};
use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector, variant};
use chalet_types::DataType;
use std::sync::Arc;

/// A call whose argument at `index` is of several types.
pub(crate) struct Several {
    index: usize,
    args: Vec<Argument>,
}

/// Types that stand for those which a Dynamic may hold: a function that makes the same of all that it takes makes that of a
/// Dynamic too.
fn candidates() -> Vec<DataType> {
    use DataType::*;
    vec![
        Int64,
        UInt8,
        Float64,
        Decimal { precision: 9, scale: 2 },
        String,
        Date,
        DateTime(None),
        DateTime64(3, None),
        Int64.array(),
        String.array(),
        DataType::map(String, Int64),
        DataType::map(String, String),
        Bool,
        Json(Arc::default()),
    ]
}

impl Several {
    /// Nothing where no argument is of several types, or where the function deals with them itself.
    pub(crate) fn bind(
        function: &Arc<dyn ScalarFunction>,
        args: &[Argument],
        ctx: &Context,
    ) -> Result<Option<(Several, DataType)>> {
        if function.record().several_types == SeveralTypes::Seen {
            return Ok(None);
        }
        let is_several = |arg: &Argument| !arg.is_lambda && arg.ty.is_of_several_types();
        let Some(index) = args.iter().position(is_several) else { return Ok(None) };
        let mut args = args.to_vec();
        args[index].constant = None;
        let ty = args[index].ty.clone();
        let several = Several { index, args };
        let tried = match &ty {
            DataType::Variant(types) => types.to_vec(),
            _ => candidates(),
        };
        let mut results: Vec<DataType> = Vec::new();
        let mut refused = None;
        for candidate in tried {
            match several.bind_one(function, &candidate, ctx) {
                Ok(bound) => {
                    let result = bound.result.without_low_cardinality();
                    if !results.iter().any(|known| known.is_same(result)) {
                        results.push(result.clone());
                    }
                }
                Err(e) => refused = refused.or(Some(e)),
            }
        }
        let result = match (&results[..], refused) {
            ([], Some(refused)) => return Err(refused),
            ([], None) => bail!(LOGICAL_ERROR, "Type {ty} has no alternatives"),
            ([one], _) if one.can_be_nullable() || one.is_nullable() => one.clone().nullable(),
            ([one], _) if ty.alternatives().is_some() => one.clone(),
            _ if ty.alternatives().is_none() => DataType::DYNAMIC,
            // Each type gives itself.
            (several, _)
                if ty.alternatives().is_some_and(|types| {
                    types.len() == several.len() && types.iter().zip(several).all(|(a, b)| a.is_same(b))
                }) =>
            {
                ty.clone()
            }
            (several, _) => chalet_types::variant::variant_of(several)?,
        };
        Ok(Some((several, result)))
    }

    fn bind_one(
        &self,
        function: &Arc<dyn ScalarFunction>,
        ty: &DataType,
        ctx: &Context,
    ) -> Result<BoundFunction> {
        let mut args = self.args.clone();
        args[self.index].ty = ty.clone();
        BoundFunction::bind(function.clone(), &args, ctx)
    }

    pub(crate) fn execute(
        &self,
        function: &Arc<dyn ScalarFunction>,
        result: &DataType,
        inputs: Vec<Input>,
        n_rows: usize,
        ctx: &Context,
    ) -> Result<Column> {
        let mut columns = Vec::with_capacity(inputs.len());
        for input in inputs {
            let Input::Column(column) = input else {
                bail!(
                    NOT_IMPLEMENTED,
                    "Function {} of a lambda and a value of type {} is not supported",
                    function.record().name,
                    self.args[self.index].ty
                );
            };
            columns.push(column);
        }
        if n_rows > 1 && columns.iter().all(Column::is_const) {
            let ones = columns.iter().map(|column| Input::Column(column.slice(0, 1))).collect();
            let one = self.execute(function, result, ones, 1, ctx)?;
            return Ok(Column::Const { value: one.into_flat(), len: n_rows });
        }
        let values = columns[self.index].flat().into_owned();
        let groups = variant::groups(&values, &self.args[self.index].ty)?;
        let mut results: Vec<(Vec<u32>, Vector)> = Vec::with_capacity(groups.len());
        for group in groups {
            let bound = self.bind_one(function, &group.ty, ctx)?;
            let n = group.rows.len();
            let mut of_group = Some(group.values);
            let inputs = columns.iter().enumerate().map(|(i, column)| {
                Input::Column(match (i == self.index, column) {
                    (true, _) => {
                        Column::Flat(of_group.take().unwrap_or_else(|| Vector::defaults(&group.ty, n)))
                    }
                    (false, Column::Const { value, .. }) => Column::Const { value: value.clone(), len: n },
                    (false, column) => Column::Flat(column.flat().gather(&group.rows)),
                })
            });
            let made = bound.execute(inputs.collect(), n, ctx)?.into_flat();
            results.push((group.rows, of_result(made, &bound.result, result, function.record().name)?));
        }
        Ok(variant::gather(&results, n_rows, result).into())
    }
}

/// What the function made of one type, as the result of the call.
fn of_result(made: Vector, from: &DataType, to: &DataType, name: &str) -> Result<Vector> {
    if from.without_low_cardinality().without_nullable() == to.without_nullable() {
        return Ok(made);
    }
    if *from.bare() == DataType::Nothing {
        return Ok(Vector::defaults(to, made.len()));
    }
    match (from, to) {
        (DataType::Variant(_) | DataType::Dynamic(_), DataType::Variant(_) | DataType::Dynamic(_)) => {
            variant::convert(&made, from, to)
        }
        (_, DataType::Variant(_) | DataType::Dynamic(_)) => {
            variant::wrap(&made, from.without_low_cardinality(), to)
        }
        _ => bail!(
            NOT_IMPLEMENTED,
            "Function {name} makes {from} of one type and {to} of another, which is not supported"
        ),
    }
}
