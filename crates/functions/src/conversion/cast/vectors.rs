//! Vectors of the type QBit from and to arrays and one another, element by element.

use super::rules::Rules;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Data, List, Vector, qbit};
use chalet_types::{DataType, QBitType};
use std::sync::Arc;

/// Fails unless values of one type, of which one is of vectors, can be converted to the other.
pub fn check(from: &DataType, to: &DataType) -> Result<()> {
    use DataType::*;
    match (from, to) {
        (QBit(a), QBit(b)) => {
            ensure!(
                a.dimension() == b.dimension(),
                TYPE_MISMATCH,
                "CAST AS between two QBits can only be performed if they have the same number of elements (dimension). From: \
                 {from}, To: {to}"
            );
            Ok(())
        }
        (String, QBit(_)) | (QBit(_), String) => Ok(()),
        (Array(inner), QBit(vectors)) => super::check(inner, &vectors.element().data_type()),
        (_, QBit(_)) => bail!(
            TYPE_MISMATCH,
            "CAST AS QBit can only be performed from String, Array or another QBit. Left type: {from}, right type: {to}"
        ),
        (QBit(vectors), Array(inner)) if !matches!(inner.bare(), Array(_)) => {
            super::check(&vectors.element().data_type(), inner)
        }
        (_, Array(_) | Tuple(_) | Map(..)) => {
            bail!(TYPE_MISMATCH, "Unsupported types to CAST. Left type: {from}, right type: {to}")
        }
        (_, FixedString(_)) => {
            bail!(NOT_IMPLEMENTED, "CAST AS FixedString is only implemented for types String and FixedString")
        }
        (_, Decimal { .. } | DateTime64(..) | Time64(_) | Enum8(_) | Enum16(_)) => {
            bail!(CANNOT_CONVERT_TYPE, "Conversion from {from} to {to} is not supported")
        }
        _ => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {from} of argument of function CAST, which converts to {to}"
        ),
    }
}

/// Vectors as vectors or arrays of another type.
pub fn of_vectors(vector: &Vector, ty: QBitType, to: &DataType, rules: &Rules) -> Result<Vector> {
    let vectors = vector.fixed()?;
    match to {
        // How elements are grouped is a matter of planes alone.
        DataType::QBit(other) if other.element() == ty.element() => Ok(vector.clone()),
        DataType::QBit(other) => {
            let (from, to) = (ty.element().data_type(), other.element().data_type());
            let elements = super::convert(&qbit::elements(vectors, ty), &from, &to, rules)?;
            Ok(Data::Fixed(qbit::of_elements(&elements, *other)).into())
        }
        DataType::Array(inner) => {
            let List { offsets, values } = qbit::arrays(vectors, ty);
            let values = Arc::new(super::convert(&values, &ty.element().data_type(), inner, rules)?);
            Ok(Data::List(List { offsets, values }).into())
        }
        other => bail!(CANNOT_CONVERT_TYPE, "Conversion from {ty} to {other} is not supported"),
    }
}

/// Arrays, which must be as long as vectors of the type, as these.
pub fn of_arrays(vector: &Vector, element: &DataType, ty: QBitType, rules: &Rules) -> Result<Vector> {
    let list = vector.list()?.normalised();
    let elements = super::convert(&list.values, element, &ty.element().data_type(), rules)?;
    if let Some(other) = list.ranges().map(|range| range.len()).find(|n| *n != ty.dimension()) {
        bail!(
            SIZES_OF_ARRAYS_DONT_MATCH,
            "Array arguments must have size {} for QBit conversion, got {other}",
            ty.dimension()
        );
    }
    Ok(Data::Fixed(qbit::of_elements(&elements, ty)).into())
}
