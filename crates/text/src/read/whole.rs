//! The whole of a string as one value, as casts read it, and the errors they give.

use super::cursor::{Cursor, plain};
use super::{Kind, Reader, best_effort, number, scalar};
use crate::settings::DateTimeInput;
use chalet_base::error::are_messages_discarded;
use chalet_base::{Error, Result, bail, discard_messages, err};
use chalet_columns::Builder;
use chalet_types::{DataType, U256};

impl Reader {
    /// Appends the value that all of the text stands for. NULL is nothing that a string can say: what is no value of
    /// a Nullable type becomes NULL.
    pub fn read_whole(&self, text: &[u8], out: &mut Builder) -> Result<()> {
        let len = out.len();
        if self.nullable && !matches!(self.kind, Kind::Several(_)) {
            if !self.try_whole(text, out) {
                out.push_default();
            }
            return Ok(());
        }
        let result = self.whole(text, out);
        if result.is_err() {
            out.truncate(len);
        }
        result
    }

    /// Appends the value if there is one that fits the type; else appends nothing.
    pub fn try_whole(&self, text: &[u8], out: &mut Builder) -> bool {
        !self.is_refused_at_once(text) && discard_messages(|| self.try_rest(text, out))
    }

    /// Appends of each text the value if there is one that fits the type, else NULL or the default.
    pub fn whole_or_default<'a>(&self, texts: impl Iterator<Item = &'a [u8]>, out: &mut Builder) {
        discard_messages(|| {
            for text in texts {
                if self.is_refused_at_once(text) || !self.try_rest(text, out) {
                    out.push_default();
                }
            }
        });
    }

    /// [`try_whole`](Self::try_whole) where messages are discarded and the beginning was looked at.
    fn try_rest(&self, text: &[u8], out: &mut Builder) -> bool {
        if let Kind::Integer(_) = self.kind
            && !fits(text, self.ty.bare())
        {
            return false;
        }
        let len = out.len();
        let read = self.whole(text, out).is_ok();
        if !read {
            out.truncate(len);
        }
        read
    }

    /// Does a text begin with what no value of the type begins with? Most texts that are none do, and an error for each costs more
    /// than reading it.
    #[inline]
    fn is_refused_at_once(&self, text: &[u8]) -> bool {
        let Some(&first) = text.first() else { return false };
        match &self.kind {
            Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Decimal { .. }
            | Kind::Date
            | Kind::Date32
            | Kind::IPv4 => begins_with_a_word(first),
            Kind::Time | Kind::Time64(_) => !first.is_ascii_digit() && first != b'-',
            Kind::Uuid => text.len() < 32 || !first.is_ascii_hexdigit(),
            Kind::IPv6 => !first.is_ascii_hexdigit() && first != b':',
            Kind::DateTime { mode, .. } | Kind::DateTime64 { mode, .. } => match mode {
                DateTimeInput::Basic => begins_with_a_word(first),
                _ => best_effort::begins_with_another_word(text),
            },
            _ => false,
        }
    }

    fn whole(&self, text: &[u8], out: &mut Builder) -> Result<()> {
        let mut cur = Cursor::new(text);
        match &self.kind {
            Kind::Several(several) => {
                match self.several_whole(several, text, out)? {
                    true => out.mark_valid(),
                    false => out.push_default(),
                }
                return Ok(());
            }
            Kind::String | Kind::State(_) => return self.push_valid_text(text, out),
            Kind::FixedString(n) => {
                if text.len() > *n {
                    bail!(TOO_LARGE_STRING_SIZE, "String too long for type FixedString({n})");
                }
                return self.push_valid_text(text, out);
            }
            Kind::Enum(_) => return self.push_valid_text(text, out),
            Kind::Array(_) | Kind::Tuple(_) | Kind::Map { .. } => {
                self.container(&mut cur, out)?;
                out.mark_valid();
                return self.end_of_container(text, &cur);
            }
            Kind::QBit(ty) => {
                super::qbit::read(&mut cur, *ty, out)?;
                out.mark_valid();
                return self.end_of_container(text, &cur);
            }
            Kind::Integer(_) | Kind::Decimal { .. } if text.is_empty() => bail!(
                ATTEMPT_TO_READ_AFTER_EOF,
                "Attempt to read after eof: Cannot parse {} from String, because value is too short",
                self.ty
            ),
            _ => {}
        }
        if let Err(e) = self.bare(&mut cur, out) {
            return Err(match &self.kind {
                Kind::Bool => e,
                Kind::IPv4 => err!(CANNOT_PARSE_IPV4, "Invalid IPv4 value"),
                Kind::IPv6 => err!(CANNOT_PARSE_IPV6, "Invalid IPv6 value"),
                Kind::Decimal { .. } if e.code() == chalet_base::codes::ARGUMENT_OUT_OF_BOUND => e,
                _ => e.context(format_args!("Cannot parse {} from String", self.ty)),
            });
        }
        out.mark_valid();
        if matches!(self.kind, Kind::Date | Kind::Date32) {
            skip_clock(&mut cur);
        }
        if cur.is_at_end() && (cur.position() != 0 || text.is_empty()) {
            return Ok(());
        }
        match &self.kind {
            Kind::IPv4 => bail!(CANNOT_PARSE_IPV4, "Invalid IPv4 value"),
            Kind::IPv6 => bail!(CANNOT_PARSE_IPV6, "Invalid IPv6 value"),
            _ => Err(self.surplus(text, cur.position())),
        }
    }

    fn push_valid_text(&self, text: &[u8], out: &mut Builder) -> Result<()> {
        self.push_text(text, out)?;
        out.mark_valid();
        Ok(())
    }

    fn end_of_container(&self, text: &[u8], cur: &Cursor) -> Result<()> {
        if cur.is_at_end() {
            return Ok(());
        }
        let family = match &self.kind {
            Kind::Array(_) => "Array",
            Kind::Tuple(_) => "Tuple",
            Kind::QBit(_) => "QBit",
            _ => "Map",
        };
        bail!(
            UNEXPECTED_DATA_AFTER_PARSED_VALUE,
            "Unexpected data '{}' after parsed {family} value '{}'",
            plain(cur.rest()),
            plain(&text[..cur.position()])
        )
    }

    #[cold]
    fn surplus(&self, text: &[u8], parsed: usize) -> Error {
        if are_messages_discarded() {
            return Error::without_message(&chalet_base::codes::CANNOT_PARSE_TEXT);
        }
        let (ty, text) = (&self.ty, plain(text).into_owned());
        let place = if parsed == 0 {
            "begin of string".to_string()
        } else {
            format!("position {parsed} (parsed just '{}')", text.get(..parsed).unwrap_or(&text))
        };
        let note = if scalar::has_or_null_functions(ty) {
            format!(
                ". Note: there are to{ty}OrZero and to{ty}OrNull functions, which returns zero/NULL instead of throwing \
                 exception"
            )
        } else {
            String::new()
        };
        err!(CANNOT_PARSE_TEXT, "Cannot parse string '{text}' as {ty}: syntax error at {place}{note}")
    }
}

