//! `firstSignificantSubdomain`, `cutToFirstSignificantSubdomain` and their kin: the name that somebody registered.

use super::host::{host, host_rfc, without_www};
use crate::plain::Plain;
use crate::string_args::plain_string_to_string;
use chalet_base::Result;
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::{Call, Example, Record, Registry};
use psl::Psl;

/// Is this name of two labels on the public suffix list? The kernel compares bytes and knows no wildcard rules.
fn is_public_suffix(name: &[u8]) -> bool {
    let is_rule = |name: &[u8]| psl::List.suffix(name).is_some_and(|s| s.is_known() && s.as_bytes() == name);
    let Some(dot) = name.iter().rposition(|&b| b == b'.') else { return false };
    // Under a wildcard rule this one is a suffix too, and else nowhere.
    let other = [b"no-such-name", &name[dot..]].concat();
    !name.iter().any(u8::is_ascii_uppercase) && is_rule(name) && !is_rule(&other)
}

/// Where the registered name begins in a host, and where its first label ends.
fn significant(host: &[u8]) -> std::ops::Range<usize> {
    let dots: Vec<usize> =
        host.iter().enumerate().rev().filter(|(_, b)| **b == b'.').map(|(at, _)| at).take(3).collect();
    match dots[..] {
        [] => 0..host.len(),
        [last] => 0..last,
        [last, second, ..] if !is_public_suffix(&host[second + 1..]) => second + 1..last,
        [_, second] => 0..second,
        [_, second, third, ..] => third + 1..second,
    }
}

/// The label of the registered name.
fn first(host: &[u8]) -> &[u8] {
    &host[significant(host)]
}

/// The registered name and all behind it.
fn cut(host: &[u8]) -> &[u8] {
    let label = significant(host);
    if label.is_empty() { b"" } else { &host[label.start..] }
}

fn each(call: &Call, rfc: bool, www: bool, part: fn(&[u8]) -> &[u8]) -> Result<Column> {
    let mut out = StringBuilder::with_capacity(call.n_rows);
    for url in call.vector(0).strings()?.iter() {
        let host = if rfc { host_rfc(url) } else { host(url) }.map_or(&b""[..], |(host, _)| host);
        out.push(part(if www { host } else { without_www(host) }));
    }
    Ok(Vector::from(out.finish()).into())
}

macro_rules! significant {
    ($($name:literal $rfc:literal $www:literal $part:ident $summary:literal $sql:literal => $result:literal;)*) => {
        &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(url)"),
                examples: &[Example { sql: $sql, result: $result }],
                total: true,
                ..Record::DEFAULT
            },
            bind: plain_string_to_string,
            execute: |call| each(call, $rfc, $www, $part),
        }),*]
    };
}

static FUNCTIONS: &[Plain] = significant! {
    "firstSignificantSubdomain" false false first
        "The label of a URL's host that somebody registered below a public suffix."
        "SELECT firstSignificantSubdomain('https://news.example.co.uk/')" => "example";
    "firstSignificantSubdomainRFC" true false first
        "As firstSignificantSubdomain, with the host by RFC 3986."
        "SELECT firstSignificantSubdomainRFC('http://user:password@news.example.co.uk/')" => "example";
    "cutToFirstSignificantSubdomain" false false cut
        "The part of a URL's host that somebody registered, with its public suffix."
        "SELECT cutToFirstSignificantSubdomain('https://news.example.co.uk/')" => "example.co.uk";
    "cutToFirstSignificantSubdomainRFC" true false cut
        "As cutToFirstSignificantSubdomain, with the host by RFC 3986."
        "SELECT cutToFirstSignificantSubdomainRFC('http://user:password@news.example.co.uk/')" => "example.co.uk";
    "cutToFirstSignificantSubdomainWithWWW" false true cut
        "As cutToFirstSignificantSubdomain, where a leading www counts as a name."
        "SELECT cutToFirstSignificantSubdomainWithWWW('http://www.com')" => "www.com";
    "cutToFirstSignificantSubdomainWithWWWRFC" true true cut
        "As cutToFirstSignificantSubdomainWithWWW, with the host by RFC 3986."
        "SELECT cutToFirstSignificantSubdomainWithWWWRFC('http://user:password@www.com')" => "www.com";
};

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
