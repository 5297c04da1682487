//! Functions of bitmaps, which are states of `groupBitmap`: one description each, with what it does to the bitmaps of a row.

use crate::bitmap::combine::element_type;
use crate::bitmap::{Bitmap, Element};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_types::{AggregateType, DataType, Value};

/// What a function makes of one or two bitmaps.
enum Operation {
    /// Another bitmap.
    Combine(fn(&Bitmap, &Bitmap) -> Bitmap),
    /// How many numbers that one has.
    Count(fn(&Bitmap, &Bitmap) -> Bitmap),
    Test(fn(&Bitmap, &Bitmap) -> bool),
    /// Of one bitmap.
    Measure(fn(&Bitmap, Element) -> u64),
}

struct BitmapFunction {
    record: Record,
    operation: Operation,
}

macro_rules! functions {
    ($($constant:ident $name:literal $syntax:literal $summary:literal $sql:literal $result:literal $operation:expr;)*) => {
        $(static $constant: BitmapFunction = BitmapFunction {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                ..Record::DEFAULT
            },
            operation: $operation,
        };)*
        const ALL: &[&BitmapFunction] = &[$(&$constant),*];
    };
}

functions! {
    AND "bitmapAnd" "bitmapAnd(a, b)" "The numbers that are in both bitmaps."
        "SELECT bitmapToArray(bitmapAnd(bitmapBuild([1, 2]), bitmapBuild([2, 3])))" "[2]" Operation::Combine(Bitmap::and);
    OR "bitmapOr" "bitmapOr(a, b)" "The numbers that are in either bitmap."
        "SELECT bitmapToArray(bitmapOr(bitmapBuild([1, 2]), bitmapBuild([2, 3])))" "[1,2,3]" Operation::Combine(Bitmap::or);
    XOR "bitmapXor" "bitmapXor(a, b)" "The numbers that are in one of the bitmaps only."
        "SELECT bitmapToArray(bitmapXor(bitmapBuild([1, 2]), bitmapBuild([2, 3])))" "[1,3]" Operation::Combine(Bitmap::xor);
    AND_NOT "bitmapAndnot" "bitmapAndnot(a, b)" "The numbers of the first bitmap that are not in the second."
        "SELECT bitmapToArray(bitmapAndnot(bitmapBuild([1, 2]), bitmapBuild([2, 3])))" "[1]"
        Operation::Combine(Bitmap::and_not);
    AND_COUNT "bitmapAndCardinality" "bitmapAndCardinality(a, b)" "How many numbers are in both bitmaps."
        "SELECT bitmapAndCardinality(bitmapBuild([1, 2]), bitmapBuild([2, 3]))" "1" Operation::Count(Bitmap::and);
    OR_COUNT "bitmapOrCardinality" "bitmapOrCardinality(a, b)" "How many numbers are in either bitmap."
        "SELECT bitmapOrCardinality(bitmapBuild([1, 2]), bitmapBuild([2, 3]))" "3" Operation::Count(Bitmap::or);
    XOR_COUNT "bitmapXorCardinality" "bitmapXorCardinality(a, b)" "How many numbers are in one of the bitmaps only."
        "SELECT bitmapXorCardinality(bitmapBuild([1, 2]), bitmapBuild([2, 3]))" "2" Operation::Count(Bitmap::xor);
    AND_NOT_COUNT "bitmapAndnotCardinality" "bitmapAndnotCardinality(a, b)"
        "How many numbers of the first bitmap are not in the second."
        "SELECT bitmapAndnotCardinality(bitmapBuild([1, 2]), bitmapBuild([2, 3]))" "1" Operation::Count(Bitmap::and_not);
    HAS_ANY "bitmapHasAny" "bitmapHasAny(a, b)" "Have the bitmaps a number in common?"
        "SELECT bitmapHasAny(bitmapBuild([1, 2]), bitmapBuild([2, 3]))" "1"
        Operation::Test(|a, b| !a.and(b).values().is_empty());
    HAS_ALL "bitmapHasAll" "bitmapHasAll(a, b)" "Are all numbers of the second bitmap in the first?"
        "SELECT bitmapHasAll(bitmapBuild([1, 2]), bitmapBuild([2, 3]))" "0"
        Operation::Test(|a, b| b.values().iter().all(|value| a.contains(*value)));
    CARDINALITY "bitmapCardinality" "bitmapCardinality(bitmap)" "How many numbers are in the bitmap."
        "SELECT bitmapCardinality(bitmapBuild([1, 2, 2]))" "2" Operation::Measure(|bitmap, _| bitmap.values().len() as u64);
    MIN "bitmapMin" "bitmapMin(bitmap)" "The smallest number of the bitmap; of none, the largest of 32 or 64 bits."
        "SELECT bitmapMin(bitmapBuild([3, 5]))" "3" Operation::Measure(|bitmap, element| {
            let least = bitmap.values().iter().map(|&held| element.unsigned(held)).min();
            least.unwrap_or(if element.is_wide() { u64::MAX } else { u32::MAX.into() })
        });
    MAX "bitmapMax" "bitmapMax(bitmap)" "The largest number of the bitmap; 0 of none."
        "SELECT bitmapMax(bitmapBuild([3, 5]))" "5"
        Operation::Measure(|bitmap, element| {
            bitmap.values().iter().map(|&held| element.unsigned(held)).max().unwrap_or(0)
        });
}

