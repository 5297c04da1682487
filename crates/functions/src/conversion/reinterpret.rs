//! `reinterpret` and `reinterpretAsType`: the bytes of a value as a value of another type.

use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::{Buf, Builder, Column, Data, Fixed, Native, StringBuilder, Vector, each_native};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_types::{DataType, Physical};

struct Reinterpret {
    record: &'static Record,
    /// Nothing when the second argument names it; FixedString takes the width of the argument.
    to: Option<DataType>,
}

macro_rules! as_type {
    ($registry:ident, $($type:literal => $to:expr;)*) => {$(
        $registry.add_scalar(Reinterpret {
            record: const {
                &Record {
                    name: concat!("reinterpretAs", $type),
                    summary: concat!("The bytes of a value, least significant first, as a value of ", $type, "."),
                    syntax: concat!("reinterpretAs", $type, "(x)"),
                    ..Record::DEFAULT
                }
            },
            to: Some($to),
        });
    )*};
}

pub fn register(registry: &mut Registry) {
    registry.add_scalar(Reinterpret {
        record: const {
            &Record {
                name: "reinterpret",
                summary: "The bytes of a value, least significant first, as a value of another type.",
                syntax: "reinterpret(x, 'Type')",
                examples: &[Example { sql: "SELECT reinterpret(toInt8(-1), 'UInt8')", result: "255" }],
                ..Record::DEFAULT
            }
        },
        to: None,
    });
    as_type! {
        registry,
        "UInt8" => DataType::UInt8; "UInt16" => DataType::UInt16; "UInt32" => DataType::UInt32;
        "UInt64" => DataType::UInt64; "UInt128" => DataType::UInt128; "UInt256" => DataType::UInt256;
        "Int8" => DataType::Int8; "Int16" => DataType::Int16; "Int32" => DataType::Int32;
        "Int64" => DataType::Int64; "Int128" => DataType::Int128; "Int256" => DataType::Int256;
        "Float32" => DataType::Float32; "Float64" => DataType::Float64; "Date" => DataType::Date;
        "DateTime" => DataType::DateTime(None); "UUID" => DataType::Uuid; "String" => DataType::String;
        "FixedString" => DataType::FixedString(1);
    }
}

/// Bytes of a value of the type, if they are always as many.
fn width(ty: &DataType) -> Option<usize> {
    match ty {
        DataType::String | DataType::Nothing | DataType::QBit(_) => None,
        other => other.physical().width(),
    }
}

