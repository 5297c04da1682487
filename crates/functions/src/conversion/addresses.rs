//! `IPv4NumToString`, `IPv6StringToNum` and their kin: addresses of the Internet protocols.

use super::cast::{Mode, Rules, convert, text_of};
use super::to_type::Failure;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Buf, Column, Data, Fixed, NullBuffer, Strings, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_text::Cursor;
use chalet_text::read::address as read;
use chalet_text::write::address as write;
use chalet_types::DataType;

/// One function of one argument, or of an address and a length.
struct Address {
    record: &'static Record,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// With the last number hidden.
    NumToString4 {
        class_c: bool,
    },
    NumToString6,
    StringToNum4(Failure),
    StringToNum6(Failure),
    Map4To6,
    Range4,
    Range6,
}

macro_rules! address {
    ($registry:ident, $name:literal $(/ $alias:literal)?, $kind:expr, $summary:literal, $sql:literal => $result:literal) => {
        $registry.add_scalar(Address {
            record: const {
                &Record {
                    name: $name,
                    any_case_aliases: &[$($alias)?],
                    summary: $summary,
                    syntax: concat!($name, "(x)"),
                    examples: &[Example { sql: $sql, result: $result }],
                    ..Record::DEFAULT
                }
            },
            kind: $kind,
        })
    };
}

pub fn register(registry: &mut Registry) {
    address!(registry, "IPv4NumToString" / "INET_NTOA", Kind::NumToString4 { class_c: false },
        "The text form of an IPv4 address given as a number.", "SELECT IPv4NumToString(16909060)" => "1.2.3.4");
    address!(registry, "IPv4NumToStringClassC", Kind::NumToString4 { class_c: true },
        "Like IPv4NumToString, with xxx in place of the last number.",
        "SELECT IPv4NumToStringClassC(16909060)" => "1.2.3.xxx");
    address!(registry, "IPv6NumToString" / "INET6_NTOA", Kind::NumToString6, "The text form of an IPv6 address given as 16 bytes.",
        "SELECT IPv6NumToString(toIPv6('::1'))" => "::1");
    address!(registry, "IPv4StringToNum" / "INET_ATON", Kind::StringToNum4(Failure::Throw),
        "The number of an IPv4 address given as text.", "SELECT IPv4StringToNum('1.2.3.4')" => "16909060");
    address!(registry, "IPv4StringToNumOrDefault", Kind::StringToNum4(Failure::Zero),
        "Like IPv4StringToNum; text that is no address becomes 0.",
        "SELECT IPv4StringToNumOrDefault('x')" => "0");
    address!(registry, "IPv4StringToNumOrNull", Kind::StringToNum4(Failure::Null),
        "Like IPv4StringToNum; text that is no address becomes NULL.",
        "SELECT IPv4StringToNumOrNull('x')" => "\\N");
    address!(registry, "IPv6StringToNum" / "INET6_ATON", Kind::StringToNum6(Failure::Throw),
        "The 16 bytes of an IPv6 address given as text.",
        "SELECT IPv6StringToNum('::ff') = toFixedString(concat(repeat('\\0', 15), '\\xff'), 16)" => "1");
    address!(registry, "IPv6StringToNumOrDefault", Kind::StringToNum6(Failure::Zero),
        "Like IPv6StringToNum; text that is no address becomes zero bytes.",
        "SELECT IPv6NumToString(IPv6StringToNumOrDefault('x'))" => "::");
    address!(registry, "IPv6StringToNumOrNull", Kind::StringToNum6(Failure::Null),
        "Like IPv6StringToNum; text that is no address becomes NULL.",
        "SELECT IPv6StringToNumOrNull('x')" => "\\N");
    address!(registry, "IPv4ToIPv6", Kind::Map4To6, "An IPv4 address inside of IPv6.",
        "SELECT IPv4ToIPv6(toIPv4('1.2.3.4'))" => "::ffff:1.2.3.4");
    address!(registry, "IPv4CIDRToRange", Kind::Range4, "The first and the last address of a network.",
        "SELECT IPv4CIDRToRange(toIPv4('1.2.3.4'), 8)" => "('1.0.0.0','1.255.255.255')");
    address!(registry, "IPv6CIDRToRange", Kind::Range6, "The first and the last address of a network.",
        "SELECT IPv6CIDRToRange(toIPv6('2001:db8::1'), 112)" => "('2001:db8::','2001:db8::ffff')");
}

