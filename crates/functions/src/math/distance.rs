//! Distances between vectors given as arrays or tuples, norms, and scalar products.

use super::float_function::floats;
use super::vector_sums::{self, Real, cosine_distance, dot_product, squared_distance};
use crate::lanes::{Operand, unary};
use chalet_base::simd_dispatch::dispatch_fma;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Buf, Column, List, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction,
};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, TupleField};
use std::ops::Add;
use std::sync::Arc;

/// What is computed from the differences (of a distance) or the elements (of a norm).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    L1,
    L2,
    L2Squared,
    Linf,
    Lp,
    /// One minus the cosine of the angle.
    Cosine,
}

impl Measure {
    fn of(self, x: impl Iterator<Item = f64>, p: f64) -> f64 {
        match self {
            Measure::L1 => x.map(f64::abs).fold(0.0, f64::add),
            Measure::L2 => x.map(|x| x * x).fold(0.0, f64::add).sqrt(),
            Measure::L2Squared => x.map(|x| x * x).fold(0.0, f64::add),
            Measure::Linf => x.map(f64::abs).fold(0.0, f64::max),
            Measure::Lp => x.map(|x| x.abs().powf(p)).sum::<f64>().powf(1.0 / p),
            Measure::Cosine => f64::NAN,
        }
    }

    fn distance(self, x: &[f64], y: &[f64], p: f64) -> f64 {
        if self == Measure::Cosine {
            let product: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
            let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            return 1.0 - product / (norm(x) * norm(y));
        }
        self.of(x.iter().zip(y).map(|(x, y)| x - y), p)
    }

    /// The distance of arrays. `in_register`: one of them is the same for all rows, and both have the result's type.
    #[inline(always)]
    fn of_arrays<T: Real, const FUSED: bool>(self, x: &[T], y: &[T], p: f64, in_register: bool) -> T {
        let difference = |x: T, y: T| (x - y).magnitude();
        match self {
            Measure::L1 => vector_sums::sum::<T, 8>(x, y, |sum, x, y| sum + difference(x, y)),
            Measure::L2 => squared_distance::<T, FUSED>(x, y, in_register).root(),
            Measure::L2Squared => squared_distance::<T, FUSED>(x, y, false),
            Measure::Linf => x.iter().zip(y).map(|(x, y)| difference(*x, *y)).fold(T::default(), greater),
            Measure::Lp => {
                let p = T::narrowed(p);
                let sum = vector_sums::sum::<T, 8>(x, y, |sum, x, y| sum + difference(x, y).power(p));
                sum.power(T::from(1.0) / p)
            }
            Measure::Cosine => cosine_distance::<T, FUSED>(x, y, in_register),
        }
    }

    /// The norm of an array.
    #[inline(always)]
    fn of_array<T: Real, const FUSED: bool>(self, x: &[T], p: f64) -> T {
        let squares = || dot_product::<T, FUSED>(x, x, true);
        match self {
            Measure::L1 => vector_sums::sum::<T, 16>(x, x, |sum, x, _| sum + x.magnitude()),
            Measure::L2 => squares().root(),
            Measure::L2Squared => squares(),
            Measure::Linf => x.iter().map(|x| x.magnitude()).fold(T::default(), greater),
            Measure::Lp => {
                let p = T::narrowed(p);
                let sum = vector_sums::sum::<T, 16>(x, x, |sum, x, _| sum + x.magnitude().power(p));
                sum.power(T::from(1.0) / p)
            }
            Measure::Cosine => T::narrowed(f64::NAN),
        }
    }
}

#[inline(always)]
fn greater<T: Real>(a: T, b: T) -> T {
    if a < b { b } else { a }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Distance,
    Norm,
    Normalize,
}

struct Geometry {
    record: Record,
    measure: Measure,
    shape: Shape,
}

macro_rules! geometry {
    ($($name:literal, $alias:literal, $measure:ident, $shape:ident, $summary:literal, $syntax:literal, $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Geometry] = &[$(Geometry {
            record: Record {
                name: $name,
                any_case_aliases: &[$alias],
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                ..Record::DEFAULT
            },
            measure: Measure::$measure,
            shape: Shape::$shape,
        }),*];
    };
}