impl ScalarFunction for Reinterpret {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        let n = if self.to.is_some() { 1 } else { 2 };
        check_arity(name, args.len(), n..=n)?;
        let from = &args[0].ty;
        let to = match &self.to {
            Some(DataType::FixedString(_)) => match width(from) {
                Some(width) => DataType::FixedString(width as u32),
                None => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Cannot reinterpret {from} as FixedString because it is not fixed size and contiguous in memory"
                ),
            },
            Some(to) => to.clone(),
            None => {
                let Some(text) = args[1].constant.as_ref().and_then(|value| value.as_str()) else {
                    bail!(
                        ILLEGAL_TYPE_OF_ARGUMENT,
                        "Second argument to {name} must be a constant string describing type. Instead there is non-constant column of type {}",
                        args[1].ty
                    );
                };
                text.parse()?
            }
        };
        // Arrays of values of one width are their bytes, one behind the other.
        if let DataType::Array(element) = &to
            && from.is_string()
            && width(element).is_some()
        {
            return Ok(to.into());
        }
        if let (DataType::Array(element), DataType::String) = (from, &to)
            && width(element).is_some()
        {
            return Ok(to.into());
        }
        ensure!(
            !(from.is_enum() && to.is_number() || is_address(from) && !to.is_string() && *from != to),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Cannot reinterpret {from} as {to} because only Numeric, String or FixedString can be reinterpreted in Numeric"
        );
        let readable = width(from).is_some() || *from == DataType::String;
        ensure!(
            readable,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Cannot reinterpret {from} as {to} because it is not contiguous in memory"
        );
        if let (DataType::FixedString(n), None) = (&to, &self.to) {
            ensure!(
                width(from).is_some_and(|width| width <= *n as usize),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Cannot reinterpret {from} as {to} because it is not fixed size and contiguous in memory"
            );
        }
        let writable = to.is_number() || to.is_string();
        ensure!(
            writable
                || matches!(
                    to,
                    DataType::Date | DataType::DateTime(_) | DataType::DateTime64(..) | DataType::Uuid
                ),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Cannot reinterpret {from} as {to} because only reinterpretation in String, FixedString and Numeric types is \
             supported"
        );
        Ok(to.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let from = call.args[0].ty;
        if let DataType::Array(element) = from {
            let list = call.vector(0).list()?.normalised();
            let (bytes, starts) = bytes_of(&list.values, element)?;
            let mut out = StringBuilder::with_capacity(call.n_rows);
            list.ranges().for_each(|range| out.push(&bytes[starts[range.start]..starts[range.end]]));
            return Ok(Vector::from(out.finish()).into());
        }
        if *from == DataType::String && *call.result == DataType::String {
            return Ok(call.vector(0).clone().into());
        }
        if let Some(numbers) = numbers(call.vector(0), from, call.result) {
            return Ok(numbers.into());
        }
        let (bytes, starts) = bytes_of(call.vector(0), from)?;
        if let DataType::Array(element) = call.result {
            return elements(&bytes, &starts, element);
        }
        let mut out = Builder::new(call.result);
        for row in 0..call.n_rows {
            let mut value = &bytes[starts[row]..starts[row + 1]];
            if *call.result == DataType::String && *from != DataType::String {
                value = &value[..value.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1)];
            }
            push(&mut out, value, call.result)?;
        }
        Ok(out.finish().into())
    }
}

/// Values of the common representations as numbers; nothing for others.
fn numbers(vector: &Vector, from: &DataType, to: &DataType) -> Option<Vector> {
    /// Missing bytes are zero, surplus ones are dropped.
    fn each<'a, T: Native, const N: usize>(
        values: impl Iterator<Item = &'a [u8]>,
        read: impl Fn([u8; N]) -> T,
    ) -> Vector {
        let value = |bytes: &[u8]| {
            let mut own = [0; N];
            let n = bytes.len().min(N);
            own[..n].copy_from_slice(&bytes[..n]);
            read(own)
        };
        values.map(value).collect::<Vec<T>>().into()
    }
    fn read<'a>(values: impl Iterator<Item = &'a [u8]>, to: Physical) -> Option<Vector> {
        Some(match to {
            Physical::U8 => each(values, u8::from_le_bytes),
            Physical::U16 => each(values, u16::from_le_bytes),
            Physical::U32 => each(values, u32::from_le_bytes),
            Physical::U64 => each(values, u64::from_le_bytes),
            Physical::U128 => each(values, u128::from_le_bytes),
            Physical::I8 => each(values, i8::from_le_bytes),
            Physical::I16 => each(values, i16::from_le_bytes),
            Physical::I32 => each(values, i32::from_le_bytes),
            Physical::I64 => each(values, i64::from_le_bytes),
            Physical::I128 => each(values, i128::from_le_bytes),
            Physical::F32 => each(values, f32::from_le_bytes),
            Physical::F64 => each(values, f64::from_le_bytes),
            // A UUID is the only other one that comes here.
            Physical::Fixed(16) => {
                let bytes: Vec<[u8; 16]> = values.map(|value| uuid(first_16(value))).collect();
                Data::Fixed(Fixed { width: 16, bytes: bytes.into_flattened().into() }).into()
            }
            _ => return None,
        })
    }
    let is_uuid = *to == DataType::Uuid;
    let to = to.physical();
    if let (Physical::Fixed(width), Some(own), false) = (to, width(from), is_uuid)
        && own == width as usize
        && !matches!(vector.data, Data::Fixed(_))
    {
        let bytes =
            each_native!(&vector.data, values => values.to_arrow().as_slice().to_vec(), _ => return None);
        return Some(Data::Fixed(Fixed { width: own, bytes: bytes.into() }).into());
    }
    if matches!(to, Physical::Fixed(_)) && !is_uuid {
        return None;
    }
    if width(from).is_some_and(|width| width <= 8) && !matches!(vector.data, Data::Fixed(_)) {
        if is_uuid {
            let bytes: Vec<[u8; 16]> =
                bits(&vector.data)?.into_iter().map(|word| uuid(word.into())).collect();
            return Some(Data::Fixed(Fixed { width: 16, bytes: bytes.into_flattened().into() }).into());
        }
        return match width(from) == to.width() {
            true => as_they_are(&vector.data, to),
            false => of_bits(&bits(&vector.data)?, to),
        };
    }
    match &vector.data {
        Data::Str(strings) => read(strings.iter(), to),
        Data::Fixed(fixed) if *from != DataType::Uuid => read(fixed.iter(), to),
        // Only a UUID is made of numbers here.
        data => {
            let width = width(from)?;
            let bytes = each_native!(data, values => values.to_arrow(), _ => return None);
            read(bytes.as_slice().chunks_exact(width), to)
        }
    }
}

