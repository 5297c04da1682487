//! A string of a state.

use super::free_lists;
use chalet_base::switches::{self, Switch};

/// A byte string, in place when it is short. 24 bytes.
pub enum Text {
    Short(u8, [u8; 22]),
    /// How many bytes, and memory that may have more room.
    Long(u32, Box<[u8]>),
}

const _: () = assert!(size_of::<Text>() == 24);

impl Default for Text {
    fn default() -> Self {
        Text::Short(0, [0; 22])
    }
}

impl Clone for Text {
    fn clone(&self) -> Self {
        Text::of(self.bytes())
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        if let Text::Long(_, bytes) = self
            && switches::is_on(Switch::FreeLists)
        {
            free_lists::give_back(std::mem::take(bytes));
        }
    }
}

impl Text {
    /// A copy of bytes.
    pub fn of(bytes: &[u8]) -> Text {
        if bytes.len() <= 22 {
            let mut short = [0; 22];
            short[..bytes.len()].copy_from_slice(bytes);
            Text::Short(bytes.len() as u8, short)
        } else {
            // A string of a column is not longer than 32 bits tell.
            Text::Long(bytes.len() as u32, free_lists::copied(bytes))
        }
    }

    /// The string.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Text::Short(len, bytes) => &bytes[..usize::from(*len)],
            Text::Long(len, bytes) => &bytes[..*len as usize],
        }
    }

    /// Bytes of memory beside the value itself.
    pub fn heap(&self) -> usize {
        match self {
            Text::Short(..) => 0,
            Text::Long(_, bytes) => bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_strings_are_what_was_given() {
        for len in [0, 1, 22, 23, 32, 33, 1000, 70_000] {
            let bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let text = Text::of(&bytes);
            assert_eq!(text.bytes(), bytes);
            assert_eq!(text.clone().bytes(), bytes);
        }
    }
}
