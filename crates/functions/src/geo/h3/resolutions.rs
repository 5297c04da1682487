//! What is known of a resolution: how large its cells are on average, and how many there are.

use super::{h3_functions, resolution, values};
use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::Call;
use chalet_types::DataType;

/// Square metres.
const AREAS: [f64; 16] = [
    4357449416078.39,
    609788441794.1339,
    86801780398.99731,
    12393434655.08818,
    1770347654.491309,
    252903858.1819452,
    36129062.1644125,
    5161293.359717198,
    737327.5975944188,
    105332.5134272069,
    15047.50190766437,
    2149.643129451882,
    307.0918756316063,
    43.87026794728301,
    6.267181135324322,
    0.8953115907605802,
];

/// Square kilometres; not the others divided, because both are rounded.
const SQUARE_KILOMETRES: [f64; 16] = [
    4357449.416078383,
    609788.4417941332,
    86801.7803989972,
    12393.43465508816,
    1770.347654491307,
    252.9038581819449,
    36.12906216441245,
    5.161293359717191,
    0.7373275975944177,
    0.1053325134272067,
    0.01504750190766435,
    0.002149643129451879,
    0.000307091875631606,
    0.00004387026794728296,
    0.000006267181135324313,
    8.95311590760579e-7,
];

/// Metres.
const EDGES: [f64; 16] = [
    1281256.011,
    483056.8391,
    182512.9565,
    68979.22179,
    26071.75968,
    9854.09099,
    3724.532667,
    1406.475763,
    531.4140101,
    200.7861476,
    75.86378287,
    28.66389748,
    10.83018784,
    4.092010473,
    1.546099657,
    0.58416863,
];

const EDGES_IN_KILOMETRES: [f64; 16] = [
    1281.256011,
    483.0568391,
    182.5129565,
    68.97922179,
    26.07175968,
    9.85409099,
    3.724532667,
    1.406475763,
    0.53141401,
    0.200786148,
    0.075863783,
    0.028663897,
    0.010830188,
    0.00409201,
    0.0015461,
    0.000584169,
];

/// Degrees of a great circle in a metre.
const DEGREES_PER_METRE: f64 = 8.993_205_922_712_88e-6;

fn look_up(call: &Call, name: &str, table: &[f64; 16], factor: f64) -> Result<Column> {
    let resolutions = call.natives::<u8>(0)?;
    values(call.n_rows, |row| {
        let number = resolutions.get(row);
        resolution(name, number)?;
        Ok(table[usize::from(number)] * factor)
    })
}

pub static FUNCTIONS: &[Plain] = h3_functions! {
    "h3EdgeAngle"(Resolution) -> DataType::Float64, "(resolution)",
        "The average length of an edge of a cell, in degrees.",
        "SELECT round(h3EdgeAngle(10), 10)" => "0.0006822586",
        |call| look_up(call, "h3EdgeAngle", &EDGES, DEGREES_PER_METRE);
    "h3EdgeLengthM"(Resolution) -> DataType::Float64, "(resolution)",
        "The average length of an edge of a cell, in metres.", "SELECT h3EdgeLengthM(15)" => "0.58416863",
        |call| look_up(call, "h3EdgeLengthM", &EDGES, 1.0);
    "h3EdgeLengthKm"(Resolution) -> DataType::Float64, "(resolution)",
        "The average length of an edge of a cell, in kilometres.", "SELECT h3EdgeLengthKm(15)" => "0.000584169",
        |call| look_up(call, "h3EdgeLengthKm", &EDGES_IN_KILOMETRES, 1.0);
    "h3HexAreaM2"(Resolution) -> DataType::Float64, "(resolution)",
        "The average area of a cell, in square metres.", "SELECT h3HexAreaM2(13)" => "43.87026794728301",
        |call| look_up(call, "h3HexAreaM2", &AREAS, 1.0);
    "h3HexAreaKm2"(Resolution) -> DataType::Float64, "(resolution)",
        "The average area of a cell, in square kilometres.",
        "SELECT h3HexAreaKm2(13)" => "0.00004387026794728296",
        |call| look_up(call, "h3HexAreaKm2", &SQUARE_KILOMETRES, 1.0);
    "h3NumHexagons"(Resolution) -> DataType::Int64, "(resolution)",
        "The number of cells.", "SELECT h3NumHexagons(3)" => "41162",
        |call| {
            let resolutions = call.natives::<u8>(0)?;
            values(call.n_rows, |row| {
                Ok(resolution("h3NumHexagons", resolutions.get(row))?.cell_count() as i64)
            })
        };
    "h3GetPentagonIndexes"(Resolution) -> DataType::UInt64.array(), "(resolution)",
        "The twelve cells that are pentagons.", "SELECT length(h3GetPentagonIndexes(3))" => "12",
        |call| {
            let resolutions = call.natives::<u8>(0)?;
            super::arrays(call.n_rows, |row, out| {
                let resolution = resolution("h3GetPentagonIndexes", resolutions.get(row))?;
                out.extend(resolution.pentagons().map(u64::from));
                Ok(())
            })
        };
};
