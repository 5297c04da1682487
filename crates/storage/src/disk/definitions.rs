//! The files that hold definitions: one statement after the other, each behind a line that says what it is.
//!
//! ```text
//! file    = "chalet definitions " version "\n" record* "end " count " " checksum "\n"
//! version  "3" where a record is "refreshed", "2" where one is "detached", which earlier versions do not know; else "1"
//! record  = kind " " number " " name " " name " " length "\n" text "\n"
//! kind    = "database" | "table" | "detached" | "refreshed" | "function" | "entity"    a view is a table; "detached" is one that is not
//!                                                           there until ATTACH TABLE; "refreshed" tells of the view before it
//! number  of the table's folder; 0: it has none
//! name    of the database, then of the table or function; bytes other than letters, digits and _ as %hh; may be empty
//! length  of the text in bytes
//! text    the statement that makes it; of a database its comment; of a view that was refreshed when, in seconds since 1970-01-01
//! count   of records
//! checksum  XXH3 with 64 bits of everything before the last line, as 16 hexadecimal digits
//! ```

use chalet_base::{Result, ensure, err};
use std::fmt::Write;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

const FIRST_LINE: &str = "chalet definitions 1\n";
/// As long as the other, as is the next.
const FIRST_LINE_OF_DETACHED: &str = "chalet definitions 2\n";
const FIRST_LINE_OF_REFRESHED: &str = "chalet definitions 3\n";

/// What a definition makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    Database,
    Table,
    /// A table that was detached permanently.
    Detached,
    /// When a view was last filled.
    Refreshed,
    Function,
    /// A workload, a resource or a named collection.
    Entity,
}

impl DefinitionKind {
    const ALL: [DefinitionKind; 6] = [
        DefinitionKind::Database,
        DefinitionKind::Table,
        DefinitionKind::Detached,
        DefinitionKind::Refreshed,
        DefinitionKind::Function,
        DefinitionKind::Entity,
    ];

    fn name(self) -> &'static str {
        match self {
            DefinitionKind::Database => "database",
            DefinitionKind::Table => "table",
            DefinitionKind::Detached => "detached",
            DefinitionKind::Refreshed => "refreshed",
            DefinitionKind::Function => "function",
            DefinitionKind::Entity => "entity",
        }
    }
}

/// One entry of the files of definitions: a statement that makes a database, table or function again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub kind: DefinitionKind,
    /// Of the table's folder; 0 for what has none.
    pub folder: u64,
    /// Empty for a function.
    pub database: String,
    /// Empty for a database.
    pub name: String,
    /// The statement that makes it; of a database its comment; of a view that was refreshed when, in seconds since 1970-01-01.
    pub text: String,
}

/// The text of a file of definitions, which ends with their count and a checksum.
pub fn encode(definitions: &[Definition]) -> String {
    let has = |kind| definitions.iter().any(|definition| definition.kind == kind);
    let mut file = String::from(match (has(DefinitionKind::Refreshed), has(DefinitionKind::Detached)) {
        (true, _) => FIRST_LINE_OF_REFRESHED,
        (false, true) => FIRST_LINE_OF_DETACHED,
        (false, false) => FIRST_LINE,
    });
    for Definition { kind, folder, database, name, text } in definitions {
        let (kind, database, name) = (kind.name(), escaped(database), escaped(name));
        // Writing to a String cannot fail.
        let _ = writeln!(file, "{kind} {folder} {database} {name} {}\n{text}", text.len());
    }
    let checksum = xxh3_64(file.as_bytes());
    let _ = writeln!(file, "end {} {checksum:016x}", definitions.len());
    file
}

