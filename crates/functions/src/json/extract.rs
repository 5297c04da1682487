//! Functions of one document and a path into it: `JSONHas`, `JSONExtractInt`, `JSONExtract` and their kin.

use super::document::{Document, Element, Node};
use super::path::{self, Path};
use super::raw;
use super::typed::Typed;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Column, Data};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Record, Registry, ScalarFunction,
};
use chalet_types::{DataType, EnumValues};
use std::sync::{Arc, LazyLock};

/// What is made of the value at the path.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Has,
    Length,
    ArrayLength,
    Key,
    Type,
    /// A number or boolean of the type; booleans are no numbers.
    Plain,
    Typed,
    Raw,
    ArrayRaw,
    Keys,
    KeysAndValues,
    KeysAndValuesRaw,
    IsValid,
}

struct JsonFunction {
    record: Record,
    what: What,
    result: fn() -> DataType,
    /// Keys match in any case.
    any_case: bool,
}

/// Types of values, numbered as the kernel numbers them.
static KINDS: LazyLock<Arc<EnumValues>> = LazyLock::new(|| {
    let kinds: [(&str, i16); 8] = [
        ("Null", 0),
        ("String", 34),
        ("Array", 91),
        ("Bool", 98),
        ("Double", 100),
        ("Int64", 105),
        ("UInt64", 117),
        ("Object", 123),
    ];
    let entries = kinds.into_iter().map(|(name, number)| (name.into(), number)).collect();
    Arc::new(EnumValues::new(entries).expect("names and numbers are distinct"))
});

fn kind(node: Node) -> i8 {
    match node {
        Node::Null => 0,
        Node::Str(_) | Node::Big(_) => 34,
        Node::Array { .. } => 91,
        Node::Bool(_) => 98,
        Node::Float(_) => 100,
        Node::Int(_) => 105,
        Node::UInt(x) => {
            if x <= i64::MAX as u64 {
                105
            } else {
                117
            }
        }
        Node::Object { .. } => 123,
    }
}

impl JsonFunction {
    /// The last argument names a type.
    fn takes_type(&self) -> bool {
        matches!(self.what, What::Typed | What::KeysAndValues)
    }
}

impl ScalarFunction for &'static JsonFunction {
    fn record(&self) -> &'static Record {
        let function: &'static JsonFunction = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        let name = self.record.name;
        let least = 1 + usize::from(self.takes_type());
        let most = if matches!(self.what, What::ArrayLength | What::IsValid) { 1 } else { usize::MAX };
        check_arity(name, args.len(), least..=most)?;
        let (mut path, mut ty) = (&args[1..], (self.result)());
        if self.takes_type() {
            let (last, steps) = path.split_last().ok_or_else(|| err!(LOGICAL_ERROR, "No type was given"))?;
            path = steps;
            let text = last.constant.as_ref().filter(|_| last.ty.is_string()).and_then(|text| text.as_str());
            let Some(text) = text else {
                bail!(
                    ILLEGAL_COLUMN,
                    "The last argument of function {name} should be a constant string specifying the returned data type"
                );
            };
            ty = text.parse()?;
        }
        ensure!(
            args[0].ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The first argument of function {name} should be a string containing JSON, illegal type: {}",
            args[0].ty
        );
        path::check(name, path)?;
        let result = match self.what {
            What::KeysAndValues => DataType::tuple([DataType::String, ty.clone()]).array(),
            _ => ty.clone(),
        };
        ensure!(
            !args.iter().any(|arg| arg.was_nullable)
                || result.can_be_nullable()
                || matches!(result, DataType::Nullable(_)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Nested type {result} cannot be inside Nullable type"
        );
        Ok(match self.what {
            What::Typed => {
                Typed::new(&ty, true, ctx)?;
                Bound::with_state(ty.clone(), ty)
            }
            What::Plain => {
                // Booleans come as UInt8.
                let result = if ty == DataType::Bool { DataType::UInt8 } else { ty.clone() };
                Bound::with_state(result, ty)
            }
            What::KeysAndValues => {
                Typed::new(&ty, true, ctx)?;
                Bound::with_state(result, ty)
            }
            _ => ty.into(),
        })
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let steps = if self.takes_type() { &call.args[1..call.args.len() - 1] } else { &call.args[1..] };
        let path = Path::new(steps, self.any_case)?;
        let typed = match self.what {
            What::Typed | What::Plain | What::KeysAndValues => {
                let numbers = self.what != What::Plain;
                Some(Typed::new(call.state::<DataType>()?, numbers, call.ctx)?)
            }
            _ => None,
        };
        let mut document = Document::default();
        let mut out = Builder::new(call.result);
        let json = &call.args[0];
        for row in 0..call.n_rows {
            let at = if json.constant { 0 } else { row };
            let text = match &json.vector.data {
                Data::Fixed(fixed) => fixed.get(at),
                _ => json.vector.strings()?.get(at),
            };
            let found = document.parse(text).and_then(|root| path.find(root, row));
            self.push(found, typed.as_ref(), &mut out)?;
        }
        Ok(out.finish().into())
    }
}

