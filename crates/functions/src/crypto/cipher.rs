//! AES in the modes of operation that `encrypt` names, over the block cipher of the `aes` crate: the modes are a few lines each,
//! and the crates that offer them fix the mode, the size of the key and that of the IV at compile time.

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use chalet_base::{Result, bail, err};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;

/// Bytes of a block.
pub const BLOCK: usize = 16;

type Block = [u8; BLOCK];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chaining {
    Ecb,
    Cbc,
    Ofb,
    Ctr,
    Cfb,
    Cfb8,
    Cfb1,
    Gcm,
}

/// What a name such as `aes-128-cbc` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub chaining: Chaining,
    /// Bytes.
    pub key_size: usize,
}

impl Mode {
    pub fn named(name: &[u8]) -> Option<Mode> {
        let name = std::str::from_utf8(name).ok()?.strip_prefix("aes-")?;
        let (bits, chaining) = name.split_once('-')?;
        let key_size = match bits {
            "128" => 16,
            "192" => 24,
            "256" => 32,
            _ => return None,
        };
        let chaining = match chaining {
            "ecb" => Chaining::Ecb,
            "cbc" => Chaining::Cbc,
            "ofb" => Chaining::Ofb,
            "ctr" => Chaining::Ctr,
            "cfb" => Chaining::Cfb,
            "cfb8" => Chaining::Cfb8,
            "cfb1" => Chaining::Cfb1,
            "gcm" => Chaining::Gcm,
            _ => return None,
        };
        Some(Mode { chaining, key_size })
    }
}

/// The block cipher with an expanded key.
enum Aes {
    Short(Box<Aes128>),
    Medium(Box<Aes192>),
    Long(Box<Aes256>),
}

impl Aes {
    fn new(key: &[u8]) -> Result<Aes> {
        let wrong = |_| err!(BAD_ARGUMENTS, "Invalid key size: {}", key.len());
        Ok(match key.len() {
            16 => Aes::Short(Box::new(Aes128::new_from_slice(key).map_err(wrong)?)),
            24 => Aes::Medium(Box::new(Aes192::new_from_slice(key).map_err(wrong)?)),
            _ => Aes::Long(Box::new(Aes256::new_from_slice(key).map_err(wrong)?)),
        })
    }

    fn encrypt(&self, block: &mut Block) {
        let mut cells = (*block).into();
        match self {
            Aes::Short(aes) => aes.encrypt_block(&mut cells),
            Aes::Medium(aes) => aes.encrypt_block(&mut cells),
            Aes::Long(aes) => aes.encrypt_block(&mut cells),
        }
        *block = cells.into();
    }

    fn decrypt(&self, block: &mut Block) {
        let mut cells = (*block).into();
        match self {
            Aes::Short(aes) => aes.decrypt_block(&mut cells),
            Aes::Medium(aes) => aes.decrypt_block(&mut cells),
            Aes::Long(aes) => aes.decrypt_block(&mut cells),
        }
        *block = cells.into();
    }
}

/// One key and one IV: they are expanded once, and serve as many texts as there are rows.
pub struct Cipher<'a> {
    aes: Aes,
    chaining: Chaining,
    iv: &'a [u8],
    /// Authenticated along with the text, for GCM.
    additional: &'a [u8],
}

