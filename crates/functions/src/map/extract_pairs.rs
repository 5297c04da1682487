//! `extractKeyValuePairs` and `extractKeyValuePairsWithEscaping`: a map of the pairs that a text spells out. The text is
//! read as the kernel reads it: what is no pair is skipped, and quotes may stand around keys and values.

use super::concat::map_column;
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, StringBuilder};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static PLAIN: Plain = Plain {
    record: Record {
        name: "extractKeyValuePairs",
        aliases: &["mapFromString"],
        any_case_aliases: &["str_to_map"],
        summary: "A map of the pairs in a text such as 'name:ann, age:31'. Delimiters and the quoting character can be given.",
        syntax: "extractKeyValuePairs(text[, key_value_delimiter[, pair_delimiters[, quoting_character[, unexpected_quoting_character_strategy]]]])",
        examples: &[Example {
            sql: "SELECT extractKeyValuePairs('name:\"ann b\", age:31')",
            result: "{'name':'ann b','age':'31'}",
        }],
        constant_arguments: &[1, 2, 3, 4],
        constants_before_types: true,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, false),
    execute,
};

pub static ESCAPED: Plain = Plain {
    record: Record {
        name: "extractKeyValuePairsWithEscaping",
        summary: "As extractKeyValuePairs, where a backslash escapes characters.",
        syntax: "extractKeyValuePairsWithEscaping(text[, key_value_delimiter[, pair_delimiters[, quoting_character[, unexpected_quoting_character_strategy]]]])",
        examples: &[Example {
            sql: "SELECT extractKeyValuePairsWithEscaping('age:a\\\\x0A')",
            result: "{'age':'a\\n'}",
        }],
        constant_arguments: &[1, 2, 3, 4],
        constants_before_types: true,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, true),
    execute,
};

/// What a quote inside of a key or value without quotes does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unexpected {
    /// The key or value is dropped.
    Invalid,
    /// It is a character as others.
    Accept,
    /// It opens a quoted key or value.
    Promote,
}

struct Syntax {
    colon: u8,
    separators: Vec<u8>,
    quote: u8,
    unexpected: Unexpected,
    escapes: bool,
    most: u64,
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context, escapes: bool) -> Result<Bound> {
    ensure!(
        (1..=5).contains(&args.len()),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} requires at least 1 argument and at most 5. {} was provided",
        args.len()
    );
    const NAMES: [&str; 5] = [
        "data_column",
        "key_value_delimiter",
        "pair_delimiters",
        "quoting_character",
        "unexpected_quoting_character_strategy",
    ];
    for (arg, what) in args.iter().zip(NAMES) {
        ensure!(
            arg.ty.is_string(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument {what}. Must be String",
            arg.ty
        );
    }
    let text = |index: usize| -> Result<Option<&[u8]>> {
        let Some(arg) = args.get(index) else { return Ok(None) };
        match arg.constant.as_ref().and_then(|value| value.as_bytes()) {
            Some(text) => Ok(Some(text)),
            None => bail!(ILLEGAL_COLUMN, "Argument at index {index} for function {name} must be constant"),
        }
    };
    let control = |index: usize, default: u8| match text(index)? {
        None | Some([]) => Ok(default),
        Some([one]) => Ok(*one),
        Some(_) => {
            bail!(
                BAD_ARGUMENTS,
                "Control character argument must either be empty or contain exactly 1 character"
            )
        }
    };
    let (colon, quote) = (control(1, b':')?, control(3, b'"')?);
    let separators = text(2)?.filter(|text| !text.is_empty()).unwrap_or(b" ,;").to_vec();
    let unexpected = match text(4)? {
        None => Unexpected::Promote,
        Some(text) => match text.to_ascii_uppercase().as_slice() {
            b"INVALID" => Unexpected::Invalid,
            b"ACCEPT" => Unexpected::Accept,
            b"PROMOTE" => Unexpected::Promote,
            _ => bail!(
                BAD_ARGUMENTS,
                "Invalid unexpected_quoting_character_strategy argument: {}",
                String::from_utf8_lossy(text)
            ),
        },
    };
    ensure!(
        colon != quote,
        BAD_ARGUMENTS,
        "Invalid arguments, key_value_delimiter and quoting_character can not be the same"
    );
    ensure!(
        separators.len() <= 8,
        BAD_ARGUMENTS,
        "Invalid arguments, pair delimiters can contain at most 8 characters"
    );
    ensure!(
        !separators.contains(&colon),
        BAD_ARGUMENTS,
        "Invalid arguments, key_value_delimiter conflicts with pair delimiters"
    );
    ensure!(
        !separators.contains(&quote),
        BAD_ARGUMENTS,
        "Invalid arguments, quoting_character conflicts with pair delimiters"
    );
    ensure!(
        !escapes || ![colon, quote].contains(&b'\\') && !separators.contains(&b'\\'),
        BAD_ARGUMENTS,
        "Invalid arguments, \\ is reserved for the escaping character"
    );
    let most = (ctx.settings.all.0)("extract_key_value_pairs_max_pairs_per_row");
    // 0 is no limit.
    let most = most.and_then(|(value, _)| value.as_u64()).unwrap_or(1000);
    let most = if most == 0 { u64::MAX } else { most };
    let syntax = Syntax { colon, separators, quote, unexpected, escapes, most };
    Ok(Bound::with_state(DataType::map(DataType::String, DataType::String), syntax))
}