impl ScalarFunction for Address {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        let range = matches!(self.kind, Kind::Range4 | Kind::Range6);
        let n = 1 + usize::from(range);
        check_arity(name, args.len(), n..=n)?;
        let ty = &args[0].ty;
        use DataType::*;
        let sixteen = |ty: &DataType| matches!(ty, IPv6 | FixedString(16));
        let narrow = matches!(ty, IPv4 | UInt8 | UInt16 | UInt32);
        let (sound, expected, result) = match self.kind {
            Kind::NumToString4 { .. } => (narrow, "IPv4 or UInt8 or UInt16 or UInt32", String),
            Kind::NumToString6 => (sixteen(ty), "IPv6 or FixedString(16)", String),
            Kind::StringToNum4(failure) => {
                (*ty == String, "String", if failure == Failure::Null { UInt32.nullable() } else { UInt32 })
            }
            Kind::StringToNum6(failure) => {
                let bytes = FixedString(16);
                (*ty == String, "String", if failure == Failure::Null { bytes.nullable() } else { bytes })
            }
            Kind::Map4To6 => (
                matches!(ty, IPv4 | UInt32),
                "IPv4 or UInt32",
                if *ty == IPv4 { IPv6 } else { FixedString(16) },
            ),
            Kind::Range4 => (narrow, "IPv4 or UInt32", DataType::tuple([IPv4, IPv4])),
            Kind::Range6 => (sixteen(ty), "IPv6 or FixedString(16)", DataType::tuple([IPv6, IPv6])),
        };
        ensure!(
            sound,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of first argument of function {name}, expected {expected}"
        );
        if range {
            ensure!(
                args[1].ty == UInt8,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of second argument of function {name}, expected UInt8",
                args[1].ty
            );
        }
        Ok(result.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let vector = call.vector(0);
        let failing = |failure: Failure| match failure {
            Failure::Throw if call.ctx.settings.cast_ipv4_ipv6_default_on_conversion_error => Failure::Zero,
            other => other,
        };
        let numbers = || -> Result<Vec<u32>> {
            let rules = Rules::new(Mode::Cast, call.ctx);
            let plain = match call.args[0].ty {
                DataType::IPv4 => &DataType::UInt32,
                other => other,
            };
            Ok(convert(vector, plain, &DataType::UInt32, &rules)?.values::<u32>()?.to_vec())
        };
        let strings = |write: &dyn Fn(&mut Vec<u8>, usize)| -> Vector {
            let mut out = chalet_columns::StringBuilder::with_capacity(call.n_rows);
            (0..call.n_rows).for_each(|row| out.push_with(|bytes| write(bytes, row)));
            out.finish().into()
        };
        Ok(match self.kind {
            Kind::NumToString4 { class_c } => {
                let numbers = numbers()?;
                strings(&|out, row| {
                    write::ipv4(out, numbers[row]);
                    if class_c {
                        let end = out.iter().rposition(|b| *b == b'.').map_or(out.len(), |dot| dot + 1);
                        out.truncate(end);
                        out.extend_from_slice(b"xxx");
                    }
                })
            }
            Kind::NumToString6 => {
                let fixed = vector.fixed()?;
                strings(&|out, row| write::ipv6(out, fixed.get(row)))
            }
            Kind::StringToNum4(failure) => {
                let (values, valid) =
                    parse(&*text_of(vector)?, failing(failure), "IPv4", read::try_plain_ipv4)?;
                Vector::from(values).with_nulls(valid.as_ref())
            }
            Kind::StringToNum6(failure) => {
                let (values, valid) = parse(&*text_of(vector)?, failing(failure), "IPv6", read::try_ipv6)?;
                fixed16(values.into_flattened()).with_nulls(valid.as_ref())
            }
            Kind::Map4To6 => fixed16(numbers()?.into_iter().flat_map(read::mapped).collect()),
            Kind::Range4 => {
                let lengths = call.natives::<u8>(1)?;
                let (mut first, mut last) = (Vec::new(), Vec::new());
                for (row, address) in numbers()?.into_iter().enumerate() {
                    let host = u32::MAX.checked_shr(lengths.get(row).into()).unwrap_or(0);
                    first.push(address & !host);
                    last.push(address | host);
                }
                Data::Struct(Struct { fields: vec![first.into(), last.into()], len: call.n_rows }).into()
            }
            Kind::Range6 => {
                let lengths = call.natives::<u8>(1)?;
                let (mut first, mut last) = (Vec::new(), Vec::new());
                for (row, bytes) in vector.fixed()?.iter().enumerate() {
                    let address = bytes.iter().fold(0u128, |x, b| x << 8 | u128::from(*b));
                    let host = u128::MAX.checked_shr(lengths.get(row).into()).unwrap_or(0);
                    first.extend((address & !host).to_be_bytes());
                    last.extend((address | host).to_be_bytes());
                }
                Data::Struct(Struct { fields: vec![fixed16(first), fixed16(last)], len: call.n_rows }).into()
            }
        }
        .into())
    }
}

fn fixed16(bytes: Vec<u8>) -> Vector {
    Data::Fixed(Fixed { width: 16, bytes: Buf::from_vec(bytes) }).into()
}

/// Addresses of texts, and which texts were addresses when failures are NULL.
fn parse<T: Default>(
    strings: &Strings,
    failure: Failure,
    family: &str,
    read: impl Fn(&mut Cursor) -> Option<T>,
) -> Result<(Vec<T>, Option<NullBuffer>)> {
    let mut values = Vec::with_capacity(strings.len());
    let mut valid = Vec::with_capacity(strings.len());
    for text in strings.iter() {
        let mut cursor = Cursor::new(text);
        let value = read(&mut cursor).filter(|_| cursor.is_at_end());
        if value.is_none() && failure == Failure::Throw {
            match family {
                "IPv4" => bail!(CANNOT_PARSE_IPV4, "Invalid IPv4 value"),
                _ => bail!(CANNOT_PARSE_IPV6, "Invalid IPv6 value"),
            }
        }
        valid.push(value.is_some());
        values.push(value.unwrap_or_default());
    }
    Ok((values, (failure == Failure::Null).then(|| valid.into())))
}
