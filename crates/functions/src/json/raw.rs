//! JSON values as text again, without spaces or spread over lines.

use super::document::{Element, Node};
use chalet_text::write::escape::{JsonStrings, json};
use chalet_text::write::number;

/// How the kernel escapes strings here: slashes stand as they are.
const STRINGS: JsonStrings = JsonStrings { escape_slashes: false, validate: false };

pub fn string(text: &[u8], out: &mut Vec<u8>) {
    json(out, text, STRINGS);
}

fn scalar(element: Element, out: &mut Vec<u8>) {
    match element.node() {
        Node::Bool(true) => out.extend_from_slice(b"true"),
        Node::Bool(false) => out.extend_from_slice(b"false"),
        Node::Int(x) => number::integer(out, x),
        Node::UInt(x) => number::integer(out, x),
        Node::Float(x) => number::f64(out, x),
        // The kernel shows integers of too many digits as strings.
        Node::Big(span) | Node::Str(span) => string(element.text(span), out),
        Node::Null | Node::Array { .. } | Node::Object { .. } => out.extend_from_slice(b"null"),
    }
}

/// A value without spaces.
pub fn compact(element: Element, out: &mut Vec<u8>) {
    match element.node() {
        Node::Array { .. } => {
            out.push(b'[');
            for (index, item) in element.elements().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                compact(item, out);
            }
            out.push(b']');
        }
        Node::Object { .. } => {
            out.push(b'{');
            for (index, (key, value)) in element.members().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                string(key, out);
                out.push(b':');
                compact(value, out);
            }
            out.push(b'}');
        }
        _ => scalar(element, out),
    }
}

fn line(n_spaces: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', n_spaces));
}

/// A value spread over lines, which has `depth` levels of `indent` spaces around it.
pub fn pretty(element: Element, indent: usize, depth: usize, out: &mut Vec<u8>) {
    match element.node() {
        Node::Array { len: 1.., .. } => {
            out.push(b'[');
            for (index, item) in element.elements().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                line(indent * (depth + 1), out);
                pretty(item, indent, depth + 1, out);
            }
            line(indent * depth, out);
            out.push(b']');
        }
        Node::Object { len: 1.., .. } => {
            out.push(b'{');
            for (index, (key, value)) in element.members().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                line(indent * (depth + 1), out);
                string(key, out);
                out.extend_from_slice(b": ");
                pretty(value, indent, depth + 1, out);
            }
            line(indent * depth, out);
            out.push(b'}');
        }
        _ => compact(element, out),
    }
}
