//! Questions about addresses: `isIPv4String`, `isIPv6String`, `isIPAddressInRange`, `cutIPv6`.

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Data, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, Registry};
use chalet_text::Cursor;
use chalet_text::read::address as read;
use chalet_text::write::address as write;
use chalet_types::DataType;

/// The address that is the whole of a text. Its numbers have no leading zeros.
fn v4(text: &[u8]) -> Option<u32> {
    let mut cur = Cursor::new(text);
    read::try_plain_ipv4(&mut cur).filter(|_| cur.is_at_end())
}

fn v6(text: &[u8]) -> Option<[u8; 16]> {
    let mut cur = Cursor::new(text);
    read::try_ipv6(&mut cur).filter(|_| cur.is_at_end())
}

/// `IPv6` alone: what is an address of version 4 is none of version 6.
fn only_v6(text: &[u8]) -> Option<[u8; 16]> {
    v6(text).filter(|_| text.contains(&b':'))
}

fn bind_text(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    ensure!(
        args[0].ty.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of argument of function {name}",
        args[0].ty
    );
    Ok(DataType::UInt8.into())
}

/// The bytes of a row of text.
fn text(vector: &Vector, row: usize) -> Result<&[u8]> {
    match &vector.data {
        Data::Fixed(fixed) => Ok(fixed.get(row)),
        _ => Ok(vector.strings()?.get(row)),
    }
}

fn is_text(call: &Call, test: impl Fn(&[u8]) -> bool) -> Result<Column> {
    let answers = (0..call.n_rows).map(|row| Ok(u8::from(test(text(call.vector(0), row)?))));
    Ok(Vector::from(answers.collect::<Result<Vec<u8>>>()?).into())
}

/// An address of either version; version 4 in the first four bytes.
#[derive(Clone, Copy, PartialEq)]
struct Address {
    bytes: [u8; 16],
    /// 32 or 128.
    bits: u8,
}

impl Address {
    fn of_v4(address: u32) -> Address {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&address.to_be_bytes());
        Address { bytes, bits: 32 }
    }

    fn read(text: &[u8]) -> Result<Address> {
        if let Some(address) = v4(text) {
            return Ok(Address::of_v4(address));
        }
        match v6(text) {
            Some(bytes) => Ok(Address { bytes, bits: 128 }),
            None => {
                bail!(CANNOT_PARSE_TEXT, "Neither IPv4 nor IPv6 address: '{}'", String::from_utf8_lossy(text))
            }
        }
    }

    /// Is the address in the network of another one that has `prefix` bits?
    fn is_in(self, network: Address, prefix: u8) -> bool {
        let number = |address: Address| u128::from_be_bytes(address.bytes);
        self.bits == network.bits
            && (prefix == 0 || (number(self) ^ number(network)) >> (128 - u32::from(prefix)) == 0)
    }
}

/// `10.0.0.0/8`.
fn read_network(text: &[u8]) -> Result<(Address, u8)> {
    let shown = || String::from_utf8_lossy(text).into_owned();
    let Some(slash) = text.iter().position(|&b| b == b'/') else {
        bail!(CANNOT_PARSE_TEXT, "The text does not contain '/': {}", shown());
    };
    let network = Address::read(&text[..slash])?;
    let prefix = std::str::from_utf8(&text[slash + 1..]).ok().and_then(|digits| digits.parse().ok());
    match prefix.filter(|prefix| *prefix <= network.bits) {
        Some(prefix) => Ok((network, prefix)),
        None => Err(err!(CANNOT_PARSE_TEXT, "The CIDR has a malformed prefix bits: {}", shown())),
    }
}

fn in_range(call: &Call) -> Result<Column> {
    let vector = call.vector(0);
    let mut last: Option<(Vec<u8>, (Address, u8))> = None;
    let mut answers = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        // The address NULL is in no network.
        if vector.is_null(row) {
            answers.push(0);
            continue;
        }
        let address = match call.args[0].ty.without_nullable() {
            DataType::IPv4 => Address::of_v4(vector.values::<u32>()?[row]),
            DataType::IPv6 => {
                let bytes = vector.fixed()?.get(row).try_into().unwrap_or_default();
                Address { bytes, bits: 128 }
            }
            _ => Address::read(text(vector, row)?)?,
        };
        let network = text(call.vector(1), row)?;
        // Rows mostly share their network.
        let (network, prefix) = match &last {
            Some((text, parsed)) if text == network => *parsed,
            _ => {
                let parsed = read_network(network)?;
                last = Some((network.to_vec(), parsed));
                parsed
            }
        };
        answers.push(u8::from(address.is_in(network, prefix)));
    }
    Ok(Vector::from(answers).into())
}

