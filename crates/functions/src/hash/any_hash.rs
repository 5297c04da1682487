//! Hashes of any number of values of any types: how hashes of bytes extend to arrays, tuples and several arguments.

use crate::arithmetic::convert_numbers;
use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::put_len;
use chalet_columns::{Column, Data, Fixed, Native, Vector, each_native};
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};
use chalet_types::{DataType, I256, QBitType, U256, bf16};

/// A hash of bytes and what the kernel builds on it.
pub trait Hasher: Sync + Send + 'static {
    type Hash: Copy + Default;
    /// Numbers of up to 64 bits are mixed as numbers instead of hashed as bytes.
    const MIXES_NUMBERS: bool = false;
    fn bytes(&self, bytes: &[u8]) -> Self::Hash;
    fn combine(&self, a: Self::Hash, b: Self::Hash) -> Self::Hash;
    /// The hash of a number that is mixed, and of the length of an array.
    fn number(&self, x: u64) -> Self::Hash;
    /// Of no arguments.
    fn nothing(&self) -> Self::Hash;
    /// Of NULL inside of an array or a tuple.
    fn null(&self) -> Self::Hash;
}

/// Little-endian bytes of a fixed-width value.
trait Bytes: Native {
    type Array: AsRef<[u8]>;
    fn bytes(self) -> Self::Array;
    /// Zero-extended, for values of up to 64 bits.
    fn word(self) -> Option<u64>;
}

macro_rules! bytes_of {
    ($($ty:ty, $width:literal, $x:ident => $word:expr;)*) => {$(
        impl Bytes for $ty {
            type Array = [u8; $width];
            #[inline(always)]
            fn bytes(self) -> [u8; $width] {
                self.to_le_bytes()
            }
            #[inline(always)]
            fn word(self) -> Option<u64> {
                let $x = self;
                $word
            }
        }
    )*};
}

bytes_of! {
    u8, 1, x => Some(x.into()); u16, 2, x => Some(x.into()); u32, 4, x => Some(x.into()); u64, 8, x => Some(x);
    i8, 1, x => Some(x as u8 as u64); i16, 2, x => Some(x as u16 as u64); i32, 4, x => Some(x as u32 as u64);
    i64, 8, x => Some(x as u64); f32, 4, x => Some(x.to_bits().into()); f64, 8, x => Some(x.to_bits());
    bf16, 2, x => Some(x.to_bits().into()); u128, 16, _x => None; i128, 16, _x => None;
    U256, 32, _x => None; I256, 32, _x => None;
}

/// Adds the hashes of a vector to those of what came before, of which there may be nothing.
pub fn accumulate<H: Hasher>(
    hasher: &H,
    vector: &Vector,
    ty: &DataType,
    hashes: &mut Option<Vec<H::Hash>>,
) -> Result<()> {
    let ty = ty.bare();
    if let Some(validity) = &vector.validity {
        let mut own = None;
        accumulate(hasher, &vector.without_nulls(), ty, &mut own)?;
        let own = own.unwrap_or_default();
        let hashed = own.iter().enumerate();
        let hashed = hashed.map(|(row, &hash)| if validity.is_valid(row) { hash } else { hasher.null() });
        add(hasher, hashed, hashes);
        return Ok(());
    }
    match &vector.data {
        Data::Struct(tuple) => {
            let DataType::Tuple(fields) = ty else { bail!(LOGICAL_ERROR, "{ty} is no tuple") };
            // An empty tuple counts where nothing stands before it.
            if fields.is_empty() && hashes.is_none() {
                *hashes = Some(vec![hasher.nothing(); vector.len()]);
            }
            for (field, f) in tuple.fields.iter().zip(fields.iter()) {
                accumulate(hasher, field, &f.ty, hashes)?;
            }
        }
        Data::List(list) => {
            let list = list.normalised();
            let element = ty.element().unwrap_or(DataType::Nothing);
            let mut elements = None;
            accumulate(hasher, &list.values, &element, &mut elements)?;
            let elements = elements.unwrap_or_default();
            let lengths = list.ranges().map(|range| hasher.number(range.len() as u64));
            add(hasher, lengths, hashes);
            if let Some(hashes) = hashes {
                for (hash, range) in hashes.iter_mut().zip(list.ranges()) {
                    elements[range].iter().for_each(|&element| *hash = hasher.combine(*hash, element));
                }
            }
        }
        Data::Str(strings) => add(hasher, strings.iter().map(|s| hasher.bytes(s)), hashes),
        Data::Fixed(fixed) if *ty == DataType::Uuid => {
            // The kernel holds the two halves as little-endian numbers, the high one first.
            let halves = |s: &[u8]| {
                let mut bytes = [0u8; 16];
                bytes.copy_from_slice(s);
                bytes[..8].reverse();
                bytes[8..].reverse();
                bytes
            };
            add(hasher, fixed.iter().map(|s| hasher.bytes(&halves(s))), hashes);
        }
        Data::Fixed(fixed) => match ty {
            DataType::QBit(vectors) => {
                add(hasher, as_sent(fixed, *vectors).map(|sent| hasher.bytes(&sent)), hashes)
            }
            _ => add(hasher, fixed.iter().map(|s| hasher.bytes(s)), hashes),
        },
        Data::Nothing(n) => add(hasher, (0..*n).map(|_| hasher.null()), hashes),
        data => {
            // Decimals are hashed as bytes whatever their width.
            let mixes = H::MIXES_NUMBERS
                && !ty.is_decimal()
                && !matches!(ty, DataType::DateTime64(..) | DataType::Time64(_) | DataType::Interval(_));
            each_native!(data, values => {
                let hash = |x| number(hasher, x, mixes);
                add(hasher, values.iter().map(|&x| hash(x)), hashes);
            }, _ => bail!(LOGICAL_ERROR, "{ty} has no hash"));
        }
    }
    Ok(())
}

