//! The `DataType` tree: what a user sees in `toTypeName`, and the questions other rooms ask of it.

use crate::aggregate_function::AggregateType;
use crate::geometry::{Alternatives, Named};
use crate::{JsonType, Physical, QBitType, TimeZone};
use chalet_base::{Result, bail, ensure};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A logical type. Cheap to clone: nested types are shared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// The type of NULL (inside Nullable) and of elements of the empty array.
    Nothing,
    Bool,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    UInt128,
    UInt256,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Int256,
    BFloat16,
    Float32,
    Float64,
    /// Precision in digits 1..=76, scale in digits 0..=precision.
    Decimal {
        precision: u8,
        scale: u8,
    },
    String,
    /// Length in bytes, at least 1.
    FixedString(u32),
    Uuid,
    IPv4,
    IPv6,
    /// Days since 1970-01-01, 16 bits.
    Date,
    /// Days since 1970-01-01, signed 32 bits.
    Date32,
    /// Seconds since 1970-01-01 UTC, 32 bits.
    DateTime(Option<TimeZone>),
    /// Ticks of 10^-scale seconds since 1970-01-01 UTC, signed 64 bits; scale 0..=9.
    DateTime64(u8, Option<TimeZone>),
    /// Seconds, signed 32 bits.
    Time,
    /// Ticks of 10^-scale seconds, signed 64 bits; scale 0..=9.
    Time64(u8),
    Interval(IntervalUnit),
    Enum8(Arc<EnumValues>),
    Enum16(Arc<EnumValues>),
    LowCardinality(Arc<DataType>),
    Nullable(Arc<DataType>),
    Array(Named<DataType>),
    Tuple(Named<[TupleField]>),
    Map(Arc<DataType>, Arc<DataType>),
    /// One of these types, sorted by name, or NULL. Values are their encoding of `columns::variant`.
    Variant(Alternatives),
    /// Any type, or NULL; that many types are kept apart.
    Dynamic(u8),
    Json(Arc<JsonType>),
    /// Vectors: their elements, one after the other, little-endian.
    QBit(QBitType),
    /// The bytes of states of an aggregate function.
    AggregateFunction(Arc<AggregateType>),
    /// What is shown of a type whose values merges combine. No column and no plan has it: see [`SimpleAggregate`].
    SimpleAggregate(Arc<SimpleAggregate>),
}

/// What SimpleAggregateFunction shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SimpleAggregate {
    /// The function with its parameters, as SQL text.
    pub function: Arc<str>,
    /// The type that the values have.
    pub ty: DataType,
}

/// One element of a Tuple; all elements are named or none is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TupleField {
    pub name: Option<Arc<str>>,
    pub ty: DataType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntervalUnit {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl IntervalUnit {
    pub const ALL: [IntervalUnit; 11] = {
        use IntervalUnit::*;
        [Nanosecond, Microsecond, Millisecond, Second, Minute, Hour, Day, Week, Month, Quarter, Year]
    };

    /// `Day` of `IntervalDay`.
    pub fn name(self) -> &'static str {
        use IntervalUnit::*;
        match self {
            Nanosecond => "Nanosecond",
            Microsecond => "Microsecond",
            Millisecond => "Millisecond",
            Second => "Second",
            Minute => "Minute",
            Hour => "Hour",
            Day => "Day",
            Week => "Week",
            Month => "Month",
            Quarter => "Quarter",
            Year => "Year",
        }
    }
}

/// Names and numbers of an Enum, sorted by number; both unique.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct EnumValues {
    entries: Vec<(Arc<str>, i16)>,
}

impl EnumValues {
    pub fn new(mut entries: Vec<(Arc<str>, i16)>) -> Result<Self> {
        ensure!(!entries.is_empty(), EMPTY_DATA_PASSED, "DataTypeEnum enumeration cannot be empty");
        entries.sort_by_key(|entry| entry.1);
        for pair in entries.windows(2) {
            if pair[0].1 == pair[1].1 {
                bail!(
                    SYNTAX_ERROR,
                    "Duplicate values in enum: '{}' = {} and '{}'",
                    pair[1].0,
                    pair[1].1,
                    pair[0].0
                );
            }
        }
        let mut names: Vec<&str> = entries.iter().map(|e| &*e.0).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!(SYNTAX_ERROR, "Duplicate names in enum: '{}'", pair[0]);
        }
        Ok(EnumValues { entries })
    }

    /// Sorted by number.
    pub fn entries(&self) -> &[(Arc<str>, i16)] {
        &self.entries
    }

    pub fn name_of(&self, number: i16) -> Option<&str> {
        let found = self.entries.binary_search_by_key(&number, |e| e.1).ok()?;
        Some(&self.entries[found].0)
    }

    pub fn number_of(&self, name: &[u8]) -> Option<i16> {
        self.entries.iter().find(|e| e.0.as_bytes() == name).map(|e| e.1)
    }
}

