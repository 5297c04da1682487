//! The right to write a database: a lock on its folder, which the operating system takes back when the process ends,
//! however it ends.
//!
//! The file of the lock is also the room that is kept for the time when the disk is full: as long as it is there a database can be
//! opened, and tables can be dropped to make more.

use super::durable::{cannot_open, is_full};
use super::fs::{self, Access, File};
use super::lock::Lock;
use chalet_base::{Result, bail, ensure, err};
use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LOCK: &str = "lock";
const HOLDER: &str = "writer";

/// How long one waits for a lock that this very process is about to give back, on another thread.
const OWN_LOCK_WAIT: Duration = Duration::from_secs(2);

/// Bytes that are kept in the file of the lock, beside those that the definitions need.
const ROOM: u64 = 16 << 10;

/// Held as long as the database is open for writing.
pub struct Writer {
    root: PathBuf,
    /// Children that are forked have a copy of this, and no right.
    lock: Lock,
    /// It is not known what is on disk: nothing is written until the database has been opened again.
    is_lost: AtomicBool,
    /// The last one who wrote did not come to an end.
    follows_killed: bool,
}

impl Writer {
    /// Locks a folder, or says who holds the lock.
    pub fn lock(root: &Path) -> Result<Writer> {
        let path = root.join(LOCK);
        let lock = Lock::open(&path).map_err(|e| cannot_open(&path, &e))?;
        let process = lock.process();
        let since = Instant::now();
        loop {
            match lock.try_take() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(e)) => {
                    bail!(CANNOT_OPEN_FILE, "Cannot lock file {}: {e}", path.display())
                }
            }
            let holder = holder(root);
            if holder == Some(process) && since.elapsed() < OWN_LOCK_WAIT {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            let holder = holder.map_or("another process".into(), |holder| format!("process {holder}"));
            bail!(
                CANNOT_OPEN_FILE,
                "Cannot lock file {}: the database is open for writing in {holder}. One process can write a database at a \
                 time; others can read it, with ?mode=ro",
                path.display()
            );
        }
        // Whoever comes to an end takes the file away.
        let holder = root.join(HOLDER);
        let follows_killed = fs::exists(&holder).map_err(|e| cannot_open(&holder, &e))?;
        let name = |file: File| file.write_all_at(format!("{process}\n").as_bytes(), 0);
        let named = || File::open(&holder, Access::Create).and_then(name);
        let is_named = match named() {
            Err(e) if is_full(&e) && give_room(&lock) => named(),
            other => other,
        };
        is_named.map_err(|e| err!(CANNOT_OPEN_FILE, "Cannot write to {}: {e}", root.display()))?;
        let writer =
            Writer { root: root.to_path_buf(), lock, is_lost: AtomicBool::new(false), follows_killed };
        writer.keep_room(0);
        Ok(writer)
    }

    /// Keeps room for definitions of so many bytes, as far as there is some.
    pub fn keep_room(&self, bytes: u64) {
        let Some(file) = self.lock.file() else { return };
        let wanted = bytes + ROOM;
        let kept = file.metadata().map_or(wanted, |found| found.len());
        if kept < wanted {
            // Only written bytes are sure of their place on every file system. What fits of them is kept.
            let _ = file.write_all_at(&vec![0; (wanted - kept) as usize], kept);
        }
    }

    /// Gives that room back, since the disk is full; `false` where there is none.
    pub fn give_room(&self) -> bool {
        give_room(&self.lock)
    }

    /// Fails where this process may not write.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.is_inherited(),
            READONLY,
            "The database was opened by process {}, from which this one was forked: it can read, not write",
            self.lock.process()
        );
        ensure!(
            !self.is_lost.load(Relaxed),
            READONLY,
            "Writing to the database failed before. It has to be opened again to be written"
        );
        Ok(())
    }

    /// The same where there may be no writer: the database is open for reading.
    pub fn check_some(writer: Option<&Arc<Writer>>) -> Result<()> {
        match writer {
            Some(writer) => writer.check(),
            None => bail!(READONLY, "The database is open for reading only"),
        }
    }

    /// Is this a child that was forked from the process that writes?
    pub fn is_inherited(&self) -> bool {
        !self.lock.is_own()
    }

    /// Was the last one who wrote killed, or did the disk fail it? Then what is found may not be on disk yet: the operating system
    /// shows what was written, also where nobody has waited for the disk.
    pub fn follows_killed(&self) -> bool {
        self.follows_killed
    }

    /// Ends all writing: what the last write left on disk is not known.
    pub fn lose(&self) {
        self.is_lost.store(true, Relaxed);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // As long as nobody else can have the lock.
        if !self.is_inherited() && !self.is_lost.load(Relaxed) {
            // Nobody is left to tell of a failure, and the next writer puts its own in the place.
            let _ = fs::remove_file(&self.root.join(HOLDER));
        }
    }
}

fn give_room(lock: &Lock) -> bool {
    let Some(file) = lock.file() else { return false };
    file.metadata().is_ok_and(|found| found.len() > 0) && file.set_len(0).is_ok()
}

/// The process that locked the folder last.
fn holder(root: &Path) -> Option<u32> {
    String::from_utf8(fs::read(&root.join(HOLDER)).ok()?).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let folder = std::env::temp_dir().join(format!("chalet-lock-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let first = Writer::lock(&folder).expect("the lock");
        let error = Writer::lock(&folder).err().expect("no second lock").to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        drop(first);
        assert!(Writer::lock(&folder).is_ok());
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
    }
}
