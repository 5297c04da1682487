//! Types whose values are of several types: Variant, Dynamic and JSON, and what their text forms say.

use crate::DataType;
use crate::geometry::Alternatives;
use crate::supertype::{common_supertype, pair};
use chalet_base::{Result, bail, codes, ensure};
use std::fmt;
use std::sync::Arc;

/// As many types may a Variant name: one byte tells them apart.
const MAX_ALTERNATIVES: usize = 255;

/// What a JSON type says of its paths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonType {
    /// Paths with a type, sorted by path; they are there in every row.
    pub typed: Vec<(Arc<str>, DataType)>,
    /// Paths that are not kept, with all below them; sorted.
    pub skipped: Vec<Arc<str>>,
    /// Paths that these match are not kept.
    pub skipped_regexps: Vec<Arc<str>>,
    pub max_dynamic_paths: u32,
    pub max_dynamic_types: u8,
}

impl Default for JsonType {
    fn default() -> Self {
        JsonType {
            typed: Vec::new(),
            skipped: Vec::new(),
            skipped_regexps: Vec::new(),
            max_dynamic_paths: JsonType::DEFAULT_PATHS,
            max_dynamic_types: DataType::DEFAULT_DYNAMIC_TYPES,
        }
    }
}

impl JsonType {
    pub const DEFAULT_PATHS: u32 = 1024;

    /// The type of a path, where the type names one.
    pub fn typed_path(&self, path: &[u8]) -> Option<&DataType> {
        let found = self.typed.binary_search_by(|(known, _)| known.as_bytes().cmp(path)).ok()?;
        Some(&self.typed[found].1)
    }

    /// The type of objects in arrays, which keep fewer paths and types apart.
    pub fn nested(&self) -> JsonType {
        JsonType {
            max_dynamic_paths: self.max_dynamic_paths / 4,
            max_dynamic_types: self.max_dynamic_types / 2,
            ..JsonType::default()
        }
    }

    /// The type of what stands below a path.
    pub fn below(&self, path: &str) -> JsonType {
        let inside = |known: &Arc<str>| known.strip_prefix(path)?.strip_prefix('.').map(Arc::from);
        JsonType {
            typed: self.typed.iter().filter_map(|(known, ty)| Some((inside(known)?, ty.clone()))).collect(),
            ..self.clone()
        }
    }
}

impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::text::{Identifier, quoted};
        let mut parts: Vec<String> = Vec::new();
        if self.max_dynamic_types != DataType::DEFAULT_DYNAMIC_TYPES {
            parts.push(format!("max_dynamic_types={}", self.max_dynamic_types));
        }
        if self.max_dynamic_paths != JsonType::DEFAULT_PATHS {
            parts.push(format!("max_dynamic_paths={}", self.max_dynamic_paths));
        }
        parts.extend(self.typed.iter().map(|(path, ty)| format!("{} {ty}", Identifier(path))));
        parts.extend(self.skipped.iter().map(|path| format!("SKIP {}", Identifier(path))));
        parts.extend(self.skipped_regexps.iter().map(|regexp| format!("SKIP REGEXP {}", quoted(regexp))));
        match parts.is_empty() {
            true => f.write_str("JSON"),
            false => write!(f, "JSON({})", parts.join(", ")),
        }
    }
}

impl DataType {
    /// `max_types` of a Dynamic that does not say.
    pub const DEFAULT_DYNAMIC_TYPES: u8 = 32;

    /// Dynamic with the usual number of types.
    pub const DYNAMIC: DataType = DataType::Dynamic(DataType::DEFAULT_DYNAMIC_TYPES);

    /// A Variant of these types, in the order of their names, each once.
    pub fn variant(types: impl IntoIterator<Item = DataType>) -> Result<DataType> {
        let mut named: Vec<(String, DataType)> = Vec::new();
        for ty in types {
            match &ty {
                DataType::Variant(_) => bail!(BAD_ARGUMENTS, "Nested Variant types are not allowed"),
                DataType::Dynamic(_) => {
                    bail!(BAD_ARGUMENTS, "Dynamic type is not allowed inside Variant type")
                }
                _ if ty.is_nullable() => bail!(
                    BAD_ARGUMENTS,
                    "Nullable/LowCardinality(Nullable) types are not allowed inside Variant type"
                ),
                _ => named.push((ty.to_string(), ty)),
            }
        }
        ensure!(!named.is_empty(), BAD_ARGUMENTS, "Variant type should have at least one nested type");
        named.sort_by(|a, b| a.0.cmp(&b.0));
        named.dedup_by(|a, b| a.0 == b.0);
        ensure!(
            named.len() <= MAX_ALTERNATIVES,
            BAD_ARGUMENTS,
            "Variant type with more than {MAX_ALTERNATIVES} nested types is not allowed"
        );
        Ok(DataType::Variant(named.into_iter().map(|(_, ty)| ty).collect()))
    }

    /// The types of a Variant.
    pub fn alternatives(&self) -> Option<&Alternatives> {
        match self {
            DataType::Variant(types) => Some(types),
            _ => None,
        }
    }

    /// Variant or Dynamic: the type of a value is known in its row only.
    pub fn is_of_several_types(&self) -> bool {
        matches!(self, DataType::Variant(_) | DataType::Dynamic(_))
    }

    /// Variant, Dynamic or JSON, or a container of such.
    pub fn contains_several_types(&self) -> bool {
        self.is_or_contains(&|ty| {
            matches!(ty, DataType::Variant(_) | DataType::Dynamic(_) | DataType::Json(_))
        })
    }

