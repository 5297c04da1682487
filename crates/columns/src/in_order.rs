//! Whether rows stand in an order as they are: told column by column from the values, many pairs of neighbours at a time, before any
//! keys are made of them.

use crate::keys::Order;
use crate::{Column, Data, Native, Vector, bits, each_native};
use chalet_base::simd_dispatch::dispatch_simd;
use std::borrow::Cow;

/// Pairs of neighbours that are looked at together: where rows are in no order, these are all.
const STEP: usize = 1024;

/// Are the rows of these columns in order? Where it takes a closer look (there is NaN among the values, or anything inside of
/// arrays that has an order of its own) the answer is no.
pub fn is_in_order(columns: &[(&Column, Order)], n_rows: usize) -> bool {
    let mut tied = Vec::with_capacity(STEP);
    (0..n_rows.saturating_sub(1)).step_by(STEP).all(|start| {
        let len = (n_rows - start).min(STEP + 1);
        tied.clear();
        tied.resize(len - 1, 1);
        columns.iter().all(|(column, order)| {
            let some = match column {
                Column::Const { .. } => return true,
                Column::Flat(vector) => Cow::Owned(vector.slice(start, len)),
                Column::Dict { .. } => Cow::Owned(column.slice(start, len).into_flat()),
            };
            are_pairs_in_order(&some, *order, &mut tied)
        })
    })
}

/// The columns that a key of an order is made of: of a tuple its elements, which are compared one after the other and have the direction
/// of the tuple.
pub fn elements(column: Column, order: Order) -> Vec<(Column, Order)> {
    let is_tuple = |vector: &Vector| {
        vector.validity.is_none() && matches!(&vector.data, Data::Struct(tuple) if !tuple.fields.is_empty())
    };
    let is_one = match &column {
        Column::Flat(vector) | Column::Const { value: vector, .. } | Column::Dict { values: vector, .. } => {
            is_tuple(vector)
        }
    };
    if !is_one || order.nullable {
        return vec![(column, order)];
    }
    match column.into_flat().data {
        // Whether an element can be NULL goes by its type, which a vector without one does not tell.
        Data::Struct(tuple) => {
            let of_field = |field| elements(Column::Flat(field), Order { nullable: true, ..order });
            tuple.fields.into_iter().flat_map(of_field).collect()
        }
        _ => Vec::new(),
    }
}

/// Of the neighbours that all columns before leave tied: is none out of order? Leaves those tied that are equal.
fn are_pairs_in_order(vector: &Vector, order: Order, tied: &mut [u8]) -> bool {
    let Some(validity) = vector.validity.as_ref().filter(|validity| validity.null_count() > 0) else {
        return are_values_in_order(&vector.data, order.descending, tied);
    };
    let valid = bits::to_bytes(validity.inner());
    let ranks: Vec<u8> = valid.iter().map(|&valid| u8::from((valid != 0) == order.nulls_first)).collect();
    if !are_natives_in_order(&ranks, false, tied) {
        return false;
    }
    // Two NULLs are equal, whatever values they have.
    let is_null = |&(_, valid): &(&mut u8, &u8)| *valid == 0;
    let nulls: Vec<u8> = tied.iter().zip(&valid).map(|(&tied, &valid)| tied & u8::from(valid == 0)).collect();
    tied.iter_mut().zip(&valid).filter(is_null).for_each(|(tied, _)| *tied = 0);
    let is_in_order = are_values_in_order(&vector.data, order.descending, tied);
    tied.iter_mut().zip(nulls).for_each(|(tied, null)| *tied |= null);
    is_in_order
}