impl JsonFunction {
    fn push(&self, found: Option<(Element, &[u8])>, typed: Option<&Typed>, out: &mut Builder) -> Result<()> {
        let element = found.map(|(element, _)| element);
        match self.what {
            What::Has | What::IsValid => out.natives::<u8>()?.push(u8::from(found.is_some())),
            What::Length => {
                out.natives::<u64>()?.push(element.and_then(|e| e.len()).unwrap_or_default() as u64)
            }
            What::ArrayLength => match element.map(|element| element.node()) {
                Some(Node::Array { len, .. }) => {
                    out.natives::<u64>()?.push(len.into());
                    out.mark_valid();
                }
                _ => out.push_default(),
            },
            What::Key => {
                let key = found.map(|(_, key)| key).unwrap_or_default();
                out.push_value(&chalet_types::Value::string(key))?;
            }
            What::Type => out.natives::<i8>()?.push(element.map_or(0, |element| kind(element.node()))),
            What::Plain | What::Typed => match typed {
                Some(typed) => typed.push_or_default(element, out)?,
                None => out.push_default(),
            },
            What::Raw => match (&mut out.values, element) {
                (Values::Str(strings), Some(element)) => {
                    strings.push_with(|text| raw::compact(element, text));
                }
                _ => out.push_default(),
            },
            What::ArrayRaw | What::Keys => {
                let Values::List(list) = &mut out.values else { return Err(not_a_list()) };
                let Values::Str(strings) = &mut list.values.values else { return Err(not_a_list()) };
                if let Some(element) = element {
                    match self.what {
                        What::Keys => element.members().for_each(|(key, _)| strings.push(key)),
                        _ => element
                            .elements()
                            .for_each(|item| strings.push_with(|text| raw::compact(item, text))),
                    }
                }
                list.close();
            }
            What::KeysAndValues | What::KeysAndValuesRaw => {
                let Values::List(list) = &mut out.values else { return Err(not_a_list()) };
                let Values::Struct { fields, len } = &mut list.values.values else {
                    return Err(not_a_list());
                };
                let [keys, values] = &mut fields[..] else { return Err(not_a_list()) };
                for (key, value) in element.into_iter().flat_map(|element| element.members()) {
                    match typed {
                        // A value that does not fit leaves its key out.
                        Some(typed) if !typed.push(value, values)? => continue,
                        Some(_) => {}
                        None => match &mut values.values {
                            Values::Str(strings) => strings.push_with(|text| raw::compact(value, text)),
                            _ => return Err(not_a_list()),
                        },
                    }
                    keys.push_value(&chalet_types::Value::string(key))?;
                    *len += 1;
                }
                list.close();
            }
        }
        Ok(())
    }
}

fn not_a_list() -> chalet_base::Error {
    err!(LOGICAL_ERROR, "Result of a function of JSON is of another type")
}

fn strings() -> DataType {
    DataType::String.array()
}

fn pairs() -> DataType {
    DataType::tuple([DataType::String, DataType::String]).array()
}