pub fn register(registry: &mut Registry) {
    ALL.iter().for_each(|&function| registry.add_scalar(function));
}

/// The numbers of a bitmap argument.
pub fn bitmap_argument(function: &str, args: &[Argument], index: usize) -> Result<(DataType, Element)> {
    let ty = &args[index].ty;
    let found = element_type(ty).and_then(|ty| Some((ty.clone(), Element::of(ty)?)));
    let Some(found) = found else {
        let which = ["First", "Second"].get(index).copied().unwrap_or("Third");
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "{which} argument for function {function} must be a bitmap but it has type {ty}"
        );
    };
    Ok(found)
}

/// The type of bitmaps of numbers of a type.
pub fn bitmap_type(element: &DataType) -> Result<DataType> {
    let ty = AggregateType::new(None, "groupBitmap", Vec::new(), vec![element.clone()])?;
    Ok(DataType::AggregateFunction(ty.into()))
}

/// The bitmap of each row of an argument.
pub fn bitmaps(vector: &Vector, element: Element) -> Result<impl Iterator<Item = Result<Bitmap>> + '_> {
    Ok(vector.strings()?.iter().map(move |mut bytes| Bitmap::take(element, &mut bytes)))
}

impl ScalarFunction for &'static BitmapFunction {
    fn record(&self) -> &'static Record {
        &self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        let arity = if matches!(self.operation, Operation::Measure(_)) { 1 } else { 2 };
        check_arity(name, args.len(), arity..=arity)?;
        let (ty, element) = bitmap_argument(name, args, 0)?;
        if arity == 2 {
            let (other, _) = bitmap_argument(name, args, 1)?;
            ensure!(
                ty == other,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "The nested type in bitmaps must be the same, but one is {ty}, and the other is {other}"
            );
        }
        let result = match self.operation {
            Operation::Combine(_) => bitmap_type(&ty)?,
            Operation::Count(_) | Operation::Measure(_) => DataType::UInt64,
            Operation::Test(_) => DataType::UInt8,
        };
        Ok(Bound::with_state(result, element))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let &element = call.state::<Element>()?;
        let first = bitmaps(call.vector(0), element)?;
        if let Operation::Measure(measure) = self.operation {
            let values = first.map(|bitmap| Ok(measure(&bitmap?, element))).collect::<Result<Vec<u64>>>()?;
            return Ok(Vector::from(values).into());
        }
        let pairs = first.zip(bitmaps(call.vector(1), element)?).map(|(a, b)| Ok((a?, b?)));
        Ok(match self.operation {
            Operation::Combine(combine) => {
                let mut out = StringBuilder::with_capacity(call.n_rows);
                for pair in pairs {
                    let (a, b) = pair?;
                    out.push_with(|bytes| combine(&a, &b).put(element, bytes));
                }
                Vector::from(out.finish()).into()
            }
            Operation::Test(test) => {
                let tested = pairs.map(|pair: Result<_>| pair.map(|(a, b)| u8::from(test(&a, &b))));
                Vector::from(tested.collect::<Result<Vec<u8>>>()?).into()
            }
            Operation::Count(combine) => {
                let count = |(a, b): (Bitmap, Bitmap)| combine(&a, &b).values().len() as u64;
                let counts = pairs.map(|pair: Result<_>| pair.map(count));
                Vector::from(counts.collect::<Result<Vec<u64>>>()?).into()
            }
            Operation::Measure(_) => bail!(LOGICAL_ERROR, "{} takes one bitmap", self.record.name),
        })
    }
}

/// Appends numbers as they are held to a list of their type.
pub fn push_numbers(values: &[u64], element: Element, out: &mut Builder) -> Result<()> {
    for &held in values {
        let value = element.value(held);
        let value = if element.signed { Value::Int(value as i64) } else { Value::UInt(value) };
        out.push_value(&value)?;
    }
    Ok(())
}
