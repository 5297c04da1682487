//! Byte strings as Arrow's 16-byte views: length, then the bytes themselves (up to 12) or a 4-byte prefix and a pointer.

use crate::{Buf, Fixed, bits};
use arrow_buffer::{Buffer, NullBuffer};
use std::sync::Arc;

/// Strings of at most this many bytes live inside their view.
pub const INLINE: usize = 12;

/// Strings of one column; filtering and gathering copies views only and shares the bytes.
#[derive(Clone, Debug)]
pub struct Strings {
    views: Buf<u128>,
    buffers: Arc<[Buffer]>,
}

/// The view of a string that fits into it.
#[inline(always)]
pub fn inline_view(bytes: &[u8]) -> u128 {
    let n = bytes.len();
    debug_assert!(n <= INLINE);
    // Reads of a fixed width from both ends, which agree where they overlap: copying so few bytes would be a call.
    let word = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << (8 * (n - 8))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u128::from(
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (n - 4)),
        )
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u128::from(
            u32::from(u16::from_le_bytes(*first)) | u32::from(u16::from_le_bytes(*last)) << (8 * (n - 2)),
        )
    } else {
        bytes.first().map_or(0, |&byte| byte.into())
    };
    n as u128 | word << 32
}

/// The view of a longer string that stands in `buffer` from `offset`.
#[inline(always)]
pub fn pointer_view(bytes: &[u8], buffer: u32, offset: u32) -> u128 {
    debug_assert!(bytes.len() > INLINE);
    let prefix = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    bytes.len() as u32 as u128
        | u128::from(prefix) << 32
        | u128::from(buffer) << 64
        | u128::from(offset) << 96
}

/// The view of the string of `len` bytes at `offset` of `bytes`, which are the buffer of this number. Panics where they are fewer.
#[inline(always)]
pub fn view_at(bytes: &[u8], offset: usize, len: usize, buffer: u32) -> u128 {
    let text = &bytes[offset..][..len];
    // Sixteen bytes can be loaded at once nearly everywhere; what does not belong is masked off. Lengths of strings cannot be
    // guessed: both kinds of views are made, and one is chosen.
    if let Some(bytes) = bytes[offset..].first_chunk() {
        let loaded = u128::from_le_bytes(*bytes);
        let short = (loaded & (1u128 << (8 * len.min(INLINE))).wrapping_sub(1)) << 32;
        let long = u128::from(loaded as u32) << 32 | u128::from(buffer) << 64 | (offset as u128) << 96;
        return len as u32 as u128 | if len <= INLINE { short } else { long };
    }
    if len <= INLINE { inline_view(text) } else { pointer_view(text, buffer, offset as u32) }
}

/// The view that stands for NULL where strings are compared by their views: an empty one whose unused bytes are not zero, so that
/// it equals no string, and is copied and hashed as any short one.
pub const NULL_VIEW: u128 = 1 << 32;

impl Strings {
    /// # Safety
    /// Every view longer than [`INLINE`] points inside its buffer.
    pub unsafe fn from_views(views: Buf<u128>, buffers: Arc<[Buffer]>) -> Self {
        Strings { views, buffers }
    }

    /// `n` empty strings.
    pub fn empties(n: usize) -> Self {
        Strings { views: Buf::from_vec(vec![0u128; n]), buffers: Arc::new([]) }
    }

    /// Strings of these lengths, for those who ask for nothing else: their bytes are zeros.
    pub fn of_lengths(lengths: &[u32]) -> Self {
        let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
        let views: Vec<u128> = lengths.iter().map(|&len| u128::from(len)).collect();
        // A view of a length alone points to the start of the first buffer, or is as many zeros itself.
        let zeros = if longest > INLINE { vec![0u8; longest] } else { Vec::new() };
        Strings { views: Buf::from_vec(views), buffers: Arc::new([Buffer::from_vec(zeros)]) }
    }

    /// Values of one width as strings; the bytes of long ones are shared.
    pub fn of_fixed(fixed: &Fixed) -> Self {
        let (width, bytes) = (fixed.width, &fixed.bytes);
        if width > INLINE && u32::try_from(bytes.len()).is_err() {
            return fixed.iter().collect();
        }
        if width > INLINE {
            let views =
                fixed.iter().enumerate().map(|(row, value)| pointer_view(value, 0, (row * width) as u32));
            return Strings { views: views.collect(), buffers: Arc::new([bytes.to_arrow()]) };
        }
        // Sixteen bytes are read at once while there are as many, and what is not of the value is cut off.
        let mask = (1u128 << (8 * width)) - 1;
        let view = |at: usize| match bytes[at..].first_chunk::<16>() {
            Some(word) => width as u128 | (u128::from_le_bytes(*word) & mask) << 32,
            None => inline_view(&bytes[at..at + width]),
        };
        let views: Vec<u128> = (0..fixed.len()).map(|row| view(row * width)).collect();
        Strings { views: Buf::from_vec(views), buffers: Arc::new([]) }
    }

