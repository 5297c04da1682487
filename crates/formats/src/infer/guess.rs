//! What a value may be, and the least that holds two such values.

use crate::FormatSettings;
use chalet_types::{DataType, TupleField};

/// The rules of merging and naming differ a little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// What is neither becomes a String.
    Text,
    /// Numbers and booleans may be read as strings, booleans as numbers.
    Json(JsonRules),
    /// Nothing is forgiven.
    Literals,
}

/// Which values of JSON may be read as others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonRules {
    pub numbers_as_strings: bool,
    pub bools_as_strings: bool,
    pub bools_as_numbers: bool,
    /// What is an object in one row and none in another is its text.
    pub ambiguous_as_strings: bool,
}

impl Dialect {
    /// JSON, with what the settings allow.
    pub fn json(settings: &FormatSettings) -> Dialect {
        Dialect::Json(JsonRules {
            numbers_as_strings: settings.input_format_json_read_numbers_as_strings,
            bools_as_strings: settings.input_format_json_read_bools_as_strings,
            bools_as_numbers: settings.input_format_json_read_bools_as_numbers,
            ambiguous_as_strings: settings
                .input_format_json_use_string_type_for_ambiguous_paths_in_named_tuples_inference_from_objects,
        })
    }

    /// The same between the elements of an array, where numbers and strings are different things.
    pub fn elements(settings: &FormatSettings) -> Dialect {
        match Dialect::json(settings) {
            Dialect::Json(rules) => Dialect::Json(JsonRules { numbers_as_strings: false, ..rules }),
            other => other,
        }
    }

    fn is_json(self) -> bool {
        matches!(self, Dialect::Json(_))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    pub kind: Kind,
    /// A NULL was seen.
    pub null: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Only NULLs, or nothing at all.
    Unknown,
    Bool,
    Int,
    UInt,
    Float,
    Date,
    DateTime,
    DateTime64,
    String,
    Array(Box<Guess>),
    /// An array of JSON whose elements have nothing in common; those one after the other that are alike are there once.
    Mixed(Vec<Guess>),
    Tuple(Vec<Guess>),
    Map(Box<Guess>, Box<Guess>),
    /// Named values in the order in which they were first seen.
    Object(Vec<(String, Guess)>),
}

impl From<Kind> for Guess {
    fn from(kind: Kind) -> Self {
        Guess { kind, null: false }
    }
}

impl Guess {
    pub const NULL: Guess = Guess { kind: Kind::Unknown, null: true };

    pub fn is_string(&self) -> bool {
        self.kind == Kind::String
    }

    /// The guess that holds the values of both, if there is one.
    pub fn merge(self, other: Guess, dialect: Dialect) -> Option<Guess> {
        let null = self.null || other.null;
        Some(Guess { kind: merge_kinds(self.kind, other.kind, dialect)?, null })
    }

    /// Merges; in text what has nothing in common is a String.
    pub fn merge_or_string(self, other: Guess, dialect: Dialect) -> Option<Guess> {
        let null = self.null || other.null;
        match self.merge(other, dialect) {
            None if dialect == Dialect::Text => Some(Guess { kind: Kind::String, null }),
            merged => merged,
        }
    }

    /// The type, or nothing when the data says too little.
    pub fn data_type(&self, dialect: Dialect, settings: &FormatSettings) -> Option<DataType> {
        let named = self.named(dialect, settings);
        match dialect {
            Dialect::Literals => named,
            Dialect::Json(_) if !settings.input_format_json_infer_incomplete_types_as_strings => named,
            _ => Some(named.unwrap_or_else(|| self.wrap(DataType::String, settings))),
        }
    }

    fn named(&self, dialect: Dialect, settings: &FormatSettings) -> Option<DataType> {
        let inner = |guess: &Guess| match guess.named(dialect, settings) {
            None if dialect.is_json() && settings.input_format_json_infer_incomplete_types_as_strings => {
                Some(guess.wrap(DataType::String, settings))
            }
            named => named,
        };
        let fields = |fields: Vec<(Option<&str>, &Guess)>| {
            let field = |(name, guess): (Option<&str>, &Guess)| {
                Some(TupleField { name: name.map(Into::into), ty: inner(guess)? })
            };
            fields.into_iter().map(field).collect::<Option<Vec<_>>>()
        };
        let bare = match &self.kind {
            Kind::Unknown => return None,
            Kind::Bool => DataType::Bool,
            Kind::Int => DataType::Int64,
            Kind::UInt => DataType::UInt64,
            Kind::Float => DataType::Float64,
            Kind::Date => DataType::Date,
            Kind::DateTime => DataType::DateTime(None),
            Kind::DateTime64 => DataType::DateTime64(9, None),
            Kind::String => DataType::String,
            Kind::Array(element) => inner(element)?.array(),
            Kind::Mixed(elements) if settings.input_format_try_infer_variants => {
                let types = elements.iter().filter_map(|e| e.named(dialect, settings));
                DataType::variant(types.map(|ty| ty.bare().clone())).ok()?.array()
            }
            Kind::Mixed(_)
                if settings.input_format_json_infer_array_of_dynamic_from_array_of_different_types =>
            {
                DataType::DYNAMIC.array()
            }
            Kind::Mixed(elements) => match merge_all(elements.iter().cloned(), dialect) {
                Some(merged) => inner(&merged)?.array(),
                None => DataType::Tuple(fields(elements.iter().map(|e| (None, e)).collect())?.into()),
            },
            Kind::Map(key, value) => {
                let key = key.named(dialect, settings)?;
                DataType::map(key.without_nullable().clone(), inner(value)?)
            }
            Kind::Tuple(elements) if elements.is_empty() => return None,
            Kind::Tuple(elements) => {
                DataType::Tuple(fields(elements.iter().map(|e| (None, e)).collect())?.into())
            }
            Kind::Object(members) if members.is_empty() => return None,
            Kind::Object(members) => {
                DataType::Tuple(fields(members.iter().map(|(n, g)| (Some(n.as_str()), g)).collect())?.into())
            }
        };
        Some(self.wrap(bare, settings))
    }

