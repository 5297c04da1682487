//! `QBit`: vectors of one length, of which distance functions may read the leading bits of each element only. The kernel keeps
//! each bit of the elements as a column of its own, a plane; that layout is what sub-columns and the Native format show. Here a
//! value is its elements as they lie in memory, and planes are made where somebody asks for them.

use crate::{DataType, Physical};
use chalet_base::{Result, bail, ensure};
use std::fmt;

/// The type of elements, their number, and how many of them share a group of planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QBitType {
    element: QBitElement,
    dimension: u32,
    stride: u32,
}

/// What the elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QBitElement {
    Int8,
    BFloat16,
    Float32,
    Float64,
}

impl QBitElement {
    /// As a type of its own.
    pub fn data_type(self) -> DataType {
        match self {
            QBitElement::Int8 => DataType::Int8,
            QBitElement::BFloat16 => DataType::BFloat16,
            QBitElement::Float32 => DataType::Float32,
            QBitElement::Float64 => DataType::Float64,
        }
    }

    /// Bytes of one element.
    pub fn width(self) -> usize {
        match self {
            QBitElement::Int8 => 1,
            QBitElement::BFloat16 => 2,
            QBitElement::Float32 => 4,
            QBitElement::Float64 => 8,
        }
    }

    /// Bits of one element.
    pub fn bits(self) -> usize {
        8 * self.width()
    }
}

/// More groups of planes than this are refused.
const MAX_GROUPS: u64 = 1024;
/// The longest plane, in bytes.
const MAX_PLANE: u64 = 0xff_ffff;

impl QBitType {
    /// Vectors of `dimension` elements in groups of `stride`, of one group where none is given.
    pub fn new(element: &DataType, dimension: u64, stride: Option<u64>) -> Result<QBitType> {
        let element = match element {
            DataType::Int8 => QBitElement::Int8,
            DataType::BFloat16 => QBitElement::BFloat16,
            DataType::Float32 => QBitElement::Float32,
            DataType::Float64 => QBitElement::Float64,
            other => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "QBit data type only supports Int8, BFloat16, Float32, or Float64 as element type. Got: {other}"
            ),
        };
        let stride = stride.unwrap_or(dimension);
        ensure!(
            stride > 0 && dimension.is_multiple_of(stride),
            UNEXPECTED_AST_STRUCTURE,
            "QBit stride must be a positive divisor of the dimension {dimension}. Got: {stride}"
        );
        ensure!(
            stride == dimension || stride.is_multiple_of(8),
            UNEXPECTED_AST_STRUCTURE,
            "QBit stride must be a multiple of 8 when it is smaller than the dimension. Got: {stride}"
        );
        let groups = dimension / stride;
        ensure!(
            groups <= MAX_GROUPS,
            BAD_ARGUMENTS,
            "QBit has too many stride groups: {groups} (dimension {dimension} / stride {stride}). The maximum is {MAX_GROUPS}"
        );
        let width = dimension.checked_mul(element.width() as u64);
        ensure!(
            stride.div_ceil(8) <= MAX_PLANE && width.is_some_and(|width| width <= u64::from(u32::MAX)),
            ARGUMENT_OUT_OF_BOUND,
            "FixedString size is too large"
        );
        Ok(QBitType { element, dimension: dimension as u32, stride: stride as u32 })
    }

    /// What the elements are.
    pub fn element(self) -> QBitElement {
        self.element
    }

    /// The number of elements.
    pub fn dimension(self) -> usize {
        self.dimension as usize
    }

    /// The number of elements that share a group of planes.
    pub fn stride(self) -> usize {
        self.stride as usize
    }

    /// Bytes of a value.
    pub fn width(self) -> usize {
        self.dimension() * self.element.width()
    }

    /// The number of planes of all groups.
    pub fn planes(self) -> usize {
        self.dimension() / self.stride() * self.element.bits()
    }

    /// The type of a plane: a bit for each element of its group.
    pub fn plane_type(self) -> DataType {
        DataType::FixedString(self.stride.div_ceil(8))
    }

    /// How values lie in memory.
    pub fn physical(self) -> Physical {
        Physical::Fixed(self.width() as u32)
    }
}

impl fmt::Display for QBitType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QBit({}, {}", self.element.data_type(), self.dimension)?;
        if self.stride != self.dimension {
            write!(f, ", {}", self.stride)?;
        }
        f.write_str(")")
    }
}

impl DataType {
    /// Have values of the type an order? States of aggregate functions and vectors have none, at any depth.
    pub fn is_ordered(&self) -> bool {
        !self.is_or_contains(&|ty| matches!(ty, DataType::AggregateFunction(_) | DataType::QBit(_)))
    }
}
