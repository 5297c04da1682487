//! `byteSize`: an estimate of the bytes that values take in memory.

use chalet_base::Result;
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, ScalarFunction,
};
use chalet_types::DataType;

const RECORD: Record = Record {
    name: "byteSize",
    summary: "An estimate of the bytes that the arguments take in memory without compression.",
    syntax: "byteSize(x, ...)",
    examples: &[Example {
        sql: "SELECT byteSize(1), byteSize('abc'), byteSize([1, 2, 3])",
        result: "1\t11\t11",
    }],
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::Decoded,
    total: true,
    ..Record::DEFAULT
};

pub struct ByteSize;

/// Bytes that each offset of a list or a string takes.
const OFFSET: u64 = 8;

fn add(vector: &Vector, ty: &DataType, sizes: &mut [u64]) {
    if let DataType::Nullable(inner) = ty {
        sizes.iter_mut().for_each(|size| *size += 1);
        return add(vector, inner, sizes);
    }
    match &vector.data {
        Data::Nothing(_) => {}
        Data::Str(s) => {
            let lengths = s.views().iter().map(|view| u64::from(*view as u32));
            sizes.iter_mut().zip(lengths).for_each(|(size, len)| *size += OFFSET + len);
        }
        Data::List(list) => {
            let element = ty.bare().element().unwrap_or(DataType::Nothing);
            let mut elements = vec![0; list.values.len()];
            add(&list.values, &element, &mut elements);
            sizes.iter_mut().zip(list.ranges()).for_each(|(size, range)| {
                *size += OFFSET + elements[range].iter().sum::<u64>();
            });
        }
        Data::Struct(tuple) => {
            if let DataType::Tuple(fields) = ty.bare() {
                tuple.fields.iter().zip(fields.iter()).for_each(|(v, f)| add(v, &f.ty, sizes));
            }
        }
        other => {
            let width = match ty.bare() {
                // In the kernel, that of the planes.
                DataType::QBit(vectors) => vectors.planes() * vectors.stride().div_ceil(8),
                _ => other.physical().width().unwrap_or(0),
            };
            let width = width as u64;
            sizes.iter_mut().for_each(|size| *size += width);
        }
    }
}

/// Of each row of a vector: an estimate of its bytes.
pub(crate) fn byte_sizes(vector: &Vector, ty: &DataType) -> Vec<u64> {
    let mut sizes = vec![0; vector.len()];
    add(vector, ty, &mut sizes);
    sizes
}

impl ScalarFunction for ByteSize {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, _: &[Argument], _: &Context) -> Result<Bound> {
        Ok(DataType::UInt64.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let mut sizes = vec![0; call.n_rows];
        call.args.iter().for_each(|arg| add(&arg.vector, arg.ty, &mut sizes));
        Ok(Vector::from(sizes).into())
    }
}
