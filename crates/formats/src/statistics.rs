//! What is known, or guessed, of the rows of a table before they are read: for the order of joins, never for answers.

use chalet_types::Value;

/// Of a table or a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableStatistics {
    pub rows: f64,
    /// One for each column that was asked about.
    pub columns: Vec<ColumnStatistics>,
}

/// Of one column. What nobody knows is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// Bounds of the values that are not NULL.
    pub bounds: Option<(Value, Value)>,
    /// NULLs, of all rows: between 0 and 1.
    pub null_fraction: Option<f64>,
    /// Different values, without NULL.
    pub distinct: Option<f64>,
}

impl TableStatistics {
    /// Of a number of rows of whose columns nothing is known.
    pub fn of_rows(rows: f64, n_columns: usize) -> TableStatistics {
        TableStatistics { rows, columns: vec![ColumnStatistics::default(); n_columns] }
    }
}

/// How many different values all rows have, by a part of the rows that has `distinct` among `rows` of them: as if each
/// row had a value of a domain at random.
pub fn extrapolate_distinct(distinct: f64, rows: f64, all_rows: f64) -> f64 {
    if distinct < 1.0 || rows < 1.0 || all_rows <= rows {
        return distinct;
    }
    let expected = |domain: f64, rows: f64| domain * -(-rows / domain).exp_m1();
    // Nearly all are different: each further row may bring another value.
    if distinct > 0.98 * rows {
        return distinct / rows * all_rows;
    }
    let (mut low, mut high) = (distinct, distinct.max(2.0) * rows);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if expected(middle, rows) < distinct { low = middle } else { high = middle }
    }
    expected(low, all_rows).clamp(distinct, all_rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_that_a_part_has_seen_is_all() {
        assert!((extrapolate_distinct(7.0, 10_000.0, 1e6) - 7.0).abs() < 0.1);
        assert!((extrapolate_distinct(1000.0, 1000.0, 1e6) - 1e6).abs() < 1.0);
        let half = extrapolate_distinct(632.0, 1000.0, 1e6);
        assert!((950.0..1050.0).contains(&half), "{half}");
    }
}
