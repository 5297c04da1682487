//! The rows of a part that conditions leave.

use super::definition::SkipCondition;
use crate::merge_tree::part::Part;
use chalet_base::Result;
use chalet_columns::BooleanBuffer;
use chalet_formats::input::intersect;
use std::ops::Range;

/// Rows of a part in which all conditions may hold, ascending and apart; none where no index leaves anything out. `tested` is
/// called with each index that was looked at: its granules, and those of them that are left by it and those before.
pub fn rows_to_read(
    part: &Part,
    conditions: &[SkipCondition],
    tested: &mut dyn FnMut(usize, usize, usize),
) -> Result<Option<Vec<Range<usize>>>> {
    let n_rows = part.info.rows as usize;
    let mut rows: Option<Vec<Range<usize>>> = None;
    for (at, condition) in conditions.iter().enumerate() {
        let Some((granules, granule_rows)) = part.granules(condition) else { continue };
        let may_match = (condition.may_match)(&granules)?;
        if may_match.len() != n_rows.div_ceil(granule_rows) {
            continue;
        }
        tested(at, may_match.len(), may_match.count_set_bits());
        if may_match.count_set_bits() < may_match.len() {
            let left = ranges(&may_match, granule_rows, n_rows);
            rows = Some(match rows {
                None => left,
                Some(before) => intersect(&before, &left),
            });
        }
    }
    Ok(rows)
}

fn ranges(granules: &BooleanBuffer, granule_rows: usize, n_rows: usize) -> Vec<Range<usize>> {
    let row = |granule: usize| granule.saturating_mul(granule_rows).min(n_rows);
    granules.set_slices().map(|(start, end)| row(start)..row(end)).collect()
}
