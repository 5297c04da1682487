//! `generateRandom` and ENGINE = GenerateRandom: what their arguments say.

use chalet_base::{Result, bail, ensure};
use chalet_binder::TableArgument;
use chalet_storage::generate_random::{GenerateRandom, Random};
use chalet_storage::{ColumnSchema, TableSchema};
use chalet_types::DataType;
use std::hash::{BuildHasher, RandomState};

/// Lengths, unless arguments say otherwise.
const DEFAULT_LENGTH: u64 = 10;
const MAX_LENGTH: u64 = 1 << 30;
/// Columns of a structure that nobody gave, at most.
const MAX_COLUMNS: u64 = 128;
/// What their types are taken from.
const TYPES: [&str; 26] = [
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt128",
    "UInt256",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Int256",
    "Float32",
    "Float64",
    "Bool",
    "String",
    "FixedString(16)",
    "Date",
    "Date32",
    "DateTime",
    "DateTime64(3)",
    "UUID",
    "IPv4",
    "IPv6",
    "Decimal(18, 4)",
    "Enum8('a' = 1, 'b' = 2, 'c' = 3)",
];
/// What may be around them.
const AROUND: [&str; 5] = ["Nullable(", "Array(", "LowCardinality(", "Map(String, ", "Tuple(String, "];

/// Seed and greatest lengths.
pub(crate) struct Settings {
    pub seed: u64,
    max_string_length: u64,
    max_array_length: u64,
}

impl Settings {
    /// `[random_seed[, max_string_length[, max_array_length]]]`; without a seed, or with NULL, it is chosen.
    pub fn of(args: &[TableArgument]) -> Result<Settings> {
        let seed = match args.first() {
            Some(TableArgument::Value(value, _)) if value.is_null() => None,
            Some(arg) => Some(number(arg, "random_seed")?),
            None => None,
        };
        let length = |at: usize, name| args.get(at).map_or(Ok(DEFAULT_LENGTH), |arg| number(arg, name));
        let settings = Settings {
            seed: seed.unwrap_or_else(|| RandomState::new().hash_one(0)),
            max_string_length: length(1, "max_string_length")?,
            max_array_length: length(2, "max_array_length")?,
        };
        ensure!(
            settings.max_array_length <= MAX_LENGTH,
            TOO_LARGE_ARRAY_SIZE,
            "Too large array size in GenerateRandom: {}, maximum: {MAX_LENGTH}",
            settings.max_array_length
        );
        ensure!(
            settings.max_string_length <= MAX_LENGTH,
            TOO_LARGE_STRING_SIZE,
            "Too large string size in GenerateRandom: {}, maximum: {MAX_LENGTH}",
            settings.max_string_length
        );
        Ok(settings)
    }

    pub fn table(&self, schema: TableSchema) -> GenerateRandom {
        let Settings { seed, max_string_length, max_array_length } = *self;
        GenerateRandom { schema, seed, max_string_length, max_array_length }
    }
}

fn number(arg: &TableArgument, name: &str) -> Result<u64> {
    let TableArgument::Value(value, ty) = arg else {
        bail!(BAD_ARGUMENTS, "Argument '{name}' must be a literal with type UInt64")
    };
    match value.as_u64().filter(|_| ty.bare().is_unsigned()) {
        Some(number) => Ok(number),
        None => bail!(BAD_ARGUMENTS, "Argument '{name}' must be a literal with type UInt64, got {ty}"),
    }
}

/// `generateRandom([structure, ][random_seed[, max_string_length[, max_array_length]]])`.
pub(crate) fn function(
    args: &[TableArgument],
    parse_structure: impl Fn(&str) -> Result<Vec<ColumnSchema>>,
) -> Result<GenerateRandom> {
    let is_text = |arg: &TableArgument| matches!(arg, TableArgument::Value(_, ty) if ty.bare().is_string());
    let structure = args.first().filter(|arg| is_text(arg)).and_then(crate::table_argument::text);
    let rest = &args[usize::from(structure.is_some())..];
    ensure!(
        rest.len() <= 3,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Table function 'generateRandom' requires at most four (or three if structure is missing) arguments: [structure, \
         random_seed, max_string_length, max_array_length]"
    );
    let settings = Settings::of(rest)?;
    let columns = match structure {
        Some(structure) => parse_structure(&structure)?,
        None => random_columns(settings.seed)?,
    };
    Ok(settings.table(TableSchema::new(columns)))
}

/// The same columns for the same seed.
fn random_columns(seed: u64) -> Result<Vec<ColumnSchema>> {
    let mut random = Random::new(seed);
    let n = 1 + random.up_to(MAX_COLUMNS - 1);
    let column = |at| {
        let name = TYPES[random.up_to(TYPES.len() as u64 - 1) as usize];
        let around = AROUND.get(random.up_to(AROUND.len() as u64 * 3) as usize).copied().unwrap_or_default();
        let text = if around.is_empty() { name.to_string() } else { format!("{around}{name})") };
        // Not all types may be dictionaries.
        let ty = text.parse::<DataType>().or_else(|_| name.parse())?;
        Ok(ColumnSchema::new(format!("c{at}"), ty))
    };
    (1..=n).map(column).collect()
}