/// The first 16 bytes, the least first; missing ones are zero.
#[inline(always)]
fn first_16(bytes: &[u8]) -> u128 {
    if let Some(first) = bytes.first_chunk() {
        return u128::from_le_bytes(*first);
    }
    // Two words that may overlap, where a copy of any length would be a call.
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let after = 8 * (bytes.len() - 8);
        return u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << after;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let after = 8 * (bytes.len() - 4);
        return u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << after;
    }
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte))
}

/// A UUID: of two words, the more significant first, each from its highest byte.
#[inline(always)]
fn uuid(words: u128) -> [u8; 16] {
    words.swap_bytes().rotate_right(64).to_le_bytes()
}

/// Numbers of at most 64 bits as words, missing bits zero.
fn bits(data: &Data) -> Option<Vec<u64>> {
    Some(match data {
        Data::U8(v) => v.iter().map(|&x| x.into()).collect(),
        Data::U16(v) => v.iter().map(|&x| x.into()).collect(),
        Data::U32(v) => v.iter().map(|&x| x.into()).collect(),
        Data::U64(v) => v.to_vec(),
        Data::I8(v) => v.iter().map(|&x| (x as u8).into()).collect(),
        Data::I16(v) => v.iter().map(|&x| (x as u16).into()).collect(),
        Data::I32(v) => v.iter().map(|&x| (x as u32).into()).collect(),
        Data::I64(v) => v.iter().map(|&x| x as u64).collect(),
        Data::F32(v) => v.iter().map(|x| x.to_bits().into()).collect(),
        Data::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
        _ => return None,
    })
}

/// The same bytes as numbers of a type that is as wide.
fn as_they_are(data: &Data, to: Physical) -> Option<Vector> {
    let bytes = each_native!(data, values => values.to_arrow(), _ => return None);
    macro_rules! shared {
        ($($physical:ident),*) => {
            match to {
                $(Physical::$physical => Data::$physical(Buf::from_arrow(bytes)),)*
                _ => return None,
            }
        };
    }
    Some(shared!(U8, U16, U32, U64, I8, I16, I32, I64, F32, F64).into())
}

/// Numbers that have these as their lowest bits.
fn of_bits(bits: &[u64], to: Physical) -> Option<Vector> {
    fn each<T: Native>(bits: &[u64], number: impl Fn(u64) -> T) -> Option<Vector> {
        Some(bits.iter().map(|&bits| number(bits)).collect::<Vec<T>>().into())
    }
    match to {
        Physical::U8 => each(bits, |x| x as u8),
        Physical::U16 => each(bits, |x| x as u16),
        Physical::U32 => each(bits, |x| x as u32),
        Physical::U64 => each(bits, |x| x),
        Physical::U128 => each(bits, u128::from),
        Physical::I8 => each(bits, |x| x as i8),
        Physical::I16 => each(bits, |x| x as i16),
        Physical::I32 => each(bits, |x| x as i32),
        Physical::I64 => each(bits, |x| x as i64),
        Physical::I128 => each(bits, i128::from),
        Physical::F32 => each(bits, |x| f32::from_bits(x as u32)),
        Physical::F64 => each(bits, f64::from_bits),
        _ => None,
    }
}

