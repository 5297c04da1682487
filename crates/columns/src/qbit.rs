//! Vectors of the type QBit: their elements, and the planes that the kernel keeps of them, a bit of every element each.
//!
//! A plane is as long as its group has bytes of bits: the first element is the lowest bit of the last byte.

use crate::{Buf, Data, Fixed, List, Vector, each_native};
use chalet_types::{QBitElement, QBitType};
use std::sync::Arc;

/// The elements of all vectors, one after the other. They share the memory where it is aligned for them.
pub fn elements(vectors: &Fixed, ty: QBitType) -> Vector {
    let bytes = vectors.bytes.to_arrow();
    Vector::from(match ty.element() {
        QBitElement::Int8 => Data::I8(Buf::from_arrow(bytes)),
        QBitElement::BFloat16 => Data::BF16(Buf::from_arrow(bytes)),
        QBitElement::Float32 => Data::F32(Buf::from_arrow(bytes)),
        QBitElement::Float64 => Data::F64(Buf::from_arrow(bytes)),
    })
}

/// The vectors as arrays of their elements.
pub fn arrays(vectors: &Fixed, ty: QBitType) -> List {
    let offsets = (0..=vectors.len()).map(|row| (row * ty.dimension()) as i64).collect();
    List { offsets, values: Arc::new(elements(vectors, ty)) }
}

/// Vectors of elements that lie one after the other and have the type of theirs.
pub fn of_elements(elements: &Vector, ty: QBitType) -> Fixed {
    let bytes = each_native!(&elements.data, values => Buf::from_arrow(values.to_arrow()), _ => Buf::from_vec(Vec::new()));
    Fixed { width: ty.width(), bytes }
}

/// One plane of all vectors. Panics beyond the last.
pub fn plane(vectors: &Fixed, ty: QBitType, index: usize) -> Fixed {
    let (bits, width) = (ty.element().bits(), ty.element().width());
    let (group, bit) = (index / bits, bits - 1 - index % bits);
    let length = ty.stride().div_ceil(8);
    let elements = group * ty.stride() * width..(group + 1) * ty.stride() * width;
    let mut plane = vec![0u8; vectors.len() * length];
    for (out, vector) in plane.chunks_exact_mut(length).zip(vectors.iter()) {
        for (out, eight) in out.iter_mut().rev().zip(vector[elements.clone()].chunks(8 * width)) {
            for (at, element) in eight.chunks_exact(width).enumerate() {
                *out |= (element[bit / 8] >> (bit % 8) & 1) << at;
            }
        }
    }
    Fixed { width: length, bytes: Buf::from_vec(plane) }
}

/// All planes of all vectors: those of a group follow each other, from the highest bit to the lowest.
pub fn planes(vectors: &Fixed, ty: QBitType) -> Vec<Fixed> {
    let (bits, width) = (ty.element().bits(), ty.element().width());
    let length = ty.stride().div_ceil(8);
    let mut planes = vec![vec![0u8; vectors.len() * length]; ty.planes()];
    for (row, vector) in vectors.iter().enumerate() {
        for (group, elements) in vector.chunks_exact(ty.stride() * width).enumerate() {
            for (number, eight) in elements.chunks(8 * width).enumerate() {
                let at = row * length + length - 1 - number;
                for byte in 0..width {
                    let column = eight.chunks_exact(width).enumerate();
                    let square = column.fold(0, |square, (i, e)| square | u64::from(e[byte]) << (8 * i));
                    for (bit, turned) in transposed(square).to_le_bytes().into_iter().enumerate() {
                        planes[group * bits + bits - 1 - (8 * byte + bit)][at] = turned;
                    }
                }
            }
        }
    }
    planes.into_iter().map(|plane| Fixed { width: length, bytes: Buf::from_vec(plane) }).collect()
}

/// The vectors of which these are all planes, `n` values of each.
pub fn of_planes(planes: &[impl AsRef<[u8]>], ty: QBitType, n: usize) -> Fixed {
    let (bits, width) = (ty.element().bits(), ty.element().width());
    let length = ty.stride().div_ceil(8);
    let mut bytes = vec![0u8; n * ty.width()];
    for (row, vector) in bytes.chunks_exact_mut(ty.width()).enumerate() {
        for (group, elements) in vector.chunks_exact_mut(ty.stride() * width).enumerate() {
            for (number, eight) in elements.chunks_mut(8 * width).enumerate() {
                let at = row * length + length - 1 - number;
                for byte in 0..width {
                    let plane = |bit: usize| planes[group * bits + bits - 1 - (8 * byte + bit)].as_ref()[at];
                    let square = (0..8).fold(0, |square, bit| square | u64::from(plane(bit)) << (8 * bit));
                    let turned = transposed(square).to_le_bytes();
                    eight
                        .chunks_exact_mut(width)
                        .zip(turned)
                        .for_each(|(element, turned)| element[byte] = turned);
                }
            }
        }
    }
    Fixed { width: ty.width(), bytes: Buf::from_vec(bytes) }
}

/// Eight bytes of eight bits with rows and columns exchanged. Squares of 1, 2 and 4 bits change places.
fn transposed(square: u64) -> u64 {
    let exchange = |x: u64, distance: u32, mask: u64| {
        let differing = (x ^ (x >> distance)) & mask;
        x ^ differing ^ (differing << distance)
    };
    let x = exchange(square, 7, 0x00aa_00aa_00aa_00aa);
    let x = exchange(x, 14, 0x0000_cccc_0000_cccc);
    exchange(x, 28, 0x0000_0000_f0f0_f0f0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_types::DataType;

    #[test]
    fn planes_and_vectors_are_inverse() {
        for (element, dimension, stride) in
            [(DataType::Int8, 20, None), (DataType::Float32, 3, None), (DataType::Float64, 32, Some(8))]
        {
            let ty = QBitType::new(&element, dimension, stride).unwrap();
            let bytes: Vec<u8> = (0..3 * ty.width()).map(|i| (i * 37 + i / 7) as u8).collect();
            let vectors = Fixed { width: ty.width(), bytes: Buf::from_vec(bytes) };
            let planes = planes(&vectors, ty);
            for (index, plane) in planes.iter().enumerate() {
                assert_eq!(
                    plane.bytes[..],
                    super::plane(&vectors, ty, index).bytes[..],
                    "{ty}, plane {index}"
                );
            }
            let planes: Vec<&[u8]> = planes.iter().map(|plane| &plane.bytes[..]).collect();
            assert_eq!(of_planes(&planes, ty, 3).bytes[..], vectors.bytes[..], "{ty}");
        }
    }

    #[test]
    fn the_first_element_is_the_lowest_bit_of_the_last_byte() {
        // As the kernel shows the sign and the lowest bit of `x * 7 - 50` for x from 0 to 19.
        let ty = QBitType::new(&DataType::Int8, 20, None).unwrap();
        let bytes: Vec<u8> = (0..20).map(|x| (x * 7 - 50) as i8 as u8).collect();
        let vectors = Fixed { width: 20, bytes: Buf::from_vec(bytes) };
        assert_eq!(plane(&vectors, ty, 0).bytes[..], [0x00, 0x00, 0xff]);
        assert_eq!(plane(&vectors, ty, 7).bytes[..], [0x0a, 0xaa, 0xaa]);
    }
}
