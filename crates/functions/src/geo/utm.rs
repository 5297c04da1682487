//! `geoToUTM`, `UTMToGeo`, `geoToMGRS`, `MGRSToGeo`: places on the ellipsoid WGS84 in the zones of the Universal Transverse Mercator
//! projection and in the Military Grid Reference System. Formulas: J. P. Snyder, Map Projections: A Working Manual, USGS 1987.

use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_columns::{Column, Data, Fixed, StringBuilder, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::{DataType, TupleField};

/// Of the central meridian of a zone.
const SCALE: f64 = 0.9996;
/// Metres.
const RADIUS: f64 = 6_378_137.0;
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// The square of the eccentricity, and that of the second one.
const E: f64 = FLATTENING * (2.0 - FLATTENING);
const E_SECOND: f64 = E / (1.0 - E);
/// Metres that are added so that no easting, and no northing of the southern hemisphere, is negative.
const FALSE_EASTING: f64 = 500_000.0;
const FALSE_NORTHING: f64 = 10_000_000.0;

/// Latitude bands of 8 degrees from 80 degrees south; the last one is longer.
const BANDS: &[u8; 20] = b"CDEFGHJKLMNPQRSTUVWX";

/// The share of the radius that a degree of the meridian has on average.
const MEAN: f64 = 1.0 - E / 4.0 - 3.0 * E * E / 64.0 - 5.0 * E * E * E / 256.0;

/// Metres along the meridian from the equator.
fn meridian_arc(phi: f64) -> f64 {
    let (e2, e3) = (E * E, E * E * E);
    RADIUS
        * (MEAN * phi - (3.0 * E / 8.0 + 3.0 * e2 / 32.0 + 45.0 * e3 / 1024.0) * (2.0 * phi).sin()
            + (15.0 * e2 / 256.0 + 45.0 * e3 / 1024.0) * (4.0 * phi).sin()
            - (35.0 * e3 / 3072.0) * (6.0 * phi).sin())
}

fn central_meridian(zone: u8) -> f64 {
    f64::from(zone) * 6.0 - 183.0
}

/// The zone of a place, with the exceptions for Norway and Svalbard.
fn zone_of(longitude: f64, latitude: f64) -> u8 {
    if (56.0..64.0).contains(&latitude) && (3.0..12.0).contains(&longitude) {
        return 32;
    }
    if latitude >= 72.0 && (0.0..42.0).contains(&longitude) {
        return match longitude {
            x if x < 9.0 => 31,
            x if x < 21.0 => 33,
            x if x < 33.0 => 35,
            _ => 37,
        };
    }
    (((longitude + 180.0) / 6.0).floor() as i32 + 1).clamp(1, 60) as u8
}

fn band_of(latitude: f64) -> u8 {
    let index = ((latitude + 80.0) / 8.0).floor() as usize;
    BANDS[index.min(BANDS.len() - 1)]
}

/// Easting and northing in metres.
fn project(longitude: f64, latitude: f64, zone: u8) -> (f64, f64) {
    let (phi, lambda) = (latitude.to_radians(), longitude.to_radians());
    let (sine, cosine) = phi.sin_cos();
    let tangent = sine / cosine;
    let (t2, t4) = (tangent * tangent, tangent * tangent * tangent * tangent);
    let n = RADIUS / (1.0 - E * sine * sine).sqrt();
    let c = E_SECOND * cosine * cosine;
    let a = cosine * (lambda - central_meridian(zone).to_radians());
    let (a2, a3) = (a * a, a * a * a);
    let (a4, a5, a6) = (a3 * a, a3 * a * a, a3 * a * a * a);
    let easting = SCALE
        * n
        * (a + a3 / 6.0 * (1.0 - t2 + c) + a5 / 120.0 * (5.0 - 18.0 * t2 + t4 + 72.0 * c - 58.0 * E_SECOND))
        + FALSE_EASTING;
    let northing = SCALE
        * (meridian_arc(phi)
            + n * tangent
                * (a2 / 2.0
                    + a4 / 24.0 * (5.0 - t2 + 9.0 * c + 4.0 * c * c)
                    + a6 / 720.0 * (61.0 - 58.0 * t2 + t4 + 600.0 * c - 330.0 * E_SECOND)));
    (easting, if latitude < 0.0 { northing + FALSE_NORTHING } else { northing })
}

/// Longitude and latitude.
fn unproject(easting: f64, northing: f64, zone: u8, north: bool) -> (f64, f64) {
    let y = if north { northing } else { northing - FALSE_NORTHING };
    let mu = y / SCALE / (RADIUS * MEAN);
    let root = (1.0 - E).sqrt();
    let e1 = (1.0 - root) / (1.0 + root);
    let (e2, e3) = (e1 * e1, e1 * e1 * e1);
    // The latitude of the place on the central meridian with the same northing.
    let foot = mu
        + (3.0 * e1 / 2.0 - 27.0 * e3 / 32.0) * (2.0 * mu).sin()
        + (21.0 * e2 / 16.0 - 55.0 * e3 * e1 / 32.0) * (4.0 * mu).sin()
        + (151.0 * e3 / 96.0) * (6.0 * mu).sin();
    let (sine, cosine) = foot.sin_cos();
    let tangent = sine / cosine;
    let (t2, t4) = (tangent * tangent, tangent * tangent * tangent * tangent);
    let curvature = 1.0 - E * sine * sine;
    let (n, r) = (RADIUS / curvature.sqrt(), (1.0 - E) / curvature);
    let c = E_SECOND * cosine * cosine;
    let c2 = c * c;
    let d = (easting - FALSE_EASTING) / (n * SCALE);
    let (d2, d3) = (d * d, d * d * d);
    let (d4, d5, d6) = (d3 * d, d3 * d * d, d3 * d * d * d);
    let latitude = foot
        - (tangent / r)
            * (d2 / 2.0 - d4 / 24.0 * (5.0 + 3.0 * t2 + 10.0 * c - 4.0 * c2 - 9.0 * E_SECOND)
                + d6 / 720.0 * (61.0 + 90.0 * t2 + 298.0 * c + 45.0 * t4 - 252.0 * E_SECOND - 3.0 * c2));
    let longitude = (d - d3 / 6.0 * (1.0 + 2.0 * t2 + c)
        + d5 / 120.0 * (5.0 - 2.0 * c + 28.0 * t2 - 3.0 * c2 + 8.0 * E_SECOND + 24.0 * t4))
        / cosine;
    (central_meridian(zone) + longitude.to_degrees(), latitude.to_degrees())
}

/// The letters of the columns of squares of 100 km, by the zone's number modulo 3, and of the rows.
const COLUMNS: [&[u8; 8]; 3] = [b"ABCDEFGH", b"JKLMNPQR", b"STUVWXYZ"];
const ROWS: &[u8; 20] = b"ABCDEFGHJKLMNPQRSTUV";
/// Metres.
const SQUARE: f64 = 100_000.0;

/// Rows of zones with even numbers begin at the letter F.
fn first_row(zone: u8) -> usize {
    if zone.is_multiple_of(2) { 5 } else { 0 }
}

fn reference(longitude: f64, latitude: f64, digits: usize) -> String {
    let zone = zone_of(longitude, latitude);
    let (easting, northing) = project(longitude, latitude, zone);
    let column = ((easting / SQUARE).floor() as usize).clamp(1, 8) - 1;
    let row = ((northing / SQUARE).floor() as usize + first_row(zone)) % ROWS.len();
    let mut out = format!(
        "{zone}{}{}{}",
        char::from(band_of(latitude)),
        char::from(COLUMNS[usize::from((zone - 1) % 3)][column]),
        char::from(ROWS[row])
    );
    if digits > 0 {
        let unit = 10f64.powi(5 - digits as i32);
        for metres in [easting, northing] {
            let within = (metres.rem_euclid(SQUARE) / unit).floor() as u64;
            out.push_str(&format!("{within:0digits$}"));
        }
    }
    out
}

fn place(text: &str) -> Result<(f64, f64)> {
    let invalid = |what: &str| -> Error { err!(BAD_ARGUMENTS, "Invalid MGRS string '{text}': {what}") };
    let letters: Vec<u8> =
        text.bytes().filter(|c| !c.is_ascii_whitespace()).map(|c| c.to_ascii_uppercase()).collect();
    let n_digits = letters.iter().take(2).take_while(|c| c.is_ascii_digit()).count();
    ensure!(n_digits > 0, BAD_ARGUMENTS, "Invalid MGRS string '{text}': missing zone number");
    let zone = letters[..n_digits].iter().fold(0u8, |zone, c| zone * 10 + (c - b'0'));
    ensure!((1..=60).contains(&zone), BAD_ARGUMENTS, "Invalid MGRS zone number {zone} in string '{text}'");
    let rest = &letters[n_digits..];
    let &[band, column, row, ref digits @ ..] = rest else {
        return Err(invalid("too short"));
    };
    let Some(band_number) = BANDS.iter().position(|known| *known == band) else {
        bail!(BAD_ARGUMENTS, "Invalid MGRS latitude band '{}' in string '{text}'", char::from(band));
    };
    let Some(column_number) = COLUMNS[usize::from((zone - 1) % 3)].iter().position(|known| *known == column)
    else {
        bail!(
            BAD_ARGUMENTS,
            "MGRS 100km column letter '{}' is out of range for the zone",
            char::from(column)
        );
    };
    let Some(row_number) = ROWS.iter().position(|known| *known == row) else {
        bail!(BAD_ARGUMENTS, "MGRS 100km row letter '{}' is out of range", char::from(row));
    };
    ensure!(
        digits.iter().all(u8::is_ascii_digit),
        BAD_ARGUMENTS,
        "Invalid MGRS string '{text}': location must consist of digits"
    );
    ensure!(
        digits.len() % 2 == 0,
        BAD_ARGUMENTS,
        "Invalid MGRS string '{text}': odd number of location digits"
    );
    let precision = digits.len() / 2;
    ensure!(
        precision <= 5,
        BAD_ARGUMENTS,
        "Invalid MGRS string '{text}': more than five digits per coordinate"
    );
    let unit = 10f64.powi(5 - precision as i32);
    // The middle of the referenced square.
    let metres = |digits: &[u8]| {
        let number = digits.iter().fold(0f64, |number, c| number * 10.0 + f64::from(c - b'0'));
        number * unit + unit / 2.0
    };
    let (within_east, within_north) = digits.split_at(precision);
    let easting = (column_number + 1) as f64 * SQUARE + metres(within_east);
    let row_number = (row_number + ROWS.len() - first_row(zone)) % ROWS.len();
    let north = band >= b'N';
    // Letters of rows repeat, so the band says which of the rows it is.
    let south_edge = -80.0 + 8.0 * band_number as f64;
    let least = SCALE * meridian_arc(south_edge.to_radians()) + if north { 0.0 } else { FALSE_NORTHING };
    let least = (least / SQUARE).floor() * SQUARE;
    let mut northing = row_number as f64 * SQUARE;
    while northing < least {
        northing += ROWS.len() as f64 * SQUARE;
    }
    Ok(unproject(easting, northing + metres(within_north), zone, north))
}

fn named(names: &[&str], types: Vec<DataType>) -> DataType {
    let fields = names.iter().zip(types).map(|(name, ty)| TupleField { name: Some((*name).into()), ty });
    DataType::Tuple(fields.collect())
}

fn place_type() -> DataType {
    named(&["longitude", "latitude"], vec![DataType::Float64; 2])
}

const ORDINALS: [&str; 4] = ["1st", "2nd", "3rd", "4th"];

fn check(
    name: &str,
    args: &[Argument],
    index: usize,
    argument: &str,
    expected: &str,
    fits: impl Fn(&DataType) -> bool,
) -> Result<()> {
    ensure!(
        fits(&args[index].ty),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as {} argument '{argument}' to function '{name}'. Expected: {expected}, got: {}",
        ORDINALS[index],
        args[index].ty
    );
    Ok(())
}

fn is_float(ty: &DataType) -> bool {
    matches!(ty, DataType::Float32 | DataType::Float64)
}

fn is_native_integer(ty: &DataType) -> bool {
    ty.is_integer() && ty.physical().width().is_some_and(|width| width <= 8)
}

fn numbers(call: &Call, index: usize) -> Result<Vec<f64>> {
    unary::<f64, f64>(Operand::of(call, index), call.n_rows, |x| x)
}

fn integers(call: &Call, index: usize) -> Result<Vec<i128>> {
    unary::<i128, i128>(Operand::of(call, index), call.n_rows, |x| x)
}

fn check_place(name: &str, longitude: f64, latitude: f64) -> Result<()> {
    ensure!(
        longitude.is_finite() && latitude.is_finite(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Arguments of function {name} must be finite numbers"
    );
    ensure!(
        (-180.0..=180.0).contains(&longitude),
        ARGUMENT_OUT_OF_BOUND,
        "Longitude {longitude} is out of range [-180, 180] in function {name}"
    );
    ensure!(
        (-80.0..=84.0).contains(&latitude),
        ARGUMENT_OUT_OF_BOUND,
        "Latitude {latitude} is out of the UTM domain [-80, 84] in function {name}"
    );
    Ok(())
}

fn check_zone(name: &str, zone: i128) -> Result<u8> {
    match u8::try_from(zone) {
        Ok(zone @ 1..=60) => Ok(zone),
        _ => bail!(BAD_ARGUMENTS, "UTM zone {zone} is out of range [1, 60] in function {name}"),
    }
}

fn bind_place(name: &'static str, args: &[Argument], third: &str, result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    check(name, args, 0, "longitude", "Float*", is_float)?;
    check(name, args, 1, "latitude", "Float*", is_float)?;
    if args.len() == 3 {
        check(name, args, 2, third, "(U)Int*", is_native_integer)?;
    }
    Ok(result.into())
}

fn tuple(fields: Vec<Vector>, len: usize) -> Column {
    Vector::from(Data::Struct(Struct { fields, len })).into()
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "geoToUTM",
            summary: "Easting and northing in metres, zone and latitude band of a place on WGS84 in the Universal Transverse Mercator projection.",
            syntax: "geoToUTM(longitude, latitude[, zone])",
            examples: &[Example { sql: "SELECT geoToUTM(2.294497, 48.858222).zone", result: "31" }],
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], _: &Context| {
            let types = vec![DataType::Float64, DataType::Float64, DataType::UInt8, DataType::FixedString(1)];
            bind_place(name, args, "zone", named(&["easting", "northing", "zone", "band"], types))
        },
        execute: to_utm,
    },
    Plain {
        record: Record {
            name: "UTMToGeo",
            summary: "The longitude and latitude of a place in a zone of the Universal Transverse Mercator projection. The last argument is 1 for the northern hemisphere and 0 for the southern, or a letter of a latitude band.",
            syntax: "UTMToGeo(easting, northing, zone, is_north)",
            examples: &[Example {
                sql: "SELECT round(UTMToGeo(448251.6, 5411935.13, 31, 'U').latitude, 6)",
                result: "48.858222",
            }],
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], _: &Context| {
            check_arity(name, args.len(), 4..=4)?;
            let number = |ty: &DataType| is_native_integer(ty) || is_float(ty);
            check(name, args, 0, "easting", "Number", number)?;
            check(name, args, 1, "northing", "Number", number)?;
            check(name, args, 2, "zone", "(U)Int*", is_native_integer)?;
            let hemisphere = |ty: &DataType| is_native_integer(ty) || ty.is_string();
            check(name, args, 3, "is_north", "(U)Int* or String or FixedString", hemisphere)?;
            Ok(place_type().into())
        },
        execute: from_utm,
    },
    Plain {
        record: Record {
            name: "geoToMGRS",
            summary: "The reference of a place on WGS84 in the Military Grid Reference System, with up to five digits for each of easting and northing.",
            syntax: "geoToMGRS(longitude, latitude[, precision])",
            examples: &[Example { sql: "SELECT geoToMGRS(2.294497, 48.858222)", result: "31UDQ4825111935" }],
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], _: &Context| {
            bind_place(name, args, "precision", DataType::String)
        },
        execute: to_mgrs,
    },
    Plain {
        record: Record {
            name: "MGRSToGeo",
            summary: "The longitude and latitude of the middle of a square of the Military Grid Reference System.",
            syntax: "MGRSToGeo(mgrs)",
            examples: &[Example {
                sql: "SELECT round(MGRSToGeo('31UDQ4825111935').latitude, 4)",
                result: "48.8582",
            }],
            ..Record::DEFAULT
        },
        bind: |name: &'static str, args: &[Argument], _: &Context| {
            check_arity(name, args.len(), 1..=1)?;
            check(name, args, 0, "mgrs", "String or FixedString", DataType::is_string)?;
            Ok(place_type().into())
        },
        execute: |call: &Call| {
            let texts = StringArg::of(call, 0)?;
            let (mut longitudes, mut latitudes) = (Vec::new(), Vec::new());
            for row in 0..call.n_rows {
                let (longitude, latitude) = place(&String::from_utf8_lossy(texts.get(row)))?;
                longitudes.push(longitude);
                latitudes.push(latitude);
            }
            Ok(tuple(vec![longitudes.into(), latitudes.into()], call.n_rows))
        },
    },
];

