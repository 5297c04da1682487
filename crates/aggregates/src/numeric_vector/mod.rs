//! Sparse vectors of numbers: integers as indexes, each with a value of fixed point. They are the states of
//! `groupNumericIndexedVector`.
//!
//! - [`aggregate`]: the aggregate itself
//!
//! The kernel keeps a bitmap of indexes per bit of the values. Here the pairs are kept, in order of the indexes: what is asked of these
//! vectors goes over all of them anyway, and arithmetic on pairs needs no bit by bit carry.

pub mod aggregate;

use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::{put_len, take_array, take_count, take_u8};
use chalet_types::DataType;
use std::cmp::Ordering;

/// How the values of a vector are held: so many bits before the binary point and behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    pub whole: u8,
    pub fraction: u8,
    pub signed: bool,
    pub float: bool,
}

impl Bits {
    /// Those of values of a type, where the user asks for no others.
    pub fn of(ty: &DataType) -> Option<Bits> {
        let integer = |whole, signed| Some(Bits { whole, fraction: 0, signed, float: false });
        match ty {
            DataType::UInt8 => integer(8, false),
            DataType::UInt16 => integer(16, false),
            DataType::UInt32 => integer(32, false),
            DataType::UInt64 => integer(64, false),
            DataType::Int8 => integer(8, true),
            DataType::Int16 => integer(16, true),
            DataType::Int32 => integer(32, true),
            DataType::Int64 => integer(64, true),
            DataType::Float32 | DataType::Float64 => {
                Some(Bits { whole: 40, fraction: 24, signed: true, float: true })
            }
            _ => None,
        }
    }

    /// All bits of a value.
    pub fn total(self) -> u32 {
        u32::from(self.whole) + u32::from(self.fraction)
    }

    /// Keeps as many bits as there are, the highest as the sign.
    pub fn wrap(self, raw: i64) -> i64 {
        let unused = 64 - self.total();
        match (unused, self.signed) {
            (64.., _) => 0,
            (_, true) => raw << unused >> unused,
            (_, false) => ((raw as u64) << unused >> unused) as i64,
        }
    }

    /// A number, cut off behind its last bit.
    pub fn raw(self, x: f64) -> Result<i64> {
        ensure!(!x.is_nan(), INCORRECT_DATA, "NumericIndexedVector does not support NaN");
        ensure!(x.is_finite(), INCORRECT_DATA, "NumericIndexedVector does not support Inf");
        let scaled = x * self.unit();
        ensure!(
            scaled.abs() < 9_223_372_036_854_775_808.0,
            INCORRECT_DATA,
            "Value {x} is out of range for BSI with integer_bit_num={} and fraction_bit_num={}",
            self.whole,
            self.fraction
        );
        Ok(self.wrap(scaled as i64))
    }

    /// The same of what operations give: what is too large for 64 bits without a sign has all of them, what is too small for 64 bits
    /// with one has none.
    fn saturated(self, x: f64) -> i64 {
        let scaled = x * self.unit();
        self.wrap(match scaled {
            0.0.. => scaled as u64 as i64,
            _ if scaled < i64::MIN as f64 => 0,
            _ => scaled as i64,
        })
    }

    /// The product of two integers, exactly where it fits.
    fn product(self, a: i64, b: i64) -> i64 {
        let wide = |raw: i64| if self.signed { i128::from(raw) } else { i128::from(raw as u64) };
        let Some(product) = wide(a).checked_mul(wide(b)) else { return self.wrap(-1) };
        self.wrap(match product {
            0.. => u64::try_from(product).unwrap_or(u64::MAX) as i64,
            _ => i64::try_from(product).unwrap_or(0),
        })
    }

    /// The number that bits stand for.
    pub fn number(self, raw: i64) -> f64 {
        if self.signed { raw as f64 / self.unit() } else { raw as u64 as f64 }
    }

    fn unit(self) -> f64 {
        (1u64 << self.fraction) as f64
    }
}

/// An operation on the values of each index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Operation {
    /// The value, or 1 where a comparison is true and nothing where it is not.
    fn apply(self, bits: Bits, a: i64, b: i64) -> Option<i64> {
        let order = if bits.signed { a.cmp(&b) } else { (a as u64).cmp(&(b as u64)) };
        let is_true = match self {
            Operation::Add => return Some(bits.wrap(a.wrapping_add(b))),
            Operation::Subtract => return Some(bits.wrap(a.wrapping_sub(b))),
            Operation::Multiply if bits.float => {
                return Some(bits.saturated(bits.number(a) * bits.number(b)));
            }
            Operation::Multiply => return Some(bits.product(a, b)),
            Operation::Divide if b == 0 => return Some(0),
            Operation::Divide if bits.float => {
                return Some(bits.saturated(bits.number(a) / bits.number(b)));
            }
            Operation::Divide if bits.signed => return Some(bits.wrap(a.wrapping_div(b))),
            Operation::Divide => return Some((a as u64 / b as u64) as i64),
            Operation::Equal => order.is_eq(),
            Operation::NotEqual => order.is_ne(),
            Operation::Less => order.is_lt(),
            Operation::LessEqual => order.is_le(),
            Operation::Greater => order.is_gt(),
            Operation::GreaterEqual => order.is_ge(),
        };
        is_true.then(|| bits.wrap(1 << bits.fraction))
    }
}

