//! Types read from their text form, the inverse of [`text`](crate::text).

use crate::geometry::Named;
use crate::{DataType, EnumValues, Geometry, IntervalUnit, QBitType, TimeZone, TupleField, families};
use chalet_base::{Error, Result, bail, codes, ensure, err};
use std::str::FromStr;
use std::sync::Arc;

impl FromStr for DataType {
    type Err = Error;

    /// Parses a type in any spelling the dialect has: aliases, several words, nested parameters.
    fn from_str(text: &str) -> Result<DataType> {
        Parser::whole(text, false)
    }
}

impl DataType {
    /// As parsing the text, but with the names of functions that types show. Fails as that does.
    pub fn parse_shown(text: &str) -> Result<DataType> {
        Parser::whole(text, true)
    }
}

impl<'a> Parser<'a> {
    /// The type that the whole text is; `shown` keeps the names of functions that types show.
    pub(crate) fn whole(text: &str, shown: bool) -> Result<DataType> {
        let mut parser = Parser { text, at: 0, depth: 0, shown };
        ensure!(parser.peek().is_some(), SYNTAX_ERROR, "Empty query (data type)");
        let ty = parser.data_type();
        match (ty, parser.peek()) {
            (Ok(ty), None) => Ok(ty),
            (Ok(_), Some(_)) => Err(parser.failed("end of type")),
            // A name that is followed by what cannot follow one is no name at all.
            (Err(error), Some(c)) if error.code() == codes::UNKNOWN_TYPE && !matches!(c, ',' | ')') => {
                Err(parser.failed("end of type"))
            }
            (Err(error), _) => Err(error),
        }
    }
}

/// Deeper nesting than this is refused before it can exhaust the stack.
const MAX_DEPTH: usize = 200;

pub(crate) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Are the names of functions that types show kept?
    pub(crate) shown: bool,
}

/// What stands between the parentheses of a type.
enum Parameter {
    Number(i64),
    Text(String),
    /// `'name' = 1` of an Enum.
    Entry(String, i64),
    Type(DataType),
    /// `name Type` of a Tuple.
    Field(String, DataType),
    /// `max_types = 3` of a Dynamic.
    Setting(String, i64),
}

impl<'a> Parser<'a> {
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn go_to(&mut self, position: usize) {
        self.at = position;
    }

