//! Huge pages for tables that are read and written at random.
//!
//! The processor keeps some thousand translations of addresses: a table of hundreds of megabytes in pages of 4 KiB that is read at random needs
//! another one for nearly every read, and finding it costs as much as the read itself. Pages of 2 MiB are few enough. All of such a
//! table is written, so they take no more memory than it does.

/// The size of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// Tables of fewer bytes are found well enough without.
const LEAST: usize = 8 * HUGE_PAGE;

/// Asks the system for huge pages for a buffer of so many bytes that is not yet written, if it is large; whether it was asked. A hint: where
/// there are no such pages nothing changes.
pub fn advise<T>(buffer: &mut Vec<T>) -> bool {
    let (address, bytes) = (buffer.as_mut_ptr() as usize, buffer.capacity() * size_of::<T>());
    if bytes < LEAST {
        return false;
    }
    let start = address.next_multiple_of(HUGE_PAGE);
    let len = (address + bytes) / HUGE_PAGE * HUGE_PAGE - start;
    #[cfg(target_os = "linux")]
    // SAFETY: the range lies inside of the buffer's, and advice does not change what it holds.
    let is_asked = unsafe { libc::madvise(start as *mut libc::c_void, len, libc::MADV_HUGEPAGE) == 0 };
    #[cfg(not(target_os = "linux"))]
    let is_asked = false;
    is_asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_buffers_are_worth_it() {
        assert!(!advise(&mut Vec::<u32>::new()));
        assert!(!advise(&mut Vec::<u64>::with_capacity(1 << 20)));
        let mut large = Vec::<u64>::with_capacity(LEAST / 8);
        advise(&mut large);
        large.resize(LEAST / 8, 7);
        assert!(large.iter().all(|&item| item == 7));
    }
}