    /// Nullable as the settings ask: 0 never, 1 and 3 always, 2 and `auto` where a NULL was seen.
    fn wrap(&self, ty: DataType, settings: &FormatSettings) -> DataType {
        let nullable = match settings.schema_inference_make_columns_nullable.0 {
            // A Bool can be NULL in any case, as in the kernel.
            Some(0) => ty == DataType::Bool,
            Some(1 | 3) => true,
            _ => self.null,
        };
        if nullable && ty.can_be_nullable() { ty.nullable() } else { ty }
    }
}

fn merge_kinds(a: Kind, b: Kind, dialect: Dialect) -> Option<Kind> {
    use Kind::*;
    if a == b {
        return Some(a);
    }
    let rules = match dialect {
        Dialect::Json(rules) => rules,
        _ => JsonRules {
            numbers_as_strings: false,
            bools_as_strings: false,
            bools_as_numbers: false,
            ambiguous_as_strings: false,
        },
    };
    let json = rules.numbers_as_strings;
    Some(match (a, b) {
        (Mixed(x), Mixed(y)) => merge_mixed(x, y, dialect),
        (Mixed(x), Array(y)) | (Array(y), Mixed(x)) => {
            let merged = merge_all(x.iter().cloned().chain([*y.clone()]), dialect);
            merged
                .map_or_else(|| Mixed(x.into_iter().chain([*y]).collect()), |merged| Array(Box::new(merged)))
        }
        (Mixed(x), Unknown) | (Unknown, Mixed(x)) => match merge_all(x.iter().cloned(), dialect) {
            Some(merged) => Array(Box::new(merged)),
            None => Mixed(x),
        },
        (Unknown, other) | (other, Unknown) => other,
        (Int, UInt) | (UInt, Int) => UInt,
        (Int | UInt, Float) | (Float, Int | UInt) => Float,
        (Date, DateTime) | (DateTime, Date) => DateTime,
        (Date | DateTime, DateTime64) | (DateTime64, Date | DateTime) => DateTime64,
        (String, Date | DateTime | DateTime64) | (Date | DateTime | DateTime64, String) => String,
        (Bool, number @ (Int | UInt | Float)) | (number @ (Int | UInt | Float), Bool)
            if rules.bools_as_numbers =>
        {
            number
        }
        (String, Bool) | (Bool, String) if rules.bools_as_strings => String,
        (String, Int | UInt | Float) | (Int | UInt | Float, String) if json => String,
        (Date | DateTime | DateTime64, Bool | Int | UInt | Float)
        | (Bool | Int | UInt | Float, Date | DateTime | DateTime64)
            if json =>
        {
            String
        }
        (Array(x), Array(y)) => Array(Box::new(x.merge(*y, dialect)?)),
        (Map(k1, v1), Map(k2, v2)) => {
            Map(Box::new(k1.merge(*k2, dialect)?), Box::new(v1.merge(*v2, dialect)?))
        }
        (Tuple(x), Tuple(y)) if x.len() == y.len() => {
            Tuple(x.into_iter().zip(y).map(|(p, q)| p.merge(q, dialect)).collect::<Option<_>>()?)
        }
        (Object(mut x), Object(y)) => {
            for (name, guess) in y {
                match x.iter_mut().find(|m| m.0 == name) {
                    Some(member) => {
                        let before = std::mem::replace(&mut member.1, Guess::NULL);
                        let null = before.null || guess.null;
                        let object = |guess: &Guess| matches!(guess.kind, Object(_));
                        let ambiguous = object(&before) || object(&guess);
                        member.1 = match before.clone().merge(guess, dialect) {
                            Some(both) => both,
                            None if !ambiguous => Guess { null, ..before },
                            None if rules.ambiguous_as_strings => Guess { kind: String, null },
                            None => return None,
                        };
                    }
                    None => x.push((name, guess)),
                }
            }
            Object(x)
        }
        _ => return None,
    })
}

/// The guess that holds all of them, if there is one.
fn merge_all(guesses: impl Iterator<Item = Guess>, dialect: Dialect) -> Option<Guess> {
    let nothing = Guess { kind: Kind::Unknown, null: false };
    guesses.into_iter().try_fold(nothing, |merged, guess| merged.merge(guess, dialect))
}

/// Arrays whose elements have nothing in common are merged element by element; then they may have.
fn merge_mixed(x: Vec<Guess>, y: Vec<Guess>, dialect: Dialect) -> Kind {
    if x == y {
        return Kind::Mixed(x);
    }
    let pairs = x.iter().zip(&y).map(|(a, b)| a.clone().merge(b.clone(), dialect));
    match pairs.collect::<Option<Vec<_>>>() {
        Some(merged) if x.len() == y.len() => match merged.iter().all(|guess| *guess == merged[0]) {
            true => Kind::Array(Box::new(merged[0].clone())),
            false => Kind::Mixed(merged),
        },
        _ => Kind::Mixed(x.into_iter().chain(y).collect()),
    }
}