    /// The number of strings.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Are there no strings?
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The bytes of a string, which need not be UTF-8. Panics beyond the last.
    #[inline(always)]
    pub fn get(&self, row: usize) -> &[u8] {
        let view = &self.views[row];
        let len = *view as u32 as usize;
        if len <= INLINE {
            let start = std::ptr::from_ref(view).cast::<u8>();
            // SAFETY: an inline view holds its `len` <= 12 bytes behind the 4 bytes of length, inside its 16 bytes.
            unsafe { std::slice::from_raw_parts(start.add(4), len) }
        } else {
            let (buffer, offset) = ((*view >> 64) as u32 as usize, (*view >> 96) as u32 as usize);
            debug_assert!(offset + len <= self.buffers[buffer].len());
            // SAFETY: by the contract of `from_views`, the view points inside its buffer.
            unsafe { self.buffers.get_unchecked(buffer).as_slice().get_unchecked(offset..offset + len) }
        }
    }

    /// The bytes of all strings, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|row| self.get(row))
    }

    /// One view of 16 bytes per string: its length, and its bytes or their place in a buffer.
    pub fn views(&self) -> &Buf<u128> {
        &self.views
    }

    /// The buffers that views of long strings point into.
    pub fn buffers(&self) -> &Arc<[Buffer]> {
        &self.buffers
    }

    /// The strings `offset..offset + len`, which share all buffers. Panics where there are not as many.
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        Strings { views: self.views.slice(offset, len), buffers: self.buffers.clone() }
    }

    /// The same bytes under other views of this column.
    pub(crate) fn with_views(&self, views: Buf<u128>) -> Self {
        Strings { views, buffers: self.buffers.clone() }
    }

    /// The same strings with [`NULL_VIEW`] where a row is not valid. The bytes are shared.
    pub fn with_null_views(&self, validity: &NullBuffer) -> Self {
        let views = self.views.iter().zip(bits::to_bytes(validity.inner()));
        self.with_views(views.map(|(&view, valid)| if valid != 0 { view } else { NULL_VIEW }).collect())
    }

    /// What [`with_null_views`](Self::with_null_views) made: the strings, which are empty where they were NULL, and which are valid.
    pub fn without_null_views(&self) -> (Self, NullBuffer) {
        let is_valid = self.views.iter().map(|&view| u8::from(view != NULL_VIEW));
        let validity = NullBuffer::new(bits::of_bytes(is_valid));
        let views = self.views.iter().map(|&view| if view == NULL_VIEW { 0 } else { view });
        (self.with_views(views.collect()), validity)
    }

    /// Bytes of the strings themselves.
    pub fn total_bytes(&self) -> usize {
        self.views.iter().map(|view| *view as u32 as usize).sum()
    }

    /// A copy that keeps no more bytes alive than its strings need.
    pub fn compact(&self) -> Self {
        let held: usize = self.buffers.iter().map(|b| b.len()).sum();
        let used: usize = self.views.iter().map(|v| *v as u32 as usize).filter(|&len| len > INLINE).sum();
        if held <= 2 * used + 4096 {
            return self.clone();
        }
        let mut builder = StringBuilder::with_capacity(self.len());
        self.iter().for_each(|s| builder.push(s));
        builder.finish()
    }

    /// One after the other. Bytes are copied only where many buffers would hold few strings each.
    pub fn concat(parts: &[&Strings]) -> Strings {
        let n = parts.iter().map(|p| p.len()).sum();
        let runs = || parts.chunk_by(|a, b| Arc::ptr_eq(&a.buffers, &b.buffers));
        let n_buffers: usize = runs().map(|run| run[0].buffers.len()).sum();
        if n_buffers > MANY_BUFFERS && n_buffers > n / LEAST_PER_BUFFER {
            let mut builder = StringBuilder::with_capacity(n);
            parts.iter().for_each(|part| part.iter().for_each(|s| builder.push(s)));
            return builder.finish();
        }
        let mut views = Vec::with_capacity(n);
        let mut buffers: Vec<Buffer> = Vec::with_capacity(n_buffers);
        for run in runs() {
            let shift = (buffers.len() as u128) << 64;
            buffers.extend(run[0].buffers.iter().cloned());
            let moved = |v: u128| if v as u32 as usize <= INLINE { v } else { v + shift };
            run.iter().for_each(|part| views.extend(part.views.iter().copied().map(moved)));
        }
        Strings { views: Buf::from_vec(views), buffers: buffers.into() }
    }
}

