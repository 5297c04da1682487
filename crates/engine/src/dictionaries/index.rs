//! Keys to rows. Rows are numbered from 1; 0 stands for a key that is not there.

use super::definition::Definition;
use super::layout::{EDGES_BELONG, KeyKind};
use super::polygons::{Polygons, depth_of_key};
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure};
use chalet_columns::rows::RowCodec;
use chalet_columns::{Block, Data, Vector};
use chalet_types::{DataType, Value};
use std::collections::BTreeMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};

/// The bits of an IPv6 address; those of an IPv4 address are its last 32.
const ADDRESS_BITS: u8 = 128;

pub(crate) enum Index {
    Numbers(HashMap<u64, u32>),
    Rows(Vec<RowCodec>, HashMap<Box<[u8]>, u32>),
    Ranges {
        codecs: Vec<RowCodec>,
        by_key: HashMap<Box<[u8]>, Vec<Range>>,
        greatest: bool,
    },
    /// By length, then by the address without the bits behind the prefix.
    Prefixes(BTreeMap<u8, HashMap<u128, u32>>),
    Polygons(Polygons),
    /// Rows were made for keys, in their order.
    InOrder,
}

/// A row and the values for which it counts, both bounds included; none where it is open.
pub(crate) struct Range {
    low: Option<Value>,
    high: Option<Value>,
    row: u32,
}

/// The index over rows in the layout's order, which may be other and fewer rows than the source gave.
pub(crate) fn build(definition: &Definition, block: Block) -> Result<(Block, Index)> {
    let keys: Vec<Vector> =
        block.columns()[..definition.n_keys].iter().map(|c| c.flat().into_owned()).collect();
    if definition.layout.has_ranges {
        let index = ranges(definition, &keys, &block)?;
        let n_rows = block.n_rows();
        let mut columns = block.columns().to_vec();
        for (at, end) in [(definition.n_keys, End::Least), (definition.n_keys + 1, End::Greatest)] {
            if !matches!(definition.schema.columns[at].ty, DataType::Nullable(_)) {
                columns[at] = closed(&columns[at].flat(), end).into();
            }
        }
        return Ok((Block::new(columns, n_rows), index));
    }
    match definition.layout.keys {
        KeyKind::Simple => {
            let numbers = keys[0].values::<u64>()?;
            if definition.layout.is_flat
                && let Some(key) = numbers.iter().find(|key| **key >= definition.most_keys)
            {
                let most = definition.most_keys;
                bail!(ARGUMENT_OUT_OF_BOUND, "The identifier {key} should be less than {most}");
            }
            let (mut index, mut order) = distinct(numbers.iter().copied(), definition.layout.last_wins);
            if definition.layout.keeps_duplicates {
                index.values_mut().for_each(|row| *row = order[*row as usize - 1] + 1);
                return Ok((block, Index::Numbers(index)));
            }
            if definition.layout.is_flat {
                order.sort_by_key(|&row| numbers[row as usize]);
                (1..).zip(&order).for_each(|(at, &row)| {
                    index.insert(numbers[row as usize], at);
                });
            }
            Ok((block.gather(&order), Index::Numbers(index)))
        }
        KeyKind::Complex => {
            let codecs = codecs(definition);
            let bytes = (0..block.n_rows()).map(|row| key_bytes(&codecs, &keys, row));
            let (mut index, order) = distinct(bytes, definition.layout.last_wins);
            if definition.layout.keeps_duplicates {
                index.values_mut().for_each(|row| *row = order[*row as usize - 1] + 1);
                return Ok((block, Index::Rows(codecs, index)));
            }
            Ok((block.gather(&order), Index::Rows(codecs, index)))
        }
        KeyKind::Prefix => prefixes(&keys[0], &block),
        KeyKind::Polygon => {
            let Some(depth) = depth_of_key(&definition.keys()[0].ty) else {
                bail!(LOGICAL_ERROR, "A key is no polygon")
            };
            let covers_edges = definition.layout.word == EDGES_BELONG;
            let polygons = Polygons::new(block.column(0), block.n_rows(), depth, covers_edges);
            Ok((block, Index::Polygons(polygons)))
        }
        KeyKind::Pattern => Ok((block, Index::InOrder)),
    }
}

