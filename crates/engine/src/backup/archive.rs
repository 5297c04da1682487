//! A folder as one file: zip, and tar with what compresses it.

use chalet_base::{Error, Result, bail, err};
use chalet_formats::Compression;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

/// The endings of names that make a backup an archive.
const ZIP: [&str; 2] = [".zip", ".zipx"];
const TAR: [&str; 8] = [".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.zst", ".tzst", ".tar.xz", ".tar.lzma"];

/// What is packed is compressed already, most of it.
const LEVEL: u32 = 3;

/// Is a backup of this name one file?
pub(super) fn is_archive(name: &str) -> bool {
    ZIP.iter().chain(&TAR).any(|ending| name.ends_with(ending))
}

fn is_zip(name: &str) -> bool {
    ZIP.iter().any(|ending| name.ends_with(ending))
}

fn cannot_pack(path: &Path, error: impl std::fmt::Display) -> Error {
    err!(CANNOT_PACK_ARCHIVE, "Cannot pack archive {}: {error}", path.display())
}

fn cannot_unpack(path: &Path, error: impl std::fmt::Display) -> Error {
    err!(CANNOT_UNPACK_ARCHIVE, "Cannot unpack archive {}: {error}", path.display())
}

/// How a tar is compressed, by its name.
fn compression(name: &str) -> Result<Compression> {
    let method = match name.rsplit('.').next().unwrap_or_default() {
        "gz" | "tgz" => "gzip",
        "zst" | "tzst" => "zstd",
        "bz2" => "bz2",
        "xz" => "xz",
        "lzma" => {
            bail!(NOT_IMPLEMENTED, "Backups that are compressed by LZMA are not supported: use .tar.xz")
        }
        _ => "none",
    };
    Compression::named(method, name)
}

/// Puts all files below a folder into a new file, which is on disk when this returns. `name` tells the kind.
pub(super) fn pack(folder: &Path, name: &str, path: &Path, check: &dyn Fn() -> Result<()>) -> Result<()> {
    let file = File::create_new(path).map_err(|e| cannot_pack(path, e))?;
    let files = files_below(folder).map_err(|e| cannot_pack(path, e))?;
    let kept = file.try_clone().map_err(|e| cannot_pack(path, e))?;
    match is_zip(name) {
        true => pack_zip(folder, &files, path, file, check)?,
        false => pack_tar(folder, &files, name, path, file, check)?,
    }
    kept.sync_all().map_err(|e| cannot_pack(path, e))
}

fn pack_zip(
    folder: &Path,
    files: &[String],
    path: &Path,
    file: File,
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let mut zip = zip::ZipWriter::new(BufWriter::new(file));
    for name in files {
        check()?;
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated)
            .large_file(true);
        zip.start_file(name, options).map_err(|e| cannot_pack(path, e))?;
        let mut from = File::open(folder.join(name)).map_err(|e| cannot_pack(path, e))?;
        io::copy(&mut from, &mut zip).map_err(|e| cannot_pack(path, e))?;
    }
    let mut out = zip.finish().map_err(|e| cannot_pack(path, e))?;
    out.flush().map_err(|e| cannot_pack(path, e))
}

fn pack_tar(
    folder: &Path,
    files: &[String],
    name: &str,
    path: &Path,
    file: File,
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let out = compression(name)?.writer(Box::new(BufWriter::new(file)), LEVEL)?;
    let mut tar = tar::Builder::new(out);
    for name in files {
        check()?;
        tar.append_path_with_name(folder.join(name), name).map_err(|e| cannot_pack(path, e))?;
    }
    let mut out = tar.into_inner().map_err(|e| cannot_pack(path, e))?;
    out.close().map_err(|e| cannot_pack(path, e))
}

/// Puts all files of an archive below a folder that is there. What would be put elsewhere is an error.
pub(super) fn unpack(path: &Path, folder: &Path) -> Result<()> {
    let name = path.to_string_lossy();
    let file = BufReader::new(File::open(path).map_err(|e| cannot_unpack(path, e))?);
    if is_zip(&name) {
        let mut zip = zip::ZipArchive::new(file).map_err(|e| cannot_unpack(path, e))?;
        return zip.extract(folder).map_err(|e| cannot_unpack(path, e));
    }
    let mut tar = tar::Archive::new(compression(&name)?.reader(Box::new(file))?);
    tar.unpack(folder).map_err(|e| cannot_unpack(path, e))
}

/// The paths of all files below a folder, relative and with slashes, sorted.
pub(super) fn files_below(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        for entry in std::fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let name = format!("{below}{}", entry.file_name().to_string_lossy());
            match entry.file_type()?.is_dir() {
                true => folders.push(format!("{name}/")),
                false => found.push(name),
            }
        }
    }
    found.sort();
    Ok(found)
}