impl Strings {
    /// The strings with each byte changed by itself, by a function of bytes, and one of views with their bytes (which leaves zeros as they
    /// are): buffers are changed as a whole. None where most of their bytes are of no string here.
    pub fn changed(&self, change: impl Fn(&mut [u8]), change_view: impl Fn(u128) -> u128) -> Option<Strings> {
        let size = |view: u128| view as u32 as usize;
        let n_used: usize =
            self.views.iter().map(|&view| if size(view) > INLINE { size(view) } else { 0 }).sum();
        let n_held: usize = self.buffers.iter().map(Buffer::len).sum();
        if n_held > 2 * n_used {
            return None;
        }
        if n_used == 0 {
            let views: Vec<u128> = self.views.iter().map(|&view| change_view(view)).collect();
            return Some(Strings { views: Buf::from_vec(views), buffers: Arc::default() });
        }
        let changed = |buffer: &Buffer| {
            let mut bytes = buffer.as_slice().to_vec();
            change(&mut bytes);
            Buffer::from_vec(bytes)
        };
        let buffers = self.buffers.iter().map(changed).collect();
        // Of a long string a view has the first bytes, and behind them where it is.
        const PLACE: u128 = !0 << 64;
        let view = |&view: &u128| match size(view) <= INLINE {
            true => change_view(view),
            false => change_view(view & !PLACE) | view & PLACE,
        };
        let views: Vec<u128> = self.views.iter().map(view).collect();
        Some(Strings { views: Buf::from_vec(views), buffers })
    }
}

/// Parts of the strings of a column, one by one, under views into the same bytes.
pub struct Parts<'a> {
    source: &'a Strings,
    views: Vec<u128>,
}

impl<'a> Parts<'a> {
    /// An empty selection of strings of `source`, with room for `capacity`.
    pub fn of(source: &'a Strings, capacity: usize) -> Self {
        Parts { source, views: Vec::with_capacity(capacity) }
    }

    /// The number of strings picked so far.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Has nothing been picked?
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Appends the given bytes of the string at `row`.
    #[inline]
    pub fn push(&mut self, row: usize, range: std::ops::Range<usize>) {
        let start = range.start;
        let part = &self.source.get(row)[range];
        self.views.push(if part.len() <= INLINE {
            inline_view(part)
        } else {
            // A part this long is of a string that is not inside its view.
            let whole = self.source.views[row];
            pointer_view(part, (whole >> 64) as u32, (whole >> 96) as u32 + start as u32)
        });
    }

    /// The strings that were picked; they share the buffers of the source.
    pub fn finish(self) -> Strings {
        Strings { views: Buf::from_vec(self.views), buffers: self.source.buffers.clone() }
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut builder = StringBuilder::default();
        strings.into_iter().for_each(|s| builder.push(s.as_ref()));
        builder.finish()
    }
}

/// So many buffers are no burden, however few strings they hold.
const MANY_BUFFERS: usize = 64;
/// Where there are more, each holds so many strings: every slice of the strings holds all of their buffers.
const LEAST_PER_BUFFER: usize = 16;

/// A buffer is closed and a new one begun when it would pass this many bytes, so that appending never copies much.
const CHUNK: usize = 1 << 20;

/// Strings whose views are made together when they have been written.
const WRITTEN_TOGETHER: usize = 32;

/// Room that is left at the end of a buffer for a string of unknown length: to move a full buffer for it would copy all.
const ROOM: usize = 1 << 16;

/// Appends strings one by one.
#[derive(Default)]
pub struct StringBuilder {
    views: Vec<u128>,
    current: Vec<u8>,
    buffers: Vec<Buffer>,
    /// The buffers that were adopted last, and their shift.
    adopted: Option<(Arc<[Buffer]>, u128)>,
}

impl StringBuilder {
    /// An empty builder with room for so many strings, not counting the bytes of long ones.
    pub fn with_capacity(rows: usize) -> Self {
        StringBuilder { views: Vec::with_capacity(rows), ..Default::default() }
    }

