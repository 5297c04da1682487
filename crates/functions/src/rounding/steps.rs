//! `roundToExp2`, `roundDuration`, `roundAge`, `roundDown`: rounding down to one of given numbers.

use crate::lanes::{Operand, RUN, unary};
use crate::number::Integer;
use crate::widen::widen;
use crate::with_integer;
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Buf, Column, Data, Native, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, Physical, Value};

const TO_EXP2: Record = Record {
    name: "roundToExp2",
    summary: "Rounds towards zero to a power of two.",
    syntax: "roundToExp2(x)",
    examples: &[Example { sql: "SELECT roundToExp2(100), roundToExp2(0.3)", result: "64\t0.25" }],
    total: true,
    ..Record::DEFAULT
};

const DURATION: Record = Record {
    name: "roundDuration",
    summary: "Rounds a number of seconds down to 0, 1, 10, 30, 60, 120, 180, 240, 300, 600, 1200, 1800, 3600, 7200, 18000 or 36000.",
    syntax: "roundDuration(seconds)",
    examples: &[Example { sql: "SELECT roundDuration(45), roundDuration(4000)", result: "30\t3600" }],
    total: true,
    ..Record::DEFAULT
};

const AGE: Record = Record {
    name: "roundAge",
    summary: "Rounds an age down to 0, 17, 18, 25, 35, 45 or 55; every age from 1 to 17 is 17.",
    syntax: "roundAge(age)",
    examples: &[Example { sql: "SELECT roundAge(5), roundAge(30)", result: "17\t25" }],
    total: true,
    ..Record::DEFAULT
};

const DOWN: Record = Record {
    name: "roundDown",
    summary: "The greatest of the given numbers that is not above x, or the least of them.",
    syntax: "roundDown(x, array)",
    examples: &[Example { sql: "SELECT roundDown(5, [1, 3, 10]), roundDown(0, [1, 3, 10])", result: "3\t1" }],
    total: true,
    ..Record::DEFAULT
};

/// The type that results of `roundDuration` and `roundAge` have, by the kind of step.
pub struct Steps {
    record: &'static Record,
    /// Lower bounds and what the values from there on become.
    steps: &'static [(f64, u16)],
    result: DataType,
}

pub const DURATION_FUNCTION: Steps = Steps {
    record: &DURATION,
    steps: &[
        (1.0, 1),
        (10.0, 10),
        (30.0, 30),
        (60.0, 60),
        (120.0, 120),
        (180.0, 180),
        (240.0, 240),
        (300.0, 300),
        (600.0, 600),
        (1200.0, 1200),
        (1800.0, 1800),
        (3600.0, 3600),
        (7200.0, 7200),
        (18000.0, 18000),
        (36000.0, 36000),
    ],
    result: DataType::UInt16,
};

pub const AGE_FUNCTION: Steps = Steps {
    record: &AGE,
    steps: &[(1.0, 17), (18.0, 18), (25.0, 25), (35.0, 35), (45.0, 45), (55.0, 55)],
    result: DataType::UInt8,
};

fn plain_number(name: &str, args: &[Argument]) -> Result<()> {
    check_arity(name, args.len(), 1..=1)?;
    let ty = &args[0].ty;
    ensure!(
        ty.is_number() && !ty.is_decimal() && *ty != DataType::BFloat16,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {ty} of argument of function {name}"
    );
    Ok(())
}

impl ScalarFunction for Steps {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        plain_number(self.record.name, args)?;
        Ok(self.result.clone().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let step = |x: f64| {
            let above = self.steps.partition_point(|step| step.0 <= x);
            above.checked_sub(1).map_or(0, |index| self.steps[index].1)
        };
        let operand = Operand::of(call, 0);
        Ok(match self.result {
            DataType::UInt8 => Vector::from(unary::<f64, u8>(operand, call.n_rows, |x| step(x) as u8)?),
            _ => Vector::from(unary::<f64, u16>(operand, call.n_rows, step)?),
        }
        .into())
    }
}

pub struct ToExp2;

