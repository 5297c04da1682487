//! Which projections a plan reads: those that leave less to be read than the rows of the table.

use super::groups::GroupBy;
use super::program::{Contents, ProjectionProgram, programs};
use crate::query_context::QueryContext;
use chalet_base::events::{self, Event};
use chalet_base::{Result, bail};
use chalet_exec::expression::layout;
use chalet_exec::ranges::ranges;
use chalet_plan::{Aggregate, Expr, Plan, ScanNode};
use chalet_storage::merge_tree::part::Part;
use chalet_storage::merge_tree::{MergeTree, PartSet};
use chalet_storage::{ColumnRange, ScanRequest, Table};
use std::sync::Arc;

/// The projections of one statement.
pub(crate) struct Choice<'a> {
    ctx: &'a QueryContext,
    is_forced: bool,
    /// `preferred_optimize_projection_name`, and `force_optimize_projection_name`.
    preferred: Option<String>,
    forced: Option<String>,
    used: Vec<Arc<str>>,
    /// Was a table read that could have projections, and one that has some?
    reads_parts: bool,
    has_candidates: bool,
    /// Why a projection was not used.
    reason: Option<String>,
}

impl<'a> Choice<'a> {
    /// What the settings say; `None` where no projections are used.
    pub fn of(ctx: &'a QueryContext) -> Option<Choice<'a>> {
        let settings = &ctx.state.settings;
        let is_off = |name| settings.flag(name) == Some(false);
        if is_off("optimize_use_projections") || is_off("query_plan_optimize_projection") {
            return None;
        }
        let name = |setting| settings.get(setting).filter(|name| !name.is_empty());
        Some(Choice {
            ctx,
            is_forced: settings.flag("force_optimize_projection") == Some(true),
            preferred: name("preferred_optimize_projection_name"),
            forced: name("force_optimize_projection_name"),
            used: Vec::new(),
            reads_parts: false,
            has_candidates: false,
            reason: None,
        })
    }

    /// Puts aggregating projections in the place of tables. Before the optimizer, which takes aggregates apart.
    pub fn of_groups(&mut self, plan: &mut Plan) -> Result<()> {
        self.below(plan, &[], &mut |choice, plan, _| {
            let Plan::Aggregate(node) = plan else { return Ok(()) };
            if let Some(replaced) = choice.groups(node)? {
                *plan = replaced;
            }
            Ok(())
        })
    }

    /// The same for those in another order: behind the optimizer, when scans have their conditions. Fails where one was asked
    /// for and none is used.
    pub fn of_rows(mut self, plan: &mut Plan) -> Result<()> {
        self.below(plan, &[], &mut |choice, plan, fetched| match plan {
            Plan::Scan(node) => choice.rows(node, fetched),
            _ => Ok(()),
        })?;
        if self.is_forced && self.reads_parts && self.used.is_empty() {
            let reason = match self.reason {
                None if !self.has_candidates => ": no projection was considered".into(),
                reason => reason.map_or(String::new(), |reason| format!(": {reason}")),
            };
            bail!(
                PROJECTION_NOT_USED,
                "No projection is used when optimize_use_projections = 1 and force_optimize_projection = 1{reason}"
            );
        }
        match self.forced {
            Some(name) if self.used.iter().all(|used| **used != *name) => bail!(
                INCORRECT_DATA,
                "Projection {name} is specified in setting force_optimize_projection_name but not used"
            ),
            _ => Ok(()),
        }
    }

    /// Calls `f` with each node, and with the columns of the table below that are read later.
    fn below(
        &mut self,
        plan: &mut Plan,
        fetched: &[usize],
        f: &mut dyn FnMut(&mut Self, &mut Plan, &[usize]) -> Result<()>,
    ) -> Result<()> {
        f(self, plan, fetched)?;
        match plan {
            // FINAL merges the rows of the table.
            Plan::MergeRows(_) => Ok(()),
            Plan::Fetch(node) => {
                let all: Vec<usize> =
                    fetched.iter().copied().chain(node.columns.iter().map(|c| c.0)).collect();
                self.below(&mut node.input, &all, f)
            }
            other => other.inputs_mut().into_iter().try_for_each(|input| self.below(input, fetched, f)),
        }
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.is_forced
            || [&self.preferred, &self.forced].into_iter().any(|wanted| wanted.as_deref() == Some(name))
    }

    fn note(&mut self, program: &ProjectionProgram) {
        self.used.push(program.stored.name.clone());
        events::count(Event::ProjectionScans);
    }

    /// The projections of a table.
    fn candidates(&mut self, table: &dyn Table) -> Result<Option<(MergeTree, Arc<[ProjectionProgram]>)>> {
        let Some(table) = table.as_any().downcast_ref::<MergeTree>() else { return Ok(None) };
        if table.total_rows() == Some(0) {
            return Ok(None);
        }
        self.reads_parts = true;
        if table.schema().projections.is_empty() {
            return Ok(None);
        }
        self.has_candidates = true;
        Ok(Some((table.clone(), programs(table, self.ctx)?)))
    }

    /// A projection that answers a GROUP BY.
    fn groups(&mut self, node: &Aggregate) -> Result<Option<Plan>> {
        let Some(by) = GroupBy::of(node) else { return Ok(None) };
        let found = self.candidates(&*by.scan.table)?;
        if by.is_known() {
            self.used.push("_minmax_count_projection".into());
            return Ok(found.map(|_| Plan::Aggregate(node.clone())));
        }
        if by.is_exact(self.ctx)? {
            self.used.push("_minmax_count_projection".into());
        }
        let Some((table, programs)) = found else { return Ok(None) };
        let parts = &table.parts().snapshot()?.parts;
        let mut least = self.selected(&table, parts.clone(), by.scan, by.conditions())?.iter().sum();
        let mut best = None;
        for program in programs.iter() {
            let Contents::Groups(groups) = &program.contents else { continue };
            let Some(found) = by.matched(program, groups, &table.schema(), self.ctx) else { continue };
            let key = program.stored.key();
            if !parts.iter().any(|part| part.has_projection(key)) {
                continue;
            }
            let (mut own, mut rest) = (Vec::new(), Vec::new());
            for part in parts {
                match part.projection(&program.stored) {
                    Some(rows) => own.push(rows),
                    None => rest.push(part.clone()),
                }
            }
            let rows: u64 = own.iter().chain(&rest).map(|part| part.info.rows).sum();
            if rows < least || self.is_wanted(&program.stored.name) {
                least = if self.is_wanted(&program.stored.name) { 0 } else { rows };
                best = Some((program, groups, found, own, rest));
            }
        }
        let Some((program, groups, found, own, rest)) = best else { return Ok(None) };
        self.note(program);
        if own.is_empty() {
            // All of its groups are made of few rows.
            return Ok(Some(Plan::Aggregate(node.clone())));
        }
        let scan = found.scan(&by, program, groups, own, self.ctx)?;
        found.plan(&by, groups, scan, rest, self.ctx).map(Some)
    }

    /// A projection whose order suits the condition of a scan.
    fn rows(&mut self, node: &mut ScanNode, fetched: &[usize]) -> Result<()> {
        let Some((table, programs)) = self.candidates(&*node.table)? else { return Ok(()) };
        let schema = table.schema();
        let needed: Vec<usize> = node.columns.iter().map(|c| c.0).chain(fetched.iter().copied()).collect();
        let version = &table.definition().columns.columns;
        let parts = &table.parts().snapshot()?.parts;
        let of_table = self.selected(&table, parts.clone(), node, node.filter.iter())?;
        let mut least = of_table.iter().sum();
        let mut best = None;
        for program in programs.iter() {
            if !matches!(program.contents, Contents::Rows) {
                continue;
            }
            let name = program.stored.name.clone();
            let has = |&at: &usize| {
                let column = &schema.columns[at];
                let known = version.iter().find(|known| !column.is_virtual && known.name == column.name);
                known.is_some_and(|known| {
                    let mut own = program.stored.definition.columns.columns.iter();
                    own.any(|own| own.id == known.id && own.ty == known.ty)
                })
            };
            if !needed.iter().all(has) {
                self.reason = Some(format!(
                    "projection {name} is rejected because the projection does not contain all columns required by the query"
                ));
                continue;
            }
            if node.filter.is_none() && !self.is_wanted(&name) {
                continue;
            }
            if let Some(own) = &program.condition {
                let mut conditions = Vec::new();
                node.filter.iter().for_each(|filter| filter.clone().conjuncts(&mut conditions));
                if own.rest_of(conditions, node, &schema).is_none() {
                    continue;
                }
            }
            let key = program.stored.key();
            if !parts.iter().any(|part| part.has_projection(key)) {
                continue;
            }
            let (chosen, rows) = self.cheaper(&table, parts, &of_table, program, node)?;
            if rows < least || self.is_wanted(&name) {
                least = if self.is_wanted(&name) { 0 } else { rows };
                best = Some((program, chosen));
            }
        }
        if let Some((program, chosen)) = best {
            self.note(program);
            node.name = format!("{} ({})", node.name, program.stored.name).into();
            node.table = Arc::new(PartSet { table, parts: chosen });
        }
        Ok(())
    }

    /// Of each part its own rows or those of the projection, whichever are fewer, and how many those are.
    fn cheaper(
        &self,
        table: &MergeTree,
        parts: &[Arc<Part>],
        of_table: &[u64],
        program: &ProjectionProgram,
        node: &ScanNode,
    ) -> Result<(Vec<Arc<Part>>, u64)> {
        let own: Vec<Option<Arc<Part>>> = parts.iter().map(|part| part.projection(&program.stored)).collect();
        let found: Vec<Arc<Part>> = own.iter().flatten().cloned().collect();
        let mut selected = self.selected(table, found, node, node.filter.iter())?.into_iter();
        let is_wanted = self.is_wanted(&program.stored.name);
        let mut total = 0;
        let chosen = parts.iter().zip(of_table).zip(own).map(|((part, &rows), own)| {
            let of_own = own.as_ref().and_then(|_| selected.next());
            match (own, of_own) {
                (Some(own), Some(fewer)) if fewer < rows || is_wanted => {
                    total += fewer;
                    own
                }
                _ => {
                    total += rows;
                    part.clone()
                }
            }
        });
        let chosen = chosen.collect();
        Ok((chosen, total))
    }

    /// How many rows of parts conditions on a scan leave, by what is known without reading them.
    fn selected<'e>(
        &self,
        table: &MergeTree,
        parts: Vec<Arc<Part>>,
        node: &ScanNode,
        conditions: impl Iterator<Item = &'e Expr>,
    ) -> Result<Vec<u64>> {
        let layout = layout(&Plan::Scan(node.clone()).fields());
        let ranges: Vec<ColumnRange> = conditions.flat_map(|condition| ranges(condition, &layout)).collect();
        if ranges.is_empty() {
            return Ok(parts.iter().map(|part| part.info.rows).collect());
        }
        let columns = node.columns.iter().map(|c| c.0).collect();
        table.selected_rows(parts, &ScanRequest { columns, ranges, ..ScanRequest::default() })
    }
}
