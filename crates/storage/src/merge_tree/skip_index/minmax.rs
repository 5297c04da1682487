//! The smallest and the largest value of each granule.

use chalet_base::{Result, ensure};
use chalet_columns::builder::Builder;
use chalet_columns::{Column, Data, Vector};
use chalet_formats::binary::Cursor;
use chalet_formats::native::{read_column, write_column};
use chalet_types::{DataType, Value};
use std::cmp::Ordering;

const HAS_NULL: u8 = 1;
const HAS_VALUE: u8 = 2;
/// There are values that do not order.
const HAS_NAN: u8 = 4;

/// What is gathered of one expression.
pub struct MinMaxBuilder {
    ty: DataType,
    flags: Vec<u8>,
    min: Builder,
    max: Builder,
    current: u8,
    least: Option<Vector>,
    greatest: Option<Vector>,
}

impl MinMaxBuilder {
    pub fn new(ty: &DataType) -> MinMaxBuilder {
        let ty = ty.bare().clone();
        MinMaxBuilder {
            flags: Vec::new(),
            min: Builder::new(&ty),
            max: Builder::new(&ty),
            current: 0,
            least: None,
            greatest: None,
            ty,
        }
    }

    /// More rows of the current granule.
    pub fn add(&mut self, vector: &Vector) {
        let (mut least, mut greatest) = (None::<usize>, None::<usize>);
        let values = vector.without_nulls();
        for row in 0..vector.len() {
            if vector.is_null(row) {
                self.current |= HAS_NULL;
                continue;
            }
            if is_nan(vector, row) {
                self.current |= HAS_NAN;
                continue;
            }
            if least.is_none_or(|known| values.compare(row, &values, known) == Ordering::Less) {
                least = Some(row);
            }
            if greatest.is_none_or(|known| values.compare(row, &values, known) == Ordering::Greater) {
                greatest = Some(row);
            }
        }
        let keep = |known: &mut Option<Vector>, row: Option<usize>, wanted: Ordering| {
            let Some(row) = row else { return };
            if known.as_ref().is_none_or(|known| values.compare(row, known, 0) == wanted) {
                *known = Some(values.gather(&[row as u32]).compact());
            }
        };
        keep(&mut self.least, least, Ordering::Less);
        keep(&mut self.greatest, greatest, Ordering::Greater);
    }

    /// The granule is whole.
    pub fn cut(&mut self) {
        match (self.least.take(), self.greatest.take()) {
            (Some(least), Some(greatest)) => {
                self.current |= HAS_VALUE;
                self.min.push_from(&least, 0);
                self.max.push_from(&greatest, 0);
            }
            _ => {
                self.min.push_default();
                self.max.push_default();
            }
        }
        self.flags.push(std::mem::take(&mut self.current));
    }

    pub fn finish(self, out: &mut Vec<u8>) -> Result<()> {
        out.extend(&self.flags);
        write_column(out, &self.ty, &Column::Flat(self.min.finish()))?;
        write_column(out, &self.ty, &Column::Flat(self.max.finish()))
    }
}

fn is_nan(vector: &Vector, row: usize) -> bool {
    match &vector.data {
        Data::F64(values) => values[row].is_nan(),
        Data::F32(values) => values[row].is_nan(),
        _ => false,
    }
}

/// The bounds of all granules, by expression.
pub struct MinMax(Vec<Bounds>);

struct Bounds {
    flags: Vec<u8>,
    min: Vector,
    max: Vector,
}

/// What is known of an expression in one granule.
#[derive(Clone, Debug)]
pub struct MinMaxGranule {
    pub has_null: bool,
    /// There are values that are neither less nor greater than others.
    pub has_nan: bool,
    /// The extremes of the others; none where there is none.
    pub extremes: Option<(Value, Value)>,
}

impl MinMax {
    pub fn decode(from: &mut Cursor<'_>, types: &[DataType], n_granules: usize) -> Result<MinMax> {
        let bounds = types.iter().map(|ty| {
            let flags = from.take(n_granules)?.to_vec();
            let min = read_column(from, ty.bare(), n_granules)?.into_flat();
            let max = read_column(from, ty.bare(), n_granules)?.into_flat();
            let is_sound = min.len() == n_granules && max.len() == n_granules;
            ensure!(is_sound, INCORRECT_DATA, "The bounds of an index are cut short");
            Ok(Bounds { flags, min, max })
        });
        Ok(MinMax(bounds.collect::<Result<_>>()?))
    }

    /// How many granules there are.
    pub fn n_granules(&self) -> usize {
        self.0.first().map_or(0, |bounds| bounds.flags.len())
    }

    /// What is known of an expression in a granule.
    pub fn granule(&self, expr: usize, granule: usize) -> MinMaxGranule {
        let bounds = &self.0[expr];
        let has = |flag: u8| bounds.flags[granule] & flag != 0;
        MinMaxGranule {
            has_null: has(HAS_NULL),
            has_nan: has(HAS_NAN),
            extremes: has(HAS_VALUE).then(|| (bounds.min.value(granule), bounds.max.value(granule))),
        }
    }
}