geometry! {
    "L1Distance", "distanceL1", L1, Distance, "The sum of the absolute differences of two vectors.", "L1Distance(x, y)",
        "SELECT L1Distance((1, 2), (2, 4)), L1Distance([1, 2], [2, 4])" => "3\t3";
    "L2Distance", "distanceL2", L2, Distance, "The Euclidean distance of two vectors.", "L2Distance(x, y)",
        "SELECT L2Distance([0, 0], [3, 4])" => "5";
    "L2SquaredDistance", "distanceL2Squared", L2Squared, Distance, "The square of the Euclidean distance of two vectors.",
        "L2SquaredDistance(x, y)", "SELECT L2SquaredDistance([0, 0], [3, 4])" => "25";
    "LinfDistance", "distanceLinf", Linf, Distance, "The greatest absolute difference of two vectors.", "LinfDistance(x, y)",
        "SELECT LinfDistance((1, 2), (2, 4))" => "2";
    "LpDistance", "distanceLp", Lp, Distance, "The distance of two vectors in the norm of the given power.", "LpDistance(x, y, p)",
        "SELECT LpDistance([0, 0], [3, 4], 2)" => "5";
    "cosineDistance", "distanceCosine", Cosine, Distance, "One minus the cosine of the angle between two vectors.",
        "cosineDistance(x, y)", "SELECT cosineDistance([1, 0], [0, 1])" => "1";
    "L1Norm", "normL1", L1, Norm, "The sum of the absolute values.", "L1Norm(x)", "SELECT L1Norm((1, -2))" => "3";
    "L2Norm", "normL2", L2, Norm, "The Euclidean length of a vector.", "L2Norm(x)", "SELECT L2Norm((3, 4))" => "5";
    "L2SquaredNorm", "normL2Squared", L2Squared, Norm, "The square of the Euclidean length of a vector.", "L2SquaredNorm(x)",
        "SELECT L2SquaredNorm((3, 4))" => "25";
    "LinfNorm", "normLinf", Linf, Norm, "The greatest absolute value.", "LinfNorm(x)", "SELECT LinfNorm((1, -2))" => "2";
    "LpNorm", "normLp", Lp, Norm, "The norm of the given power.", "LpNorm(x, p)", "SELECT LpNorm((3, 4), 2)" => "5";
    "L1Normalize", "normalizeL1", L1, Normalize, "A tuple divided by its L1 norm.", "L1Normalize(tuple)",
        "SELECT L1Normalize((1, 3))" => "(0.25,0.75)";
    "L2Normalize", "normalizeL2", L2, Normalize, "A tuple divided by its Euclidean length.", "L2Normalize(tuple)",
        "SELECT L2Normalize((3, 4))" => "(0.6,0.8)";
    "LinfNormalize", "normalizeLinf", Linf, Normalize, "A tuple divided by its greatest absolute value.", "LinfNormalize(tuple)",
        "SELECT LinfNormalize((3, 4))" => "(0.75,1)";
    "LpNormalize", "normalizeLp", Lp, Normalize, "A tuple divided by its norm of the given power.", "LpNormalize(tuple, p)",
        "SELECT LpNormalize((3, 4), 2)" => "(0.6,0.8)";
}

fn is_vector(ty: &DataType) -> bool {
    matches!(ty, DataType::Array(_) | DataType::Tuple(_))
}

/// Float32 only when nothing asks for more.
fn float_of(ty: &DataType) -> DataType {
    match ty {
        DataType::Float32 | DataType::BFloat16 => DataType::Float32,
        _ => DataType::Float64,
    }
}

impl Geometry {
    fn vectors(&self) -> usize {
        if self.shape == Shape::Distance { 2 } else { 1 }
    }

    /// Integer results of tuples: sums and products promote as the operators do.
    fn tuple_result(&self, fields: &[DataType]) -> DataType {
        use chalet_types::promotion::sum;
        let whole = fields.iter().all(|ty| ty.is_integer() && *ty != DataType::Bool);
        let each = |ty: &DataType| match self.measure {
            Measure::L1 => {
                chalet_types::promotion::unsigned_of_bits(8 * ty.physical().width().unwrap_or(1) as u32)
            }
            _ => sum(ty, ty),
        };
        if !whole || !matches!(self.measure, Measure::L1 | Measure::L2Squared) {
            return DataType::Float64;
        }
        let mut terms = fields.iter().filter_map(each);
        let Some(first) = terms.next() else { return DataType::UInt8 };
        terms.try_fold(first, |a, b| sum(&a, &b)).unwrap_or(DataType::Float64)
    }
}

