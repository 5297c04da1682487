//! Reading and writing files at a place, from any thread.

use std::fs::File;
use std::io;

/// Fills a buffer, or fails where the file ends.
pub fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
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

/// Writes all bytes at an offset. Fails when the disk does.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
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

/// Some bytes of a file from a place on.
pub fn read_vec(file: &File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    read_exact_at(file, &mut bytes, offset)?;
    Ok(bytes)
}