    pub(crate) fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed.chars().next()
    }

    pub(crate) fn accept(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    /// What is not parsed yet.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Takes `n` bytes of the rest.
    pub(crate) fn advance(&mut self, n: usize) {
        self.at += n;
    }

    /// One level deeper. Fails where there are too many.
    pub(crate) fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        ensure!(self.depth <= MAX_DEPTH, TOO_DEEP_RECURSION, "Data type is nested too deeply");
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    #[cold]
    pub(crate) fn failed(&self, expected: &str) -> Error {
        let rest = &self.text[self.at..];
        let what = if rest.is_empty() { " (end of query)" } else { "" };
        err!(
            SYNTAX_ERROR,
            "Syntax error (data type): failed at position {}{what}: {rest}. Expected {expected}",
            self.at + 1
        )
    }

    /// A bare word.
    pub(crate) fn word(&mut self) -> Option<&'a str> {
        self.peek()?;
        let rest = &self.text[self.at..];
        let len = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if len == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += len;
        Some(&rest[..len])
    }

    /// A quoted text, escapes resolved.
    pub(crate) fn quoted(&mut self, quote: char) -> Result<String> {
        self.at += 1;
        let mut out = String::new();
        let mut chars = self.text[self.at..].char_indices().peekable();
        while let Some((i, c)) = chars.next() {
            if c == quote {
                if chars.peek().is_some_and(|next| next.1 == quote) {
                    out.push(quote);
                    chars.next();
                    continue;
                }
                self.at += i + 1;
                return Ok(out);
            }
            if c != '\\' {
                out.push(c);
                continue;
            }
            match chars.next().map(|next| next.1) {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('0') => out.push('\0'),
                Some(other) => out.push(other),
                None => break,
            }
        }
        Err(self.failed("closing quote"))
    }

    pub(crate) fn number(&mut self) -> Result<i64> {
        let rest = &self.text[self.at..];
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let len = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let end = rest.len() - digits.len() + len;
        let number = rest[..end].parse().map_err(|_| self.failed("number"))?;
        self.at += end;
        Ok(number)
    }

    pub(crate) fn data_type(&mut self) -> Result<DataType> {
        self.enter()?;
        let name = match self.peek() {
            Some('`') => self.quoted('`')?,
            Some('"') => self.quoted('"')?,
            _ => self.family_name()?,
        };
        if families::resolve(&name) == Some("JSON") {
            let json = if self.accept('(') { self.json_parameters()? } else { crate::JsonType::default() };
            self.leave();
            return Ok(DataType::Json(Arc::new(json)));
        }
        let states = match families::resolve(&name) {
            Some("AggregateFunction") => Some(self.aggregate_function()?),
            Some("SimpleAggregateFunction") => Some(self.simple_aggregate_function()?),
            _ => None,
        };
        if let Some(ty) = states {
            self.leave();
            return Ok(ty);
        }
        let parameters = if self.accept('(') { self.parameters()? } else { Vec::new() };
        self.leave();
        // `CHAR(3) VARYING` does not exist, but `INT(11) UNSIGNED` does.
        let mut name = name;
        if families::resolve(&format!("{name} UNSIGNED")).is_some() {
            let before = self.at;
            match self.word() {
                Some(word) if word.eq_ignore_ascii_case("unsigned") => name.push_str(" UNSIGNED"),
                Some(word) if word.eq_ignore_ascii_case("signed") => name.push_str(" SIGNED"),
                _ => self.at = before,
            }
        }
        build(&name, parameters)
    }

    /// The longest run of words that names a family.
    fn family_name(&mut self) -> Result<String> {
        let first = self.word().ok_or_else(|| self.failed("type name"))?;
        let mut name = first.to_string();
        let mut best = (name.clone(), self.at);
        while let Some(word) = self.word() {
            name = format!("{name} {word}");
            if families::resolve(&name).is_some() {
                best = (name.clone(), self.at);
            }
            if name.split(' ').count() == 4 {
                break;
            }
        }
        self.at = best.1;
        Ok(best.0)
    }

    fn parameters(&mut self) -> Result<Vec<Parameter>> {
        let mut list = Vec::new();
        if self.accept(')') {
            return Ok(list);
        }
        loop {
            list.push(self.parameter()?);
            if self.accept(')') {
                return Ok(list);
            }
            if !self.accept(',') {
                return Err(self.failed("comma or closing parenthesis"));
            }
        }
    }

    fn parameter(&mut self) -> Result<Parameter> {
        match self.peek() {
            Some('\'') => {
                let text = self.quoted('\'')?;
                if !self.accept('=') {
                    return Ok(Parameter::Text(text));
                }
                self.peek();
                Ok(Parameter::Entry(text, self.number()?))
            }
            Some(c) if c.is_ascii_digit() || c == '-' => Ok(Parameter::Number(self.number()?)),
            Some(quote @ ('`' | '"')) => {
                let name = self.quoted(quote)?;
                Ok(Parameter::Field(name, self.data_type()?))
            }
            _ => {
                // `name Type` when a second word or quote follows that does not continue a family's name.
                let before = self.at;
                let name = self.family_name()?;
                if self.accept('=') {
                    self.peek();
                    return Ok(Parameter::Setting(name, self.number()?));
                }
                if self.peek().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') {
                    let after = self.at;
                    self.at = before;
                    if let (Some(name), false) = (self.word(), self.at == after && name.contains(' ')) {
                        return Ok(Parameter::Field(name.to_string(), self.data_type()?));
                    }
                }
                self.at = before;
                Ok(Parameter::Type(self.data_type()?))
            }
        }
    }
}

/// DateTime with its zone, if it has one.
fn whole_seconds(parameters: &[Parameter]) -> Result<DataType> {
    match parameters {
        [] => Ok(DataType::DateTime(None)),
        [Parameter::Text(zone)] => Ok(DataType::DateTime(Some(TimeZone::named(zone)?))),
        [_] => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "DateTime data type takes a time zone name"),
        _ => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "DateTime data type can optionally have only one argument - time zone name"
        ),
    }
}

