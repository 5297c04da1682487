//! Without waiting: bytes arrive in any pieces, and there is room for a few at a time.

use crate::conversations::{assert_rows, run};
use crate::made::{METHODS, options, select};
use crate::scripted::Scripted;
use chalet_client::{Connection, Packet, Request, Rows, Socket, revision};
use chalet_columns::Block;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A socket that, asked not to wait, has nothing and takes nothing every other time.
struct Hesitant {
    script: Scripted,
    room: usize,
    is_asked_again: bool,
    waits: Arc<AtomicBool>,
}

impl Hesitant {
    fn hesitates(&mut self) -> io::Result<()> {
        self.is_asked_again = !self.is_asked_again && !self.waits.load(Relaxed);
        if self.is_asked_again { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
    }
}

impl Socket for Hesitant {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.hesitates()?;
        self.script.read(to)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hesitates()?;
        self.script.write(&bytes[..bytes.len().min(self.room)])
    }

    fn has_input(&mut self) -> bool {
        false
    }

    fn close(&mut self) {}

    fn set_waits(&mut self, waits: bool) -> io::Result<()> {
        self.waits.store(waits, Relaxed);
        Ok(())
    }

    fn descriptor(&self) -> Option<i32> {
        None
    }
}

#[test]
fn packets_and_writes_are_those_of_who_waits() {
    for &revision in &[revision::OLDEST, revision::NEWEST] {
        for &method in METHODS {
            let bytes = select(revision, method);
            let (expected_names, expected) = run(&bytes, usize::MAX, method).unwrap();
            let waiting = Scripted::new(&bytes, usize::MAX);
            let written = waiting.written.clone();
            let mut connection = Connection::over(Box::new(waiting), &options(method), None).unwrap();
            connection.send(&Request::new("SELECT")).unwrap();
            for piece in [1, 7, 64, usize::MAX] {
                let script = Scripted::new(&bytes, piece);
                let sent = script.written.clone();
                let waits = Arc::new(AtomicBool::new(true));
                let socket = Hesitant { script, room: 5, is_asked_again: false, waits };
                let mut connection = Connection::over(Box::new(socket), &options(method), None).unwrap();
                connection.set_waits(false).unwrap();
                connection.send_prepared(&Request::new("SELECT")).unwrap();
                let mut n_pushes = 0;
                while !connection.push().unwrap() {
                    n_pushes += 1;
                }
                assert!(n_pushes > 1);
                assert_eq!(*sent.lock().unwrap(), *written.lock().unwrap());
                let (mut names, mut blocks) = (Vec::new(), Vec::new());
                let mut n_looks = 0;
                while names.last() != Some(&"EndOfStream") {
                    n_looks += 1;
                    let Some(packet) = connection.try_receive().unwrap() else { continue };
                    names.push(packet.name());
                    if let Packet::Data(rows) = packet {
                        blocks.push(rows);
                    }
                }
                assert!(n_looks > names.len() || piece == usize::MAX, "{n_looks}");
                assert_eq!(names, expected_names);
                let schema = blocks[0].schema.clone();
                let block = Block::concat(&blocks.into_iter().map(|rows| rows.block).collect::<Vec<_>>());
                assert_rows(&Rows { schema, block }, &expected);
                assert!(connection.try_receive().is_err());
            }
        }
    }
}

#[test]
fn an_end_in_the_middle_is_an_error() {
    let bytes = select(revision::NEWEST, None);
    let greeting = select(revision::NEWEST, None).len() / 3;
    for end in greeting..bytes.len() - 4 {
        let waits = Arc::new(AtomicBool::new(true));
        let script = Scripted::new(&bytes[..end], 64);
        let socket = Hesitant { script, room: usize::MAX, is_asked_again: false, waits };
        let Ok(mut connection) = Connection::over(Box::new(socket), &options(None), None) else { continue };
        connection.set_waits(false).unwrap();
        connection.send_prepared(&Request::new("SELECT")).unwrap();
        while !connection.push().unwrap() {}
        let error = loop {
            match connection.try_receive() {
                Ok(Some(Packet::EndOfStream)) => panic!("{end}: a short result"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.code().name, "ATTEMPT_TO_READ_AFTER_EOF", "{end}: {error}");
        assert!(connection.send(&Request::new("SELECT")).is_err());
    }
}
