//! UUID and addresses of the Internet protocols, from each other and from the integers of their width.

use super::numbers::{self, filled};
use chalet_base::{Result, bail, err};
use chalet_columns::{Data, Fixed, Vector};
use chalet_text::read::address::mapped;
use chalet_types::DataType;

pub fn convert(vector: &Vector, from: &DataType, to: &DataType) -> Result<Vector> {
    use DataType::*;
    match (from, to) {
        (_, Bool) => numbers::to_bool(vector),
        (Uuid | IPv6, UInt128) => {
            let values = vector.fixed()?.iter().map(|bytes| u128::from_be_bytes(sixteen(bytes)));
            Ok(values.collect::<Vec<_>>().into())
        }
        (UInt128, IPv6 | Uuid) => {
            let bytes: Vec<u8> = vector.values::<u128>()?.iter().flat_map(|x| x.to_be_bytes()).collect();
            Ok(Data::Fixed(Fixed { width: 16, bytes: bytes.into() }).into())
        }
        (IPv4, IPv6) => {
            let bytes: Vec<u8> = vector.values::<u32>()?.iter().flat_map(|x| mapped(*x)).collect();
            Ok(Data::Fixed(Fixed { width: 16, bytes: bytes.into() }).into())
        }
        (IPv6, IPv4) => {
            let values = vector.fixed()?.iter().map(|bytes| match bytes {
                [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d] => {
                    Ok(u32::from_be_bytes([*a, *b, *c, *d]))
                }
                _ => {
                    let mut shown = Vec::new();
                    chalet_text::write::address::ipv6(&mut shown, bytes);
                    let shown = std::string::String::from_utf8_lossy(&shown);
                    Err(err!(CANNOT_CONVERT_TYPE, "IPv6 {shown} in column is not in IPv4 mapping block"))
                }
            });
            Ok(values.collect::<Result<Vec<_>>>()?.into())
        }
        (IPv4, _) if to.is_integer() => numbers::convert(vector, to),
        (_, IPv4) => Ok(filled::<u32>(vector)?.into()),
        _ => bail!(NOT_IMPLEMENTED, "Conversion from {from} to {to} is not supported"),
    }
}

/// Sixteen bytes are the value itself and not its text; the halves of a UUID as integers lie in memory, the least byte first.
pub fn of_bytes(vector: &Vector, to: &DataType) -> Result<Vector> {
    if *to != DataType::Uuid {
        return Ok(vector.clone());
    }
    let mut bytes: Vec<u8> = vector.fixed()?.iter().flatten().copied().collect();
    bytes.chunks_exact_mut(8).for_each(|half| half.reverse());
    Ok(Data::Fixed(Fixed { width: 16, bytes: bytes.into() }).into())
}

fn sixteen(bytes: &[u8]) -> [u8; 16] {
    let mut out = [0; 16];
    out.copy_from_slice(&bytes[..16]);
    out
}
