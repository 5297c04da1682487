//! The way into the engine: room for recursion, and no panic that leaves it. Statements nest as deep as the parser lets them, and are bound, planned, folded and dropped
//! recursively; threads of the host may have small stacks.

use chalet_base::{Result, codes};
use chalet_memory::{allocator, guarded};

/// Bytes that the deepest statements are known to do with, and a half more.
const NEEDED: usize = 3 << 20;
const GROWN: usize = 8 << 20;

/// Does `work` where there is room, which is here if the stack has enough left. A panic inside of it is an error.
pub(crate) fn entered<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let done = stacker::maybe_grow(NEEDED, GROWN, || guarded(work));
    if done.as_ref().is_err_and(|error| error.code() == codes::MEMORY_LIMIT_EXCEEDED) {
        // All that the statement had is free now: the next one, and the host, may want it.
        allocator::release();
    }
    done
}
