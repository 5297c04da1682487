//! `arrayFirst`, `arrayLast` and their kin: the first or last element for which a lambda is true, or its position.

use super::lambda::{Elements, HigherOrder, check_predicate, with_lambda};
use crate::lists::{NONE, gather_or_default};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

const PREDICATE: Record = Record::DEFAULT;

macro_rules! picks {
    ($($id:ident $name:literal $last:literal $bind:ident $execute:ident $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {$(
        pub static $id: HigherOrder = HigherOrder {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                ..PREDICATE
            },
            bind: $bind,
            execute: |call| $execute(call, $last),
            skipped: 0,
        };
    )*};
}

picks! {
    FIRST "arrayFirst" false bind_element element
        "The first element for which a lambda is true, else the default of its type."
        "arrayFirst(x -> ..., arr, ...)" "SELECT arrayFirst(x -> x > 1, [1, 2, 3])" => "2";
    FIRST_OR_NULL "arrayFirstOrNull" false bind_or_null element
        "The first element for which a lambda is true, else NULL."
        "arrayFirstOrNull(x -> ..., arr, ...)" "SELECT arrayFirstOrNull(x -> x > 5, [1, 2, 3])" => "\\N";
    FIRST_INDEX "arrayFirstIndex" false bind_index index
        "The position of the first element for which a lambda is true, from 1; 0 when there is none."
        "arrayFirstIndex(x -> ..., arr, ...)" "SELECT arrayFirstIndex(x -> x > 1, [1, 2, 3])" => "2";
    LAST "arrayLast" true bind_element element
        "The last element for which a lambda is true, else the default of its type."
        "arrayLast(x -> ..., arr, ...)" "SELECT arrayLast(x -> x < 3, [1, 2, 3])" => "2";
    LAST_OR_NULL "arrayLastOrNull" true bind_or_null element
        "The last element for which a lambda is true, else NULL."
        "arrayLastOrNull(x -> ..., arr, ...)" "SELECT arrayLastOrNull(x -> x > 5, [1, 2, 3])" => "\\N";
    LAST_INDEX "arrayLastIndex" true bind_index index
        "The position of the last element for which a lambda is true, from 1; 0 when there is none."
        "arrayLastIndex(x -> ..., arr, ...)" "SELECT arrayLastIndex(x -> x < 3, [1, 2, 3])" => "2";
}

fn first_type(name: &'static str, args: &[Argument]) -> Result<DataType> {
    let mut shape = with_lambda(name, args, 0)?;
    check_predicate(name, &shape)?;
    Ok(shape.elements.swap_remove(0))
}

fn bind_element(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    Ok(first_type(name, args)?.into())
}

fn bind_or_null(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    let element = first_type(name, args)?;
    ensure!(
        element.is_nullable() || element.can_be_nullable(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Nested type {element} cannot be inside Nullable type"
    );
    Ok(element.nullable().into())
}

fn bind_index(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    first_type(name, args)?;
    Ok(DataType::UInt32.into())
}

/// For every row the element, if there is one.
fn found(elements: &Elements, last: bool) -> Result<Vec<Option<(usize, usize)>>> {
    let truths = elements.truths()?;
    let pick = |mut range: std::ops::Range<usize>| {
        let start = range.start;
        let found = if last { range.rfind(|&e| truths[e]) } else { range.find(|&e| truths[e]) };
        found.map(|e| (e, e - start + 1))
    };
    Ok(elements.ranges().map(pick).collect())
}

fn element(call: &Call, last: bool) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    let found = found(&elements, last)?;
    let places: Vec<u32> = found.into_iter().map(|found| found.map_or(NONE, |(e, _)| e as u32)).collect();
    Ok(gather_or_default(&elements.first, &places, call.result).into())
}

fn index(call: &Call, last: bool) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    let positions = found(&elements, last)?.into_iter().map(|found| found.map_or(0, |(_, i)| i as u32));
    Ok(Vector::from(positions.collect::<Vec<u32>>()).into())
}
