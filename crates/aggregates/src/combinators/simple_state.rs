//! `-SimpleState`: the plain result of a function whose results merge by the function itself, for columns that are declared as
//! `SimpleAggregateFunction`.

use chalet_base::{Result, ensure};

/// Functions that `SimpleAggregateFunction` takes: their states are values, and merging them is aggregating these.
pub const SIMPLE: [&str; 22] = [
    "any",
    "any_respect_nulls",
    "anyLast",
    "anyLast_respect_nulls",
    "min",
    "max",
    "sum",
    "sumWithOverflow",
    "groupBitAnd",
    "groupBitOr",
    "groupBitXor",
    "sumMap",
    "minMap",
    "maxMap",
    "groupArrayArray",
    "groupArrayLastArray",
    "groupUniqArrayArray",
    "groupUniqArrayArrayMap",
    "sumMappedArrays",
    "minMappedArrays",
    "maxMappedArrays",
    "timeSeriesGroupArray",
];

/// Fails unless `SimpleAggregateFunction` takes the function of this name.
pub fn check_simple(name: &str) -> Result<()> {
    ensure!(
        SIMPLE.contains(&name),
        BAD_ARGUMENTS,
        "Unsupported aggregate function {name}, supported functions are {}",
        SIMPLE.join(",")
    );
    Ok(())
}
