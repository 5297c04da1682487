//! `greatCircleDistance`, `greatCircleAngle`, `geoDistance`: how far apart two places are. The kernel approximates with
//! tables (errors are below 0.004 %), and so do we, so that the results are its own.

use crate::lanes::{Lane, Operand, RUN};
use crate::math::float_function::floats;
use crate::number::Number;
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;
use std::cmp::Ordering;
use std::f64::consts::PI;
use std::ops::{Add, Div, Mul, Sub};
use std::sync::LazyLock;

/// What a distance is measured on and in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// Degrees on a sphere.
    Angle,
    /// Metres on a sphere.
    Sphere,
    /// Metres on the ellipsoid WGS 84.
    Ellipsoid,
}

/// Metres: twice the radius of the sphere with the surface of Earth.
const DIAMETER: f64 = 2.0 * 6371007.180918475;

/// Steps of the tables: of a full turn, of 0 to 1, of the latitudes from pole to pole.
const TURN: usize = 1024;
const UNIT: usize = 512;
const LATITUDES: usize = 1024;

/// Float32 or Float64.
trait Real:
    Number
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + 'static
{
    fn of(x: f64) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn asin(self) -> Self;
    /// Towards zero; 0 for what has no index.
    fn index(self) -> usize;
    fn tables() -> &'static Tables<Self>;
}

macro_rules! reals {
    ($($ty:ty)*) => {$(
        impl Real for $ty {
            #[inline(always)]
            fn of(x: f64) -> Self {
                x as $ty
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn asin(self) -> Self {
                self.asin()
            }
            #[inline(always)]
            fn index(self) -> usize {
                (self as i64).max(0) as usize
            }
            fn tables() -> &'static Tables<Self> {
                static TABLES: LazyLock<Tables<$ty>> = LazyLock::new(Tables::new);
                &TABLES
            }
        }
    )*};
}

reals!(f32 f64);

struct Tables<T> {
    /// Cosines over a full turn.
    cos: [T; TURN + 1],
    /// The arcsine of the square root, over 0 to 1.
    asin_sqrt: [T; UNIT + 1],
    /// By latitude, the squares of the lengths of a degree of latitude and of longitude, for each measure.
    degrees: [[(T, T); LATITUDES + 1]; 3],
}

impl<T: Real> Tables<T> {
    fn new() -> Self {
        let square = |x: f64| x * x;
        let metres_per_degree = DIAMETER * PI / 360.0;
        let narrow_square = |x: T| x * x;
        let degrees = |f: &dyn Fn(f64) -> (T, T)| {
            std::array::from_fn(|i| f(i as f64 * (PI / LATITUDES as f64) - PI * 0.5))
        };
        let per_degree = narrow_square(T::of(DIAMETER) * T::of(PI) / T::of(360.0));
        Tables {
            cos: std::array::from_fn(|i| T::of((2.0 * PI * i as f64 / TURN as f64).cos())),
            asin_sqrt: std::array::from_fn(|i| T::of((i as f64 / UNIT as f64).sqrt().asin())),
            degrees: [
                degrees(&|latitude| (T::of(1.0), T::of(square(latitude.cos())))),
                degrees(&|latitude| (per_degree, T::of(square(metres_per_degree * latitude.cos())))),
                degrees(&|latitude| {
                    let north = 111132.09 - 566.05 * (2.0 * latitude).cos() + 1.20 * (4.0 * latitude).cos();
                    let east = 111415.13 * latitude.cos() - 94.55 * (3.0 * latitude).cos()
                        + 0.12 * (5.0 * latitude).cos();
                    (T::of(square(north)), T::of(square(east)))
                }),
            ],
        }
    }

    /// The cosine of an angle, moved back by a number of the table's steps.
    #[inline(always)]
    fn cos(&self, angle: T, back: usize) -> T {
        let place = angle.abs() * (T::of(TURN as f64) / T::of(PI) / T::of(2.0));
        let step = place.index();
        let rest = place - T::of(step as f64);
        let at = step.wrapping_sub(back) & (TURN - 1);
        self.cos[at] + (self.cos[at + 1] - self.cos[at]) * rest
    }

    /// Up to 0.122 by a polynomial, beyond by the table; what is near to 1 is for [`Real::asin`].
    #[inline(always)]
    fn asin_sqrt(&self, x: T) -> T {
        let y = x.sqrt();
        let small = y
            + x * y * T::of(0.166666666666666)
            + x * x * y * T::of(0.075)
            + x * x * x * y * T::of(0.044642857142857);
        let place = x * T::of(UNIT as f64);
        let at = place.index().min(UNIT - 1);
        let low = self.asin_sqrt[at];
        let large = low + (self.asin_sqrt[at + 1] - low) * (place - T::of(at as f64));
        if x < T::of(0.122) { small } else { large }
    }

