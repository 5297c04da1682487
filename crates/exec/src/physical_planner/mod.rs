//! The physical planner: the one match from nodes of the logical plan to operators.
//!
//! - [`scans`]: scans of tables and what they are asked for

mod scans;

use crate::expression::{Program, layout};
use crate::hash_table::KeyLayout;
use crate::join_bounds::join_bounds;
use crate::operators::collect::RowRange;
use crate::operators::merge_runs::MergeOrder;
use crate::operators::top_k_threshold::TopKThreshold;
use crate::operators::{
    aggregate, array_join, distinct, fill, filter, join, limit, limit_by, limit_by_from_end, merge_rows,
    project, set_op, sort, window,
};
use crate::pipeline::{Operator, Source, Stage, Stream};
use crate::read_in_order::{OrderedBy, ScanOrder, scan_order};
use crate::row_set::RowSet;
use crate::runtime_filters::RuntimeFilters;
use crate::spill::{Purpose, Threshold};
use crate::{ExecContext, aggregate_from_statistics, in_sets};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_columns::{Block, Column, Vector};
use chalet_memory::Reservation;
use chalet_plan as plan;
use chalet_plan::{ColumnId, Expr, Plan, SetSource};
use chalet_storage::{Scan, ScanRequest};
use chalet_types::{DataType, Physical};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// A physical plan: a stream of source and operators, and where its totals will be.
pub struct PhysicalPlan {
    pub stream: Stream,
    pub totals: Option<TotalsPath>,
    /// Of each LIMIT that no other one stands above.
    pub before_limits: Vec<BeforeLimit>,
    /// Counts the input rows of a sort, when nothing changed their number since.
    sorted: Option<Arc<AtomicU64>>,
    /// The scan below, once it is open, when it has row ids.
    row_id_scan: Option<Arc<OnceLock<Arc<dyn Scan>>>>,
}

/// Counts the rows that a LIMIT had to choose from.
#[derive(Clone)]
pub struct BeforeLimit {
    rows_in: Arc<AtomicU64>,
    /// Without a sort reading stops when there are enough: what was read beyond that depends on the size of blocks.
    most: u64,
}

impl BeforeLimit {
    /// At least so many rows there were, when the plan has run.
    pub fn rows(&self) -> u64 {
        self.rows_in.load(Relaxed).min(self.most)
    }
}

/// The row of totals, and what must still be done to it.
#[derive(Clone)]
pub struct TotalsPath {
    source: TotalsSource,
    steps: Vec<TotalsStep>,
}

/// What happens to the row of totals above where it comes from.
#[derive(Clone)]
enum TotalsStep {
    Project(Program),
    /// Of the rows that it becomes the first one stays.
    ArrayJoin(array_join::ArrayJoin),
}

/// Where the row of totals comes from.
#[derive(Clone)]
enum TotalsSource {
    /// An aggregation.
    Slot(Arc<OnceLock<Block>>),
    /// The sides of a join; the one that has none gives the defaults of its types.
    Join(Box<[(Option<TotalsPath>, Vec<DataType>); 2]>),
}

impl TotalsSource {
    fn take(&self) -> Result<Option<Block>> {
        let sides = match self {
            TotalsSource::Slot(slot) => return Ok(slot.get().cloned()),
            TotalsSource::Join(sides) => sides,
        };
        let mut found = false;
        let mut columns = Vec::new();
        for (path, types) in &**sides {
            let block = path.as_ref().map(TotalsPath::take).transpose()?.flatten();
            found |= block.is_some();
            match block {
                Some(block) => columns.extend(block.columns().iter().cloned()),
                None => columns.extend(types.iter().map(|ty| Column::constant(Vector::defaults(ty, 1), 1))),
            }
        }
        Ok(found.then(|| Block::new(columns, 1)))
    }
}

impl TotalsPath {
    /// The finished row, when the plan has run.
    pub fn take(&self) -> Result<Option<Block>> {
        let Some(mut block) = self.source.take()? else { return Ok(None) };
        for step in &self.steps {
            block = match step {
                TotalsStep::Project(program) => Block::new(program.evaluate(&block)?, block.n_rows()),
                TotalsStep::ArrayJoin(arrays) => match arrays.first_row(block)? {
                    Some(row) => row,
                    None => return Ok(None),
                },
            };
        }
        Ok(Some(block))
    }
}