impl<'a> Cipher<'a> {
    /// The sizes of key and IV must be those of the mode; an empty IV is all zeros.
    pub fn new(mode: Mode, key: &[u8], iv: &'a [u8], additional: &'a [u8]) -> Result<Cipher<'a>> {
        Ok(Cipher { aes: Aes::new(key)?, chaining: mode.chaining, iv, additional })
    }

    fn start(&self) -> Block {
        let mut block = [0; BLOCK];
        let n = self.iv.len().min(BLOCK);
        block[..n].copy_from_slice(&self.iv[..n]);
        block
    }

    /// Appends the encrypted text to `out`; with GCM the tag follows it.
    pub fn encrypt(&self, text: &[u8], out: &mut Vec<u8>) {
        match self.chaining {
            Chaining::Ecb | Chaining::Cbc => {
                let padding = BLOCK - text.len() % BLOCK;
                let mut padded = text.to_vec();
                padded.resize(text.len() + padding, padding as u8);
                let mut previous = self.start();
                for block in padded.as_chunks_mut::<BLOCK>().0 {
                    if self.chaining == Chaining::Cbc {
                        xor(block, &previous);
                    }
                    self.aes.encrypt(block);
                    previous = *block;
                    out.extend_from_slice(block);
                }
            }
            Chaining::Gcm => {
                let counter = self.first_counter();
                let start = out.len();
                self.count(counter, text, out);
                let tag = self.tag(counter, &out[start..]);
                out.extend_from_slice(&tag);
            }
            _ => self.stream(text, true, out),
        }
    }

    /// Appends the decrypted text to `out`. Fails on what the key cannot have made.
    pub fn decrypt(&self, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self.chaining {
            Chaining::Ecb | Chaining::Cbc => self.decrypt_blocks(text, out),
            Chaining::Gcm => {
                let Some(n) = text.len().checked_sub(BLOCK) else {
                    bail!(
                        BAD_ARGUMENTS,
                        "Encrypted data is smaller than the size of additional data for AEAD mode, cannot decrypt"
                    );
                };
                let (text, tag) = text.split_at(n);
                let counter = self.first_counter();
                // Every byte is compared, so that the time does not tell how many are right.
                let wrong = self.tag(counter, text).iter().zip(tag).fold(0, |all, (a, b)| all | (a ^ b));
                if wrong != 0 {
                    bail!(OPENSSL_ERROR, "EVP_DecryptFinal_ex failed");
                }
                self.count(counter, text, out);
                Ok(())
            }
            _ => {
                self.stream(text, false, out);
                Ok(())
            }
        }
    }

    fn decrypt_blocks(&self, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        if !rest.is_empty() {
            bail!(
                OPENSSL_ERROR,
                "Cannot decrypt: data size {} is not a multiple of the cipher block size {BLOCK}",
                text.len()
            );
        }
        let start = out.len();
        let mut previous = self.start();
        for encrypted in blocks {
            let mut block = *encrypted;
            self.aes.decrypt(&mut block);
            if self.chaining == Chaining::Cbc {
                xor(&mut block, &previous);
            }
            previous = *encrypted;
            out.extend_from_slice(&block);
        }
        let padding = usize::from(out.last().copied().unwrap_or(0));
        let valid = (1..=BLOCK).contains(&padding)
            && out[start..].len() >= padding
            && out[out.len() - padding..].iter().all(|&byte| usize::from(byte) == padding);
        if !valid {
            bail!(OPENSSL_ERROR, "Cannot decrypt: invalid PKCS#7 padding");
        }
        out.truncate(out.len() - padding);
        Ok(())
    }

    /// The modes that make a stream of key bits: they differ in what the next block of it is made of.
    fn stream(&self, text: &[u8], encrypts: bool, out: &mut Vec<u8>) {
        let mut register = self.start();
        match self.chaining {
            Chaining::Ctr => self.count(u128::from_be_bytes(register), text, out),
            Chaining::Cfb8 => {
                for &byte in text {
                    let mut key = register;
                    self.aes.encrypt(&mut key);
                    let result = byte ^ key[0];
                    let fed = if encrypts { result } else { byte };
                    register = (u128::from_be_bytes(register) << 8 | u128::from(fed)).to_be_bytes();
                    out.push(result);
                }
            }
            Chaining::Cfb1 => {
                for &byte in text {
                    let mut result = 0;
                    for place in (0..8).rev() {
                        let mut key = register;
                        self.aes.encrypt(&mut key);
                        let (bit, key_bit) = (byte >> place & 1, key[0] >> 7);
                        let fed = if encrypts { bit ^ key_bit } else { bit };
                        register = (u128::from_be_bytes(register) << 1 | u128::from(fed)).to_be_bytes();
                        result |= (bit ^ key_bit) << place;
                    }
                    out.push(result);
                }
            }
            _ => {
                let feeds_text = self.chaining == Chaining::Cfb;
                for part in text.chunks(BLOCK) {
                    self.aes.encrypt(&mut register);
                    let key = register;
                    let start = out.len();
                    out.extend(part.iter().zip(key).map(|(byte, key)| byte ^ key));
                    if feeds_text {
                        let fed = if encrypts { &out[start..] } else { part };
                        register[..fed.len()].copy_from_slice(fed);
                    }
                }
            }
        }
    }

    /// Counter mode from a counter on. GCM counts in the last 32 bits only.
    fn count(&self, mut counter: u128, text: &[u8], out: &mut Vec<u8>) {
        for part in text.chunks(BLOCK) {
            if self.chaining == Chaining::Gcm {
                counter = next_in_gcm(counter);
            }
            let mut key = counter.to_be_bytes();
            self.aes.encrypt(&mut key);
            out.extend(part.iter().zip(key).map(|(byte, key)| byte ^ key));
            if self.chaining != Chaining::Gcm {
                counter = counter.wrapping_add(1);
            }
        }
    }

    fn hash(&self) -> GHash {
        let mut key = [0; BLOCK];
        self.aes.encrypt(&mut key);
        GHash::new(&key.into())
    }

    /// The counter that encrypts the tag; the text begins with the next one.
    fn first_counter(&self) -> u128 {
        if self.iv.len() == 12 {
            let mut block = self.start();
            block[BLOCK - 1] = 1;
            return u128::from_be_bytes(block);
        }
        let mut hash = self.hash();
        hash.update_padded(self.iv);
        let lengths = (self.iv.len() as u128 * 8).to_be_bytes();
        hash.update(&[lengths.into()]);
        u128::from_be_bytes(hash.finalize().into())
    }

    fn tag(&self, counter: u128, encrypted: &[u8]) -> Block {
        let mut hash = self.hash();
        hash.update_padded(self.additional);
        hash.update_padded(encrypted);
        let lengths = ((self.additional.len() as u128 * 8) << 64) | (encrypted.len() as u128 * 8);
        hash.update(&[lengths.to_be_bytes().into()]);
        let mut tag: Block = hash.finalize().into();
        let mut key = counter.to_be_bytes();
        self.aes.encrypt(&mut key);
        xor(&mut tag, &key);
        tag
    }
}

fn next_in_gcm(counter: u128) -> u128 {
    let low = (counter as u32).wrapping_add(1);
    counter >> 32 << 32 | u128::from(low)
}

fn xor(block: &mut Block, other: &Block) {
    block.iter_mut().zip(other).for_each(|(a, b)| *a ^= b);
}
