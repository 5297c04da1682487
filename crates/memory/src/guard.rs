//! Where panics and refused allocations become errors. Nothing that is caught here may pass on into the host.

use crate::{allocator, thread};
use chalet_base::{Error, Result, codes, err};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What an allocation that cannot be served unwinds with. It has no size, so that it needs no memory itself; what was
/// refused and why stands with the [`thread`].
pub struct OutOfMemory;

/// Runs `f`. A refused allocation inside of it is `MEMORY_LIMIT_EXCEEDED`, any other panic a `LOGICAL_ERROR` with its text.
pub fn guarded<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(f).and_then(|done| done)
}

/// As [`guarded`], for what does not fail by itself, or in another way.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T> {
    allocator::install();
    let activity = thread::activity();
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        thread::set_activity(activity);
        error_of(payload)
    })
}

/// As [`guarded`], over code of a library that reads bytes which may be anything. It promises errors; should it panic all the
/// same, that is an error of the data.
pub fn guarded_reading<T>(f: impl FnOnce() -> Result<T>, otherwise: impl FnOnce() -> Error) -> Result<T> {
    guarded(f).map_err(|error| if error.code() == codes::LOGICAL_ERROR { otherwise() } else { error })
}

/// The error for what a panic carried.
#[cold]
fn error_of(payload: Box<dyn Any + Send>) -> Error {
    if payload.is::<OutOfMemory>() {
        return thread::take_refused().into_error();
    }
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown cause");
    err!(LOGICAL_ERROR, "The engine failed inside: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tracker;
    use std::sync::Arc;

    #[test]
    fn a_panic_is_an_error() {
        let error = guarded::<()>(|| panic!("of {}", 2)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Code: 49. DB::Exception: The engine failed inside: of 2. (LOGICAL_ERROR)"
        );
    }

    #[test]
    fn a_large_vector_over_the_limit_is_an_error() {
        let tracker = Arc::new(Tracker::of_query(None));
        tracker.set_limit(64 << 20);
        let _scope = thread::enter(&tracker);
        assert_eq!(guarded(|| Ok(vec![1u8; 16 << 20].len())).unwrap(), 16 << 20);
        let error = guarded(|| {
            let mut grown: Vec<u64> = Vec::new();
            loop {
                grown.push(grown.len() as u64);
            }
            #[allow(unreachable_code)]
            Ok(())
        })
        .unwrap_err();
        assert_eq!(error.code().number, 241, "{error}");
        assert!(error.message().contains("maximum: 64.00 MiB"), "{error}");
        thread::sync();
        assert!(tracker.current() < 1 << 20, "{tracker:?}");
        assert!(tracker.peak() >= 32 << 20, "{tracker:?}");
    }

    #[test]
    fn what_nobody_could_have_is_an_error_without_a_limit() {
        let error =
            guarded(|| Ok(Vec::<u8>::with_capacity(std::hint::black_box(1 << 62)).capacity())).unwrap_err();
        assert_eq!(error.code().number, 241, "{error}");
    }

    #[test]
    fn a_failure_of_the_system_says_what_the_query_uses() {
        let tracker = Arc::new(Tracker::of_query(None));
        let _scope = thread::enter(&tracker);
        let kept = std::hint::black_box(vec![1u8; 3 << 20]);
        thread::note_failure(1 << 30);
        let refused = thread::take_refused();
        assert_eq!(refused.level, crate::exceeded::Level::System);
        assert!((3 << 20..4 << 20).contains(&refused.query), "{refused:?}");
        drop(kept);
    }

    #[test]
    fn many_small_values_are_charged_too() {
        let tracker = Arc::new(Tracker::of_query(None));
        tracker.set_limit(8 << 20);
        let _scope = thread::enter(&tracker);
        let kept: Vec<Vec<u8>> = (0..10_000).map(|_| vec![0; 1000]).collect();
        assert_eq!(thread::check(&tracker).unwrap_err().code().number, 241);
        drop(kept);
        assert!(thread::check(&tracker).is_ok());
    }
}