impl From<Stream> for PhysicalPlan {
    fn from(stream: Stream) -> Self {
        PhysicalPlan { stream, totals: None, before_limits: Vec::new(), sorted: None, row_id_scan: None }
    }
}

impl PhysicalPlan {
    fn then(self, operator: impl Operator + 'static) -> PhysicalPlan {
        PhysicalPlan { stream: self.stream.then(operator), sorted: None, ..self }
    }

    fn map(self, f: impl FnOnce(Stream) -> Stream) -> PhysicalPlan {
        PhysicalPlan { stream: f(self.stream), sorted: None, ..self }
    }

    /// Notes that a limit stands above, which needs `most` rows and counts those that it gets in `rows_in`.
    fn count_before_limit(&mut self, most: u64, rows_in: Arc<AtomicU64>) {
        self.before_limits = vec![match self.sorted.take() {
            Some(rows_in) => BeforeLimit { rows_in, most: u64::MAX },
            None => BeforeLimit { rows_in, most },
        }];
    }

    /// As [`map`](Self::map), for what has other rows: they have no totals.
    fn into_rows(self, f: impl FnOnce(Stream) -> Stream) -> PhysicalPlan {
        PhysicalPlan { totals: None, ..self.map(f) }
    }
}

/// Plans a logical plan physically; which rows a limit on top of it leaves comes beside the physical plan, for who takes
/// them. Sets of IN are built first, by running their sub-queries, because programs look into them. Fails where a node is
/// not supported or a set cannot be built. `counts_all`: its topmost limits read all rows, to count them.
pub fn plan_physical(
    plan: &Plan,
    counts_all: bool,
    ctx: &ExecContext,
) -> Result<(PhysicalPlan, Option<RowRange>)> {
    PhysicalPlanner { counts_all: Cell::new(counts_all), ..PhysicalPlanner::new(ctx) }.plan_result(plan)
}

/// Does a join without right rows have none at all?
fn needs_right_rows(node: &plan::Join) -> bool {
    match node.kind {
        plan::JoinKind::Inner | plan::JoinKind::Cross | plan::JoinKind::Right => true,
        plan::JoinKind::Left => node.strictness == plan::JoinStrictness::Semi,
        plan::JoinKind::Full | plan::JoinKind::Paste => false,
    }
}

pub(crate) struct PhysicalPlanner<'a> {
    pub ctx: &'a ExecContext,
    /// The threshold of a top-k sort, by its column, for the scan below it that is planned next.
    top_k_threshold: RefCell<Option<(ColumnId, Arc<TopKThreshold>)>>,
    /// The order in which the scan that is planned next is to be read.
    scan_order: RefCell<Option<ScanOrder>>,
    runtime_filters: RefCell<RuntimeFilters>,
    /// May what comes next stop reading before all rows have come?
    may_stop: Cell<bool>,
    /// Do limits read all rows, to count them? Not those below another one.
    counts_all: Cell<bool>,
}

impl<'a> PhysicalPlanner<'a> {
    /// A planner that nothing stands above.
    fn new(ctx: &'a ExecContext) -> PhysicalPlanner<'a> {
        PhysicalPlanner {
            ctx,
            top_k_threshold: RefCell::default(),
            scan_order: RefCell::default(),
            runtime_filters: RefCell::new(RuntimeFilters::new(ctx)),
            may_stop: Cell::new(false),
            counts_all: Cell::new(false),
        }
    }
}

impl PhysicalPlanner<'_> {
    /// Plans the input of a node that stops before the end of it, or reads it whole.
    fn input(&self, plan: &Plan, may_stop: bool) -> Result<PhysicalPlan> {
        let before = self.may_stop.replace(may_stop);
        let input = self.plan(plan);
        self.may_stop.set(before);
        input
    }

    /// Plans the input of a limit, which stops before the end of it unless it counts all rows.
    fn input_of_limit(&self, plan: &Plan) -> Result<PhysicalPlan> {
        let counts_all = self.counts_all.replace(false);
        let input = self.input(plan, !counts_all);
        self.counts_all.set(counts_all);
        input
    }