fn are_values_in_order(data: &Data, descending: bool, tied: &mut [u8]) -> bool {
    match data {
        Data::Nothing(_) => true,
        Data::Str(strings) => {
            are_compared(tied, descending, |row| strings.get(row).cmp(strings.get(row + 1)))
        }
        Data::Fixed(fixed) => are_compared(tied, descending, |row| fixed.get(row).cmp(fixed.get(row + 1))),
        // NULL inside has its place by the order too, which a comparison does not know.
        Data::List(list) if is_plain(&list.values) => {
            let vector = Vector::from(data.clone());
            are_compared(tied, descending, |row| vector.compare(row, &vector, row + 1))
        }
        Data::List(_) => false,
        Data::Struct(tuple) => {
            let inside =
                |field: &Vector| are_pairs_in_order(field, Order { descending, ..Order::ASCENDING }, tied);
            tuple.fields.iter().all(|field| field.null_count() == 0) && tuple.fields.iter().all(inside)
        }
        data => each_native!(data, values => are_natives_in_order(values, descending, tied), _ => false),
    }
}

/// Is there neither a NULL nor a number that is none among values?
fn is_plain(values: &Vector) -> bool {
    values.null_count() == 0
        && match &values.data {
            Data::List(list) => is_plain(&list.values),
            Data::Struct(tuple) => tuple.fields.iter().all(is_plain),
            Data::BF16(_) | Data::F32(_) | Data::F64(_) => false,
            _ => true,
        }
}

fn are_compared(tied: &mut [u8], descending: bool, compare: impl Fn(usize) -> std::cmp::Ordering) -> bool {
    for (row, tied) in tied.iter_mut().enumerate().filter(|(_, tied)| **tied != 0) {
        let order = compare(row);
        if order.is_ne() {
            *tied = 0;
            if order.is_gt() != descending {
                return false;
            }
        }
    }
    true
}

