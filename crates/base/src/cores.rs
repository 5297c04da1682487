//! How many cores this process may use: the standard library's answer, remembered for a second.
//!
//! That answer reads four files of the cgroup, 10 us together, and a query of 50 us asks five times (2 cores, 2026-11-22). It may
//! change while the process runs, so it is not kept for good.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Milliseconds for which an answer holds.
const HOLDS: u64 = 1000;
const COUNT_BITS: u32 = 16;

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
/// When it was asked, in milliseconds since [`BEGIN`] and counted from one, above the number of cores; 0 before the first.
static KNOWN: AtomicU64 = AtomicU64::new(0);

/// The number of cores, at least one.
pub fn cores() -> usize {
    let now = BEGIN.elapsed().as_millis() as u64 + 1;
    let (asked, count) = split(KNOWN.load(Relaxed));
    if asked > 0 && now < asked + HOLDS {
        return count;
    }
    let count = ask();
    KNOWN.store(now << COUNT_BITS | count as u64, Relaxed);
    count
}

fn split(known: u64) -> (u64, usize) {
    (known >> COUNT_BITS, (known & ((1 << COUNT_BITS) - 1)) as usize)
}

fn ask() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).clamp(1, (1 << COUNT_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_standard_library_says_and_is_asked_again() {
        assert_eq!(cores(), ask());
        let (asked, count) = split(KNOWN.load(Relaxed));
        assert!(asked > 0 && count == ask());
        // An old answer is not believed.
        std::thread::sleep(std::time::Duration::from_millis(2));
        KNOWN.store(1 << COUNT_BITS | 77, Relaxed);
        assert_eq!(cores(), 77);
        std::thread::sleep(std::time::Duration::from_millis(HOLDS + 10));
        assert_eq!(cores(), ask());
    }
}