    pub(crate) fn plan(&self, plan: &Plan) -> Result<PhysicalPlan> {
        let planned = self.plan_node(plan)?;
        if let Some(notes) = &self.ctx.notes {
            notes.add(plan, &planned.stream);
        }
        Ok(planned)
    }

    fn plan_node(&self, plan: &Plan) -> Result<PhysicalPlan> {
        for expr in plan.expressions() {
            self.build_sets(expr)?;
        }
        match plan {
            Plan::Scan(node) => {
                let order = self.scan_order(node)?;
                self.scan(node, order)
            }
            Plan::SharedScan(node) => self.shared_scan(node),
            Plan::CommonTable(node) => self.plan(&node.input),
            Plan::Values(node) => Ok(Stream::of(self.values(&node.block, "Values".into())).into()),
            Plan::Filter(node) => {
                let condition = self.program(&[&node.condition], &node.input)?;
                Ok(self.plan(&node.input)?.then(filter::Filter::new(condition)))
            }
            Plan::Project(node) => self.project(node),
            Plan::Aggregate(node) => self.aggregate(node),
            Plan::Sort(node) => self.sort(node),
            Plan::Limit(node) => self.limit(node),
            Plan::LimitBy(node) => {
                let columns = self.program(&node.columns.iter().collect::<Vec<_>>(), &node.input)?;
                let types: Vec<DataType> = node.columns.iter().map(|column| column.ty().clone()).collect();
                let layout = Arc::new(KeyLayout::of_groups(&types));
                if node.from_end.any() {
                    let (limit, offset, from_end) = (node.limit, node.offset, node.from_end);
                    let operator =
                        limit_by_from_end::LimitByFromEnd { columns, layout, limit, offset, from_end };
                    return Ok(self.input(&node.input, true)?.map(|stream| stream.into_sink(operator)));
                }
                let operator = limit_by::LimitBy {
                    columns,
                    layout,
                    limit: node.limit,
                    offset: node.offset,
                    needed: node.needed,
                    has_enough: Arc::default(),
                };
                Ok(self.input(&node.input, true)?.map(|stream| stream.into_sink(operator)))
            }
            Plan::Distinct(node) => self.distinct(node),
            Plan::Union(node) => {
                let inputs: Vec<PhysicalPlan> =
                    node.inputs.iter().map(|input| self.plan(input)).collect::<Result<_>>()?;
                let before_limits = inputs.iter().flat_map(|input| input.before_limits.clone()).collect();
                let streams = inputs.into_iter().map(|input| input.stream).collect();
                Ok(PhysicalPlan { before_limits, ..PhysicalPlan::from(Stream::of(Source::Union(streams))) })
            }
            Plan::SetOp(node) => self.set_op(node),
            Plan::ArrayJoin(node) => {
                let arrays =
                    self.program(&node.columns.iter().map(|c| &c.1).collect::<Vec<_>>(), &node.input)?;
                let elements = node.columns.iter().map(|c| c.0.ty.clone()).collect();
                let unread = unread(&node.input, &node.unread);
                let operator = array_join::ArrayJoin {
                    arrays,
                    elements,
                    left: node.left,
                    unaligned: node.unaligned,
                    unread,
                    control: self.ctx.control.clone(),
                };
                let mut input = self.plan(&node.input)?;
                if let Some(totals) = &mut input.totals {
                    totals.steps.push(TotalsStep::ArrayJoin(operator.clone()));
                }
                Ok(input.then(operator))
            }
            Plan::Join(node) => self.join(node),
            Plan::Window(node) => self.window(node),
            Plan::Fill(node) => self.fill(node),
            Plan::Fetch(node) => self.fetch(node),
            Plan::MergeRows(node) => self.merge_rows(node),
        }
    }

    /// A program over the columns of a node's input.
    pub(crate) fn program(&self, exprs: &[&Expr], input: &Plan) -> Result<Program> {
        Program::new(exprs, &layout(&input.fields()), &self.ctx.functions)
    }

    fn values(&self, block: &Block, name: Arc<str>) -> Source {
        let blocks: Arc<[Block]> = if block.n_rows() == 0 { Arc::new([]) } else { Arc::new([block.clone()]) };
        let n_columns = block.columns().len();
        let open = move |ctx: &ExecContext| -> Result<Arc<dyn Scan>> {
            let columns = (0..n_columns).collect();
            let request = ScanRequest { columns, context: ctx.scan.clone(), ..ScanRequest::default() };
            Ok(Arc::new(chalet_storage::fixed::BlockScan::new(blocks.clone(), &request)))
        };
        Source::Table(Arc::new(open), name)
    }

