//! The calls of the file system that databases on disk make: all of them, so that a test can fail or record each.
//!
//! A build with debug assertions has [`observe`], with which a test sees the calls below one folder. Other builds have nothing
//! of it: a file is then the standard library's.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Also written; it is there already.
    Write,
    /// Made, or emptied where it is there.
    Create,
    /// Made; it must not be there.
    CreateNew,
    /// Also written; made where it is not there.
    OpenOrCreate,
    /// Written at its end.
    Append,
}

/// What a call does; of a file that is open with the number of the opening.
#[derive(Debug)]
pub enum Action<'a> {
    Open(Access, u64),
    Write(u64, u64, &'a [u8]),
    SetLen(u64, u64),
    /// The bytes and the length of a file are on disk afterwards.
    Sync(u64),
    Read,
    Map,
    Metadata,
    ReadFolder,
    CreateFolder,
    /// The names in a folder are on disk afterwards.
    SyncFolder,
    /// To this path.
    Rename(&'a Path),
    /// Of the file of this path.
    Link(&'a Path),
    RemoveFile,
    /// With all that is in it.
    RemoveFolder,
}

/// An open file.
pub struct File {
    file: std::fs::File,
    #[cfg(debug_assertions)]
    opened: observe::Opened,
}

impl File {
    /// Opens a file.
    pub fn open(path: &Path, access: Access) -> io::Result<File> {
        let mut options = std::fs::File::options();
        match access {
            Access::Read => options.read(true),
            Access::Write => options.read(true).write(true),
            Access::Create => options.read(true).write(true).create(true).truncate(true),
            Access::CreateNew => options.read(true).write(true).create_new(true),
            Access::OpenOrCreate => options.read(true).write(true).create(true).truncate(false),
            Access::Append => options.append(true),
        };
        #[cfg(debug_assertions)]
        let opened = observe::Opened::new(path);
        #[cfg(debug_assertions)]
        let number = opened.number;
        #[cfg(not(debug_assertions))]
        let number = 0;
        let file = call(path, &Action::Open(access, number), || options.open(path))?;
        Ok(File {
            file,
            #[cfg(debug_assertions)]
            opened,
        })
    }

    fn call<R>(
        &self,
        action: impl FnOnce(u64) -> Action<'static>,
        work: impl FnOnce(&std::fs::File) -> io::Result<R>,
    ) -> io::Result<R> {
        #[cfg(debug_assertions)]
        return call(&self.opened.path, &action(self.opened.number), || work(&self.file));
        #[cfg(not(debug_assertions))]
        {
            let _ = action;
            work(&self.file)
        }
    }

    /// Some bytes from an offset on. Fails where the file ends before.
    pub fn read_vec(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.call(
            |_| Action::Read,
            |file| {
                let mut bytes = vec![0; len];
                read_exact_at(file, &mut bytes, offset)?;
                Ok(bytes)
            },
        )
    }

    /// Writes all bytes at an offset.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        #[cfg(debug_assertions)]
        if let Some(observer) = observe::of(&self.opened.path) {
            let action = |bytes| Action::Write(self.opened.number, offset, bytes);
            if let Err(error) = observer.before(&self.opened.path, &action(bytes)) {
                // A disk that fails has written a part.
                let part = &bytes[..bytes.len() / 2];
                write_all_at(&self.file, part, offset)?;
                observer.after(&self.opened.path, &action(part));
                return Err(error);
            }
            write_all_at(&self.file, bytes, offset)?;
            observer.after(&self.opened.path, &action(bytes));
            return Ok(());
        }
        write_all_at(&self.file, bytes, offset)
    }

    /// Makes the file longer or shorter.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        self.call(|number| Action::SetLen(number, len), |file| file.set_len(len))
    }

    /// Waits until the bytes and the length are on disk.
    pub fn sync_data(&self) -> io::Result<()> {
        self.call(Action::Sync, |file| wait(|| file.sync_data()))
    }

    /// Waits until all that belongs to the file is on disk.
    pub fn sync_all(&self) -> io::Result<()> {
        self.call(Action::Sync, |file| wait(|| file.sync_all()))
    }

    /// Length, times and the like.
    pub fn metadata(&self) -> io::Result<std::fs::Metadata> {
        self.call(|_| Action::Metadata, std::fs::File::metadata)
    }

    /// The file as `map` makes memory of it.
    pub fn map<M>(&self, map: impl FnOnce(&std::fs::File) -> io::Result<M>) -> io::Result<M> {
        self.call(|_| Action::Map, map)
    }

    /// The file for those who read it as a stream.
    pub fn into_std(self) -> std::fs::File {
        self.file
    }

    /// The file itself, for locks: they are no part of what is kept.
    pub fn as_std(&self) -> &std::fs::File {
        &self.file
    }
}

/// Writes from the start on, piece by piece.
pub struct SequentialWriter {
    file: Arc<File>,
    offset: u64,
}

impl SequentialWriter {
    /// A writer of a file that is empty.
    pub fn new(file: Arc<File>) -> SequentialWriter {
        SequentialWriter { file, offset: 0 }
    }
}

impl io::Write for SequentialWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(bytes, self.offset)?;
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is in a folder.
pub struct FolderEntry {
    pub name: OsString,
    pub is_folder: bool,
}

/// All that is in a folder.
pub fn read_folder(path: &Path) -> io::Result<Vec<FolderEntry>> {
    call(path, &Action::ReadFolder, || {
        let entry = |found: io::Result<std::fs::DirEntry>| {
            let found = found?;
            Ok(FolderEntry { name: found.file_name(), is_folder: found.file_type()?.is_dir() })
        };
        std::fs::read_dir(path)?.map(entry).collect()
    })
}

