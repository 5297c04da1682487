//! Memory: the allocator of the engine, who uses how much of it, and what happens when there is no more.
//!
//! A query is charged for what its threads allocate less what they free, as the allocator itself counts it, so the figures
//! need no bookkeeping of their own and cannot drift from the truth. Large requests are checked against the limits before
//! they are served; a request that is refused, or that the system cannot serve, unwinds to the nearest [`guarded`] call and
//! becomes `MEMORY_LIMIT_EXCEEDED` there. Small requests are checked together, whenever a thread calls [`thread::sync`].
//!
//! - [`allocator`]: jemalloc, with the check of large requests
//! - [`extents`]: how its arenas take address space from the system
//! - [`thread`]: which tracker the current thread is charged to, and for what it is at work
//! - [`tracker`]: bytes, peak and limit of a query, and of what contains it
//! - [`process`]: what the process may use: cgroup, RLIMIT_AS, RAM
//! - [`reservation`]: bytes that one operator holds, given back when dropped
//! - [`parallel`]: threads for a while, charged to the same query
//! - [`profile`]: where time and memory of a query go, while somebody wants to know
//! - [`huge_pages`]: for large tables that are read at random
//! - [`exceeded`]: which limit was exceeded, as ClickHouse words it
//! - [`guard`]: where panics and refused allocations become errors

#![feature(alloc_error_hook)]

pub mod allocator;
pub mod exceeded;
#[cfg(target_os = "linux")]
mod extents;
pub mod guard;
pub mod huge_pages;
pub mod parallel;
pub mod process;
pub mod profile;
pub mod reservation;
pub mod thread;
pub mod tracker;

pub use exceeded::Exceeded;
pub use guard::guarded;
pub use reservation::Reservation;
pub use tracker::Tracker;