fn build(name: &str, parameters: Vec<Parameter>) -> Result<DataType> {
    use DataType::*;
    let Some(family) = families::resolve(name) else {
        bail!(UNKNOWN_TYPE, "Unknown data type family: {name}");
    };
    if let Some(unit) = family.strip_prefix("Interval") {
        let unit = IntervalUnit::ALL.into_iter().find(|u| u.name() == unit);
        return unit.map(Interval).ok_or_else(|| err!(UNKNOWN_TYPE, "Unknown data type family: {name}"));
    }
    Ok(match family {
        "Nothing" => Nothing,
        "Bool" => Bool,
        "UInt8" => UInt8,
        "UInt16" => UInt16,
        "UInt32" => UInt32,
        "UInt64" => UInt64,
        "UInt128" => UInt128,
        "UInt256" => UInt256,
        "Int8" => Int8,
        "Int16" => Int16,
        "Int32" => Int32,
        "Int64" => Int64,
        "Int128" => Int128,
        "Int256" => Int256,
        "BFloat16" => BFloat16,
        "Float32" => Float32,
        "Float64" => Float64,
        "String" => String,
        "UUID" => Uuid,
        "IPv4" => IPv4,
        "IPv6" => IPv6,
        "Date" => Date,
        "Date32" => Date32,
        "Time" => Time,
        "FixedString" => fixed_string(&parameters)?,
        "Decimal" => decimal(&parameters, None)?,
        "Decimal32" => decimal(&parameters, Some(9))?,
        "Decimal64" => decimal(&parameters, Some(18))?,
        "Decimal128" => decimal(&parameters, Some(38))?,
        "Decimal256" => decimal(&parameters, Some(76))?,
        "DateTime32" => whole_seconds(&parameters)?,
        "DateTime" => match &parameters[..] {
            [Parameter::Number(0)] => DateTime(None),
            [Parameter::Number(0), zone] => whole_seconds(std::slice::from_ref(zone))?,
            [Parameter::Number(scale)] => DateTime64(time_scale(*scale, "DateTime64")?, None),
            [Parameter::Number(scale), Parameter::Text(zone)] => {
                DateTime64(time_scale(*scale, "DateTime64")?, Some(TimeZone::named(zone)?))
            }
            of_seconds => whole_seconds(of_seconds)?,
        },
        "DateTime64" => match &parameters[..] {
            [] => DateTime64(3, None),
            [Parameter::Number(scale)] => DateTime64(time_scale(*scale, family)?, None),
            [Parameter::Number(scale), Parameter::Text(zone)] => {
                DateTime64(time_scale(*scale, family)?, Some(TimeZone::named(zone)?))
            }
            _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "DateTime64 data type takes a scale and a time zone name"),
        },
        "Time64" => match parameters[..] {
            [] => Time64(3),
            [Parameter::Number(scale)] => Time64(time_scale(scale, family)?),
            _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Time64 data type takes a scale"),
        },
        "Enum8" | "Enum16" | "Enum" => enumeration(family, parameters)?,
        "Nullable" => nullable(one_type(family, parameters)?)?,
        "LowCardinality" => low_cardinality(one_type(family, parameters)?)?,
        "Array" => one_type(family, parameters)?.array(),
        "Map" => map(parameters)?,
        "Tuple" => Tuple(fields(parameters)?),
        "Nested" if parameters.is_empty() => bail!(EMPTY_DATA_PASSED, "Nested cannot be empty"),
        "Nested" => DataType::nested(fields(parameters)?),
        "QBit" => qbit(&parameters)?,
        "Variant" => DataType::variant(types(family, parameters)?)?,
        "Dynamic" => dynamic(&parameters)?,
        other => geometry(other, &parameters)?,
    })
}

/// Any type; how many are kept apart may be said.
fn dynamic(parameters: &[Parameter]) -> Result<DataType> {
    match parameters {
        [] => Ok(DataType::DYNAMIC),
        [Parameter::Setting(name, max_types)] if name == "max_types" => match u8::try_from(*max_types) {
            Ok(max_types @ 0..=254) => Ok(DataType::Dynamic(max_types)),
            _ => bail!(
                UNEXPECTED_AST_STRUCTURE,
                "'max_types' argument for Dynamic type should be a positive integer between 0 and 254"
            ),
        },
        [Parameter::Setting(name, _)] => {
            bail!(
                UNEXPECTED_AST_STRUCTURE,
                "Unexpected identifier '{name}', Dynamic type accepts only 'max_types'"
            )
        }
        _ => bail!(UNEXPECTED_AST_STRUCTURE, "Dynamic data type argument should be in a form 'max_types=N'"),
    }
}

