//! What a statement adds to `system.events`.

use chalet_base::events::{self, Event};
use chalet_syntax::ast::StatementKind;
use std::time::Instant;

/// A statement that has begun.
pub(crate) struct StatementEvents {
    started: Instant,
    /// Count, failures and time of its kind.
    kind: Option<[Event; 3]>,
}

impl StatementEvents {
    pub fn begin(statement: &StatementKind) -> StatementEvents {
        let kind = match statement {
            StatementKind::Query(_) => {
                Some([Event::SelectQuery, Event::FailedSelectQuery, Event::SelectQueryTimeMicroseconds])
            }
            StatementKind::Insert(_) => {
                Some([Event::InsertQuery, Event::FailedInsertQuery, Event::InsertQueryTimeMicroseconds])
            }
            _ => None,
        };
        events::count(Event::Query);
        if let Some([begun, ..]) = kind {
            events::count(begun);
        }
        StatementEvents { started: Instant::now(), kind }
    }

    pub fn end(self, succeeded: bool, rows_inserted: u64) {
        let time = self.started.elapsed().as_micros() as u64;
        events::add(Event::QueryTimeMicroseconds, time);
        events::add(Event::InsertedRows, rows_inserted);
        if !succeeded {
            events::count(Event::FailedQuery);
        }
        if let Some([_, failed, took]) = self.kind {
            events::add(took, time);
            if !succeeded {
                events::count(failed);
            }
        }
    }
}
