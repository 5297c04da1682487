//! Schemas as text, in the language of `.proto` files of both versions: messages, enumerations, maps, oneofs and imports.

use super::schema::{Enumeration, Field, Kind, Message, Presence, Schema};
use chalet_base::{Result, bail, ensure, err};

/// Messages within messages beyond this depth are refused.
const MAX_DEPTH: usize = 100;

/// Finds the text of an imported file.
pub type Import<'a> = &'a dyn Fn(&str) -> Result<String>;

/// The schema of a text. `file` is for errors.
pub fn parse(text: &str, file: &str, import: Import<'_>) -> Result<Schema> {
    let mut files = Files { schema: Schema::default(), unresolved: Vec::new(), seen: Vec::new(), import };
    files.add(text, file)?;
    files.resolve(file)?;
    Ok(files.schema)
}

/// A field whose type is a name yet.
struct Unresolved {
    message: usize,
    field: usize,
    type_name: String,
}

struct Files<'a> {
    schema: Schema,
    unresolved: Vec<Unresolved>,
    seen: Vec<String>,
    import: Import<'a>,
}

impl Files<'_> {
    fn add(&mut self, text: &str, file: &str) -> Result<()> {
        self.seen.push(file.to_string());
        ensure!(
            self.seen.len() <= MAX_DEPTH,
            CANNOT_PARSE_PROTOBUF_SCHEMA,
            "Protobuf schema '{file}' imports too many files"
        );
        let mut parser =
            Parser { tokens: tokens(text, file)?, at: 0, file, is_proto3: false, package: String::new() };
        let imports = parser.file(self)?;
        for name in imports {
            if !self.seen.contains(&name) {
                let text = (self.import)(&name)?;
                self.add(&text, &name)?;
            }
        }
        Ok(())
    }

    /// Names are looked up in the message around them, then further out.
    fn resolve(&mut self, file: &str) -> Result<()> {
        for Unresolved { message, field, type_name } in std::mem::take(&mut self.unresolved) {
            let mut scope = self.schema.messages[message].full_name.clone();
            let kind = loop {
                let full = match type_name.strip_prefix('.') {
                    Some(absolute) => absolute.to_string(),
                    None if scope.is_empty() => type_name.clone(),
                    None => format!("{scope}.{type_name}"),
                };
                let of_message = self.schema.messages.iter().position(|m| m.full_name == full);
                let of_enum = || self.schema.enums.iter().position(|e| e.full_name == full);
                match of_message.map(Kind::Message).or_else(|| of_enum().map(Kind::Enum)) {
                    Some(kind) => break kind,
                    None if scope.is_empty() || type_name.starts_with('.') => bail!(
                        CANNOT_PARSE_PROTOBUF_SCHEMA,
                        "Cannot parse '{file}' file, \"{type_name}\" is not defined"
                    ),
                    None => scope.truncate(scope.rfind('.').unwrap_or(0)),
                }
            };
            let field = &mut self.schema.messages[message].fields[field];
            field.kind = kind;
            field.packed &= kind.is_packable();
            if matches!(kind, Kind::Message(_)) && field.presence == Presence::Implicit {
                field.presence = Presence::Explicit;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name with dots in it, or a number.
    Word(String),
    Text(String),
    Sign(char),
}

/// Tokens with the lines on which they stand.
fn tokens(text: &str, file: &str) -> Result<Vec<(Token, usize)>> {
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().peekable();
    let mut line = 0;
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => line += 1,
            _ if c.is_whitespace() => {}
            '/' if text[at..].starts_with("//") => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            '/' if text[at..].starts_with("/*") => {
                let Some(len) = text[at + 2..].find("*/") else {
                    bail!(CANNOT_PARSE_PROTOBUF_SCHEMA, "Cannot parse '{file}' file, a comment has no end");
                };
                let end = at + 2 + len + 2;
                line += text[at..end].matches('\n').count();
                while chars.next_if(|(i, _)| *i < end).is_some() {}
            }
            '"' | '\'' => {
                let mut inside = String::new();
                loop {
                    match chars.next() {
                        Some((_, '\\')) => inside.extend(chars.next().map(|(_, c)| c)),
                        Some((_, end)) if end == c => break,
                        Some((_, '\n')) | None => bail!(
                            CANNOT_PARSE_PROTOBUF_SCHEMA,
                            "Cannot parse '{file}' file, found an error at line {line}, a string has no end"
                        ),
                        Some((_, other)) => inside.push(other),
                    }
                }
                tokens.push((Token::Text(inside), line));
            }
            _ if c.is_alphanumeric() || matches!(c, '_' | '.') => {
                let mut word = c.to_string();
                while let Some((_, c)) = chars.next_if(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '.'))
                {
                    word.push(c);
                }
                tokens.push((Token::Word(word), line));
            }
            other => tokens.push((Token::Sign(other), line)),
        }
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: Vec<(Token, usize)>,
    at: usize,
    file: &'a str,
    is_proto3: bool,
    package: String,
}

