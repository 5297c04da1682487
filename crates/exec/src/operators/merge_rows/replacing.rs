//! Replacing: of the rows of a key the one with the greatest version stays, of several of them the last.

use super::choosing::{Choice, vectors};
use chalet_base::{Result, bail};
use chalet_columns::interleave::BlockRow;
use chalet_columns::{Block, Vector};
use std::cmp::Ordering;

pub(super) struct Replacing {
    version: Option<usize>,
    is_deleted: Option<usize>,
    drops_deleted: bool,
    versions: Option<[Vector; 2]>,
    deleted: Option<[Vector; 2]>,
    best: Option<BlockRow>,
}

impl Replacing {
    pub fn new(version: Option<usize>, is_deleted: Option<usize>, drops_deleted: bool) -> Replacing {
        Replacing { version, is_deleted, drops_deleted, versions: None, deleted: None, best: None }
    }

    fn is_dropped(&self, row: BlockRow) -> bool {
        let Some(deleted) = self.deleted.as_ref().filter(|_| self.drops_deleted) else { return false };
        deleted[row.block as usize].values::<u8>().is_ok_and(|flags| flags[row.row as usize] != 0)
    }
}

impl Choice for Replacing {
    fn begin(&mut self, blocks: [&Block; 2]) -> Result<()> {
        self.versions = self.version.map(|column| vectors(blocks, column));
        self.deleted = self.is_deleted.map(|column| vectors(blocks, column));
        let Some([_, new]) = &self.deleted else { return Ok(()) };
        for flag in new.values::<u8>()? {
            if *flag > 1 {
                bail!(INCORRECT_DATA, "Incorrect data: is_deleted = {flag} (must be 1 or 0).");
            }
        }
        Ok(())
    }

    fn add(&mut self, row: BlockRow) {
        let stays = match (&self.best, &self.versions) {
            (Some(best), Some(versions)) => {
                let (new, old) = (&versions[row.block as usize], &versions[best.block as usize]);
                new.compare(row.row as usize, old, best.row as usize) != Ordering::Less
            }
            _ => true,
        };
        if stays {
            self.best = Some(row);
        }
    }

    fn close(&mut self, out: &mut Vec<BlockRow>) {
        let best = self.best.take();
        out.extend(best.filter(|row| !self.is_dropped(*row)));
    }

    fn held(&mut self) -> Vec<&mut BlockRow> {
        self.best.iter_mut().collect()
    }
}
