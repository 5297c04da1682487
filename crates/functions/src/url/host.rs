//! Where the host stands in a URL.

use crate::string_args::first_of;

/// The text up to the first of the given bytes.
#[inline(always)]
pub fn until<'a, const N: usize>(text: &'a [u8], stops: &[u8; N]) -> &'a [u8] {
    &text[..first_of(text, |byte| stops.iter().fold(false, |is_stop, &stop| is_stop | (byte == stop)))]
}

/// Letters, digits and `+-.` in front of `:`, which a scheme is made of.
pub fn scheme(url: &[u8]) -> &[u8] {
    if !url.first().is_some_and(u8::is_ascii_alphabetic) {
        return b"";
    }
    let len = url.iter().take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)).count();
    &url[..len]
}

/// Bytes that stand in no host.
static IS_FORBIDDEN: [bool; 256] = set(b" \t<>%{}|\\^~[];=&");

/// The same, of RFC 3986: it knows user information.
static IS_FORBIDDEN_RFC: [bool; 256] = set(b" \t<>{}|\\^[]");

/// Which bytes are among the given ones.
const fn set(bytes: &[u8]) -> [bool; 256] {
    let mut set = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        set[bytes[at] as usize] = true;
        at += 1;
    }
    set
}

/// What comes behind `//` or `scheme://`; the URL itself when there is neither, `None` when a byte that no scheme
/// has comes first.
pub fn authority(url: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = url.strip_prefix(b"//") {
        return Some(rest);
    }
    // Longer schemes are not looked for.
    let limit = url.len().min(16);
    let mut at = 1;
    while at < limit && (url[at].is_ascii_alphanumeric() || b".-+".contains(&url[at])) {
        at += 1;
    }
    if at < limit && IS_FORBIDDEN[usize::from(url[at])] {
        return None;
    }
    Some(if at < limit && url[at..].starts_with(b"://") { &url[at + 3..] } else { url })
}

/// A host needs a dot that something follows. As in the kernel, one of the user information in front of it counts too.
fn ensure_dot(rest: &[u8], dot: Option<usize>) -> Option<()> {
    (!b":/?#".contains(rest.get(dot? + 1)?)).then_some(())
}

/// The host as the kernel's `domain` finds it, and what comes behind it.
pub fn host(url: &[u8]) -> Option<(&[u8], &[u8])> {
    if url.last() == Some(&b'.') {
        return None;
    }
    let rest = authority(url)?;
    let mut start = 0;
    let mut end = rest.len();
    for (at, b) in rest.iter().enumerate() {
        match b {
            b':' | b'/' | b'?' | b'#' => {
                end = at;
                break;
            }
            b'@' => start = at + 1,
            b if IS_FORBIDDEN[usize::from(*b)] => return None,
            _ => {}
        }
    }
    let host = &rest[start..end];
    ensure_dot(rest, rest[..end].iter().rposition(|&b| b == b'.'))?;
    Some((host, &rest[end..]))
}

/// The host by RFC 3986: behind user information, before a port, without the brackets of an IPv6 address.
/// What ends an address in brackets before its time.
const NOT_IN_BRACKETS: &[u8] = b"./?#@;=&~%<>{}|\\^ \t";

pub fn host_rfc(url: &[u8]) -> Option<(&[u8], &[u8])> {
    if url.last() == Some(&b'.') {
        return None;
    }
    let rest = authority(url)?;
    if let Some(address) = rest.strip_prefix(b"[") {
        let end = address.iter().position(|&b| b == b']')?;
        if address[..end].iter().any(|b| NOT_IN_BRACKETS.contains(b)) {
            return None;
        }
        return Some((&address[..end], &address[end + 1..]));
    }
    let (mut start, mut end) = (0, rest.len());
    let (mut colon, mut dot) = (None, None);
    let (mut has_user, mut has_other) = (false, false);
    for (at, b) in rest.iter().enumerate() {
        match b {
            b'/' | b'?' | b'#' => {
                end = at;
                break;
            }
            b':' if has_user || colon.is_some() => {
                end = at;
                break;
            }
            b':' => colon = Some(at),
            b'@' if has_user => {
                end = at;
                break;
            }
            // Behind a colon, a dot may be of a password.
            b'.' if has_user || colon.is_none() => dot = Some(at),
            b'@' => {
                (has_user, has_other, colon) = (true, false, None);
                start = at + 1;
            }
            b';' | b'=' | b'&' | b'~' | b'%' => has_other = true,
            b if IS_FORBIDDEN_RFC[usize::from(*b)] => return None,
            _ => {}
        }
    }
    if has_other {
        return None;
    }
    if !has_user {
        end = colon.unwrap_or(end);
    }
    let host = &rest[start..end];
    ensure_dot(rest, dot)?;
    Some((host, &rest[end..]))
}

pub fn without_www(host: &[u8]) -> &[u8] {
    match host.strip_prefix(b"www.") {
        Some(rest) if !rest.is_empty() => rest,
        _ => host,
    }
}

/// What follows the last dot, unless it is a number.
pub fn top_level(host: &[u8]) -> &[u8] {
    match host.iter().rposition(|&b| b == b'.') {
        Some(dot) if !host[dot + 1..].first().is_some_and(u8::is_ascii_digit) => &host[dot + 1..],
        _ => b"",
    }
}

/// The number behind a host, `None` when there is none.
pub fn port(behind: &[u8]) -> Option<u16> {
    let digits = behind.strip_prefix(b":")?;
    let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = std::str::from_utf8(&digits[..len]).ok()?.parse().ok()?;
    match digits.get(len) {
        None | Some(b'/' | b'?' | b'#') => Some(number),
        _ => None,
    }
}
