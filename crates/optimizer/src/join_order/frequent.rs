//! Values of keys that are far more frequent than others, as samples show them. Where several relations have many rows of the same
//! value, a join of them has many more rows than evenly spread values would give: of four relations with a thousandth of their rows
//! at one of 150,000 values, thousands of times as many.

use super::graph::{Graph, Member, Set};
use chalet_base::events::{self, Event};
use chalet_base::hash::HashMap;
use chalet_plan::{ColumnId, Plan, SampleSize, ScanNode};

/// Relations of fewer rows are joined in no time.
const MIN_ROWS: f64 = 10_000.0;
/// One of them has so many at least, or no order is much better than another.
const WORTH_ROWS: f64 = 100_000.0;
/// A value is frequent where it has so many times the rows that it would have if all had as many, and so many rows of a sample: that
/// many of a value that is not frequent are hardly ever drawn.
const FREQUENT: f64 = 8.0;
const MIN_SAMPLED: usize = 6;
/// So many of a relation are looked at.
const MOST_VALUES: usize = 64;

/// The frequent values of a class of keys.
#[derive(Default)]
pub(super) struct Frequent {
    /// Values of the keys there are.
    distinct: f64,
    /// The relations of which a sample was taken.
    sampled: Set,
    /// Of each value that is frequent in one of these: relations, and how many times as frequent it is there as others.
    values: Vec<Vec<(usize, f64)>>,
}

impl Frequent {
    /// Asks samples of the large relations of a class, if there are three: of two there is often one whose keys are unique, and a
    /// sample of each takes a third of a millisecond.
    pub fn of(class: &[Member], graph: &Graph) -> Frequent {
        let rows = |member: &Member| graph.relations[member.relation].estimate.base_rows;
        let is_large = |member: &&Member| rows(member) >= MIN_ROWS;
        let large: Vec<&Member> = class.iter().filter(is_large).collect();
        let is_one_type = |member: &&Member| member.expr.ty().bare() == large[0].expr.ty().bare();
        // Which keys are unique is not asked: counts of values that are extrapolated cannot tell.
        if large.len() < 3
            || !large.iter().any(|member| rows(member) >= WORTH_ROWS)
            || !large.iter().all(is_one_type)
        {
            return Frequent::default();
        }
        let distinct = class.iter().map(|member| member.distinct.number()).fold(1.0, f64::max);
        let mut sampled = 0;
        let mut values: HashMap<u64, Vec<(usize, f64)>> = HashMap::default();
        for member in large {
            let column =
                member.expr.as_column().and_then(|id| column_of(&graph.relations[member.relation].plan, id));
            let Some((scan, position)) = column else { continue };
            // An error is told by the scan that reads, if it meets it.
            let Ok(Some(sample)) = scan.table.sample(&[position], SampleSize::Values) else { continue };
            sampled |= 1 << member.relation;
            let frequent =
                sample.frequent(0, MIN_SAMPLED).into_iter().map(|(value, part)| (value, part * distinct));
            for (value, times) in frequent.filter(|(_, times)| *times >= FREQUENT).take(MOST_VALUES) {
                values.entry(value).or_default().push((member.relation, times));
            }
        }
        // Frequent in one relation alone, a value changes nothing.
        let values: Vec<_> = values.into_values().filter(|relations| relations.len() > 1).collect();
        events::add(Event::FrequentKeyValues, values.len() as u64);
        Frequent { distinct, sampled, values }
    }

    /// How many times as many rows the relations of a set have together as they would have if no value were frequent.
    pub fn factor(&self, set: Set) -> f64 {
        if (self.sampled & set).count_ones() < 2 {
            return 1.0;
        }
        let of_value = |relations: &Vec<(usize, f64)>| -> f64 {
            let inside: Vec<f64> = relations
                .iter()
                .filter(|(relation, _)| set >> relation & 1 == 1)
                .map(|(_, times)| *times)
                .collect();
            if inside.len() < 2 { 0.0 } else { inside.iter().product::<f64>() / self.distinct }
        };
        1.0 + self.values.iter().map(of_value).sum::<f64>()
    }
}

/// The column of a table that a column of a plan is, and its position in the table.
fn column_of(plan: &Plan, id: ColumnId) -> Option<(&ScanNode, usize)> {
    match plan {
        Plan::Scan(scan) => {
            let (position, _) = scan.columns.iter().find(|(_, field)| field.id == id)?;
            Some((scan, *position))
        }
        Plan::Filter(node) => column_of(&node.input, id),
        Plan::Project(node) => {
            let (_, expr) = node.exprs.iter().find(|(field, _)| field.id == id)?;
            column_of(&node.input, expr.as_column()?)
        }
        _ => None,
    }
}
