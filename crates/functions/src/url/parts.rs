//! Parts of a URL: `protocol`, `domain`, `path`, `queryString` and their kin, and what is left without them.

use super::host::{authority, host, host_rfc, scheme, top_level, until, without_www};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_types::DataType;
use memchr::memchr;

/// A part as a slice of the URL, or the URL without a range of it.
enum Part {
    Slice(fn(&[u8]) -> &[u8]),
    /// The range that is cut out.
    Cut(fn(&[u8]) -> std::ops::Range<usize>),
}

struct UrlPart {
    record: Record,
    part: Part,
}

impl ScalarFunction for &'static UrlPart {
    fn record(&self) -> &'static Record {
        let function: &'static UrlPart = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 1..=1)?;
        ensure!(
            !matches!(args[0].ty, DataType::FixedString(_)),
            ILLEGAL_COLUMN,
            "Column of type FixedString is not supported by this function"
        );
        if !args[0].ty.is_string() {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument of function {}",
                args[0].ty,
                self.record.name
            );
        }
        Ok(DataType::String.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let mut out = StringBuilder::with_capacity(call.n_rows);
        let mut push = |url: &[u8]| match self.part {
            Part::Slice(slice) => out.push(slice(url)),
            Part::Cut(range) => {
                let range = range(url);
                out.push_with(|out| {
                    out.extend_from_slice(&url[..range.start]);
                    out.extend_from_slice(&url[range.end..]);
                });
            }
        };
        match &call.vector(0).data {
            Data::Fixed(fixed) => fixed.iter().for_each(&mut push),
            _ => call.vector(0).strings()?.iter().for_each(&mut push),
        }
        Ok(Vector::from(out.finish()).into())
    }
}

fn protocol(url: &[u8]) -> &[u8] {
    let scheme = scheme(url);
    let rest = &url[scheme.len()..];
    if rest.len() >= 4 && rest[0] == b':' { scheme } else { b"" }
}

fn domain(url: &[u8]) -> &[u8] {
    host(url).map_or(b"", |(host, _)| host)
}

fn domain_rfc(url: &[u8]) -> &[u8] {
    host_rfc(url).map_or(b"", |(host, _)| host)
}

/// Path, query and fragment.
fn path_full(url: &[u8]) -> &[u8] {
    let Some(slash) = memchr(b'/', url) else { return b"" };
    if url.get(slash + 1) != Some(&b'/') {
        return &url[slash..];
    }
    let behind = &url[slash + 2..];
    memchr(b'/', behind).map_or(b"", |slash| &behind[slash..])
}

fn query_string(url: &[u8]) -> &[u8] {
    memchr(b'?', url).map_or(b"", |at| until(&url[at + 1..], b"#"))
}

fn query_string_and_fragment(url: &[u8]) -> &[u8] {
    match (memchr(b'?', url), memchr(b'#', url)) {
        (Some(at), _) => &url[at + 1..],
        (None, Some(at)) => &url[at..],
        (None, None) => b"",
    }
}