    /// The number of strings appended so far.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Has nothing been appended?
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Appends one string, whose bytes are copied.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        if bytes.len() <= INLINE {
            self.views.push(inline_view(bytes));
            return;
        }
        if self.current.len() + bytes.len() > self.current.capacity() {
            self.grow(bytes.len());
        }
        let offset = self.current.len() as u32;
        self.current.extend_from_slice(bytes);
        self.views.push(pointer_view(bytes, self.buffers.len() as u32, offset));
    }

    /// Appends a string of up to [`INLINE`] bytes, which are those of a number, the first one lowest, with zeros behind them.
    #[inline(always)]
    pub fn push_number(&mut self, bytes: u128, len: usize) {
        debug_assert!(len <= INLINE && bytes >> (8 * len) == 0);
        self.views.push(bytes << 32 | len as u128);
    }

    /// Appends what `write` appends to the vector that it is given.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.current.len() >= CHUNK - ROOM {
            self.grow(0);
        }
        let start = self.current.len();
        write(&mut self.current);
        self.close_from(start);
    }

    /// Appends, for each of so many rows, what `write` appends; some rows or none where it fails. Bytes that have just been written one
    /// by one cannot be read as words before the processor has put them into its cache: views are made of those of many rows at a time.
    pub fn push_rows<E>(
        &mut self,
        n_rows: usize,
        mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.views.reserve(n_rows);
        let mut row = 0;
        while row < n_rows {
            if self.current.len() >= CHUNK - ROOM {
                self.grow(0);
            }
            let start = self.current.len();
            let (mut ends, mut n_written) = ([0; WRITTEN_TOGETHER], 0);
            for end in ends.iter_mut().take(n_rows - row) {
                if let Err(error) = write(row, &mut self.current) {
                    self.current.truncate(start);
                    return Err(error);
                }
                *end = self.current.len();
                row += 1;
                n_written += 1;
                if *end >= CHUNK - ROOM {
                    break;
                }
            }
            self.close_each(start, &ends[..n_written]);
        }
        Ok(())
    }

    /// Makes views of strings that lie one behind the other from `start` on, and closes the gaps that short ones leave.
    fn close_each(&mut self, start: usize, ends: &[usize]) {
        let (mut from, mut to) = (start, start);
        for &end in ends {
            let bytes = &self.current[from..end];
            if bytes.len() <= INLINE {
                self.views.push(inline_view(bytes));
            } else {
                self.views.push(pointer_view(bytes, self.buffers.len() as u32, to as u32));
                if to < from {
                    self.current.copy_within(from..end, to);
                }
                to += end - from;
            }
            from = end;
        }
        self.current.truncate(to);
    }

    /// Like [`push_with`](Self::push_with) for a writer that may fail; nothing is appended then.
    pub fn try_push_with<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        if self.current.len() >= CHUNK - ROOM {
            self.grow(0);
        }
        let start = self.current.len();
        if let Err(error) = write(&mut self.current) {
            self.current.truncate(start);
            return Err(error);
        }
        self.close_from(start);
        Ok(())
    }

    #[inline]
    fn close_from(&mut self, start: usize) {
        let bytes = &self.current[start..];
        if bytes.len() <= INLINE {
            self.views.push(inline_view(bytes));
            self.current.truncate(start);
        } else {
            self.views.push(pointer_view(bytes, self.buffers.len() as u32, start as u32));
        }
    }

    /// Makes room for `len` more bytes in a fresh buffer.
    #[cold]
    fn grow(&mut self, len: usize) {
        let capacity = (self.current.capacity() * 2).clamp(1024, CHUNK).max(len);
        let full = std::mem::replace(&mut self.current, Vec::with_capacity(capacity));
        if !full.is_empty() {
            self.buffers.push(Buffer::from_vec(full));
        }
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let full: usize = self.buffers.iter().map(|b| b.len()).sum();
        self.views.capacity() * 16 + self.current.capacity() + full
    }

    /// Length and first bytes of a string, all of it when it is short, as in [`Strings`].
    #[inline(always)]
    pub fn view(&self, row: usize) -> u128 {
        self.views[row]
    }

    /// Appends a string that is given with its view.
    #[inline]
    pub fn push_viewed(&mut self, view: u128, bytes: &[u8]) {
        if bytes.len() <= INLINE { self.views.push(view) } else { self.push(bytes) }
    }

    /// Keeps the bytes of other strings alive, so that they can be appended without a copy by
    /// [`push_adopted`](Self::push_adopted) with the shift that is returned.
    pub fn adopt(&mut self, strings: &Strings) -> u128 {
        if let Some((buffers, shift)) = &self.adopted
            && Arc::ptr_eq(buffers, &strings.buffers)
        {
            return *shift;
        }
        if !self.current.is_empty() {
            self.grow(0);
        }
        let shift = (self.buffers.len() as u128) << 64;
        self.buffers.extend(strings.buffers.iter().cloned());
        self.adopted = Some((strings.buffers.clone(), shift));
        shift
    }

    /// Appends a string of adopted ones by its view there.
    ///
    /// # Safety
    /// `shift` is what [`adopt`](Self::adopt) returned for the strings that the view is of.
    #[inline(always)]
    pub unsafe fn push_adopted(&mut self, view: u128, shift: u128) {
        self.views.push(if view as u32 as usize <= INLINE { view } else { view + shift });
    }

    /// Drops the strings from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.views.truncate(len);
    }

    /// The string at `row`.
    pub fn get(&self, row: usize) -> &[u8] {
        let view = &self.views[row];
        let len = *view as u32 as usize;
        if len <= INLINE {
            let start = std::ptr::from_ref(view).cast::<u8>();
            // SAFETY: an inline view holds its `len` <= 12 bytes behind the 4 bytes of length, inside its 16 bytes.
            return unsafe { std::slice::from_raw_parts(start.add(4), len) };
        }
        let (buffer, offset) = ((*view >> 64) as u32 as usize, (*view >> 96) as u32 as usize);
        let bytes = match self.buffers.get(buffer) {
            Some(buffer) => buffer.as_slice(),
            None => &self.current[..],
        };
        debug_assert!(offset + len <= bytes.len());
        // SAFETY: views are made from what was put into the buffer, or adopted with it.
        unsafe { bytes.get_unchecked(offset..offset + len) }
    }

    /// The strings that were appended.
    pub fn finish(mut self) -> Strings {
        if !self.current.is_empty() {
            self.buffers.push(Buffer::from_vec(self.current));
        }
        Strings { views: Buf::from_vec(self.views), buffers: self.buffers.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_views_hold_length_and_bytes() {
        for n in 0..=INLINE {
            let bytes = &b"abcdefghijkl"[..n];
            let mut view = [0; 16];
            view[0] = n as u8;
            view[4..4 + n].copy_from_slice(bytes);
            assert_eq!(inline_view(bytes), u128::from_le_bytes(view));
        }
    }

    #[test]
    fn values_of_every_width_are_strings() {
        for width in 1..40 {
            for n in 0..9 {
                let bytes: Vec<u8> = (0..width * (n + 2)).map(|at| (at * 7) as u8).collect();
                // Sliced, as those of a part of a block.
                let bytes = Buf::from_vec(bytes).slice(width, width * n);
                let fixed = Fixed { width, bytes };
                let strings = Strings::of_fixed(&fixed);
                assert!(strings.iter().eq(fixed.iter()), "{width} {n}");
                let built: Strings = fixed.iter().collect();
                let is_inline = |&&view: &&u128| view as u32 as usize <= INLINE;
                assert!(strings.views().iter().filter(is_inline).eq(built.views().iter().filter(is_inline)));
            }
        }
    }

    #[test]
    fn long_and_short_strings_survive() {
        let texts: Vec<Vec<u8>> = (0..3000).map(|i| vec![b'a' + (i % 26) as u8; i % 700]).collect();
        let strings: Strings = texts.iter().collect();
        assert!(strings.iter().eq(texts.iter().map(|t| &t[..])));
        let twice = Strings::concat(&[&strings.slice(5, 100), &strings]);
        assert_eq!(twice.get(100 + 699), &texts[699][..]);
        assert_eq!(twice.get(3), &texts[8][..]);
        assert!(twice.compact().iter().eq(twice.iter()));
    }

    #[test]
    fn many_small_parts_do_not_stay_apart() {
        let texts: Vec<String> = (0..1000).map(|i| format!("the text of number {i}")).collect();
        let ones: Vec<Strings> = texts.iter().map(|text| [text].into_iter().collect()).collect();
        let all = Strings::concat(&ones.iter().collect::<Vec<_>>());
        assert!(all.iter().eq(texts.iter().map(String::as_bytes)));
        let n_buffers = all.buffers().len();
        assert!(n_buffers < 10, "{n_buffers} buffers");
        // Slices of the same strings share their buffers.
        let halves = [all.slice(0, 500), all.slice(500, 500)];
        let again = Strings::concat(&[&halves[0], &halves[1], &ones[7]]);
        assert_eq!(again.buffers().len(), n_buffers + 1);
        assert!(again.iter().take(1000).eq(all.iter()));
        let mut builder = StringBuilder::default();
        builder.push(b"a text that the builder has copied");
        for half in &halves {
            let shift = builder.adopt(half);
            // SAFETY: the shift is of these strings.
            half.views().iter().for_each(|&view| unsafe { builder.push_adopted(view, shift) });
        }
        let built = builder.finish();
        assert_eq!(built.buffers().len(), n_buffers + 1);
        assert!(built.iter().skip(1).eq(all.iter()));
    }
}
