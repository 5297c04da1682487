//! Which rows belong to which site and day. The table is sorted by site, day, user and time, so this also fixes
//! where everything lies: a cell (one site, one day) can be made without making what is before it.

use crate::random::mix2;

/// Sites in the published table.
const SITES: u64 = 6_506;
/// The site that half of the well-known queries look at, and its share of all rows.
pub const KNOWN_SITE: i32 = 62;
const KNOWN_SHARE: f64 = 0.0074;
/// 2013-07-02 to 2013-07-31.
pub const DAYS: u64 = 30;
/// 2013-07-02 in days since 1970.
pub const FIRST_DAY: i32 = 15_888;

/// All rows of one site on one day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub site: i32,
    /// 0 to DAYS - 1.
    pub day: u16,
    pub first_row: u64,
    pub n_rows: u64,
    /// Rows of the site on all days: a large site has more pages and more users.
    pub site_rows: u64,
}

/// The cells with rows, in the table's order.
pub fn cells(n_rows: u64, seed: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    let shares = site_shares(seed);
    let total: f64 = shares.iter().map(|(_, share)| share).sum();
    let mut before = 0.0;
    for (site, share) in shares {
        // Rounding the running sum, not the share, makes the parts add up.
        let first = (before / total * n_rows as f64).round() as u64;
        before += share;
        let end = (before / total * n_rows as f64).round() as u64;
        for day in 0..DAYS {
            let at = |day: u64| first + (end - first) * day / DAYS;
            let (first_row, end_row) = (at(day), at(day + 1));
            if first_row < end_row {
                let n_rows = end_row - first_row;
                cells.push(Cell { site, day: day as u16, first_row, n_rows, site_rows: end - first });
            }
        }
    }
    cells
}

/// Every site with its share of the rows, by identifier. Large and small ones lie mixed.
fn site_shares(seed: u64) -> Vec<(i32, f64)> {
    let mut by_rank: Vec<u64> = (0..SITES).collect();
    by_rank.sort_unstable_by_key(|site| mix2(seed, *site));
    let mut shares: Vec<(i32, f64)> = Vec::with_capacity(SITES as usize);
    for (rank, site) in by_rank.into_iter().enumerate() {
        // Steep in the head, with a long tail: the largest site has 5 % of the rows.
        shares.push((site_id(site), (rank as f64 + 6.0).powf(-1.3)));
    }
    shares.sort_unstable_by_key(|(id, _)| *id);
    let rest: f64 = shares.iter().filter(|(id, _)| *id != KNOWN_SITE).map(|(_, share)| share).sum();
    for (id, share) in &mut shares {
        if *id == KNOWN_SITE {
            *share = rest * KNOWN_SHARE / (1.0 - KNOWN_SHARE);
        }
    }
    shares
}

/// Identifiers with gaps, in rising order.
fn site_id(site: u64) -> i32 {
    if site == 3 { KNOWN_SITE } else { (site * 20 + mix2(11, site) % 20) as i32 + 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_all_rows_in_order() {
        for n_rows in [1, 1_000, 1_000_000] {
            let cells = cells(n_rows, 1);
            let mut next = 0;
            for cell in &cells {
                assert_eq!(cell.first_row, next);
                next += cell.n_rows;
            }
            assert_eq!(next, n_rows);
            assert!(cells.is_sorted_by_key(|c| (c.site, c.day)));
        }
    }

    #[test]
    fn the_known_site_has_its_share() {
        let rows: u64 = cells(1_000_000, 1).iter().filter(|c| c.site == KNOWN_SITE).map(|c| c.n_rows).sum();
        assert!((7_300..7_500).contains(&rows), "{rows}");
    }
}
