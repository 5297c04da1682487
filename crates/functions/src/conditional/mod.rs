//! Conditions and NULL.

pub mod branches;
mod case;
mod clamp;
mod coalesce;
mod first_non_default;
mod r#if;
mod is_null;
mod least;
mod midpoint;
mod multi_if;
mod null_if;
mod nullable;
mod throw_if;
mod transform;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(case::Case);
    registry.add_scalar(&clamp::FUNCTION);
    registry.add_scalar(coalesce::COALESCE_FUNCTION);
    registry.add_scalar(coalesce::IF_NULL_FUNCTION);
    registry.add_scalar(first_non_default::FirstNonDefault);
    registry.add_scalar(r#if::If);
    registry.add_scalar(is_null::IS_NOT_NULL_FUNCTION);
    registry.add_scalar(is_null::IS_NULLABLE_FUNCTION);
    registry.add_scalar(is_null::IS_NULL_FUNCTION);
    registry.add_scalar(is_null::IS_ZERO_OR_NULL_FUNCTION);
    registry.add_scalar(least::GREATEST_FUNCTION);
    registry.add_scalar(least::LEAST_FUNCTION);
    registry.add_scalar(midpoint::FUNCTION);
    registry.add_scalar(midpoint::OF_TWO);
    registry.add_scalar(multi_if::MultiIf);
    registry.add_scalar(null_if::NullIf);
    registry.add_scalar(nullable::AssumeNotNull);
    registry.add_scalar(nullable::ToNullable);
    registry.add_scalar(throw_if::ThrowIf);
    registry.add_scalar(transform::Transform);
}
