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
        let mut text = Text::default();
        text.set(bytes);
        text
    }

    /// Becomes a copy of bytes, where it lies: one that is moved there would be written twice.
    #[inline]
    pub fn set(&mut self, bytes: &[u8]) {
        if bytes.len() > 22 {
            // A string of a column is not longer than 32 bits tell.
            *self = Text::Long(bytes.len() as u32, free_lists::copied(bytes));
            return;
        }
        if let Text::Long(..) = self {
            *self = Text::default();
        }
        if let Text::Short(len, short) = self {
            *len = bytes.len() as u8;
            copy_short(bytes, short);
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

/// Copies up to 22 bytes by two pieces that may overlap, which is faster than a call for so few.
#[inline(always)]
fn copy_short(bytes: &[u8], to: &mut [u8; 22]) {
    #[inline(always)]
    fn ends<const N: usize>(bytes: &[u8], to: &mut [u8; 22]) -> bool {
        let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) else {
            return false;
        };
        to[..N].copy_from_slice(first);
        let at = bytes.len() - N;
        to[at..at + N].copy_from_slice(last);
        true
    }
    if !(ends::<16>(bytes, to) || ends::<8>(bytes, to) || ends::<4>(bytes, to) || ends::<2>(bytes, to))
        && let [only] = bytes
    {
        to[0] = *only;
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

    #[test]
    fn a_string_takes_the_place_of_another() {
        let mut text = Text::default();
        for len in (0..=40).chain((0..=40).rev()).chain([3, 30, 1, 22, 40, 0]) {
            let bytes: Vec<u8> = (0..len).map(|n| (n * 7 + len) as u8).collect();
            text.set(&bytes);
            assert_eq!(text.bytes(), bytes);
        }
    }
}
