//! JSON values as values of a type: what fits is appended, what does not is refused.

use super::document::{Element, Node};
use super::raw;
use chalet_base::{Result, bail, discard_messages, err};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Native};
use chalet_function_api::Context;
use chalet_text::{Reader, Syntax, TextSettings, json_number};
use chalet_types::{AsI256, DataType, EnumValues, I256, TupleField, U256};

/// Appends JSON values to columns of one type.
pub struct Typed {
    ty: DataType,
    reader: Reader,
    /// Of elements, fields, or of keys and values.
    inner: Vec<Typed>,
    /// Booleans are the numbers 0 and 1, and other numbers are booleans.
    bools_are_numbers: bool,
}

impl Typed {
    pub fn new(ty: &DataType, bools_are_numbers: bool, ctx: &Context) -> Result<Typed> {
        let settings: TextSettings = crate::text::settings(ctx);
        let below = |ty: &DataType| Typed::new(ty, bools_are_numbers, ctx);
        let bare = ty.bare();
        let inner = match bare {
            DataType::Array(element) => vec![below(element)?],
            DataType::Tuple(fields) => fields.iter().map(|field| below(&field.ty)).collect::<Result<_>>()?,
            DataType::Map(key, value) => {
                if !key.bare().is_string() {
                    bail!(ILLEGAL_TYPE_OF_ARGUMENT, "JSON doesn't support non-string Map keys, got {key}");
                }
                vec![below(key)?, below(value)?]
            }
            DataType::Interval(_) | DataType::Nothing | DataType::QBit(_) => {
                bail!(ILLEGAL_TYPE_OF_ARGUMENT, "JSONExtract does not support the type {ty}")
            }
            _ => Vec::new(),
        };
        let several = matches!(bare, DataType::Variant(_) | DataType::Dynamic(_) | DataType::Json(_));
        let syntax = if several { Syntax::Json } else { Syntax::Plain };
        let reader = Reader::new(bare, syntax, &settings);
        Ok(Typed { ty: ty.clone(), reader, inner, bools_are_numbers })
    }

    /// Appends the value, or the default when it does not fit.
    pub fn push_or_default(&self, element: Option<Element>, out: &mut Builder) -> Result<()> {
        let done = match element {
            Some(element) => self.push(element, out)?,
            None => false,
        };
        if !done {
            out.push_default();
        }
        Ok(())
    }

    /// Appends the value; false when it does not fit, and nothing is appended.
    pub fn push(&self, element: Element, out: &mut Builder) -> Result<bool> {
        if self.ty.is_nullable() && matches!(element.node(), Node::Null) {
            out.push_default();
            return Ok(true);
        }
        let before = out.len();
        let done = self.push_bare(element, out)?;
        if !done {
            out.truncate(before);
        } else if out.is_nullable() {
            out.mark_valid();
        }
        Ok(done)
    }

    fn push_bare(&self, element: Element, out: &mut Builder) -> Result<bool> {
        use DataType::*;
        Ok(match self.ty.bare() {
            Bool => match element.node() {
                Node::Bool(x) => append::<u8>(out, u8::from(x))?,
                Node::Int(x) => append::<u8>(out, u8::from(x != 0))?,
                Node::UInt(x) => append::<u8>(out, u8::from(x != 0))?,
                Node::Float(x) if self.bools_are_numbers => append::<u8>(out, u8::from(x != 0.0))?,
                Node::Str(span) if self.bools_are_numbers => match json_number::float(element.text(span)) {
                    Some(x) => append::<u8>(out, u8::from(x != 0.0))?,
                    None => false,
                },
                _ => false,
            },
            UInt8 => self.integer::<u8>(element, out)?,
            UInt16 => self.integer::<u16>(element, out)?,
            UInt32 => self.integer::<u32>(element, out)?,
            UInt64 => self.integer::<u64>(element, out)?,
            UInt128 => self.integer::<u128>(element, out)?,
            UInt256 => self.integer::<U256>(element, out)?,
            Int8 => self.integer::<i8>(element, out)?,
            Int16 => self.integer::<i16>(element, out)?,
            Int32 => self.integer::<i32>(element, out)?,
            Int64 => self.integer::<i64>(element, out)?,
            Int128 => self.integer::<i128>(element, out)?,
            Int256 => self.integer::<I256>(element, out)?,
            BFloat16 | Float32 | Float64 => self.float(element, out)?,
            String | FixedString(_) => self.string(element, out)?,
            Decimal { .. } => match element.node() {
                Node::Str(_) | Node::Int(_) | Node::UInt(_) | Node::Float(_) | Node::Big(_) => {
                    let mut text = Vec::new();
                    let text = text_of(element, &mut text).to_vec();
                    self.read(&text, out)
                }
                _ => false,
            },
            Enum8(names) | Enum16(names) => self.enumeration(names, element, out)?,
            DateTime(_) => match element.node() {
                Node::Str(span) => self.read(element.text(span), out),
                Node::UInt(x) => append(out, u32::try_from(x).unwrap_or(u32::MAX))?,
                Node::Int(x) => append(out, x.clamp(0, i64::from(u32::MAX)) as u32)?,
                // A cast of a float saturates.
                Node::Float(x) => append(out, x as u32)?,
                _ => false,
            },
            DateTime64(scale, _) => match element.node() {
                Node::Str(span) => self.read(element.text(span), out),
                Node::UInt(x) => append_some(out, json_number::ticks(x.into(), *scale))?,
                Node::Int(x) => append_some(out, json_number::ticks(x.into(), *scale))?,
                Node::Float(x) => append_some(out, json_number::ticks_of_float(x, *scale))?,
                _ => false,
            },
            Date | Date32 | Time | Time64(_) | Uuid | IPv4 | IPv6 => match element.node() {
                Node::Str(span) => self.read(element.text(span), out),
                _ => false,
            },
            AggregateFunction(_) | SimpleAggregate(_) => false,
            Array(_) | Map(..) => self.list(element, out)?,
            Tuple(fields) => self.tuple(fields, element, out)?,
            Variant(_) | Dynamic(_) | Json(_) => self.several(element, out)?,
            Nothing | Nullable(_) | LowCardinality(_) | Interval(_) | QBit(_) => false,
        })
    }

