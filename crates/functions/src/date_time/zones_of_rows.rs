//! A time zone for each row: `toString(t, zone)` and `formatDateTime(t, pattern, zone)` where the zone is a column.

use chalet_base::{Result, bail};
use chalet_columns::{StringBuilder, Vector};
use chalet_function_api::Call;
use chalet_types::TimeZone;
use std::collections::HashMap;

/// The texts that `shown` gives for the timestamps of the first argument, of the rows of each zone by themselves. `index`:
/// the argument that names the zones.
pub fn in_zones_of_rows(
    call: &Call,
    index: usize,
    shown: impl Fn(&TimeZone, &Vector) -> Result<Vector>,
) -> Result<Vector> {
    let times = call.vector(0);
    let time_of = |row: usize| if call.args[0].constant { 0 } else { row as u32 };
    let names = call.vector(index).strings()?;
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut groups: Vec<(TimeZone, Vec<u32>)> = Vec::new();
    // Where the text of a row comes to stand: its group, and its place there.
    let mut found = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let name = names.get(if call.args[index].constant { 0 } else { row });
        let group = match places.get(name) {
            Some(&group) => group,
            None => {
                let Ok(text) = std::str::from_utf8(name) else {
                    bail!(BAD_ARGUMENTS, "Cannot load time zone")
                };
                groups.push((TimeZone::named(text)?, Vec::new()));
                places.insert(name, groups.len() - 1);
                groups.len() - 1
            }
        };
        found.push((group, groups[group].1.len() as u32));
        groups[group].1.push(time_of(row));
    }
    let mut texts = Vec::with_capacity(groups.len());
    let mut starts = Vec::with_capacity(groups.len());
    let mut n = 0;
    for (zone, rows) in &groups {
        texts.push(shown(zone, &times.gather(rows))?);
        starts.push(n);
        n += rows.len() as u32;
    }
    let rows: Vec<u32> = found.into_iter().map(|(group, at)| starts[group] + at).collect();
    match &texts.iter().collect::<Vec<_>>()[..] {
        [] => Ok(Vector::from(StringBuilder::with_capacity(0).finish())),
        parts => Ok(Vector::concat(parts).gather(&rows)),
    }
}
