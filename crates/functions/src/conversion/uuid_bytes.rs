//! `UUIDStringToNum`, `UUIDNumToString`, `UUIDToNum`: UUIDs as sixteen bytes.

use super::cast::text_of;
use crate::encoding::digits::hex_values;
use chalet_base::{Result, bail, discard_messages, ensure};
use chalet_columns::{Column, Data, Fixed, StringBuilder};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_text::Cursor;
use chalet_text::{read, write};
use chalet_types::DataType;

struct UuidBytes {
    record: &'static Record,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    FromString,
    ToString,
    FromUuid,
}

macro_rules! record {
    ($name:literal, $summary:literal, $sql:literal => $result:literal) => {
        const {
            &Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(x[, variant])"),
                examples: &[Example { sql: $sql, result: $result }],
                ..Record::DEFAULT
            }
        }
    };
}

pub fn register(registry: &mut Registry) {
    registry.add_scalar(UuidBytes {
        record: record!(
            "UUIDStringToNum", "The sixteen bytes of a UUID given as text; variant 2 is Microsoft's order.",
            "SELECT hex(UUIDStringToNum('61f0c404-5cb3-11e7-907b-a6006ad3dba0'))" => "61F0C4045CB311E7907BA6006AD3DBA0"
        ),
        kind: Kind::FromString,
    });
    registry.add_scalar(UuidBytes {
        record: record!(
            "UUIDNumToString", "The text form of a UUID given as sixteen bytes.",
            "SELECT UUIDNumToString(UUIDStringToNum('61f0c404-5cb3-11e7-907b-a6006ad3dba0'))"
                => "61f0c404-5cb3-11e7-907b-a6006ad3dba0"
        ),
        kind: Kind::ToString,
    });
    registry.add_scalar(UuidBytes {
        record: record!(
            "UUIDToNum", "The sixteen bytes of a UUID.",
            "SELECT UUIDToNum(toUUID('61616161-6161-6161-6161-616161616161'))" => "aaaaaaaaaaaaaaaa"
        ),
        kind: Kind::FromUuid,
    });
}

/// Microsoft's order has the first three groups reversed.
fn reorder(bytes: &mut [u8], variant: u64) {
    if variant == 2 {
        bytes[..4].reverse();
        bytes[4..6].reverse();
        bytes[6..8].reverse();
    }
}

/// Bytes of a UUID.
const BYTES: usize = 16;

/// The value of each hexadecimal digit; [`NO_DIGIT`] for other bytes.
const DIGITS: [u8; 256] = hex_values(NO_DIGIT);

const NO_DIGIT: u8 = 0xf0;

/// Where the pairs of digits begin in the form with dashes.
const PAIRS: [usize; BYTES] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// Reads the form of 36 characters through a table, without a cursor. False for any other text, which leaves `out` undefined.
fn read_usual(text: &[u8], out: &mut [u8]) -> bool {
    let Ok(text) = <&[u8; 36]>::try_from(text) else { return false };
    let dashes = [8, 13, 18, 23].iter().all(|&place: &usize| text[place] == b'-');
    let mut seen = 0;
    for (&place, byte) in PAIRS.iter().zip(out) {
        let (high, low) = (DIGITS[usize::from(text[place])], DIGITS[usize::from(text[place + 1])]);
        seen |= high | low;
        *byte = high << 4 | low & 0x0f;
    }
    dashes && seen & NO_DIGIT == 0
}

impl ScalarFunction for UuidBytes {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=2)?;
        let ty = &args[0].ty;
        let sound = match self.kind {
            Kind::FromString => ty.is_string(),
            Kind::ToString => *ty == DataType::FixedString(16),
            Kind::FromUuid => *ty == DataType::Uuid,
        };
        ensure!(sound, ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of first argument of function {name}");
        let variant = match args.get(1) {
            None => 1,
            Some(arg) => match arg.constant.as_ref().and_then(|c| c.as_u64()) {
                Some(variant @ 1..=2) => variant,
                Some(other) => bail!(ARGUMENT_OUT_OF_BOUND, "Expected UUID variant (1 or 2), got {other}"),
                None => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of second argument of function {name}",
                    arg.ty
                ),
            },
        };
        let result = if self.kind == Kind::ToString { DataType::String } else { DataType::FixedString(16) };
        Ok(Bound::with_state(result, variant))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let variant = *call.state::<u64>()?;
        if self.kind == Kind::ToString {
            let mut out = StringBuilder::with_capacity(call.n_rows);
            for value in call.vector(0).fixed()?.iter() {
                let mut bytes = value.to_vec();
                reorder(&mut bytes, variant);
                out.push_with(|text| write::address::uuid(text, &bytes));
            }
            return Ok(Column::Flat(out.finish().into()));
        }
        let mut all: Vec<u8> = match self.kind {
            Kind::FromUuid => call.vector(0).fixed()?.bytes.to_vec(),
            // Text that is no UUID becomes zero bytes; one has 32 or 36 characters.
            _ => {
                let mut all = vec![0; call.n_rows * BYTES];
                let texts = text_of(call.vector(0))?;
                for (text, out) in texts.iter().zip(all.chunks_exact_mut(BYTES)) {
                    if matches!(text.len(), 32 | 36) && !read_usual(text, out) {
                        let mut cursor = Cursor::new(text);
                        let uuid = discard_messages(|| read::address::uuid(&mut cursor)).ok();
                        let uuid = uuid.filter(|_| cursor.is_at_end());
                        out.copy_from_slice(&uuid.unwrap_or_default()[..]);
                    }
                }
                all
            }
        };
        all.chunks_exact_mut(16).for_each(|bytes| reorder(bytes, variant));
        Ok(Column::Flat(Data::Fixed(Fixed { width: 16, bytes: all.into() }).into()))
    }
}