impl ScalarFunction for &'static Geometry {
    fn record(&self) -> &'static Record {
        let function: &'static Geometry = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        let wanted = self.vectors() + usize::from(self.measure == Measure::Lp);
        check_arity(name, args.len(), wanted..=wanted)?;
        let vectors = &args[..self.vectors()];
        for (index, arg) in vectors.iter().enumerate() {
            ensure!(
                is_vector(&arg.ty),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument {index} of function {name} should be tuple, got {}",
                arg.ty
            );
        }
        if let Some(p) = args.get(self.vectors()) {
            ensure!(
                p.ty.is_number() && !p.ty.is_decimal() && p.ty.physical().width().unwrap_or(0) <= 8,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument p of function {name} must be a numeric constant"
            );
            let Some(p) = &p.constant else {
                bail!(
                    ILLEGAL_COLUMN,
                    "Argument at index {} for function {name} must be constant",
                    self.vectors()
                );
            };
            ensure!(
                p.as_f64().is_none_or(|p| p.is_finite() && p >= 1.0),
                ARGUMENT_OUT_OF_BOUND,
                "Second argument for function {name} must be a finite number not less than one"
            );
        }
        if let DataType::Tuple(x) = &vectors[0].ty {
            let mut fields: Vec<DataType> = x.iter().map(|f| f.ty.clone()).collect();
            if let Some(second) = vectors.get(1) {
                let DataType::Tuple(y) = &second.ty else {
                    bail!(
                        ILLEGAL_TYPE_OF_ARGUMENT,
                        "Argument 1 of function {name} should be tuple, got {}",
                        second.ty
                    );
                };
                ensure!(
                    x.len() == y.len(),
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Expected tuples of the same size as arguments 0 and 1 of function {name}, got {} and {}",
                    args[0].ty,
                    args[1].ty
                );
                let pairs = x.iter().zip(y.iter());
                fields = pairs
                    .map(|(f, g)| {
                        chalet_types::promotion::difference(&f.ty, &g.ty).unwrap_or(DataType::Float64)
                    })
                    .collect();
            }
            let numbers = |fields: &[TupleField]| fields.iter().all(|f| f.ty.is_number());
            ensure!(
                vectors.iter().all(|v| matches!(&v.ty, DataType::Tuple(f) if numbers(f))),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal types of elements of arguments of function {name}"
            );
            if self.shape == Shape::Normalize {
                return Ok(DataType::tuple(vec![DataType::Float64; x.len()]).into());
            }
            return Ok(self.tuple_result(&fields).into());
        }
        let mut elements = Vec::new();
        for (index, arg) in vectors.iter().enumerate() {
            match &arg.ty {
                DataType::Array(element) => elements.push(DataType::clone(element)),
                _ => {
                    bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Argument {index} of function array{name} must be array")
                }
            }
        }
        let common = match elements.iter().find(|ty| **ty == DataType::Nothing) {
            Some(nothing) => nothing.clone(),
            None => common_supertype(&elements)?,
        };
        ensure!(
            common.is_number() && !common.is_decimal(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Arguments of function array{name} has nested type {common}. Supported types: UInt8, UInt16, UInt32, UInt64, Int8, Int16, Int32, Int64, BFloat16, Float32, Float64"
        );
        let result = float_of(&common);
        Ok(if self.shape == Shape::Normalize { result.array().into() } else { result.into() })
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n = call.n_rows;
        let p = match call.args.get(self.vectors()) {
            None => vec![0.0; n],
            Some(arg) => {
                let operand = Operand::from(arg);
                let vector = floats(operand, n)?;
                unary::<f64, f64>(Operand { vector: &vector, ..operand }, n, |x| x)?
            }
        };
        if matches!(call.args[0].ty, DataType::Array(_)) {
            return match call.result {
                DataType::Array(element) if **element == DataType::Float32 => self.arrays::<f32>(call, &p),
                DataType::Float32 => self.arrays::<f32>(call, &p),
                _ => self.arrays::<f64>(call, &p),
            };
        }
        let x = Rows::of(&call.args[0])?;
        if self.shape == Shape::Normalize {
            return normalize(&x, self.measure, &p, call);
        }
        let mut out = Vec::with_capacity(n);
        if self.shape == Shape::Norm {
            (0..n).for_each(|row| out.push(self.measure.of(x.get(row).iter().copied(), p[row])));
        } else {
            let y = Rows::of(&call.args[1])?;
            (0..n).for_each(|row| out.push(self.measure.distance(x.get(row), y.get(row), p[row])));
        }
        Ok(crate::arithmetic::convert_numbers(out.into(), call.result.physical(), n)?.into())
    }
}