    /// The distances of so many pairs of places. Where places lie decides by which of three formulas: as chance has it, so that a branch
    /// for each pair would be taken wrongly half of the time. The usual one is computed for all of them, the others for their rows.
    fn distances(&self, measure: Measure, coordinates: [&[T]; 4], out: &mut [T]) {
        let (mut near, mut opposite) = ([0u16; RUN], [0u16; RUN]);
        let (mut n_near, mut n_opposite) = (0, 0);
        let unit = match measure {
            Measure::Angle => T::of(360.0) / T::of(PI),
            _ => T::of(DIAMETER),
        };
        let of_row = |row: usize| coordinates.map(|values| values[row]);
        for (row, place) in out.iter_mut().enumerate().take(RUN) {
            let x = haversine(self, of_row(row));
            *place = unit * self.asin_sqrt(x);
            near[n_near] = row as u16;
            n_near += usize::from(apart(coordinates[0][row], coordinates[2][row]) < T::of(NEAR));
            opposite[n_opposite] = row as u16;
            n_opposite += usize::from(x.partial_cmp(&T::of(0.948)) != Some(Ordering::Less));
        }
        for row in opposite[..n_opposite].iter().map(|row| usize::from(*row)) {
            out[row] = unit * haversine(self, of_row(row)).sqrt().asin();
        }
        for row in near[..n_near].iter().map(|row| usize::from(*row)) {
            out[row] = self.on_a_plane(measure, of_row(row));
        }
    }

    /// Near enough for a plane that touches Earth at the latitude between the two.
    #[inline(always)]
    fn on_a_plane(&self, measure: Measure, [lon1, lat1, lon2, lat2]: [T; 4]) -> T {
        let (lat, lon) = (apart(lat1, lat2), apart(lon1, lon2));
        let place = (lat1 + lat2 + T::of(180.0)) * T::of(LATITUDES as f64) / T::of(360.0);
        let at = place.index() & (LATITUDES - 1);
        let table = &self.degrees[measure as usize];
        let (low, high) = (table[at], table[at + 1]);
        let rest = place - T::of(at as f64);
        let north = low.0 + (high.0 - low.0) * rest;
        let east = low.1 + (high.1 - low.1) * rest;
        (north * lat * lat + east * lon * lon).sqrt()
    }
}

/// Degrees of longitude within which Earth is as a plane.
const NEAR: f64 = 13.0;

/// How far two angles are apart.
#[inline(always)]
fn apart<T: Real>(x: T, y: T) -> T {
    let difference = (x - y).abs();
    if difference > T::of(180.0) { T::of(360.0) - difference } else { difference }
}

/// The square of the sine of half the angle between two places.
#[inline(always)]
fn haversine<T: Real>(tables: &Tables<T>, [lon1, lat1, lon2, lat2]: [T; 4]) -> T {
    let (lat, lon) = (apart(lat1, lat2), apart(lon1, lon2));
    let (radian, half) = (T::of(PI / 180.0), T::of(PI / 360.0));
    let sin_squared = |angle: T| {
        let sin = tables.cos(angle, TURN / 4);
        sin * sin
    };
    sin_squared(lat * half)
        + tables.cos(lat1 * radian, 0) * tables.cos(lat2 * radian, 0) * sin_squared(lon * half)
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 4..=4)?;
    for (index, arg) in args.iter().enumerate() {
        ensure!(
            arg.ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument {} of function {name}. Must be numeric",
            arg.ty,
            index + 1
        );
    }
    let setting = (ctx.settings.all.0)("geo_distance_returns_float64_on_float64_arguments");
    let keeps_width = setting.is_none_or(|(value, _)| value.as_u64() != Some(0));
    let wide = keeps_width && args.iter().any(|arg| arg.ty == DataType::Float64);
    Ok(if wide { DataType::Float64 } else { DataType::Float32 }.into())
}

fn execute(call: &Call, measure: Measure) -> Result<Column> {
    fn run<T: Real>(call: &Call, measure: Measure) -> Result<Column> {
        let n = call.n_rows;
        let mut vectors = Vec::with_capacity(4);
        for index in 0..4 {
            vectors.push(floats(Operand::of(call, index), n)?);
        }
        let mut lanes = Vec::with_capacity(4);
        for (index, vector) in vectors.iter().enumerate() {
            lanes.push(Lane::<T>::new(Operand { vector, ..Operand::of(call, index) }, n)?);
        }
        let tables = T::tables();
        let mut out = vec![T::default(); n];
        for (number, some) in out.chunks_mut(RUN).enumerate() {
            let [a, b, c, d] = &mut lanes[..] else { break };
            let (start, len) = (number * RUN, some.len());
            let coordinates = [a.run(start, len), b.run(start, len), c.run(start, len), d.run(start, len)];
            tables.distances(measure, coordinates, some);
        }
        Ok(Vector::from(out).into())
    }
    match call.result {
        DataType::Float64 => run::<f64>(call, measure),
        _ => run::<f32>(call, measure),
    }
}

macro_rules! distances {
    ($($name:literal $measure:ident $summary:literal $sql:literal => $result:literal;)*) => {
        &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(longitude1, latitude1, longitude2, latitude2)"),
                examples: &[Example { sql: $sql, result: $result }],
                total: true,
                ..Record::DEFAULT
            },
            bind,
            execute: |call| execute(call, Measure::$measure),
        }),*]
    };
}

static FUNCTIONS: &[Plain] = distances! {
    "greatCircleDistance" Sphere "The distance of two places, given in degrees, in metres on a sphere."
        "SELECT greatCircleDistance(0, 0, 1, 1)" => "157250.52";
    "greatCircleAngle" Angle "The angle between two places, given in degrees, in degrees."
        "SELECT greatCircleAngle(0, 0, 1, 1)" => "1.4141862";
    "geoDistance" Ellipsoid "The distance of two places, given in degrees, in metres on the ellipsoid WGS 84."
        "SELECT geoDistance(0, 0, 1, 1)" => "156896.4";
};

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
