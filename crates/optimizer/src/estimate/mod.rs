//! Estimates of what a plan puts out: how many rows, and of each column how many different values in which bounds. For the
//! choice between plans with equal answers, never for an answer.
//!
//! - [`selectivity`]: which part of the rows meets a condition

mod selectivity;

use chalet_base::hash::{HashMap, HashSet};
use chalet_function_api::Comparison;
use chalet_plan::{
    Aggregate, ColumnId, Expr, Field, Join, JoinKind, JoinStrictness, Plan, ScanNode, SetOpKind,
};
use chalet_types::{DataType, Value};

/// Rows of a source that nobody knows.
const UNKNOWN_ROWS: f64 = 1000.0;
/// Elements of an array, on average.
const ELEMENTS: f64 = 4.0;

/// Of the rows of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    pub rows: f64,
    /// Before conditions: what is known of the columns is known of these rows.
    pub base_rows: f64,
    columns: HashMap<ColumnId, ColumnEstimate>,
    /// Those of which conditions leave one value.
    fixed: HashSet<ColumnId>,
}

/// Of the values of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnEstimate {
    pub distinct: Distinct,
    /// Least and greatest value, of numbers and of what is counted as numbers (days, ticks).
    pub bounds: Option<(f64, f64)>,
    pub null_fraction: f64,
}

/// How many different values there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distinct {
    Counted(f64),
    /// No more than this.
    AtMost(f64),
}

impl Distinct {
    pub fn number(self) -> f64 {
        match self {
            Distinct::Counted(n) | Distinct::AtMost(n) => n.max(1.0),
        }
    }

    fn within(self, rows: f64) -> Distinct {
        let rows = rows.max(1.0);
        match self {
            Distinct::Counted(n) => Distinct::Counted(n.min(rows)),
            Distinct::AtMost(n) => Distinct::AtMost(n.min(rows)),
        }
    }

    /// Of rows of several columns, of which there are `rows`.
    pub fn together(parts: impl IntoIterator<Item = Distinct>, rows: f64) -> Distinct {
        let (mut product, mut counted) = (1.0, true);
        for part in parts {
            product *= part.number();
            counted &= matches!(part, Distinct::Counted(_));
        }
        if counted && product <= rows {
            Distinct::Counted(product)
        } else {
            Distinct::AtMost(product.min(rows))
        }
    }
}

impl Estimate {
    /// Of an expression over the columns.
    pub fn of(&self, expr: &Expr) -> ColumnEstimate {
        if let Some(known) = expr.as_column().and_then(|id| self.columns.get(&id)) {
            return *known;
        }
        let columns = expr.columns();
        let parts =
            columns.iter().map(|id| self.columns.get(id).map_or(self.unknown().distinct, |c| c.distinct));
        let distinct = Distinct::together(parts, self.base_rows).number();
        ColumnEstimate { distinct: Distinct::AtMost(distinct), bounds: None, null_fraction: 0.0 }
    }

    /// Of rows of whose columns nothing is known.
    fn of_rows<'a>(rows: f64, fields: impl IntoIterator<Item = &'a Field>) -> Estimate {
        let mut all = Estimate { rows, base_rows: rows, ..Estimate::default() };
        all.columns = fields.into_iter().map(|f| (f.id, all.unknown())).collect();
        all
    }

    /// Of all pairs of rows.
    pub fn combined<'a>(parts: impl IntoIterator<Item = &'a Estimate>) -> Estimate {
        let mut all = Estimate { rows: 1.0, base_rows: 1.0, ..Estimate::default() };
        for part in parts {
            all.rows *= part.rows;
            all.base_rows *= part.base_rows;
            all.columns.extend(part.columns.iter().map(|(id, column)| (*id, *column)));
            all.fixed.extend(&part.fixed);
        }
        all
    }

    /// Which part of the rows meets a condition.
    pub fn selectivity(&self, condition: &Expr) -> f64 {
        selectivity::of(condition, self)
    }

    /// Is a condition a comparison of a column whose bounds are known with a constant?
    pub fn has_bounds_of(&self, condition: &Expr) -> bool {
        selectivity::column_range(condition, self).is_some()
    }

    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    fn unknown(&self) -> ColumnEstimate {
        ColumnEstimate {
            distinct: Distinct::AtMost(self.base_rows.max(1.0)),
            bounds: None,
            null_fraction: 0.0,
        }
    }

    /// Of other rows with these columns.
    fn with_rows(mut self, rows: f64) -> Estimate {
        self.rows = rows.max(0.0);
        self.base_rows = self.rows;
        self
    }

    /// The columns under other names, or computed.
    fn renamed<'a>(&self, fields: impl IntoIterator<Item = (&'a Field, Expr)>) -> Estimate {
        let mut renamed = Estimate { rows: self.rows, base_rows: self.base_rows, ..Estimate::default() };
        for (field, source) in fields {
            renamed.columns.insert(field.id, self.of(&source));
            if self.is_fixed(&source) {
                renamed.fixed.insert(field.id);
            }
        }
        renamed
    }

    /// Do conditions leave one value of an expression?
    fn is_fixed(&self, expr: &Expr) -> bool {
        expr.columns().iter().all(|id| self.fixed.contains(id))
    }
}

