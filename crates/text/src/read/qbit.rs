//! Vectors of the type QBit: as many numbers as the type says, in brackets, the same in every syntax.

use super::cursor::Cursor;
use super::number;
use chalet_base::Result;
use chalet_columns::Builder;
use chalet_columns::builder::Values;
use chalet_types::{QBitElement, QBitType};

/// Appends the vector at the cursor and steps behind it, or appends nothing and fails.
pub(super) fn read(cur: &mut Cursor, ty: QBitType, out: &mut Builder) -> Result<()> {
    let Values::Fixed { bytes, .. } = &mut out.values else { return Ok(()) };
    let n = bytes.len();
    let taken = take(cur, ty, bytes);
    if taken.is_err() {
        bytes.truncate(n);
    }
    taken
}

fn take(cur: &mut Cursor, ty: QBitType, out: &mut Vec<u8>) -> Result<()> {
    cur.expect(b'[')?;
    for i in 0..ty.dimension() {
        if i > 0 {
            cur.expect(b',')?;
        }
        cur.skip_whitespace();
        match ty.element() {
            QBitElement::Int8 => out.push(number::wrapping_u64(cur, true)? as u8),
            QBitElement::BFloat16 => out.extend_from_slice(&number::bfloat16(cur)?.to_le_bytes()),
            QBitElement::Float32 => out.extend_from_slice(&number::f32(cur)?.to_le_bytes()),
            QBitElement::Float64 => out.extend_from_slice(&number::f64(cur)?.to_le_bytes()),
        }
        cur.skip_whitespace();
    }
    cur.expect(b']')
}
