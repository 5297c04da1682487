//! The statements of a dump: how a table is made, and where its rows stand. All others are stepped over.

use chalet_base::Result;
use chalet_text::read::cursor::Cursor;

/// A column of CREATE TABLE.
pub struct Made {
    pub name: String,
    /// As MySQL writes it.
    pub ty: String,
    pub nullable: bool,
}

/// Where in a dump a reader is.
pub struct Dump {
    /// The table whose rows are read: the one asked for, else the first one that is named.
    table: Option<String>,
    /// Its columns, if it is made in the dump.
    pub made: Vec<Made>,
    /// The columns that the INSERT at hand lists.
    pub names: Vec<String>,
    in_rows: bool,
    /// INSERTs into the table so far.
    pub inserts: usize,
}

/// Steps over a keyword in any case and the space behind it.
fn keyword(cur: &mut Cursor<'_>, word: &[u8]) -> bool {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let before = *cur;
    if cur.accept_word(word) && !cur.rest().first().is_some_and(goes_on) {
        skip_space(cur);
        return true;
    }
    *cur = before;
    false
}

/// Steps over white space and comments.
fn skip_space(cur: &mut Cursor<'_>) {
    loop {
        cur.skip_whitespace();
        let rest = cur.rest();
        let len = if rest.starts_with(b"--") || rest.starts_with(b"#") {
            rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            rest.windows(2).skip(2).position(|two| two == b"*/").map_or(rest.len(), |at| at + 4)
        } else {
            return;
        };
        cur.advance(len);
    }
}

/// The length of a quoted text that begins here, with its quotes.
fn quoted(text: &[u8]) -> usize {
    let quote = text[0];
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        at += match byte {
            b'\\' if quote != b'`' => 2,
            _ if byte == quote && text.get(at + 1) == Some(&quote) => 2,
            _ if byte == quote => return at + 1,
            _ => 1,
        };
    }
    text.len()
}

/// Bytes up to one of these, outside of quotes and brackets.
fn until(text: &[u8], ends: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(&byte) = text.get(at) {
        if depth == 0 && ends.contains(&byte) {
            return at;
        }
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b'\'' | b'"' | b'`' => {
                at += quoted(&text[at..]);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// The last part of a name, and the space behind it.
fn name(cur: &mut Cursor<'_>) -> Option<String> {
    let mut found = None;
    loop {
        let rest = cur.rest();
        let len = match rest.first()? {
            b'`' | b'"' => quoted(rest),
            _ => rest
                .iter()
                .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)))
                .unwrap_or(rest.len()),
        };
        if len == 0 {
            return found;
        }
        let text = String::from_utf8_lossy(&rest[..len]);
        found = Some(match text.chars().next() {
            Some(quote @ ('`' | '"')) => {
                let inner = text.trim_start_matches(quote).trim_end_matches(quote);
                inner.replace(&format!("{quote}{quote}"), &quote.to_string())
            }
            _ => text.into_owned(),
        });
        cur.advance(len);
        if !cur.accept(b'.') {
            skip_space(cur);
            return found;
        }
    }
}

/// Is it a key or a constraint, and no column?
fn is_key(cur: &Cursor<'_>) -> bool {
    const WORDS: [&[u8]; 9] = [
        b"PRIMARY",
        b"KEY",
        b"UNIQUE",
        b"INDEX",
        b"FULLTEXT",
        b"SPATIAL",
        b"CONSTRAINT",
        b"FOREIGN",
        b"CHECK",
    ];
    WORDS.iter().any(|word| keyword(&mut cur.clone(), word))
}