/// Numbers the distinct keys from 1, and says which row of the source each of them has.
fn distinct<K: Hash + Eq>(keys: impl Iterator<Item = K>, last_wins: bool) -> (HashMap<K, u32>, Vec<u32>) {
    let mut index = HashMap::default();
    let mut order: Vec<u32> = Vec::new();
    for (row, key) in (0..).zip(keys) {
        let next = order.len() as u32 + 1;
        let at = *index.entry(key).or_insert(next);
        if at == next {
            order.push(row);
        } else if last_wins {
            order[at as usize - 1] = row;
        }
    }
    (index, order)
}

fn codecs(definition: &Definition) -> Vec<RowCodec> {
    definition.keys().iter().map(|key| RowCodec::new(&key.ty)).collect()
}

fn key_bytes(codecs: &[RowCodec], keys: &[Vector], row: usize) -> Box<[u8]> {
    let mut bytes = Vec::new();
    codecs.iter().zip(keys).for_each(|(codec, key)| codec.put(key, row, &mut bytes));
    bytes.into()
}

fn ranges(definition: &Definition, keys: &[Vector], block: &Block) -> Result<Index> {
    let codecs = codecs(definition);
    let mut by_key: HashMap<Box<[u8]>, Vec<Range>> = HashMap::default();
    let [low, high] = [definition.n_keys, definition.n_keys + 1].map(|column| block.column(column));
    for row in 0..block.n_rows() {
        let [low, high] = [low, high].map(|bound| Some(bound.value(row)).filter(|value| !value.is_null()));
        if !definition.ranges.null_is_open && (low.is_none() || high.is_none()) {
            continue;
        }
        let of_key = by_key.entry(key_bytes(&codecs, keys, row)).or_default();
        of_key.push(Range { low, high, row: row as u32 + 1 });
    }
    for of_key in by_key.values_mut() {
        of_key.sort_by(|a, b| {
            let low = match (&a.low, &b.low) {
                (Some(a), Some(b)) => a.compare(b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            };
            low.then_with(|| match (&a.high, &b.high) {
                (Some(a), Some(b)) => a.compare(b),
                (a, b) => b.is_some().cmp(&a.is_some()),
            })
        });
    }
    Ok(Index::Ranges { codecs, by_key, greatest: definition.ranges.greatest })
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Least,
    Greatest,
}

/// Bounds with the least or the greatest number instead of NULL.
fn closed(bounds: &Vector, end: End) -> Vector {
    macro_rules! filled {
        ($values:ident, $ty:ty) => {{
            let fill = if end == End::Least { <$ty>::MIN } else { <$ty>::MAX };
            let fill = |(row, value): (usize, &$ty)| if bounds.is_null(row) { fill } else { *value };
            $values.iter().enumerate().map(fill).collect::<Vec<$ty>>().into()
        }};
    }
    match &bounds.data {
        Data::U8(v) => filled!(v, u8),
        Data::U16(v) => filled!(v, u16),
        Data::U32(v) => filled!(v, u32),
        Data::U64(v) => filled!(v, u64),
        Data::I8(v) => filled!(v, i8),
        Data::I16(v) => filled!(v, i16),
        Data::I32(v) => filled!(v, i32),
        Data::I64(v) => filled!(v, i64),
        Data::F32(v) => filled!(v, f32),
        Data::F64(v) => filled!(v, f64),
        _ => bounds.without_nulls(),
    }
}

impl Range {
    fn holds(&self, value: &Value) -> bool {
        self.low.as_ref().is_none_or(|low| low.compare(value).is_le())
            && self.high.as_ref().is_none_or(|high| high.compare(value).is_ge())
    }
}

/// An address and the length of its prefix, of text such as `10.0.0.0/8`.
fn prefix(text: &[u8]) -> Result<(u128, u8)> {
    let text = String::from_utf8_lossy(text);
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (&*text, None),
    };
    let Ok(parsed) = address.parse::<IpAddr>() else {
        bail!(CANNOT_PARSE_INPUT_ASSERTION_FAILED, "Invalid IP address or prefix '{text}'");
    };
    let before = if parsed.is_ipv4() { ADDRESS_BITS - 32 } else { 0 };
    let own = match length.map(str::parse::<u8>) {
        None => ADDRESS_BITS - before,
        Some(Ok(length)) => length,
        Some(Err(_)) => bail!(CANNOT_PARSE_INPUT_ASSERTION_FAILED, "Invalid IP prefix '{text}'"),
    };
    ensure!(
        own <= ADDRESS_BITS - before,
        CANNOT_PARSE_INPUT_ASSERTION_FAILED,
        "Invalid IP prefix '{text}': its length is at most {}",
        ADDRESS_BITS - before
    );
    let address = match parsed {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let length = before + own;
    Ok((u128::from(address) & mask(length), length))
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(u32::from(ADDRESS_BITS - length)).unwrap_or(0)
}

/// Rows in the order of addresses; the text of a prefix becomes what it means.
fn prefixes(keys: &Vector, block: &Block) -> Result<(Block, Index)> {
    let parsed = keys.strings()?.iter().map(prefix).collect::<Result<Vec<_>>>()?;
    let (_, mut order) = distinct(parsed.iter().copied(), true);
    order.sort_by_key(|&row| parsed[row as usize]);
    let mapped = u128::from(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0));
    let is_v4 = |&(address, length): &(u128, u8)| length >= 96 && address & mask(96) == mapped;
    let all_v4 = parsed.iter().all(is_v4);
    let mut shown = chalet_columns::StringBuilder::with_capacity(order.len());
    let mut by_length: BTreeMap<u8, HashMap<u128, u32>> = BTreeMap::new();
    for (at, &row) in (1..).zip(&order) {
        let (address, length) = parsed[row as usize];
        let v6 = Ipv6Addr::from(address);
        let text = match v6.to_ipv4_mapped().filter(|_| all_v4) {
            Some(v4) => format!("{v4}/{}", length - 96),
            None => format!("{v6}/{length}"),
        };
        shown.push(text.as_bytes());
        by_length.entry(length).or_default().insert(address, at);
    }
    let mut columns = block.gather(&order).into_columns();
    columns[0] = Vector::from(shown.finish()).into();
    Ok((Block::new(columns, order.len()), Index::Prefixes(by_length)))
}

