//! The parts of a table as the folder of another one: what backups and FREEZE are made of.

use super::journal::Journal;
use super::part::{Part, PartData, PartInfo};
use super::part_file::path_of;
use super::parts::{Parts, State};
use super::projection;
use super::skip_index::parse_file_name;
use crate::disk::TableFolder;
use crate::disk::durable::{cannot_open, cannot_read, cannot_write, sync_folder};
use crate::disk::fs::{self, Access, File};
use chalet_base::Result;
use chalet_base::hash::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which files are given a second name in place of a copy.
pub enum Links {
    None,
    /// All: the folder is of the same database.
    Own,
    /// Those that another table has, which was made of an earlier state of this one.
    Of(Arc<Parts>),
}

impl Parts {
    /// Makes the parts for which `wanted` holds those of a new table in `to`, under the same numbers. All is on disk when this
    /// returns. Fails where a part is damaged.
    pub fn export(
        &self,
        to: &Arc<TableFolder>,
        wanted: impl Fn(&PartInfo) -> bool,
        links: &Links,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let state = self.snapshot()?.of_parts(|part| wanted(&part.info));
        let linked = match links {
            Links::Of(parts) => parts.snapshot()?.parts.clone(),
            Links::None | Links::Own => Vec::new(),
        };
        for part in &state.parts {
            check()?;
            let own = matches!(links, Links::Own).then_some(part);
            let same = own.or_else(|| linked.iter().find(|known| known.is_same_file(part)));
            let PartData::File(path, _) = &part.data else { continue };
            let target = path_of(to, part.info.number);
            match same.map(|same| &same.data) {
                Some(PartData::File(known, _)) if fs::hard_link(known, &target).is_ok() => {}
                _ => copy_part(part, path, &target)?,
            }
        }
        if let Some(folder) = self.folder() {
            copy_derived(folder, to, &state)?;
        }
        sync_folder(to.path())?;
        Journal::create(to.clone(), &state.encode()?).map(drop)
    }
}

fn copy_part(part: &Part, path: &Path, target: &Path) -> Result<()> {
    part.check()?;
    let Some(input) = part.open()? else { return Ok(()) };
    let bytes = input.into_bytes().map_err(|e| e.context(format!("(in file {})", path.display())))?;
    write_new(target, &bytes)
}

/// Indexes and projections have checksums of their own, and a part without one is read whole.
fn copy_derived(from: &TableFolder, to: &TableFolder, state: &State) -> Result<()> {
    let numbers: HashSet<u64> = state.parts.iter().map(|part| part.info.number).collect();
    for found in fs::read_folder(from.path()).map_err(|e| cannot_open(from.path(), &e))? {
        let Some(part) = found.name.to_str().and_then(part_of_derived) else { continue };
        if !numbers.contains(&part) {
            continue;
        }
        let path: PathBuf = from.path().join(&found.name);
        match fs::read(&path) {
            Ok(bytes) => write_new(&to.path().join(&found.name), &bytes)?,
            // It was dropped meanwhile.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(cannot_read(&path, &e)),
        }
    }
    Ok(())
}

/// The part whose index or projection a file has.
fn part_of_derived(name: &str) -> Option<u64> {
    let found = parse_file_name(name).or_else(|| projection::parse_file_name(name)).map(|(part, _)| part);
    found.or_else(|| projection::parse_rows_name(name).map(|(part, ..)| part))
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let file = File::open(path, Access::CreateNew)?;
        file.write_all_at(bytes, 0)?;
        file.sync_all()
    };
    write().map_err(|e| cannot_write(path, &e))
}
