//! The allocator: jemalloc under names of its own, so that the host's malloc is never touched, and a check of large requests.
//!
//! Invariant: memory that crosses to Python carries its own release function; nobody frees what another allocator made.
//!
//! A request that is not served must not end the host. `Vec`, `Arc` and all of the crates that build on them report one to
//! `handle_alloc_error`, which aborts, but calls the hook of the standard library first, and that may unwind. The hook is the
//! one unstable feature that this project uses, in this crate alone (`.cargo/config.toml` names it): no stable way covers
//! allocations inside of other crates, and an embedded database may not take its host down.

use crate::guard::OutOfMemory;
use crate::thread;
use chalet_base::forks::PerProcess;
#[cfg(not(target_os = "linux"))]
use std::alloc::System as Inner;
use std::alloc::{GlobalAlloc, Layout};
#[cfg(not(target_os = "linux"))]
use std::ffi::c_void;
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};
use std::sync::Once;
use std::time::Duration;
#[cfg(target_os = "linux")]
use tikv_jemallocator::Jemalloc as Inner;

/// jemalloc, with the check of large requests.
pub struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Requests from this size on are checked one by one, in bytes. Smaller ones cannot exceed a limit by much before the thread
/// is charged at the end of its block.
const LARGE: usize = 1 << 20;

