//! `arrayZip` and `arrayZipUnaligned`: arrays as one array of tuples.

use crate::lists::{NONE, array_element, gather_or_default, list, list_of, result_element};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayZip",
        summary: "Arrays of one length as an array of tuples.",
        syntax: "arrayZip(arr1, arr2, ...)",
        examples: &[Example { sql: "SELECT arrayZip(['a', 'b'], [1, 2])", result: "[('a',1),('b',2)]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, false),
    execute,
};

pub static UNALIGNED: Plain = Plain {
    record: Record {
        name: "arrayZipUnaligned",
        summary: "Arrays as an array of tuples, with NULL in place of the elements that shorter arrays lack.",
        syntax: "arrayZipUnaligned(arr1, arr2, ...)",
        examples: &[Example { sql: "SELECT arrayZipUnaligned(['a'], [1, 2])", result: "[('a',1),(NULL,2)]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, true),
    execute: unaligned,
};

fn bind(name: &'static str, args: &[Argument], _: &Context, nullable: bool) -> Result<Bound> {
    let mut types = Vec::with_capacity(args.len());
    for index in 0..args.len() {
        let element = array_element(name, args, index)?.clone();
        ensure!(
            !nullable || element.is_nullable() || element.can_be_nullable(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Nested type {element} cannot be inside Nullable type"
        );
        types.push(if nullable { element.nullable() } else { element });
    }
    Ok(DataType::tuple(types).array().into())
}

fn tuples(offsets: Vec<i64>, fields: Vec<Vector>) -> Column {
    let len = offsets[offsets.len() - 1] as usize;
    list(offsets, Data::Struct(Struct { fields, len }).into()).into()
}

fn execute(call: &Call) -> Result<Column> {
    let Some(first) = call.args.first() else {
        return Ok(tuples(vec![0; call.n_rows + 1], Vec::new()));
    };
    let offsets = list_of(first, call.n_rows)?.offsets;
    let mut fields = Vec::with_capacity(call.args.len());
    for (index, arg) in call.args.iter().enumerate() {
        let list = list_of(arg, call.n_rows)?;
        ensure!(
            list.offsets[..] == offsets[..],
            SIZES_OF_ARRAYS_DONT_MATCH,
            "The argument 1 and argument {} of function arrayZip have different array sizes",
            index + 1
        );
        fields.push(list.values.as_ref().clone());
    }
    Ok(tuples(offsets.to_vec(), fields))
}

fn unaligned(call: &Call) -> Result<Column> {
    let lists = call.args.iter().map(|arg| list_of(arg, call.n_rows)).collect::<Result<Vec<_>>>()?;
    if lists.windows(2).all(|pair| pair[0].offsets[..] == pair[1].offsets[..])
        && let [first, ..] = &lists[..]
    {
        // All are of one length each: nothing is missing.
        let fields = lists.iter().map(|list| list.values.as_ref().clone()).collect();
        return Ok(tuples(first.offsets.to_vec(), fields));
    }
    let mut offsets = vec![0i64];
    for row in 0..call.n_rows {
        let longest = lists.iter().map(|list| list.range(row).len()).max().unwrap_or(0);
        offsets.push(offsets[row] + longest as i64);
    }
    let DataType::Tuple(types) = result_element(call)? else {
        bail!(LOGICAL_ERROR, "{} is not an array of tuples", call.result);
    };
    let fields = lists.iter().zip(types.iter()).map(|(list, field)| {
        let mut elements = Vec::with_capacity(offsets[call.n_rows] as usize);
        for row in 0..call.n_rows {
            elements.extend(list.range(row).map(|e| e as u32));
            elements.resize(offsets[row + 1] as usize, NONE);
        }
        gather_or_default(&list.values, &elements, &field.ty)
    });
    let fields = fields.collect();
    Ok(tuples(offsets, fields))
}
