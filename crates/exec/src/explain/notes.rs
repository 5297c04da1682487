//! What the logical plan says of the operators that were made of it.

use crate::pipeline::{Stream, address};
use chalet_base::hash::HashMap;
use chalet_plan::Plan;
use chalet_plan::explain::describe;
use std::sync::{Mutex, PoisonError};

/// How many rows the optimizer expects a node to put out.
pub type Estimate = Box<dyn Fn(&Plan) -> f64 + Send + Sync>;

/// Notes by the operators that a node became, or by their source.
pub struct PlanNotes {
    estimate: Estimate,
    notes: Mutex<HashMap<usize, Note>>,
}

/// Of one node.
#[derive(Clone)]
pub struct Note {
    /// The node with its parameters, as EXPLAIN PLAN has it.
    pub detail: String,
    /// Where its output comes from this.
    pub rows: Option<f64>,
}

impl PlanNotes {
    pub fn new(estimate: Estimate) -> PlanNotes {
        PlanNotes { estimate, notes: Mutex::default() }
    }

    /// Keeps what is known of a node that became this stream.
    pub(crate) fn add(&self, plan: &Plan, stream: &Stream) {
        let expected = (self.estimate)(plan);
        let rows = match plan {
            Plan::Sort(node) => node.limit.map_or(expected, |limit| expected.min(limit as f64)),
            _ => expected,
        };
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        // From the end, where its output is, down to what nodes below have made.
        let mut rows = Some(rows);
        let ids = stream.operators.iter().rev().map(address);
        for id in ids.chain([stream.source.id()]) {
            if notes.contains_key(&id) {
                break;
            }
            notes.insert(id, Note { detail: describe(plan), rows: rows.take() });
        }
    }

    pub(crate) fn of(&self, id: usize) -> Option<Note> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }
}
