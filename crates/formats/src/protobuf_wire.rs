//! The wire form of Protocol Buffers: fields by number, as ORC's metadata and the Protobuf formats have them.

use chalet_base::{Result, bail, ensure, err};

/// The value of a field as its wire type gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

impl<'a> Wire<'a> {
    /// A number; bytes where a number is due are damage.
    pub fn number(self) -> Result<u64> {
        match self {
            Wire::Varint(n) | Wire::Fixed64(n) => Ok(n),
            Wire::Fixed32(n) => Ok(n.into()),
            Wire::Bytes(_) => bail!(INCORRECT_DATA, "Protobuf field holds bytes where a number is expected"),
        }
    }

    pub fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Wire::Bytes(bytes) => Ok(bytes),
            _ => bail!(INCORRECT_DATA, "Protobuf field holds a number where bytes are expected"),
        }
    }

    pub fn text(self) -> Result<&'a str> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| err!(INCORRECT_DATA, "Protobuf string is not valid UTF-8"))
    }

    /// The numbers of a repeated field, packed or one of them.
    pub fn numbers(self, out: &mut Vec<u64>) -> Result<()> {
        match self {
            Wire::Bytes(bytes) => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    out.push(take_varint(&mut rest)?);
                }
            }
            other => out.push(other.number()?),
        }
        Ok(())
    }
}

/// The fields of a message, in the order of its bytes.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    pub rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(rest: &'a [u8]) -> Fields<'a> {
        Fields { rest }
    }

    /// Number and value of the next field; `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "fails")]
    pub fn next(&mut self) -> Result<Option<(u64, Wire<'a>)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = take_varint(&mut self.rest)?;
        let value = match tag & 7 {
            0 => Wire::Varint(take_varint(&mut self.rest)?),
            1 => Wire::Fixed64(u64::from_le_bytes(take_array(&mut self.rest)?)),
            2 => {
                let n = take_varint(&mut self.rest)?;
                Wire::Bytes(take(&mut self.rest, n)?)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(take_array(&mut self.rest)?)),
            other => bail!(INCORRECT_DATA, "Protobuf field has the unknown wire type {other}"),
        };
        Ok(Some((tag >> 3, value)))
    }
}

pub fn take<'a>(rest: &mut &'a [u8], n: u64) -> Result<&'a [u8]> {
    ensure!(
        n <= rest.len() as u64,
        CANNOT_READ_ALL_DATA,
        "Cannot read all data. Bytes read: {}. Bytes expected: {n}",
        rest.len()
    );
    let (taken, left) = rest.split_at(n as usize);
    *rest = left;
    Ok(taken)
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let mut array = [0; N];
    array.copy_from_slice(take(rest, N as u64)?);
    Ok(array)
}

/// Seven bits a byte, lowest first.
pub fn take_varint(rest: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let [byte] = take_array(rest)?;
        if shift < 64 {
            value |= u64::from(byte & 0x7f) << shift;
        }
        if byte < 0x80 {
            return Ok(value);
        }
    }
    bail!(INCORRECT_DATA, "Protobuf number has more than ten bytes")
}

/// Small numbers of either sign as small unsigned ones.
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// A message being written.
#[derive(Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    pub fn varint(&mut self, value: u64) {
        crate::binary::put_var_uint(&mut self.0, value);
    }

    pub fn tag(&mut self, number: u64, wire_type: u64) {
        self.varint(number << 3 | wire_type);
    }

    pub fn number(&mut self, number: u64, value: u64) -> &mut Message {
        self.tag(number, 0);
        self.varint(value);
        self
    }

    pub fn bytes(&mut self, number: u64, bytes: &[u8]) -> &mut Message {
        self.tag(number, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn message(&mut self, number: u64, message: &Message) -> &mut Message {
        self.bytes(number, &message.0)
    }

    pub fn packed(&mut self, number: u64, values: impl IntoIterator<Item = u64>) -> &mut Message {
        let mut packed = Message::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.message(number, &packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut message = Message::default();
        message.number(1, u64::MAX).bytes(200, b"abc").packed(3, [1, 300]);
        let mut fields = Fields::new(&message.0);
        assert_eq!(fields.next().unwrap(), Some((1, Wire::Varint(u64::MAX))));
        assert_eq!(fields.next().unwrap(), Some((200, Wire::Bytes(b"abc"))));
        let mut numbers = Vec::new();
        fields.next().unwrap().unwrap().1.numbers(&mut numbers).unwrap();
        assert_eq!((numbers, fields.next().unwrap()), (vec![1, 300], None));
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
