//! Tags as arguments and results.

use super::tags::{Tags, set_of};
use crate::string_args::StringArg;
use chalet_base::{Result, ensure, err};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Column, Data, Vector};
use chalet_function_api::{Argument, Call};
use chalet_types::DataType;

/// The type of tags as a list.
pub fn tags_type() -> DataType {
    DataType::tuple(vec![DataType::String; 2]).array()
}

fn wrong(name: &str, index: usize, ty: &DataType, expected: &str) -> chalet_base::Error {
    err!(
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Argument #{} of function {name} has wrong type {ty}, it must be {expected}",
        index + 1
    )
}

/// A group.
pub fn check_group(name: &str, args: &[Argument], index: usize) -> Result<()> {
    let ty = &args[index].ty;
    if *ty != DataType::UInt64 {
        return Err(wrong(name, index, ty, "UInt64"));
    }
    Ok(())
}

/// A text, or an array of texts.
pub fn check_text(name: &str, args: &[Argument], index: usize, array: bool) -> Result<()> {
    let ty = &args[index].ty;
    let (fits, expected) = match (ty, array) {
        (DataType::Array(element), true) => {
            (matches!(**element, DataType::String | DataType::Nothing), "Array(String)")
        }
        (_, true) => (false, "Array(String)"),
        _ => (*ty == DataType::String, "String"),
    };
    if !fits {
        return Err(wrong(name, index, ty, expected));
    }
    Ok(())
}

/// A list of pairs from an argument on, followed by names and values.
pub fn check_tags(name: &str, args: &[Argument], first: usize) -> Result<()> {
    let syntax = "[('tag_name_1', 'tag_value_1), ...], 'tag_name_2', 'tag_value_2', ...";
    ensure!(
        args.len() > first,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} must be called with at least {} arguments: {name}({}{syntax})",
        first + 1,
        if first > 0 { "id, " } else { "" }
    );
    ensure!(
        (args.len() - first) % 2 == 1,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Expected {} number of arguments of function {name}",
        if first > 0 { "even" } else { "odd" }
    );
    let text =
        |ty: &DataType| matches!(ty.without_low_cardinality(), DataType::String | DataType::FixedString(_));
    let pair = match &args[first].ty {
        ty if ty.is_only_null() => true,
        DataType::Array(element) => match &**element {
            DataType::Tuple(fields) => fields.len() == 2 && fields.iter().all(|field| text(&field.ty)),
            element => *element == DataType::Nothing,
        },
        DataType::Map(key, value) => [key, value].into_iter().all(|ty| text(ty) || **ty == DataType::Nothing),
        _ => false,
    };
    if !pair {
        return Err(wrong(name, first, &args[first].ty, "Array(Tuple(String, String))"));
    }
    for (index, arg) in args.iter().enumerate().skip(first + 1) {
        let is_name = (index - first) % 2 == 1;
        let fits = text(&arg.ty) || !is_name && (text(arg.ty.without_nullable()) || arg.ty.is_only_null());
        if !fits {
            return Err(wrong(name, index, &arg.ty, "String or FixedString"));
        }
    }
    Ok(())
}

fn bytes(vector: &Vector, row: usize) -> &[u8] {
    match &vector.data {
        Data::Str(strings) => strings.get(row),
        Data::Fixed(fixed) => fixed.get(row).trim_ascii_end_nul(),
        _ => &[],
    }
}

trait TrimNul {
    fn trim_ascii_end_nul(&self) -> &[u8];
}

impl TrimNul for [u8] {
    /// Without the zeros that fill a FixedString.
    fn trim_ascii_end_nul(&self) -> &[u8] {
        let len = self.iter().rposition(|&c| c != 0).map_or(0, |at| at + 1);
        &self[..len]
    }
}

/// The tags of each row of the arguments from `first` on.
pub fn tags_of(name: &str, call: &Call, first: usize) -> Result<Vec<Tags>> {
    let list = if call.args[first].ty.is_only_null() { None } else { Some(call.vector(first).list()?) };
    let pairs = match list {
        Some(list) if matches!(list.values.data, Data::Struct(_)) => Some(list.values.structure()?),
        _ => None,
    };
    (0..call.n_rows)
        .map(|row| {
            let mut tags = Vec::new();
            if let (Some(list), Some(pairs)) = (list, pairs) {
                tags.extend(
                    list.range(row).map(|at| (bytes(&pairs.fields[0], at), bytes(&pairs.fields[1], at))),
                );
            }
            for pair in call.args[first + 1..].chunks(2) {
                if !pair[1].ty.is_only_null() && !pair[1].vector.is_null(row) {
                    tags.push((bytes(&pair[0].vector, row), bytes(&pair[1].vector, row)));
                }
            }
            set_of(name, tags.into_iter())
        })
        .collect()
}

/// Tags as lists of pairs, or as maps.
pub fn tags_column(ty: &DataType, all: &[Tags]) -> Result<Column> {
    let mut out = Builder::new(ty);
    let Values::List(list) = &mut out.values else {
        return Err(err!(LOGICAL_ERROR, "Tags are not a list"));
    };
    for tags in all {
        let Values::Struct { fields, len } = &mut list.values.values else {
            return Err(err!(LOGICAL_ERROR, "A tag is not a pair"));
        };
        for (name, value) in tags.iter() {
            for (field, text) in fields.iter_mut().zip([name, value]) {
                if let Values::Str(texts) = &mut field.values {
                    texts.push(text);
                }
            }
            *len += 1;
        }
        list.close();
    }
    Ok(out.finish().into())
}

/// An argument that has to be the same for all rows.
pub fn constant<'a>(call: &'a Call, index: usize, name: &str) -> Result<&'a [u8]> {
    check_constant(call, index, name)?;
    Ok(StringArg::of(call, index)?.get(0))
}

/// The texts of an array that has to be the same for all rows.
pub fn constants<'a>(call: &'a Call, index: usize, name: &str) -> Result<Vec<&'a [u8]>> {
    check_constant(call, index, name)?;
    let list = call.vector(index).list()?;
    Ok(list.range(0).map(|at| bytes(&list.values, at)).collect())
}

fn check_constant(call: &Call, index: usize, name: &str) -> Result<()> {
    ensure!(
        call.args[index].constant,
        ILLEGAL_COLUMN,
        "Argument at index {index} for function {name} must be constant"
    );
    Ok(())
}
