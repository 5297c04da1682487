//! Functions of numeric indexed vectors, which are states of `groupNumericIndexedVector`.

use crate::floats::integer;
use crate::numeric_vector::aggregate::raw;
use crate::numeric_vector::{Bits, Constant, NumericVector, Operation, check_types};
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Column, Data, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Record, Registry, ScalarFunction,
};
use chalet_types::{AggregateType, DataType, Value};
use std::collections::BTreeMap;

const STATES: &str = "groupNumericIndexedVector";

/// What a function makes of a vector.
#[derive(Clone, Copy)]
enum Kind {
    Build,
    ToMap,
    Cardinality,
    Sum,
    Get,
    Describe,
    Pointwise(Operation),
}

struct VectorFunction {
    record: Record,
    kind: Kind,
}

macro_rules! functions {
    ($($name:literal $arguments:literal $summary:literal $sql:literal $result:literal $kind:expr;)*) => {
        static ALL: &[VectorFunction] = &[$(VectorFunction {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(", $arguments, ")"),
                examples: &[Example {
                    sql: concat!("WITH numericIndexedVectorBuild(map(1, 10, 2, 20)) AS a, numericIndexedVectorBuild(map(2, 20, 3, 30)) AS b SELECT ", $sql),
                    result: $result,
                }],
                dictionaries: Dictionaries::Decoded,
                ..Record::DEFAULT
            },
            kind: $kind,
        }),*];
    };
}

functions! {
    "numericIndexedVectorBuild" "map" "The vector of the keys and values of a map."
        "numericIndexedVectorToMap(a), numericIndexedVectorToMap(numericIndexedVectorBuild(map(5, 6)))" "{1:10,2:20}\t{5:6}" Kind::Build;
    "numericIndexedVectorToMap" "vector" "The indexes and values of a vector as a map." "numericIndexedVectorToMap(b)" "{2:20,3:30}" Kind::ToMap;
    "numericIndexedVectorCardinality" "vector" "How many indexes a vector has." "numericIndexedVectorCardinality(a)" "2" Kind::Cardinality;
    "numericIndexedVectorAllValueSum" "vector" "The sum of the values of a vector." "numericIndexedVectorAllValueSum(a)" "30" Kind::Sum;
    "numericIndexedVectorGetValue" "vector, index" "The value at an index, or 0." "numericIndexedVectorGetValue(a, 2)" "20" Kind::Get;
    "numericIndexedVectorShortDebugString" "vector" "What a vector is made of, as JSON."
        "JSONExtractInt(numericIndexedVectorShortDebugString(a), 'integer_bit_num')" "8" Kind::Describe;
    "numericIndexedVectorPointwiseAdd" "vector, other" "The sums of the values at each index of two vectors, or of one and a number."
        "numericIndexedVectorToMap(numericIndexedVectorPointwiseAdd(a, b))" "{1:10,2:40,3:30}" Kind::Pointwise(Operation::Add);
    "numericIndexedVectorPointwiseSubtract" "vector, other" "The differences of the values at each index of two vectors, or of one and a number."
        "numericIndexedVectorToMap(numericIndexedVectorPointwiseSubtract(a, 5))" "{1:5,2:15}" Kind::Pointwise(Operation::Subtract);
    "numericIndexedVectorPointwiseMultiply" "vector, other" "The products of the values at each index of two vectors, or of one and a number."
        "numericIndexedVectorToMap(numericIndexedVectorPointwiseMultiply(a, 3))" "{1:30,2:60}" Kind::Pointwise(Operation::Multiply);
    "numericIndexedVectorPointwiseDivide" "vector, other" "The quotients of the values at each index of two vectors, or of one and a number; 0 where the divisor is."
        "numericIndexedVectorToMap(numericIndexedVectorPointwiseDivide(a, b))" "{1:0,2:1,3:0}" Kind::Pointwise(Operation::Divide);
    "numericIndexedVectorPointwiseEqual" "vector, other" "1 at each index where the values are equal."
        "numericIndexedVectorToMap(numericIndexedVectorPointwiseEqual(a, b))" "{2:1}" Kind::Pointwise(Operation::Equal);
    "numericIndexedVectorPointwiseNotEqual" "vector, other" "1 at each index where the values differ."
        "numericIndexedVectorToMap(numericIndexedVectorPointwiseNotEqual(a, b))" "{1:1,3:1}" Kind::Pointwise(Operation::NotEqual);
    "numericIndexedVectorPointwiseLess" "vector, other" "1 at each index where the first value is less."
        "numericIndexedVectorToMap(numericIndexedVectorPointwiseLess(a, b))" "{3:1}" Kind::Pointwise(Operation::Less);
    "numericIndexedVectorPointwiseLessEqual" "vector, other" "1 at each index where the first value is not greater."
        "numericIndexedVectorToMap(numericIndexedVectorPointwiseLessEqual(a, b))" "{2:1,3:1}" Kind::Pointwise(Operation::LessEqual);
    "numericIndexedVectorPointwiseGreater" "vector, other" "1 at each index where the first value is greater."
        "numericIndexedVectorToMap(numericIndexedVectorPointwiseGreater(a, b))" "{1:1}" Kind::Pointwise(Operation::Greater);
    "numericIndexedVectorPointwiseGreaterEqual" "vector, other" "1 at each index where the first value is not less."
        "numericIndexedVectorToMap(numericIndexedVectorPointwiseGreaterEqual(a, b))" "{1:1,2:1}" Kind::Pointwise(Operation::GreaterEqual);
}

