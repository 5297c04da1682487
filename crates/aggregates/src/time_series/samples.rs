//! Samples: times with a value each. Functions take them one a row, as two arrays or as an array of tuples.

use crate::check::two_arguments;
use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::{put_len, take_array, take_count, take_f64};
use chalet_columns::{Builder, Data, List, Vector, builder};
use chalet_function_api::Argument;
use chalet_types::DataType;

/// A time in ticks and a value.
pub type Sample = (i64, f64);

/// The types of times and values, and how they stand in the arguments.
pub struct Shape {
    pub time: DataType,
    pub value: DataType,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Rows,
    TwoArrays,
    ArrayOfTuples,
}

impl Shape {
    /// Checks that there are samples in the arguments.
    pub fn of(name: &str, args: &[Argument]) -> Result<Shape> {
        if let [samples] = args {
            if let DataType::Array(element) = &samples.ty
                && let DataType::Tuple(fields) = &**element
                && let [time, value] = &fields[..]
            {
                return Ok(Shape {
                    time: time.ty.clone(),
                    value: value.ty.clone(),
                    form: Form::ArrayOfTuples,
                });
            }
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument for aggregate function {name}, expected Array(Tuple(timestamp, value))",
                samples.ty
            );
        }
        two_arguments(name, args)?;
        let (time, value) = (&args[0].ty, &args[1].ty);
        match (time, value) {
            (DataType::Array(time), DataType::Array(value)) => {
                Ok(Shape { time: (**time).clone(), value: (**value).clone(), form: Form::TwoArrays })
            }
            (DataType::Array(_), _) | (_, DataType::Array(_)) => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal combination of argument type {time} and {value} for aggregate function {name}, expected both arguments to \
                 be arrays or not arrays"
            ),
            _ => Ok(Shape { time: time.clone(), value: value.clone(), form: Form::Rows }),
        }
    }

    /// Fails unless times and values are of the types that most functions take.
    pub fn check(&self, name: &str, times: &str, values: &str) -> Result<()> {
        ensure!(
            matches!(self.time, DataType::UInt32 | DataType::DateTime(_) | DataType::DateTime64(..)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of {times} for aggregate function {name}",
            self.time
        );
        ensure!(
            matches!(self.value, DataType::Float32 | DataType::Float64),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of {values} for aggregate function {name}",
            self.value
        );
        Ok(())
    }

    /// Looks at the arguments of a block.
    pub fn input<'a>(&self, args: &'a [Vector]) -> Result<Input<'a>> {
        let lists = |time: &'a List, value: Option<&'a List>| -> Result<Input<'a>> {
            let (times, values) = match value {
                Some(value) => (&*time.values, &*value.values),
                None => {
                    let fields = &time.values.structure()?.fields;
                    (&fields[0], &fields[1])
                }
            };
            Ok(Input { times: Times::of(times)?, values: Values::of(values)?, lists: Some((time, value)) })
        };
        match self.form {
            Form::Rows => {
                Ok(Input { times: Times::of(&args[0])?, values: Values::of(&args[1])?, lists: None })
            }
            Form::TwoArrays => lists(args[0].list()?, Some(args[1].list()?)),
            Form::ArrayOfTuples => lists(args[0].list()?, None),
        }
    }
}

/// Appends samples as a list of tuples of a time and a value.
pub fn push_samples<'a>(samples: impl Iterator<Item = &'a Sample>, out: &mut Builder) -> Result<()> {
    let builder::Values::List(list) = &mut out.values else {
        bail!(LOGICAL_ERROR, "Samples are not a list");
    };
    let builder::Values::Struct { fields, len } = &mut list.values.values else {
        bail!(LOGICAL_ERROR, "Samples are not tuples");
    };
    for &(time, value) in samples {
        push_time(time, &mut fields[0])?;
        match &mut fields[1].values {
            builder::Values::F32(values) => values.push(value as f32),
            builder::Values::F64(values) => values.push(value),
            _ => bail!(LOGICAL_ERROR, "Values of samples are of no known type"),
        }
        *len += 1;
    }
    list.close();
    Ok(())
}

/// The sign bit of an unsigned time: flipped, it sorts as a signed one.
pub const SIGN: u64 = 1 << 63;