impl DataType {
    pub fn nullable(self) -> DataType {
        match self {
            DataType::Nullable(_) => self,
            DataType::LowCardinality(inner) => {
                DataType::LowCardinality(Arc::new(DataType::clone(&inner).nullable()))
            }
            // These cannot be inside Nullable: the kernel leaves them as they are.
            DataType::Array(_)
            | DataType::Map(..)
            | DataType::Variant(_)
            | DataType::Dynamic(_)
            | DataType::AggregateFunction(_) => self,
            other => DataType::Nullable(Arc::new(other)),
        }
    }

    pub fn array(self) -> DataType {
        DataType::Array(self.into())
    }

    pub fn low_cardinality(self) -> DataType {
        match self {
            DataType::LowCardinality(_) => self,
            other => DataType::LowCardinality(Arc::new(other)),
        }
    }

    pub fn map(key: DataType, value: DataType) -> DataType {
        DataType::Map(Arc::new(key), Arc::new(value))
    }

    /// A tuple without names.
    pub fn tuple(types: impl IntoIterator<Item = DataType>) -> DataType {
        DataType::Tuple(types.into_iter().map(|ty| TupleField { name: None, ty }).collect())
    }

    /// Nullable, LowCardinality of Nullable, or Variant and Dynamic, which have a NULL of their own.
    pub fn is_nullable(&self) -> bool {
        match self {
            DataType::Nullable(_) | DataType::Variant(_) | DataType::Dynamic(_) => true,
            DataType::LowCardinality(inner) => inner.is_nullable(),
            _ => false,
        }
    }

    /// May the kernel wrap this type in Nullable?
    pub fn can_be_nullable(&self) -> bool {
        !matches!(
            self,
            DataType::Array(_)
                | DataType::Map(..)
                | DataType::Nullable(_)
                | DataType::LowCardinality(_)
                | DataType::Variant(_)
                | DataType::Dynamic(_)
                | DataType::AggregateFunction(_)
        )
    }

    /// `Nullable(Nothing)`, the type of the literal NULL.
    pub fn is_only_null(&self) -> bool {
        matches!(self, DataType::Nullable(inner) if **inner == DataType::Nothing)
    }

    /// The type below Nullable, else itself.
    pub fn without_nullable(&self) -> &DataType {
        match self {
            DataType::Nullable(inner) => inner,
            other => other,
        }
    }

    /// The type below LowCardinality, else itself.
    pub fn without_low_cardinality(&self) -> &DataType {
        match self {
            DataType::LowCardinality(inner) => inner,
            other => other,
        }
    }

    /// Below LowCardinality and Nullable: the type a function sees.
    pub fn bare(&self) -> &DataType {
        self.without_low_cardinality().without_nullable()
    }

