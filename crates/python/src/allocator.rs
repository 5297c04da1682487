//! The allocator of the extension module: jemalloc under names of its own, so that the host's malloc is never touched.
//!
//! Invariant: memory that crosses to Python carries its own release function; nobody frees what another allocator made.

use chalet_base::forks::PerProcess;
use std::ffi::c_char;
use std::sync::Once;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// What jemalloc reads when it starts: large extents may serve requests of up to 2^8 times less, so that buffers of many
/// sizes are reused rather than mapped anew; freed pages are kept for some seconds, since the next query will want them, and then
/// offered to the system, which takes them when it needs some, for some seconds more before they are given back.
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: Option<&'static c_char> = {
    // SAFETY: the first character of a constant string, which ends in a zero.
    Some(unsafe { &*c"lg_extent_max_active_fit:8,dirty_decay_ms:5000,muzzy_decay_ms:10000".as_ptr() })
};

/// Lets a thread of the allocator give freed pages back when no query comes, which would else do it. Importing the module
/// starts none.
pub fn give_back_when_idle() {
    // A forked child has none of the threads.
    static STARTED: PerProcess<Once> = PerProcess::new(|_| Once::new());
    STARTED.call_once(|| {
        let mut on = true;
        // Where the thread cannot be started, pages are given back by later queries.
        // SAFETY: the option takes a bool, of which address and size are given; nothing is read back.
        unsafe {
            tikv_jemalloc_sys::mallctl(
                c"background_thread".as_ptr(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                (&raw mut on).cast(),
                size_of::<bool>(),
            );
        }
    });
}
