//! `L2DistanceTransposed`, `cosineDistanceTransposed`, `dotProductTransposed`: measures of vectors of the type QBit and an array,
//! for which only the leading bits of the elements of the vectors count.
//!
//! What the other bits would say is guessed to lie in the middle: the highest of them is set. So the kernel does, but for elements
//! whose known bits are 0, infinities and NaNs, and for floats of which not all bits of the exponent are known. (Of a sign alone it
//! makes 2 or -2.)

use crate::conversion::cast::{self, Mode, Rules};
use crate::lanes::{Operand, unary};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction,
};
use chalet_types::{DataType, QBitElement, QBitType, Value, bf16};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    L2,
    Cosine,
    DotProduct,
}

struct TransposedDistance {
    record: Record,
    measure: Measure,
}

macro_rules! distances {
    ($($name:literal, $alias:literal, $measure:ident, $summary:literal, $result:literal;)*) => {
        static FUNCTIONS: &[TransposedDistance] = &[$(TransposedDistance {
            record: Record {
                name: $name,
                any_case_aliases: &[$alias],
                summary: $summary,
                syntax: concat!($name, "(vector, reference, bits[, used_dimensions])"),
                examples: &[Example {
                    sql: concat!("SELECT round(", $name, "([0, 1]::QBit(Float64, 2), [1, 2], 16), 6)"),
                    result: $result,
                }],
                constants: Constants::Seen,
                ..Record::DEFAULT
            },
            measure: Measure::$measure,
        }),*];
    };
}

distances! {
    "L2DistanceTransposed", "distanceL2Transposed", L2,
        "The Euclidean distance of a QBit and an array, with as many leading bits of the elements of the QBit as asked for.",
        "1.392292";
    "cosineDistanceTransposed", "distanceCosineTransposed", Cosine,
        "One minus the cosine of the angle between a QBit and an array, with as many leading bits of the elements of the QBit as asked for.",
        "0.105573";
    "dotProductTransposed", "scalarProductTransposed", DotProduct,
        "The scalar product of a QBit and an array, with as many leading bits of the elements of the QBit as asked for.",
        "2.0625";
}

/// What `bind` found.
struct Plan {
    ty: QBitType,
    /// Leading bits that count.
    bits: usize,
    /// Leading elements that count.
    dimensions: usize,
}

/// A constant without a sign.
fn unsigned(arg: &Argument) -> Option<u64> {
    let fits = arg.ty.is_unsigned() && arg.ty != DataType::Bool;
    match &arg.constant {
        Some(Value::UInt(n)) if fits => Some(*n),
        _ => None,
    }
}

impl ScalarFunction for &'static TransposedDistance {
    fn record(&self) -> &'static Record {
        let function: &'static TransposedDistance = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        ensure!(
            args.len() >= 2,
            TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            "Function {name} requires at least 2 arguments, got {}",
            args.len()
        );
        let Some(&DataType::QBit(ty)) = args.first().map(|arg| &arg.ty) else {
            bail!(ILLEGAL_TYPE_OF_ARGUMENT, "First argument of function {name} must be a QBit");
        };
        ensure!(
            args.len() >= 3,
            TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            "Number of arguments for function {name} can't be {}, should be at least 3",
            args.len()
        );
        ensure!(
            args.len() <= 4,
            TOO_MANY_ARGUMENTS_FOR_FUNCTION,
            "Number of arguments for function {name} is {}. Expected 3 or 4",
            args.len()
        );
        let DataType::Array(element) = &args[1].ty else {
            bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Second argument of function {name} must be an Array");
        };
        cast::check(element, &ty.element().data_type())?;
        let Some(bits) = unsigned(&args[2]).filter(|_| args[2].ty == DataType::UInt8) else {
            let shown = if args[2].constant.is_none() { " (not constant)" } else { "" };
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "The third argument of function {name} must be a UInt8 constant, got {}{shown}",
                args[2].ty
            );
        };
        let all = ty.element().bits();
        ensure!(
            (1..=all as u64).contains(&bits),
            BAD_ARGUMENTS,
            "The third argument (precision) of function {name} must be in range [1, {all}] for {} QBit, got {bits}",
            ty.element().data_type()
        );
        let mut dimensions = ty.dimension();
        if let Some(arg) = args.get(3) {
            let Some(used) = unsigned(arg) else {
                bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "The fourth argument (used_dims) of function {name} must be a UInt constant, got {}",
                    arg.ty
                );
            };
            let fits = used > 0 && used <= dimensions as u64 && used.is_multiple_of(ty.stride() as u64);
            ensure!(
                fits,
                BAD_ARGUMENTS,
                "The fourth argument (used_dims) of function {name} must be a positive multiple of the QBit stride {} not \
                 exceeding the dimension {dimensions}, got {used}",
                ty.stride()
            );
            dimensions = used as usize;
        }
        Ok(Bound::with_state(DataType::Float64, Plan { ty, bits: bits as usize, dimensions }))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Plan { ty, bits, dimensions } = *call.state()?;
        let (vectors, arrays) = (Operand::of(call, 0), Operand::of(call, 1));
        let DataType::Array(element) = arrays.ty else {
            bail!(LOGICAL_ERROR, "{} is no array", arrays.ty);
        };
        let list = arrays.vector.list()?.normalised();
        let number = ty.element().data_type();
        let elements = cast::convert(&list.values, element, &number, &Rules::new(Mode::Cast, call.ctx))?;
        let n = elements.len();
        let references =
            unary::<f64, f64>(Operand { ty: &number, vector: &elements, constant: false }, n, |x| x)?;
        let fixed = vectors.vector.fixed()?;
        let mut out = Vec::with_capacity(call.n_rows);
        for row in 0..call.n_rows {
            let reference = &references[list.range(arrays.row(row))];
            ensure!(
                reference.len() >= dimensions,
                BAD_ARGUMENTS,
                "The reference vector in the last argument of function {} is too small. Got: {}, expected at least: {dimensions}",
                self.record.name,
                reference.len()
            );
            let vector = &fixed.get(vectors.row(row))[..dimensions * ty.element().width()];
            out.push(measured(self.measure, vector, ty.element(), bits, reference));
        }
        Ok(Vector::from(out).into())
    }
}

