//! `arraySort` and its kin: elements in order, or in the order of what a lambda makes of them.

use super::extremes::is_nan;
use super::lambda::{Elements, HigherOrder, maybe_lambda};
use crate::lists::gathered;
use chalet_base::{Result, ensure};
use chalet_columns::compare::compare_natives;
use chalet_columns::keys::{Order, sort_keys};
use chalet_columns::{Column, Data, Native, Vector, each_native};
use chalet_function_api::{Argument, Bound, Call, Context, Dictionaries, Example, Record};
use std::cmp::Ordering;

macro_rules! sorts {
    ($($id:ident $name:literal $reverse:literal $skipped:literal $dictionaries:ident $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {$(
        pub static $id: HigherOrder = HigherOrder {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                dictionaries: Dictionaries::$dictionaries,
                ..Record::DEFAULT
            },
            bind: |name, args, ctx| bind(name, args, ctx, $skipped),
            execute: |call| execute(call, $reverse, $skipped),
            skipped: $skipped,
        };
    )*};
}

sorts! {
    SORT "arraySort" false 0 PerValue
        "The elements of the first array in ascending order, or in the order of what a lambda makes of them. NaN and NULL come last."
        "arraySort([x -> ...,] arr, ...)" "SELECT arraySort([3, 1, 2]), arraySort(x -> -x, [3, 1, 2])" => "[1,2,3]\t[3,2,1]";
    REVERSE "arrayReverseSort" true 0 PerValue
        "The elements of the first array in descending order, or in the order of what a lambda makes of them. NaN and NULL come last."
        "arrayReverseSort([x -> ...,] arr, ...)" "SELECT arrayReverseSort([3, 1, 2])" => "[3,2,1]";
    PARTIAL "arrayPartialSort" false 1 PerValue
        "As arraySort, where only as many elements as the limit says are certain to be in order."
        "arrayPartialSort([x -> ...,] limit, arr, ...)" "SELECT arrayPartialSort(2, [5, 9, 1, 3])[1]" => "1";
    PARTIAL_REVERSE "arrayPartialReverseSort" true 1 PerValue
        "As arrayReverseSort, where only as many elements as the limit says are certain to be in order."
        "arrayPartialReverseSort([x -> ...,] limit, arr, ...)" "SELECT arrayPartialReverseSort(2, [5, 9, 1, 3])[1]" => "9";
    MAP "mapSort" false 0 InTypes
        "The pairs of a map in ascending order of keys, or of what a lambda makes of them."
        "mapSort([(k, v) -> ...,] map)" "SELECT mapSort(map('b', 1, 'a', 2))" => "{'a':2,'b':1}";
    MAP_REVERSE "mapReverseSort" true 0 InTypes
        "The pairs of a map in descending order of keys, or of what a lambda makes of them."
        "mapReverseSort([(k, v) -> ...,] map)" "SELECT mapReverseSort(map('a', 1, 'b', 2))" => "{'b':2,'a':1}";
    MAP_PARTIAL "mapPartialSort" false 1 InTypes
        "As mapSort, where only as many pairs as the limit says are certain to be in order."
        "mapPartialSort([(k, v) -> ...,] limit, map)" "SELECT mapPartialSort((k, v) -> v, 2, map('a', 3, 'b', 1, 'c', 2))" => "{'b':1,'c':2,'a':3}";
    MAP_PARTIAL_REVERSE "mapPartialReverseSort" true 1 InTypes
        "As mapReverseSort, where only as many pairs as the limit says are certain to be in order."
        "mapPartialReverseSort([(k, v) -> ...,] limit, map)" "SELECT mapPartialReverseSort((k, v) -> v, 2, map('a', 3, 'b', 1, 'c', 2))" => "{'a':3,'c':2,'b':1}";
}

fn bind(name: &'static str, args: &[Argument], _: &Context, skipped: usize) -> Result<Bound> {
    let limit = usize::from(args.first().is_some_and(|arg| arg.is_lambda));
    if skipped == 1
        && let Some(limit) = args.get(limit)
    {
        ensure!(
            limit.ty.is_integer(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of limit argument of function {name} (must be UInt or Int)",
            limit.ty
        );
    }
    let shape = maybe_lambda(name, args, skipped)?;
    let first = usize::from(shape.has_lambda) + skipped;
    Ok(args[first].ty.clone().without_name().into())
}

fn execute(call: &Call, reverse: bool, skipped: usize) -> Result<Column> {
    let elements = Elements::of(call, skipped)?;
    // A partial sort may sort all: the kernel leaves open what comes behind the limit, and mostly sorts short
    // arrays whole.
    let places = sorted(&elements, reverse);
    Ok(gathered(elements.offsets.to_vec(), &elements.first, &places))
}

/// The places of elements in sorted order, row by row; equal elements keep theirs.
pub fn sorted(elements: &Elements, reverse: bool) -> Vec<u32> {
    fn by_number<T: Native>(values: &[T], elements: &Elements, places: &mut [u32], reverse: bool) {
        for range in elements.ranges() {
            let compare = |a: &u32, b: &u32| compare_natives(values[*a as usize], values[*b as usize]);
            match reverse {
                false => places[range].sort_by(compare),
                true => places[range].sort_by(|a, b| compare(b, a)),
            }
        }
    }
    let keys = &elements.mapped;
    let mut places: Vec<u32> = (0..keys.len() as u32).collect();
    if keys.validity.is_none() && !matches!(keys.data, Data::F32(_) | Data::F64(_) | Data::BF16(_)) {
        each_native!(&keys.data, values => {
            by_number(values, elements, &mut places, reverse);
            return places;
        }, _ => {});
    }
    if is_total(keys) {
        for range in elements.ranges().filter(|range| range.len() > 1) {
            match reverse {
                false => places[range].sort_by(|a, b| compare_rows(keys, *a, *b)),
                true => places[range].sort_by(|a, b| compare_rows(keys, *b, *a)),
            }
        }
        return places;
    }
    if matches!(keys.data, Data::List(_) | Data::Struct(_)) {
        // NULL and NaN inside of an element come last in both directions.
        let column = Column::from(keys.clone());
        let bytes = sort_keys(&[(&column, Order::new(reverse, false))], keys.len());
        for range in elements.ranges() {
            places[range].sort_by(|a, b| bytes.get(*a as usize).cmp(bytes.get(*b as usize)));
        }
        return places;
    }
    let last = |place: u32| (keys.is_null(place as usize), is_nan(keys, place as usize));
    let compare = |a: &u32, b: &u32| match (last(*a), last(*b)) {
        ((false, false), (false, false)) => {
            let order = compare_rows(keys, *a, *b);
            if reverse { order.reverse() } else { order }
        }
        (x, y) => x.cmp(&y),
    };
    for range in elements.ranges() {
        places[range].sort_by(compare);
    }
    places
}

/// Are there neither NULL nor NaN, also not in tuples?
fn is_total(keys: &Vector) -> bool {
    keys.validity.is_none()
        && match &keys.data {
            Data::F32(_) | Data::F64(_) | Data::BF16(_) | Data::List(_) | Data::Nothing(_) => false,
            Data::Struct(tuple) => tuple.fields.iter().all(is_total),
            _ => true,
        }
}

fn compare_rows(keys: &Vector, a: u32, b: u32) -> Ordering {
    keys.compare(a as usize, keys, b as usize)
}