fn bind_cut(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 3..=3)?;
    ensure!(
        matches!(args[0].ty, DataType::IPv6 | DataType::FixedString(16)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of argument 1 of function {name}, expected FixedString(16)",
        args[0].ty
    );
    let mut cut = [0usize; 2];
    for (cut, (index, arg)) in cut.iter_mut().zip(args.iter().enumerate().skip(1)) {
        ensure!(
            arg.ty == DataType::UInt8,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument {} of function {name}",
            arg.ty,
            index + 1
        );
        match arg.constant.as_ref().and_then(|value| value.as_u64()) {
            Some(n) if n <= 16 => *cut = n as usize,
            Some(_) => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal value for argument {} {} of function {name}",
                index + 1,
                arg.ty
            ),
            None => bail!(ILLEGAL_COLUMN, "Argument {} of function {name} must be constant", index + 1),
        }
    }
    Ok(Bound::with_state(DataType::String, cut))
}

fn cut(call: &Call) -> Result<Column> {
    let [v6, v4] = *call.state::<[usize; 2]>()?;
    let mut out = StringBuilder::with_capacity(call.n_rows);
    for address in call.vector(0).fixed()?.iter() {
        let mut bytes = [0u8; 16];
        bytes.copy_from_slice(address);
        let is_mapped = bytes[..10] == [0; 10] && bytes[10..12] == [0xff; 2];
        bytes[16 - if is_mapped { v4 } else { v6 }..].fill(0);
        out.push_with(|out| write::ipv6(out, &bytes));
    }
    Ok(Vector::from(out.finish()).into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "isIPv4String",
            summary: "Is the text an IPv4 address?",
            syntax: "isIPv4String(text)",
            examples: &[Example {
                sql: "SELECT isIPv4String('1.2.3.4'), isIPv4String('::1')",
                result: "1\t0",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_text,
        execute: |call| is_text(call, |text| v4(text).is_some()),
    },
    Plain {
        record: Record {
            name: "isIPv6String",
            summary: "Is the text an IPv6 address?",
            syntax: "isIPv6String(text)",
            examples: &[Example {
                sql: "SELECT isIPv6String('::1'), isIPv6String('1.2.3.4')",
                result: "1\t0",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_text,
        execute: |call| is_text(call, |text| only_v6(text).is_some()),
    },
    Plain {
        record: Record {
            name: "isIPAddressInRange",
            summary: "Is an address in a network that is given as address/bits?",
            syntax: "isIPAddressInRange(address, network)",
            examples: &[Example { sql: "SELECT isIPAddressInRange('10.1.2.3', '10.0.0.0/8')", result: "1" }],
            nulls: Nulls::Seen,
            ..Record::DEFAULT
        },
        bind: |name, args, _| {
            check_arity(name, args.len(), 2..=2)?;
            let address = args[0].ty.without_nullable();
            let fits = matches!(address, DataType::String | DataType::IPv4 | DataType::IPv6);
            ensure!(
                fits && args[1].ty == DataType::String,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "The first argument of function {name} must be one of: String, IPv4, IPv6, Nullable(String), Nullable(IPv4), or Nullable(IPv6) and the second argument must be String"
            );
            Ok(DataType::UInt8.into())
        },
        execute: in_range,
    },
    Plain {
        record: Record {
            name: "cutIPv6",
            summary: "An IPv6 address as text with its last bytes set to zero: so many of version 6, so many of version 4 inside of it.",
            syntax: "cutIPv6(address, bytes_of_6, bytes_of_4)",
            examples: &[Example { sql: "SELECT cutIPv6(toIPv6('2001:db8::1'), 2, 0)", result: "2001:db8::" }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_cut,
        execute: cut,
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
