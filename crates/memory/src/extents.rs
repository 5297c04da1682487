//! How arenas of the allocator take address space from the system.
//!
//! jemalloc lets a large allocation grow in place by mapping the pages behind it. Where freed address space goes back to the
//! system those are nearly always in use: two system calls under the lock of the process's address space, for nothing, at
//! every growth of a buffer. The hook refuses at once. Free pages behind the allocation that the arena has are still used.
//!
//! With hooks of others than jemalloc, free neighbours are joined by a hook, too, under the lock of the arena. Its own one first makes
//! what a thread needs to allocate, by allocating, which never ends where a thread begins with freeing memory of that very arena.

use crate::allocator::{read, write};
use std::ffi::{CString, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use tikv_jemalloc_sys::extent_hooks_t;

/// jemalloc's own hooks, and a copy of them with ours.
struct Hooks {
    own: *mut extent_hooks_t,
    ours: extent_hooks_t,
}

// SAFETY: both are only read, and jemalloc's are static.
unsafe impl Send for Hooks {}
// SAFETY: as above.
unsafe impl Sync for Hooks {}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Gives the arena of this thread the hook, unless it has it. Where it cannot be given all works as before.
pub fn hook_arena() -> Option<()> {
    let arena: c_uint = read(c"thread.arena")?;
    let name = CString::new(format!("arena.{arena}.extent_hooks")).ok()?;
    let now: *mut extent_hooks_t = read(&name)?;
    if now.is_null() {
        return None;
    }
    let hooks = HOOKS.get_or_init(|| {
        // SAFETY: jemalloc gives the hooks of an arena, which are its own: nobody else changes them.
        let own = unsafe { *now };
        Hooks { own: now, ours: extent_hooks_t { alloc: Some(alloc), merge: Some(merge), ..own } }
    });
    match now == hooks.own {
        true => write(&name, (&raw const hooks.ours).cast_mut()),
        false => Some(()),
    }
}

/// Maps address space, as jemalloc does, but not at a given address.
///
/// # Safety
///
/// As jemalloc's manual says of `extent_alloc_t`.
unsafe extern "C" fn alloc(
    _: *mut extent_hooks_t,
    address: *mut c_void,
    size: usize,
    alignment: usize,
    zero: *mut bool,
    commit: *mut bool,
    arena: c_uint,
) -> *mut c_void {
    let Some(hooks) = HOOKS.get().filter(|_| address.is_null()) else { return null_mut() };
    // SAFETY: jemalloc's hooks are static, and get what ours got.
    unsafe {
        match (*hooks.own).alloc {
            Some(alloc) => alloc(hooks.own, address, size, alignment, zero, commit, arena),
            None => null_mut(),
        }
    }
}

/// Joins neighbours, `false` being success: nothing is to be done for it where mappings of the system join by themselves.
///
/// # Safety
///
/// As jemalloc's manual says of `extent_merge_t`.
unsafe extern "C" fn merge(
    _: *mut extent_hooks_t,
    _: *mut c_void,
    _: usize,
    _: *mut c_void,
    _: usize,
    _: bool,
    _: c_uint,
) -> bool {
    !cfg!(target_os = "linux")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that has not allocated yet frees memory beside free memory: what joins the two must not allocate.
    #[test]
    fn the_first_thing_that_a_thread_does_may_be_to_free() {
        // What the allocator makes for a thread comes from this arena.
        let arena: c_uint = 0;
        write(c"thread.arena", arena).unwrap();
        hook_arena().unwrap();
        for _ in 0..100 {
            let buffers: Vec<Vec<u8>> = (0..32).map(|_| Vec::with_capacity(1 << 16)).collect();
            let (mut first, mut second) = (Vec::with_capacity(32), Vec::with_capacity(32));
            for (at, buffer) in buffers.into_iter().enumerate() {
                if at % 2 == 0 { first.push(buffer) } else { second.push(buffer) }
            }
            drop(first);
            free_on_a_bare_thread(second);
        }
    }

    /// A thread of the standard library would allocate before it runs anything.
    fn free_on_a_bare_thread(buffers: Vec<Vec<u8>>) {
        extern "C" fn free(buffers: *mut c_void) -> *mut c_void {
            // SAFETY: the caller below has given its box away.
            drop(unsafe { Box::from_raw(buffers.cast::<Vec<Vec<u8>>>()) });
            null_mut()
        }
        let buffers = Box::into_raw(Box::new(buffers)).cast();
        let mut thread = 0;
        // SAFETY: the thread ends before this function, and its argument lives until then.
        unsafe {
            assert_eq!(libc::pthread_create(&mut thread, std::ptr::null(), free, buffers), 0);
            assert_eq!(libc::pthread_join(thread, null_mut()), 0);
        }
    }

    /// Buffers that grow keep what they hold, and the arena has the hook.
    #[test]
    fn buffers_grow() {
        hook_arena().unwrap();
        let arena: c_uint = read(c"thread.arena").unwrap();
        let name = CString::new(format!("arena.{arena}.extent_hooks")).unwrap();
        let now: *mut extent_hooks_t = read(&name).unwrap();
        assert!(std::ptr::eq(now, &raw const HOOKS.get().unwrap().ours));
        let mut buffers: Vec<Vec<u64>> = (0..8).map(|_| Vec::new()).collect();
        for i in 0..200_000 {
            buffers.iter_mut().for_each(|buffer| buffer.push(i));
        }
        assert!(buffers.iter().all(|buffer| buffer.iter().copied().eq(0..200_000)));
    }
}
