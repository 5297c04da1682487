//! From a name and arguments to an aggregate: the function by name, else a combinator around a shorter name; NULL
//! arguments are dealt with before the function sees them.
//!
//! Invariant: this file knows the order of wrappers, and no function's name but `count`'s for DISTINCT.

use crate::combinators::merge::Merge;
use crate::combinators::simple_state::check_simple;
use crate::combinators::state::State;
use crate::combinators::{Combinator, suffix_of};
use crate::nothing::Nothing;
use crate::skip_nulls::SkipNulls;
use crate::state_types::state_type;
use chalet_base::{Result, bail, ensure};
use chalet_function_api::aggregate::{AggregateNulls, RowOrder};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Registry};
use chalet_types::{AggregateType, DataType, Value};
use std::sync::Arc;

/// An aggregate ready to run.
#[derive(Clone)]
pub struct Resolved {
    pub aggregate: Arc<dyn Aggregate>,
    pub result: DataType,
    pub row_order: RowOrder,
    /// The function's own name, whatever alias was used, with its combinators.
    pub name: String,
    /// What the result shows in place of its type, if the function says so: of `-SimpleState`.
    pub shown: Option<DataType>,
}

/// Finds the aggregate of a name for given arguments; None when no aggregate has that name.
pub fn resolve(
    registry: &Registry,
    name: &str,
    parameters: &[Value],
    args: &[Argument],
    ctx: &Context,
) -> Result<Option<Resolved>> {
    let lower = name.to_ascii_lowercase();
    let name = match lower.strip_prefix("countdistinct") {
        Some("") => count_distinct(ctx),
        Some("if") => count_distinct(ctx) + "If",
        _ => name.to_string(),
    };
    let mut args = args.to_vec();
    args.iter_mut().for_each(|arg| arg.ty = arg.ty.recursively_without_low_cardinality());
    Resolver { registry, ctx, under_condition: false, for_states: false }.find(&name, parameters, &args)
}

/// Does an aggregate of this name exist, combinators included?
pub fn exists(registry: &Registry, name: &str) -> bool {
    base_record(registry, name).is_some() || name.eq_ignore_ascii_case("countDistinct")
}

/// The name that `name(DISTINCT ...)` stands for.
pub fn with_distinct(name: &str, ctx: &Context) -> String {
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "count" => count_distinct(ctx),
        "countif" => count_distinct(ctx) + "If",
        _ => match name.strip_suffix("If") {
            // A set of the rows that pass is smaller than a set with the condition inside.
            Some(shorter) => format!("{shorter}DistinctIf"),
            None => format!("{name}Distinct"),
        },
    }
}

/// The name that `name(...) RESPECT NULLS` stands for, when there is one.
pub fn with_nulls_respected(registry: &Registry, name: &str) -> Result<String> {
    match base_record(registry, name) {
        Some((record, suffixes)) if !record.respecting_nulls.is_empty() => {
            Ok(format!("{}{suffixes}", record.respecting_nulls))
        }
        Some((record, _)) if record.nulls == AggregateNulls::Seen => Ok(name.to_string()),
        _ => bail!(NOT_IMPLEMENTED, "Function {name} does not support RESPECT NULLS"),
    }
}

fn count_distinct(ctx: &Context) -> String {
    let setting = (ctx.settings.all.0)("count_distinct_implementation");
    setting.and_then(|(value, _)| value.as_str().map(String::from)).unwrap_or_else(|| "uniqExact".into())
}

/// The function itself and whether it has a condition (`-If`), where its states are the same at servers of all versions and it has no
/// other combinator.
pub fn portable_base<'a>(registry: &Registry, name: &'a str) -> Option<(&'a str, bool)> {
    let (record, suffixes) = base_record(registry, name)?;
    let is_conditional = match suffixes {
        "" => false,
        "If" => true,
        _ => return None,
    };
    record.portable_states.then(|| (&name[..name.len() - suffixes.len()], is_conditional))
}

/// Are the states of the function, whatever its combinators, bytes that this engine alone reads?
pub fn has_own_states(registry: &Registry, name: &str) -> bool {
    base_record(registry, name).is_some_and(|(record, _)| record.own_states)
}

