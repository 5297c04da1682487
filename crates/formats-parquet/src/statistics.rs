//! What a footer and the heads of dictionary pages say of the rows, for the order of joins.

use crate::ParquetFile;
use crate::schema::Node;
use crate::thrift::{PageKind, page_header};
use chalet_formats::statistics::{ColumnStatistics, extrapolate_distinct};
use chalet_types::Value;

/// Dictionaries of no more row groups than this are looked at.
const MAX_GROUPS: usize = 8;

impl ParquetFile {
    /// Bounds and number of NULLs from the footer; the number of different values from the dictionaries of some row
    /// groups, where the column has dictionaries.
    pub fn column_statistics(&self, column: usize) -> ColumnStatistics {
        let groups = 0..self.n_row_groups();
        let all_rows = self.n_rows() as f64;
        let mut bounds: Option<(Value, Value)> = None;
        // Widths of the groups' ranges, together.
        let mut covered = Some(0.0);
        let mut nulls = Some(0);
        for group in groups.clone() {
            let of_group = self.null_count(group, column);
            nulls = nulls.zip(of_group).map(|(sum, n)| sum + n);
            if of_group == Some(self.row_group_rows(group) as u64) {
                continue;
            }
            let Some(found) = self.bounds(group, column) else {
                (bounds, covered, nulls) = (None, None, None);
                break;
            };
            covered = covered.zip(width(&found.min, &found.max)).map(|(sum, width)| sum + width);
            bounds = Some(match bounds {
                None => (found.min, found.max),
                Some((min, max)) => (
                    if found.min.compare(&min).is_lt() { found.min } else { min },
                    if found.max.compare(&max).is_gt() { found.max } else { max },
                ),
            });
        }
        let whole = bounds.as_ref().and_then(|(min, max)| width(min, max));
        // Row groups whose ranges hardly overlap have values of their own.
        let is_clustered = groups.len() > 1 && covered.zip(whole).is_some_and(|(sum, all)| sum < 1.5 * all);
        let step = groups.len().div_ceil(MAX_GROUPS).max(1);
        let (mut counted, mut rows, mut sampled) = (Some(0.0), 0.0, 0.0);
        for group in groups.clone().step_by(step) {
            let found = self.dictionary_len(group, column);
            counted = counted.zip(found).map(|(sum, n): (f64, usize)| sum + n as f64);
            rows += self.row_group_rows(group) as f64;
            sampled += 1.0;
        }
        let distinct = counted.filter(|_| sampled > 0.0).map(|counted| match is_clustered {
            true => counted * all_rows / rows,
            false => extrapolate_distinct(counted / sampled, rows / sampled, all_rows),
        });
        let null_fraction = nulls.filter(|_| all_rows > 0.0).map(|nulls| nulls as f64 / all_rows);
        ColumnStatistics { bounds, null_fraction, distinct: distinct.filter(|&n| n >= 1.0) }
    }

    /// Values of the dictionary of a column chunk, if it has one and its pages are not mostly something else.
    fn dictionary_len(&self, group: usize, column: usize) -> Option<usize> {
        let Node::Leaf(leaf) = &self.column(column).ok()?.node else { return None };
        if leaf.max_repetition > 0 {
            return None;
        }
        let chunk = self.chunk(group, leaf.index);
        let at = chunk.dictionary_page_offset().filter(|&at| at > 0 && at < chunk.data_page_offset())?;
        let range = self.range(at, chunk.data_page_offset() - at)?;
        self.verify(range.clone()).ok()?;
        let bytes = &self.bytes()[range];
        let (header, _) = page_header(bytes).ok()?;
        (header.kind == PageKind::Dictionary && header.n_values > 0).then_some(header.n_values)
    }
}

/// Between two numbers.
fn width(min: &Value, max: &Value) -> Option<f64> {
    Some(max.as_f64()? - min.as_f64()?)
}
