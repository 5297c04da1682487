//! Conversations that are cut short or damaged: an error, never a short result, a panic or memory for nothing.

use crate::conversations::run;
use crate::made::{METHODS, insert_and_failure, options, select};
use crate::scripted::Scripted;
use chalet_client::compression::{Frames, Unpacked, write_frames};
use chalet_client::{Connection, Method, Request, revision};
use chalet_formats::binary::{Cursor, Source};

#[test]
fn a_query_that_is_cut_short_is_an_error() {
    for &revision in &[revision::OLDEST, revision::NEWEST] {
        for &method in if revision == revision::NEWEST { METHODS } else { &METHODS[..1] } {
            let bytes = select(revision, method);
            // The mark at the end of the last packet is not waited for.
            let mark = if revision >= revision::CHUNKS { 4 } else { 0 };
            for end in 0..bytes.len() - mark {
                let error = run(&bytes[..end], usize::MAX, method).map(|_| end).unwrap_err();
                let known = ["ATTEMPT_TO_READ_AFTER_EOF", "CANNOT_READ_ALL_DATA"];
                assert!(known.contains(&error.code().name), "{end}: {error}");
            }
        }
    }
}

#[test]
fn an_insert_that_is_cut_short_is_an_error() {
    for &revision in &[revision::OLDEST, revision::NEWEST] {
        let bytes = insert_and_failure(revision, Some(Method::Lz4));
        for end in 0..bytes.len() {
            let socket = Box::new(Scripted::new(&bytes[..end], usize::MAX));
            let Ok(mut connection) = Connection::over(socket, &options(Some(Method::Lz4)), None) else {
                continue;
            };
            let Ok(_) = connection.begin_insert(&Request::new("INSERT INTO t VALUES")) else { continue };
            let Ok(()) = connection.finish_insert() else { continue };
            connection.send(&Request::new("SELECT 1")).unwrap();
            assert!(connection.receive_end().is_err());
        }
    }
}

#[test]
fn flipped_bits_never_panic() {
    for &(revision, method) in
        &[(revision::OLDEST, None), (revision::NEWEST, None), (revision::NEWEST, Some(Method::Zstd))]
    {
        let bytes = select(revision, method);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            // A damaged number may be another number; what matters is that it is read in bounds.
            let _ = run(&damaged, usize::MAX, method);
        }
    }
}

#[test]
fn a_flipped_bit_in_a_frame_is_an_error() {
    let text = b"some bytes, some bytes, some other bytes".repeat(20);
    for method in [Method::None, Method::Lz4, Method::Zstd] {
        let mut bytes = Vec::new();
        write_frames(&mut bytes, method, &text).unwrap();
        let read = |bytes: &[u8]| {
            let mut cursor = Cursor::new(bytes);
            let mut unpacked = Unpacked::default();
            let mut frames = Frames::new(&mut cursor, &mut unpacked);
            let read = frames.take(text.len())?.to_vec();
            frames.finish().map(|()| read)
        };
        assert_eq!(read(&bytes).unwrap(), text);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                assert!(read(&damaged).is_err(), "{method:?} {at} {bit}");
            }
            assert!(read(&bytes[..at]).is_err());
        }
    }
}

#[test]
fn a_frame_cannot_claim_memory() {
    let mut bytes = Vec::new();
    write_frames(&mut bytes, Method::Lz4, b"short").unwrap();
    // A gigabyte, with a checksum that is right.
    bytes[21..25].copy_from_slice(&(1u32 << 30).to_le_bytes());
    let (low, high) = chalet_base::city_hash::city_hash128(&bytes[16..]);
    bytes[..8].copy_from_slice(&low.to_le_bytes());
    bytes[8..16].copy_from_slice(&high.to_le_bytes());
    let mut unpacked = Unpacked::default();
    let mut cursor = Cursor::new(&bytes);
    let error = Frames::new(&mut cursor, &mut unpacked).take(1).map(<[u8]>::to_vec).unwrap_err();
    assert!(error.message().contains("cannot stand for 1073741824"), "{error}");
}