    fn project(&self, node: &plan::Project) -> Result<PhysicalPlan> {
        let columns = self.program(&node.exprs.iter().map(|e| &e.1).collect::<Vec<_>>(), &node.input)?;
        let mut input = self.plan(&node.input)?;
        if let Some(totals) = &mut input.totals {
            totals.steps.push(TotalsStep::Project(columns.clone()));
        }
        let sorted = input.sorted.take();
        Ok(PhysicalPlan { sorted, ..input.then(project::Project { columns }) })
    }

    fn aggregate(&self, node: &plan::Aggregate) -> Result<PhysicalPlan> {
        if let Some(row) = aggregate_from_statistics::answer(node, self.ctx) {
            return Ok(Stream::of(self.values(&row, "statistics".into())).into());
        }
        let keys = node.keys.iter().map(|k| &k.1);
        let args = node.calls.iter().flat_map(|c| &c.args);
        let inputs = self.program(&keys.chain(args).collect::<Vec<_>>(), &node.input)?;
        let key_types: Vec<DataType> = node.keys.iter().map(|k| k.0.ty.clone()).collect();
        let calls = node.calls.iter().map(|c| aggregate::Call {
            aggregate: c.aggregate.clone(),
            args: c.args.iter().map(|arg| arg.ty().clone()).collect(),
            row_order: c.row_order,
        });
        let calls = calls.collect();
        if node.is_partial {
            let operator = aggregate::PartialAggregate::new(inputs, &key_types, calls, self.ctx);
            return Ok(self.input(&node.input, false)?.into_rows(|stream| stream.then(operator)));
        }
        let slot = Arc::new(OnceLock::new());
        let totals = match &node.totals {
            None => None,
            Some(totals) => {
                let output = layout(&Plan::Aggregate(node.clone()).fields());
                if let Some(having) = &totals.having {
                    self.build_sets(having)?;
                }
                let having = totals.having.as_ref();
                let having = having.map(|h| Program::new(&[h], &output, &self.ctx.functions)).transpose()?;
                Some(aggregate::Totals {
                    having,
                    include_filtered: totals.include_filtered,
                    slot: slot.clone(),
                })
            }
        };
        let has_totals = totals.is_some();
        let sink = aggregate::Aggregate::new(aggregate::Spec {
            inputs,
            key_types,
            calls,
            sets: node.sets.clone(),
            puts_set_number: node.set_number.is_some(),
            empty_if_no_rows: node.empty_if_no_rows,
            limit: node.limit,
            totals,
            purpose: Purpose::Aggregation,
        });
        let input = self.input(&node.input, node.limit.is_some())?.into_rows(|stream| stream.into_sink(sink));
        let totals = has_totals.then(|| TotalsPath { source: TotalsSource::Slot(slot), steps: Vec::new() });
        Ok(PhysicalPlan { totals, ..input })
    }

    fn sort(&self, node: &plan::Sort) -> Result<PhysicalPlan> {
        if let Some(order) = scan_order(node, self.ctx) {
            self.scan_order.replace(Some(order));
            let input = self.input(&node.input, node.limit.is_some())?;
            chalet_base::ensure!(self.scan_order.take().is_none(), LOGICAL_ERROR, "No scan is read in order");
            events::count(Event::ReadInOrder);
            return Ok(match (node.limit, node.offset) {
                (None, 0) => input,
                (limit, offset) => input.map(|stream| {
                    stream.into_sink(limit::Limit {
                        limit: limit.map(|limit| limit.saturating_sub(offset)),
                        offset,
                        ties: None,
                        from_end: plan::FromEnd::default(),
                        parts: plan::RowParts::default(),
                        reads_all: false,
                        collected: Arc::default(),
                    })
                }),
            });
        }
        let keys = self.program(&node.keys.iter().map(|k| &k.expr).collect::<Vec<_>>(), &node.input)?;
        let orders = node.keys.iter().map(|k| k.order.of(k.expr.ty())).collect();
        let limit = if node.with_ties { None } else { node.limit };
        let rows_in = Arc::new(AtomicU64::new(0));
        let top_k_threshold = limit.and_then(|_| self.top_k_threshold(node));
        let unread = unread(&node.input, &node.unread);
        let sink = sort::Sort {
            keys: sort::Keys::Program(keys),
            orders,
            limit,
            offset: node.offset,
            n_group: None,
            top_k_threshold,
            unread,
            needs_keys: false,
            rows_in: rows_in.clone(),
        };
        let input = self.input(&node.input, false)?.map(|stream| stream.into_sink(sink));
        Ok(PhysicalPlan { sorted: Some(rows_in), ..input })
    }