/// Makes a folder.
pub fn create_folder(path: &Path) -> io::Result<()> {
    call(path, &Action::CreateFolder, || std::fs::create_dir(path))
}

/// Waits until the names in a folder are on disk.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    // Elsewhere folders cannot be opened, and names are journalled with the file.
    if !cfg!(unix) {
        return Ok(());
    }
    call(path, &Action::SyncFolder, || {
        let folder = std::fs::File::open(path)?;
        wait(|| folder.sync_all())
    })
}

/// Gives a file another name, in the place of what has it.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    call(from, &Action::Rename(to), || std::fs::rename(from, to))
}

/// Gives a file a second name.
pub fn hard_link(from: &Path, to: &Path) -> io::Result<()> {
    call(to, &Action::Link(from), || std::fs::hard_link(from, to))
}

/// Removes a file.
pub fn remove_file(path: &Path) -> io::Result<()> {
    call(path, &Action::RemoveFile, || std::fs::remove_file(path))
}

/// Removes a folder with all that is in it.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    call(path, &Action::RemoveFolder, || std::fs::remove_dir_all(path))
}

/// The bytes of a file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    call(path, &Action::Read, || std::fs::read(path))
}

/// Length, times and the like.
pub fn metadata(path: &Path) -> io::Result<std::fs::Metadata> {
    call(path, &Action::Metadata, || std::fs::metadata(path))
}

/// Is there a file or folder?
pub fn exists(path: &Path) -> io::Result<bool> {
    match metadata(path) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Waits for the disk.
fn wait(sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    #[cfg(debug_assertions)]
    if observe::waits_for_no_disk() {
        return Ok(());
    }
    sync()
}

fn call<R>(path: &Path, action: &Action, work: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    #[cfg(debug_assertions)]
    if let Some(observer) = observe::of(path) {
        observer.before(path, action)?;
        let done = work()?;
        observer.after(path, action);
        return Ok(done);
    }
    #[cfg(not(debug_assertions))]
    let _ = (path, action);
    work()
}

fn read_exact_at(file: &std::fs::File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset);
    #[cfg(windows)]
    {
        let (mut rest, mut at) = (buffer, offset);
        while !rest.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(file, rest, at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => {
                    rest = &mut rest[n..];
                    at += n as u64;
                }
            }
        }
        Ok(())
    }
}

fn write_all_at(file: &std::fs::File, bytes: &[u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, offset);
    #[cfg(windows)]
    {
        let (mut rest, mut at) = (bytes, offset);
        while !rest.is_empty() {
            let n = std::os::windows::fs::FileExt::seek_write(file, rest, at)?;
            rest = &rest[n..];
            at += n as u64;
        }
        Ok(())
    }
}

/// For tests: who sees the calls, and may fail them.
#[cfg(debug_assertions)]
pub mod observe {
    use super::Action;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
    use std::sync::{Arc, PoisonError, RwLock};

    /// Sees the calls below a folder.
    pub trait Observer: Send + Sync {
        /// Called before each. An error takes the place of the call; of a write the first half is done all the same.
        fn before(&self, path: &Path, action: &Action) -> io::Result<()>;

        /// Called after each that succeeded.
        fn after(&self, path: &Path, action: &Action);
    }

    type Observers = Vec<(PathBuf, Arc<dyn Observer>)>;

    static OBSERVERS: RwLock<Observers> = RwLock::new(Vec::new());
    /// Of these.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static NEXT: AtomicU64 = AtomicU64::new(1);

    static WAITS_FOR_NO_DISK: AtomicBool = AtomicBool::new(false);

    /// From now on this process does not wait for the disk, which takes most of a test's time and shows nothing: the power stays.
    pub fn wait_for_no_disk() {
        WAITS_FOR_NO_DISK.store(true, Relaxed);
    }

    pub(super) fn waits_for_no_disk() -> bool {
        WAITS_FOR_NO_DISK.load(Relaxed)
    }

    pub(super) struct Opened {
        pub number: u64,
        pub path: PathBuf,
    }

    impl Opened {
        pub fn new(path: &Path) -> Opened {
            Opened { number: NEXT.fetch_add(1, Relaxed), path: path.to_path_buf() }
        }
    }

    /// Observes until it is dropped.
    pub struct Observation(PathBuf);

    /// Has the calls below a folder, which is there and named without links, told to an observer.
    pub fn observe(folder: &Path, observer: Arc<dyn Observer>) -> Observation {
        let mut observers = OBSERVERS.write().unwrap_or_else(PoisonError::into_inner);
        observers.push((folder.to_path_buf(), observer));
        COUNT.store(observers.len(), Relaxed);
        Observation(folder.to_path_buf())
    }

    impl Drop for Observation {
        fn drop(&mut self) {
            let mut observers = OBSERVERS.write().unwrap_or_else(PoisonError::into_inner);
            observers.retain(|(folder, _)| *folder != self.0);
            COUNT.store(observers.len(), Relaxed);
        }
    }

    pub(super) fn of(path: &Path) -> Option<Arc<dyn Observer>> {
        if COUNT.load(Relaxed) == 0 {
            return None;
        }
        let observers = OBSERVERS.read().unwrap_or_else(PoisonError::into_inner);
        observers.iter().find(|(folder, _)| path.starts_with(folder)).map(|(_, observer)| observer.clone())
    }
}
