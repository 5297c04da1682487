//! Reading Npy.

use super::header::{Element, Header, Kind};
use crate::input::{FileScan, ReadRequest, Whole};
use crate::integers;
use crate::sliced::Sliced;
use arrow_buffer::Buffer;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::builder::Values;
use chalet_columns::{Block, Builder, Column};
use chalet_types::DataType;

pub fn open(bytes: Buffer, request: ReadRequest) -> Result<Box<dyn FileScan>> {
    let (header, start) = Header::read(&bytes)?;
    for (name, ty) in request.structure.iter() {
        ensure!(name == "array", ILLEGAL_COLUMN, "Npy file has one column, 'array', not '{name}'");
        check(&header, ty)?;
    }
    let size = header.shape.iter().try_fold(header.element.size, |n, d| n.checked_mul(*d));
    let end = size.and_then(|size| start.checked_add(size)).filter(|end| *end <= bytes.len());
    let Some(end) = end else {
        bail!(
            CANNOT_READ_ALL_DATA,
            "Cannot read all data: Npy file of shape {:?} is cut short",
            header.shape
        );
    };
    let load = move || {
        let n_rows = header.shape[0];
        // Rows without elements have no end that the data could say.
        ensure!(end > start || n_rows <= 1 << 24, INCORRECT_DATA, "Npy file has {n_rows} rows of nothing");
        let columns = request.wanted.iter().map(|&index| {
            let ty = &request.structure[index].1;
            let mut builder = Builder::new(ty);
            let mut rest = &bytes[start..end];
            for _ in 0..n_rows {
                value(&mut rest, &header.element, &header.shape[1..], ty, &mut builder)?;
            }
            Ok(Column::from(builder.finish()))
        });
        Ok(Block::new(columns.collect::<Result<_>>()?, n_rows))
    };
    Ok(Whole::scan(Sliced::new(Box::new(load), Vec::new())))
}

/// Do the values go into a column of the type?
fn check(header: &Header, ty: &DataType) -> Result<()> {
    let (mut inner, mut depth) = (ty, 0);
    while let DataType::Array(element) = inner {
        (inner, depth) = (element, depth + 1);
    }
    let expected = header.shape.len() - 1;
    ensure!(
        depth == expected,
        BAD_ARGUMENTS,
        "Unexpected nesting level of column '{ty}', expected {expected}, got {depth}"
    );
    let bare = inner.bare();
    let fits = match header.element.kind {
        Kind::Signed | Kind::Unsigned => integers::fits(bare),
        Kind::Float => matches!(bare, DataType::Float32 | DataType::Float64),
        Kind::Bytes | Kind::Unicode => bare.is_string(),
    };
    ensure!(
        fits,
        ILLEGAL_COLUMN,
        "Cannot insert Numpy value with type {} into column with type {inner}",
        header.element.data_type()?
    );
    Ok(())
}

fn value(
    rest: &mut &[u8],
    element: &Element,
    shape: &[usize],
    ty: &DataType,
    to: &mut Builder,
) -> Result<()> {
    if let Some((n, shape)) = shape.split_first() {
        let (DataType::Array(inner), Values::List(list)) = (ty, &mut to.values) else {
            bail!(LOGICAL_ERROR, "Npy arrays go into arrays");
        };
        for _ in 0..*n {
            value(rest, element, shape, inner, &mut list.values)?;
        }
        list.close();
        return Ok(());
    }
    let (raw, left) = rest
        .split_at_checked(element.size)
        .ok_or_else(|| err!(CANNOT_READ_ALL_DATA, "Cannot read all data: Npy file is cut short"))?;
    *rest = left;
    let mut wide = [0u8; 8];
    if element.size <= 8 {
        wide[..raw.len()].copy_from_slice(raw);
        if element.big_endian {
            wide[..raw.len()].reverse();
        }
    }
    let bits = u64::from_le_bytes(wide);
    let unused = 64 - 8 * element.size.min(8) as u32;
    match element.kind {
        Kind::Signed => drop(integers::push(to, (bits << unused) as i64 >> unused)),
        Kind::Unsigned => drop(integers::push(to, bits as i64)),
        Kind::Float => {
            let value =
                if element.size == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) };
            match &mut to.values {
                Values::F32(values) => values.push(value as f32),
                Values::F64(values) => values.push(value),
                _ => bail!(LOGICAL_ERROR, "Npy floats go into floats"),
            }
            to.mark_valid();
        }
        Kind::Bytes | Kind::Unicode => text(to, ty, &text_of(raw, element))?,
    }
    Ok(())
}

/// The text of an element without the zeros behind it, in UTF-8.
fn text_of(raw: &[u8], element: &Element) -> Vec<u8> {
    if element.kind == Kind::Bytes {
        let end = raw.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        return raw[..end].to_vec();
    }
    let code = |four: &[u8; 4]| match element.big_endian {
        true => u32::from_be_bytes(*four),
        false => u32::from_le_bytes(*four),
    };
    let chars = raw.as_chunks::<4>().0.iter().map(code).take_while(|code| *code != 0);
    let text: String =
        chars.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.into_bytes()
}

fn text(to: &mut Builder, ty: &DataType, text: &[u8]) -> Result<()> {
    match &mut to.values {
        Values::Str(strings) => strings.push(text),
        _ => {
            ensure!(
                integers::push_raw(to, ty, text),
                TOO_LARGE_STRING_SIZE,
                "Npy string of {} bytes is too large for type {ty}",
                text.len()
            );
            return Ok(());
        }
    }
    to.mark_valid();
    Ok(())
}