/// The measure of one vector.
fn measured(measure: Measure, vector: &[u8], element: QBitElement, bits: usize, reference: &[f64]) -> f64 {
    match element {
        QBitElement::Int8 => {
            let (mask, half) = cut(8, bits);
            let value = |[byte]: [u8; 1]| f64::from((byte & mask as u8 | half as u8) as i8);
            of_values(measure, vector, reference, value, Precision::Narrow)
        }
        QBitElement::BFloat16 => {
            let float = Float::new(16, 8, bits);
            let value = |bytes: [u8; 2]| {
                let known = float.guess(u16::from_le_bytes(bytes).into()) as u16;
                f64::from(f32::from(bf16::from_bits(known)))
            };
            of_values(measure, vector, reference, value, Precision::Narrow)
        }
        QBitElement::Float32 => {
            let float = Float::new(32, 8, bits);
            let value = |bytes: [u8; 4]| {
                f64::from(f32::from_bits(float.guess(u32::from_le_bytes(bytes).into()) as u32))
            };
            of_values(measure, vector, reference, value, Precision::Single)
        }
        QBitElement::Float64 => {
            let float = Float::new(64, 11, bits);
            let value = |bytes: [u8; 8]| f64::from_bits(float.guess(u64::from_le_bytes(bytes)));
            of_values(measure, vector, reference, value, Precision::Double)
        }
    }
}

/// Of the bits of a number those that are known, and the highest of the others, if there is one.
fn cut(all: usize, known: usize) -> (u64, u64) {
    let unknown = all - known;
    (u64::MAX << unknown, (1 << unknown) >> 1)
}

/// How the unknown bits of a float are guessed.
struct Float {
    mask: u64,
    half: u64,
    exponent: u64,
    magnitude: u64,
    /// Is the guess made whatever the known bits are?
    always: bool,
}

impl Float {
    /// A float with that many bits in all and in its exponent, of which the leading ones are known.
    fn new(all: usize, exponent: usize, known: usize) -> Float {
        let (mask, half) = cut(all, known);
        let magnitude = u64::MAX >> (65 - all);
        let exponent_bits = magnitude & !(magnitude >> exponent);
        let guesses = known == 1 || known > exponent;
        Float {
            mask,
            half: if guesses { half } else { 0 },
            exponent: exponent_bits,
            magnitude,
            always: known == 1,
        }
    }

    #[inline(always)]
    fn guess(&self, bits: u64) -> u64 {
        let known = bits & self.mask;
        let is_number = known & self.magnitude != 0 && known & self.exponent != self.exponent;
        if self.always || is_number { known | self.half } else { known }
    }
}

/// How exact sums are, and what is made of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Precision {
    /// Both have single precision.
    Narrow,
    /// Sums have single precision.
    Single,
    Double,
}

/// The measure over elements as floats, in the kernel's precision.
#[inline(always)]
fn of_values<const N: usize>(
    measure: Measure,
    vector: &[u8],
    reference: &[f64],
    value: impl Fn([u8; N]) -> f64,
    precision: Precision,
) -> f64 {
    let pairs = vector.as_chunks::<N>().0.iter().zip(reference).map(|(bytes, y)| (value(*bytes), *y));
    let sum = |x: f64| if precision == Precision::Double { x } else { f64::from(x as f32) };
    let result = |x: f64| if precision == Precision::Narrow { f64::from(x as f32) } else { x };
    match measure {
        Measure::L2 => result(sum(pairs.map(|(x, y)| (x - y) * (x - y)).sum()).sqrt()),
        // An empty sum of floats is -0.
        Measure::DotProduct => sum(pairs.fold(0.0, |sum, (x, y)| sum + x * y)),
        Measure::Cosine => {
            let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
            for (x, y) in pairs {
                xy += x * y;
                xx += x * x;
                yy += y * y;
            }
            if xx == 0.0 && yy == 0.0 {
                0.0
            } else if xy == 0.0 {
                1.0
            } else {
                result((1.0 - xy / (xx * yy).sqrt()).max(0.0))
            }
        }
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
