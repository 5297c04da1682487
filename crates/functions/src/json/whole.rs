//! Functions of whole documents that make new ones: `JSONMergePatch`, `prettyPrintJSON`.

use super::document::{Document, Element, Node};
use super::raw;
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Example, Record, Registry};
use chalet_types::DataType;

fn bind(name: &'static str, args: &[Argument]) -> Result<Bound> {
    for arg in args {
        ensure!(
            arg.ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Function {name} requires string arguments, got {}",
            arg.ty
        );
    }
    Ok(DataType::String.into())
}

/// Writes the members of objects merged: those of later objects win, objects in them are merged too.
fn merge(objects: &[Element], out: &mut Vec<u8>) {
    let mut keys: Vec<&[u8]> = Vec::new();
    for object in objects {
        for (key, _) in object.members() {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    out.push(b'{');
    for (index, key) in keys.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        raw::string(key, out);
        out.push(b':');
        let members = objects.iter().map(|object| object.members());
        let mut values: Vec<Element> = members
            .filter_map(|mut members| members.find(|(name, _)| *name == key))
            .map(|(_, value)| value)
            .collect();
        // What is no object replaces all before it.
        let last = values.iter().rposition(|value| !matches!(value.node(), Node::Object { .. }));
        match last {
            Some(last) if last + 1 == values.len() => raw::compact(values[last], out),
            _ => merge(&values.split_off(last.map_or(0, |last| last + 1)), out),
        }
    }
    out.push(b'}');
}

fn merge_patch(call: &Call) -> Result<Column> {
    let mut documents: Vec<Document> = call.args.iter().map(|_| Document::default()).collect();
    let mut out = StringBuilder::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let mut objects = Vec::with_capacity(documents.len());
        for (index, document) in documents.iter_mut().enumerate() {
            let text = call.vector(index).strings()?.get(row);
            let object = document.parse(text).filter(|root| matches!(root.node(), Node::Object { .. }));
            objects.push(object.ok_or_else(|| {
                err!(
                    BAD_ARGUMENTS,
                    "Wrong JSON string to merge. Expected JSON object: {}",
                    String::from_utf8_lossy(text)
                )
            })?);
        }
        out.push_with(|out| merge(&objects, out));
    }
    Ok(Vector::from(out.finish()).into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "JSONMergePatch",
            aliases: &["jsonMergePatch"],
            summary: "Objects merged into one; members of later objects replace those of earlier ones.",
            syntax: "JSONMergePatch(json, ...)",
            examples: &[Example {
                sql: "SELECT JSONMergePatch('{\"a\":1,\"b\":2}', '{\"b\":3}')",
                result: "{\"a\":1,\"b\":3}",
            }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| {
            check_arity(name, args.len(), 1..=usize::MAX)?;
            bind(name, args)
        },
        execute: merge_patch,
    },
    Plain {
        record: Record {
            name: "prettyPrintJSON",
            summary: "JSON spread over lines, indented by four spaces a level, or by as many as are asked for.",
            syntax: "prettyPrintJSON(json[, indent])",
            examples: &[Example {
                sql: "SELECT prettyPrintJSON('{\"a\":1}')",
                result: "{\\n    \"a\": 1\\n}",
            }],
            null_before_arity: true,
            ..Record::DEFAULT
        },
        bind: |name, args, _| {
            check_arity(name, args.len(), 1..=2)?;
            if let Some(indent) = args.get(1) {
                ensure!(
                    indent.ty.is_unsigned(),
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "A value of illegal type was provided as 2nd argument 'indent' to function '{name}'. Expected: const \
                     UInt*, got: {}",
                    indent.ty
                );
                let Some(spaces) = &indent.constant else {
                    bail!(
                        ILLEGAL_COLUMN,
                        "A value of illegal type was provided as 2nd argument 'indent' to function '{name}'. Expected: \
                         const UInt*, got: {}",
                        indent.ty
                    )
                };
                ensure!(
                    spaces.as_u64().is_some_and(|spaces| spaces <= 32),
                    BAD_ARGUMENTS,
                    "Indent parameter of function {name} must be between 0 and 32"
                );
            }
            bind(name, &args[..1])
        },
        execute: |call| {
            let indent = match call.args.len() {
                2.. => unary::<u64, u64>(Operand::of(call, 1), call.n_rows.min(1), |spaces| spaces)?,
                _ => Vec::new(),
            };
            let indent = indent.first().map_or(4, |spaces| *spaces as usize);
            let mut document = Document::default();
            let mut out = StringBuilder::with_capacity(call.n_rows);
            for text in call.vector(0).strings()?.iter() {
                let Some(root) = document.parse(text) else {
                    bail!(BAD_ARGUMENTS, "Invalid JSON: {}", String::from_utf8_lossy(text));
                };
                out.push_with(|out| raw::pretty(root, indent, 0, out));
            }
            Ok(Vector::from(out.finish()).into())
        },
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