/// Elements, their number, and how many of them share a group.
fn qbit(parameters: &[Parameter]) -> Result<DataType> {
    let shown = |parameter: &Parameter| match parameter {
        Parameter::Number(n) => n.to_string(),
        Parameter::Text(text) => crate::text::quoted(text),
        Parameter::Type(ty) => ty.to_string(),
        Parameter::Entry(name, _) | Parameter::Field(name, _) | Parameter::Setting(name, _) => name.clone(),
    };
    let positive = |parameter: &Parameter| match parameter {
        Parameter::Number(n) => u64::try_from(*n).ok().filter(|n| *n > 0),
        _ => None,
    };
    let (element, dimension, stride) = match parameters {
        [element, dimension] => (element, dimension, None),
        [element, dimension, stride] => (element, dimension, Some(stride)),
        _ => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "QBit data type family must have two or three arguments: type of vector elements, their number, and optionally the \
             stride"
        ),
    };
    let Parameter::Type(element) = element else {
        bail!(
            UNEXPECTED_AST_STRUCTURE,
            "QBit data type must have a type as its first argument. Got: {}",
            shown(element)
        );
    };
    let Some(n) = positive(dimension) else {
        bail!(
            UNEXPECTED_AST_STRUCTURE,
            "QBit data type must have a number (positive integer) as its second argument. Got: {}",
            shown(dimension)
        );
    };
    let stride = match stride {
        None => None,
        Some(given) => match positive(given) {
            None => bail!(
                UNEXPECTED_AST_STRUCTURE,
                "QBit data type stride must be a number (positive integer) as its third argument. Got: {}",
                shown(given)
            ),
            stride => stride,
        },
    };
    Ok(DataType::QBit(QBitType::new(element, n, stride)?))
}

/// Types of geometries, which are the last families that there are.
fn geometry(family: &str, parameters: &[Parameter]) -> Result<DataType> {
    match Geometry::of_name(family) {
        Some(geometry) if parameters.is_empty() => Ok(geometry.data_type()),
        Some(_) => bail!(DATA_TYPE_CANNOT_HAVE_ARGUMENTS, "Data type {family} cannot have arguments"),
        None => bail!(NOT_IMPLEMENTED, "Data type {family} is not supported"),
    }
}

fn types(family: &str, parameters: Vec<Parameter>) -> Result<Vec<DataType>> {
    let one = |parameter| match parameter {
        Parameter::Type(ty) => Ok(ty),
        _ => bail!(UNEXPECTED_AST_STRUCTURE, "{family} data type family takes types as its arguments"),
    };
    parameters.into_iter().map(one).collect()
}

fn one_type(family: &str, parameters: Vec<Parameter>) -> Result<DataType> {
    let count = parameters.len();
    match <[Parameter; 1]>::try_from(parameters) {
        Ok([Parameter::Type(ty)]) => Ok(ty),
        _ => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "{family} data type family must have exactly one argument - type of elements, got {count} arguments"
        ),
    }
}

fn nullable(inner: DataType) -> Result<DataType> {
    ensure!(
        inner.can_be_nullable(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Nested type {inner} cannot be inside Nullable type"
    );
    Ok(DataType::Nullable(Arc::new(inner)))
}

fn low_cardinality(inner: DataType) -> Result<DataType> {
    use DataType::*;
    let refused = matches!(
        inner.without_nullable(),
        Array(_)
            | Map(..)
            | Tuple(_)
            | LowCardinality(_)
            | Nothing
            | Decimal { .. }
            | Enum8(_)
            | Enum16(_)
            | DateTime64(..)
            | Time
            | Time64(_)
            | Variant(_)
            | Dynamic(_)
            | Json(_)
            | QBit(_)
            | AggregateFunction(_)
    );
    ensure!(
        !refused,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "DataTypeLowCardinality is supported only for numbers, strings, Date or DateTime, but got {inner}"
    );
    Ok(LowCardinality(Arc::new(inner)))
}

fn map(parameters: Vec<Parameter>) -> Result<DataType> {
    let Ok([Parameter::Type(key), Parameter::Type(value)]) = <[Parameter; 2]>::try_from(parameters) else {
        bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Map data type family must have two arguments: key and value types"
        );
    };
    // Those of several types have a NULL of their own.
    ensure!(
        !key.is_nullable() || key.is_of_several_types(),
        BAD_ARGUMENTS,
        "Map cannot have a key of type {key}"
    );
    Ok(DataType::map(key, value))
}

fn fields(parameters: Vec<Parameter>) -> Result<Named<[TupleField]>> {
    let fields = parameters
        .into_iter()
        .map(|p| match p {
            Parameter::Type(ty) => Ok(TupleField { name: None, ty }),
            Parameter::Field(name, ty) => Ok(TupleField { name: Some(name.into()), ty }),
            _ => bail!(UNEXPECTED_AST_STRUCTURE, "Tuple data type family takes types as its arguments"),
        })
        .collect::<Result<Vec<_>>>()?;
    let named = fields.iter().filter(|f| f.name.is_some()).count();
    ensure!(
        named == 0 || named == fields.len(),
        BAD_ARGUMENTS,
        "Names are specified not for all elements of Tuple type"
    );
    for (i, field) in fields.iter().enumerate().filter(|_| named > 0) {
        ensure!(
            fields[..i].iter().all(|f| f.name != field.name),
            DUPLICATE_COLUMN,
            "Tuple names must be unique"
        );
    }
    Ok(fields.into())
}

