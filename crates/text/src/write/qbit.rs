//! Vectors of the type QBit: `[1,2.5]` in every style, whatever settings say about numbers.

use super::number;
use chalet_types::{QBitElement, QBitType, bf16};

/// Appends the text of a vector.
pub(super) fn put(out: &mut Vec<u8>, vector: &[u8], ty: QBitType) {
    out.push(b'[');
    for (i, element) in vector.chunks_exact(ty.element().width()).enumerate() {
        if i > 0 {
            out.push(b',');
        }
        match (ty.element(), element) {
            (QBitElement::Int8, &[byte]) => number::integer(out, byte as i8),
            (QBitElement::BFloat16, &[a, b]) => number::f32(out, bf16::from_le_bytes([a, b]).into()),
            (QBitElement::Float32, &[a, b, c, d]) => number::f32(out, f32::from_le_bytes([a, b, c, d])),
            (_, bytes) => number::f64(out, bytes.try_into().map_or(0.0, f64::from_le_bytes)),
        }
    }
    out.push(b']');
}
