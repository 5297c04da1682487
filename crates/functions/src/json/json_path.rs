//! JSONPath: `JSON_VALUE`, `JSON_QUERY`, `JSON_EXISTS`.

use super::document::{Document, Element, Node};
use super::raw;
use super::typed::text_of;
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;

enum Step {
    Member(Vec<u8>),
    /// Every element.
    All,
    /// Elements of these ranges, which count from 0; an end is not in its range.
    Ranges(Vec<(usize, usize)>),
}

struct Path(Vec<Step>);

struct Parser<'a> {
    whole: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn fail<T>(&self) -> Result<T> {
        Err(err!(BAD_ARGUMENTS, "Unable to parse JSONPath: {}", self.whole))
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn accept(&mut self, text: &str) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, text: &str) -> Result<()> {
        if self.accept(text) { Ok(()) } else { self.fail() }
    }

    fn quoted(&mut self, quote: char) -> Result<Vec<u8>> {
        let Some(end) = self.rest.find(quote) else { return self.fail() };
        let name = self.rest.as_bytes()[..end].to_vec();
        self.rest = &self.rest[end + 1..];
        Ok(name)
    }

    fn number(&mut self) -> Result<usize> {
        self.skip_space();
        let len = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(number) = self.rest[..len].parse() else { return self.fail() };
        self.rest = &self.rest[len..];
        Ok(number)
    }

    fn bracket(&mut self) -> Result<Step> {
        if self.accept("*") {
            self.expect("]")?;
            return Ok(Step::All);
        }
        for quote in ["'", "\""] {
            if self.accept(quote) {
                let name = self.quoted(quote.chars().next().unwrap_or('\''))?;
                self.expect("]")?;
                return Ok(Step::Member(name));
            }
        }
        let bare: usize =
            self.rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum();
        if bare > 0 && !self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            let name = self.rest.as_bytes()[..bare].to_vec();
            self.rest = &self.rest[bare..];
            self.expect("]")?;
            return Ok(Step::Member(name));
        }
        let mut ranges = Vec::new();
        loop {
            let first = self.number()?;
            let end = if self.accept("to") { self.number()? } else { first + 1 };
            ranges.push((first, end));
            if !self.accept(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(Step::Ranges(ranges))
    }

    fn path(mut self) -> Result<Path> {
        self.expect("$")?;
        let mut steps = Vec::new();
        loop {
            if self.accept(".") {
                if self.accept("\"") {
                    steps.push(Step::Member(self.quoted('"')?));
                    continue;
                }
                self.skip_space();
                let of_name = |c: &char| c.is_alphanumeric() || *c == '_' || !c.is_ascii();
                let len: usize = self.rest.chars().take_while(of_name).map(char::len_utf8).sum();
                if len == 0 {
                    return self.fail();
                }
                steps.push(Step::Member(self.rest.as_bytes()[..len].to_vec()));
                self.rest = &self.rest[len..];
            } else if self.accept("[") {
                steps.push(self.bracket()?);
            } else {
                break;
            }
        }
        self.skip_space();
        if self.rest.is_empty() { Ok(Path(steps)) } else { self.fail() }
    }
}

impl Path {
    /// Calls `found` for the values at the path, in order, until it says that it has seen enough.
    fn visit<'d>(steps: &[Step], at: Element<'d>, found: &mut impl FnMut(Element<'d>) -> bool) -> bool {
        let Some((step, rest)) = steps.split_first() else { return found(at) };
        match step {
            Step::Member(name) => {
                let member = at.members().find(|(key, _)| key == name);
                member.is_some_and(|(_, value)| Path::visit(rest, value, found))
            }
            Step::All => at.elements().any(|item| Path::visit(rest, item, found)),
            Step::Ranges(ranges) => ranges.iter().any(|&(from, to)| {
                let items = at.elements().skip(from).take(to.saturating_sub(from));
                items.into_iter().any(|item| Path::visit(rest, item, found))
            }),
        }
    }
}

/// What `JSON_VALUE` gives, by its settings.
struct ValueOptions {
    path: Path,
    /// NULL where there is no value, not an empty text.
    nullable: bool,
    /// Arrays and objects are values too.
    complex: bool,
}

fn bind_value(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    let path = parsed(name, args)?;
    let is_set = |name: &str| (ctx.settings.all.0)(name).is_some_and(|(value, _)| value.as_u64() == Some(1));
    let nullable = is_set("function_json_value_return_type_allow_nullable");
    let complex = is_set("function_json_value_return_type_allow_complex");
    let ty = if nullable { DataType::String.nullable() } else { DataType::String };
    Ok(Bound::with_state(ty, ValueOptions { path, nullable, complex }))
}

