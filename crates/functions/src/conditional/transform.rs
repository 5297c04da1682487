//! `transform`: values replaced by a table of constants.

use crate::conversion::cast::{Mode, Rules, check, convert};
use crate::ids::bits;
use crate::select::{Branch, select};
use crate::widen::widen;
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure};
use chalet_columns::keys::group_keys;
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Nulls, Record, ScalarFunction,
};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, Value};
use std::hash::Hash;

const RECORD: Record = Record {
    name: "transform",
    summary: "Replaces the values of the second argument by those of the third; others become the default, or stay as they are.",
    syntax: "transform(x, from, to[, default])",
    examples: &[Example {
        sql: "SELECT transform(2, [1, 2], ['one', 'two'], 'many'), transform(3, [1, 2], [10, 20])",
        result: "two\t3",
    }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub struct Transform;

/// The table, and the type in which values are looked up.
struct Table {
    lookup: DataType,
    rows: Rows,
    to: Vector,
}

/// The rows of the table by value.
enum Rows {
    /// Of numbers of at most 64 bits, by these: zero and minus zero are two.
    Words(HashMap<u64, u32>),
    Strings(HashMap<Vec<u8>, u32>),
    /// Of anything else by its bytes as a key.
    Keys(HashMap<Vec<u8>, u32>),
}

impl Rows {
    /// Of the values that fit; of equal ones the first. NULL among them is a value too.
    fn of(values: &Vector, fits: impl Fn(usize) -> bool) -> Rows {
        fn by<K: Eq + Hash>(keys: impl Iterator<Item = K>, fits: impl Fn(usize) -> bool) -> HashMap<K, u32> {
            let mut rows = HashMap::default();
            for (row, key) in keys.enumerate().filter(|(row, _)| fits(*row)) {
                rows.entry(key).or_insert(row as u32);
            }
            rows
        }
        let has_nulls = values.validity.as_ref().is_some_and(|validity| validity.null_count() > 0);
        match (&values.data, bits(values)) {
            (_, Some(words)) if !has_nulls => Rows::Words(by(words.into_iter(), fits)),
            (Data::Str(texts), _) if !has_nulls => Rows::Strings(by(texts.iter().map(<[u8]>::to_vec), fits)),
            _ => Rows::Keys(by(keys(values).into_iter(), fits)),
        }
    }

    /// The row for each value.
    fn find(&self, values: &Vector) -> Vec<Option<u32>> {
        let valid = |row: usize| !values.is_null(row);
        match self {
            Rows::Words(rows) => {
                let words = bits(values).unwrap_or_default().into_iter().enumerate();
                words.map(|(row, word)| rows.get(&word).copied().filter(|_| valid(row))).collect()
            }
            Rows::Strings(rows) => {
                let Data::Str(texts) = &values.data else { return vec![None; values.len()] };
                let texts = texts.iter().enumerate();
                texts.map(|(row, text)| rows.get(text).copied().filter(|_| valid(row))).collect()
            }
            Rows::Keys(rows) => keys(values).iter().map(|key| rows.get(key).copied()).collect(),
        }
    }
}

/// Whether a row is NaN, which equals nothing.
fn is_nan(vector: &Vector, row: usize) -> bool {
    match &vector.data {
        Data::F32(values) => values[row].is_nan(),
        Data::F64(values) => values[row].is_nan(),
        _ => false,
    }
}

fn element(ty: &DataType) -> Option<&DataType> {
    match ty.bare() {
        DataType::Array(inner) => Some(inner),
        _ => None,
    }
}

fn keys(vector: &Vector) -> Vec<Vec<u8>> {
    let n = vector.len();
    let column = Column::Flat(vector.clone());
    let keys = group_keys(&[&column], n);
    (0..n).map(|row| keys.get(row).to_vec()).collect()
}

impl ScalarFunction for Transform {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        ensure!(
            (3..=4).contains(&args.len()),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Number of arguments for function transform doesn't match: passed {}, should be 4 or 3",
            args.len()
        );
        let (Some(from), Some(to)) = (element(&args[1].ty), element(&args[2].ty)) else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Second and third arguments of function transform must be arrays, got {} and {}",
                args[1].ty,
                args[2].ty
            );
        };
        let other = args.get(3).map_or(&args[0].ty, |arg| &arg.ty);
        // Where x itself is the default, NULL has no place among the values.
        let nullable = args.len() == 3 && (to.is_nullable() || other.is_nullable());
        // Nor do texts become values of its Enum.
        let is_enum = matches!(args[0].ty.bare(), DataType::Enum8(_) | DataType::Enum16(_));
        let mixes = args.len() == 3 && is_enum && to.bare() == &DataType::String;
        let result = common_supertype(&[to.clone(), other.clone()]).ok().filter(|_| !nullable && !mixes);
        let Some(result) = result.filter(|_| *to != DataType::Nothing) else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Function transform has signature: transform(T, Array(T), Array(U), U) -> U; or transform(T, Array(T), Array(T)) -> T; where T and U are types"
            );
        };
        let (Some(Value::Array(keys_given)), Some(Value::Array(values))) =
            (&args[1].constant, &args[2].constant)
        else {
            bail!(ILLEGAL_COLUMN, "Second and third arguments of function transform must be constant arrays");
        };
        ensure!(
            keys_given.len() == values.len() || keys_given.is_empty(),
            BAD_ARGUMENTS,
            "Second and third arguments of function transform must be arrays of same size"
        );
        ensure!(
            args.len() < 4
                || !matches!(result.bare(), DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..)),
            NOT_IMPLEMENTED,
            "Unexpected type {result} in function 'transform'"
        );
        let vector_of = |values: &[Value], ty: &DataType| {
            let list = Vector::of_value(&Value::Array(values.to_vec()), &ty.clone().array())?;
            Ok(list.list()?.values.as_ref().clone())
        };
        let x = &args[0].ty;
        ensure!(
            x.is_nullable() || !keys_given.iter().any(|key| matches!(key, Value::Null)),
            CANNOT_CONVERT_TYPE,
            "Cannot convert NULL to a non-nullable type"
        );
        let given = vector_of(keys_given, from)?;
        let to_vector = widen(&vector_of(values, to)?, to, &result, ctx)?;
        // Keys that x can never equal are left out.
        let (lookup, from_vector, fits) = match common_supertype(&[x.clone(), from.clone()]) {
            // Names of an Enum, all of which must be its own.
            Ok(_) if is_enum && from.bare() == &DataType::String => {
                let own = x.without_low_cardinality();
                (own.clone(), convert(&given, from, own, &Rules::new(Mode::Cast, ctx))?, None)
            }
            Ok(lookup) => {
                let wide = widen(&given, from, &lookup, ctx)?;
                (lookup, wide, None)
            }
            Err(_) => {
                check(from, x)?;
                let own = x.clone().nullable();
                let read = convert(&given, from, &own, &Rules::new(Mode::OrNull, ctx))?;
                (x.clone(), read.without_nulls(), read.validity.clone())
            }
        };
        let rows = Rows::of(&from_vector, |row| {
            fits.as_ref().is_none_or(|fits| fits.is_valid(row)) && !is_nan(&from_vector, row)
        });
        Ok(Bound::with_state(result, Table { lookup, rows, to: to_vector }))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let table: &Table = call.state()?;
        let n = call.n_rows;
        let x = &call.args[0];
        let wide = widen(&x.vector, x.ty, &table.lookup, call.ctx)?;
        let found = table.rows.find(&wide);
        let at = |row: usize| found[if x.constant { 0 } else { row }];
        let otherwise = call.args.get(3).unwrap_or(x);
        let default = widen(&otherwise.vector, otherwise.ty, call.result, call.ctx)?;
        if table.to.is_empty() {
            return Ok(if otherwise.constant { Column::constant(default, n) } else { default.into() });
        }
        let rows: Vec<u32> = (0..n).map(|row| at(row).unwrap_or(0)).collect();
        let replaced = table.to.gather(&rows);
        let choice: Vec<u8> = (0..n).map(|row| u8::from(at(row).is_none())).collect();
        let branches = [
            Branch { vector: &replaced, constant: false },
            Branch { vector: &default, constant: otherwise.constant },
        ];
        Ok(select(&branches, &choice)?.into())
    }
}