/// A letter, where a number or a date would have to stand; infinity, NaN and NULL are words, too.
fn begins_with_a_word(first: u8) -> bool {
    first.is_ascii_alphabetic() && !matches!(first, b'i' | b'I' | b'n' | b'N')
}

/// A date may be followed by a time of day, which is ignored.
fn skip_clock(cur: &mut Cursor) {
    let clock = match cur.rest() {
        [b' ' | b'T', clock @ ..] => clock,
        _ => return,
    };
    let shape = |(i, b): (usize, &u8)| if i % 3 == 2 { *b == b':' } else { b.is_ascii_digit() };
    let (clock, fraction) = clock.split_at(clock.len().min(8));
    let sound = match fraction {
        [b'.', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        other => other.is_empty(),
    };
    if clock.len() == 8 && clock.iter().enumerate().all(shape) && sound {
        cur.advance(9 + fraction.len());
    }
}

/// Does the text of an integer fit its type? Text that is no integer fits, and those of more than 64 bits wrap around, as in the kernel.
fn fits(text: &[u8], ty: &DataType) -> bool {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let bits = 8 * ty.physical().width().unwrap_or(8) as u32;
    // Two digits fit any type.
    if bits > 64 || digits.len() <= 2 || !digits.iter().all(|b| b.is_ascii_digit()) {
        return true;
    }
    if digits.len() <= 19 {
        let value = digits.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
        return value <= u64::MAX >> (64 - bits + u32::from(!ty.is_unsigned()))
            || negative && !ty.is_unsigned() && value == 1 << (bits - 1);
    }
    let limit = match (ty.is_unsigned(), negative) {
        (true, _) => (U256::ONE << bits) - U256::ONE,
        (false, true) => U256::ONE << (bits - 1),
        (false, false) => (U256::ONE << (bits - 1)) - U256::ONE,
    };
    !number::overflows(digits, limit)
}
