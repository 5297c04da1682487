//! `Buf<T>`: a shared immutable slice of plain values over an Arrow buffer, sliced and cloned without a copy.

use crate::Data;
use arrow_buffer::Buffer;
use chalet_types::{I256, Physical, U256, bf16};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A plain value that columns are made of.
///
/// # Safety
/// Any bit pattern is a value, there is no padding, and the type needs no drop.
pub unsafe trait Native:
    Copy + Default + PartialEq + PartialOrd + Send + Sync + std::fmt::Debug + std::panic::RefUnwindSafe + 'static
{
    const PHYSICAL: Physical;
    fn wrap(values: Buf<Self>) -> Data;
    fn unwrap(data: &Data) -> Option<&Buf<Self>>;
}

macro_rules! natives {
    ($($ty:ty => $variant:ident,)*) => {$(
        // SAFETY: integers and floats of fixed width: no padding, no invalid bit pattern, no drop.
        unsafe impl Native for $ty {
            const PHYSICAL: Physical = Physical::$variant;
            fn wrap(values: Buf<Self>) -> Data {
                Data::$variant(values)
            }
            fn unwrap(data: &Data) -> Option<&Buf<Self>> {
                match data {
                    Data::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    )*};
}

natives! {
    u8 => U8, u16 => U16, u32 => U32, u64 => U64, u128 => U128, U256 => U256,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, i128 => I128, I256 => I256,
    bf16 => BF16, f32 => F32, f64 => F64,
}

/// A shared immutable slice. Dereferences to `[T]`.
#[derive(Clone)]
pub struct Buf<T> {
    bytes: Buffer,
    element: PhantomData<T>,
}

impl<T: Copy + Send + Sync + std::panic::RefUnwindSafe + 'static> Buf<T> {
    /// Takes the vector's memory over without a copy.
    pub fn from_vec(values: Vec<T>) -> Self {
        let values = Arc::new(values);
        let bytes = std::mem::size_of_val(values.as_slice());
        let start = NonNull::from(values.as_slice()).cast::<u8>();
        // SAFETY: `start..start + bytes` is the vector's memory, which the `Arc` given as the owner keeps alive
        // and unchanged; `T` is plain data, so its bytes may be read.
        let bytes = unsafe { Buffer::from_custom_allocation(start, bytes, values) };
        Buf { bytes, element: PhantomData }
    }

    /// Wraps an Arrow buffer; copies only when it is not aligned for `T`. A tail shorter than one value is dropped.
    pub fn from_arrow(bytes: Buffer) -> Self {
        if (bytes.as_ptr() as usize).is_multiple_of(align_of::<T>()) {
            return Buf { bytes, element: PhantomData };
        }
        let n = bytes.len() / size_of::<T>();
        let mut values: Vec<T> = Vec::with_capacity(n);
        // SAFETY: the vector has room for `n` values, the source has that many bytes, and `T` is plain data.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                values.as_mut_ptr().cast::<u8>(),
                n * size_of::<T>(),
            );
            values.set_len(n);
        }
        Buf::from_vec(values)
    }

    /// The values `offset..offset + len`, which share the buffer. Panics where there are not as many.
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        let width = size_of::<T>();
        Buf { bytes: self.bytes.slice_with_length(offset * width, len * width), element: PhantomData }
    }

    /// The bytes, shared.
    pub fn to_arrow(&self) -> Buffer {
        self.bytes.clone()
    }

    /// The values as bytes, in the machine's order.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// Bytes of memory that the values occupy.
    pub fn memory(&self) -> usize {
        self.bytes.len()
    }
}

impl<T> Deref for Buf<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: constructors check the alignment and that whole values of plain data lie in the buffer.
        unsafe {
            std::slice::from_raw_parts(self.bytes.as_ptr().cast::<T>(), self.bytes.len() / size_of::<T>())
        }
    }
}

impl<T: Copy + Send + Sync + std::panic::RefUnwindSafe + 'static> From<Vec<T>> for Buf<T> {
    fn from(values: Vec<T>) -> Self {
        Buf::from_vec(values)
    }
}

impl<T: Copy + Send + Sync + std::panic::RefUnwindSafe + 'static> FromIterator<T> for Buf<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Buf::from_vec(values.into_iter().collect())
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Buf<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
