//! `dictGet` and its variants: attributes of keys.

use super::lookup::{BASE, Keys, all_null, check_has_keys, exactly, finder, range_values};
use crate::dictionaries::definition::Definition;
use crate::dictionaries::finder::{Finder, Found};
use chalet_base::{Result, bail, ensure};
use chalet_columns::vector::Struct;
use chalet_columns::{BooleanBuffer, Column, Data, NullBuffer, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Record, Registry, ScalarFunction};
use chalet_types::{DataType, TupleField, Value};

/// What a key that is not there has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// The default of the attribute.
    Default,
    /// The last argument.
    Given,
    Null,
}

struct DictGet {
    record: Record,
    missing: Missing,
    /// Of variants whose names have a type.
    expected: Option<DataType>,
}

struct Lookup {
    finder: Finder,
    keys: Keys,
    attributes: Vec<usize>,
    /// The second argument is a tuple, and so the result.
    is_tuple: bool,
    /// Type of the value that chooses among ranges, as it is given.
    range: Option<DataType>,
    /// Type of the given default.
    default: Option<DataType>,
}

impl Lookup {
    /// The types of the attributes.
    fn types(&self) -> impl Iterator<Item = &DataType> {
        self.attributes.iter().map(|index| &self.finder.definition().attributes[*index].ty)
    }

    /// The type of a value, or of the tuple of all.
    fn together(&self, ty: impl Fn(&DataType) -> DataType) -> DataType {
        if !self.is_tuple {
            return self.types().next().map_or(DataType::Nothing, ty);
        }
        let fields = self.attributes.iter().zip(self.types()).map(|(index, of)| TupleField {
            name: Some(self.finder.definition().attributes[*index].name.clone()),
            ty: ty(of),
        });
        DataType::Tuple(fields.collect())
    }
}

/// Fails for a second argument that names no attribute of any dictionary.
pub(super) fn check_names(name: &str, arg: &Argument) -> Result<()> {
    match &arg.constant {
        Some(Value::Tuple(names)) => ensure!(
            !names.is_empty() && names.iter().all(|name| name.as_str().is_some()),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Tuple second argument of function {name} must contain multiple constant string columns"
        ),
        Some(value) if value.as_str().is_some() => {}
        _ => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of second argument of function {name}, expected a const string or const tuple of const strings",
            arg.ty
        ),
    }
    Ok(())
}

/// The attributes that the second argument names, and whether it is a tuple.
pub(super) fn attributes(name: &str, arg: &Argument, definition: &Definition) -> Result<(Vec<usize>, bool)> {
    let find = |attribute: &str| {
        let found = definition.attribute(attribute);
        found.ok_or_else(|| chalet_base::err!(BAD_ARGUMENTS, "No such attribute '{attribute}'"))
    };
    match &arg.constant {
        Some(Value::Tuple(names)) => {
            let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
            let Some(names) = names.filter(|names| !names.is_empty()) else {
                bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Tuple second argument of function {name} must contain multiple constant string columns"
                );
            };
            Ok((names.into_iter().map(find).collect::<Result<_>>()?, true))
        }
        Some(value) if value.as_str().is_some() => {
            Ok((vec![find(value.as_str().unwrap_or_default())?], false))
        }
        _ => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of second argument of function {name}, expected a const string or const tuple of const strings",
            arg.ty
        ),
    }
}

