//! What expressions show in place of their types: `SimpleAggregateFunction(f, T)` travels with a column through functions that pass its
//! type on as it is (`if`, `array`, `max`), and is lost where one makes a type of its own, as in the kernel.

use crate::environment::Environment;
use chalet_function_api::call::BoundFunction;
use chalet_function_api::{Argument, Dictionaries, Nulls, Record, ShownType};
use chalet_plan::{Expr, IdSource, Literal};
use chalet_types::DataType;
use std::sync::Arc;

/// What the expression shows, if that is something else than its type.
pub(crate) fn shown_type(expr: &Expr, ids: &IdSource, env: &dyn Environment) -> Option<DataType> {
    match expr {
        Expr::Column(id, _) => ids.shown(*id),
        Expr::Call { function, args } => {
            let record = function.function.record();
            let shown = match record.shown {
                ShownType::Dropped | ShownType::Seen => return None,
                ShownType::Written => written(args)?,
                ShownType::OfFirst => shown_type(args.first()?, ids, env)?,
                ShownType::Passed => {
                    let plain: Vec<Argument> = args.iter().map(|arg| argument(arg, "")).collect();
                    let mut shown = shown_arguments(&plain, args, ids, env)?;
                    shown.iter_mut().for_each(|argument| unwrap(argument, record));
                    BoundFunction::bind(function.function.clone(), &shown, env.context()).ok()?.result
                }
            };
            (shown != function.result && shown.without_simple_aggregates() == function.result)
                .then_some(shown)
        }
        _ => None,
    }
}

/// What a function is told of an argument before it is computed.
pub(crate) fn argument(expr: &Expr, name: &str) -> Argument {
    Argument {
        constant: expr.as_literal().map(Literal::value),
        is_lambda: matches!(expr, Expr::Lambda { .. }),
        name: name.into(),
        ..Argument::of_type(expr.ty().clone())
    }
}

/// Does a call write a type that shows something else, so that its value must not stand in its place?
pub(crate) fn writes_shown_type(record: &Record, args: &[Expr]) -> bool {
    record.shown == ShownType::Written && written(args).is_some()
}

/// The type that the last argument says, where it shows something else than it is.
fn written(args: &[Expr]) -> Option<DataType> {
    let literal = args.last()?.as_literal()?.value();
    let text = literal.as_str().filter(|text| text.contains("SimpleAggregateFunction"))?;
    DataType::parse_shown(text).ok()
}

/// The arguments with what they show as their types, if one shows something else.
pub(crate) fn shown_arguments(
    arguments: &[Argument],
    exprs: &[Expr],
    ids: &IdSource,
    env: &dyn Environment,
) -> Option<Vec<Argument>> {
    let shown: Vec<Option<DataType>> = exprs.iter().map(|expr| shown_type(expr, ids, env)).collect();
    if shown.iter().all(Option::is_none) {
        return None;
    }
    let of = |(argument, shown): (&Argument, Option<DataType>)| Argument {
        ty: shown.unwrap_or_else(|| argument.ty.clone()),
        ..argument.clone()
    };
    Some(arguments.iter().zip(shown).map(of).collect())
}

/// The arguments of an aggregate, before which Nullable and LowCardinality are taken off: the names around them go too.
pub(crate) fn without_wrapped(mut arguments: Vec<Argument>) -> Vec<Argument> {
    for argument in &mut arguments {
        if let DataType::SimpleAggregate(named) = &argument.ty
            && matches!(named.ty, DataType::Nullable(_) | DataType::LowCardinality(_))
        {
            argument.ty = named.ty.clone();
        }
    }
    arguments
}

/// Where the framework takes Nullable or LowCardinality off a type, the name around it goes too.
fn unwrap(argument: &mut Argument, record: &Record) {
    let DataType::SimpleAggregate(named) = &argument.ty else { return };
    let goes = match &named.ty {
        DataType::Nullable(_) => record.nulls == Nulls::Propagate,
        DataType::LowCardinality(_) => record.dictionaries != Dictionaries::InTypes,
        _ => false,
    };
    if goes {
        argument.ty = named.ty.clone();
    }
}

/// What a column shows whose type a join made Nullable.
pub(crate) fn as_nullable_as(shown: DataType, ty: &DataType) -> DataType {
    let plain = shown.without_simple_aggregates();
    if plain != *ty && plain.nullable() == *ty { DataType::Nullable(Arc::new(shown)) } else { shown }
}