fn push_time(time: i64, out: &mut Builder) -> Result<()> {
    match &mut out.values {
        builder::Values::U8(values) => values.push(time as u8),
        builder::Values::U16(values) => values.push(time as u16),
        builder::Values::U32(values) => values.push(time as u32),
        builder::Values::U64(values) => values.push(time as u64 ^ SIGN),
        builder::Values::I8(values) => values.push(time as i8),
        builder::Values::I16(values) => values.push(time as i16),
        builder::Values::I32(values) => values.push(time as i32),
        builder::Values::I64(values) => values.push(time),
        _ => bail!(LOGICAL_ERROR, "Times of samples are of no known type"),
    }
    Ok(())
}

/// The samples of a block.
pub struct Input<'a> {
    times: Times<'a>,
    values: Values<'a>,
    lists: Option<(&'a List, Option<&'a List>)>,
}

impl Input<'_> {
    /// Calls for each sample of a row.
    pub fn each(&self, row: usize, mut with: impl FnMut(Sample)) -> Result<()> {
        let Some((times, values)) = self.lists else {
            with((self.times.get(row), self.values.get(row)));
            return Ok(());
        };
        let range = times.range(row);
        let start = match values.map(|values| values.range(row)) {
            Some(other) => {
                ensure!(
                    range.len() == other.len(),
                    BAD_ARGUMENTS,
                    "Timestamp and value arrays have different sizes at row {row} : {} and {}",
                    range.len(),
                    other.len()
                );
                other.start
            }
            None => range.start,
        };
        for (i, at) in range.enumerate() {
            with((self.times.get(at), self.values.get(start + i)));
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Times<'a> {
    Short(&'a [u32]),
    Long(&'a [i64]),
}

impl<'a> Times<'a> {
    fn of(vector: &'a Vector) -> Result<Times<'a>> {
        Ok(match &vector.data {
            Data::U32(values) => Times::Short(values),
            _ => Times::Long(vector.values()?),
        })
    }

    #[inline]
    fn get(self, at: usize) -> i64 {
        match self {
            Times::Short(values) => values[at].into(),
            Times::Long(values) => values[at],
        }
    }
}

#[derive(Clone, Copy)]
enum Values<'a> {
    Short(&'a [f32]),
    Long(&'a [f64]),
}

impl<'a> Values<'a> {
    fn of(vector: &'a Vector) -> Result<Values<'a>> {
        Ok(match &vector.data {
            Data::F32(values) => Values::Short(values),
            _ => Values::Long(vector.values()?),
        })
    }

    #[inline]
    fn get(self, at: usize) -> f64 {
        match self {
            Values::Short(values) => values[at].into(),
            Values::Long(values) => values[at],
        }
    }
}

/// Samples of a group, in order of time once somebody asks.
#[derive(Default)]
pub struct Samples {
    samples: Vec<Sample>,
    unordered: bool,
}

impl Samples {
    /// Adds one.
    pub fn push(&mut self, sample: Sample) {
        match self.samples.last_mut() {
            Some(last) if last.0 == sample.0 => last.1 = greater(last.1, sample.1),
            Some(last) => {
                self.unordered |= last.0 > sample.0;
                self.samples.push(sample);
            }
            None => self.samples.push(sample),
        }
    }

    /// Adds those of another group.
    pub fn append(&mut self, other: Samples) {
        if self.samples.is_empty() {
            *self = other;
        } else {
            other.samples.into_iter().for_each(|sample| self.push(sample));
        }
    }

    /// One per time, the earliest first: of several at a time the greatest, and NaN only where there is nothing else.
    pub fn in_order(&mut self) -> &[Sample] {
        if std::mem::take(&mut self.unordered) {
            self.samples.sort_by_key(|sample| sample.0);
            self.samples.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 = greater(kept.1, next.1);
                }
                same
            });
        }
        &self.samples
    }

    /// Appends them as bytes.
    pub fn serialise(&self, out: &mut Vec<u8>) {
        put_len(self.samples.len(), out);
        for (time, value) in &self.samples {
            out.extend(time.to_le_bytes());
            out.extend(value.to_le_bytes());
        }
    }

    /// Takes what `serialise` wrote.
    pub fn deserialise(bytes: &mut &[u8]) -> Result<Samples> {
        let mut samples = Samples::default();
        for _ in 0..take_count(bytes, 16)? {
            let time = i64::from_le_bytes(take_array(bytes)?);
            samples.push((time, take_f64(bytes)?));
        }
        Ok(samples)
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.samples.capacity() * size_of::<Sample>()
    }
}

/// The value that is used of two at the same time.
pub fn greater(a: f64, b: f64) -> f64 {
    if a.is_nan() || b > a { b } else { a }
}
