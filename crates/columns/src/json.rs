//! Objects of JSON columns: of each row its paths, sorted, and the value of each as one of a Dynamic.
//!
//! A path with no value (null, or an empty object) is not there. Path and value are strings that end in two zeros
//! (`variant::put_escaped`), so equal objects are equal bytes, and they compare path by path. Paths that the type names are
//! among them, with values of exactly their type.

use crate::variant::{put, put_escaped, take_escaped};
use crate::{Data, StringBuilder, Vector};
use chalet_base::Result;
use chalet_types::JsonType;

/// A path of an object and its value, encoded as that of a Dynamic.
pub type Entry = (Vec<u8>, Vec<u8>);

/// The paths of an object, in order.
pub fn entries(mut object: &[u8]) -> Result<Vec<Entry>> {
    let mut found = Vec::new();
    while !object.is_empty() {
        let (mut path, mut value) = (Vec::new(), Vec::new());
        take_escaped(&mut object, &mut path)?;
        take_escaped(&mut object, &mut value)?;
        found.push((path, value));
    }
    Ok(found)
}

/// Appends an object of these paths, which are sorted and unique.
pub fn put_object<'a>(out: &mut Vec<u8>, entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) {
    for (path, value) in entries {
        put_escaped(out, path);
        put_escaped(out, value);
    }
}

/// The object that has no path but those which the type names, with the defaults of their types.
pub fn default_object(ty: &JsonType) -> Vec<u8> {
    let mut out = Vec::new();
    for (path, ty) in ty.typed.iter().filter(|(_, ty)| !ty.is_nullable()) {
        let mut value = ty.to_string().into_bytes();
        value.push(0);
        put(&mut value, &Vector::defaults(ty, 1), 0, ty, true);
        put_escaped(&mut out, path.as_bytes());
        put_escaped(&mut out, &value);
    }
    out
}

/// The values of one path in all rows, as a Dynamic; NULL where it is missing.
pub fn path(vector: &Vector, wanted: &[u8]) -> Result<Vector> {
    let mut start = Vec::new();
    put_escaped(&mut start, wanted);
    let strings = vector.strings()?;
    let mut out = StringBuilder::with_capacity(vector.len());
    let mut valid = Vec::with_capacity(vector.len());
    for row in 0..vector.len() {
        let mut rest = if vector.is_null(row) { &b""[..] } else { strings.get(row) };
        let mut found = false;
        while !rest.is_empty() && !found {
            found = rest.starts_with(&start);
            // Paths are sorted: none that is greater can be followed by the wanted one.
            if !found && rest > &start[..] {
                break;
            }
            skip_escaped(&mut rest);
            match found {
                true => out.try_push_with(|bytes| take_escaped(&mut rest, bytes))?,
                false => skip_escaped(&mut rest),
            }
        }
        if !found {
            out.push(b"");
        }
        valid.push(found);
    }
    Ok(Vector::new(Data::Str(out.finish()), Some(valid.into())))
}

fn skip_escaped(bytes: &mut &[u8]) {
    let end = bytes.windows(2).position(|pair| pair == [0, 0]);
    *bytes = end.map_or(&[][..], |end| &bytes[end + 2..]);
}

/// The objects below a path: what its own path has there, without the path itself.
pub fn below(vector: &Vector, prefix: &[u8]) -> Result<Vector> {
    let mut start = prefix.to_vec();
    start.push(b'.');
    let strings = vector.strings()?;
    let mut out = StringBuilder::with_capacity(vector.len());
    for row in 0..vector.len() {
        let all = if vector.is_null(row) { Vec::new() } else { entries(strings.get(row))? };
        let inside =
            all.iter().filter_map(|(path, value)| Some((path.strip_prefix(&start[..])?, &value[..])));
        out.push_with(|bytes| put_object(bytes, inside));
    }
    Ok(Data::Str(out.finish()).into())
}
