//! INSERT into a file.

use crate::Inserter;
use crate::file::FileContext;
use crate::mapped::cannot_open;
use chalet_base::{Result, bail, ensure};
use chalet_columns::Block;
use chalet_formats::{BlockWriter, Compression, Format, Schema, Sink, Statistics, WriteRequest};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is written, and where.
pub(crate) struct Target<'a> {
    pub path: &'a str,
    pub format: &'static Format,
    /// By name; by the path's suffix where there is none.
    pub compression: Option<&'a str>,
    pub structure: &'a Schema,
    /// The same with what columns show in place of their types.
    pub shown: &'a Schema,
    pub context: &'a FileContext,
}

/// Writes beside the target and moves into place at the end, so that a failed INSERT leaves what was there; appending
/// formats go on in the file itself.
pub(crate) struct FileInserter {
    writer: Option<Box<dyn BlockWriter>>,
    /// Finished file and its final name.
    replace: Option<(PathBuf, PathBuf)>,
    /// A file that was appended to, and its length before.
    appended: Option<(PathBuf, u64)>,
    finished: bool,
}

impl FileInserter {
    pub fn open(table: &Target) -> Result<FileInserter> {
        let mut target = PathBuf::from(table.path);
        let context = table.context;
        let existing = std::fs::metadata(&target).map(|m| m.len()).unwrap_or(0);
        let compression = Compression::named(table.compression.unwrap_or("auto"), table.path)?;
        let append = existing > 0 && !context.truncate_on_insert;
        if append && table.format.capabilities.no_append {
            ensure!(
                context.create_multiple_files,
                CANNOT_APPEND_TO_FILE,
                "Cannot insert data in format {} to file {}, because this format doesn't support appends. You can allow to \
                 create a new file on each insert by enabling setting engine_file_allow_create_multiple_files",
                table.format.name,
                table.path
            );
            target = numbered(&target);
        }
        let append = append && !table.format.capabilities.no_append;
        let request = WriteRequest {
            header: table.structure.clone().into(),
            shown: table.shown.iter().map(|(_, ty)| ty.clone()).collect(),
            settings: context.settings.clone(),
            time_zone: context.time_zone.clone(),
            page_rows: None,
            codecs: Arc::default(),
            threads: if context.settings.output_format_parquet_parallel_encoding {
                context.threads
            } else {
                1
            },
            terminal: false,
        };
        if let Some(parent) = target.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(|e| cannot_open(parent, &e))?;
        }
        let (file, replace, appended) = if append {
            let file = std::fs::OpenOptions::new().append(true).open(&target);
            (file.map_err(|e| cannot_open(&target, &e))?, None, Some((target, existing)))
        } else {
            let mut name = target.file_name().unwrap_or_default().to_os_string();
            name.push(format!(".{}.tmp", std::process::id()));
            let temporary = target.with_file_name(name);
            let file = std::fs::File::create(&temporary).map_err(|e| cannot_open(&temporary, &e))?;
            (file, Some((temporary, target)), None)
        };
        let level = 3;
        let sink: Box<dyn Sink> = compression.writer(Box::new(std::io::BufWriter::new(file)), level)?;
        let writer = table.format.writer(request, sink)?;
        Ok(FileInserter { writer: Some(writer), replace, appended, finished: false })
    }
}

/// `data.parquet`, `data.1.parquet`, `data.2.parquet`: the first name that is free.
fn numbered(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, suffix) = name.split_once('.').map_or((name.as_str(), ""), |(stem, suffix)| (stem, suffix));
    (1u64..)
        .map(|n| {
            path.with_file_name(if suffix.is_empty() {
                format!("{stem}.{n}")
            } else {
                format!("{stem}.{n}.{suffix}")
            })
        })
        .find(|candidate| !candidate.exists())
        .unwrap_or_else(|| path.to_path_buf())
}

impl Inserter for FileInserter {
    fn write(&mut self, block: Block) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.write(&block),
            None => bail!(LOGICAL_ERROR, "The file is written already"),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if let Some(mut writer) = self.writer.take() {
            writer.finish(&Statistics::default())?;
        }
        if let Some((temporary, target)) = &self.replace {
            std::fs::rename(temporary, target).map_err(|e| cannot_open(target, &e))?;
        }
        self.finished = true;
        Ok(())
    }
}

impl Drop for FileInserter {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        self.writer = None;
        // Best effort: the statement has failed already and says why.
        if let Some((temporary, _)) = &self.replace {
            let _ = std::fs::remove_file(temporary);
        }
        if let Some((path, len)) = &self.appended
            && let Ok(file) = std::fs::OpenOptions::new().write(true).open(path)
        {
            let _ = file.set_len(*len);
        }
    }
}