/// The record of the function below all combinators, and the combinators' suffixes.
pub(crate) fn base_record<'a>(
    registry: &Registry,
    name: &'a str,
) -> Option<(&'static AggregateRecord, &'a str)> {
    let mut base = name;
    loop {
        if let Some(function) = registry.aggregates.get(base) {
            return Some((function.record(), &name[base.len()..]));
        }
        base = suffix_of(base)?.1;
    }
}

#[derive(Clone, Copy)]
struct Resolver<'a> {
    registry: &'a Registry,
    ctx: &'a Context,
    /// `-If` is directly around the function.
    under_condition: bool,
    /// Others may read the states.
    for_states: bool,
}

impl Resolver<'_> {
    /// Strips Nullable from the arguments and puts the treatment of NULLs around the function.
    fn find(&self, name: &str, parameters: &[Value], args: &[Argument]) -> Result<Option<Resolved>> {
        let Some((record, _)) = base_record(self.registry, name) else {
            return Ok(None);
        };
        let direct = self.registry.aggregates.get(name);
        // A NULL condition is a false one and makes no result NULL: it is the combinator's own business.
        let combinator = suffix_of(name).filter(|_| direct.is_none()).map(|(combinator, _)| combinator);
        let only_null = args.iter().any(|arg| arg.ty.is_only_null());
        let own_nulls = combinator.is_some_and(|c| c.sees_nulls() && !(c == Combinator::State && only_null));
        // The NULL of Variant and Dynamic is a value like any other here, as in the kernel.
        let nullable = args.iter().any(|arg| arg.ty.is_nullable() && !arg.ty.is_of_several_types());
        if record.nulls == AggregateNulls::Seen || own_nulls || !nullable {
            return self.bind(direct, name, parameters, args);
        }
        if only_null {
            let aggregate: Arc<dyn Aggregate> =
                if record.zero_when_only_null { Nothing::zero() } else { Nothing::null() };
            let result = aggregate.result_type();
            return Ok(Some(Resolved {
                shown: None,
                aggregate,
                result,
                row_order: RowOrder::Free,
                name: name.to_string(),
            }));
        }
        let mut plain = args.to_vec();
        for arg in &mut plain {
            arg.ty = arg.ty.without_nullable().clone();
            arg.constant = arg.constant.take().filter(|value| !value.is_null());
        }
        let Some(mut inner) = self.bind(direct, name, parameters, &plain)? else {
            return Ok(None);
        };
        // Where no row passes a condition, tuples are of defaults.
        let is_tuple = matches!(inner.result, DataType::Tuple(_));
        let makes_null = record.nulls == AggregateNulls::Skip
            && can_be_nullable(&inner.result)
            && !(is_tuple && self.under_condition);
        let flagged = direct.is_some() && record.null_flag;
        inner.aggregate = SkipNulls::around(inner.aggregate, makes_null, flagged);
        inner.result = inner.aggregate.result_type();
        Ok(Some(inner))
    }

    fn bind(
        &self,
        direct: Option<&Arc<dyn AggregateFunction>>,
        name: &str,
        parameters: &[Value],
        args: &[Argument],
    ) -> Result<Option<Resolved>> {
        if let Some(function) = direct {
            let record = function.record();
            let aggregate = match self.for_states {
                true => function.bind_for_states(parameters, args, self.ctx)?,
                false => function.bind(parameters, args, self.ctx)?,
            };
            let result = aggregate.result_type();
            let (row_order, name) = (record.row_order, record.name.to_string());
            return Ok(Some(Resolved { aggregate, result, row_order, name, shown: None }));
        }
        let Some((combinator, shorter)) = suffix_of(name) else {
            return Ok(None);
        };
        let suffix = combinator.suffix();
        let nested = shorter.ends_with(suffix) && self.registry.aggregates.get(shorter).is_none();
        if nested && !combinator.nests() {
            bail!(ILLEGAL_AGGREGATION, "Nested identical combinator '{suffix}' is not supported");
        }
        match combinator {
            Combinator::State => return self.state(shorter, parameters, args),
            Combinator::Merge => return self.merge(shorter, parameters, args),
            _ => {}
        }
        // Whether a row was added at all shows only behind the condition.
        if let (Combinator::OrNull | Combinator::OrDefault, Some(base)) =
            (combinator, shorter.strip_suffix("If"))
        {
            return self.find(&format!("{base}{suffix}If"), parameters, args);
        }
        // So does a state, which has no default of its own.
        if let (Combinator::OrNull | Combinator::OrDefault, Some(base)) =
            (combinator, shorter.strip_suffix("State"))
        {
            return self.find(&format!("{base}{suffix}State"), parameters, args);
        }
        let split = combinator.split(shorter, parameters, args)?;
        let below = Resolver { under_condition: combinator == Combinator::If, ..*self };
        let Some(mut inner) = below.find(&split.name, &split.parameters, &split.args)? else {
            return Ok(None);
        };
        if combinator == Combinator::SimpleState {
            check_simple(&inner.name)?;
            inner.shown = Some(inner.result.clone().simple_aggregate(inner.name.as_str()));
            inner.name += suffix;
        }
        if split.whole {
            return Ok(Some(inner));
        }
        let sees_nulls =
            base_record(self.registry, name).is_some_and(|(record, _)| record.nulls == AggregateNulls::Seen);
        inner.aggregate = combinator.wrap(inner.aggregate, parameters, args, !sees_nulls, &|args| {
            below.find(&split.name, &split.parameters, args)
        })?;
        inner.result = inner.aggregate.result_type();
        inner.name += suffix;
        Ok(Some(inner))
    }
}

