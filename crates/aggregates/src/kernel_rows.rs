//! Values as the kernel lays them out for its hash tables, which is how states of some functions hold them: lists and strings behind
//! lengths of eight bytes, and behind a string a zero, which its length counts. [`RowCodec`] is shorter.
//!
//! [`RowCodec`]: chalet_columns::rows::RowCodec

use chalet_base::sip_hash::Sip;
use chalet_base::{Result, ensure};
use chalet_columns::wire::{put_bytes, put_len, take, take_bytes, take_len, take_u8, take_u64};
use chalet_types::{DataType, Physical};

/// Reads a row of a [`RowCodec`](chalet_columns::rows::RowCodec) and appends the kernel's.
pub fn put(ty: &DataType, row: &mut &[u8], out: &mut Vec<u8>) -> Result<()> {
    if ty.is_nullable() {
        let null = take_u8(row)?;
        out.push(null);
        if null != 0 {
            return Ok(());
        }
    }
    let bare = ty.bare();
    match bare.physical() {
        Physical::Str => {
            let text = take_bytes(row)?;
            out.extend((text.len() as u64 + 1).to_le_bytes());
            out.extend_from_slice(text);
            out.push(0);
        }
        Physical::List => {
            let n = take_len(row)?;
            out.extend((n as u64).to_le_bytes());
            let element = bare.element().unwrap_or(DataType::Nothing);
            (0..n).try_for_each(|_| put(&element, row, out))?;
        }
        Physical::Struct => {
            if let DataType::Tuple(fields) = bare {
                fields.iter().try_for_each(|field| put(&field.ty, row, out))?;
            }
        }
        physical => out.extend_from_slice(&fixed(bare, take(row, physical.width().unwrap_or(0))?)),
    }
    Ok(())
}

/// The other way round.
pub fn take_row(ty: &DataType, bytes: &mut &[u8], row: &mut Vec<u8>) -> Result<()> {
    if ty.is_nullable() {
        let null = u8::from(take_u8(bytes)? != 0);
        row.push(null);
        if null != 0 {
            return Ok(());
        }
    }
    let bare = ty.bare();
    match bare.physical() {
        Physical::Str => {
            let n = take_u64(bytes)?;
            ensure!(n > 0, CANNOT_READ_ALL_DATA, "Aggregate state has a string without an end");
            let text = take(bytes, usize::try_from(n).unwrap_or(usize::MAX))?;
            put_bytes(&text[..text.len() - 1], row);
        }
        Physical::List => {
            let n = take_u64(bytes)?;
            ensure!(
                n <= bytes.len() as u64,
                CANNOT_READ_ALL_DATA,
                "Aggregate state has a list of {n} elements in fewer bytes"
            );
            put_len(n as usize, row);
            let element = bare.element().unwrap_or(DataType::Nothing);
            (0..n).try_for_each(|_| take_row(&element, bytes, row))?;
        }
        Physical::Struct => {
            if let DataType::Tuple(fields) = bare {
                fields.iter().try_for_each(|field| take_row(&field.ty, bytes, row))?;
            }
        }
        physical => row.extend_from_slice(&fixed(bare, take(bytes, physical.width().unwrap_or(0))?)),
    }
    Ok(())
}

/// A value of a fixed width: a UUID is two numbers there. Its own inverse.
fn fixed(ty: &DataType, bytes: &[u8]) -> Vec<u8> {
    match ty {
        DataType::Uuid => {
            let (high, low) = bytes.split_at(8);
            high.iter().rev().chain(low.iter().rev()).copied().collect()
        }
        _ => bytes.to_vec(),
    }
}

/// The kernel's 128-bit hash of such bytes.
pub fn hash(bytes: &[u8]) -> u128 {
    let [a, b, c, d] = Sip::new((0, 0)).whole(bytes, 0xff).words();
    u128::from(a ^ b) | u128::from(c ^ d) << 64
}

/// Does the kernel hold single values of the type as numbers?
pub fn is_number(ty: &DataType) -> bool {
    use DataType as T;
    ty.is_integer()
        || ty.is_float()
        || matches!(
            ty,
            T::Bool | T::BFloat16 | T::IPv4 | T::Date | T::DateTime(_) | T::Enum8(_) | T::Enum16(_)
        )
}
