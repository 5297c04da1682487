//! Scans of tables and what they are asked for: filters, orders, thresholds, late columns.

use super::{PhysicalPlan, PhysicalPlanner};
use crate::expression::{Layout, Program, layout};
use crate::filter_stages::{filter_stages, read_of_scan};
use crate::operators::join::runtime_filter::{FilterByKeys, KeyFilter, RuntimeFilter};
use crate::operators::merge_runs;
use crate::operators::progress_scan::{OwnLimits, ProgressScan};
use crate::operators::top_k_threshold::TopKThreshold;
use crate::operators::{fetch, filter};
use crate::pipeline::{Source, Stream};
use crate::ranges::{has_hints, ranges};
use crate::read_in_order::OrderedBy;
use crate::tasks::Team;
use crate::{ExecContext, condition, enum_literals, skip_index};
use chalet_base::{Result, bail};
use chalet_columns::Block;
use chalet_plan as plan;
use chalet_plan::{Expr, Plan};
use chalet_storage::scan::ScanFilter;
use chalet_storage::{Scan, ScanContext, ScanRequest};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The run-time filters of a scan whose joins have been built, put into its request.
fn made_filters(
    filters: &[RuntimeFilter],
    request: &mut ScanRequest,
    ctx: &ExecContext,
) -> Result<Vec<KeyFilter>> {
    let mut made = Vec::new();
    for filter in filters {
        let Some((filter, range)) = filter.make(&Team::of(ctx))? else { continue };
        request.ranges.extend(range);
        request.dynamic_filters.push(filter.for_scan());
        made.push(filter);
    }
    Ok(made)
}