fn time_scale(scale: i64, family: &str) -> Result<u8> {
    ensure!(
        (0..=9).contains(&scale),
        ARGUMENT_OUT_OF_BOUND,
        "Scale {scale} is too large for {family}. Maximum is up to nanoseconds (9)"
    );
    Ok(scale as u8)
}

/// `FixedString(n)`.
fn fixed_string(parameters: &[Parameter]) -> Result<DataType> {
    match parameters[..] {
        [Parameter::Number(n @ 1..=0xff_ffff)] => Ok(DataType::FixedString(n as u32)),
        [] => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "FixedString data type family must have exactly one argument - size in bytes"
        ),
        _ => bail!(
            UNEXPECTED_AST_STRUCTURE,
            "FixedString data type family must have a number (positive integer) as its argument"
        ),
    }
}

/// `Decimal(P, S)`, or `DecimalN(S)` when the width fixes the precision.
fn decimal(parameters: &[Parameter], fixed: Option<u8>) -> Result<DataType> {
    let (precision, scale) = match (parameters, fixed) {
        ([], None) => (10, 0),
        ([Parameter::Number(p)], None) => (*p, 0),
        ([Parameter::Number(p), Parameter::Number(s)], None) => (*p, *s),
        ([Parameter::Number(s)], Some(p)) => (i64::from(p), *s),
        _ => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Decimal data type family must have precision and optional scale as its arguments"
        ),
    };
    ensure!(
        (1..=76).contains(&precision),
        ARGUMENT_OUT_OF_BOUND,
        "Wrong precision: it must be between 1 and 76, got {precision}"
    );
    ensure!(
        (0..=precision).contains(&scale),
        ARGUMENT_OUT_OF_BOUND,
        "Negative scales and scales larger than precision are not supported"
    );
    Ok(DataType::Decimal { precision: precision as u8, scale: scale as u8 })
}

/// Entries without a number continue from the one before.
fn enumeration(family: &str, parameters: Vec<Parameter>) -> Result<DataType> {
    ensure!(!parameters.is_empty(), EMPTY_DATA_PASSED, "Enum data type cannot be empty");
    // Numbers stand at all elements, at none, or at one of them that others continue from.
    let numbered: Vec<bool> = parameters.iter().map(|p| matches!(p, Parameter::Entry(..))).collect();
    let n_numbered = numbered.iter().filter(|numbered| **numbered).count();
    let goes_on = n_numbered == 1 && !numbered[0] && numbered.last() != Some(&true);
    ensure!(
        n_numbered <= 1 && !goes_on || n_numbered == numbered.len(),
        UNEXPECTED_AST_STRUCTURE,
        "All elements of Enum data type must be of form: 'name' = number or 'name', where name is string literal and number is an \
         integer"
    );
    let mut entries: Vec<(Arc<str>, i64)> = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        match parameter {
            Parameter::Entry(name, number) => entries.push((name.into(), number)),
            Parameter::Text(name) => {
                let number = entries.last().map_or(1, |last| last.1 + 1);
                entries.push((name.into(), number));
            }
            _ => bail!(
                UNEXPECTED_AST_STRUCTURE,
                "Elements of Enum data type must be of form: 'name' = number or 'name', where name is string literal \
                 and number is an integer"
            ),
        }
    }
    let fits8 = entries.iter().all(|e| i8::try_from(e.1).is_ok());
    let narrow = family == "Enum8" || (family == "Enum" && fits8);
    let shown = if narrow { "Enum8" } else { "Enum16" };
    let checked = entries
        .into_iter()
        .map(|(name, number)| match i16::try_from(number) {
            Ok(small) if !narrow || i8::try_from(small).is_ok() => Ok((name, small)),
            _ => bail!(ARGUMENT_OUT_OF_BOUND, "Value {number} for element '{name}' exceeds range of {shown}"),
        })
        .collect::<Result<Vec<_>>>()?;
    let values = Arc::new(EnumValues::new(checked)?);
    Ok(if narrow { DataType::Enum8(values) } else { DataType::Enum16(values) })
}