pub fn register(registry: &mut Registry) {
    ALL.iter().for_each(|function| registry.add_scalar(function));
}

/// The types of the indexes and values of vectors of a type.
fn vector_types(ty: &DataType) -> Option<(&DataType, &DataType)> {
    match ty {
        DataType::AggregateFunction(states) if states.function() == STATES => match states.arguments() {
            [index, value] => Some((index.without_nullable(), value.without_nullable())),
            _ => None,
        },
        _ => None,
    }
}

fn checked<'a>(name: &str, args: &'a [Argument]) -> Result<(&'a DataType, &'a DataType)> {
    let Some(types) = vector_types(&args[0].ty) else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument for function {name} must be a NumericIndexedVector but it has type {}",
            args[0].ty
        );
    };
    Ok(types)
}

impl ScalarFunction for &'static VectorFunction {
    fn record(&self) -> &'static Record {
        &self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        let arity = if matches!(self.kind, Kind::Get | Kind::Pointwise(_)) { 2 } else { 1 };
        check_arity(name, args.len(), arity..=arity)?;
        if let Kind::Build = self.kind {
            let DataType::Map(index, value) = &args[0].ty else {
                bail!(ILLEGAL_TYPE_OF_ARGUMENT, "The argument for function {name} must be Map type");
            };
            check_types(index, value)?;
            let ty =
                AggregateType::new(None, STATES, Vec::new(), vec![(**index).clone(), (**value).clone()])?;
            return Ok(DataType::AggregateFunction(ty.into()).into());
        }
        let (index, value) = checked(name, args)?;
        if arity == 2 {
            let other = &args[1].ty;
            if let (Kind::Pointwise(_), Some(types)) = (self.kind, vector_types(other)) {
                ensure!(
                    types == (index, value),
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "The nested types in NumericIndexedVector must be the same, but one is ({index}, {value}), and the other is ({}, \
                     {})",
                    types.0,
                    types.1
                );
            } else {
                ensure!(
                    other.is_integer() || other.is_float(),
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Second argument for function {name} must be a number but it has type {other}"
                );
            }
        }
        Ok(match self.kind {
            Kind::Build | Kind::Pointwise(_) => args[0].ty.clone(),
            Kind::ToMap => DataType::map(index.clone(), value.clone()),
            Kind::Cardinality => DataType::UInt64,
            Kind::Sum => DataType::Float64,
            Kind::Get => value.clone(),
            Kind::Describe => DataType::String,
        }
        .into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        match self.kind {
            Kind::Build => build(call),
            Kind::ToMap => to_map(call),
            Kind::Pointwise(operation) => pointwise(call, operation),
            Kind::Cardinality => {
                let counts = vectors(call.vector(0))?.map(|vector| Ok(vector?.pairs.len() as u64));
                Ok(Vector::from(counts.collect::<Result<Vec<u64>>>()?).into())
            }
            Kind::Sum => {
                let sums = vectors(call.vector(0))?.map(|vector| Ok(vector?.sum()));
                Ok(Vector::from(sums.collect::<Result<Vec<f64>>>()?).into())
            }
            Kind::Get => {
                let mut out = Builder::new(call.result);
                for (row, vector) in vectors(call.vector(0))?.enumerate() {
                    let vector = vector?;
                    let index = match constant(&call.vector(1).data, row) {
                        Constant::Integer(index) => index,
                        Constant::Float(index) => index as i64,
                    };
                    push(vector.bits, vector.get(index).unwrap_or(0), &mut out)?;
                }
                Ok(out.finish().into())
            }
            Kind::Describe => {
                let mut out = StringBuilder::with_capacity(call.n_rows);
                let types = vector_types(call.args[0].ty);
                for vector in vectors(call.vector(0))? {
                    out.push(describe(&vector?, types).as_bytes());
                }
                Ok(Vector::from(out.finish()).into())
            }
        }
    }
}

fn vectors(vector: &Vector) -> Result<impl Iterator<Item = Result<NumericVector>> + '_> {
    Ok(vector.strings()?.iter().map(|mut bytes| NumericVector::take(&mut bytes)))
}

