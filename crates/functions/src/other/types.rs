//! Functions of the types of their arguments: `toTypeName`, `toColumnTypeName`, `isConstant`, defaults.

use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, ScalarFunction, SeveralTypes,
    ShownType,
};
use chalet_types::{DataType, Value};
use std::any::Any;

const TO_TYPE_NAME: Record = Record {
    name: "toTypeName",
    several_types: SeveralTypes::Seen,
    summary: "The name of the argument's type.",
    syntax: "toTypeName(x)",
    examples: &[Example { sql: "SELECT toTypeName(1), toTypeName([1, -1])", result: "UInt8\tArray(Int16)" }],
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::InTypes,
    total: true,
    shown: ShownType::Seen,
    ..Record::DEFAULT
};

const TO_COLUMN_TYPE_NAME: Record = Record {
    name: "toColumnTypeName",
    several_types: SeveralTypes::Seen,
    summary: "The name of the representation that the argument's column has.",
    syntax: "toColumnTypeName(x)",
    examples: &[Example { sql: "SELECT toColumnTypeName(1)", result: "Const(UInt8)" }],
    ..TO_TYPE_NAME
};

const IS_CONSTANT: Record = Record {
    name: "isConstant",
    several_types: SeveralTypes::Seen,
    summary: "1 when the argument is known before the query runs.",
    syntax: "isConstant(x)",
    examples: &[Example { sql: "SELECT isConstant(1 + 1), isConstant(materialize(1))", result: "1\t0" }],
    ..TO_TYPE_NAME
};

const DEFAULT_OF_ARGUMENT: Record = Record {
    name: "defaultValueOfArgumentType",
    several_types: SeveralTypes::Seen,
    summary: "The default value of the argument's type.",
    syntax: "defaultValueOfArgumentType(x)",
    examples: &[Example { sql: "SELECT defaultValueOfArgumentType(5)", result: "0" }],
    ..TO_TYPE_NAME
};

const DEFAULT_OF_NAME: Record = Record {
    name: "defaultValueOfTypeName",
    several_types: SeveralTypes::Seen,
    summary: "The default value of the type of the given name.",
    syntax: "defaultValueOfTypeName(name)",
    examples: &[Example { sql: "SELECT defaultValueOfTypeName('Int32')", result: "0" }],
    ..TO_TYPE_NAME
};

const SIZE_OF_ENUM: Record = Record {
    name: "getSizeOfEnumType",
    several_types: SeveralTypes::Seen,
    summary: "The number of names of an Enum.",
    syntax: "getSizeOfEnumType(x)",
    examples: &[Example {
        sql: "SELECT getSizeOfEnumType(CAST('a' AS Enum8('a' = 1, 'b' = 2)))",
        result: "2",
    }],
    ..TO_TYPE_NAME
};

/// A function whose result is decided by what is known at binding.
pub struct OfType {
    record: &'static Record,
    result: fn(&Argument, &Context) -> Result<(DataType, Value)>,
}

pub const TO_TYPE_NAME_FUNCTION: OfType = OfType {
    record: &TO_TYPE_NAME,
    result: |arg, ctx| {
        let pretty = ctx.settings.all.0("print_pretty_type_names");
        let plain = pretty.is_some_and(|(value, _)| value.as_u64() == Some(0));
        let name = if plain { arg.ty.to_string() } else { arg.ty.pretty() };
        Ok((DataType::String, Value::string(name)))
    },
};

pub const TO_COLUMN_TYPE_NAME_FUNCTION: OfType = OfType {
    record: &TO_COLUMN_TYPE_NAME,
    result: |arg, _| {
        let name = column_name(&arg.ty);
        let shown = if arg.constant.is_some() { format!("Const({name})") } else { name };
        Ok((DataType::String, Value::string(shown)))
    },
};