impl PhysicalPlanner<'_> {
    /// A scan, read in an order or as it comes.
    pub(super) fn scan(&self, node: &plan::ScanNode, order: Option<OrderedBy>) -> Result<PhysicalPlan> {
        enum_literals::check(node, &self.ctx.functions)?;
        let layout = layout(&Plan::Scan(node.clone()).fields());
        let filter = match &node.filter {
            Some(expr) => Some((expr, Program::new(&[expr], &layout, &self.ctx.functions)?)),
            None => None,
        };
        let request = ScanRequest {
            columns: node.columns.iter().map(|c| c.0).collect(),
            only_lengths: node.only_lengths.iter().filter_map(|id| layout.get(id).copied()).collect(),
            ranges: node.filter.as_ref().map(|expr| ranges(expr, &layout)).unwrap_or_default(),
            whole_granules: node.filter.as_ref().is_some_and(has_hints),
            skip_conditions: skip_index::conditions(node, self.ctx)?,
            filter: filter.as_ref().map(|(expr, _)| self.scan_filter(expr, node, &layout)).transpose()?,
            dynamic_filters: self.scan_threshold(node, &layout).into_iter().collect(),
            limit: node.limit,
            with_row_ids: node.row_id.is_some(),
            context: self.scan_context(node, order.as_ref()),
        };
        let limits = node.limits.clone();
        let table = node.table.clone();
        let done_by_scan = Arc::new(AtomicBool::new(false));
        let done = done_by_scan.clone();
        let row_id_scan = node.row_id.as_ref().map(|_| Arc::new(OnceLock::new()));
        let opened = row_id_scan.clone();
        let runtime_filters = self.runtime_filters.borrow_mut().take(node, &layout, self.ctx)?;
        let has_runtime_filters = !runtime_filters.is_empty();
        let by_keys = FilterByKeys { filters: Arc::default(), done_by_scan: Arc::default() };
        let made = by_keys.clone();
        let open = move |ctx: &ExecContext| -> Result<Arc<dyn Scan>> {
            let mut request = request.clone();
            let filters = made_filters(&runtime_filters, &mut request, ctx)?;
            let inner = table.scan(&request)?;
            done.store(inner.applies_filter(), Relaxed);
            made.done_by_scan.store(inner.applies_dynamic_filters(), Relaxed);
            let _ = made.filters.set(filters);
            // A plan runs once.
            if let Some(opened) = &opened {
                let _ = opened.set(inner.clone());
            }
            let inner = match &order {
                Some(OrderedBy { order, key }) => match inner.sorted_runs(*key) {
                    Some(runs) => merge_runs::open(inner, runs, order.clone(), ctx),
                    None => bail!(LOGICAL_ERROR, "The table has no order to be read in"),
                },
                None => inner,
            };
            let own_limits = limits.clone().map(|limits| Arc::new(OwnLimits::new(limits)));
            Ok(Arc::new(ProgressScan { inner, control: ctx.control.clone(), own_limits }))
        };
        let stream = Stream::of(Source::Table(Arc::new(open), node.name.clone()));
        let stream = match filter {
            Some((_, condition)) => stream.then(filter::Filter { condition, done_by_scan }),
            None => stream,
        };
        let stream = if has_runtime_filters { stream.then(by_keys) } else { stream };
        Ok(PhysicalPlan { row_id_scan, ..PhysicalPlan::from(stream) })
    }

    /// What it reads is planned for itself: nothing of the plan around it holds for all who read it.
    pub(super) fn shared_scan(&self, node: &plan::SharedScan) -> Result<PhysicalPlan> {
        let known = self.ctx.shared.get(&node.source);
        let is_first = known.is_none();
        let rows = match known {
            Some(rows) => rows,
            None => {
                let shared = PhysicalPlanner::new(self.ctx).plan(&node.source.plan)?;
                self.ctx.shared.add(&node.source, shared.stream)
            }
        };
        let columns = node.columns.iter().map(|(at, _)| *at).collect();
        Ok(Stream::of(Source::Shared { rows, columns, name: node.name.clone(), is_first }).into())
    }

    /// How a scan is to be merged, where a sort above wants it to be read in order.
    pub(super) fn scan_order(&self, node: &plan::ScanNode) -> Result<Option<OrderedBy>> {
        let mut pending = self.scan_order.borrow_mut();
        // Taken, because it is for one scan alone: copies of a plan share the ids of its columns.
        let order = pending.take_if(|order| order.is_of(node));
        order.map(|order| order.merge(node, self.ctx)).transpose()
    }

    fn scan_context(&self, node: &plan::ScanNode, order: Option<&OrderedBy>) -> ScanContext {
        let mut context = self.ctx.scan.clone();
        if let Some(rows) = order.and_then(OrderedBy::block_rows) {
            context.max_block_size = context.max_block_size.min(rows);
        }
        match &node.limits {
            Some(limits) => ScanContext { max_block_size: limits.max_block_size, ..context },
            None => context,
        }
    }

    pub(super) fn fetch(&self, node: &plan::Fetch) -> Result<PhysicalPlan> {
        let row_id = layout(&node.input.fields()).get(&node.row_id).copied();
        let mut input = self.plan(&node.input)?;
        let (Some(row_id), Some(scan)) = (row_id, input.row_id_scan.take()) else {
            bail!(LOGICAL_ERROR, "Fetch stands over no scan that locates rows");
        };
        let sink = fetch::Fetch { scan, row_id, columns: node.columns.iter().map(|c| c.0).collect() };
        let sorted = input.sorted.take();
        Ok(PhysicalPlan { sorted, ..input.map(|stream| stream.into_sink(sink)) })
    }

    /// The threshold of a top-k sort over a column of this scan, as a dynamic filter.
    fn scan_threshold(&self, node: &plan::ScanNode, scan: &Layout) -> Option<ScanFilter> {
        let mut pending = self.top_k_threshold.borrow_mut();
        // Taken, because it is for one scan alone: copies of a plan share the ids of its columns.
        let (id, threshold) = pending.take_if(|(id, _)| node.columns.iter().any(|(_, f)| f.id == *id))?;
        let columns = vec![*scan.get(&id)?];
        let evaluate = Arc::new(move |block: &Block| threshold.may_count(block));
        Some(ScanFilter { columns, unread: Vec::new(), condition: None, evaluate, stages: Vec::new() })
    }

    /// Publishes the threshold of a top-k sort to the scan that its first key comes from unchanged.
    pub(super) fn top_k_threshold(&self, node: &plan::Sort) -> Option<Arc<TopKThreshold>> {
        let key = node.keys.first()?;
        let settings = &self.ctx.settings;
        let wide = key.expr.ty().bare().is_string();
        if !settings.use_top_k_dynamic_filtering
            || wide && !settings.use_top_k_dynamic_filtering_for_variable_length_types
        {
            return None;
        }
        let mut id = key.expr.as_column()?;
        let mut below = &*node.input;
        loop {
            below = match below {
                // What counts the rows must see them all.
                Plan::Project(project) if project.exprs.iter().all(|(_, e)| e.is_deterministic()) => {
                    let (_, expr) = project.exprs.iter().find(|(field, _)| field.id == id)?;
                    id = expr.as_column()?;
                    &project.input
                }
                Plan::Filter(filter) if filter.condition.is_deterministic() => &filter.input,
                Plan::Scan(_) => break,
                _ => return None,
            };
        }
        let threshold = Arc::new(TopKThreshold::new(key.order));
        *self.top_k_threshold.borrow_mut() = Some((id, threshold.clone()));
        Some(threshold)
    }

    /// The filter as code over the columns that it reads.
    fn scan_filter(&self, expr: &Expr, node: &plan::ScanNode, scan: &Layout) -> Result<ScanFilter> {
        let (columns, positions) = read_of_scan([expr], scan);
        let program = Program::new(&[expr], &positions, &self.ctx.functions)?;
        let condition = condition::text(expr, node, &self.ctx.scan.conditions_under);
        let unread = node.only_filtered.iter().filter_map(|id| scan.get(id).copied()).collect();
        let stages = match self.ctx.settings.optimize_move_to_prewhere {
            true => filter_stages(expr, scan, &self.ctx.functions)?,
            false => Vec::new(),
        };
        let evaluate = Arc::new(move |block: &Block| program.mask(block));
        Ok(ScanFilter { columns, unread, condition, evaluate, stages })
    }
}