/// The bytes of each row as an array.
fn elements(bytes: &[u8], starts: &[usize], element: &DataType) -> Result<Column> {
    let width = width(element).unwrap_or(1).max(1);
    let mut out = Builder::new(element);
    let (mut offsets, mut total) = (vec![0i64], 0);
    for range in starts.windows(2) {
        let row = &bytes[range[0]..range[1]];
        ensure!(
            row.len() % width == 0,
            BAD_ARGUMENTS,
            "Incorrect length argument for method ColumnArray::insertData"
        );
        row.chunks_exact(width).try_for_each(|value| push(&mut out, value, element))?;
        total += (row.len() / width) as i64;
        offsets.push(total);
    }
    Ok(crate::lists::list(offsets, out.finish()).into())
}

/// UUIDs are two integers of 64 bits, the more significant first; swapping is its own inverse.
fn swap_halves(bytes: &mut [u8]) {
    bytes[..8].reverse();
    bytes[8..].reverse();
}

/// The bytes of all rows, and where each begins.
pub fn bytes_of(vector: &Vector, ty: &DataType) -> Result<(Vec<u8>, Vec<usize>)> {
    let n = vector.len();
    let mut out: Vec<u8> = Vec::new();
    match &vector.data {
        Data::Str(strings) => {
            let mut starts = vec![0];
            for text in strings.iter() {
                out.extend_from_slice(text);
                starts.push(out.len());
            }
            return Ok((out, starts));
        }
        Data::Fixed(fixed) => {
            out.extend_from_slice(&fixed.bytes);
            if *ty == DataType::Uuid {
                out.chunks_exact_mut(16).for_each(swap_halves);
            }
        }
        data => each_native!(data, values => out.extend_from_slice(values.to_arrow().as_slice()),
            other => bail!(ILLEGAL_COLUMN, "Values of {:?} cannot be reinterpreted", other.physical())),
    }
    let width = out.len().checked_div(n).unwrap_or(0);
    Ok((out, (0..=n).map(|row| row * width).collect()))
}

/// Appends a value of these bytes; missing ones are zero, surplus ones are dropped.
fn push(out: &mut Builder, bytes: &[u8], ty: &DataType) -> Result<()> {
    let mut padded = [0u8; 32];
    let n = bytes.len().min(32);
    padded[..n].copy_from_slice(&bytes[..n]);
    macro_rules! natives {
        ($($variant:ident => $ty:ty),*) => {
            match &mut out.values {
                $(Values::$variant(values) => {
                    let mut own = [0u8; size_of::<$ty>()];
                    own.copy_from_slice(&padded[..size_of::<$ty>()]);
                    values.push(<$ty>::from_le_bytes(own));
                })*
                Values::Str(strings) => strings.push(bytes),
                Values::Fixed { width, bytes: all } => {
                    let start = all.len();
                    all.extend_from_slice(&bytes[..bytes.len().min(*width)]);
                    all.resize(start + *width, 0);
                    if *ty == DataType::Uuid {
                        swap_halves(&mut all[start..]);
                    }
                }
                _ => bail!(ILLEGAL_COLUMN, "Values cannot be reinterpreted as {ty}"),
            }
        };
    }
    use chalet_types::{I256, U256, bf16};
    natives!(
        U8 => u8, U16 => u16, U32 => u32, U64 => u64, U128 => u128, U256 => U256, I8 => i8, I16 => i16, I32 => i32,
        I64 => i64, I128 => i128, I256 => I256, BF16 => bf16, F32 => f32, F64 => f64
    );
    Ok(())
}

fn is_address(ty: &DataType) -> bool {
    matches!(ty, DataType::IPv4 | DataType::IPv6)
}