/// The number beside a vector.
#[derive(Clone, Copy)]
pub enum Constant {
    Integer(i64),
    Float(f64),
}

/// A vector: pairs of index and value in order of the indexes.
#[derive(Clone)]
pub struct NumericVector {
    pub bits: Bits,
    pub pairs: Vec<(i64, i64)>,
}

impl NumericVector {
    /// With another vector; an index that only one of them has is 0 in the other.
    pub fn with(&self, other: &NumericVector, operation: Operation) -> NumericVector {
        let bits = Bits {
            whole: self.bits.whole.max(other.bits.whole),
            fraction: self.bits.fraction.max(other.bits.fraction),
            ..self.bits
        };
        let (left, right) = (bits.fraction - self.bits.fraction, bits.fraction - other.bits.fraction);
        let (mut a, mut b) = (self.pairs.iter().peekable(), other.pairs.iter().peekable());
        let mut pairs = Vec::with_capacity(self.pairs.len().max(other.pairs.len()));
        loop {
            let order = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(x), Some(y)) => x.0.cmp(&y.0),
            };
            let x = if order.is_le() { a.next() } else { None };
            let y = if order.is_ge() { b.next() } else { None };
            let index = x.or(y).map_or(0, |pair| pair.0);
            let (x, y) = (x.map_or(0, |pair| pair.1 << left), y.map_or(0, |pair| pair.1 << right));
            pairs.extend(operation.apply(bits, x, y).map(|value| (index, value)));
        }
        NumericVector { bits, pairs }
    }

    /// With the same number at each index.
    pub fn with_constant(&self, constant: Constant, operation: Operation) -> Result<NumericVector> {
        let bits = self.bits;
        let raw = match constant {
            Constant::Integer(x) if bits.float => bits.raw(x as f64)?,
            Constant::Integer(x) => bits.wrap(x),
            Constant::Float(x) => bits.raw(x)?,
        };
        let exact = match constant {
            Constant::Float(x) if bits.float => Some(x),
            Constant::Integer(x) if bits.float => Some(x as f64),
            _ => None,
        };
        let value = |a: i64| match (operation, exact) {
            // The number itself is not cut off, and products with it are those of floats.
            (Operation::Multiply, Some(x)) => Some(bits.saturated(bits.number(a) * x)),
            (Operation::Multiply, None) => Some(
                bits.saturated(bits.number(a) * if bits.signed { raw as f64 } else { raw as u64 as f64 }),
            ),
            (Operation::Divide, Some(0.0)) => Some(0),
            (Operation::Divide, Some(x)) => Some(bits.saturated(bits.number(a) / x)),
            _ => operation.apply(bits, a, raw),
        };
        let pairs = self.pairs.iter().filter_map(|&(index, a)| Some((index, value(a)?))).collect();
        Ok(NumericVector { bits, pairs })
    }

    /// The sum of all values.
    pub fn sum(&self) -> f64 {
        sum(self.bits, self.pairs.iter().map(|pair| pair.1))
    }

    /// The value at an index.
    pub fn get(&self, index: i64) -> Option<i64> {
        let at = self.pairs.binary_search_by_key(&index, |pair| pair.0).ok()?;
        Some(self.pairs[at].1)
    }

    /// Appends the vector as bytes.
    pub fn put(&self, out: &mut Vec<u8>) {
        let Bits { whole, fraction, signed, float } = self.bits;
        out.extend([whole, fraction, u8::from(signed) | u8::from(float) << 1]);
        put_len(self.pairs.len(), out);
        for (index, value) in &self.pairs {
            out.extend(index.to_le_bytes());
            out.extend(value.to_le_bytes());
        }
    }

    /// Takes what `put` wrote.
    pub fn take(bytes: &mut &[u8]) -> Result<NumericVector> {
        let (whole, fraction, flags) = (take_u8(bytes)?, take_u8(bytes)?, take_u8(bytes)?);
        let bits = Bits { whole, fraction, signed: flags & 1 != 0, float: flags & 2 != 0 };
        if bits.total() > 64 || fraction > 24 || flags > 3 {
            bail!(INCORRECT_DATA, "A numeric indexed vector has values of {} bits", bits.total());
        }
        let mut pairs = Vec::new();
        for _ in 0..take_count(bytes, 16)? {
            let index = i64::from_le_bytes(take_array(bytes)?);
            pairs.push((index, i64::from_le_bytes(take_array(bytes)?)));
        }
        Ok(NumericVector { bits, pairs })
    }
}

/// The sum of values.
pub fn sum(bits: Bits, values: impl Iterator<Item = i64>) -> f64 {
    let total: i128 = values.map(|raw| if bits.signed { raw.into() } else { i128::from(raw as u64) }).sum();
    total as f64 / bits.unit()
}

/// Fails unless the types of indexes and values are those that vectors take.
pub fn check_types(index: &DataType, value: &DataType) -> Result<Bits> {
    let name = "groupNumericIndexedVector";
    ensure!(
        index.is_integer(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The type {index} of argument for aggregate function {name} is illegal, because it cannot be used in bit operations"
    );
    ensure!(
        index.physical().width().is_some_and(|width| width <= 4),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The first argument type must be one of Int8, Int16, Int32, UInt8, UInt16, UInt32 in BSI"
    );
    match Bits::of(value) {
        Some(bits) => Ok(bits),
        None => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The second argument type must be one of Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float32, Float64"
        ),
    }
}
