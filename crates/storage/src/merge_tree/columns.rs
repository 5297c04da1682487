//! Versions of the columns of a table. A part has the columns of the version in which it was written; a column is known by
//! its number, so that it may be renamed, or dropped and added anew, without parts being rewritten.

use chalet_base::{Result, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_formats::binary::{Cursor, put_var_uint};
use chalet_formats::native::{read_column, write_column};
use chalet_types::DataType;
use std::sync::Arc;

/// A stored column of a version.
#[derive(Clone, Debug)]
pub struct VersionColumn {
    /// The same in all versions, and of no other column.
    pub id: u32,
    pub name: Arc<str>,
    pub ty: DataType,
    /// What rows have of it that are of parts without it: one value.
    pub fill: Vector,
}

/// Which of the columns that say where a row came from are kept when parts are written anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptBlocks {
    /// `_block_number`: of the INSERT.
    pub number: bool,
    /// `_block_offset`: of the row among those that came with it.
    pub offset: bool,
}

/// The numbers of these columns, which are in no version: a part has them behind its others.
pub(super) const BLOCK_NUMBER: u32 = u32::MAX - 1;
pub(super) const BLOCK_OFFSET: u32 = u32::MAX;

impl KeptBlocks {
    /// What one of both keeps.
    pub fn or(self, other: KeptBlocks) -> KeptBlocks {
        KeptBlocks { number: self.number || other.number, offset: self.offset || other.offset }
    }

    /// Their names and numbers.
    pub fn columns(self) -> impl Iterator<Item = (&'static str, u32)> {
        let number = self.number.then_some(("_block_number", BLOCK_NUMBER));
        number.into_iter().chain(self.offset.then_some(("_block_offset", BLOCK_OFFSET)))
    }

    /// As a number of two bits.
    pub(super) fn bits(self) -> u64 {
        u64::from(self.number) | u64::from(self.offset) << 1
    }

    pub(super) fn of_bits(bits: u64) -> KeptBlocks {
        KeptBlocks { number: bits & 1 != 0, offset: bits & 2 != 0 }
    }
}

/// The stored columns of a table, in order.
#[derive(Clone, Debug)]
pub struct ColumnsVersion {
    pub number: u32,
    pub columns: Arc<[VersionColumn]>,
    /// Of which definition it is, where the one before has columns of the same names and types; 0: that is told by those. Such a
    /// version is followed by one of the same columns without this, once its definition is on disk.
    pub definition: u64,
}

impl ColumnsVersion {
    /// The first version of a table.
    pub fn first<'a>(columns: impl IntoIterator<Item = (&'a str, &'a DataType)>) -> ColumnsVersion {
        let columns = columns.into_iter().enumerate().map(|(id, (name, ty))| VersionColumn {
            id: id as u32,
            name: name.into(),
            ty: ty.clone(),
            fill: Vector::defaults(ty, 1),
        });
        ColumnsVersion { number: 0, columns: columns.collect(), definition: 0 }
    }

    /// Are these its columns, by name and type?
    pub fn has<'a>(&self, columns: impl IntoIterator<Item = (&'a str, &'a DataType)>) -> bool {
        let mut own = self.columns.iter();
        let all =
            columns.into_iter().all(|(name, ty)| own.next().is_some_and(|c| *c.name == *name && c.ty == *ty));
        all && own.next().is_none()
    }

    /// The columns of a part of this version that keeps where its rows came from.
    pub(super) fn with_blocks(self: &Arc<Self>, kept: KeptBlocks) -> Arc<ColumnsVersion> {
        if kept == KeptBlocks::default() {
            return self.clone();
        }
        let behind = kept.columns().map(|(name, id)| VersionColumn {
            id,
            name: name.into(),
            ty: DataType::UInt64,
            fill: Vector::defaults(&DataType::UInt64, 1),
        });
        let columns = self.columns.iter().cloned().chain(behind).collect();
        Arc::new(ColumnsVersion { columns, ..(**self).clone() })
    }

    /// The position of a column by its number.
    pub fn position(&self, id: u32) -> Option<usize> {
        self.columns.iter().position(|column| column.id == id)
    }

    /// Appends the version as bytes.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        put_var_uint(out, self.number.into());
        put_var_uint(out, self.columns.len() as u64);
        for VersionColumn { id, name, ty, fill } in self.columns.iter() {
            put_var_uint(out, (*id).into());
            put_text(out, name);
            put_text(out, &ty.to_string());
            let mut value = Vec::new();
            write_column(&mut value, ty, &Column::Flat(fill.clone()))?;
            put_var_uint(out, value.len() as u64);
            out.extend(value);
        }
        Ok(())
    }

    /// What [`encode`](Self::encode) has appended.
    pub fn decode(from: &mut Cursor<'_>) -> Result<ColumnsVersion> {
        let number = u32::try_from(from.var_uint()?)
            .map_err(|_| err!(INCORRECT_DATA, "A version of columns has no number"))?;
        let n = from.var_uint()?;
        ensure!(n <= from.rest.len() as u64, INCORRECT_DATA, "A version of columns is cut short");
        let columns = (0..n).map(|_| {
            let id = from.var_uint()? as u32;
            let name = from.text()?.into();
            let ty: DataType = from.text()?.parse()?;
            let n = from.var_uint()? as usize;
            let mut value = Cursor::new(from.take(n)?);
            let fill = read_column(&mut value, &ty, 1)?.into_flat();
            Ok(VersionColumn { id, name, ty, fill })
        });
        Ok(ColumnsVersion { number, columns: columns.collect::<Result<_>>()?, definition: 0 })
    }
}

/// Appends a text behind its length.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_var_uint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}
