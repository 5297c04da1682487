//! Plain integers and strings, read without the detours of the general reader.

use chalet_columns::Builder;
use chalet_columns::builder::Values;
use chalet_text::read::Syntax;
use chalet_text::read::cursor::Cursor;
use chalet_types::DataType;

/// What a column's plain texts are.
#[derive(Clone, Copy)]
pub enum Fast {
    No,
    String,
    Unsigned,
    Signed,
}

impl Fast {
    pub fn of(ty: &DataType, syntax: Syntax) -> Fast {
        use DataType::*;
        match ty.bare() {
            _ if syntax == Syntax::Plain => Fast::No,
            String if !ty.is_nullable() || syntax == Syntax::Json => Fast::String,
            UInt8 | UInt16 | UInt32 | UInt64 => Fast::Unsigned,
            Int8 | Int16 | Int32 | Int64 => Fast::Signed,
            _ => Fast::No,
        }
    }

    /// Appends the value at the cursor; false, with nothing done, when the general reader is needed. `ends`: may this
    /// byte follow a number? `string` appends a plain string.
    #[inline(always)]
    pub fn read(
        self,
        cur: &mut Cursor<'_>,
        out: &mut Builder,
        ends: impl Fn(u8) -> bool,
        string: impl Fn(&mut Cursor<'_>, &mut Builder) -> bool,
    ) -> bool {
        match self {
            Fast::No => false,
            Fast::String => string(cur, out),
            Fast::Unsigned | Fast::Signed => {
                let Some((value, length)) = integer(cur.rest(), matches!(self, Fast::Signed), ends) else {
                    return false;
                };
                push_wrapping(out, value);
                out.mark_valid();
                cur.advance(length);
                true
            }
        }
    }
}

/// An integer of at most 18 digits that ends where a field may, and its length.
#[inline(always)]
fn integer(rest: &[u8], signed: bool, ends: impl Fn(u8) -> bool) -> Option<(i64, usize)> {
    let negative = signed && rest.first() == Some(&b'-');
    let start = usize::from(negative);
    let mut value = 0i64;
    let mut at = start;
    while let Some(&byte) = rest.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        at += 1;
    }
    let plain = at > start && at - start <= 18 && rest.get(at).is_none_or(|b| ends(*b));
    plain.then(|| (if negative { -value } else { value }, at))
}

/// Appends an integer; one that does not fit wraps, as the kernel's does.
#[inline(always)]
fn push_wrapping(out: &mut Builder, value: i64) {
    match &mut out.values {
        Values::U8(v) => v.push(value as u8),
        Values::U16(v) => v.push(value as u16),
        Values::U32(v) => v.push(value as u32),
        Values::U64(v) => v.push(value as u64),
        Values::I8(v) => v.push(value as i8),
        Values::I16(v) => v.push(value as i16),
        Values::I32(v) => v.push(value as i32),
        Values::I64(v) => v.push(value),
        _ => {}
    }
}

/// Appends a JSON string without escapes.
#[inline(always)]
pub fn json_string(cur: &mut Cursor<'_>, out: &mut Builder) -> bool {
    let Values::Str(strings) = &mut out.values else { return false };
    let [b'"', inside @ ..] = cur.rest() else { return false };
    let Some(length) = memchr::memchr2(b'"', b'\\', inside).filter(|at| inside[*at] == b'"') else {
        return false;
    };
    strings.push(&inside[..length]);
    out.mark_valid();
    cur.advance(length + 2);
    true
}

/// May this byte follow a number in JSON?
#[inline(always)]
pub fn ends_json_number(byte: u8) -> bool {
    matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')
}