/// As the kernel has it, with its quirks: a path reaches up to its last slash.
fn netloc(url: &[u8]) -> &[u8] {
    let Some(rest) = authority(url) else { return b"" };
    let (mut has_user, mut question, mut slash) = (false, rest.len(), rest.len());
    let mut end = rest.len();
    for (at, b) in rest.iter().enumerate() {
        match b {
            b'/' | b'?' if has_user => return &rest[..at],
            b'/' => slash = at,
            b'?' => question = at,
            b'#' => return &rest[..at],
            b'@' => has_user = true,
            b' ' | b'\t' | b'<' | b'>' | b'%' | b'{' | b'}' | b'|' | b'\\' | b'^' | b'~' | b'[' | b']' => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    if has_user { &rest[..end] } else { &rest[..end.min(question).min(slash)] }
}

fn www(url: &[u8]) -> std::ops::Range<usize> {
    let Some(slash) = memchr(b'/', url).filter(|at| url.get(at + 1) == Some(&b'/')) else { return 0..0 };
    let authority = until(&url[slash + 2..], b"/?#");
    // A name before the host is passed over, a password is not.
    let user = memchr(b'@', authority).filter(|at| !authority[..*at].contains(&b':'));
    let start = slash + 2 + user.map_or(0, |at| at + 1);
    if url[start..].starts_with(b"www.") { start..start + 4 } else { 0..0 }
}

macro_rules! url_parts {
    ($($name:literal, $part:expr, $summary:literal, $sql:literal, $result:literal;)*) => {
        &[$(UrlPart {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(url)"),
                examples: &[Example { sql: $sql, result: $result }],
                total: true,
                ..Record::DEFAULT
            },
            part: $part,
        }),*]
    };
}

static FUNCTIONS: &[UrlPart] = url_parts! {
    "protocol", Part::Slice(protocol), "The scheme of a URL.",
        "SELECT protocol('https://example.com/')", "https";
    "domain", Part::Slice(domain), "The host of a URL.",
        "SELECT domain('https://www.example.com:8080/a')", "www.example.com";
    "domainRFC", Part::Slice(domain_rfc), "The host of a URL by RFC 3986.",
        "SELECT domainRFC('http://user:password@example.com:8080/path')", "example.com";
    "domainWithoutWWW", Part::Slice(|url| without_www(domain(url))), "The host of a URL without a leading www.",
        "SELECT domainWithoutWWW('https://www.example.com/a')", "example.com";
    "domainWithoutWWWRFC", Part::Slice(|url| without_www(domain_rfc(url))),
        "The host of a URL by RFC 3986, without a leading www.",
        "SELECT domainWithoutWWWRFC('http://user:password@www.example.com/')", "example.com";
    "topLevelDomain", Part::Slice(|url| top_level(domain(url))), "What follows the last dot of a URL's host.",
        "SELECT topLevelDomain('https://www.example.com/a')", "com";
    "topLevelDomainRFC", Part::Slice(|url| top_level(domain_rfc(url))),
        "What follows the last dot of a URL's host by RFC 3986.",
        "SELECT topLevelDomainRFC('http://user:password@example.com/')", "com";
    "path", Part::Slice(|url| until(path_full(url), b"?#")), "The path of a URL, without query and fragment.",
        "SELECT path('https://example.com/a/b.html?x=1')", "/a/b.html";
    "pathFull", Part::Slice(path_full), "The path of a URL with query and fragment.",
        "SELECT pathFull('https://example.com/a?x=1#f')", "/a?x=1#f";
    "queryString", Part::Slice(query_string), "The query of a URL, without its question mark.",
        "SELECT queryString('https://example.com/a?x=1&y=2#f')", "x=1&y=2";
    "fragment", Part::Slice(|url| memchr(b'#', url).map_or(b"", |at| &url[at + 1..])),
        "The fragment of a URL, without its number sign.",
        "SELECT fragment('https://example.com/a?x=1#f')", "f";
    "queryStringAndFragment", Part::Slice(query_string_and_fragment), "Query and fragment of a URL.",
        "SELECT queryStringAndFragment('https://example.com/a?x=1#f')", "x=1#f";
    "netloc", Part::Slice(netloc), "User, host and port of a URL.",
        "SELECT netloc('http://user:pw@example.com:80/a')", "user:pw@example.com:80";
    "cutWWW", Part::Cut(www), "The URL without a leading www. of its host.",
        "SELECT cutWWW('https://www.example.com/')", "https://example.com/";
    "cutQueryString", Part::Cut(|url| memchr(b'?', url).map_or(0..0, |at| at..at + until(&url[at..], b"#").len())),
        "The URL without its query and question mark.",
        "SELECT cutQueryString('http://example.com/a?x=1#f')", "http://example.com/a#f";
    "cutFragment", Part::Slice(|url| until(url, b"#")), "The URL without its fragment and number sign.",
        "SELECT cutFragment('http://example.com/a?x=1#f')", "http://example.com/a?x=1";
    "cutQueryStringAndFragment",
        Part::Slice(|url| &url[..memchr(b'?', url).or_else(|| memchr(b'#', url)).unwrap_or(url.len())]),
        "The URL without query and fragment.",
        "SELECT cutQueryStringAndFragment('http://example.com/a?x=1#f')", "http://example.com/a";
};

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
