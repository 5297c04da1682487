//! A lock on a file that ends with the process that took it.
//!
//! The operating system gives the lock to the open file, and a forked child has the same open file: the lock would stay as
//! long as the child, whatever becomes of the parent. So a child closes what it has inherited of locks before anything else.

use super::fs::{Access, File};
use std::fs::TryLockError;
use std::io;
use std::path::Path;

/// A file and, once it is taken, the lock on it, which this process holds until this is dropped.
pub struct Lock {
    /// Always there until this is dropped.
    file: Option<File>,
    /// A child has closed the file: the number of its descriptor may be another file's there.
    process: u32,
    #[cfg(unix)]
    held: &'static forks::Held,
}

impl Lock {
    /// Opens the file of a lock, which is made when it is not there. Nothing is locked yet.
    pub fn open(path: &Path) -> io::Result<Lock> {
        let file = File::open(path, Access::OpenOrCreate)?;
        #[cfg(unix)]
        let held = forks::hold(file.as_std());
        Ok(Lock {
            file: Some(file),
            process: std::process::id(),
            #[cfg(unix)]
            held,
        })
    }

    /// Takes the lock of the file without waiting. Fails when another process holds it.
    pub fn try_take(&self) -> Result<(), TryLockError> {
        self.file.as_ref().map_or(Ok(()), |file| file.as_std().try_lock())
    }

    /// The file, whose content says nothing.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// The process that took the lock.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// False in a child that was forked from the process that took it.
    pub fn is_own(&self) -> bool {
        std::process::id() == self.process
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let file = self.file.take();
        if !self.is_own() {
            std::mem::forget(file);
            return;
        }
        // Before the number of the descriptor can be another file's. A child that is forked in between has the file, but
        // no lock as soon as that is given back here.
        #[cfg(unix)]
        self.held.release();
        // Nobody is left to tell of a failure, and the end of the process does the same.
        let _ = file.map(|file| file.as_std().unlock());
    }
}

/// Which descriptors a forked child closes. It may neither wait for a lock nor allocate there.
#[cfg(unix)]
mod forks {
    use std::ffi::c_int;
    use std::fs::File;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
    use std::sync::{Once, OnceLock};

    const NONE: c_int = -1;

    /// A descriptor, and the rest of the list. What was released is taken again; nothing is ever removed.
    pub struct Held {
        descriptor: AtomicI32,
        next: OnceLock<Box<Held>>,
    }

    static FIRST: Held = Held::new(NONE);

    type Handler = extern "C" fn();

    unsafe extern "C" {
        fn pthread_atfork(prepare: Option<Handler>, parent: Option<Handler>, child: Option<Handler>)
        -> c_int;
    }

    impl Held {
        const fn new(descriptor: c_int) -> Held {
            Held { descriptor: AtomicI32::new(descriptor), next: OnceLock::new() }
        }

        pub fn release(&self) {
            self.descriptor.store(NONE, SeqCst);
        }
    }

    /// Has children close a file.
    pub fn hold(file: &File) -> &'static Held {
        static ASKED: Once = Once::new();
        ASKED.call_once(|| {
            // SAFETY: the handler is always there, and does nothing that a forked child may not.
            // Where there is no memory for it the lock ends with the last child.
            let _ = unsafe { pthread_atfork(None, None, Some(close_all)) };
        });
        let descriptor = file.as_raw_fd();
        let mut held = &FIRST;
        while held.descriptor.compare_exchange(NONE, descriptor, SeqCst, SeqCst).is_err() {
            held = held.next.get_or_init(|| Box::new(Held::new(NONE)));
        }
        held
    }

    extern "C" fn close_all() {
        let mut next = Some(&FIRST);
        while let Some(held) = next {
            let descriptor = held.descriptor.swap(NONE, SeqCst);
            if descriptor != NONE {
                // SAFETY: it is open, and the lock that it belongs to closes it in no other process than its own.
                drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
            }
            next = held.next.get().map(|next| &**next);
        }
    }
}
