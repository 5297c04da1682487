//! Strings of every Arrow layout as our views over the same bytes.
//!
//! Views and offsets that come from outside are checked against their buffers here, because our strings are
//! read without a check later.

use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{Array, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{ArrowNativeType, Buffer};
use chalet_base::{Result, ensure};
use chalet_columns::strings::{INLINE, view_at};
use chalet_columns::{Buf, Strings};

/// Views address bytes by 32 bits; a buffer longer than this is shared in several slices.
const WINDOW: usize = 1 << 31;

/// One buffer with offsets.
pub fn with_offsets<T: ByteArrayType>(array: &GenericByteArray<T>) -> Result<Strings> {
    let (offsets, bytes) = (array.value_offsets(), array.values());
    if let Some(strings) = of_one_buffer(array) {
        return Ok(strings);
    }
    // Of a slice no more bytes than its own.
    let last = offsets.last().map_or(0, |last| last.as_usize()).min(bytes.len());
    let mut views = Vec::with_capacity(array.len());
    let mut buffers: Vec<Buffer> = Vec::new();
    let (mut base, mut window, mut longest) = (0, &bytes[..0], 0);
    for pair in offsets.windows(2) {
        let (start, end) = (pair[0].as_usize(), pair[1].as_usize());
        ensure!(
            start <= end && end <= bytes.len(),
            INCORRECT_DATA,
            "Offsets of an Arrow string column are out of order or out of bounds"
        );
        ensure!(end - start < WINDOW, NOT_IMPLEMENTED, "A string of {} bytes is too long", end - start);
        if start < base || end - base > window.len() {
            let buffer = bytes.slice_with_length(start, (last.max(end) - start).min(u32::MAX as usize));
            (base, window) = (start, &bytes[start..start + buffer.len()]);
            buffers.push(buffer);
        }
        longest = longest.max(end - start);
        let buffer = (buffers.len() as u32).wrapping_sub(1);
        views.push(view_at(window, start - base, end - start, buffer));
    }
    // Without long strings nothing points into the buffers.
    if longest <= INLINE {
        buffers.clear();
    }
    // SAFETY: every view was made from a slice of its buffer, at the place where the slice begins.
    Ok(unsafe { Strings::from_views(Buf::from_vec(views), buffers.into()) })
}

/// Where the bytes are few enough for one buffer, and the offsets are in order: these are checked together before any is used.
fn of_one_buffer<T: ByteArrayType>(array: &GenericByteArray<T>) -> Option<Strings> {
    let (offsets, bytes) = (array.value_offsets(), array.values());
    let (first, last) = (offsets.first()?.as_usize(), offsets.last()?.as_usize());
    if first > last || last > bytes.len() || last - first >= WINDOW {
        return None;
    }
    // Without a branch for each, so that many are compared at a time.
    let is_in_order =
        |pairs: &[T::Offset]| pairs.windows(2).fold(true, |all, pair| all & (pair[0] <= pair[1]));
    if !is_in_order(offsets) {
        return None;
    }
    let buffer = bytes.slice_with_length(first, last - first);
    let text = buffer.as_slice();
    let view = |pair: &[T::Offset]| {
        let (start, end) = (pair[0].as_usize(), pair[1].as_usize());
        view_at(text, start - first, end - start, 0)
    };
    let views: Vec<u128> = offsets.windows(2).map(view).collect();
    // Without long strings nothing points into the buffer.
    let has_long = views.iter().fold(false, |any, &view| any | (view as u32 as usize > INLINE));
    let buffers: Vec<Buffer> = if has_long { vec![buffer] } else { Vec::new() };
    // SAFETY: every view was made from the buffer, at the place where it stands in it.
    Some(unsafe { Strings::from_views(Buf::from_vec(views), buffers.into()) })
}

/// Views as they are, after a look at each.
pub fn views<T: ByteViewType>(array: &GenericByteViewArray<T>) -> Result<Strings> {
    let (views, buffers) = (array.views(), array.data_buffers());
    let sound = |view: u128| {
        let len = view as u32 as usize;
        if len <= INLINE {
            // Padding is zero, so that equal strings have equal views.
            return len == INLINE || view >> (32 + 8 * len) == 0;
        }
        let (buffer, offset) = ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize);
        let text = buffers.get(buffer).and_then(|bytes| bytes.get(offset..offset + len));
        text.is_some_and(|text| text[..4] == ((view >> 32) as u32).to_le_bytes())
    };
    if views.iter().all(|&view| sound(view)) {
        let views = Buf::from_arrow(views.inner().clone());
        // SAFETY: `sound` found every long view inside its buffer.
        return Ok(unsafe { Strings::from_views(views, buffers.clone()) });
    }
    // What stands under a NULL may be anything; it becomes the empty string.
    let mut kept = Vec::with_capacity(views.len());
    for (row, &view) in views.iter().enumerate() {
        if sound(view) {
            kept.push(view);
        } else {
            ensure!(
                array.is_null(row),
                INCORRECT_DATA,
                "A view of an Arrow string column points out of bounds"
            );
            kept.push(0);
        }
    }
    // SAFETY: `sound` found every long view that was kept inside its buffer.
    Ok(unsafe { Strings::from_views(Buf::from_vec(kept), buffers.clone()) })
}
