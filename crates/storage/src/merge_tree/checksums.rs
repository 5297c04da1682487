//! Checksums of a file, block by block. What is read of a file is compared with them once.

use chalet_base::{Result, bail, ensure};
use chalet_formats::binary::{Cursor, put_var_uint};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes of a block.
const BLOCK: usize = 1 << 17;

/// XXH3 of each block of a file, the last of which may be shorter.
#[derive(Debug, Default)]
pub struct Checksums {
    len: u64,
    blocks: Vec<u64>,
    /// A bit for each block that was compared.
    compared: Vec<AtomicU64>,
}

/// Of files of the same bytes, whatever was compared so far.
impl PartialEq for Checksums {
    fn eq(&self, other: &Checksums) -> bool {
        self.len == other.len && self.blocks == other.blocks
    }
}

impl Checksums {
    fn new(len: u64, blocks: Vec<u64>) -> Checksums {
        let compared = (0..blocks.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Checksums { len, blocks, compared }
    }

    /// The length of the file.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Fails where the blocks that a range lies in are not those that were written. `file` is the whole file.
    pub fn verify(&self, file: &[u8], range: Range<usize>) -> Result<()> {
        ensure!(
            file.len() as u64 == self.len,
            CHECKSUM_DOESNT_MATCH,
            "The file is damaged: it has {} bytes instead of {}",
            file.len(),
            self.len
        );
        for block in range.start / BLOCK..range.end.div_ceil(BLOCK) {
            let (word, bit) = (&self.compared[block / 64], 1 << (block % 64));
            if word.load(Relaxed) & bit != 0 {
                continue;
            }
            let start = block * BLOCK;
            let bytes = &file[start..(start + BLOCK).min(file.len())];
            if xxh3_64(bytes) != self.blocks[block] {
                bail!(
                    CHECKSUM_DOESNT_MATCH,
                    "Checksum doesn't match: the file is damaged between byte {start} and byte {}",
                    start + bytes.len()
                );
            }
            word.fetch_or(bit, Relaxed);
        }
        Ok(())
    }

    /// Compares all blocks, also those that were compared before.
    pub fn verify_all(&self, file: &[u8]) -> Result<()> {
        self.compared.iter().for_each(|word| word.store(0, Relaxed));
        self.verify(file, 0..file.len())
    }

    /// Appends the checksums as bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_var_uint(out, self.len);
        self.blocks.iter().for_each(|block| out.extend(block.to_le_bytes()));
    }

    /// What [`encode`](Self::encode) has appended.
    pub fn decode(from: &mut Cursor<'_>) -> Result<Checksums> {
        let len = from.var_uint()?;
        let n_blocks = len.div_ceil(BLOCK as u64);
        ensure!(
            n_blocks <= from.rest.len() as u64 / 8,
            INCORRECT_DATA,
            "The checksums of a file are cut short"
        );
        let blocks = (0..n_blocks).map(|_| from.u64()).collect::<Result<_>>()?;
        Ok(Checksums::new(len, blocks))
    }
}

/// Computes checksums of what is written.
#[derive(Default)]
pub struct Checksummer {
    len: u64,
    blocks: Vec<u64>,
    current: Xxh3,
    /// Bytes of the current block.
    filled: usize,
}

impl Checksummer {
    /// Takes the next bytes of the file.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.len += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            self.current.update(now);
            self.filled += now.len();
            bytes = later;
            if self.filled == BLOCK {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        self.blocks.push(self.current.digest());
        self.current.reset();
        self.filled = 0;
    }

    /// The checksums of all that was written.
    pub fn finish(mut self) -> Checksums {
        if self.filled > 0 {
            self.cut();
        }
        Checksums::new(self.len, self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        let file: Vec<u8> = (0..300_000u32).map(|i| ((i * 31) >> 3) as u8).collect();
        let mut written = Checksummer::default();
        file.chunks(777).for_each(|chunk| written.update(chunk));
        let mut bytes = Vec::new();
        written.finish().encode(&mut bytes);
        for at in [0, 131_071, 131_072, 299_999] {
            let checksums = Checksums::decode(&mut Cursor::new(&bytes)).expect("whole");
            checksums.verify(&file, at..at + 1).expect("undamaged");
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            let fresh = Checksums::decode(&mut Cursor::new(&bytes)).expect("whole");
            assert!(fresh.verify(&damaged, at..at + 1).is_err());
            assert!(checksums.verify_all(&damaged).is_err());
            assert!(fresh.verify(&file[..at], 0..at).is_err());
        }
    }
}