pub const IS_CONSTANT_FUNCTION: OfType = OfType {
    record: &IS_CONSTANT,
    result: |arg, _| Ok((DataType::UInt8, Value::from(arg.constant.is_some()))),
};

pub const DEFAULT_OF_ARGUMENT_FUNCTION: OfType = OfType {
    record: &DEFAULT_OF_ARGUMENT,
    result: |arg, _| Ok((arg.ty.clone(), Vector::unsaid(&arg.ty, 1).value(0))),
};

pub const DEFAULT_OF_NAME_FUNCTION: OfType = OfType {
    record: &DEFAULT_OF_NAME,
    result: |arg, _| {
        let name = arg.constant.as_ref().filter(|_| arg.ty.is_string()).and_then(Value::as_str);
        let Some(name) = name else {
            bail!(
                ILLEGAL_COLUMN,
                "The argument of function defaultValueOfTypeName must be a constant string describing type"
            );
        };
        let ty: DataType = name.parse()?;
        let value = Vector::unsaid(&ty, 1).value(0);
        Ok((ty, value))
    },
};

pub const SIZE_OF_ENUM_FUNCTION: OfType = OfType {
    record: &SIZE_OF_ENUM,
    result: |arg, _| match arg.ty.bare() {
        DataType::Enum8(names) => Ok((DataType::UInt8, Value::UInt(names.entries().len() as u64))),
        DataType::Enum16(names) => Ok((DataType::UInt16, Value::UInt(names.entries().len() as u64))),
        _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "The argument for function getSizeOfEnumType must be Enum"),
    },
};

/// The kernel's name of the column that holds a type: the numbers that represent dates, decimals by their width.
pub fn column_name(ty: &DataType) -> String {
    use chalet_types::Physical;
    match ty {
        DataType::Nullable(inner) => format!("Nullable({})", column_name(inner)),
        DataType::LowCardinality(inner) => format!("LowCardinality({})", column_name(inner)),
        DataType::Array(inner) => format!("Array({})", column_name(inner)),
        DataType::Map(key, value) => format!("Map({}, {})", column_name(key), column_name(value)),
        DataType::Tuple(fields) => {
            let names: Vec<String> = fields.iter().map(|f| column_name(&f.ty)).collect();
            format!("Tuple({})", names.join(", "))
        }
        DataType::Decimal { .. } => match ty.physical() {
            Physical::I32 => "Decimal32".into(),
            Physical::I64 => "Decimal64".into(),
            Physical::I128 => "Decimal128".into(),
            _ => "Decimal256".into(),
        },
        DataType::DateTime64(..) | DataType::Time64(_) => "DateTime64".into(),
        DataType::Uuid | DataType::IPv4 | DataType::IPv6 | DataType::String | DataType::FixedString(_) => {
            ty.to_string()
        }
        other => match other.physical() {
            Physical::U8 => "UInt8".into(),
            Physical::U16 => "UInt16".into(),
            Physical::U32 => "UInt32".into(),
            Physical::I8 => "Int8".into(),
            Physical::I16 => "Int16".into(),
            Physical::I32 => "Int32".into(),
            Physical::I64 => "Int64".into(),
            _ => ty.to_string(),
        },
    }
}

/// The value that binding found.
struct Known(Vector);

impl ScalarFunction for OfType {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 1..=1)?;
        ensure!(!args[0].is_lambda, ILLEGAL_TYPE_OF_ARGUMENT, "{} does not take a lambda", self.record.name);
        let (ty, value) = (self.result)(&args[0], ctx)?;
        let vector = Vector::of_value(&value, &ty)?;
        Ok(Bound::with_state(ty, Known(vector)))
    }

    fn known_result(&self, state: Option<&(dyn Any + Send + Sync)>) -> Option<Vector> {
        state.and_then(|state| state.downcast_ref()).map(|Known(vector)| vector.clone())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Known(vector) = call.state()?;
        Ok(Column::constant(vector.clone(), call.n_rows))
    }
}