    /// DISTINCT of whole rows is a GROUP BY without aggregates. It puts out nothing before the input has ended: where reading may
    /// stop earlier, and where rows decide that have other columns too, rows pass as they come.
    fn distinct(&self, node: &plan::Distinct) -> Result<PhysicalPlan> {
        let fields = node.input.fields();
        let is_whole = fields.iter().all(|field| node.on.contains(&field.id));
        let has_limit = node.limit.is_some() || self.ctx.settings.max_rows_in_distinct > 0;
        if has_limit || self.may_stop.get() || !is_whole || fields.is_empty() {
            let layout = layout(&fields);
            let on = node.on.iter().filter_map(|id| layout.get(id).copied()).collect();
            return Ok(self.plan(&node.input)?.then(distinct::Distinct::new(on, node.limit, self.ctx)));
        }
        let columns: Vec<Expr> =
            fields.iter().map(|field| Expr::Column(field.id, field.ty.clone())).collect();
        let sink = aggregate::Aggregate::new(aggregate::Spec {
            inputs: self.program(&columns.iter().collect::<Vec<_>>(), &node.input)?,
            key_types: fields.iter().map(|field| field.ty.clone()).collect(),
            calls: Vec::new(),
            sets: Vec::new(),
            puts_set_number: false,
            empty_if_no_rows: true,
            limit: None,
            totals: None,
            purpose: Purpose::Distinct,
        });
        Ok(self.input(&node.input, false)?.map(|stream| stream.into_sink(sink)))
    }

    fn merge_rows(&self, node: &plan::MergeRows) -> Result<PhysicalPlan> {
        let keys = self.program(&node.keys.iter().map(|k| &k.expr).collect::<Vec<_>>(), &node.input)?;
        if let (Plan::Scan(scan), Some(key)) = (&*node.input, self.ranged_key(node)) {
            let orders = node.keys.iter().map(|k| k.order).collect();
            let rule = Some((node.rule.clone(), layout(&node.input.fields())));
            let order = Arc::new(MergeOrder { keys, orders, reversed: false, limit: None, rule });
            node.input.expressions().into_iter().try_for_each(|expr| self.build_sets(expr))?;
            return self.scan(scan, Some(OrderedBy { order, key: Some(key) }));
        }
        let sort = sort::Sort {
            keys: sort::Keys::Program(keys.clone()),
            orders: node.keys.iter().map(|k| k.order).collect(),
            limit: None,
            offset: 0,
            n_group: None,
            top_k_threshold: None,
            unread: Vec::new(),
            needs_keys: false,
            rows_in: Arc::default(),
        };
        let layout = layout(&node.input.fields());
        let sink = merge_rows::MergeRows { sort, keys, rule: node.rule.clone(), layout };
        Ok(self.plan(&node.input)?.into_rows(|stream| stream.into_sink(sink)))
    }

    /// Where the first key of FINAL is, if ranges of it can be read each for itself.
    fn ranged_key(&self, node: &plan::MergeRows) -> Option<usize> {
        let first = node.keys.first().filter(|_| self.ctx.settings.optimize_read_in_order)?;
        let id = first.expr.as_column().filter(|_| !first.order.descending)?;
        layout(&node.input.fields()).get(&id).copied()
    }

