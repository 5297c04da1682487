//! Reading in order: where ORDER BY asks for the order that the parts of a table have anyway, forward or in reverse, they are merged as
//! they are read, and nothing is sorted.
//!
//! ```text
//! Sort(a, b)              Project
//!   Project          =>     Scan in order of (a, b)
//!     Scan
//! ```

use crate::ExecContext;
use crate::expression::{Program, layout};
use crate::operators::merge_runs::MergeOrder;
use crate::ranges::{has_hints, ranges};
use chalet_base::Result;
use chalet_columns::keys::Order;
use chalet_plan::{ColumnId, Expr, Plan, ScanNode, Sort};
use chalet_types::DataType;
use std::sync::Arc;

/// In which order a scan is to be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScanOrder {
    /// Columns of the scan.
    pub keys: Vec<(ColumnId, DataType, Order)>,
    pub reversed: bool,
    /// The first key is the first one of the table, and ascends: ranges of it can be read each for itself.
    pub has_ranges: bool,
    pub limit: Option<u64>,
}

/// Rows of a block, at least, where a scan in order will have few to read.
const FEW_ROWS: usize = 1024;

/// How a scan is merged that is read in order, and where its first key is if ranges of it can be read each for itself.
pub(crate) struct OrderedBy {
    pub order: Arc<MergeOrder>,
    pub key: Option<usize>,
}

impl OrderedBy {
    /// Rows of a block, at most, where not many more are to be read than are needed.
    pub fn block_rows(&self) -> Option<usize> {
        let limit = usize::try_from(self.order.limit?).unwrap_or(usize::MAX);
        Some(limit.saturating_mul(2).max(FEW_ROWS))
    }
}

impl ScanOrder {
    /// Has the scan the columns?
    pub fn is_of(&self, node: &ScanNode) -> bool {
        self.keys.iter().all(|(id, ..)| node.columns.iter().any(|(_, field)| field.id == *id))
    }

    /// How the scan is merged.
    pub fn merge(self, node: &ScanNode, ctx: &ExecContext) -> Result<OrderedBy> {
        let layout = layout(&Plan::Scan(node.clone()).fields());
        let columns: Vec<Expr> = self.keys.iter().map(|(id, ty, _)| Expr::Column(*id, ty.clone())).collect();
        let keys = Program::new(&columns.iter().collect::<Vec<_>>(), &layout, &ctx.functions)?;
        let orders = self.keys.iter().map(|key| key.2).collect();
        let first = self.keys.first().filter(|_| self.has_ranges);
        let key = first.and_then(|(id, ..)| layout.get(id).copied());
        let (reversed, limit) = (self.reversed, self.limit);
        Ok(OrderedBy { order: Arc::new(MergeOrder { keys, orders, reversed, limit, rule: None }), key })
    }
}

/// The order in which the scan below a sort had best be read, so that there is nothing left to sort.
pub(crate) fn scan_order(node: &Sort, ctx: &ExecContext) -> Option<ScanOrder> {
    if !ctx.settings.optimize_read_in_order || node.keys.is_empty() || node.with_ties && node.limit.is_some()
    {
        return None;
    }
    // All rows but the first would be held, which a sort can do on disk.
    if node.limit.is_none() && node.offset > 0 {
        return None;
    }
    let mut keys: Vec<(ColumnId, DataType, Order)> = Vec::with_capacity(node.keys.len());
    for key in &node.keys {
        let ty = key.expr.ty().clone();
        keys.push((key.expr.as_column()?, ty.clone(), key.order.of(&ty)));
    }
    let mut below = &*node.input;
    let scan = loop {
        below = match below {
            Plan::Project(project) => {
                for (id, ..) in &mut keys {
                    let (_, expr) = project.exprs.iter().find(|(field, _)| field.id == *id)?;
                    *id = expr.as_column()?;
                }
                &project.input
            }
            Plan::Filter(filter) => &filter.input,
            Plan::Scan(scan) => break scan,
            _ => return None,
        };
    };
    // Which granules hints leave is found out part by part.
    if scan.filter.as_ref().is_some_and(has_hints) {
        return None;
    }
    let (has_ranges, reversed) = follows_table(scan, &keys)?;
    // Without ranges one worker reads all: that pays where it need not read far.
    (has_ranges || node.limit.is_some()).then_some(ScanOrder {
        keys,
        reversed,
        has_ranges,
        limit: node.limit,
    })
}

/// Are the rows of a part in the order of these keys? If so, says whether the first of them is the first one of the table, which
/// ascends, and whether the order is the reverse of the table's.
fn follows_table(scan: &ScanNode, keys: &[(ColumnId, DataType, Order)]) -> Option<(bool, bool)> {
    let schema = scan.table.schema();
    let mut sorting = scan.table.keys()?.sorting.iter();
    let layout = layout(&Plan::Scan(scan.clone()).fields());
    let ranges = scan.filter.as_ref().map(|filter| ranges(filter, &layout)).unwrap_or_default();
    // Of a column that has one value alone the order says nothing.
    let is_fixed = |name: &str| {
        ranges.iter().any(|range| {
            let (index, _) = &scan.columns[range.column];
            let is_point = matches!((&range.low, &range.high), (Some(l), Some(h)) if l == h && l.1);
            is_point && *schema.columns[*index].name == *name
        })
    };
    let (mut is_first, mut reversed) = (true, false);
    for (position, (id, ty, order)) in keys.iter().enumerate() {
        let (index, field) = scan.columns.iter().find(|(_, field)| field.id == *id)?;
        let name = &schema.columns[*index].name;
        let key = loop {
            let key = sorting.next()?;
            if *key.expr == **name {
                break key;
            }
            if !is_fixed(&key.expr) {
                return None;
            }
            is_first = false;
        };
        if position == 0 {
            is_first = is_first && !key.descending;
            reversed = order.descending != key.descending;
        }
        let of_table = Order::new(key.descending, false).of(&field.ty);
        let same = match reversed {
            false => *order == of_table,
            // NULL and NaN stay behind the others in either direction.
            true => order.descending != key.descending && !ty.is_nullable() && !ty.is_float(),
        };
        if !same || field.ty != *ty {
            return None;
        }
    }
    Some((is_first, reversed))
}
