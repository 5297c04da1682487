//! The allocator of the extension module: jemalloc under names of its own, so that the host's malloc is never touched.
//!
//! Invariant: memory that crosses to Python carries its own release function; nobody frees what another allocator made.

use std::ffi::c_char;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// What jemalloc reads when it starts: large extents may serve requests of up to 2^8 times less, so that buffers of many
/// sizes are reused rather than mapped anew, and freed pages are kept half a minute for the next query.
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: Option<&'static c_char> = {
    // SAFETY: the first character of a constant string, which ends in a zero.
    Some(unsafe { &*c"lg_extent_max_active_fit:8,dirty_decay_ms:30000".as_ptr() })
};