    /// The plan of a whole query: a limit on top of it is for who takes its rows, so that they need not be collected.
    fn plan_result(&self, plan: &Plan) -> Result<(PhysicalPlan, Option<RowRange>)> {
        match plan {
            Plan::Limit(node) if node.ties.is_none() && !node.from_end.any() && node.parts.is_empty() => {
                let Some(limit) = node.limit else { return Ok((self.plan(plan)?, None)) };
                let mut input = self.input_of_limit(&node.input)?;
                let rows_in = Arc::new(AtomicU64::new(0));
                let (offset, reads_all) = (node.offset, self.counts_all.get());
                let most = if reads_all { u64::MAX } else { limit.saturating_add(offset) };
                input.count_before_limit(most, rows_in.clone());
                Ok((input, Some(RowRange { limit, offset, reads_all, rows_in })))
            }
            other => Ok((self.plan(other)?, None)),
        }
    }

    fn limit(&self, node: &plan::Limit) -> Result<PhysicalPlan> {
        let ties = match &node.ties {
            Some(keys) => Some(self.program(&keys.iter().map(|k| &k.expr).collect::<Vec<_>>(), &node.input)?),
            None => None,
        };
        let is_plain = ties.is_none() && !node.from_end.any() && node.parts.is_empty();
        if is_plain && node.limit.is_none() && node.offset == 0 {
            // A sort below leaves the first rows out: nobody has to hold the others.
            return self.input_of_limit(&node.input);
        }
        let collected = Arc::new(AtomicU64::new(0));
        let sink = limit::Limit {
            limit: node.limit,
            offset: node.offset,
            ties,
            from_end: node.from_end,
            parts: node.parts,
            reads_all: self.counts_all.get(),
            collected: collected.clone(),
        };
        let mut input = self.input_of_limit(&node.input)?;
        // How many rows a part is, is known at the end only.
        if let Some(limit) = node.limit.or(node.parts.limit.map(|_| 0)) {
            match node.from_end.any() || !node.parts.is_empty() || self.counts_all.get() {
                true => input.count_before_limit(u64::MAX, collected),
                false => input.count_before_limit(limit.saturating_add(node.offset), collected),
            }
        }
        Ok(input.map(|stream| stream.into_sink(sink)))
    }

    fn join(&self, node: &plan::Join) -> Result<PhysicalPlan> {
        let slot = Arc::new(OnceLock::new());
        self.runtime_filters.borrow_mut().add(node, &slot, self.ctx)?;
        let (left, right) = (self.plan(&node.left)?, self.plan(&node.right)?);
        let before_limits = [left.before_limits, right.before_limits].concat();
        let totals = (left.totals.is_some() || right.totals.is_some()).then(|| {
            let types = |fields: &[plan::Field]| fields.iter().map(|field| field.ty.clone()).collect();
            let (of_left, of_right) = node.fields.split_at(node.left.fields().len());
            let sides = [(left.totals, types(of_left)), (right.totals, types(of_right))];
            TotalsPath { source: TotalsSource::Join(Box::new(sides)), steps: Vec::new() }
        });
        let joined = self.joined(node, left.stream, right.stream, slot)?;
        Ok(PhysicalPlan { before_limits, totals, ..PhysicalPlan::from(joined) })
    }