fn to_utm(call: &Call) -> Result<Column> {
    let name = "geoToUTM";
    let (longitudes, latitudes) = (numbers(call, 0)?, numbers(call, 1)?);
    let zones = if call.args.len() == 3 { Some(integers(call, 2)?) } else { None };
    let (mut eastings, mut northings, mut used) = (Vec::new(), Vec::new(), Vec::new());
    let mut bands = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let (longitude, latitude) = (longitudes[row], latitudes[row]);
        check_place(name, longitude, latitude)?;
        let zone = match &zones {
            Some(zones) => check_zone(name, zones[row])?,
            None => zone_of(longitude, latitude),
        };
        let (easting, northing) = project(longitude, latitude, zone);
        eastings.push(easting);
        northings.push(northing);
        used.push(zone);
        bands.push(band_of(latitude));
    }
    let bands = Vector::from(Data::Fixed(Fixed { width: 1, bytes: bands.into() }));
    Ok(tuple(vec![eastings.into(), northings.into(), used.into(), bands], call.n_rows))
}

fn from_utm(call: &Call) -> Result<Column> {
    let name = "UTMToGeo";
    let (eastings, northings, zones) = (numbers(call, 0)?, numbers(call, 1)?, integers(call, 2)?);
    let is_text = call.args[3].ty.is_string();
    let letters = if is_text { Some(StringArg::of(call, 3)?) } else { None };
    let flags = if is_text { Vec::new() } else { integers(call, 3)? };
    let (mut longitudes, mut latitudes) = (Vec::new(), Vec::new());
    for row in 0..call.n_rows {
        let zone = check_zone(name, zones[row])?;
        ensure!(
            eastings[row].is_finite() && northings[row].is_finite(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Easting and northing arguments of function {name} must be finite numbers"
        );
        let north = match letters {
            Some(letters) => {
                let text = letters.get(row);
                let band = match text {
                    [one] => Some(one.to_ascii_uppercase()).filter(|band| BANDS.contains(band)),
                    _ => None,
                };
                let band = band.ok_or_else(|| {
                    err!(
                        BAD_ARGUMENTS,
                        "The band argument of function {name} must be a single MGRS latitude band letter in 'C'..'X' (excluding 'I' \
                         and 'O', case-insensitive), but got '{}'",
                        String::from_utf8_lossy(text)
                    )
                })?;
                band >= b'N'
            }
            None => match flags[row] {
                0 => false,
                1 => true,
                other => bail!(
                    BAD_ARGUMENTS,
                    "Argument is_north of function {name} must be 0 or 1, but got {other}"
                ),
            },
        };
        let (longitude, latitude) = unproject(eastings[row], northings[row], zone, north);
        longitudes.push(longitude);
        latitudes.push(latitude);
    }
    Ok(tuple(vec![longitudes.into(), latitudes.into()], call.n_rows))
}

fn to_mgrs(call: &Call) -> Result<Column> {
    let name = "geoToMGRS";
    let (longitudes, latitudes) = (numbers(call, 0)?, numbers(call, 1)?);
    let precisions = if call.args.len() == 3 { Some(integers(call, 2)?) } else { None };
    let mut out = StringBuilder::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let precision = precisions.as_ref().map_or(5, |precisions| precisions[row]);
        ensure!(
            (0..=5).contains(&precision),
            ARGUMENT_OUT_OF_BOUND,
            "Precision {precision} is out of range [0, 5] in function {name}"
        );
        check_place(name, longitudes[row], latitudes[row])?;
        out.push(reference(longitudes[row], latitudes[row], precision as usize).as_bytes());
    }
    Ok(Vector::from(out.finish()).into())
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