    /// Text as a value of the type.
    fn read(&self, text: &[u8], out: &mut Builder) -> bool {
        // The reader is of the type without Nullable: the caller marks the value as valid.
        self.reader.try_whole(text, out)
    }

    /// A value whose type is known in its row only; the caller marks it as valid.
    fn several(&self, element: Element, out: &mut Builder) -> Result<bool> {
        let mut text = Vec::new();
        super::raw::compact(element, &mut text);
        let mut value = Builder::new(self.ty.bare());
        let mut cursor = chalet_text::Cursor::new(&text);
        if discard_messages(|| self.reader.read(&mut cursor, &mut value)).is_err() {
            return Ok(false);
        }
        let value = value.finish();
        let Values::Str(strings) = &mut out.values else { return Err(mismatch(&self.ty)) };
        if value.is_null(0) {
            return Ok(false);
        }
        strings.push(value.strings()?.get(0));
        Ok(true)
    }

    /// Any value but NULL as a string; as a FixedString only if it is short enough.
    fn string(&self, element: Element, out: &mut Builder) -> Result<bool> {
        if matches!(element.node(), Node::Null) {
            return Ok(false);
        }
        let mut buffer = Vec::new();
        let text = text_of(element, &mut buffer);
        match &mut out.values {
            Values::Str(strings) => strings.push(text),
            Values::Fixed { width, .. } if text.len() > *width => return Ok(false),
            Values::Fixed { bytes, width } => {
                let end = bytes.len() + *width;
                bytes.extend_from_slice(text);
                bytes.resize(end, 0);
            }
            _ => return Err(mismatch(&self.ty)),
        }
        Ok(true)
    }

    /// The name of an element of an Enum, or its number. A name that is none of it is an error.
    fn enumeration(&self, names: &EnumValues, element: Element, out: &mut Builder) -> Result<bool> {
        let number = match element.node() {
            Node::Str(span) => {
                let name = element.text(span);
                let number = names.number_of(name).ok_or_else(|| {
                    let name = String::from_utf8_lossy(name);
                    err!(UNKNOWN_ELEMENT_OF_ENUM, "Unknown element '{name}' for enum")
                })?;
                Some(number)
            }
            Node::Int(x) => i16::try_from(x).ok(),
            Node::UInt(x) => i16::try_from(x).ok(),
            _ => None,
        };
        let Some(number) = number.filter(|number| names.name_of(*number).is_some()) else {
            return Ok(false);
        };
        match self.ty.bare() {
            DataType::Enum8(_) => append(out, number as i8),
            _ => append(out, number),
        }
    }