// SAFETY: all calls are handed on to an allocator; a null pointer is how an allocator says that it has no memory.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE && !thread::admits(layout.size(), 0) {
            return null_mut();
        }
        // SAFETY: the caller's promises are handed on.
        served(|| unsafe { Inner.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE && !thread::admits(layout.size(), 0) {
            return null_mut();
        }
        // SAFETY: the caller's promises are handed on.
        served(|| unsafe { Inner.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are handed on.
        unsafe { Inner.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let is_large = new_size >= LARGE && new_size > layout.size();
        if is_large && !thread::admits(new_size - layout.size(), layout.size()) {
            return null_mut();
        }
        // SAFETY: the caller's promises are handed on; where it is refused, what there was stays as it is.
        let grown = served(|| unsafe { Inner.realloc(pointer, layout, new_size) });
        if is_large && !grown.is_null() && grown != pointer {
            // While it was copied, there were both.
            thread::note_peak(layout.size());
        }
        grown
    }
}

/// Makes a request, and makes it once more where the system refuses it and freed pages can be given back: under a limit of
/// address space what the last query freed is what this one lacks.
#[inline]
fn served(request: impl Fn() -> *mut u8) -> *mut u8 {
    let pointer = request();
    if !pointer.is_null() {
        return pointer;
    }
    release();
    request()
}

/// What jemalloc reads when it starts: large extents may serve requests of up to 2^8 times less, so that buffers of many
/// sizes are reused rather than mapped anew; freed pages are kept for some seconds, since the next query will want them, and then
/// offered to the system, which takes them when it needs some, for some seconds more before they are given back. Address space
/// goes back with them: the host may be limited in it too, and what one arena retains no other one can use.
///
/// jemalloc describes each slab in 128 bytes that it keeps for good, and would give allocations of 4 KiB a slab each: 64 MiB
/// of descriptions after a query that filled 2 GiB with them. The slabs of the two largest classes of one page have eight.
#[cfg(target_os = "linux")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: Option<&'static c_char> = {
    // SAFETY: the first character of a constant string, which ends in a zero.
    Some(unsafe {
        &*c"lg_extent_max_active_fit:8,retain:false,dirty_decay_ms:5000,muzzy_decay_ms:10000,slab_sizes:2048-2048:4|4096-4096:8".as_ptr()
    })
};

/// Lets refused requests unwind from now on; more calls do nothing.
pub(crate) fn install() {
    static DONE: Once = Once::new();
    DONE.call_once(|| std::alloc::set_alloc_error_hook(unwind));
}

fn unwind(layout: Layout) {
    thread::note_failure(layout.size());
    // Past the panic hook, which would print: this is an error of a query like any other.
    std::panic::resume_unwind(Box::new(OutOfMemory));
}

/// Lets a thread of the allocator give freed pages back when no query comes, which would else do it. Importing the module
/// starts none.
pub fn release_when_idle() {
    // A forked child has none of the threads.
    static STARTED: PerProcess<Once> = PerProcess::new(|_| Once::new());
    // Where the thread cannot be started, pages are given back by later queries.
    STARTED.call_once(|| {
        let _ = write(c"background_thread", true);
    });
}

/// Gives pages that are not in use back to the system now; takes some milliseconds, half a second at most. Allocates nothing.
#[cold]
pub fn release() {
    /// Pages of 4 KiB that may stay.
    const FEW: usize = 1024;
    let _ = call(c"thread.tcache.flush");
    // An arena from which the allocator's own thread is giving pages back just now is left out: it is tried again until that
    // thread is done. What other queries free meanwhile does not count.
    for _ in 0..250 {
        let before = unused_pages();
        // 4096 stands for all arenas.
        let _ = call(c"arena.4096.purge");
        if unused_pages() <= FEW.max(before / 8) {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Pages without use that arenas keep, whether or not the system may take them.
fn unused_pages() -> usize {
    let _ = write(c"epoch", 1u64);
    let pages = |name| read::<usize>(name).unwrap_or(0);
    pages(c"stats.arenas.4096.pdirty") + pages(c"stats.arenas.4096.pmuzzy")
}

/// What the allocator says of itself, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// In use, rounded up to pages.
    pub active: usize,
    /// In use or kept for reuse.
    pub resident: usize,
    /// Address space in use or kept for reuse.
    pub mapped: usize,
    /// Address space kept beside it, without pages.
    pub retained: usize,
}

/// Asks the allocator how much there is now; takes some microseconds.
pub fn statistics() -> Statistics {
    // Statistics are those of the last epoch.
    let _ = write(c"epoch", 1u64);
    let size = |name| read::<usize>(name).unwrap_or(0);
    Statistics {
        active: size(c"stats.active"),
        resident: size(c"stats.resident"),
        mapped: size(c"stats.mapped"),
        retained: size(c"stats.retained"),
    }
}

/// Where the bytes that this thread has allocated and freed are counted; null where they are not.
pub(crate) fn thread_counters() -> (*const u64, *const u64) {
    let (allocated, freed) = (read(c"thread.allocatedp"), read(c"thread.deallocatedp"));
    allocated.zip(freed).unwrap_or((null(), null()))
}

/// Reads a value of jemalloc's. `T` must be the type that its manual gives.
pub(crate) fn read<T: Copy>(name: &CStr) -> Option<T> {
    let mut value = std::mem::MaybeUninit::<T>::uninit();
    let mut size = size_of::<T>();
    // SAFETY: address and size of the value are given, and it is used only where all of it was written.
    unsafe {
        let status = mallctl(name.as_ptr(), value.as_mut_ptr().cast(), &raw mut size, null_mut(), 0);
        (status == 0 && size == size_of::<T>()).then(|| value.assume_init())
    }
}

/// Writes a value of jemalloc's. `T` must be the type that its manual gives.
pub(crate) fn write<T>(name: &CStr, mut value: T) -> Option<()> {
    let address = (&raw mut value).cast();
    // SAFETY: address and size of the value are given; nothing is read back.
    let status = unsafe { mallctl(name.as_ptr(), null_mut(), null_mut(), address, size_of::<T>()) };
    (status == 0).then_some(())
}

/// Calls a command of jemalloc's that takes and gives nothing.
fn call(name: &CStr) -> Option<()> {
    // SAFETY: nothing is read or written.
    let status = unsafe { mallctl(name.as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    (status == 0).then_some(())
}

#[cfg(target_os = "linux")]
use tikv_jemalloc_sys::mallctl;

/// Where there is no jemalloc nothing can be asked of it.
#[cfg(not(target_os = "linux"))]
unsafe fn mallctl(_: *const c_char, _: *mut c_void, _: *mut usize, _: *mut c_void, _: usize) -> i32 {
    -1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted() {
        let (allocated, freed) = thread_counters();
        assert!(!allocated.is_null() && !freed.is_null());
    }

    /// Allocations of a few KiB share slabs: what describes those is never freed.
    #[test]
    #[cfg(target_os = "linux")]
    fn slabs_are_shared() {
        let bins: u32 = read(c"arenas.nbins").unwrap();
        let regions = |size: usize| {
            (0..bins).find_map(|bin| {
                let value = |what| std::ffi::CString::new(format!("arenas.bin.{bin}.{what}")).unwrap();
                (read::<usize>(&value("size")) == Some(size)).then(|| read::<u32>(&value("nregs")).unwrap())
            })
        };
        assert_eq!((regions(2048), regions(4096)), (Some(8), Some(8)));
    }
}