    /// LowCardinality removed at every level.
    pub fn recursively_without_low_cardinality(&self) -> DataType {
        match self {
            DataType::LowCardinality(inner) => inner.recursively_without_low_cardinality(),
            DataType::Nullable(inner) => {
                DataType::Nullable(Arc::new(inner.recursively_without_low_cardinality()))
            }
            _ if self.geometry().is_some() => self.clone(),
            DataType::Array(inner) => inner.recursively_without_low_cardinality().array(),
            DataType::Map(key, value) => DataType::map(
                key.recursively_without_low_cardinality(),
                value.recursively_without_low_cardinality(),
            ),
            DataType::Tuple(fields) => DataType::Tuple(
                fields
                    .iter()
                    .map(|f| TupleField {
                        name: f.name.clone(),
                        ty: f.ty.recursively_without_low_cardinality(),
                    })
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    pub fn is_unsigned(&self) -> bool {
        use DataType::*;
        matches!(self, Bool | UInt8 | UInt16 | UInt32 | UInt64 | UInt128 | UInt256)
    }

    pub fn is_signed(&self) -> bool {
        use DataType::*;
        matches!(self, Int8 | Int16 | Int32 | Int64 | Int128 | Int256)
    }

    /// Signed or unsigned integer of any width, Bool included.
    pub fn is_integer(&self) -> bool {
        self.is_unsigned() || self.is_signed()
    }

    /// An integer of up to 64 bits: many functions take no wider one.
    pub fn is_narrow_integer(&self) -> bool {
        self.is_integer() && self.physical().width().is_some_and(|width| width <= 8)
    }

    /// The least and the greatest value of an integer of up to 64 bits.
    pub fn integer_range(&self) -> Option<RangeInclusive<i128>> {
        let bits = 8 * self.physical().width().filter(|width| *width <= 8)? as u32;
        match self {
            DataType::Bool => Some(0..=1),
            _ if self.is_unsigned() => Some(0..=(1 << bits) - 1),
            _ if self.is_signed() => Some(-(1 << (bits - 1))..=(1 << (bits - 1)) - 1),
            _ => None,
        }
    }

    pub fn is_float(&self) -> bool {
        matches!(self, DataType::BFloat16 | DataType::Float32 | DataType::Float64)
    }

    pub fn is_decimal(&self) -> bool {
        matches!(self, DataType::Decimal { .. })
    }

    /// Integer, float or decimal.
    pub fn is_number(&self) -> bool {
        self.is_integer() || self.is_float() || self.is_decimal()
    }

    /// String or FixedString.
    pub fn is_string(&self) -> bool {
        matches!(self, DataType::String | DataType::FixedString(_))
    }

    /// Date, Date32, DateTime or DateTime64.
    pub fn is_date_or_time(&self) -> bool {
        use DataType::*;
        matches!(self, Date | Date32 | DateTime(_) | DateTime64(..))
    }

    pub fn is_enum(&self) -> bool {
        matches!(self, DataType::Enum8(_) | DataType::Enum16(_))
    }

    /// Values are ordered by the numbers that represent them.
    pub fn is_comparable_by_number(&self) -> bool {
        !matches!(
            self.physical(),
            Physical::Str | Physical::Fixed(_) | Physical::List | Physical::Struct | Physical::Nothing
        )
    }

    /// The machine representation below LowCardinality and Nullable.
    pub fn physical(&self) -> Physical {
        use DataType::*;
        match self {
            Nothing => Physical::Nothing,
            Bool | UInt8 => Physical::U8,
            UInt16 | Date => Physical::U16,
            UInt32 | DateTime(_) | IPv4 => Physical::U32,
            UInt64 => Physical::U64,
            UInt128 => Physical::U128,
            UInt256 => Physical::U256,
            Int8 | Enum8(_) => Physical::I8,
            Int16 | Enum16(_) => Physical::I16,
            Int32 | Date32 | Time => Physical::I32,
            Int64 | DateTime64(..) | Time64(_) | Interval(_) => Physical::I64,
            Int128 => Physical::I128,
            Int256 => Physical::I256,
            BFloat16 => Physical::BF16,
            Float32 => Physical::F32,
            Float64 => Physical::F64,
            Decimal { precision, .. } => match precision {
                0..=9 => Physical::I32,
                10..=18 => Physical::I64,
                19..=38 => Physical::I128,
                _ => Physical::I256,
            },
            String | Variant(_) | Dynamic(_) | Json(_) | AggregateFunction(_) => Physical::Str,
            FixedString(n) => Physical::Fixed(*n),
            Uuid | IPv6 => Physical::Fixed(16),
            QBit(vectors) => vectors.physical(),
            LowCardinality(inner) | Nullable(inner) => inner.physical(),
            SimpleAggregate(named) => named.ty.physical(),
            Array(_) | Map(..) => Physical::List,
            Tuple(_) => Physical::Struct,
        }
    }

    /// The type of a list's elements: of an Array its parameter, of a Map its key-value tuple.
    pub fn element(&self) -> Option<DataType> {
        match self {
            DataType::Array(inner) => Some(DataType::clone(inner)),
            DataType::Map(key, value) => Some(DataType::Tuple(
                [("keys", key), ("values", value)]
                    .into_iter()
                    .map(|(name, ty)| TupleField { name: Some(name.into()), ty: DataType::clone(ty) })
                    .collect(),
            )),
            _ => None,
        }
    }

    /// Are there states of aggregate functions among the values, at any depth? They have no order and are not equal.
    pub fn has_states(&self) -> bool {
        match self {
            DataType::AggregateFunction(_) => true,
            DataType::LowCardinality(inner) | DataType::Nullable(inner) => inner.has_states(),
            DataType::Array(inner) => inner.has_states(),
            DataType::Map(key, value) => key.has_states() || value.has_states(),
            DataType::Tuple(fields) => fields.iter().any(|field| field.ty.has_states()),
            _ => false,
        }
    }

    /// The zone of a DateTime or DateTime64 that names one.
    pub fn time_zone(&self) -> Option<&TimeZone> {
        match self {
            DataType::DateTime(zone) | DataType::DateTime64(_, zone) => zone.as_ref(),
            _ => None,
        }
    }
}