    /// Does the test hold for the type or for one that it is made of?
    pub fn is_or_contains(&self, test: &dyn Fn(&DataType) -> bool) -> bool {
        test(self)
            || match self {
                DataType::LowCardinality(inner) | DataType::Nullable(inner) => inner.is_or_contains(test),
                DataType::Array(inner) => inner.is_or_contains(test),
                DataType::Map(key, value) => key.is_or_contains(test) || value.is_or_contains(test),
                DataType::Tuple(fields) => fields.iter().any(|field| field.ty.is_or_contains(test)),
                _ => false,
            }
    }

    /// The type as an alternative of a Variant or Dynamic: NULL is none of theirs.
    pub fn as_alternative(&self) -> DataType {
        match self {
            DataType::Nullable(inner) => DataType::clone(inner),
            DataType::LowCardinality(inner) if inner.is_nullable() => {
                DataType::clone(inner.without_nullable()).low_cardinality()
            }
            other => other.clone(),
        }
    }

    /// The types of a Variant that could be taken for each other are refused, unless a setting allows them.
    pub fn check_long_fixed_strings(&self) -> Result<()> {
        match self {
            DataType::FixedString(length) if *length > 256 => bail!(
                ILLEGAL_COLUMN,
                "Cannot create column with type '{self}' because fixed string with size > 256 is suspicious. Set setting \
                 allow_suspicious_fixed_string_types = 1 in order to allow it"
            ),
            DataType::LowCardinality(inner) | DataType::Nullable(inner) => inner.check_long_fixed_strings(),
            DataType::Array(inner) => inner.check_long_fixed_strings(),
            DataType::Map(key, value) => {
                key.check_long_fixed_strings()?;
                value.check_long_fixed_strings()
            }
            DataType::Tuple(fields) => fields.iter().try_for_each(|f| f.ty.check_long_fixed_strings()),
            DataType::Variant(types) => types.iter().try_for_each(DataType::check_long_fixed_strings),
            _ => Ok(()),
        }
    }

    /// Fails where types of a Variant are so alike that values could be of either.
    pub fn check_suspicious_variants(&self) -> Result<()> {
        match self {
            // Of geometries the name says which one is meant.
            DataType::Variant(_) if self.geometry().is_some() => Ok(()),
            DataType::Variant(types) => {
                for (i, a) in types.iter().enumerate() {
                    for b in &types[i + 1..] {
                        let Some(common) = pair(a, b) else { continue };
                        bail!(
                            ILLEGAL_COLUMN,
                            "Cannot create column with type '{self}' because variants '{a}' and '{b}' have similar types \
                             and working with values of these types may lead to ambiguity. Consider using common single \
                             variant '{common}' instead of these 2 variants or set setting \
                             allow_suspicious_variant_types = 1 in order to allow it"
                        );
                    }
                }
                types.iter().try_for_each(DataType::check_suspicious_variants)
            }
            DataType::LowCardinality(inner) | DataType::Nullable(inner) => inner.check_suspicious_variants(),
            DataType::Array(inner) => inner.check_suspicious_variants(),
            DataType::Map(key, value) => {
                key.check_suspicious_variants()?;
                value.check_suspicious_variants()
            }
            DataType::Tuple(fields) => fields.iter().try_for_each(|f| f.ty.check_suspicious_variants()),
            _ => Ok(()),
        }
    }
}

/// The common supertype where one is Variant or Dynamic and the other is not the same: Dynamic takes anything, a Variant
/// NULL alone.
pub(crate) fn pair_of_several(a: &DataType, b: &DataType) -> Option<DataType> {
    let is_null = |ty: &DataType| *ty.bare() == DataType::Nothing;
    match (a, b) {
        (DataType::Dynamic(x), DataType::Dynamic(y)) => Some(DataType::Dynamic(*x.max(y))),
        (DataType::Dynamic(_), _) => Some(a.clone()),
        (_, DataType::Dynamic(_)) => Some(b.clone()),
        (variant, null) | (null, variant) if is_null(null) => Some(variant.clone()),
        _ => None,
    }
}

/// The least common supertype, or where there is none the Variant of all the types.
/// `use_variant` is the setting `use_variant_as_common_type`.
pub fn common_or_variant(types: &[DataType], use_variant: bool) -> Result<DataType> {
    let refused = match common_supertype(types) {
        // A state beside NULL is refused as such.
        Err(refused) if use_variant && refused.code() != codes::ILLEGAL_TYPE_OF_ARGUMENT => refused,
        common => return common,
    };
    let dynamic = types.iter().filter(|ty| matches!(ty, DataType::Dynamic(_)));
    if let Some(DataType::Dynamic(most)) = dynamic.max_by_key(|ty| match ty {
        DataType::Dynamic(most) => *most,
        _ => 0,
    }) {
        return Ok(DataType::Dynamic(*most));
    }
    variant_of(types).map_err(|_| refused)
}

/// The Variant of all the types, of which some may be Variants or Nullable.
pub fn variant_of(types: &[DataType]) -> Result<DataType> {
    let known = types.iter().filter(|ty| *ty.bare() != DataType::Nothing);
    let several = known.flat_map(|ty| match ty {
        DataType::Variant(types) => types.to_vec(),
        DataType::LowCardinality(inner) => vec![inner.without_nullable().clone().low_cardinality()],
        other => vec![other.bare().clone()],
    });
    DataType::variant(several)
}
