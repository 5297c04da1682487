//! Colours between sRGB and the perceptual spaces OKLab and OKLCH (Björn Ottosson, 2020).

use crate::conversion::cast::{Mode, Rules, convert};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::vector::Struct;
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;

type Triple = [f64; 3];

/// Of channels, where none is given.
const GAMMA: f64 = 2.2;

/// The largest value of a channel.
const WHITE: f64 = 255.0;

/// Below this chroma a colour is grey, and has no hue.
const LEAST_CHROMA: f64 = 1e-6;

const LMS_OF_RGB: [Triple; 3] = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
];

const LAB_OF_LMS: [Triple; 3] = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
];

const LMS_OF_LAB: [Triple; 3] = [
    [1.0, 0.3963377774, 0.2158037573],
    [1.0, -0.1055613458, -0.0638541728],
    [1.0, -0.0894841775, -1.2914855480],
];

const RGB_OF_LMS: [Triple; 3] = [
    [4.0767416621, -3.3077115913, 0.2309699292],
    [-1.2684380046, 2.6097574011, -0.3413193965],
    [-0.0041960863, -0.7034186147, 1.7076147010],
];

fn times(matrix: &[Triple; 3], by: Triple) -> Triple {
    matrix.map(|row| row[0] * by[0] + row[1] * by[1] + row[2] * by[2])
}

fn lab_of_srgb(srgb: Triple, gamma: f64) -> Triple {
    let linear = srgb.map(|channel| (channel / WHITE).powf(gamma));
    times(&LAB_OF_LMS, times(&LMS_OF_RGB, linear).map(f64::cbrt))
}

fn srgb_of_lab(lab: Triple, gamma: f64) -> Triple {
    let linear = times(&RGB_OF_LMS, times(&LMS_OF_LAB, lab).map(|x| x * x * x));
    linear.map(|channel| channel.clamp(0.0, 1.0).powf(1.0 / gamma) * WHITE)
}

fn lch_of_lab([lightness, a, b]: Triple) -> Triple {
    let chroma = a.hypot(b);
    if chroma < LEAST_CHROMA {
        return [lightness, 0.0, 0.0];
    }
    let hue = b.atan2(a).to_degrees();
    [lightness, chroma, if hue < 0.0 { hue + 360.0 } else { hue }]
}

fn lab_of_lch([lightness, chroma, hue]: Triple) -> Triple {
    let (sin, cos) = hue.to_radians().sin_cos();
    [lightness, chroma * cos, chroma * sin]
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        matches!(args.len(), 1 | 2),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} requires 1 or 2 arguments, {} provided",
        args.len()
    );
    let DataType::Tuple(fields) = &args[0].ty else {
        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "First argument for function {name} must be a tuple");
    };
    ensure!(
        fields.len() == 3,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "First argument of function {name} must be a tuple of size 3, a tuple of size {} was provided",
        fields.len()
    );
    ensure!(
        fields.iter().all(|field| field.ty.is_number()),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Tuple elements of first argument of function {name} must be numbers"
    );
    if let Some(gamma) = args.get(1) {
        ensure!(
            gamma.ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Second argument of function {name} must be a number"
        );
    }
    Ok(DataType::tuple([DataType::Float64, DataType::Float64, DataType::Float64]).into())
}

fn execute(call: &Call, of: fn(Triple, f64) -> Triple) -> Result<Column> {
    let rules = Rules::new(Mode::Cast, call.ctx);
    let floats = |vector: &Vector, ty: &DataType| convert(vector, ty, &DataType::Float64, &rules);
    let (DataType::Tuple(types), tuple) = (call.args[0].ty, call.vector(0).structure()?) else {
        bail!(LOGICAL_ERROR, "A colour is a tuple");
    };
    let fields = tuple.fields.iter().zip(types.iter()).map(|(field, ty)| floats(field, &ty.ty));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let channels = [fields[0].values::<f64>()?, fields[1].values::<f64>()?, fields[2].values::<f64>()?];
    let gammas = call.args.get(1).map(|arg| floats(&arg.vector, arg.ty)).transpose()?;
    let gammas = gammas.as_ref().map(|gammas| gammas.values::<f64>()).transpose()?;
    let mut made: [Vec<f64>; 3] = Default::default();
    for row in 0..call.n_rows {
        let color = of(channels.map(|channel| channel[row]), gammas.map_or(GAMMA, |gammas| gammas[row]));
        made.iter_mut().zip(color).for_each(|(out, channel)| out.push(channel));
    }
    let fields = made.into_iter().map(Vector::from).collect();
    Ok(Vector::from(Data::Struct(Struct { fields, len: call.n_rows })).into())
}

macro_rules! conversion {
    ($name:literal, $summary:literal, $argument:literal, $of:expr, $sql:literal => $result:literal) => {
        Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(", $argument, "[, gamma])"),
                examples: &[Example { sql: $sql, result: $result }],
                ..Record::DEFAULT
            },
            bind,
            execute: |call| execute(call, $of),
        }
    };
}

static FUNCTIONS: [Plain; 4] = [
    conversion!("colorSRGBToOKLAB", "A colour of sRGB, channels from 0 to 255, as lightness, a and b of OKLab.",
        "(red, green, blue)", lab_of_srgb,
        "SELECT tupleElement(colorSRGBToOKLAB((0, 0, 0)), 1)" => "0"),
    conversion!("colorOKLABToSRGB", "A colour of OKLab as channels of sRGB, which are held between 0 and 255.",
        "(lightness, a, b)", srgb_of_lab,
        "SELECT colorOKLABToSRGB((2, 0, 0))" => "(255,255,255)"),
    conversion!("colorSRGBToOKLCH", "A colour of sRGB, channels from 0 to 255, as lightness, chroma and hue in degrees of OKLCH.",
        "(red, green, blue)", |srgb, gamma| lch_of_lab(lab_of_srgb(srgb, gamma)),
        "SELECT colorSRGBToOKLCH((0, 0, 0))" => "(0,0,0)"),
    conversion!("colorOKLCHToSRGB", "A colour of OKLCH, hue in degrees, as channels of sRGB, which are held between 0 and 255.",
        "(lightness, chroma, hue)", |lch, gamma| srgb_of_lab(lab_of_lch(lch), gamma),
        "SELECT colorOKLCHToSRGB((2, 0, 0))" => "(255,255,255)"),
];

pub fn register(registry: &mut Registry) {
    for function in &FUNCTIONS {
        registry.add_scalar(function);
    }
}
