//! `match` and its kin, and what functions of one pattern per row share.

use super::pattern::Pattern;
use crate::string_args::{Kind, StringArg, expect};
use chalet_base::hash::HashMap;
use chalet_base::{Result, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction,
};
use chalet_types::DataType;
use std::borrow::Cow;

/// Whether strings match patterns.
pub struct Match {
    pub record: Record,
    pub compile: fn(&[u8]) -> Result<Pattern>,
    /// The same for a pattern that few strings are matched with.
    pub compile_for_few: fn(&[u8]) -> Result<Pattern>,
    /// The answer for strings that match.
    pub yes: bool,
    /// Takes a third argument: the character of patterns that takes the meaning of the next one away. The pattern in which the
    /// backslash does so.
    pub escaped: Option<fn(&[u8], u8) -> Result<Vec<u8>>>,
}

macro_rules! functions {
    ($($name:literal $aliases:expr, $flags:literal $yes:literal $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Match] = &[$(Match {
            record: Record {
                name: $name,
                any_case_aliases: $aliases,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                takes_enum: true,
                constants: Constants::Seen,
                ..Record::DEFAULT
            },
            compile: |pattern| Pattern::of_regexp(pattern, $flags),
            compile_for_few: |pattern| Pattern::of_regexp_for_few(pattern, $flags),
            yes: $yes,
            escaped: None,
        }),*];
    };
}

functions! {
    "match" &["REGEXP_MATCHES"], "" true
        "Whether a string has a match of a regular expression in the syntax of RE2. The point matches line feeds too."
        "match(haystack, pattern)" "SELECT match('Hello', 'H.*o'), match('Hello', '^e')" => "1\t0";
    "notMatch" &[], "" false
        "Whether a string has no match of a regular expression."
        "notMatch(haystack, pattern)" "SELECT notMatch('Hello', '^e')" => "1";
    "matchCaseInsensitive" &[], "i" true
        "As match, without regard to case."
        "matchCaseInsensitive(haystack, pattern)" "SELECT matchCaseInsensitive('Hello', 'h.*O')" => "1";
    "notMatchCaseInsensitive" &[], "i" false
        "Whether a string has no match of a regular expression, without regard to case."
        "notMatchCaseInsensitive(haystack, pattern)" "SELECT notMatchCaseInsensitive('Hello', 'h.*O')" => "0";
}

struct State {
    /// The pattern, when it is the same for all rows.
    compiled: Option<Pattern>,
    /// The third argument.
    escape: Option<u8>,
}

impl Match {
    fn escape(&self, args: &[Argument]) -> Result<Option<u8>> {
        let name = self.record.name;
        let Some(arg) = args.get(2) else { return Ok(None) };
        ensure!(
            arg.ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of the ESCAPE argument of function {name}",
            arg.ty
        );
        match arg.constant.as_ref().and_then(|value| value.as_bytes()) {
            Some([escape]) if escape.is_ascii() => Ok(Some(*escape)),
            Some(other) => Err(err!(
                BAD_ARGUMENTS,
                "The ESCAPE argument of function {name} must be a single ASCII character, got '{}'",
                String::from_utf8_lossy(other)
            )),
            None => Err(err!(ILLEGAL_COLUMN, "Argument at index 2 for function {name} must be constant")),
        }
    }

    /// The pattern in which the backslash takes the meaning of characters away.
    fn plain<'p>(&self, pattern: &'p [u8], escape: Option<u8>) -> Result<Cow<'p, [u8]>> {
        match (self.escaped, escape) {
            (Some(escaped), Some(escape)) => Ok(escaped(pattern, escape)?.into()),
            _ => Ok(pattern.into()),
        }
    }
}

impl ScalarFunction for &'static Match {
    fn record(&self) -> &'static Record {
        let function: &'static Match = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let most = if self.escaped.is_some() { 3 } else { 2 };
        check_arity(self.record.name, args.len(), 2..=most)?;
        expect(self.record.name, &args[..2], 2, &[Kind::Text, Kind::String])?;
        let escape = self.escape(args)?;
        let constant = args[1].constant.as_ref().and_then(|value| value.as_bytes());
        let compile = |pattern| (self.compile)(&self.plain(pattern, escape)?);
        let compiled = constant.map(compile).transpose()?;
        Ok(Bound::with_state(DataType::UInt8, State { compiled, escape }))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let State { compiled, escape } = call.state()?;
        let texts = StringArg::of(call, 0)?;
        if let Some(pattern) = compiled {
            let matches = pattern.matches_all(&texts.strings(call.n_rows));
            let answers = matches.into_iter().map(|matches| u8::from(matches == self.yes));
            return Ok(Vector::from(answers.collect::<Vec<u8>>()).into());
        }
        let mut patterns = StringArg::of(call, 1)?.strings(call.n_rows);
        if escape.is_some() {
            let plain = patterns.iter().map(|pattern| self.plain(pattern, *escape));
            patterns = Cow::Owned(plain.collect::<Result<Vec<_>>>()?.iter().collect());
        }
        let mut answers: Vec<u8> = Vec::with_capacity(call.n_rows);
        let mut cache = Cache::new(self.compile_for_few);
        for row in 0..call.n_rows {
            answers.push(u8::from(cache.get(patterns.get(row))?.matches(texts.get(row)) == self.yes));
        }
        Ok(Vector::from(answers).into())
    }
}

/// What was compiled of the patterns of a block.
pub struct Cache<'a, P> {
    compile: fn(&[u8]) -> Result<P>,
    compiled: HashMap<&'a [u8], P>,
}

/// More patterns than this are compiled anew rather than kept.
const MAX_CACHED: usize = 1000;

impl<'a, P> Cache<'a, P> {
    pub fn new(compile: fn(&[u8]) -> Result<P>) -> Self {
        Cache { compile, compiled: HashMap::default() }
    }

    pub fn get(&mut self, pattern: &'a [u8]) -> Result<&P> {
        if !self.compiled.contains_key(pattern) {
            let compiled = (self.compile)(pattern)?;
            if self.compiled.len() >= MAX_CACHED {
                self.compiled.clear();
            }
            self.compiled.insert(pattern, compiled);
        }
        Ok(&self.compiled[pattern])
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
