//! The machine representation of a type: what kernels dispatch on.

/// One representation per column buffer layout. Logical types map to it by [`DataType::physical`](crate::DataType::physical).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Physical {
    Nothing,
    U8,
    U16,
    U32,
    U64,
    U128,
    U256,
    I8,
    I16,
    I32,
    I64,
    I128,
    I256,
    BF16,
    F32,
    F64,
    /// Byte strings of any length.
    Str,
    /// Byte strings of one length, in bytes.
    Fixed(u32),
    List,
    Struct,
}

impl Physical {
    /// Bytes per value for representations of one width.
    pub fn width(self) -> Option<usize> {
        use Physical::*;
        Some(match self {
            U8 | I8 => 1,
            U16 | I16 | BF16 => 2,
            U32 | I32 | F32 => 4,
            U64 | I64 | F64 => 8,
            U128 | I128 => 16,
            U256 | I256 => 32,
            Fixed(n) => n as usize,
            Nothing | Str | List | Struct => return None,
        })
    }
}