fn constant(data: &Data, row: usize) -> Constant {
    match data {
        Data::F32(values) => Constant::Float(values[row].into()),
        Data::F64(values) => Constant::Float(values[row]),
        other => Constant::Integer(integer(other, row).as_i64()),
    }
}

fn put(vector: &NumericVector, out: &mut StringBuilder) {
    out.push_with(|bytes| vector.put(bytes));
}

fn build(call: &Call) -> Result<Column> {
    let list = call.vector(0).list()?;
    let pairs = list.values.structure()?;
    let DataType::Map(_, ty) = call.args[0].ty else {
        bail!(LOGICAL_ERROR, "A vector is built of no map");
    };
    let Some(bits) = Bits::of(ty) else {
        bail!(LOGICAL_ERROR, "Values of vectors are of type {ty}");
    };
    let mut out = StringBuilder::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let mut sums: BTreeMap<i64, i64> = BTreeMap::new();
        for at in list.range(row) {
            let value = raw(bits, &pairs.fields[1].data, at)?;
            let sum = sums.entry(integer(&pairs.fields[0].data, at).as_i64()).or_insert(0);
            *sum = bits.wrap(sum.wrapping_add(value));
        }
        put(&NumericVector { bits, pairs: sums.into_iter().collect() }, &mut out);
    }
    Ok(Vector::from(out.finish()).into())
}

fn pointwise(call: &Call, operation: Operation) -> Result<Column> {
    let mut out = StringBuilder::with_capacity(call.n_rows);
    let other = call.vector(1);
    if vector_types(call.args[1].ty).is_some() {
        for (a, b) in vectors(call.vector(0))?.zip(vectors(other)?) {
            put(&a?.with(&b?, operation), &mut out);
        }
    } else {
        for (row, vector) in vectors(call.vector(0))?.enumerate() {
            put(&vector?.with_constant(constant(&other.data, row), operation)?, &mut out);
        }
    }
    Ok(Vector::from(out.finish()).into())
}

/// Appends a value in the type of the vector's values.
fn push(bits: Bits, raw: i64, out: &mut Builder) -> Result<()> {
    let value = match (&out.values, bits.signed) {
        (Values::F32(_) | Values::F64(_), _) => Value::Float(bits.number(raw)),
        (_, true) => Value::Int(raw),
        (_, false) => Value::UInt(raw as u64),
    };
    out.push_value(&value)
}

fn to_map(call: &Call) -> Result<Column> {
    let mut out = Builder::new(call.result);
    for vector in vectors(call.vector(0))? {
        let vector = vector?;
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "A map is not a list");
        };
        let Values::Struct { fields, len } = &mut list.values.values else {
            bail!(LOGICAL_ERROR, "A map is not a list of pairs");
        };
        for &(index, value) in &vector.pairs {
            crate::floats::push_integer(index.into(), &mut fields[0])?;
            push(vector.bits, value, &mut fields[1])?;
            *len += 1;
        }
        list.close();
    }
    Ok(out.finish().into())
}

/// The kernel's name of a type in its own language.
fn own_name(ty: &DataType) -> &'static str {
    match ty {
        DataType::UInt8 => "char8_t",
        DataType::UInt16 => "unsigned short",
        DataType::UInt32 => "unsigned int",
        DataType::UInt64 => "unsigned long",
        DataType::Int8 => "_BitInt(8)",
        DataType::Int16 => "short",
        DataType::Int32 => "int",
        DataType::Int64 => "long",
        DataType::Float32 => "float",
        _ => "double",
    }
}

fn describe(vector: &NumericVector, types: Option<(&DataType, &DataType)>) -> String {
    let NumericVector { bits, pairs } = vector;
    let names = types.map_or(("", ""), |(index, value)| (own_name(index), own_name(value)));
    let zeros = pairs.iter().filter(|pair| pair.1 == 0).count();
    let of_bit = |bit: u32| {
        let count = pairs.iter().filter(|pair| pair.1 >> bit & 1 == 1).count();
        format!("\"{bit}\":{count}")
    };
    let counts: Vec<String> = (0..bits.total()).map(of_bit).collect();
    format!(
        "{{\"vector_type\":\"BSI\",\"index_type\":\"{}\",\"value_type\":\"{}\",\"integer_bit_num\":{},\"fraction_bit_num\":{},\
         \"zero_indexes_info\":{{\"cardinality\":{zeros}}},\"non_zero_indexes_info\":{{\"total_cardinality\":{},\"all_value_sum\":{},\
         \"number_of_bitmaps\":{},\"bitmap_info\":{{\"cardinality\":{{{}}}}}}}}}",
        names.0,
        names.1,
        bits.whole,
        bits.fraction,
        pairs.len(),
        vector.sum(),
        bits.total(),
        counts.join(",")
    )
}
