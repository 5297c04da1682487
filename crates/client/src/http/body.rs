//! Where a body ends: taken out of what arrives, in place.

/// How far the body of a response is.
#[derive(Debug)]
pub(crate) struct Body {
    state: State,
    /// Of the length of a chunk, or of a trailer, what has come.
    line: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// So many bytes are left.
    Length(u64),
    /// The line with the length of a chunk.
    Size,
    /// So many bytes of a chunk are left.
    Chunk(u64),
    /// The end of line behind a chunk.
    Behind,
    /// Lines behind the last chunk.
    Trailers,
    Ended,
    /// What has come is not what was announced.
    Wrong,
}

/// Bytes of a line at most.
const MAX_LINE: usize = 8 << 10;

impl Body {
    pub fn of_length(length: u64) -> Body {
        Body { state: if length == 0 { State::Ended } else { State::Length(length) }, line: Vec::new() }
    }

    pub fn of_chunks() -> Body {
        Body { state: State::Size, line: Vec::new() }
    }

    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    pub fn is_wrong(&self) -> bool {
        self.state == State::Wrong
    }

    /// Moves the bytes of the body to the front; gives how many these are.
    pub fn unwrap(&mut self, arrived: &mut [u8]) -> usize {
        let (mut at, mut end) = (0, 0);
        while at < arrived.len() {
            match self.state {
                State::Length(left) | State::Chunk(left) => {
                    let n = (arrived.len() - at).min(usize::try_from(left).unwrap_or(usize::MAX));
                    arrived.copy_within(at..at + n, end);
                    at += n;
                    end += n;
                    let left = left - n as u64;
                    self.state = match self.state {
                        State::Length(_) if left == 0 => State::Ended,
                        State::Length(_) => State::Length(left),
                        _ if left == 0 => State::Behind,
                        _ => State::Chunk(left),
                    };
                }
                State::Size | State::Behind | State::Trailers => {
                    self.byte(arrived[at]);
                    at += 1;
                }
                // Nothing was asked for that could follow.
                State::Ended | State::Wrong => {
                    self.state = State::Wrong;
                    break;
                }
            }
        }
        end
    }

    /// A byte that is none of the body.
    fn byte(&mut self, byte: u8) {
        if byte != b'\n' {
            self.line.push(byte);
            let is_amid_chunk = self.state == State::Behind && self.line != b"\r";
            if is_amid_chunk || self.line.len() > MAX_LINE {
                self.state = State::Wrong;
            }
            return;
        }
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        self.state = match self.state {
            State::Behind if line.is_empty() => State::Size,
            State::Trailers if line.is_empty() => State::Ended,
            State::Trailers => State::Trailers,
            State::Size => match size(line) {
                Some(0) => State::Trailers,
                Some(size) => State::Chunk(size),
                None => State::Wrong,
            },
            _ => State::Wrong,
        };
    }
}

fn size(line: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(line).ok()?.split(';').next()?.trim();
    let are_digits = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| are_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unwrapped(mut body: Body, bytes: &[u8], piece: usize) -> (Vec<u8>, Body) {
        let mut to = Vec::new();
        for arrived in bytes.chunks(piece) {
            let mut arrived = arrived.to_vec();
            let n = body.unwrap(&mut arrived);
            to.extend_from_slice(&arrived[..n]);
        }
        (to, body)
    }

    #[test]
    fn bodies_in_any_pieces() {
        let bytes = b"3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n";
        for piece in 1..=bytes.len() {
            let (to, body) = unwrapped(Body::of_chunks(), bytes, piece);
            assert_eq!((&to[..], body.has_ended()), (&b"abc0123456789"[..], true), "{piece}");
            let (to, body) = unwrapped(Body::of_chunks(), &bytes[..bytes.len() - 1], piece);
            assert_eq!((to.len(), body.has_ended()), (13, false), "{piece}");
            let (to, body) = unwrapped(Body::of_length(4), b"abcd", piece);
            assert_eq!((&to[..], body.has_ended()), (&b"abcd"[..], true), "{piece}");
        }
        for wrong in [&b"x\r\n"[..], b"\r\n", b"1\r\nabc", b"-1\r\n", b"0\r\n\r\nmore"] {
            assert!(unwrapped(Body::of_chunks(), wrong, 3).1.is_wrong(), "{wrong:?}");
        }
        assert!(unwrapped(Body::of_length(1), b"ab", 3).1.is_wrong());
    }
}