/// The same of numbers. NaN is out of order.
fn are_natives_in_order<T: Native>(values: &[T], descending: bool, tied: &mut [u8]) -> bool {
    #[inline(always)]
    fn pairs<T: Native>(values: &[T], tied: &mut [u8], is_before: impl Fn(T, T) -> bool) -> bool {
        let mut broken = 0;
        for ((&value, &next), tied) in values.iter().zip(&values[1..]).zip(tied) {
            let (before, same) = (u8::from(is_before(value, next)), u8::from(value == next));
            broken |= *tied & !(before | same);
            *tied &= same;
        }
        broken & 1 == 0
    }
    dispatch_simd(|| match descending {
        false => pairs(values, tied, |value, next| value < next),
        true => pairs(values, tied, |value, next| value > next),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;
    use crate::keys::sort_keys;
    use chalet_types::Value;

    fn column(ty: &str, values: impl IntoIterator<Item = Value>) -> Column {
        let mut builder = Builder::new(&ty.parse().unwrap());
        values.into_iter().for_each(|value| builder.push_value(&value).unwrap());
        Column::Flat(builder.finish())
    }

    fn by_keys(columns: &[(&Column, Order)], n_rows: usize) -> bool {
        let keys = sort_keys(columns, n_rows);
        (1..n_rows).all(|row| keys.get(row - 1) <= keys.get(row))
    }

    fn orders() -> impl Iterator<Item = Order> {
        [(false, false), (false, true), (true, false), (true, true)]
            .into_iter()
            .map(|(descending, nulls_first)| Order::new(descending, nulls_first))
    }

    /// What it says of one column and of two is what the keys say.
    #[test]
    fn agrees_with_the_keys() {
        let mut state = 7u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let types = [
            "Nullable(Int64)",
            "UInt8",
            "Nullable(String)",
            "FixedString(2)",
            "Array(UInt16)",
            "Tuple(Int32, String)",
            "Nullable(Float64)",
            "Int256",
        ];
        let (mut n_in_order, mut n_told) = (0, 0);
        for round in 0..4000 {
            let n_rows = 1 + random(5) as usize;
            let mut pick = |ty: &str| {
                let values = (0..n_rows).map(|_| {
                    let n = random(4);
                    match ty {
                        _ if ty.starts_with("Nullable") && n == 3 => Value::Null,
                        "Nullable(String)" => Value::from(["", "a", "abcdefghijklmnop"][n as usize]),
                        "FixedString(2)" => Value::from(["ab", "b", "a", "zz"][n as usize]),
                        "Array(UInt16)" => Value::Array((0..n).map(|_| Value::UInt(random(2))).collect()),
                        "Tuple(Int32, String)" => {
                            Value::Tuple([Value::Int(n as i64), Value::from("x")].into())
                        }
                        "Nullable(Float64)" => Value::Float(n as f64 - 1.0),
                        "UInt8" => Value::UInt(n),
                        _ => Value::Int(n as i64 - 2),
                    }
                });
                column(ty, values.collect::<Vec<_>>())
            };
            let (first, second) =
                (pick(types[round % types.len()]), pick(types[round / types.len() % types.len()]));
            for order in orders() {
                for columns in [&[(&first, order)][..], &[(&first, order), (&second, order)]] {
                    let (found, expected) = (is_in_order(columns, n_rows), by_keys(columns, n_rows));
                    assert_eq!(found, expected, "{columns:?}");
                    n_in_order += usize::from(found);
                    n_told += 1;
                }
            }
        }
        assert!(n_in_order > 4000 && n_told - n_in_order > 4000, "{n_in_order} of {n_told}");
    }

    #[test]
    fn steps_meet() {
        for at in [0, 1, STEP - 1, STEP, STEP + 1, 2 * STEP - 1, 2 * STEP, 3 * STEP - 2] {
            let mut numbers: Vec<u64> = (0..3 * STEP as u64).collect();
            numbers[at] += 2;
            let column: Column = Vector::from(numbers.clone()).into();
            let order = Order { nullable: false, ..Order::ASCENDING };
            assert!(!is_in_order(&[(&column, order)], numbers.len()), "{at}");
            let sorted: Column = Vector::from((0..3 * STEP as u64).collect::<Vec<_>>()).into();
            assert!(is_in_order(&[(&sorted, order)], numbers.len()));
            assert!(!is_in_order(&[(&sorted, Order { descending: true, ..order })], numbers.len()));
        }
    }

    #[test]
    fn what_takes_a_closer_look_is_not_in_order() {
        let floats = column("Float64", [1.0, f64::NAN].map(Value::Float));
        let nulls =
            column("Array(Nullable(Int8))", [Value::Array([Value::Null].into()), Value::Array([].into())]);
        for order in orders() {
            assert!(!is_in_order(&[(&floats, order)], 2) && !is_in_order(&[(&nulls, order)], 2));
        }
    }

    /// Elements of tuples have the order of the tuples.
    #[test]
    fn elements_compare_as_their_tuple() {
        let element = |n: u64| if n == 2 { Value::Null } else { Value::UInt(n) };
        let float = |n: u64| Value::Float([1.0, f64::NAN, -1.0][n as usize]);
        let tuples = (0..27).map(|n| {
            Value::Tuple([element(n % 3), float(n / 3 % 3), Value::Tuple([element(n / 9)].into())].into())
        });
        let tuples = column("Tuple(Nullable(UInt64), Float64, Tuple(Nullable(UInt64)))", tuples);
        for order in orders().map(|order| Order { nullable: false, ..order }) {
            let whole = sort_keys(&[(&tuples, order)], 27);
            let columns = elements(tuples.clone(), order);
            assert_eq!(columns.len(), 3);
            let parts =
                sort_keys(&columns.iter().map(|(column, order)| (column, *order)).collect::<Vec<_>>(), 27);
            for (a, b) in (0..27).flat_map(|a| (0..27).map(move |b| (a, b))) {
                assert_eq!(
                    whole.get(a).cmp(whole.get(b)),
                    parts.get(a).cmp(parts.get(b)),
                    "{a} {b} {order:?}"
                );
            }
        }
    }
}
