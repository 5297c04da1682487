//! Query parameters in names of columns: the kernel puts a constant in the place of each before it binds anything, so that
//! `{n:UInt8} + 1` is named `plus(_CAST(5, 'UInt8'), 1)`.

use crate::environment::Environment;
use crate::parameter_value::parameter_value;
use chalet_plan::Expr;
use chalet_syntax::print::{float_text, write_string};
use chalet_types::{DataType, Value};

/// The text form of a constant.
type TextOf<'a> = dyn Fn(Expr) -> Option<Value> + 'a;

/// What stands for a parameter in a name; `None` where it has no value. `ty`: as it is written. `text_of`: of constants that are neither numbers nor lists.
pub(crate) fn shown_parameter(
    env: &dyn Environment,
    name: &str,
    ty: &str,
    text_of: &TextOf,
) -> Option<String> {
    let text = env.parameter(name)?;
    let parsed: DataType = ty.parse().ok()?;
    let vector = parameter_value(name, &text, &parsed, env.context().time_zone.clone()).ok()?;
    let mut out = String::new();
    let value = vector.value(0);
    if parsed == DataType::String {
        quoted(&mut out, value.as_bytes()?);
        return Some(out);
    }
    out.push_str("_CAST(");
    match (&value, &parsed) {
        (Value::Null, _) => out.push_str("NULL"),
        (_, DataType::Bool) => quoted(&mut out, if value.as_u64() == Some(0) { b"false" } else { b"true" }),
        (_, ty) => shown_value(text_of, &mut out, &value, ty)?,
    }
    out.push_str(", ");
    quoted(&mut out, ty.as_bytes());
    out.push(')');
    Some(out)
}

fn quoted(out: &mut String, bytes: &[u8]) {
    write_string(out, bytes);
}

/// A value as the constant that the kernel keeps for it: times are numbers, and what no literal can say is text.
fn shown_value(text_of: &TextOf, out: &mut String, value: &Value, ty: &DataType) -> Option<()> {
    match (value, ty.bare()) {
        (Value::Null, _) => out.push_str("NULL"),
        (Value::Array(items), DataType::Array(element)) => {
            listed(out, ('[', ']'), items, |out, _, item| shown_value(text_of, out, item, element))?;
        }
        (Value::Tuple(items), DataType::Tuple(fields)) => {
            listed(out, ('(', ')'), items, |out, i, item| {
                shown_value(text_of, out, item, &fields.get(i)?.ty)
            })?;
        }
        (Value::Array(pairs), DataType::Map(key, mapped)) => {
            listed(out, ('[', ']'), pairs, |out, _, pair| {
                let Value::Tuple(pair) = pair else { return None };
                let ty = [&**key, &**mapped];
                listed(out, ('(', ')'), pair, |out, i, part| shown_value(text_of, out, part, ty.get(i)?))
            })?;
        }
        (Value::Float(number), _) => out.push_str(&float_text(*number)),
        (Value::UInt(number), bare) if is_plain(bare) => out.push_str(&number.to_string()),
        (Value::Int(number), bare) if is_plain(bare) => out.push_str(&number.to_string()),
        (_, DataType::DateTime64(scale, _)) => {
            let seconds = DataType::Decimal { precision: 18, scale: *scale };
            text(text_of, out, Expr::literal(value, seconds).ok()?)?;
        }
        _ => text(text_of, out, Expr::literal(value, ty.clone()).ok()?)?,
    }
    Some(())
}

/// Types whose values are numbers of 64 bits and less in the kernel's literals.
fn is_plain(ty: &DataType) -> bool {
    let is_time = matches!(ty, DataType::Date | DataType::Date32 | DataType::DateTime(_));
    is_time || ty.is_integer() || ty.is_enum()
}

fn text(text_of: &TextOf, out: &mut String, constant: Expr) -> Option<()> {
    quoted(out, text_of(constant)?.as_bytes()?);
    Some(())
}

fn listed<T>(
    out: &mut String,
    (open, close): (char, char),
    items: &[T],
    mut each: impl FnMut(&mut String, usize, &T) -> Option<()>,
) -> Option<()> {
    out.push(open);
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        each(out, i, item)?;
    }
    out.push(close);
    Some(())
}
