//! Lists of servers as `remote` takes them: shards divided by commas, replicas of a shard by bars, alternatives in braces.

use chalet_base::{Result, bail, ensure};

/// The most addresses that a description may stand for.
const MAX_ADDRESSES: usize = 1000;

/// Shards with their replicas, each `host` or `host:port`.
pub fn shards(description: &str) -> Result<Vec<Vec<String>>> {
    let shards = expand(description, ',')?;
    let mut n = 0;
    let mut all = Vec::with_capacity(shards.len());
    for shard in &shards {
        let replicas = expand(shard, '|')?;
        n += replicas.len();
        ensure!(
            n <= MAX_ADDRESSES,
            BAD_ARGUMENTS,
            "Table function 'remote': first argument generates too many result addresses"
        );
        all.push(replicas);
    }
    Ok(all)
}

/// `host` or `host:port`; the host may be an IPv6 address in brackets.
pub fn host_and_port(address: &str, default_port: u16) -> Result<(String, u16)> {
    let wrong = || chalet_base::err!(BAD_ARGUMENTS, "Wrong address of a server: '{address}'");
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or_else(wrong)?) })
        }
        None => match address.rsplit_once(':') {
            // More colons than one: an IPv6 address without a port.
            Some((host, _)) if host.contains(':') => (address, None),
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let port = port.map_or(Ok(default_port), |port| port.parse().map_err(|_| wrong()))?;
    ensure!(!host.is_empty() && port > 0, BAD_ARGUMENTS, "Wrong address of a server: '{address}'");
    Ok((host.to_string(), port))
}

/// The alternatives that a separator divides, with braces multiplied out. Braces of the other separator stay as they are.
fn expand(description: &str, separator: char) -> Result<Vec<String>> {
    let mut all = Vec::new();
    let mut current = vec![String::new()];
    let mut rest = description;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '{' => {
                let end = closing(rest, description)?;
                let inside = &rest[..end];
                rest = &rest[end + 1..];
                let alternatives = match range(inside)? {
                    Some(numbers) => numbers,
                    None if has_at_top(inside, separator) => expand(inside, separator)?,
                    None => vec![format!("{{{inside}}}")],
                };
                ensure!(
                    current.len() * alternatives.len() <= MAX_ADDRESSES,
                    BAD_ARGUMENTS,
                    "Table function 'remote': first argument generates too many result addresses"
                );
                let pairs = current
                    .iter()
                    .flat_map(|head| alternatives.iter().map(move |tail| format!("{head}{tail}")));
                current = pairs.collect();
            }
            c if c == separator => {
                all.append(&mut current);
                current.push(String::new());
            }
            c => current.iter_mut().for_each(|text| text.push(c)),
        }
    }
    all.append(&mut current);
    ensure!(
        all.len() <= MAX_ADDRESSES,
        BAD_ARGUMENTS,
        "Table function 'remote': first argument generates too many result addresses"
    );
    Ok(all)
}

/// Where the brace that was opened before the text is closed.
fn closing(text: &str, description: &str) -> Result<usize> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Ok(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    bail!(BAD_ARGUMENTS, "Table function 'remote': incorrect brace sequence in first argument: {description}")
}

fn has_at_top(text: &str, separator: char) -> bool {
    let mut depth = 0;
    text.chars().any(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0 && c == separator
    })
}

/// `01..12`, with as many digits as the first number is written with where it begins with 0.
fn range(text: &str) -> Result<Option<Vec<String>>> {
    // Braces inside have ranges of their own.
    let Some((low, high)) = text.split_once("..").filter(|_| !text.contains('{')) else { return Ok(None) };
    let (Ok(first), Ok(last)) = (low.parse::<u64>(), high.parse::<u64>()) else {
        bail!(
            BAD_ARGUMENTS,
            "Table function 'remote': incorrect argument in braces (left or right number is not a number): {text}"
        );
    };
    ensure!(
        first <= last && last - first < MAX_ADDRESSES as u64,
        BAD_ARGUMENTS,
        "Table function 'remote': incorrect argument in braces: {text}"
    );
    let width = if low.starts_with('0') { low.len() } else { 0 };
    Ok(Some((first..=last).map(|n| format!("{n:0width$}")).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(description: &str) -> String {
        let shards = shards(description).unwrap();
        shards.iter().map(|replicas| replicas.join("|")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn lists() {
        assert_eq!(text("a"), "a");
        assert_eq!(text("a,b|c"), "a,b|c");
        assert_eq!(text("127.0.0.{1,2}"), "127.0.0.1,127.0.0.2");
        assert_eq!(text("127.0.0.{1|2}:9000"), "127.0.0.1:9000|127.0.0.2:9000");
        assert_eq!(text("ch{01..03}-{a|b},x"), "ch01-a|ch01-b,ch02-a|ch02-b,ch03-a|ch03-b,x");
        assert_eq!(text("{a,b{1..2}}"), "a,b1,b2");
        for wrong in ["{a", "{3..1}", "{a..b}", "{1..5000}", "{0..99}{0..99}"] {
            assert!(shards(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ports() {
        let address = |text| host_and_port(text, 9000).unwrap();
        assert_eq!(address("a"), ("a".into(), 9000));
        assert_eq!(address("a:1"), ("a".into(), 1));
        assert_eq!(address("::1"), ("::1".into(), 9000));
        assert_eq!(address("[::1]:7"), ("::1".into(), 7));
        for wrong in ["", ":1", "a:x", "a:70000", "a:0", "[::1"] {
            assert!(host_and_port(wrong, 9000).is_err(), "{wrong}");
        }
    }
}