impl Geometry {
    fn arrays<T: Real>(&self, call: &Call, p: &[f64]) -> Result<Column>
    where
        Vector: From<Vec<T>>,
    {
        let n = call.n_rows;
        let x = Arrays::<T>::of(&call.args[0])?;
        match self.shape {
            Shape::Norm => {
                let measure = self.measure;
                let norms = dispatch_fma(
                    (),
                    |()| norms::<T, true>(measure, &x, p),
                    |()| norms::<T, false>(measure, &x, p),
                );
                Ok(Vector::from(norms).into())
            }
            Shape::Normalize => {
                let list = call.args[0].vector.list()?.normalised();
                let list = if x.constant { call.args[0].vector.repeat(n).list()?.normalised() } else { list };
                let measure = self.measure;
                let norms = dispatch_fma(
                    (),
                    |()| norms::<T, true>(measure, &x, p),
                    |()| norms::<T, false>(measure, &x, p),
                );
                let mut out = Vec::with_capacity(list.values.len());
                for (row, norm) in norms.into_iter().enumerate() {
                    out.extend(x.get(row).iter().map(|x| *x / norm));
                }
                let list = List { offsets: list.offsets.clone(), values: Arc::new(out.into()) };
                let vector: Vector = chalet_columns::Data::List(list).into();
                Ok(vector.into())
            }
            Shape::Distance => {
                let y = Arrays::<T>::of(&call.args[1])?;
                ensure!(
                    (0..n).all(|row| x.get(row).len() == y.get(row).len()),
                    SIZES_OF_ARRAYS_DONT_MATCH,
                    "Array arguments for function array{} must have equal sizes",
                    self.record.name
                );
                let is_result = |arg: &chalet_function_api::Arg| matches!(arg.ty, DataType::Array(ty) if **ty == *call.result);
                let in_register = x.constant != y.constant && call.args[..2].iter().all(is_result);
                let measure = self.measure;
                let distances = dispatch_fma(
                    (),
                    |()| distances::<T, true>(measure, &x, &y, p, in_register),
                    |()| distances::<T, false>(measure, &x, &y, p, in_register),
                );
                Ok(Vector::from(distances).into())
            }
        }
    }
}

#[inline(always)]
fn norms<T: Real, const FUSED: bool>(measure: Measure, x: &Arrays<T>, p: &[f64]) -> Vec<T> {
    let mut out = Vec::with_capacity(p.len());
    for (row, p) in p.iter().enumerate() {
        out.push(measure.of_array::<T, FUSED>(x.get(row), *p));
    }
    out
}

#[inline(always)]
fn distances<T: Real, const FUSED: bool>(
    measure: Measure,
    x: &Arrays<T>,
    y: &Arrays<T>,
    p: &[f64],
    in_register: bool,
) -> Vec<T> {
    let mut out = Vec::with_capacity(p.len());
    for (row, p) in p.iter().enumerate() {
        out.push(measure.of_arrays::<T, FUSED>(x.get(row), y.get(row), *p, in_register));
    }
    out
}

fn normalize(x: &Rows, measure: Measure, p: &[f64], call: &Call) -> Result<Column> {
    let n = call.n_rows;
    let width = if n == 0 { x.width } else { x.get(0).len() };
    let mut fields = vec![Vec::with_capacity(n); width];
    for (row, &p) in p.iter().enumerate().take(n) {
        let values = x.get(row);
        let norm = measure.of(values.iter().copied(), p);
        fields.iter_mut().zip(values).for_each(|(field, x)| field.push(x / norm));
    }
    let fields: Vec<Vector> = fields.into_iter().map(Vector::from).collect();
    Ok(Vector::from(chalet_columns::Data::Struct(chalet_columns::Struct { fields, len: n })).into())
}

/// Arrays of floats, one per row or one for all.
struct Arrays<T: Real> {
    values: Buf<T>,
    list: List,
    constant: bool,
}

impl<T: Real> Arrays<T> {
    fn of(arg: &chalet_function_api::Arg) -> Result<Arrays<T>> {
        let DataType::Array(ty) = arg.ty else { bail!(LOGICAL_ERROR, "{} is not an array", arg.ty) };
        let list = arg.vector.list()?.normalised();
        let n = list.values.len();
        let values = match T::unwrap(&list.values.data) {
            Some(values) => values.clone(),
            None => unary::<T, T>(Operand { ty, vector: &list.values, constant: false }, n, |x| x)?.into(),
        };
        Ok(Arrays { values, list, constant: arg.constant })
    }

    #[inline(always)]
    fn get(&self, row: usize) -> &[T] {
        &self.values[self.list.range(if self.constant { 0 } else { row })]
    }
}

/// The elements of each tuple as floats.
struct Rows {
    values: Vec<f64>,
    /// Elements in each.
    width: usize,
    constant: bool,
}

impl Rows {
    fn of(arg: &chalet_function_api::Arg) -> Result<Rows> {
        let DataType::Tuple(types) = arg.ty else { bail!(LOGICAL_ERROR, "{} is not a tuple", arg.ty) };
        let fields = &arg.vector.structure()?.fields;
        let n = arg.vector.len();
        let mut columns = Vec::with_capacity(fields.len());
        for (field, f) in fields.iter().zip(types.iter()) {
            let operand = Operand { ty: &f.ty, vector: field, constant: false };
            let vector = floats(operand, n)?;
            columns.push(unary::<f64, f64>(Operand { vector: &vector, ..operand }, n, |x| x)?);
        }
        let values = (0..n).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
        Ok(Rows { values, width: fields.len(), constant: arg.constant })
    }

    fn get(&self, row: usize) -> &[f64] {
        let row = if self.constant { 0 } else { row };
        &self.values[row * self.width..(row + 1) * self.width]
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
