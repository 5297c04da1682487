//! The sockets that are open: so many at most, and closed when the server ends.

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub struct Connections {
    most: usize,
    next: AtomicU64,
    open: Mutex<HashMap<u64, TcpStream>>,
    fewer: Condvar,
    is_ending: AtomicBool,
}

/// An open socket; forgotten when dropped.
pub struct Entered<'a> {
    connections: &'a Connections,
    number: u64,
}

impl Connections {
    pub fn new(most: usize) -> Connections {
        Connections {
            most,
            next: AtomicU64::new(0),
            open: Mutex::default(),
            fewer: Condvar::new(),
            is_ending: AtomicBool::new(false),
        }
    }

    /// Counts one more. None where there are too many, or the server ends.
    pub fn enter(&self, socket: &TcpStream) -> io::Result<Option<Entered<'_>>> {
        let kept = socket.try_clone()?;
        let mut open = self.open();
        if open.len() >= self.most || self.is_ending() {
            return Ok(None);
        }
        let number = self.next.fetch_add(1, SeqCst);
        open.insert(number, kept);
        Ok(Some(Entered { connections: self, number }))
    }

    pub fn count(&self) -> usize {
        self.open().len()
    }

    pub fn is_ending(&self) -> bool {
        self.is_ending.load(SeqCst)
    }

    /// Lets nobody in any more, and lets those who are inside hear nothing more: who waits for a request ends.
    pub fn begin_end(&self) {
        self.is_ending.store(true, SeqCst);
        self.close(Shutdown::Read);
    }

    /// Waits until all are gone; then, and after this time, takes their sockets from those who are not.
    pub fn end(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut open = self.open();
        while !open.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(open);
                self.close(Shutdown::Both);
                return;
            }
            open = self.fewer.wait_timeout(open, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until all are gone, at most so long.
    pub fn wait(&self, patience: Duration) {
        let open = self.open();
        let _ = self.fewer.wait_timeout_while(open, patience, |open| !open.is_empty());
    }

    fn close(&self, how: Shutdown) {
        for socket in self.open().values() {
            // The other end may have closed it.
            let _ = socket.shutdown(how);
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.connections.open().remove(&self.number);
        self.connections.fewer.notify_all();
    }
}