impl DictGet {
    fn lookup(&self, args: &[Argument], ctx: &Context) -> Result<Lookup> {
        let name = self.record.name;
        if let (Some(dictionary), Some(names)) = (args.first(), args.get(1))
            && dictionary.constant.as_ref().and_then(Value::as_str).is_some()
            && args.len() > 2
        {
            check_names(name, names)?;
        }
        ensure!(
            args.len() >= 3,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Wrong argument count for function {name}"
        );
        let finder = finder(name, args, ctx)?;
        let definition = finder.definition().clone();
        if self.missing != Missing::Default {
            check_has_keys(&definition)?;
        }
        let (attributes, is_tuple) = attributes(name, &args[1], &definition)?;
        let mut next = 3;
        let range = match definition.range_type() {
            None => None,
            Some(_) => {
                let Some(arg) = args.get(next) else { return Err(arity(name, args.len(), next + 1)) };
                let ty = arg.ty.clone();
                ensure!(
                    ty.is_comparable_by_number() && !ty.is_nullable(),
                    ILLEGAL_COLUMN,
                    "Illegal type {ty} of fourth argument of function {name} must be convertible to Int64"
                );
                next += 1;
                Some(ty)
            }
        };
        let default = match self.missing {
            Missing::Given => {
                let Some(arg) = args.get(next) else { return Err(arity(name, args.len(), next + 1)) };
                next += 1;
                Some(arg.ty.clone())
            }
            _ => None,
        };
        if args.len() != next {
            return Err(arity(name, args.len(), next));
        }
        if let Some(expected) = &self.expected {
            for index in &attributes {
                let ty = &definition.attributes[*index].ty;
                ensure!(
                    ty == expected
                        || matches!((ty, expected), (DataType::DateTime(_), DataType::DateTime(_))),
                    TYPE_MISMATCH,
                    "Function {name} dictionary attribute has different type {ty} expected {expected}"
                );
            }
        }
        let keys = Keys::new(name, &args[2].ty, &definition)?;
        ensure!(
            !(keys.is_nullable && is_tuple) || keys.is_null,
            UNSUPPORTED_METHOD,
            "Function {name} support nullable key only for single dictionary attribute"
        );
        Ok(Lookup { finder, keys, attributes, is_tuple, range, default })
    }

    /// The values of the attributes of the call's keys.
    fn values(&self, call: &Call, lookup: &Lookup) -> Result<Vector> {
        let (keys, validity) = lookup.keys.vectors(call.vector(2), call.ctx)?;
        let range = range_values(call, 3, lookup.range.as_ref(), lookup.finder.definition())?;
        let Found { loaded, rows } = lookup.finder.find(&keys, range.as_ref())?;
        let given = match &lookup.default {
            None => None,
            Some(from) => {
                let to = lookup.together(DataType::clone);
                Some(exactly(call.vector(call.args.len() - 1), from, &to, call.ctx)?)
            }
        };
        let mut fields = Vec::with_capacity(lookup.attributes.len());
        for (at, (&index, ty)) in lookup.attributes.iter().zip(lookup.types()).enumerate() {
            let values = loaded.values(index);
            let given = given.as_ref().map(|given| match (&given.data, lookup.is_tuple) {
                (Data::Struct(tuple), true) => tuple.fields[at].clone(),
                _ => given.clone(),
            });
            fields.push(match (self.missing, given) {
                (Missing::Given, Some(given)) => with_given(values, &given, &rows),
                (Missing::Null, _) if ty.is_nullable() || ty.can_be_nullable() => {
                    let found: BooleanBuffer = rows.iter().map(|row| *row > 0).collect();
                    values.gather(&rows).with_nulls(Some(&NullBuffer::new(found)))
                }
                _ => values.gather(&rows),
            });
        }
        let len = rows.len();
        match fields.len() {
            1 if !lookup.is_tuple => {
                let value = fields.remove(0);
                let nullable = call.result.is_nullable();
                Ok(if nullable { value.with_nulls(validity.as_ref()) } else { value })
            }
            _ => Ok(Data::Struct(Struct { fields, len }).into()),
        }
    }
}

/// Rows that are 0 take the value of the call's row. Only what the call asks for is copied: a dictionary may be large.
fn with_given(values: &Vector, given: &Vector, rows: &[u32]) -> Vector {
    let found = values.gather(rows);
    if rows.iter().all(|row| *row > 0) {
        return found;
    }
    let n_rows = rows.len() as u32;
    let places: Vec<u32> = (0..).zip(rows).map(|(at, &row)| if row > 0 { at } else { n_rows + at }).collect();
    Vector::concat(&[&found, given]).gather(&places)
}