/// `path` is for messages.
pub fn decode(content: &[u8], path: &Path) -> Result<Vec<Definition>> {
    let damaged = |what: &str| err!(CHECKSUM_DOESNT_MATCH, "The file {} is damaged: {what}", path.display());
    let known = [FIRST_LINE, FIRST_LINE_OF_DETACHED, FIRST_LINE_OF_REFRESHED];
    if !known.iter().any(|line| content.starts_with(line.as_bytes())) {
        let version = content.starts_with(b"chalet definitions ");
        ensure!(
            !version,
            UNKNOWN_FORMAT_VERSION,
            "The file {} was written by a newer version",
            path.display()
        );
        return Err(damaged("it does not begin as a file of definitions"));
    }
    let text = std::str::from_utf8(content).map_err(|_| damaged("it is not UTF-8"))?;
    let end = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
    let (mut rest, last) = text.split_at(end);
    let told: Vec<&str> = last.trim_end_matches('\n').split(' ').collect();
    let checksum = format!("{:016x}", xxh3_64(rest.as_bytes()));
    let [word, count, told_checksum] = told[..] else { return Err(damaged("it has no last line")) };
    if word != "end" || told_checksum != checksum {
        return Err(damaged("its checksum does not match"));
    }
    rest = &rest[FIRST_LINE.len()..];
    let mut definitions = Vec::new();
    while !rest.is_empty() {
        definitions.push(record(&mut rest).ok_or_else(|| damaged("a definition cannot be read"))?);
    }
    if count != definitions.len().to_string() {
        return Err(damaged("definitions are missing"));
    }
    Ok(definitions)
}

fn record(rest: &mut &str) -> Option<Definition> {
    let (line, after) = rest.split_once('\n')?;
    let [kind, folder, database, name, length] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
    let text = after.get(..length.parse().ok()?)?;
    *rest = after[text.len()..].strip_prefix('\n')?;
    Some(Definition {
        kind: DefinitionKind::ALL.into_iter().find(|known| known.name() == kind)?,
        folder: folder.parse().ok()?,
        database: unescaped(database)?,
        name: unescaped(name)?,
        text: text.to_string(),
    })
}

fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            text.push(byte.into());
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                after
            }
            _ => {
                bytes.push(*byte);
                after
            }
        };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Definition> {
        let definition = |kind, folder, database: &str, name: &str, text: &str| Definition {
            kind,
            folder,
            database: database.into(),
            name: name.into(),
            text: text.into(),
        };
        vec![
            definition(DefinitionKind::Database, 0, "default", "", "its comment"),
            definition(
                DefinitionKind::Table,
                7,
                "default",
                "ü 1\n%",
                "CREATE TABLE x\n(\n    `a` UInt8\n)\nend 1 2\n",
            ),
            definition(DefinitionKind::Function, 0, "", "f", "CREATE FUNCTION f AS x -> x"),
        ]
    }

    #[test]
    fn what_was_written_is_read() {
        for definitions in [Vec::new(), sample()] {
            let text = encode(&definitions);
            assert_eq!(decode(text.as_bytes(), Path::new("f")).expect("whole"), definitions);
        }
    }

    #[test]
    fn damage_is_found() {
        let whole = encode(&sample()).into_bytes();
        for n in 0..whole.len() - 1 {
            assert!(decode(&whole[..n], Path::new("f")).is_err(), "cut to {n} bytes");
        }
        for at in 0..whole.len() - 1 {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x20;
            assert!(decode(&flipped, Path::new("f")).is_err(), "byte {at}");
        }
    }

    /// What earlier versions cannot read says so by its version, and nothing else does.
    #[test]
    fn detached_tables_have_a_version() {
        assert!(encode(&sample()).starts_with(FIRST_LINE));
        let mut with = sample();
        with[1].kind = DefinitionKind::Detached;
        let text = encode(&with);
        assert!(text.starts_with(FIRST_LINE_OF_DETACHED));
        assert_eq!(decode(text.as_bytes(), Path::new("f")).expect("whole"), with);
    }

    /// So have views that were refreshed.
    #[test]
    fn refreshed_views_have_a_version() {
        let mut with = sample();
        let text = "1764131742".to_string();
        with.insert(2, Definition { kind: DefinitionKind::Refreshed, text, ..with[1].clone() });
        let text = encode(&with);
        assert!(text.starts_with(FIRST_LINE_OF_REFRESHED));
        assert_eq!(decode(text.as_bytes(), Path::new("f")).expect("whole"), with);
    }

    /// A file of version 1, as it was written when there was no other.
    #[test]
    fn version_1_stays_readable() {
        let frozen = "chalet definitions 1\nfunction 0  f 27\nCREATE FUNCTION f AS x -> x\nend 1 ";
        let text = encode(&sample()[2..]);
        assert!(text.starts_with(frozen), "{text}");
    }
}