/// Rows that a plan is expected to put out.
pub fn estimated_rows(plan: &Plan) -> f64 {
    estimate(plan).rows
}

/// Of the output of a plan.
pub(crate) fn estimate(plan: &Plan) -> Estimate {
    match plan {
        Plan::Scan(node) => scan(node),
        Plan::Values(node) => Estimate::of_rows(node.block.n_rows() as f64, &node.fields),
        Plan::SharedScan(node) => {
            let fields = node.source.plan.fields();
            let named = node
                .columns
                .iter()
                .map(|(at, field)| (field, Expr::Column(fields[*at].id, fields[*at].ty.clone())));
            estimate(&node.source.plan).renamed(named)
        }
        Plan::Filter(node) => filtered(estimate(&node.input), &node.condition),
        Plan::Project(node) => {
            let input = estimate(&node.input);
            input.renamed(node.exprs.iter().map(|(field, expr)| (field, expr.clone())))
        }
        Plan::Aggregate(node) => aggregate(node),
        Plan::Limit(node) => {
            let input = estimate(&node.input);
            let rows = node.limit.map_or(input.rows, |limit| input.rows.min(limit as f64));
            input.with_rows(rows)
        }
        Plan::LimitBy(node) => {
            let input = estimate(&node.input);
            let groups = groups(&input, &node.columns.iter().collect::<Vec<_>>());
            let rows = input.rows.min(groups * node.limit as f64);
            input.with_rows(rows)
        }
        Plan::Distinct(node) => {
            let input = estimate(&node.input);
            let parts =
                node.on.iter().map(|id| input.columns.get(id).map_or(input.unknown(), |c| *c).distinct);
            let rows = Distinct::together(parts, input.rows).number();
            input.with_rows(rows)
        }
        Plan::Union(node) => {
            let rows = node.inputs.iter().map(|input| estimate(input).rows).sum();
            Estimate::of_rows(rows, &node.fields)
        }
        Plan::SetOp(node) => {
            let (left, right) = (estimate(&node.left), estimate(&node.right));
            let sources = node.left.fields();
            let named = node.fields.iter().zip(sources.into_iter().map(|f| Expr::Column(f.id, f.ty)));
            let rows = match node.kind {
                SetOpKind::Intersect => left.rows.min(right.rows),
                SetOpKind::Except => left.rows,
            };
            left.renamed(named).with_rows(rows)
        }
        Plan::Join(node) => join(node),
        Plan::ArrayJoin(node) => {
            let input = estimate(&node.input);
            let rows = input.rows * ELEMENTS;
            input.with_rows(rows)
        }
        Plan::Sort(_)
        | Plan::Fill(_)
        | Plan::Window(_)
        | Plan::Fetch(_)
        | Plan::MergeRows(_)
        | Plan::CommonTable(_) => plan.inputs().first().map(|input| estimate(input)).unwrap_or_default(),
    }
}

fn filtered(input: Estimate, condition: &Expr) -> Estimate {
    let part = input.selectivity(condition);
    filtered_to(input, condition, part)
}

/// The rows that meet a condition, which are this part of all.
fn filtered_to(input: Estimate, condition: &Expr, part: f64) -> Estimate {
    let rows = input.rows * part;
    let mut conjuncts = Vec::new();
    condition.clone().conjuncts(&mut conjuncts);
    let fixed: Vec<ColumnId> = conjuncts.iter().filter_map(fixed_by).collect();
    let mut output = Estimate { rows, ..input };
    output.fixed.extend(fixed);
    output
}

/// The column of which a condition leaves one value.
fn fixed_by(condition: &Expr) -> Option<ColumnId> {
    let Expr::Call { function, args } = condition else { return None };
    if function.function.record().comparison != Comparison::Equal {
        return None;
    }
    match &args[..] {
        [column, literal] if literal.is_literal() => column.as_column(),
        [literal, column] if literal.is_literal() => column.as_column(),
        _ => None,
    }
}

