//! `startsWith`, `endsWith` and their forms: how strings and arrays begin and end.

use crate::ids::ids;
use crate::lists::list_of;
use crate::string_args::StringArg;
use crate::widen::widen;
use chalet_base::{Result, bail};
use chalet_columns::{Buf, Column, Data, Native, Vector, each_native};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction, Search,
};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;
use std::ops::Range;

struct Prefix {
    record: Record,
    end: bool,
    test: fn(&[u8], &[u8]) -> bool,
}

macro_rules! tests {
    ($($name:literal $end:literal $search:ident $test:expr, $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Prefix] = &[$(Prefix {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                total: true,
                search: Search::$search,
                ..Record::DEFAULT
            },
            end: $end,
            test: $test,
        }),*];
    };
}

tests! {
    "startsWith" false Prefix |text, part| text.starts_with(part),
        "Whether a string or an array begins with another one." "startsWith(s, prefix)"
        "SELECT startsWith('ClickHouse', 'Click'), startsWith([1, 2], [2])" => "1\t0";
    "endsWith" true Suffix |text, part| text.ends_with(part),
        "Whether a string or an array ends with another one." "endsWith(s, suffix)"
        "SELECT endsWith('ClickHouse', 'House'), endsWith([1, 2], [2])" => "1\t1";
    "startsWithUTF8" false No |text, part| text.starts_with(part),
        "Whether a string of UTF-8 begins with another one." "startsWithUTF8(s, prefix)"
        "SELECT startsWithUTF8('приставка', 'при')" => "1";
    "endsWithUTF8" true No |text, part| text.ends_with(part),
        "Whether a string of UTF-8 ends with another one." "endsWithUTF8(s, suffix)"
        "SELECT endsWithUTF8('данных', 'ых')" => "1";
    "startsWithCaseInsensitive" false No |text, part| text.len() >= part.len() && text[..part.len()].eq_ignore_ascii_case(part),
        "Whether a string begins with another one; the case of ASCII letters does not matter." "startsWithCaseInsensitive(s, prefix)"
        "SELECT startsWithCaseInsensitive('CLICKHOUSE', 'click')" => "1";
    "endsWithCaseInsensitive" true No |text, part| text.len() >= part.len() && text[text.len() - part.len()..].eq_ignore_ascii_case(part),
        "Whether a string ends with another one; the case of ASCII letters does not matter." "endsWithCaseInsensitive(s, suffix)"
        "SELECT endsWithCaseInsensitive('CLICKHOUSE', 'house')" => "1";
    "startsWithCaseInsensitiveUTF8" false No |text, part| lower(text).starts_with(&lower(part)),
        "Whether a string of UTF-8 begins with another one; the case of letters does not matter." "startsWithCaseInsensitiveUTF8(s, prefix)"
        "SELECT startsWithCaseInsensitiveUTF8('ПРИСТАВКА', 'при')" => "1";
    "endsWithCaseInsensitiveUTF8" true No |text, part| lower(text).ends_with(&lower(part)),
        "Whether a string of UTF-8 ends with another one; the case of letters does not matter." "endsWithCaseInsensitiveUTF8(s, suffix)"
        "SELECT endsWithCaseInsensitiveUTF8('ДАННЫХ', 'ых')" => "1";
}

fn lower(text: &[u8]) -> String {
    String::from_utf8_lossy(text).to_lowercase()
}

/// The type in which elements of arrays compare.
struct Common(DataType);

impl ScalarFunction for &'static Prefix {
    fn record(&self) -> &'static Record {
        let function: &'static Prefix = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 2..=2)?;
        match (&args[0].ty, &args[1].ty) {
            (DataType::Array(x), DataType::Array(y)) if name == "startsWith" || name == "endsWith" => {
                let common = common_supertype(&[DataType::clone(x), DataType::clone(y)])?;
                Ok(Bound::with_state(DataType::UInt8, Common(common)))
            }
            (x, y)
                if x.is_string()
                    && y.is_string()
                    && (!name.ends_with("UTF8") || (x, y) == (&DataType::String, &DataType::String)) =>
            {
                Ok(DataType::UInt8.into())
            }
            (x, y) => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal types {x} {y} of arguments of function {name}. Both must be String or Array"
            ),
        }
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        if let DataType::Array(_) = call.args[0].ty {
            return arrays(call, self.end);
        }
        let (texts, parts) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
        let answers = (0..call.n_rows).map(|row| u8::from((self.test)(texts.get(row), parts.get(row))));
        Ok(Vector::from(answers.collect::<Vec<u8>>()).into())
    }
}

fn arrays(call: &Call, end: bool) -> Result<Column> {
    let Common(common) = call.state()?;
    let (a, b) = (list_of(&call.args[0], call.n_rows)?, list_of(&call.args[1], call.n_rows)?);
    let own = |index: usize| call.args[index].ty.element().unwrap_or(DataType::Nothing);
    let left = widen(&a.values, &own(0), common, call.ctx)?;
    let right = widen(&b.values, &own(1), common, call.ctx)?;
    // The elements that are compared: as many as the second array has.
    let pairs = a.ranges().zip(b.ranges()).map(|(r, s)| {
        let start = if end { r.end.checked_sub(s.len()) } else { Some(r.start) };
        start.filter(|_| r.len() >= s.len()).map(|start| start..start + s.len()).zip(Some(s))
    });
    fn test(
        pairs: impl Iterator<Item = Option<(Range<usize>, Range<usize>)>>,
        same: impl Fn(usize, usize) -> bool,
    ) -> Vec<u8> {
        let test = |(r, s): (Range<usize>, Range<usize>)| r.zip(s).all(|(x, y)| same(x, y));
        pairs.map(|pair| u8::from(pair.is_some_and(test))).collect()
    }
    let no_nulls = left.validity.is_none() && right.validity.is_none();
    // Equal numbers have equal bits, but for floats.
    let by_bits = no_nulls && !common.bare().is_float();
    let of_numbers = each_native!(
        &left.data,
        x => same_type(x, &right.data)
            .filter(|_| by_bits)
            .map(|y| test(pairs.clone(), |i, j| x[i] == y[j])),
        _ => None
    );
    let answers = match (of_numbers, &left.data, &right.data) {
        (Some(answers), ..) => answers,
        (_, Data::Str(x), Data::Str(y)) if no_nulls => test(pairs, |i, j| x.get(i) == y.get(j)),
        _ => {
            let numbers = ids(&Vector::concat(&[&left, &right]));
            let (x, y) = numbers.split_at(left.len());
            test(pairs, |i, j| x[i] == y[j])
        }
    };
    Ok(Vector::from(answers).into())
}

fn same_type<'a, T: Native>(_: &Buf<T>, data: &'a Data) -> Option<&'a Buf<T>> {
    T::unwrap(data)
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
