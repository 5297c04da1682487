//! Free lists of an arena, by size and thread: what held a long string of a state serves the next one of that size.
//!
//! A candidate of experiments (`CHALET_SWITCHES=+free-lists`), to be kept only where one shows a gain: the allocator has caches of
//! its own for each thread.

use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use std::cell::RefCell;

/// Sizes are powers of two from the smallest on.
const SMALLEST: usize = 32;
const N_SIZES: usize = 12;

/// Bytes that a thread keeps for later, at most.
const MAX_KEPT: usize = 1 << 20;

#[derive(Default)]
struct Lists {
    by_size: [Vec<Box<[u8]>>; N_SIZES],
    kept: usize,
}

thread_local! {
    static LISTS: RefCell<Lists> = RefCell::default();
}

/// The place of the smallest size that has room for so many bytes, if one has.
fn place_of(len: usize) -> Option<usize> {
    let size = len.max(SMALLEST).next_power_of_two();
    let place = size.trailing_zeros() as usize - SMALLEST.trailing_zeros() as usize;
    (place < N_SIZES).then_some(place)
}

/// A copy of bytes, with room behind them where free lists are used.
pub fn copied(bytes: &[u8]) -> Box<[u8]> {
    if !switches::is_on(Switch::FreeLists) {
        return bytes.into();
    }
    let Some(place) = place_of(bytes.len()) else { return bytes.into() };
    let found = LISTS.try_with(|lists| {
        let mut lists = lists.borrow_mut();
        let found = lists.by_size[place].pop();
        lists.kept -= found.as_ref().map_or(0, |found| found.len());
        found
    });
    let mut room = match found {
        Ok(Some(found)) => {
            events::count(Event::ArenaFreeListReuses);
            found
        }
        _ => vec![0; SMALLEST << place].into(),
    };
    room[..bytes.len()].copy_from_slice(bytes);
    room
}

/// Takes back what `copied` gave.
pub fn give_back(room: Box<[u8]>) {
    let Some(place) = place_of(room.len()).filter(|place| room.len() == SMALLEST << place) else { return };
    // A thread that ends has no lists any more.
    let _ = LISTS.try_with(|lists| {
        let mut lists = lists.borrow_mut();
        if lists.kept + room.len() <= MAX_KEPT {
            lists.kept += room.len();
            lists.by_size[place].push(room);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two() {
        assert_eq!([0, 32, 33, 64, 65_536].map(place_of), [Some(0), Some(0), Some(1), Some(1), Some(11)]);
        assert_eq!(place_of(65_537), None);
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        for _ in 0..100 {
            give_back(vec![0; 32_768].into());
        }
        LISTS.with_borrow(|lists| assert_eq!((lists.kept, lists.by_size[10].len()), (MAX_KEPT, 32)));
    }
}
