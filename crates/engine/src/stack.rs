//! Room for recursion. Statements nest as deep as the parser lets them, and are bound, planned, folded and dropped
//! recursively; threads of the host may have small stacks.

/// Bytes that the deepest statements are known to do with, and a half more.
const NEEDED: usize = 3 << 20;
const GROWN: usize = 8 << 20;

/// Does `work` where there is room, which is here if the stack has enough left.
pub(crate) fn with_room<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(NEEDED, GROWN, work)
}