fn execute(call: &Call) -> Result<Column> {
    let syntax: &Syntax = call.state()?;
    let texts = StringArg::of(call, 0)?;
    let mut offsets = vec![0i64];
    let (mut keys, mut values) = (StringBuilder::default(), StringBuilder::default());
    for row in 0..call.n_rows {
        let before = keys.len() as u64;
        let mut reader = Reader { syntax, rest: texts.get(row), key: Vec::new(), value: Vec::new() };
        while reader.next_pair() {
            keys.push(&reader.key);
            values.push(&reader.value);
            ensure!(
                keys.len() as u64 - before <= syntax.most,
                LIMIT_EXCEEDED,
                "Number of pairs produced exceeded the limit of {}",
                syntax.most
            );
        }
        offsets.push(keys.len() as i64);
    }
    Ok(map_column(offsets, keys.finish().into(), values.finish().into()))
}

/// How a key or value ended.
enum End {
    /// At a delimiter or at its closing quote.
    Whole,
    /// It is no key or value: what follows may hold another key.
    Broken,
    /// A quote came where none was expected.
    Quote,
    /// The text ended.
    Text,
}

struct Reader<'a> {
    syntax: &'a Syntax,
    rest: &'a [u8],
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Reader<'_> {
    /// Reads on to the end of the next pair; false when there is none.
    fn next_pair(&mut self) -> bool {
        let syntax = self.syntax;
        loop {
            let skipped =
                |b: &u8| *b == syntax.colon || syntax.separators.contains(b) || syntax.escapes && *b == b'\\';
            let Some(start) = self.rest.iter().position(|b| !skipped(b)) else { return false };
            self.rest = &self.rest[start..];
            self.key.clear();
            let mut quoted = self.rest[0] == syntax.quote;
            if quoted {
                self.rest = &self.rest[1..];
            } else {
                match self.read_key() {
                    End::Whole => {}
                    End::Broken => continue,
                    End::Quote if syntax.unexpected == Unexpected::Promote => quoted = true,
                    End::Quote => continue,
                    End::Text => return false,
                }
            }
            if quoted {
                let mut key = std::mem::take(&mut self.key);
                let end = self.read_quoted(&mut key);
                self.key = key;
                match end {
                    End::Whole => {}
                    End::Text => return false,
                    _ => continue,
                }
                if self.key.is_empty() {
                    continue;
                }
                match self.rest.split_first() {
                    Some((&colon, behind)) if colon == syntax.colon => self.rest = behind,
                    _ => continue,
                }
            }
            match self.read_any_value() {
                End::Whole => return true,
                End::Text => return false,
                _ => {}
            }
        }
    }

    /// A key without quotes, up to what divides it from its value.
    fn read_key(&mut self) -> End {
        let syntax = self.syntax;
        let mut at = 0;
        while let Some(&b) = self.rest.get(at) {
            if syntax.escapes && b == b'\\' {
                self.key.extend_from_slice(&self.rest[..at]);
                self.rest = &self.rest[at..];
                if !unescape(&mut self.rest, &mut self.key) {
                    return End::Broken;
                }
                at = 0;
                continue;
            }
            let end = if b == syntax.colon {
                self.key.extend_from_slice(&self.rest[..at]);
                End::Whole
            } else if syntax.separators.contains(&b) {
                End::Broken
            } else if b == syntax.quote && syntax.unexpected != Unexpected::Accept {
                self.key.clear();
                End::Quote
            } else {
                at += 1;
                continue;
            };
            self.rest = &self.rest[at + 1..];
            return end;
        }
        End::Text
    }

    fn read_any_value(&mut self) -> End {
        let syntax = self.syntax;
        self.value.clear();
        match self.rest.first() {
            Some(&b) if b == syntax.quote => self.rest = &self.rest[1..],
            Some(b'\\') if syntax.escapes => return End::Broken,
            _ => match self.read_value() {
                End::Quote if syntax.unexpected == Unexpected::Promote => self.value.clear(),
                End::Quote => return End::Broken,
                end => return end,
            },
        }
        let mut value = std::mem::take(&mut self.value);
        let end = self.read_quoted(&mut value);
        self.value = value;
        if let End::Whole = end {
            // Nothing counts between a closing quote and the next pair.
            let separator = self.rest.iter().position(|b| syntax.separators.contains(b));
            self.rest = &self.rest[separator.unwrap_or(self.rest.len())..];
        }
        end
    }

    /// A value without quotes, up to a separator or the end of the text.
    fn read_value(&mut self) -> End {
        let syntax = self.syntax;
        let mut at = 0;
        while let Some(&b) = self.rest.get(at) {
            if syntax.escapes && b == b'\\' {
                self.value.extend_from_slice(&self.rest[..at]);
                self.rest = &self.rest[at..];
                if !unescape(&mut self.rest, &mut self.value) {
                    return End::Whole;
                }
                at = 0;
                continue;
            }
            if syntax.separators.contains(&b) {
                break;
            }
            if b == syntax.quote && syntax.unexpected != Unexpected::Accept {
                self.rest = &self.rest[at + 1..];
                return End::Quote;
            }
            at += 1;
        }
        self.value.extend_from_slice(&self.rest[..at]);
        self.rest = self.rest.get(at + 1..).unwrap_or(&[]);
        End::Whole
    }

    /// What stands in quotes, up to the closing one.
    fn read_quoted(&mut self, out: &mut Vec<u8>) -> End {
        let syntax = self.syntax;
        loop {
            let stop = |b: &u8| *b == syntax.quote || syntax.escapes && *b == b'\\';
            let Some(at) = self.rest.iter().position(stop) else {
                self.rest = &[];
                return End::Text;
            };
            out.extend_from_slice(&self.rest[..at]);
            if self.rest[at] == syntax.quote {
                self.rest = &self.rest[at + 1..];
                return End::Whole;
            }
            self.rest = &self.rest[at..];
            if !unescape(&mut self.rest, out) {
                return End::Broken;
            }
        }
    }
}

/// Reads an escape sequence, which begins with a backslash; false where the text ends within it.
fn unescape(rest: &mut &[u8], out: &mut Vec<u8>) -> bool {
    let Some(&c) = rest.get(1) else {
        *rest = &[];
        return false;
    };
    let mut behind = &rest[2..];
    match c {
        b'x' => {
            let Some((digits, after)) = behind.split_at_checked(2) else {
                *rest = &[];
                return false;
            };
            // What is no digit counts as 255, as in the kernel.
            let digit = |b: u8| (b as char).to_digit(16).map_or(0xff, |digit| digit as u8);
            out.push((digit(digits[0]).wrapping_mul(16)).wrapping_add(digit(digits[1])));
            behind = after;
        }
        b'N' => {}
        b'a' => out.push(0x07),
        b'b' => out.push(0x08),
        b'e' => out.push(0x1b),
        b'f' => out.push(0x0c),
        b'n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b'v' => out.push(0x0b),
        b'0' => out.push(0),
        b'\\' | b'`' | b'"' | b'\'' | b'/' => out.push(c),
        c if c.is_ascii_control() => out.push(c),
        c => out.extend([b'\\', c]),
    }
    *rest = behind;
    true
}