impl Parser<'_> {
    #[cold]
    fn failed(&self, what: &str) -> chalet_base::Error {
        let line = self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |token| token.1);
        err!(
            CANNOT_PARSE_PROTOBUF_SCHEMA,
            "Cannot parse '{}' file, found an error at line {line}, {what}",
            self.file
        )
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|token| &token.0)
    }

    fn accept(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(known)) if known == word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: char) -> Result<()> {
        if self.accept(sign) { Ok(()) } else { Err(self.failed(&format!("expected \"{sign}\""))) }
    }

    fn word(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.failed("expected identifier")),
        }
    }

    fn text(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::Text(text)) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.failed("expected string")),
        }
    }

    fn integer(&mut self) -> Result<i64> {
        let negative = self.accept('-');
        let word = self.word()?;
        let number = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16),
            None => word.parse::<i64>(),
        };
        match number {
            Ok(number) => Ok(if negative { -number } else { number }),
            Err(_) => Err(self.failed("expected integer")),
        }
    }

    /// Up to the sign that ends a statement; blocks inside of it are passed over.
    fn skip_statement(&mut self) -> Result<()> {
        let mut depth = 0usize;
        loop {
            let Some(token) = self.peek() else { return Err(self.failed("unexpected end of the file")) };
            let sign = if let Token::Sign(sign) = token { *sign } else { ' ' };
            self.at += 1;
            match sign {
                '{' => depth += 1,
                '}' if depth <= 1 => return Ok(()),
                '}' => depth -= 1,
                ';' if depth == 0 => return Ok(()),
                _ => {}
            }
        }
    }

    /// The file; what it imports.
    fn file(&mut self, files: &mut Files<'_>) -> Result<Vec<String>> {
        let mut imports = Vec::new();
        if self.accept_word("syntax") {
            self.expect('=')?;
            self.is_proto3 = match self.text()?.as_str() {
                "proto2" => false,
                "proto3" => true,
                other => return Err(self.failed(&format!("unrecognized syntax identifier \"{other}\""))),
            };
            self.expect(';')?;
        }
        while self.peek().is_some() {
            if self.accept(';') {
                continue;
            }
            match self.word()?.as_str() {
                "package" => {
                    self.package = self.word()?;
                    self.expect(';')?;
                }
                "import" => {
                    let _ = self.accept_word("public") || self.accept_word("weak");
                    imports.push(self.text()?);
                    self.expect(';')?;
                }
                "message" => {
                    let package = self.package.clone();
                    self.message(files, &package, 0)?;
                }
                "enum" => {
                    let package = self.package.clone();
                    self.enumeration(files, &package)?;
                }
                "option" | "service" | "extend" => self.skip_statement()?,
                _ => {
                    self.at -= 1;
                    return Err(self.failed("expected top-level statement (e.g. \"message\")"));
                }
            }
        }
        Ok(imports)
    }

    fn message(&mut self, files: &mut Files<'_>, scope: &str, depth: usize) -> Result<usize> {
        if depth > MAX_DEPTH {
            return Err(self.failed("messages are nested too deeply"));
        }
        let name = self.word()?;
        let full_name = if scope.is_empty() { name } else { format!("{scope}.{name}") };
        if files.schema.messages.iter().any(|known| known.full_name == full_name) {
            return Err(self.failed(&format!("\"{full_name}\" is already defined")));
        }
        let number = files.schema.messages.len();
        files.schema.messages.push(Message { full_name: full_name.clone(), fields: Vec::new() });
        self.expect('{')?;
        while !self.accept('}') {
            if self.accept(';') {
                continue;
            }
            let keyword = match self.peek() {
                Some(Token::Word(word)) => word.clone(),
                _ => return Err(self.failed("expected identifier")),
            };
            // A field may have a type that is called like a keyword: then a name follows, and no brace or number.
            match keyword.as_str() {
                "message" | "enum" | "oneof"
                    if matches!(self.tokens.get(self.at + 2), Some((Token::Sign('{'), _))) =>
                {
                    self.at += 1;
                    match keyword.as_str() {
                        "message" => _ = self.message(files, &full_name, depth + 1)?,
                        "enum" => self.enumeration(files, &full_name)?,
                        _ => self.oneof(files, number)?,
                    }
                }
                "option" | "reserved" | "extensions" | "extend" => self.skip_statement()?,
                _ => self.field(files, number, Presence::Implicit)?,
            }
        }
        Ok(number)
    }

    fn oneof(&mut self, files: &mut Files<'_>, message: usize) -> Result<()> {
        self.word()?;
        self.expect('{')?;
        while !self.accept('}') {
            if self.accept(';') {
                continue;
            }
            match self.accept_word("option") {
                true => self.skip_statement()?,
                false => self.field(files, message, Presence::Explicit)?,
            }
        }
        Ok(())
    }

    fn field(&mut self, files: &mut Files<'_>, message: usize, presence: Presence) -> Result<()> {
        let mut presence = if self.is_proto3 { presence } else { Presence::Explicit };
        let mut repeated = false;
        if self.accept_word("repeated") {
            repeated = true;
        } else if self.accept_word("optional") {
            presence = Presence::Explicit;
        } else if self.accept_word("required") {
            if self.is_proto3 {
                return Err(self.failed("required fields are not allowed in proto3"));
            }
            presence = Presence::Required;
        }
        let mut type_name = self.word()?;
        let mut is_map = false;
        if type_name == "group" {
            return Err(self.failed("groups are not supported"));
        }
        let mut entry = None;
        if type_name == "map" && self.accept('<') {
            let key = self.word()?;
            self.expect(',')?;
            let value = self.word()?;
            self.expect('>')?;
            is_map = true;
            entry = Some((key, value));
        }
        let name = self.word()?;
        if let Some((key, value)) = entry {
            type_name = self.map_entry(files, message, &name, (&key, &value))?;
            repeated = true;
        }
        self.expect('=')?;
        let number = self.integer()?;
        if !(1..=0x1fff_ffff).contains(&number) {
            return Err(self.failed("field numbers must be positive integers"));
        }
        let packed = self.options()?;
        self.expect(';')?;
        let fields = &files.schema.messages[message].fields;
        if fields.iter().any(|known| known.name == name || known.number == number as u64) {
            return Err(self.failed(&format!("field \"{name}\" or its number {number} is there twice")));
        }
        let kind = Kind::scalar(&type_name);
        let packed = repeated && packed.unwrap_or(self.is_proto3) && kind.is_none_or(Kind::is_packable);
        if kind.is_none() {
            files.unresolved.push(Unresolved { message, field: fields.len(), type_name });
        }
        let kind = kind.unwrap_or(Kind::Bytes);
        let field = Field { name, number: number as u64, kind, repeated, packed, is_map, presence };
        files.schema.messages[message].fields.push(field);
        Ok(())
    }

    /// A map is repeated messages of a key and a value.
    fn map_entry(
        &mut self,
        files: &mut Files<'_>,
        message: usize,
        name: &str,
        (key, value): (&str, &str),
    ) -> Result<String> {
        let entry_name = format!("{name}Entry");
        let full_name = format!("{}.{entry_name}", files.schema.messages[message].full_name);
        let entry = files.schema.messages.len();
        let mut fields = Vec::with_capacity(2);
        for (i, (name, type_name)) in [("key", key), ("value", value)].into_iter().enumerate() {
            let kind = Kind::scalar(type_name);
            if kind.is_none() {
                let type_name = type_name.to_string();
                files.unresolved.push(Unresolved { message: entry, field: i, type_name });
            }
            fields.push(Field {
                name: name.into(),
                number: i as u64 + 1,
                kind: kind.unwrap_or(Kind::Bytes),
                repeated: false,
                packed: false,
                is_map: false,
                presence: Presence::Explicit,
            });
        }
        files.schema.messages.push(Message { full_name, fields });
        Ok(entry_name)
    }

    /// Options of a field in brackets; what they say of packing.
    fn options(&mut self) -> Result<Option<bool>> {
        let mut packed = None;
        if !self.accept('[') {
            return Ok(packed);
        }
        let mut depth = 1;
        while depth > 0 {
            if self.accept_word("packed") && self.accept('=') {
                packed = Some(self.word()? == "true");
                continue;
            }
            match self.peek() {
                Some(Token::Sign('[' | '{')) => depth += 1,
                Some(Token::Sign(']' | '}')) => depth -= 1,
                Some(_) => {}
                None => return Err(self.failed("unexpected end of the file")),
            }
            self.at += 1;
        }
        Ok(packed)
    }

    fn enumeration(&mut self, files: &mut Files<'_>, scope: &str) -> Result<()> {
        let name = self.word()?;
        let inside = |name: &str| if scope.is_empty() { name.to_string() } else { format!("{scope}.{name}") };
        self.expect('{')?;
        let mut values: Vec<(String, i32)> = Vec::new();
        while !self.accept('}') {
            if self.accept(';') {
                continue;
            }
            if matches!(self.peek(), Some(Token::Word(word)) if word == "option" || word == "reserved")
                && self.tokens.get(self.at + 1).is_none_or(|token| token.0 != Token::Sign('='))
            {
                self.skip_statement()?;
                continue;
            }
            let value = self.word()?;
            self.expect('=')?;
            let number = self.integer()?;
            let Ok(number) = i32::try_from(number) else { return Err(self.failed("integer out of range")) };
            self.options()?;
            self.expect(';')?;
            values.push((value, number));
        }
        // Values are siblings of their enumeration, not inside of it.
        for (value, _) in &values {
            let full = inside(value);
            let is_field = |message: &Message| {
                message.full_name == scope && message.fields.iter().any(|field| field.name == *value)
            };
            if files.schema.messages.iter().any(|m| m.full_name == full || is_field(m)) {
                return Err(self.failed(&format!("\"{value}\" is already defined in \"{scope}\"")));
            }
        }
        if values.is_empty() {
            return Err(self.failed("enums must contain at least one value"));
        }
        if self.is_proto3 && values[0].1 != 0 {
            return Err(self.failed("the first enum value must be zero for open enums"));
        }
        files.schema.enums.push(Enumeration { full_name: inside(&name), values });
        Ok(())
    }
}
