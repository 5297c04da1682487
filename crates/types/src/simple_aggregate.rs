//! `SimpleAggregateFunction(f, T)`: values of type `T` that merges combine with `f`. The function is a name that the type shows: values,
//! columns and plans have the type `T`, and [`DataType::SimpleAggregate`] is what `toTypeName` and headers show in its place.

use crate::data_type::SimpleAggregate;
use crate::{DataType, TupleField};
use std::sync::Arc;

/// `f` and `T` of the text of such a type; `None` for the text of another.
pub fn simple_aggregate(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim().strip_prefix("SimpleAggregateFunction")?.trim_start();
    let inner = inner.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0;
    for (at, c) in inner.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => return Some((inner[..at].trim(), inner[at + 1..].trim())),
            _ => {}
        }
    }
    None
}

impl DataType {
    /// `SimpleAggregateFunction(function, self)`.
    pub fn simple_aggregate(self, function: impl Into<Arc<str>>) -> DataType {
        DataType::SimpleAggregate(Arc::new(SimpleAggregate { function: function.into(), ty: self }))
    }

    /// Does it show the name of a function, at any level?
    pub fn shows_simple_aggregates(&self) -> bool {
        self.is_or_contains(&|ty| matches!(ty, DataType::SimpleAggregate(_)))
    }

    /// The type that values have, where this is what is shown: without the names of functions, at every level.
    pub fn without_simple_aggregates(&self) -> DataType {
        let part = |ty: &DataType| ty.without_simple_aggregates();
        match self {
            DataType::SimpleAggregate(named) => part(&named.ty),
            DataType::Nullable(inner) => DataType::Nullable(Arc::new(part(inner))),
            DataType::LowCardinality(inner) => DataType::LowCardinality(Arc::new(part(inner))),
            _ if self.geometry().is_some() => self.clone(),
            DataType::Array(inner) => part(inner).array(),
            DataType::Map(key, value) => DataType::map(part(key), part(value)),
            DataType::Tuple(fields) => DataType::Tuple(
                fields.iter().map(|f| TupleField { name: f.name.clone(), ty: part(&f.ty) }).collect(),
            ),
            other => other.clone(),
        }
    }
}