fn values(call: &Call) -> Result<Column> {
    let options = call.state::<ValueOptions>()?;
    let mut document = Document::default();
    let mut out = StringBuilder::with_capacity(call.n_rows);
    let mut valid = Vec::with_capacity(call.n_rows);
    let texts = StringArg::of(call, 0)?;
    for row in 0..call.n_rows {
        let mut found = false;
        let root = document.parse(texts.get(row));
        out.push_with(|out| {
            let Some(root) = root else { return };
            Path::visit(&options.path.0, root, &mut |element| {
                match element.node() {
                    Node::Array { .. } | Node::Object { .. } if !options.complex => return false,
                    Node::Array { .. } | Node::Object { .. } => raw::compact(element, out),
                    _ => out.extend_from_slice(text_of(element, &mut Vec::new())),
                }
                found = true;
                true
            });
        });
        valid.push(found);
    }
    let mut vector = Vector::from(out.finish());
    if options.nullable {
        vector.validity = Some(valid.into());
    }
    Ok(vector.into())
}

fn bind(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    Ok(Bound::with_state(result, parsed(name, args)?))
}

/// The path of the second argument.
fn parsed(name: &'static str, args: &[Argument]) -> Result<Path> {
    // Further arguments are not looked at.
    ensure!(args.len() >= 2, TOO_FEW_ARGUMENTS_FOR_FUNCTION, "Function {name} requires at least 2 arguments");
    for (index, what) in ["JSON", "JSONPath"].into_iter().enumerate() {
        ensure!(
            args[index].ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "{what} of function {name} should be a string, illegal type: {}",
            args[index].ty
        );
    }
    let Some(text) = args[1].constant.as_ref().and_then(|path| path.as_str()) else {
        bail!(ILLEGAL_COLUMN, "JSONPath of function {name} must be a constant string");
    };
    Parser { whole: text, rest: text }.path()
}

/// One text a row: `write` gets the document and appends.
fn texts(call: &Call, write: impl Fn(&[Step], Element, &mut Vec<u8>)) -> Result<Column> {
    let path = call.state::<Path>()?;
    let mut document = Document::default();
    let mut out = StringBuilder::with_capacity(call.n_rows);
    let texts = StringArg::of(call, 0)?;
    for row in 0..call.n_rows {
        match document.parse(texts.get(row)) {
            Some(root) => out.push_with(|out| write(&path.0, root, out)),
            None => out.push(b""),
        }
    }
    Ok(Vector::from(out.finish()).into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "JSON_EXISTS",
            summary: "Is there a value at a JSONPath?",
            syntax: "JSON_EXISTS(json, path)",
            examples: &[Example { sql: "SELECT JSON_EXISTS('{\"a\": 1}', '$.a')", result: "1" }],
            constant_arguments: &[1],
            constants_before_types: true,
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, DataType::UInt8),
        execute: |call| {
            let path = call.state::<Path>()?;
            let mut document = Document::default();
            let texts = StringArg::of(call, 0)?;
            let rows = (0..call.n_rows).map(|row| {
                let root = document.parse(texts.get(row));
                u8::from(root.is_some_and(|root| Path::visit(&path.0, root, &mut |_| true)))
            });
            Ok(Vector::from(rows.collect::<Vec<u8>>()).into())
        },
    },
    Plain {
        record: Record {
            name: "JSON_VALUE",
            summary: "The first string, number or boolean at a JSONPath as text; empty where there is none.",
            syntax: "JSON_VALUE(json, path)",
            examples: &[Example { sql: "SELECT JSON_VALUE('{\"a\": {\"b\": 1}}', '$.a.b')", result: "1" }],
            constant_arguments: &[1],
            constants_before_types: true,
            ..Record::DEFAULT
        },
        bind: bind_value,
        execute: values,
    },
    Plain {
        record: Record {
            name: "JSON_QUERY",
            summary: "All values at a JSONPath, as JSON in brackets; empty where there is none.",
            syntax: "JSON_QUERY(json, path)",
            examples: &[Example { sql: "SELECT JSON_QUERY('{\"a\": [1, 2]}', '$.a[*]')", result: "[1, 2]" }],
            constant_arguments: &[1],
            constants_before_types: true,
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, DataType::String),
        execute: |call| {
            texts(call, |steps, root, out| {
                let start = out.len();
                Path::visit(steps, root, &mut |element| {
                    out.extend_from_slice(if out.len() == start { b"[" } else { b", " });
                    raw::compact(element, out);
                    false
                });
                if out.len() > start {
                    out.push(b']');
                }
            })
        },
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