impl Index {
    /// The rows of keys, whose vectors are of the types that the definition says; those of prefixes are 16 bytes wide.
    /// `range`: the values that choose among the ranges of a key.
    pub fn find(&self, keys: &[Vector], range: Option<&Vector>) -> Result<Vec<u32>> {
        let n_rows = keys.first().map_or(0, Vector::len);
        Ok(match self {
            Index::Numbers(index) => {
                keys[0].values::<u64>()?.iter().map(|key| index.get(key).copied().unwrap_or(0)).collect()
            }
            Index::Rows(codecs, index) => {
                let found = |row| index.get(&key_bytes(codecs, keys, row)).copied().unwrap_or(0);
                (0..n_rows).map(found).collect()
            }
            Index::Ranges { codecs, by_key, greatest } => {
                let Some(range) = range else { bail!(LOGICAL_ERROR, "A range is looked up without a value") };
                let found = |row| {
                    let of_key = by_key.get(&key_bytes(codecs, keys, row))?;
                    let value = range.value(row);
                    let holds = |range: &&Range| range.holds(&value);
                    let range =
                        if *greatest { of_key.iter().rev().find(holds) } else { of_key.iter().find(holds) };
                    range.map(|range| range.row)
                };
                (0..n_rows).map(|row| found(row).unwrap_or(0)).collect()
            }
            Index::Polygons(polygons) => polygons.find(&keys[0], &keys[1])?,
            Index::InOrder => (1..=n_rows as u32).collect(),
            Index::Prefixes(by_length) => {
                let found = |key: &[u8]| {
                    let address = u128::from_be_bytes(key.try_into().ok()?);
                    let of_length = |(length, rows): (&u8, &HashMap<u128, u32>)| {
                        rows.get(&(address & mask(*length))).copied()
                    };
                    by_length.iter().rev().find_map(of_length)
                };
                keys[0].fixed()?.iter().map(|key| found(key).unwrap_or(0)).collect()
            }
        })
    }
}