/// A column at the cursor, which steps behind it.
fn column(cur: &mut Cursor<'_>) -> Option<Made> {
    let name = name(cur)?;
    let rest = cur.rest();
    let mut text = String::from_utf8_lossy(&rest[..until(rest, b",)")]).into_owned();
    cur.advance(until(rest, b",)"));
    let upper = text.to_ascii_uppercase();
    let nullable = !upper.contains("NOT NULL") && !upper.contains("PRIMARY KEY");
    // The type is a word, what stands in brackets behind it, and a sign.
    let word = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    let behind = text[word..].trim_start();
    let arguments = if behind.starts_with('(') { until(&behind.as_bytes()[1..], b")") + 2 } else { 0 };
    let mut ty = text[..word].to_string();
    ty.push_str(behind.get(..arguments).unwrap_or_default());
    let sign = behind.get(arguments..).unwrap_or_default().trim_start().to_ascii_uppercase();
    for known in ["UNSIGNED", "SIGNED", "PRECISION"] {
        if sign.starts_with(known) {
            ty.push(' ');
            ty.push_str(known);
        }
    }
    text = ty.to_ascii_uppercase();
    // A number of digits behind the point makes another type of it.
    if let Some(digits) = ["DATETIME(", "TIMESTAMP("].iter().find_map(|family| text.strip_prefix(family)) {
        ty = format!("DateTime64({digits}");
    }
    Some(Made { name, ty, nullable })
}

impl Dump {
    pub fn new(table: &str) -> Dump {
        let table = (!table.is_empty()).then(|| table.to_string());
        Dump { table, made: Vec::new(), names: Vec::new(), in_rows: false, inserts: 0 }
    }

    /// What to say where the table has no rows at all.
    pub fn nothing(&self) -> String {
        match &self.table {
            Some(table) => format!("There is no INSERT queries for table {table} in MySQL dump file"),
            None => "There is no INSERT queries in MySQL dump file".into(),
        }
    }

    fn is_wanted(&mut self, name: String) -> bool {
        *self.table.get_or_insert_with(|| name.clone()) == name
    }

    /// Steps to the next row, whose bracket the cursor then stands before; false at the end of the dump.
    pub fn next_row(&mut self, cur: &mut Cursor<'_>) -> Result<bool> {
        loop {
            if self.in_rows {
                skip_space(cur);
                if cur.accept(b',') {
                    skip_space(cur);
                }
                if cur.peek() == Some(b'(') {
                    return Ok(true);
                }
                self.in_rows = false;
            }
            if !self.next_rows(cur)? {
                return Ok(false);
            }
        }
    }

    /// Steps to the rows of the next INSERT into the table.
    pub fn next_rows(&mut self, cur: &mut Cursor<'_>) -> Result<bool> {
        loop {
            skip_space(cur);
            if cur.is_at_end() {
                return Ok(false);
            }
            if keyword(cur, b"CREATE") && keyword(cur, b"TABLE") {
                self.create(cur);
            } else if (keyword(cur, b"INSERT") || keyword(cur, b"REPLACE")) && self.insert(cur) {
                self.in_rows = true;
                self.inserts += 1;
                return Ok(true);
            }
            let rest = cur.rest();
            cur.advance(until(rest, b";"));
            cur.accept(b';');
        }
    }

    /// After `CREATE TABLE`.
    fn create(&mut self, cur: &mut Cursor<'_>) {
        let _ = keyword(cur, b"IF") && keyword(cur, b"NOT") && keyword(cur, b"EXISTS");
        let Some(table) = name(cur) else { return };
        if !self.is_wanted(table) || !cur.accept(b'(') {
            return;
        }
        self.made.clear();
        loop {
            skip_space(cur);
            if is_key(cur) {
                let rest = cur.rest();
                cur.advance(until(rest, b",)"));
            } else if let Some(column) = column(cur) {
                self.made.push(column);
            }
            if !cur.accept(b',') {
                return;
            }
        }
    }

    /// After `INSERT`: are they rows of the table?
    fn insert(&mut self, cur: &mut Cursor<'_>) -> bool {
        for word in [&b"LOW_PRIORITY"[..], b"DELAYED", b"IGNORE", b"INTO"] {
            keyword(cur, word);
        }
        let Some(table) = name(cur) else { return false };
        if !self.is_wanted(table) {
            return false;
        }
        self.names.clear();
        if cur.accept(b'(') {
            loop {
                skip_space(cur);
                let Some(column) = name(cur) else { return false };
                self.names.push(column);
                if !cur.accept(b',') {
                    break;
                }
            }
            if !cur.accept(b')') {
                return false;
            }
            skip_space(cur);
        }
        keyword(cur, b"VALUES") || keyword(cur, b"VALUE")
    }
}
