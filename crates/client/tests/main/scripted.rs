//! A socket whose other end is a script: bytes that arrive in pieces, whatever is written.

use chalet_client::Socket;
use std::io;
use std::sync::{Arc, Mutex};

pub struct Scripted {
    input: Vec<u8>,
    at: usize,
    /// Bytes of one read at most.
    piece: usize,
    pub written: Arc<Mutex<Vec<u8>>>,
}

impl Scripted {
    pub fn new(input: &[u8], piece: usize) -> Scripted {
        Scripted { input: input.to_vec(), at: 0, piece, written: Arc::default() }
    }
}

impl Socket for Scripted {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = to.len().min(self.piece).min(self.input.len() - self.at);
        to[..n].copy_from_slice(&self.input[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn has_input(&mut self) -> bool {
        false
    }

    fn close(&mut self) {}

    fn set_waits(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn descriptor(&self) -> Option<i32> {
        None
    }
}
