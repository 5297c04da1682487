//! Join: the right side is built into a hash table, the left side streams past it.
//!
//! - [`table`]: the right side and the index of its keys; the sink that builds it
//! - [`index`]: from keys to rows
//! - [`dense`]: of integers that lie close together
//! - [`bloom`]: filters of keys of any other kind
//! - [`pairs`]: left rows with all of their partners
//! - [`narrow_copies`]: the right side in fewer bytes
//! - [`asof`]: the nearest row of ASOF joins
//! - [`range_index`]: the rows that meet inequalities
//! - [`values`]: values that are compared often
//! - [`probe`]: the operator that finds partners of left rows
//! - [`runtime_filter`]: what is known of the rows of the left side once the right one is built
//! - [`partitioned`]: the join of sides that are on disk
//! - [`paste_join`]: PASTE JOIN, row by row

mod asof;
mod bloom;
mod dense;
mod index;
mod narrow_copies;
mod pairs;
mod partitioned;
pub mod paste_join;
pub mod probe;
pub mod range_index;
pub mod runtime_filter;
pub mod table;
mod values;

pub use probe::{Probe, Residual};
pub use table::{Build, BuildSpec, JoinTable};

use chalet_columns::{Column, Vector};
use chalet_types::DataType;

/// In place of a row number: there is no partner.
pub const NO_ROW: u32 = u32::MAX;

/// A column in place of one that nobody reads.
fn not_made(ty: &DataType, n_rows: usize) -> Column {
    Column::constant(Vector::fillers(ty, 1), n_rows)
}

/// What `gather` makes of row numbers, defaults of the given types where there is no row.
fn defaults_between(
    rows: &[u32],
    types: &[&DataType],
    gather: impl FnOnce(&[u32]) -> Vec<Column>,
) -> Vec<Column> {
    if !rows.contains(&NO_ROW) {
        return gather(rows);
    }
    if rows.iter().all(|&r| r == NO_ROW) {
        return types.iter().map(|ty| not_made(ty, rows.len())).collect();
    }
    // The rows that there are, one behind the other, and a default behind them: all of the block is not touched.
    let found: Vec<u32> = rows.iter().copied().filter(|&row| row != NO_ROW).collect();
    let default = found.len() as u32;
    let mut next = 0;
    let places = rows.iter().map(|&row| match row {
        NO_ROW => default,
        _ => {
            next += 1;
            next - 1
        }
    });
    let places: Vec<u32> = places.collect();
    let columns = gather(&found).into_iter().zip(types);
    columns
        .map(|(found, ty)| {
            let found = found.into_flat();
            Column::Flat(Vector::concat(&[&found, &Vector::fillers(ty, 1)]).gather(&places))
        })
        .collect()
}