    /// An array by position, an object by names if all fields have one, and else by position too.
    fn tuple(&self, fields: &[TupleField], element: Element, out: &mut Builder) -> Result<bool> {
        let Values::Struct { fields: columns, len } = &mut out.values else {
            return Err(mismatch(&self.ty));
        };
        let named = fields.iter().all(|field| field.name.is_some());
        match element.node() {
            Node::Array { .. } => {
                let mut items = element.elements();
                for (inner, column) in self.inner.iter().zip(columns) {
                    inner.push_or_default(items.next(), column)?;
                }
            }
            Node::Object { .. } if named => {
                for ((field, inner), column) in fields.iter().zip(&self.inner).zip(columns) {
                    let name = field.name.as_deref().unwrap_or_default().as_bytes();
                    let found = element.members().find(|(key, _)| *key == name);
                    inner.push_or_default(found.map(|(_, value)| value), column)?;
                }
            }
            Node::Object { .. } => {
                let mut members = element.members();
                for (inner, column) in self.inner.iter().zip(columns) {
                    inner.push_or_default(members.next().map(|(_, value)| value), column)?;
                }
            }
            _ => return Ok(false),
        }
        *len += 1;
        Ok(true)
    }

    fn list(&self, element: Element, out: &mut Builder) -> Result<bool> {
        let Values::List(list) = &mut out.values else { return Err(mismatch(&self.ty)) };
        match (element.node(), &self.inner[..]) {
            (Node::Array { .. }, [inner]) => {
                for item in element.elements() {
                    inner.push_or_default(Some(item), &mut list.values)?;
                }
            }
            (Node::Object { .. }, [_, inner]) => {
                let Values::Struct { fields, len } = &mut list.values.values else {
                    return Err(mismatch(&self.ty));
                };
                let [keys, values] = &mut fields[..] else { return Err(mismatch(&self.ty)) };
                for (key, value) in element.members() {
                    match &mut keys.values {
                        Values::Str(strings) => strings.push(key),
                        _ => keys.push_value(&chalet_types::Value::string(key))?,
                    }
                    inner.push_or_default(Some(value), values)?;
                    *len += 1;
                }
            }
            _ => return Ok(false),
        }
        list.close();
        Ok(true)
    }

    fn integer<T>(&self, element: Element, out: &mut Builder) -> Result<bool>
    where
        T: Native + TryFrom<I256> + FromWide,
    {
        let value: Option<T> = match element.node() {
            Node::Int(x) => T::try_from(x.as_i256()).ok(),
            Node::UInt(x) => T::try_from(x.as_i256()).ok(),
            Node::Bool(x) if self.bools_are_numbers => T::try_from(u8::from(x).as_i256()).ok(),
            // Up to 2^200 or so floats are whole numbers of 256 bits.
            Node::Float(x) if x.abs() < 1e60 => T::try_from(x.as_i256()).ok(),
            Node::Str(span) | Node::Big(span) => {
                let bytes = element.text(span);
                let text = std::str::from_utf8(bytes).unwrap_or_default();
                let text = text.strip_prefix('+').unwrap_or(text);
                // A fraction is cut off.
                T::from_text(text).or_else(|| T::try_from(json_number::whole(bytes)?).ok())
            }
            _ => None,
        };
        append_some(out, value)
    }

    fn float(&self, element: Element, out: &mut Builder) -> Result<bool> {
        let value = match element.node() {
            Node::Int(x) => x as f64,
            Node::UInt(x) => x as f64,
            Node::Float(x) => x,
            Node::Bool(x) if self.bools_are_numbers => f64::from(u8::from(x)),
            Node::Str(span) | Node::Big(span) => return Ok(self.read(element.text(span), out)),
            _ => return Ok(false),
        };
        match self.ty.bare() {
            DataType::Float32 => append(out, value as f32),
            DataType::BFloat16 => append(out, chalet_types::bf16::from_f64(value)),
            _ => append(out, value),
        }
    }
}

/// Integers from decimal text of any length.
pub trait FromWide: Sized {
    fn from_text(text: &str) -> Option<Self>;
}

macro_rules! from_wide {
    ($($ty:ty)*) => {$(
        impl FromWide for $ty {
            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )*};
}

from_wide!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);

impl FromWide for I256 {
    fn from_text(text: &str) -> Option<Self> {
        I256::from_str_radix(text, 10).ok()
    }
}

impl FromWide for U256 {
    fn from_text(text: &str) -> Option<Self> {
        if text.starts_with('-') { None } else { U256::from_str_radix(text, 10).ok() }
    }
}

fn append<T: Native>(out: &mut Builder, value: T) -> Result<bool> {
    out.natives::<T>()?.push(value);
    Ok(true)
}

/// Appends a value that may not fit.
fn append_some<T: Native>(out: &mut Builder, value: Option<T>) -> Result<bool> {
    value.map_or(Ok(false), |value| append(out, value))
}

/// A string itself, any other value as JSON.
pub fn text_of<'a>(element: Element<'a>, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    match element.node() {
        Node::Str(span) | Node::Big(span) => element.text(span),
        _ => {
            raw::compact(element, buffer);
            buffer
        }
    }
}

fn mismatch(ty: &DataType) -> chalet_base::Error {
    err!(LOGICAL_ERROR, "Column is not of the type {ty}")
}