fn arity(name: &str, given: usize, wanted: usize) -> chalet_base::Error {
    chalet_base::err!(
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Number of arguments for function {name} doesn't match: passed {given} should be {wanted}"
    )
}

impl ScalarFunction for &'static DictGet {
    fn record(&self) -> &'static Record {
        let function: &'static DictGet = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        let lookup = self.lookup(args, ctx)?;
        let nullable = |ty: &DataType| if ty.can_be_nullable() { ty.clone().nullable() } else { ty.clone() };
        let ty = match self.missing {
            Missing::Null => lookup.together(nullable),
            _ => lookup.together(DataType::clone),
        };
        let result = lookup.keys.result(ty);
        Ok(Bound::with_state(result, lookup))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let lookup: &Lookup = call.state()?;
        Ok(Column::Flat(if lookup.keys.is_null { all_null(call) } else { self.values(call, lookup)? }))
    }
}

const GET: Record = Record {
    name: "dictGet",
    summary: "The value of an attribute, or the tuple of the values of several, that a dictionary has for a key; the \
              attribute's default where it has none. A dictionary of ranges takes the value in the range behind the key.",
    syntax: "dictGet('dictionary', 'attribute', key)",
    ..BASE
};

const OR_DEFAULT: Record = Record {
    name: "dictGetOrDefault",
    summary: "As dictGet, with the last argument for keys that the dictionary has not.",
    syntax: "dictGetOrDefault('dictionary', 'attribute', key, default)",
    ..BASE
};

const OR_NULL: Record = Record {
    name: "dictGetOrNull",
    summary: "As dictGet, with NULL for keys that the dictionary has not.",
    syntax: "dictGetOrNull('dictionary', 'attribute', key)",
    ..BASE
};

static GENERAL: [DictGet; 3] = [
    DictGet { record: GET, missing: Missing::Default, expected: None },
    DictGet { record: OR_DEFAULT, missing: Missing::Given, expected: None },
    DictGet { record: OR_NULL, missing: Missing::Null, expected: None },
];

/// The two variants of a type.
macro_rules! of_type {
    ($($word:literal => $ty:expr,)*) => {
        [$(
            DictGet {
                record: Record {
                    name: concat!("dictGet", $word),
                    summary: concat!("As dictGet, of an attribute of the type ", $word, "."),
                    syntax: concat!("dictGet", $word, "('dictionary', 'attribute', key)"),
                    ..GET
                },
                missing: Missing::Default,
                expected: Some($ty),
            },
            DictGet {
                record: Record {
                    name: concat!("dictGet", $word, "OrDefault"),
                    summary: concat!("As dictGetOrDefault, of an attribute of the type ", $word, "."),
                    syntax: concat!("dictGet", $word, "OrDefault('dictionary', 'attribute', key, default)"),
                    ..OR_DEFAULT
                },
                missing: Missing::Given,
                expected: Some($ty),
            },
        )*]
    };
}

static TYPED: [DictGet; 32] = of_type! {
    "UInt8" => DataType::UInt8,
    "UInt16" => DataType::UInt16,
    "UInt32" => DataType::UInt32,
    "UInt64" => DataType::UInt64,
    "Int8" => DataType::Int8,
    "Int16" => DataType::Int16,
    "Int32" => DataType::Int32,
    "Int64" => DataType::Int64,
    "Float32" => DataType::Float32,
    "Float64" => DataType::Float64,
    "Date" => DataType::Date,
    "DateTime" => DataType::DateTime(None),
    "UUID" => DataType::Uuid,
    "IPv4" => DataType::IPv4,
    "IPv6" => DataType::IPv6,
    "String" => DataType::String,
};

pub(super) fn register(registry: &mut Registry) {
    for function in GENERAL.iter().chain(&TYPED) {
        registry.add_scalar(function);
    }
}
