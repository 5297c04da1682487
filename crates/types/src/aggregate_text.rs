//! What stands between the parentheses of `AggregateFunction` and `SimpleAggregateFunction`: a function with parameters,
//! which is no type, and the types of its arguments.

use crate::aggregate_function::AggregateType;
use crate::type_parser::Parser;
use crate::{DataType, ScaledValue, Value};
use chalet_base::{Result, bail, ensure};
use std::sync::Arc;

impl Parser<'_> {
    /// After the family's name: the version, the function and its arguments.
    pub(crate) fn aggregate_function(&mut self) -> Result<DataType> {
        ensure!(
            self.accept('(') && !self.accept(')'),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Data type AggregateFunction requires parameters: version(optionally), name of aggregate function and list of \
             data types for arguments"
        );
        let mut version = None;
        if self.peek().is_some_and(|c| c.is_ascii_digit()) {
            version = u64::try_from(self.number()?).ok();
            ensure!(
                self.accept(','),
                BAD_ARGUMENTS,
                "Data type AggregateFunction has version, but it requires at least one more parameter - name of aggregate \
                 function"
            );
        }
        let (name, parameters) = self.function()?;
        let arguments = self.argument_types()?;
        Ok(DataType::AggregateFunction(Arc::new(AggregateType::new(version, &name, parameters, arguments)?)))
    }

    /// The type that values of `SimpleAggregateFunction(f, T)` have, `T`, or what is shown of it.
    pub(crate) fn simple_aggregate_function(&mut self) -> Result<DataType> {
        ensure!(
            self.accept('(') && !self.accept(')'),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Data type SimpleAggregateFunction requires parameters: name of aggregate function and list of data types for \
             arguments"
        );
        let start = self.rest().trim_start();
        self.function()?;
        let function = start[..start.len() - self.rest().len()].trim();
        match <[DataType; 1]>::try_from(self.argument_types()?) {
            Ok([ty]) if self.shown => Ok(ty.simple_aggregate(function)),
            Ok([ty]) => Ok(ty),
            Err(_) => bail!(
                BAD_ARGUMENTS,
                "Data type SimpleAggregateFunction requires exactly one data type for arguments"
            ),
        }
    }

    /// `name` or `name(parameters)`.
    fn function(&mut self) -> Result<(String, Vec<Value>)> {
        let name = match self.peek() {
            Some(quote @ ('`' | '"')) => self.quoted(quote)?,
            _ => self.word().ok_or_else(|| self.failed("name of an aggregate function"))?.to_string(),
        };
        let mut parameters = Vec::new();
        if self.accept('(') && !self.accept(')') {
            loop {
                parameters.push(self.literal()?);
                if self.accept(')') {
                    break;
                }
                if !self.accept(',') {
                    return Err(self.failed("comma or closing parenthesis"));
                }
            }
        }
        Ok((name, parameters))
    }

    fn argument_types(&mut self) -> Result<Vec<DataType>> {
        let mut types = Vec::new();
        while self.accept(',') {
            types.push(self.data_type()?);
        }
        if !self.accept(')') {
            return Err(self.failed("comma or closing parenthesis"));
        }
        Ok(types)
    }

    fn literal(&mut self) -> Result<Value> {
        match self.peek() {
            Some('\'') => {
                let text = self.quoted('\'')?;
                if self.accept(':') { self.decimal_literal(&text) } else { Ok(Value::from(&*text)) }
            }
            Some(open @ ('[' | '(')) => {
                let close = if open == '[' { ']' } else { ')' };
                self.accept(open);
                let mut values = Vec::new();
                while !self.accept(close) {
                    if !values.is_empty() && !self.accept(',') {
                        return Err(self.failed("comma or closing bracket"));
                    }
                    self.enter()?;
                    values.push(self.literal()?);
                    self.leave();
                }
                Ok(if open == '[' { Value::Array(values) } else { Value::Tuple(values) })
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => self.numeric_literal(),
            _ => match self.word().map(str::to_ascii_lowercase).as_deref() {
                Some("null") => Ok(Value::Null),
                Some("true") => Ok(Value::UInt(1)),
                Some("false") => Ok(Value::UInt(0)),
                Some("inf") => Ok(Value::Float(f64::INFINITY)),
                Some("nan") => Ok(Value::Float(f64::NAN)),
                _ => Err(self.failed("literal")),
            },
        }
    }

    /// What follows the first colon of `'0.5'::Decimal64(3)`.
    fn decimal_literal(&mut self, text: &str) -> Result<Value> {
        let colon = self.accept(':');
        let bits = self.word().and_then(|name| name.strip_prefix("Decimal")?.parse::<u16>().ok());
        let scale = if colon && self.accept('(') { self.numeric_literal().ok() } else { None };
        let (Some(bits), Some(scale), true) =
            (bits, scale.and_then(|scale| scale.as_u64()).filter(|&scale| scale <= 76), self.accept(')'))
        else {
            return Err(self.failed("Decimal32, Decimal64, Decimal128 or Decimal256 with a scale"));
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction:0<width$}", width = scale as usize);
        let fits = fraction.len() <= scale as usize;
        match digits.parse() {
            Ok(digits) if fits => {
                Ok(Value::Decimal(Box::new(ScaledValue { digits, scale: scale as u8, bits })))
            }
            _ => Err(self.failed("decimal number")),
        }
    }

    fn numeric_literal(&mut self) -> Result<Value> {
        let rest = self.rest();
        let mut before = '0';
        let is_part = |c: char| {
            let sign = matches!(c, '-' | '+') && matches!(before, '0' | 'e' | 'E');
            let part = c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || sign;
            before = if c.is_ascii_digit() { '1' } else { c };
            part
        };
        let len = rest.find({
            let mut is_part = is_part;
            move |c| !is_part(c)
        });
        let text = &rest[..len.unwrap_or(rest.len())];
        let value = match (text.parse::<u64>(), text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(x), ..) => Value::UInt(x),
            (_, Ok(x), _) => Value::Int(x),
            (.., Ok(x)) => Value::Float(x),
            _ => return Err(self.failed("number")),
        };
        self.advance(text.len());
        Ok(value)
    }
}