/// Vectors as the kernel hashes them: the number of elements, and these.
fn as_sent(vectors: &Fixed, ty: QBitType) -> impl Iterator<Item = Vec<u8>> {
    vectors.iter().map(move |vector| {
        let mut sent = Vec::with_capacity(vector.len() + 5);
        put_len(ty.dimension(), &mut sent);
        sent.extend_from_slice(vector);
        sent
    })
}

#[inline(always)]
fn number<H: Hasher, T: Bytes>(hasher: &H, x: T, mixes: bool) -> H::Hash {
    match x.word() {
        Some(word) if mixes => hasher.number(word),
        _ => hasher.bytes(x.bytes().as_ref()),
    }
}

fn add<H: Hasher>(hasher: &H, new: impl Iterator<Item = H::Hash>, hashes: &mut Option<Vec<H::Hash>>) {
    match hashes {
        None => *hashes = Some(new.collect()),
        Some(hashes) => {
            hashes.iter_mut().zip(new).for_each(|(hash, new)| *hash = hasher.combine(*hash, new));
        }
    }
}

/// How hashes become a column.
pub trait IntoColumn: Copy {
    fn into_vector(values: Vec<Self>, ty: &DataType) -> Result<Vector>;
}

impl IntoColumn for u32 {
    fn into_vector(values: Vec<u32>, ty: &DataType) -> Result<Vector> {
        let n = values.len();
        convert_numbers(values.into(), ty.physical(), n)
    }
}

impl IntoColumn for u64 {
    fn into_vector(values: Vec<u64>, _: &DataType) -> Result<Vector> {
        Ok(values.into())
    }
}

impl IntoColumn for u128 {
    fn into_vector(values: Vec<u128>, ty: &DataType) -> Result<Vector> {
        if *ty == DataType::UInt128 {
            return Ok(values.into());
        }
        let bytes = values.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        Ok(Data::Fixed(chalet_columns::Fixed { width: 16, bytes }).into())
    }
}

/// A function that hashes its arguments.
pub struct AnyHash<H> {
    pub record: &'static Record,
    pub hasher: H,
    pub result: DataType,
}

impl<H: Hasher> ScalarFunction for AnyHash<H>
where
    H::Hash: IntoColumn,
{
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, _: &[Argument], _: &Context) -> Result<Bound> {
        Ok(self.result.clone().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let mut hashes = None;
        for arg in call.args {
            accumulate(&self.hasher, &arg.vector, arg.ty, &mut hashes)?;
        }
        let hashes = hashes.unwrap_or_else(|| vec![self.hasher.nothing(); call.n_rows]);
        Ok(H::Hash::into_vector(hashes, call.result)?.into())
    }
}

/// A function of a key and values: the key is a tuple of two UInt64.
pub struct KeyedHash<H> {
    pub record: &'static Record,
    pub hasher: fn(u64, u64) -> H,
    pub result: DataType,
}

impl<H: Hasher> ScalarFunction for KeyedHash<H>
where
    H::Hash: IntoColumn,
{
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let Some(first) = args.first() else { return Ok(self.result.clone().into()) };
        let DataType::Tuple(key) = &first.ty else {
            bail!(BAD_ARGUMENTS, "The key must be a tuple");
        };
        ensure!(key.len() == 2, BAD_ARGUMENTS, "The key must be a tuple of exactly 2 elements");
        for (index, field) in key.iter().enumerate() {
            ensure!(
                field.ty == DataType::UInt64,
                BAD_ARGUMENTS,
                "The {} element of the key tuple is not of type UInt64",
                if index == 0 { "1st" } else { "2nd" }
            );
        }
        Ok(self.result.clone().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        if call.args.is_empty() {
            let hashes = vec![(self.hasher)(0, 0).nothing(); call.n_rows];
            return Ok(H::Hash::into_vector(hashes, call.result)?.into());
        }
        let key = call.vector(0).structure()?;
        let (k0, k1) = (key.fields[0].values::<u64>()?, key.fields[1].values::<u64>()?);
        let mut hashes = Vec::with_capacity(call.n_rows);
        let mut start = 0;
        // Rows of one key at a time: mostly all of them.
        while start < call.n_rows {
            let same = (start..call.n_rows).take_while(|&row| k0[row] == k0[start] && k1[row] == k1[start]);
            let len = same.count();
            let hasher = (self.hasher)(k0[start], k1[start]);
            let mut some = None;
            for arg in &call.args[1..] {
                accumulate(&hasher, &arg.vector.slice(start, len), arg.ty, &mut some)?;
            }
            hashes.extend(some.unwrap_or_else(|| vec![hasher.nothing(); len]));
            start += len;
        }
        Ok(H::Hash::into_vector(hashes, call.result)?.into())
    }
}

/// What the kernel returns for no arguments.
pub const NOTHING: u64 = 0xe28d_bde7_fe22_e41c;

/// The hash of NULL; narrower hashes take its low bits.
pub const NULL: u128 = 0x5715_f196_cbea_7a40_c58a_d2da_03d9_a871;