/// States as values, and of values.
impl Resolver<'_> {
    fn state(&self, name: &str, parameters: &[Value], args: &[Argument]) -> Result<Option<Resolved>> {
        // Who reads a state knows no condition around it.
        let below = Resolver { under_condition: false, for_states: true, ..*self };
        let Some(mut inner) = below.find(name, parameters, args)? else {
            return Ok(None);
        };
        let merges = self.registry.aggregates.get(name).is_none()
            && suffix_of(name).is_some_and(|(combinator, _)| combinator == Combinator::Merge);
        let direct = self.registry.aggregates.get(name);
        // What was merged is a state of the same type again.
        let ty = match (args, direct.and_then(|function| function.state_arguments(args))) {
            ([states], _) if merges => states.ty.clone(),
            (_, Some(types)) => {
                let shown = direct.map_or("", |function| function.record().name_in_types);
                DataType::AggregateFunction(AggregateType::new(None, shown, Vec::new(), types)?.into())
            }
            _ => state_type(self.registry, &inner, parameters, args),
        };
        inner.aggregate = State::around(inner.aggregate, ty);
        inner.result = inner.aggregate.result_type();
        inner.name += "State";
        Ok(Some(inner))
    }

    fn merge(&self, name: &str, parameters: &[Value], args: &[Argument]) -> Result<Option<Resolved>> {
        let [states] = args else {
            bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Incorrect number of arguments for aggregate function with Merge suffix"
            );
        };
        let DataType::AggregateFunction(ty) = &states.ty else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument for aggregate function with Merge suffix. It must be AggregateFunction(...)",
                states.ty
            );
        };
        let mut inner_args: Vec<Argument> = ty.arguments().iter().cloned().map(Argument::of_type).collect();
        inner_args.iter_mut().for_each(|arg| arg.ty = arg.ty.recursively_without_low_cardinality());
        let below = Resolver { under_condition: false, ..*self };
        let Some(mut inner) = below.find(name, parameters, &inner_args)? else {
            return Ok(None);
        };
        if let DataType::AggregateFunction(own) = state_type(self.registry, &inner, parameters, &inner_args)
            && !own.has_same_states(ty)
        {
            let illegal = format!(
                "Illegal type {} of argument for aggregate function with Merge suffix because it corresponds to",
                states.ty
            );
            ensure!(
                own.function() == ty.function(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "{illegal} different aggregate function: {} instead of {}",
                ty.function(),
                own.function()
            );
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "{illegal} a different implementation of aggregate function '{}'",
                own.function()
            );
        }
        inner.aggregate = Merge::around(inner.aggregate);
        inner.result = inner.aggregate.result_type();
        inner.name += "Merge";
        Ok(Some(inner))
    }
}

/// Does the kernel wrap a result of this type in Nullable?
pub fn can_be_nullable(ty: &DataType) -> bool {
    ty.can_be_nullable()
}