/// Of the rows of a table.
pub(crate) fn scan(node: &ScanNode) -> Estimate {
    let positions: Vec<usize> = node.columns.iter().map(|c| c.0).collect();
    let known = node.table.statistics(&positions);
    let rows = known.as_ref().map_or(UNKNOWN_ROWS, |known| known.rows);
    let mut all = Estimate::of_rows(rows, []);
    for (at, (_, field)) in node.columns.iter().enumerate() {
        let mut column = all.unknown();
        if let Some(known) = known.as_ref().and_then(|known| known.columns.get(at)) {
            column.null_fraction = known.null_fraction.unwrap_or(0.0);
            let bounds = known.bounds.as_ref();
            column.bounds =
                bounds.and_then(|(min, max)| Some((number(min, &field.ty)?, number(max, &field.ty)?)));
            column.distinct = match (known.distinct, column.bounds) {
                (Some(n), _) => Distinct::Counted(n),
                (None, Some((min, max))) if !field.ty.bare().is_float() => Distinct::AtMost(max - min + 1.0),
                _ => column.distinct,
            };
            column.distinct = column.distinct.within(rows * (1.0 - column.null_fraction));
        }
        all.columns.insert(field.id, column);
    }
    if let Some(filter) = &node.filter {
        all = match node.selectivity {
            Some(part) => filtered_to(all, filter, part),
            None => filtered(all, filter),
        };
    }
    match node.limit {
        Some(limit) => {
            let rows = all.rows.min(limit as f64);
            all.with_rows(rows)
        }
        None => all,
    }
}

/// The number that stands for a value in bounds.
pub(crate) fn number(value: &Value, ty: &DataType) -> Option<f64> {
    let number = value.as_f64()?;
    Some(match ty.bare() {
        DataType::Decimal { scale, .. } | DataType::DateTime64(scale, _) => {
            number / 10f64.powi(i32::from(*scale))
        }
        _ => number,
    })
}

/// Rows of a grouping by these keys.
pub(crate) fn groups(input: &Estimate, keys: &[&Expr]) -> f64 {
    let keys = keys.iter().filter(|key| !input.is_fixed(key));
    Distinct::together(keys.map(|key| input.of(key).distinct), input.rows).number().min(input.rows.max(1.0))
}

fn aggregate(node: &Aggregate) -> Estimate {
    let input = estimate(&node.input);
    let rows = match node.keys.is_empty() {
        true => 1.0,
        false => groups(&input, &node.keys.iter().map(|key| &key.1).collect::<Vec<_>>()),
    };
    let rows = rows * node.sets.len().max(1) as f64;
    let mut all = input.renamed(node.keys.iter().map(|(field, key)| (field, key.clone()))).with_rows(rows);
    let others = node.calls.iter().map(|call| call.field.id).chain(node.set_number.iter().map(|f| f.id));
    let unknown = all.unknown();
    all.columns.extend(others.map(|id| (id, unknown)));
    all
}

fn join(node: &Join) -> Estimate {
    let (left, right) = (estimate(&node.left), estimate(&node.right));
    let mut both = Estimate::combined([&left, &right]);
    let of_keys = |side: &Estimate, key: fn(&chalet_plan::JoinKey) -> &Expr| {
        Distinct::together(node.on.iter().map(|k| side.of(key(k)).distinct), side.base_rows)
    };
    if !node.on.is_empty() {
        let (a, b) = (of_keys(&left, |k| &k.left), of_keys(&right, |k| &k.right));
        both.rows *= match_probability(a, b);
    }
    if let Some(residual) = &node.residual {
        both = filtered(both, residual);
    }
    let matched = both.rows;
    // Rows of a side that have a partner.
    let with_partner = |side: &Estimate| side.rows.min(matched);
    let rows = match (node.strictness, node.kind) {
        (_, JoinKind::Paste) => left.rows.min(right.rows),
        (JoinStrictness::Semi, JoinKind::Right) => with_partner(&right),
        (JoinStrictness::Semi, _) => with_partner(&left),
        (JoinStrictness::Anti, JoinKind::Right) => (right.rows - with_partner(&right)).max(right.rows * 0.1),
        (JoinStrictness::Anti, _) => (left.rows - with_partner(&left)).max(left.rows * 0.1),
        (JoinStrictness::All, JoinKind::Inner | JoinKind::Cross) => matched,
        (JoinStrictness::All, JoinKind::Left) | (_, JoinKind::Left) => matched.max(left.rows),
        (JoinStrictness::All, JoinKind::Right) | (_, JoinKind::Right) => matched.max(right.rows),
        (_, JoinKind::Full) => matched.max(left.rows).max(right.rows),
        (_, JoinKind::Inner | JoinKind::Cross) => matched.min(left.rows),
    };
    let sources = node.left.fields().into_iter().chain(node.right.fields());
    let named = node.fields.iter().zip(sources.map(|f| Expr::Column(f.id, f.ty)));
    both.renamed(named).with_rows(rows)
}

/// Which part of all pairs of rows is equal in keys of so many different values each. The values of the side that has
/// fewer are taken to be among those of the other.
pub(crate) fn match_probability(a: Distinct, b: Distinct) -> f64 {
    let (m, n) = (a.number(), b.number());
    match (a, b) {
        // A key of rows, all of them different, and what refers to it: the rows of the one are all that there are.
        (Distinct::AtMost(_), Distinct::AtMost(_)) => 1.0 / m.min(n),
        _ => 1.0 / m.max(n),
    }
}