macro_rules! json_functions {
    ($($name:literal $aliases:expr, $what:ident, $any_case:literal, $result:expr, $syntax:literal, $summary:literal, $sql:literal, $answer:literal;)*) => {
        &[$(JsonFunction {
            record: Record {
                name: $name,
                any_case_aliases: $aliases,
                summary: $summary,
                syntax: concat!($name, $syntax),
                examples: &[Example { sql: $sql, result: $answer }],
                constants: Constants::Seen,
                dictionaries: match What::$what {
                    What::ArrayLength => Dictionaries::PerValue,
                    _ => Dictionaries::Decoded,
                },
                ..Record::DEFAULT
            },
            what: What::$what,
            result: $result,
            any_case: $any_case,
        }),*]
    };
}

static FUNCTIONS: &[JsonFunction] = json_functions! {
    "isValidJSON" &[], IsValid, false, || DataType::UInt8, "(text)", "Is the text one JSON value?",
        "SELECT isValidJSON('{\"a\": 1}'), isValidJSON('{a: 1}')", "1\t0";
    "JSONHas" &[], Has, false, || DataType::UInt8, "(json[, key_or_number, ...])",
        "Is there a value at a path of keys and of numbers that count from 1?",
        "SELECT JSONHas('{\"a\": [1, 2]}', 'a', 2)", "1";
    "JSONLength" &[], Length, false, || DataType::UInt64, "(json[, key_or_number, ...])",
        "How many elements or members the array or object at a path has; 0 for other values.",
        "SELECT JSONLength('{\"a\": [1, 2]}', 'a')", "2";
    "JSONArrayLength" &["JSON_ARRAY_LENGTH"], ArrayLength, false, || DataType::UInt64.nullable(), "(json)",
        "How many elements an array has; NULL for anything else.", "SELECT JSONArrayLength('[1, 2]')", "2";
    "JSONKey" &[], Key, false, || DataType::String, "(json[, key_or_number, ...])",
        "The key of the member at a path.", "SELECT JSONKey('{\"a\": 1, \"b\": 2}', 2)", "b";
    "JSONType" &[], Type, false, || DataType::Enum8(KINDS.clone()), "(json[, key_or_number, ...])",
        "The type of the value at a path.", "SELECT JSONType('{\"a\": [1]}', 'a')", "Array";
    "JSONExtractInt" &[], Plain, false, || DataType::Int64, "(json[, key_or_number, ...])",
        "The value at a path as Int64; 0 where it is no number.", "SELECT JSONExtractInt('{\"a\": -5}', 'a')", "-5";
    "JSONExtractUInt" &[], Plain, false, || DataType::UInt64, "(json[, key_or_number, ...])",
        "The value at a path as UInt64; 0 where it is no number.", "SELECT JSONExtractUInt('{\"a\": 5}', 'a')", "5";
    "JSONExtractFloat" &[], Plain, false, || DataType::Float64, "(json[, key_or_number, ...])",
        "The value at a path as Float64; 0 where it is no number.", "SELECT JSONExtractFloat('{\"a\": 1.5}', 'a')", "1.5";
    "JSONExtractBool" &[], Plain, false, || DataType::Bool, "(json[, key_or_number, ...])",
        "Whether the value at a path is true or a number other than 0.", "SELECT JSONExtractBool('{\"a\": true}', 'a')", "1";
    "JSONExtractString" &[], Plain, false, || DataType::String, "(json[, key_or_number, ...])",
        "The value at a path as text: of a string what it says, of other values their JSON.",
        "SELECT JSONExtractString('{\"a\": \"x\"}', 'a')", "x";
    "JSONExtract" &[], Typed, false, || DataType::Nothing, "(json[, key_or_number, ...], type)",
        "The value at a path as a value of a type.", "SELECT JSONExtract('{\"a\": [1, 2]}', 'a', 'Array(UInt8)')", "[1,2]";
    "JSONExtractRaw" &[], Raw, false, || DataType::String, "(json[, key_or_number, ...])",
        "The value at a path as JSON without spaces.", "SELECT JSONExtractRaw('{\"a\": [1, 2]}', 'a')", "[1,2]";
    "JSONExtractArrayRaw" &[], ArrayRaw, false, strings, "(json[, key_or_number, ...])",
        "The elements of the array at a path, each as JSON.", "SELECT JSONExtractArrayRaw('[1, \"x\"]')", "['1','\"x\"']";
    "JSONExtractKeys" &[], Keys, false, strings, "(json[, key_or_number, ...])",
        "The keys of the object at a path.", "SELECT JSONExtractKeys('{\"a\": 1, \"b\": 2}')", "['a','b']";
    "JSONExtractKeysAndValues" &[], KeysAndValues, false, || DataType::Nothing, "(json[, key_or_number, ...], type)",
        "The members of the object at a path whose values fit a type.",
        "SELECT JSONExtractKeysAndValues('{\"x\": 5, \"y\": \"z\"}', 'Int8')", "[('x',5)]";
    "JSONExtractKeysAndValuesRaw" &[], KeysAndValuesRaw, false, pairs, "(json[, key_or_number, ...])",
        "The members of the object at a path, their values as JSON.",
        "SELECT JSONExtractKeysAndValuesRaw('{\"a\": [1]}')", "[('a','[1]')]";
    "JSONExtractIntCaseInsensitive" &[], Plain, true, || DataType::Int64, "(json[, key_or_number, ...])",
        "JSONExtractInt with keys in any case.", "SELECT JSONExtractIntCaseInsensitive('{\"A\": 1}', 'a')", "1";
    "JSONExtractUIntCaseInsensitive" &[], Plain, true, || DataType::UInt64, "(json[, key_or_number, ...])",
        "JSONExtractUInt with keys in any case.", "SELECT JSONExtractUIntCaseInsensitive('{\"A\": 1}', 'a')", "1";
    "JSONExtractFloatCaseInsensitive" &[], Plain, true, || DataType::Float64, "(json[, key_or_number, ...])",
        "JSONExtractFloat with keys in any case.", "SELECT JSONExtractFloatCaseInsensitive('{\"A\": 1.5}', 'a')", "1.5";
    "JSONExtractBoolCaseInsensitive" &[], Plain, true, || DataType::Bool, "(json[, key_or_number, ...])",
        "JSONExtractBool with keys in any case.", "SELECT JSONExtractBoolCaseInsensitive('{\"A\": true}', 'a')", "1";
    "JSONExtractStringCaseInsensitive" &[], Plain, true, || DataType::String, "(json[, key_or_number, ...])",
        "JSONExtractString with keys in any case.", "SELECT JSONExtractStringCaseInsensitive('{\"A\": \"x\"}', 'a')", "x";
    "JSONExtractCaseInsensitive" &[], Typed, true, || DataType::Nothing, "(json[, key_or_number, ...], type)",
        "JSONExtract with keys in any case.", "SELECT JSONExtractCaseInsensitive('{\"A\": 1}', 'a', 'UInt8')", "1";
    "JSONExtractRawCaseInsensitive" &[], Raw, true, || DataType::String, "(json[, key_or_number, ...])",
        "JSONExtractRaw with keys in any case.", "SELECT JSONExtractRawCaseInsensitive('{\"A\": [1]}', 'a')", "[1]";
    "JSONExtractArrayRawCaseInsensitive" &[], ArrayRaw, true, strings, "(json[, key_or_number, ...])",
        "JSONExtractArrayRaw with keys in any case.", "SELECT JSONExtractArrayRawCaseInsensitive('{\"A\": [1]}', 'a')", "['1']";
    "JSONExtractKeysCaseInsensitive" &[], Keys, true, strings, "(json[, key_or_number, ...])",
        "JSONExtractKeys with keys in any case.", "SELECT JSONExtractKeysCaseInsensitive('{\"A\": {\"b\": 1}}', 'a')", "['b']";
    "JSONExtractKeysAndValuesCaseInsensitive" &[], KeysAndValues, true, || DataType::Nothing, "(json[, key_or_number, ...], type)",
        "JSONExtractKeysAndValues with keys in any case.",
        "SELECT JSONExtractKeysAndValuesCaseInsensitive('{\"A\": {\"b\": 1}}', 'a', 'UInt8')", "[('b',1)]";
    "JSONExtractKeysAndValuesRawCaseInsensitive" &[], KeysAndValuesRaw, true, pairs, "(json[, key_or_number, ...])",
        "JSONExtractKeysAndValuesRaw with keys in any case.",
        "SELECT JSONExtractKeysAndValuesRawCaseInsensitive('{\"A\": {\"b\": 1}}', 'a')", "[('b','1')]";
};

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