    fn joined(
        &self,
        node: &plan::Join,
        left: Stream,
        right: Stream,
        slot: Arc<OnceLock<join::JoinTable>>,
    ) -> Result<Stream> {
        let left_types: Vec<_> =
            node.fields[..node.left.fields().len()].iter().map(|f| f.ty.clone()).collect();
        let right_types: Vec<_> = node.fields[left_types.len()..].iter().map(|f| f.ty.clone()).collect();
        if node.kind == plan::JoinKind::Paste {
            let slot = Arc::new(OnceLock::new());
            let build = Stage::new(right, Arc::new(join::paste_join::PasteJoinBuild { slot: slot.clone() }));
            let mut left = left;
            left.dependencies.push(Arc::new(build));
            return Ok(left.into_sink(join::paste_join::PasteJoin { slot }));
        }
        let null_safe: Vec<bool> = node.on.iter().map(|k| k.null_safe).collect();
        let bounds = join_bounds(node);
        let right_keys = node.on.iter().map(|k| &k.right).chain(node.asof.iter().map(|a| &a.2));
        let right_keys: Vec<&Expr> = right_keys.chain(bounds.iter().flat_map(|b| &b.right)).collect();
        let left_keys = node.on.iter().map(|k| &k.left).chain(node.asof.iter().map(|a| &a.0));
        let left_keys: Vec<&Expr> = left_keys.chain(bounds.iter().flat_map(|b| &b.left)).collect();
        let spec = join::BuildSpec {
            keys: self.program(&right_keys, &node.right)?,
            key_types: node.on.iter().map(|k| k.right.ty().clone()).collect(),
            null_safe: null_safe.clone(),
            asof_type: node.asof.as_ref().map(|asof| asof.2.ty().bare().clone()),
            range: bounds.as_ref().map(|bounds| bounds.spec.clone()),
            types: node.right.fields().into_iter().map(|f| f.ty).collect(),
            parallel_from: self.ctx.settings.parallel_join_from_rows,
        };
        let residual = node.residual.as_ref().map(|condition| self.residual(condition, node)).transpose()?;
        let is_read: Vec<bool> = node.fields.iter().map(|field| !node.unread.contains(&field.id)).collect();
        events::add(Event::UnreadColumnsLeftOut, node.unread.len() as u64);
        let (left_is_read, right_is_read) = is_read.split_at(left_types.len());
        let probe = join::Probe {
            slot: slot.clone(),
            kind: node.kind,
            strictness: node.strictness,
            any_rule: node.any_rule,
            keys: self.program(&left_keys, &node.left)?,
            null_safe,
            asof: node.asof.as_ref().map(|a| a.1),
            residual,
            right_types,
            max_block_size: self.ctx.settings.max_block_size,
            control: self.ctx.control.clone(),
            build: spec.clone(),
            left_is_read: left_is_read.to_vec(),
            right_is_read: right_is_read.to_vec(),
            left_types,
            threshold: Threshold::new(self.ctx.settings.external_join, self.ctx),
            spilled: Arc::default(),
        };
        let build = Stage::new(
            right,
            Arc::new(join::Build { spec, keeps_unmatched: probe.keeps_unmatched(), slot: slot.clone() }),
        );
        let mut left = left;
        // Before those of the joins below, whose right sides it may filter.
        left.dependencies.insert(0, Arc::new(build));
        if needs_right_rows(node) {
            let is_empty = move || slot.get().is_some_and(|table| table.is_empty());
            left.empty_when.push(Arc::new(is_empty));
        }
        Ok(left.then(probe))
    }

    fn residual(&self, condition: &Expr, node: &plan::Join) -> Result<join::Residual> {
        let read = condition.columns();
        let (left, right) = (node.left.fields(), node.right.fields());
        let positions = |fields: &[plan::Field]| -> Vec<usize> {
            (0..fields.len()).filter(|&at| read.contains(&fields[at].id)).collect()
        };
        let fields: Vec<_> = left.iter().chain(&right).filter(|f| read.contains(&f.id)).cloned().collect();
        let condition = Program::new(&[condition], &layout(&fields), &self.ctx.functions)?;
        Ok(join::Residual { left: positions(&left), right: positions(&right), condition })
    }

    fn window(&self, node: &plan::Window) -> Result<PhysicalPlan> {
        let order = node.order_by.iter().map(|k| &k.expr);
        let args = node.calls.iter().flat_map(|c| &c.args);
        let mut computed: Vec<&Expr> = Vec::new();
        let fields = node.input.fields();
        let columns = layout(&fields);
        let mut inputs = Vec::new();
        for expr in node.partition_by.iter().chain(order).chain(args) {
            let known = expr.as_column().and_then(|id| columns.get(&id).copied());
            inputs.push(known.unwrap_or(fields.len() + computed.len()));
            if known.is_none() {
                computed.push(expr);
            }
        }
        let calls = node.calls.iter().map(|c| window::Call {
            function: c.function.clone(),
            arg_types: c.args.iter().map(|a| a.ty().clone()).collect(),
            constants: c.args.iter().map(|a| a.as_literal().map(|literal| literal.value.value(0))).collect(),
            result: c.field.ty.clone(),
            frame: c.frame.clone(),
        });
        // A byte for NULL each. Equal floats can have different keys: 0 and -0.
        let key_bytes = |expr: &Expr| match expr.ty().physical() {
            Physical::BF16 | Physical::F32 | Physical::F64 => None,
            physical => physical.width().map(|width| width + 1),
        };
        // Of keys of many lengths, those of NULL are shorter.
        let is_fixed = node.order_by.iter().all(|key| key.expr.ty().physical().width().is_some());
        let is_read = |at: &usize| fields.get(*at).is_some_and(|field| !node.unread.contains(&field.id));
        let sink = window::Window {
            computed: self.program(&computed, &node.input)?,
            n_computed: computed.len(),
            inputs,
            unread: (0..fields.len() + computed.len()).filter(|at| !is_read(at)).collect(),
            partition_bytes: node
                .partition_by
                .iter()
                .map(key_bytes)
                .sum::<Option<usize>>()
                .filter(|_| is_fixed),
            n_partition: node.partition_by.len(),
            orders: node.order_by.iter().map(|k| k.order).collect(),
            order_types: node.order_by.iter().map(|k| k.expr.ty().clone()).collect(),
            calls: calls.collect(),
        };
        Ok(self.plan(&node.input)?.into_rows(|stream| stream.into_sink(sink)))
    }

