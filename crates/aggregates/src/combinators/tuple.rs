//! `-Tuple`: aggregates tuples field by field.

use crate::combinators::{Rebind, Split};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Data, Struct, Vector};
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, Argument, States};
use chalet_types::{DataType, TupleField};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// The arguments of one field's aggregate.
fn field_args(args: &[Argument], field: usize) -> Result<Vec<Argument>> {
    let mut inner = Vec::with_capacity(args.len());
    for arg in args {
        let DataType::Tuple(fields) = &arg.ty else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument for aggregate function with Tuple suffix. Must be tuple",
                arg.ty
            );
        };
        let field = fields.get(field).ok_or_else(|| {
            err!(ILLEGAL_TYPE_OF_ARGUMENT, "Tuples of aggregate function with Tuple suffix differ in size")
        })?;
        inner.push(Argument::of_type(field.ty.clone()));
    }
    Ok(inner)
}

pub fn split(split: &mut Split) -> Result<()> {
    split.args = field_args(&split.args, 0)?;
    Ok(())
}

pub struct Tuple {
    fields: Vec<(Option<Arc<str>>, Arc<dyn Aggregate>)>,
}

impl Tuple {
    pub fn around(args: &[Argument], rebind: Rebind) -> Result<Arc<dyn Aggregate>> {
        let Some(DataType::Tuple(types)) = args.first().map(|arg| &arg.ty) else {
            bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Incorrect number of arguments for aggregate function with Tuple suffix"
            );
        };
        let mut fields = Vec::with_capacity(types.len());
        for (i, field) in types.iter().enumerate() {
            let inner = rebind(&field_args(args, i)?)?;
            let inner = inner.ok_or_else(|| err!(LOGICAL_ERROR, "Aggregate of a tuple's field is gone"))?;
            fields.push((field.name.clone(), inner.aggregate));
        }
        ensure!(!fields.is_empty(), ILLEGAL_TYPE_OF_ARGUMENT, "Tuple suffix needs a tuple with fields");
        Ok(Arc::new(Tuple { fields }))
    }
}

impl Aggregate for Tuple {
    fn result_type(&self) -> DataType {
        let field = |(name, inner): &(Option<Arc<str>>, Arc<dyn Aggregate>)| TupleField {
            name: name.clone(),
            ty: inner.result_type(),
        };
        DataType::Tuple(self.fields.iter().map(field).collect())
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(FieldStates(self.fields.iter().map(|(_, inner)| inner.states()).collect()))
    }
}

struct FieldStates(Vec<Box<dyn States>>);

fn field(args: &[Vector], field: usize) -> Result<Vec<Vector>> {
    args.iter().map(|arg| Ok(arg.structure()?.fields[field].clone())).collect()
}

impl States for FieldStates {
    fn grow(&mut self, n: usize) {
        self.0.iter_mut().for_each(|inner| inner.grow(n));
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        for (i, inner) in self.0.iter_mut().enumerate() {
            inner.add(group, &field(args, i)?, rows.clone())?;
        }
        Ok(())
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        for (i, inner) in self.0.iter_mut().enumerate() {
            inner.add_groups(groups, &field(args, i)?)?;
        }
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (inner, theirs) in self.0.iter_mut().zip(&mut other.0) {
            inner.merge(&mut **theirs, from, into)?;
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        self.0.iter().for_each(|inner| inner.serialise(group, out));
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.0.iter_mut().try_for_each(|inner| inner.deserialise(group, bytes))
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        let fields = self.0.iter_mut().map(|inner| inner.finish(n)).collect::<Result<Vec<_>>>()?;
        Ok(Data::Struct(Struct { fields, len: n }).into())
    }

    fn memory(&self) -> usize {
        self.0.iter().map(|inner| inner.memory()).sum()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
