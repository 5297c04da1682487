//! Tables of servers in one statement: joins, unions and sets read them one after the other, but all servers are asked when the first is
//! read, so that the statement takes the time of the slowest. What arrives early waits as any blocks of shards do, a few of each.
//!
//! A join knows ranges of the keys that it wants once its right side is read, and its left side may have been asked before. What has
//! come of the left side by then is kept, unless there is much more of it: then it is asked anew, for the ranges alone.

use super::RemoteTable;
use super::receiving::{Asked, Receiving};
use super::scan::asked;
use crate::query_context::QueryContext;
use chalet_exec::expression::layout;
use chalet_exec::ranges::ranges;
use chalet_plan::{Plan, ScanNode};
use chalet_storage::scan::Wake;
use chalet_storage::{ScanContext, ScanRequest};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A server whose rows nobody takes ends the query after a while, by default after 300 s. One that has waited for so long is asked anew.
const PATIENCE: Duration = Duration::from_secs(60);

/// The tables of a statement that are still to be read. Those of plans that are dropped are forgotten.
#[derive(Default)]
pub(super) struct Together(Mutex<Vec<Weak<Slot>>>);

/// A table that is asked together with others.
#[derive(Clone)]
pub(super) struct Member {
    slot: Arc<Slot>,
    together: Arc<Together>,
}

struct Slot {
    asked: Arc<Asked>,
    state: Mutex<State>,
}

enum State {
    Unasked,
    /// Until who reads it takes it.
    Asked(Arc<Receiving>),
    Taken,
}

/// Lets the tables of servers below a plan be asked with all others of the statement. The last step before a plan is run: what is asked is
/// settled.
pub(crate) fn join(plan: &mut Plan, ctx: &QueryContext) {
    let Plan::Scan(scan) = plan else {
        return plan.inputs_mut().into_iter().for_each(|input| join(input, ctx));
    };
    let Some(table) = scan.table.as_any().downcast_ref::<RemoteTable>() else { return };
    let asked = Arc::new(asked(table, &request(scan, ctx)));
    let slot = Arc::new(Slot { asked, state: Mutex::new(State::Unasked) });
    let together = ctx.functions.shared.get::<Together>();
    together.add(&slot);
    scan.table = Arc::new(RemoteTable { together: Some(Member { slot, together }), ..table.clone() });
}

/// What the table will be asked for, as far as it decides what is sent.
fn request(scan: &ScanNode, ctx: &QueryContext) -> ScanRequest {
    let layout = layout(&Plan::Scan(scan.clone()).fields());
    let context = &ctx.exec.scan;
    let max_block_size = scan.limits.as_ref().map_or(context.max_block_size, |limits| limits.max_block_size);
    ScanRequest {
        columns: scan.columns.iter().map(|(at, _)| *at).collect(),
        ranges: scan.filter.as_ref().map(|filter| ranges(filter, &layout)).unwrap_or_default(),
        // A limit counts rows behind the filter.
        limit: scan.limit.filter(|_| scan.filter.is_none()),
        context: ScanContext { max_block_size, ..context.clone() },
        ..ScanRequest::default()
    }
}

impl Together {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Slot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, slot: &Arc<Slot>) {
        let mut slots = self.lock();
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(slot));
    }

    /// Asks all that are to be read.
    fn begin(&self) {
        let slots: Vec<Arc<Slot>> = self.lock().drain(..).filter_map(|slot| slot.upgrade()).collect();
        for slot in slots {
            let mut state = slot.lock();
            if matches!(*state, State::Unasked) {
                *state = State::Asked(Receiving::begin(&slot.asked, None));
            }
        }
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was asked early, once.
    fn take(&self) -> Option<Arc<Receiving>> {
        match std::mem::replace(&mut *self.lock(), State::Taken) {
            State::Asked(receiving) => Some(receiving),
            State::Unasked | State::Taken => None,
        }
    }
}

impl Member {
    /// What the servers send of what is asked now, or of what they were asked before, where it serves. All others are asked, too.
    pub fn receiving(&self, asked: &Arc<Asked>, wake: Option<Wake>) -> Arc<Receiving> {
        let early = self.slot.take();
        self.together.begin();
        let is_same = self.slot.asked.sql == asked.sql;
        if let Some(early) = early
            && serves(&early, is_same)
        {
            if let Some(wake) = wake {
                early.set_wake(wake);
            }
            return early;
        }
        Receiving::begin(asked, wake)
    }
}

/// Nobody has seen any of it, so it may be dropped: what failed or waited too long, and what is much and no longer wanted whole.
fn serves(early: &Receiving, is_same: bool) -> bool {
    match early.held_back() {
        _ if early.has_failed() => false,
        Some(waited) => is_same && waited < PATIENCE,
        None => true,
    }
}