    fn fill(&self, node: &plan::Fill) -> Result<PhysicalPlan> {
        let fields = node.input.fields();
        let layout = layout(&fields);
        let at = |id| layout.get(&id).copied().unwrap_or_default();
        let n_prefix = node.columns.iter().take_while(|c| c.2.is_none()).count();
        let columns = node.columns[n_prefix..].iter().filter_map(|(id, order, spec)| {
            Some(fill::Target { position: at(*id), order: *order, fill: spec.clone()? })
        });
        let mut interpolate = Vec::with_capacity(node.interpolate.len());
        for (id, expr) in &node.interpolate {
            interpolate.push((at(*id), Program::new(&[expr], &layout, &self.ctx.functions)?));
        }
        let sink = fill::Fill {
            types: fields.iter().map(|f| f.ty.clone()).collect(),
            prefix: node.columns[..n_prefix].iter().map(|c| at(c.0)).collect(),
            columns: columns.collect(),
            interpolate,
            zone: self.ctx.functions.time_zone.clone(),
        };
        Ok(self.plan(&node.input)?.map(|stream| stream.into_sink(sink)))
    }

    fn set_op(&self, node: &plan::SetOp) -> Result<PhysicalPlan> {
        let types: Vec<DataType> = node.fields.iter().map(|field| field.ty.clone()).collect();
        let right = Arc::new(set_op::RightRows::new(&types));
        let build =
            Stage::new(self.plan(&node.right)?.stream, Arc::new(set_op::CountRows { rows: right.clone() }));
        let mut left = self.plan(&node.left)?.stream;
        left.dependencies.push(Arc::new(build));
        Ok(left.then(set_op::SetOp::new(node.kind, node.distinct, right, self.ctx)).into())
    }

    /// Builds the sets of all IN of an expression that are not built yet.
    pub(crate) fn build_sets(&self, expr: &Expr) -> Result<()> {
        for set in in_sets::of(expr) {
            if let (false, SetSource::Plan(plan)) = (in_sets::build_constants(&set), &set.source) {
                in_sets::keep(&set, self.rows_of_set(plan)?);
            }
            let most = self.ctx.settings.max_rows_in_set;
            let rows = in_sets::built(&set).map_or(0, RowSet::len);
            chalet_base::ensure!(
                most == 0 || rows as u64 <= most,
                SET_SIZE_LIMIT_EXCEEDED,
                "IN-set size limit exceeded. Limit for rows: {most}, current rows: {rows}"
            );
        }
        Ok(())
    }

    fn rows_of_set(&self, plan: &Plan) -> Result<RowSet> {
        let mut rows = RowSet::default();
        let mut memory = Reservation::new(self.ctx.control.memory.clone());
        for block in crate::result::run_to_blocks(plan, self.ctx)? {
            self.ctx.control.check_with_interrupt()?;
            rows.insert_block(&block);
            memory.resize(rows.memory())?;
        }
        Ok(rows)
    }
}

/// The positions of those columns that nobody reads.
fn unread(input: &Plan, unread: &[ColumnId]) -> Vec<usize> {
    let fields = input.fields();
    let unread: Vec<usize> = (0..fields.len()).filter(|&at| unread.contains(&fields[at].id)).collect();
    events::add(Event::UnreadColumnsLeftOut, unread.len() as u64);
    unread
}
