//! `extractTextFromHTML`: what a page says, without its tags, scripts, styles and comments.

use crate::plain::Plain;
use crate::string_args::build;
use chalet_base::{Result, bail};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use memchr::{memchr, memmem};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "extractTextFromHTML",
        summary: "The text of HTML without comments, scripts, styles and tags. Runs of white space, and tags between texts, become one space; CDATA stays as it is.",
        syntax: "extractTextFromHTML(s)",
        examples: &[Example {
            sql: "SELECT extractTextFromHTML('<p>a <b>b</b></p><script>x</script> c<![CDATA[<d>]]>')",
            result: "a b c<d>",
        }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        match &args[0].ty {
            DataType::String => Ok(DataType::String.into()),
            ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}"),
        }
    },
    execute: |call: &Call| -> Result<Column> {
        let strings = call.vector(0).strings()?;
        Ok(build(call.n_rows, |row, out| text_of(strings.get(row), out)))
    },
};

const COMMENT: &[u8] = b"<!--";
const CDATA: &[u8] = b"<![CDATA[";

fn is_space(b: &u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// What follows the first `end`, or `None` when there is none.
fn behind<'a>(html: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    memmem::find(html, end).map(|at| &html[at + end.len()..])
}

fn text_of(mut html: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        let text = memchr(b'<', html).unwrap_or(html.len());
        for word in html[..text].split(is_space).filter(|word| !word.is_empty()) {
            if out.len() > start {
                out.push(b' ');
            }
            out.extend_from_slice(word);
        }
        html = &html[text..];
        if html.is_empty() {
            return;
        }
        html = if let Some(rest) = html.strip_prefix(COMMENT) {
            // One that nothing closes is no comment.
            behind(rest, b"-->").unwrap_or(rest)
        } else if let Some(rest) = html.strip_prefix(CDATA) {
            match memmem::find(rest, b"]]>") {
                Some(end) => {
                    out.extend_from_slice(&rest[..end]);
                    &rest[end + 3..]
                }
                None => rest,
            }
        } else {
            match element(html, b"script").or_else(|| element(html, b"style")) {
                Some(rest) => rest,
                None => behind(html, b">").unwrap_or(b""),
            }
        };
    }
}

/// What follows the element of this name at the front, with all that is in it; `None` when there is none.
fn element<'a>(html: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let tag = html[1..].strip_prefix(name)?;
    if !tag.first().is_none_or(|b| is_space(b) || b"/>".contains(b)) {
        return None;
    }
    let Some(end) = memchr(b'>', tag) else { return Some(b"") };
    let mut rest = &tag[end + 1..];
    if end > 0 && tag[end - 1] == b'/' {
        return Some(rest);
    }
    loop {
        let closing = behind(rest, b"</");
        // What CDATA holds closes nothing.
        if let Some(at) = memmem::find(rest, CDATA)
            && closing.is_none_or(|closing| at < rest.len() - closing.len())
            && let Some(end) = memmem::find(&rest[at..], b"]]>")
        {
            rest = &rest[at + end + 3..];
            continue;
        }
        let Some(closing) = closing else { return Some(b"") };
        rest = closing;
        if let Some(after) = closing.strip_prefix(name) {
            let after = &after[after.iter().take_while(|b| is_space(b)).count()..];
            if let Some(after) = after.strip_prefix(b">") {
                return Some(after);
            }
        }
    }
}
