//! Tables of servers below one UNION ALL: its inputs are read one after the other, but all servers are asked when the first is read, so
//! that the union takes the time of the slowest. What arrives early waits as any blocks of shards do, a few of each.

use super::RemoteTable;
use super::receiving::{Asked, Receiving};
use super::scan::asked;
use crate::query_context::QueryContext;
use chalet_exec::expression::layout;
use chalet_exec::ranges::ranges;
use chalet_plan::{Plan, ScanNode};
use chalet_storage::scan::Wake;
use chalet_storage::{ScanContext, ScanRequest};
use std::sync::{Arc, Mutex, Once, PoisonError};

/// One of several tables that are asked at once.
#[derive(Clone)]
pub(super) struct Member {
    group: Arc<Group>,
    number: usize,
}

/// The tables of one union.
struct Group {
    asked: Vec<Arc<Asked>>,
    begun: Once,
    /// Until those who read them take them.
    receiving: Vec<Mutex<Option<Arc<Receiving>>>>,
}

/// Joins the tables of servers below each UNION ALL. The last step before a plan is run: what is asked is settled.
pub(crate) fn join(plan: &mut Plan, ctx: &QueryContext) {
    match plan {
        Plan::Union(_) => {
            let mut scans = Vec::new();
            collect(plan, &mut scans);
            if scans.len() > 1 {
                together(scans, ctx);
            }
        }
        // Which rows of one side are wanted may follow from the other: each is asked when that is known.
        Plan::Join(_) => {}
        _ => plan.inputs_mut().into_iter().for_each(|input| join(input, ctx)),
    }
}

fn collect<'a>(plan: &'a mut Plan, scans: &mut Vec<&'a mut ScanNode>) {
    match plan {
        Plan::Scan(scan) => {
            if scan.table.as_any().is::<RemoteTable>() {
                scans.push(scan);
            }
        }
        Plan::Join(_) => {}
        other => other.inputs_mut().into_iter().for_each(|input| collect(input, scans)),
    }
}

fn together(scans: Vec<&mut ScanNode>, ctx: &QueryContext) {
    let mut tables = Vec::new();
    for scan in scans {
        if let Some(table) = scan.table.as_any().downcast_ref::<RemoteTable>().cloned() {
            tables.push((scan, table));
        }
    }
    let all: Vec<Arc<Asked>> =
        tables.iter().map(|(scan, table)| Arc::new(asked(table, &request(scan, ctx)))).collect();
    let receiving = all.iter().map(|_| Mutex::new(None)).collect();
    let group = Arc::new(Group { asked: all, begun: Once::new(), receiving });
    for (number, (scan, table)) in tables.into_iter().enumerate() {
        let member = Member { group: group.clone(), number };
        scan.table = Arc::new(RemoteTable { together: Some(member), ..table });
    }
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

impl Member {
    /// What is asked of its servers.
    pub fn asked(&self) -> &Arc<Asked> {
        &self.group.asked[self.number]
    }

    /// What its servers send, who are asked now, along with all others, unless they were before. Once.
    pub fn receiving(&self, wake: Option<Wake>) -> Option<Arc<Receiving>> {
        let Group { asked, begun, receiving } = &*self.group;
        let slot = |number: usize| receiving[number].lock().unwrap_or_else(PoisonError::into_inner);
        begun.call_once(|| {
            for (number, asked) in asked.iter().enumerate() {
                *slot(number) = Some(Receiving::begin(asked, None));
            }
        });
        let own = slot(self.number).take()?;
        if let Some(wake) = wake {
            own.set_wake(wake);
        }
        Some(own)
    }
}
