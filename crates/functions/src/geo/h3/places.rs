//! From places to cells and back, and distances of places.

use super::{boundaries, cell, h3_functions, points_type, resolution, values};
use crate::plain::Plain;
use chalet_base::{Result, err};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::Call;
use chalet_types::{DataType, TupleField};
use h3o::LatLng;

fn place(latitude: f64, longitude: f64) -> Result<LatLng> {
    LatLng::new(latitude, longitude).map_err(|_| {
        err!(INCORRECT_DATA, "Incorrect coordinates latitude: {latitude}, longitude: {longitude}")
    })
}

/// Distances of two places.
fn distances(call: &Call, f: impl Fn(LatLng, LatLng) -> f64) -> Result<Column> {
    let [a, b, c, d] =
        [call.natives::<f64>(0)?, call.natives::<f64>(1)?, call.natives::<f64>(2)?, call.natives::<f64>(3)?];
    values(call.n_rows, |row| {
        let (a, b, c, d) = (a.get(row), b.get(row), c.get(row), d.get(row));
        // Nothing is known of a place that is nowhere.
        if ![a, b, c, d].iter().all(|x| x.is_finite()) {
            return Ok(f64::NAN);
        }
        Ok(f(place(a, b)?, place(c, d)?))
    })
}

fn place_type() -> DataType {
    let field = |name: &str| TupleField { name: Some(name.into()), ty: DataType::Float64 };
    DataType::Tuple([field("latitude"), field("longitude")].into())
}

pub static FUNCTIONS: &[Plain] = h3_functions! {
    "geoToH3"(Float Float Resolution) -> DataType::UInt64, "(latitude, longitude, resolution)",
        "The cell in which a place, given in degrees, lies. The setting geotoh3_argument_order may be lon_lat.",
        "SELECT geoToH3(55.71290588, 37.79506683, 15)" => "644325524701193974",
        |call| {
            let (a, b) = (call.natives::<f64>(0)?, call.natives::<f64>(1)?);
            let resolutions = call.natives::<u8>(2)?;
            let order = (call.ctx.settings.all.0)("geotoh3_argument_order");
            let swapped = order.is_some_and(|(order, _)| order.as_bytes() == Some(b"lon_lat"));
            values(call.n_rows, |row| {
                let resolution = resolution("geoToH3", resolutions.get(row))?;
                let (latitude, longitude) =
                    if swapped { (b.get(row), a.get(row)) } else { (a.get(row), b.get(row)) };
                Ok(u64::from(place(latitude, longitude)?.to_cell(resolution)))
            })
        };
    "h3ToGeo"(Index) -> place_type(), "(cell)", "The latitude and longitude of the centre of a cell, in degrees.",
        "SELECT round(h3ToGeo(644325524701193974).1, 9)" => "55.712902431",
        |call| {
            let cells = call.natives::<u64>(0)?;
            let (mut latitudes, mut longitudes) = (Vec::new(), Vec::new());
            for row in 0..call.n_rows {
                let centre = LatLng::from(cell(cells.get(row))?);
                latitudes.push(centre.lat());
                longitudes.push(centre.lng());
            }
            let fields = vec![latitudes.into(), longitudes.into()];
            Ok(Vector::from(Data::Struct(Struct { fields, len: call.n_rows })).into())
        };
    "h3ToGeoBoundary"(Index) -> points_type(), "(cell)",
        "The corners of a cell, as latitude and longitude in degrees.",
        "SELECT length(h3ToGeoBoundary(599686042433355775))" => "6",
        |call| {
            let cells = call.natives::<u64>(0)?;
            boundaries(call.n_rows, |row| Ok(cell(cells.get(row))?.boundary()))
        };
    "h3PointDistM"(Float Float Float Float) -> DataType::Float64, "(latitude1, longitude1, latitude2, longitude2)",
        "The distance of two places on a great circle, in metres.",
        "SELECT round(h3PointDistM(-10.0, 0.0, 10.0, 0.0), 3)" => "2223901.04",
        |call| distances(call, |a, b| a.distance_m(b));
    "h3PointDistKm"(Float Float Float Float) -> DataType::Float64, "(latitude1, longitude1, latitude2, longitude2)",
        "The distance of two places on a great circle, in kilometres.",
        "SELECT round(h3PointDistKm(-10.0, 0.0, 10.0, 0.0), 6)" => "2223.90104",
        |call| distances(call, |a, b| a.distance_km(b));
    "h3PointDistRads"(Float Float Float Float) -> DataType::Float64, "(latitude1, longitude1, latitude2, longitude2)",
        "The distance of two places on a great circle, in radians.",
        "SELECT round(h3PointDistRads(-10.0, 0.0, 10.0, 0.0), 9)" => "0.34906585",
        |call| distances(call, |a, b| a.distance_rads(b));
};