impl ScalarFunction for ToExp2 {
    fn record(&self) -> &'static Record {
        &TO_EXP2
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        plain_number(TO_EXP2.name, args)?;
        let wide = args[0].ty.physical().width().is_some_and(|width| width > 8);
        ensure!(!wide, NOT_IMPLEMENTED, "roundToExp2() for big integers is not implemented");
        Ok(match &args[0].ty {
            DataType::Bool => DataType::UInt8,
            other => other.clone(),
        }
        .into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        /// The highest set bit of a positive number; negative ones are 0.
        fn power<C: Integer>(x: C) -> C {
            if x <= C::ZERO {
                return C::ZERO;
            }
            // All bits below the highest are set, and then taken away.
            let (mut filled, mut step) = (x, 1);
            while step < C::BITS {
                filled = filled.bit_or(filled.shr(step));
                step *= 2;
            }
            filled.sub(filled.shr(1))
        }
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let vector = with_integer!(call.result.physical(), C => Vector::from(unary::<C, C>(x, n, power::<C>)?),
        _ => match call.result.physical() {
            // Clearing the mantissa leaves the power of two.
            Physical::F32 => {
                unary::<f32, f32>(x, n, |x| f32::from_bits(x.to_bits() & 0xff80_0000))?.into()
            }
            _ => unary::<f64, f64>(x, n, |x| f64::from_bits(x.to_bits() & 0xfff0_0000_0000_0000))?.into(),
        });
        Ok(vector.into())
    }
}

/// So many bounds are looked at one by one for a run of values.
const FEW_BOUNDS: usize = 16;

pub struct Down;

/// The bounds in ascending order.
struct Bounds(Vector);

impl ScalarFunction for Down {
    fn record(&self) -> &'static Record {
        &DOWN
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(DOWN.name, args.len(), 2..=2)?;
        let ty = &args[0].ty;
        ensure!(
            ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Unsupported type {ty} of first argument of function roundDown, must be numeric type"
        );
        let DataType::Array(element) = &args[1].ty else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Second argument of function roundDown, must be array of boundaries to round to"
            );
        };
        ensure!(
            element.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Elements of array of second argument of function roundDown must be numeric type"
        );
        let Some(Value::Array(items)) = &args[1].constant else {
            bail!(ILLEGAL_COLUMN, "Second argument of function roundDown must be constant array");
        };
        ensure!(
            !items.is_empty(),
            BAD_ARGUMENTS,
            "Empty array is illegal for boundaries in roundDown function"
        );
        let result = common_supertype(&[ty.clone(), DataType::clone(element)])?;
        let list = Vector::of_value(&Value::Array(items.clone()), &args[1].ty)?;
        let bounds = widen(&list.list()?.values, element, &result, ctx)?;
        let mut rows: Vec<u32> = (0..bounds.len() as u32).collect();
        rows.sort_by(|&x, &y| bounds.compare(x as usize, &bounds, y as usize));
        Ok(Bound::with_state(result, Bounds(bounds.gather(&rows))))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Bounds(bounds) = call.state()?;
        let x = widen(call.vector(0), call.args[0].ty, call.result, call.ctx)?;
        fn each<T: Native + PartialOrd>(bounds: &[T], x: &Buf<T>) -> Data {
            if bounds.len() > FEW_BOUNDS {
                let step = |x: &T| bounds[bounds.partition_point(|bound| bound <= x).saturating_sub(1)];
                return T::wrap(x.iter().map(step).collect());
            }
            let mut rounded = vec![bounds[0]; x.len()];
            dispatch_simd(|| {
                for (to, some) in rounded.chunks_mut(RUN).zip(x.chunks(RUN)) {
                    for &bound in &bounds[1..] {
                        to.iter_mut()
                            .zip(some)
                            .for_each(|(to, x)| *to = if bound <= *x { bound } else { *to });
                    }
                }
            });
            T::wrap(rounded.into())
        }
        macro_rules! each_integer {
            ($($variant:ident),*) => {
                match (&bounds.data, &x.data) {
                    $((Data::$variant(bounds), Data::$variant(x)) => Some(each(bounds, x)),)*
                    _ => None,
                }
            };
        }
        if let Some(data) = each_integer!(U8, U16, U32, U64, I8, I16, I32, I64) {
            return Ok(Vector::from(data).into());
        }
        let is_nan = |data: &Data| match data {
            Data::F64(values) => values.iter().any(|x| x.is_nan()),
            _ => true,
        };
        if let (Data::F64(all), Data::F64(values)) = (&bounds.data, &x.data)
            && !is_nan(&bounds.data)
            && !is_nan(&x.data)
        {
            return Ok(Vector::from(each(all, values)).into());
        }
        let order: Vec<u32> = (0..bounds.len() as u32).collect();
        let rows: Vec<u32> = (0..call.n_rows)
            .map(|row| {
                let above = order.partition_point(|&bound| bounds.compare(bound as usize, &x, row).is_le());
                above.saturating_sub(1) as u32
            })
            .collect();
        Ok(bounds.gather(&rows).into())
    }
}
