//! `arraySlice` of a QBit: a vector of some of the elements. How many they are is part of its type, so the place is constant.

use super::slice::window;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Buf, Data, Fixed, Vector};
use chalet_function_api::{Argument, Bound};
use chalet_types::{DataType, QBitType, Value};
use std::ops::Range;

/// The elements that are taken.
pub(super) struct Taken(Range<usize>);

/// Which elements the arguments ask for, and the type of vectors of these.
pub(super) fn bind(name: &str, args: &[Argument], ty: QBitType) -> Result<Bound> {
    let number = |index: usize, what: &str| -> Result<Option<i64>> {
        let Some(arg) = args.get(index) else { return Ok(None) };
        ensure!(
            arg.ty.is_only_null() || arg.ty.without_nullable().is_integer(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument {index} ({what}) for function {name} must be integer but it has type {}",
            arg.ty
        );
        match &arg.constant {
            None => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument {index} ({what}) for function {name} must be a constant when slicing a QBit: the dimension of the result \
                 type depends on its value"
            ),
            Some(Value::Null) => Ok(None),
            Some(value) => match value.as_i64() {
                Some(n) => Ok(Some(n)),
                None => bail!(
                    BAD_ARGUMENTS,
                    "Argument {index} ({what}) of function {name} is out of range for a QBit of dimension {}",
                    ty.dimension()
                ),
            },
        }
    };
    let (offset, length) = (number(1, "offset")?, number(2, "length")?);
    let taken = window(ty.dimension(), offset.map(i128::from), length.map(i128::from));
    ensure!(
        !taken.is_empty(),
        BAD_ARGUMENTS,
        "The slice of function {name} with offset {} and length {} selects no elements of a QBit of dimension {}, but a QBit of \
         dimension 0 cannot exist",
        offset.unwrap_or(1),
        length.map_or_else(|| "NULL".into(), |n| n.to_string()),
        ty.dimension()
    );
    // Whole groups stay groups.
    let aligned = taken.start.is_multiple_of(ty.stride()) && taken.len().is_multiple_of(ty.stride());
    let stride = aligned.then_some(ty.stride() as u64);
    let part = QBitType::new(&ty.element().data_type(), taken.len() as u64, stride)?;
    let result = match args[0].ty.is_nullable() {
        true => DataType::QBit(part).nullable(),
        false => DataType::QBit(part),
    };
    Ok(Bound::with_state(result, Taken(taken)))
}

/// The taken elements of each vector.
pub(super) fn execute(vector: &Vector, ty: QBitType, Taken(taken): &Taken) -> Result<Vector> {
    let width = ty.element().width();
    let bytes = taken.start * width..taken.end * width;
    let parts: Vec<u8> = vector.fixed()?.iter().flat_map(|vector| &vector[bytes.clone()]).copied().collect();
    let parts = Fixed { width: bytes.len(), bytes: Buf::from_vec(parts) };
    Ok(Vector::new(Data::Fixed(parts), vector.validity.clone()))
}
