//! Table functions, by name.

use crate::column_definitions::columns;
use crate::defaults::{AllGiven, with_defaults};
use crate::dictionaries::attached::Attached;
use crate::external_functions;
use crate::formats::{self, FORMATS};
use crate::generate_random;
use crate::merge_tree::part_defaults::PartDefaults;
use crate::merge_tree_functions;
use crate::merged;
use crate::query_context::QueryContext;
use crate::reading::{caster, file_context, read_request};
use crate::replacement_scan::ReplacementScan;
use crate::table_argument::text;
use crate::written_settings::setting_text;
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::{Environment, TableArgument};
use chalet_columns::{Block, Builder, Column};
use chalet_formats::{Format, Input, Schema};
use chalet_storage::file::FileTable;
use chalet_storage::file_defaults::FileDefaults;
use chalet_storage::fixed::FixedTable;
use chalet_storage::format_detection::detect;
use chalet_storage::looped::Looped;
use chalet_storage::null::NullTable;
use chalet_storage::numbers::Sequence;
use chalet_storage::primes::Primes;
use chalet_storage::{ColumnSchema, Table, TableSchema};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// Names, for `system.table_functions` and suggestions.
/// Functions whose first argument is a cluster: none is known.
const ON_CLUSTERS: &[&str] = &[
    "azureBlobStorageCluster",
    "deltaLakeAzureCluster",
    "deltaLakeCluster",
    "deltaLakeS3Cluster",
    "fileCluster",
    "gcsCluster",
    "hdfsCluster",
    "hudiCluster",
    "icebergAzureCluster",
    "icebergCluster",
    "icebergHDFSCluster",
    "icebergS3Cluster",
    "s3Cluster",
    "urlCluster",
];

/// Those of tables of servers, whose arguments may be table functions there and expressions over the rows.
pub(crate) const ON_SERVERS: [&str; 4] = ["remote", "remoteSecure", "cluster", "clusterAllReplicas"];

pub(crate) const NAMES: &[&str] = &[
    "cluster",
    "clusterAllReplicas",
    "dictionary",
    "file",
    "format",
    "generateRandom",
    "generate_series",
    "generateSeries",
    "input",
    "loop",
    "merge",
    "mergeTreeIndex",
    "mergeTreeProjection",
    "null",
    "numbers",
    "numbers_mt",
    "primes",
    "python",
    "remote",
    "remoteSecure",
    "SQLStandardValues",
    "values",
    "view",
    "zeros",
    "zeros_mt",
];

/// Those that the kernel lets nobody use whose `readonly` is 1 (`allow_readonly` of `system.table_functions` is 0): they reach for what
/// is outside of the database, or need a temporary table there.
const NOT_IN_READONLY: &[&str] = &[
    "dictionary",
    "file",
    "format",
    "loop",
    "python",
    "Python",
    "remote",
    "remoteSecure",
    "zeros",
    "zeros_mt",
];

/// `replacement_scan`: of the caller who names the function.
pub(crate) fn make(
    name: &str,
    args: &[TableArgument],
    ctx: &QueryContext,
    replacement_scan: Option<&dyn ReplacementScan>,
) -> Result<Arc<dyn Table>> {
    ensure!(
        !NOT_IN_READONLY.contains(&name) || ctx.state.settings.number("readonly") != Some(1),
        READONLY,
        "{}: Cannot execute query in readonly mode",
        ctx.functions.user
    );
    match name {
        "numbers" | "numbers_mt" => numbers(name, args),
        "generateRandom" => {
            Ok(Arc::new(generate_random::function(args, |text| structure_columns(text, ctx))?))
        }
        "generateSeries" | "generate_series" => series(name, args),
        "loop" => looped(args, ctx),
        "zeros" | "zeros_mt" => {
            ensure!(
                args.len() <= 1,
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Table function '{name}' cannot have more than one params."
            );
            let count = args.first().map(|arg| length(arg, name)).transpose()?;
            Ok(Arc::new(Sequence {
                column: "zero",
                first: 0,
                step: 0,
                count,
                zeros: true,
                engine: "SystemZeros",
            }))
        }
        "dictionary" => dictionary(args, ctx),
        "file" => file(args, ctx),
        "merge" => merged::function(args, ctx),
        "mergeTreeIndex" => merge_tree_functions::index(args, ctx),
        "mergeTreeProjection" => merge_tree_functions::projection(args, ctx),
        "primes" => primes(args),
        "python" | "Python" => python(args, replacement_scan),
        "null" => {
            let schema = match args.first().map(text) {
                None => TableSchema::of(no_structure()),
                Some(Some(auto)) if auto == "auto" => TableSchema::of(no_structure()),
                Some(Some(written)) => TableSchema::new(structure_columns(&written, ctx)?),
                Some(None) => bail!(
                    NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Table function '{name}' requires a structure as its argument"
                ),
            };
            Ok(Arc::new(NullTable { schema }))
        }
        "format" => format_function(args, ctx),
        "remote" | "remoteSecure" => crate::remote::table(name, args, ctx),
        "cluster" | "clusterAllReplicas" => crate::remote::cluster::table(name, args, ctx),
        _ if ON_CLUSTERS.contains(&name) => {
            let cluster = args.first().and_then(text).unwrap_or_default();
            bail!(CLUSTER_DOESNT_EXIST, "Requested cluster '{cluster}' not found")
        }
        "input" => bail!(
            INVALID_USAGE_OF_INPUT,
            "Input stream is not initialized, input() must be used only in INSERT SELECT query."
        ),
        // One with a query is bound as a query.
        "view" => bail!(SYNTAX_ERROR, "Table function 'view' takes a SELECT query"),
        "SQLStandardValues" => values(name, args, ctx),
        _ if name.eq_ignore_ascii_case("values") => values("values", args, ctx),
        _ => {
            external_functions::check(name, args)?;
            let near = chalet_base::suggest::nearest(name, NAMES.iter().copied(), 1);
            match near.first() {
                Some(near) => {
                    bail!(UNKNOWN_FUNCTION, "Unknown table function {name}. Maybe you meant: ['{near}']")
                }
                None => bail!(UNKNOWN_FUNCTION, "Unknown table function {name}"),
            }
        }
    }
}

/// `loop([database, ]table)`, `loop(table_function(...))`.
fn looped(args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    ensure!(!args.is_empty(), ILLEGAL_TYPE_OF_ARGUMENT, "No arguments provided for table function 'loop'");
    let table = match args {
        [TableArgument::Table(table)] => table.0.clone(),
        [_] | [_, _] => {
            let words: Option<Vec<String>> = args.iter().map(text).collect();
            let words = words.unwrap_or_default();
            let (database, name) = match &words[..] {
                [database, name] => (Some(database.as_str()), name.as_str()),
                [name] => name
                    .split_once('.')
                    .map_or((None, name.as_str()), |(database, name)| (Some(database), name)),
                _ => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Expected identifier or function for argument 1 of function 'loop'"
                ),
            };
            match Environment::table(ctx, database, name)? {
                Some((table, _)) => table,
                None => {
                    let database = database.unwrap_or(&ctx.state.database);
                    bail!(UNKNOWN_TABLE, "Table '{name}' not found in database '{database}'")
                }
            }
        }
        _ => bail!(NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Table function 'loop' must have 1 or 2 arguments"),
    };
    ensure!(
        table.view_query().is_none(),
        NOT_IMPLEMENTED,
        "Table function 'loop' over a {} is not supported",
        table.engine()
    );
    Ok(Arc::new(Looped { table }))
}

fn unsigned(arg: &TableArgument, function: &str) -> Result<u64> {
    let TableArgument::Value(value, ty) = arg else {
        if let TableArgument::Word(word) = arg {
            bail!(UNKNOWN_IDENTIFIER, "Unknown expression identifier `{word}`");
        }
        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Table function '{function}' takes numbers");
    };
    ensure!(
        ty.is_number() && !ty.is_decimal(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {ty} expression, must be numeric type"
    );
    let whole = match value {
        // 2^64 is the first that is too large.
        Value::Float(x) if x.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(x) => {
            Some(*x as u64)
        }
        other => other.as_u64(),
    };
    whole.ok_or_else(|| {
        err!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The value of an argument of table function '{function}' is not representable as UInt64"
        )
    })
}

fn length(arg: &TableArgument, function: &str) -> Result<u64> {
    if let TableArgument::Value(_, ty) = arg {
        let is_integer = ty.bare().is_number() && !ty.bare().is_decimal() && !ty.bare().is_float();
        ensure!(is_integer, BAD_ARGUMENTS, "Argument 'length' must be a literal with type UInt64, got {ty}.");
    }
    match arg {
        TableArgument::Value(value, ty) => {
            unsigned(&TableArgument::Value(value.clone(), ty.bare().clone()), function)
        }
        other => unsigned(other, function),
    }
}

fn numbers(name: &str, args: &[TableArgument]) -> Result<Arc<dyn Table>> {
    let args = args.iter().map(|arg| unsigned(arg, name)).collect::<Result<Vec<_>>>()?;
    let (first, count, step) = match args[..] {
        [] => (0, None, 1),
        [count] => (0, Some(count), 1),
        [first, count] => (first, Some(count), 1),
        [first, count, step] => {
            ensure!(step > 0, BAD_ARGUMENTS, "Table function {name} requires step to be a positive number");
            (first, Some(count.div_ceil(step)), step)
        }
        _ => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Table function '{name}' requires 'limit' or 'offset, limit' or 'offset, limit, step'"
        ),
    };
    Ok(Arc::new(Sequence { column: "number", first, step, count, zeros: false, engine: "SystemNumbers" }))
}

/// `primes([[offset,] count[, step]])`.
fn primes(args: &[TableArgument]) -> Result<Arc<dyn Table>> {
    let args = args.iter().map(|arg| unsigned(arg, "primes")).collect::<Result<Vec<_>>>()?;
    let (first, count, step) = match args[..] {
        [] => (0, None, 1),
        [count] => (0, Some(count), 1),
        [first, count] => (first, Some(count), 1),
        [first, count, step] => (first, Some(count), step),
        _ => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Table function 'primes' cannot have more than three params"
        ),
    };
    ensure!(step > 0, BAD_ARGUMENTS, "Table function primes requires step to be a positive number");
    Ok(Arc::new(Primes { first, count, step }))
}

fn series(name: &str, args: &[TableArgument]) -> Result<Arc<dyn Table>> {
    let args = args.iter().map(|arg| unsigned(arg, name)).collect::<Result<Vec<_>>>()?;
    let (first, last, step) = match args[..] {
        [first, last] => (first, last, 1),
        [first, last, step] => (first, last, step),
        _ => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Table function '{name}' requires 'start, stop' or 'start, stop, step'"
        ),
    };
    ensure!(step > 0, BAD_ARGUMENTS, "Table function '{name}' requires step to be a non-zero number.");
    let count = if last < first { Some(0) } else { ((last - first) / step).checked_add(1) };
    ensure!(
        count.is_some(),
        BAD_ARGUMENTS,
        "Table function '{name}' would generate more values than can be represented in UInt64"
    );
    let column = "generate_series";
    Ok(Arc::new(Sequence { column, first, step, count, zeros: false, engine: "SystemNumbers" }))
}

/// The columns of `'a UInt8, b String DEFAULT 'x''`.
pub(crate) fn structure_columns(text: &str, ctx: &QueryContext) -> Result<Vec<ColumnSchema>> {
    let defs = chalet_syntax::parse_structure(text)?;
    if let Some(bare) = defs.iter().find(|def| def.ty.is_none() && def.default.is_none()) {
        bail!(SYNTAX_ERROR, "Syntax error (columns declaration list): column {} has no type", bare.name.name);
    }
    columns(&defs, ctx)
}

/// Fails where an argument is a value of another type than the text that it must be.
fn check_is_text(arg: &TableArgument, what: &str) -> Result<()> {
    match arg {
        TableArgument::Value(_, ty) if !ty.bare().is_string() => {
            bail!(BAD_ARGUMENTS, "Argument '{what}' must be a literal with type String, got {ty}")
        }
        _ => Ok(()),
    }
}

/// The columns of `null()` where it is read.
fn no_structure() -> Schema {
    vec![("dummy".into(), DataType::UInt8)]
}

/// `dictionary(name)`.
fn dictionary(args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    args.iter().try_for_each(|arg| check_is_text(arg, "dictionary_name"))?;
    let [Some(written)] = &args.iter().map(text).collect::<Vec<_>>()[..] else {
        bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Table function 'dictionary' requires 1 argument: dictionary_name"
        );
    };
    let (database, name) =
        written.split_once('.').map_or((None, written.as_str()), |(database, name)| (Some(database), name));
    match Environment::table(ctx, database, name)? {
        Some((table, _)) if table.as_any().is::<Attached>() => Ok(table),
        _ => bail!(BAD_ARGUMENTS, "Dictionary (`{written}`) not found"),
    }
}

/// `file(path[, format[, structure[, compression]]])`.
fn file(args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let words: Vec<Option<String>> = args.iter().map(text).collect();
    ensure!(
        (1..=4).contains(&words.len()),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Table function 'file' requires from 1 to 4 arguments: path, format, structure, compression method"
    );
    let names = ["format", "structure", "compression_method"];
    args.iter().skip(1).zip(names).try_for_each(|(arg, what)| check_is_text(arg, what))?;
    let word = |i: usize| words.get(i).cloned().flatten().filter(|w| w != "auto");
    let Some(path) = word(0) else {
        bail!(BAD_ARGUMENTS, "The path of table function 'file' must be a string")
    };
    let path = ctx.user_path(&path)?;
    let format: &'static Format = match word(1) {
        Some(name) => FORMATS.get(&name)?,
        None => match FORMATS.of_path(&path).or_else(|| of_first_match(&path)) {
            Some(format) => format,
            None => detect(&path, &formats::by_contents()?, word(3).as_deref(), &ctx.formats)?,
        },
    };
    let context = file_context(ctx);
    let Some(written) = word(2) else {
        return Ok(Arc::new(FileTable::open(&path, format, None, word(3), context)?));
    };
    let declared = structure_columns(&written, ctx)?;
    let structure = declared
        .iter()
        .map(|c| (c.name.to_string(), c.shown_type().unwrap_or_else(|| c.ty.clone())))
        .collect();
    let table = FileTable::open(&path, format, Some(structure), word(3), context)?;
    let schema = TableSchema::new(declared);
    Ok(Arc::new(table.declared_as(FileDefaults { schema, defaults: PartDefaults::new(ctx) })))
}

/// A pattern may hide the suffix (`x.csv.{gz,zst}`): the first file that it means shows it.
fn of_first_match(path: &str) -> Option<&'static Format> {
    let files = chalet_storage::paths::expand(path).ok()?;
    FORMATS.of_path(&files.first()?.to_string_lossy())
}

/// `python(name)`.
fn python(args: &[TableArgument], replacement_scan: Option<&dyn ReplacementScan>) -> Result<Arc<dyn Table>> {
    let [arg] = args else {
        return Err(err!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Table function 'python' takes one argument: the name of a variable"
        ));
    };
    let name = text(arg);
    let name =
        name.ok_or_else(|| err!(BAD_ARGUMENTS, "Table function 'python' takes the name of a variable"))?;
    replacement_scan
        .ok_or_else(|| err!(PY_OBJECT_NOT_FOUND, "No Python program runs this statement"))?
        .named(&name)
}

/// `format(name[, structure], data)`.
fn format_function(args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let names = if args.len() == 2 { &["format", "data"][..] } else { &["format", "structure", "data"][..] };
    args.iter().zip(names).try_for_each(|(arg, what)| check_is_text(arg, what))?;
    let words: Vec<Option<String>> = args.iter().map(text).collect();
    let (name, given, data) = match (&words[..], args) {
        ([Some(name), _], [_, TableArgument::Value(data, _)]) => (name, None, data),
        ([Some(name), Some(structure), _], [_, _, TableArgument::Value(data, _)]) => {
            (name, Some(structure_columns(structure, ctx)?), data)
        }
        _ => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Table function 'format' requires 2 or 3 arguments: format, [structure], data"
        ),
    };
    let format = FORMATS.get(name)?;
    let data = data.as_bytes().unwrap_or_default().to_vec();
    let schema = match given {
        Some(columns) => TableSchema::new(columns),
        None => TableSchema::of(format.infer_schema(&mut Input::from(data.clone()), &ctx.formats)?),
    };
    let given: Vec<_> = schema.columns.iter().filter(|c| c.in_star()).cloned().collect();
    let structure = given.iter().map(|c| (c.name.to_string(), c.ty.clone())).collect();
    let mut scan = format.open(Input::from(data), read_request(structure, ctx))?;
    let mut blocks = Vec::new();
    while let Some(mut unit) = scan.next_unit()? {
        while let Some(block) = unit.next_block(ctx.exec.settings.max_block_size)? {
            blocks.extend(with_defaults(&*unit, block, &given, &schema, ctx)?);
        }
    }
    Ok(Arc::new(FixedTable::new("Values", schema, blocks)))
}

/// `values('structure', row, ...)`, or rows whose types decide: columns `c1`, `c2`.
fn values(name: &str, args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    // What `(VALUES ...)` of the standard reads has rows alone.
    let may_declare = name == "values" && args.len() > 1;
    let declared = match args.first() {
        Some(TableArgument::Value(Value::Bytes(text), DataType::String)) if may_declare => {
            std::str::from_utf8(text).ok().and_then(|text| structure_columns(text, ctx).ok())
        }
        _ => None,
    };
    // One that no table can have is a value.
    let declared = declared.filter(|columns| are_distinct(columns)).map(TableSchema::new);
    let rows = &args[usize::from(declared.is_some())..];
    ensure!(
        !rows.is_empty(),
        TOO_FEW_ARGUMENTS_FOR_FUNCTION,
        "Table function '{name}' requires at least 1 argument."
    );
    let mut cells: Vec<Vec<(Value, DataType)>> = Vec::with_capacity(rows.len());
    for row in rows {
        let TableArgument::Value(value, ty) = row else {
            bail!(BAD_ARGUMENTS, "Table function '{name}' takes constant rows");
        };
        let one_column = declared.as_ref().is_some_and(|d| given_of(d).len() == 1);
        cells.push(match (value, ty) {
            (Value::Tuple(items), DataType::Tuple(fields)) if !one_column || items.len() == 1 => {
                items.iter().cloned().zip(fields.iter().map(|f| f.ty.clone())).collect()
            }
            _ => vec![(value.clone(), ty.clone())],
        });
    }
    let n = cells[0].len();
    let is_even = cells.iter().all(|row| row.len() == n);
    ensure!(
        is_even || declared.is_none(),
        BAD_ARGUMENTS,
        "Table function VALUES requires all but the first argument (rows specification) to be either tuples or single values."
    );
    ensure!(
        is_even,
        CANNOT_EXTRACT_TABLE_STRUCTURE,
        "Cannot determine a common structure for {name} function arguments: the amount of columns is different for different \
         arguments."
    );
    let schema = match declared {
        Some(schema) => schema,
        None => TableSchema::of(common_columns(&cells)?),
    };
    let given = given_of(&schema);
    ensure!(
        given.len() == n,
        BAD_ARGUMENTS,
        "Values table function requires all rows amount of elements ({n}) to match the structure ({})",
        given.len()
    );
    let cast = caster(ctx);
    let mut columns = Vec::with_capacity(n);
    for (i, column) in given.iter().enumerate() {
        let mut builder = Builder::new(&column.ty);
        for row in &cells {
            let (value, from) = &row[i];
            builder.push_value(&converted(&cast, value, from, &column.ty)?)?;
        }
        columns.push(Column::Flat(builder.finish()));
    }
    let blocks = with_defaults(&AllGiven, Block::new(columns, cells.len()), &given, &schema, ctx)?;
    Ok(Arc::new(FixedTable::new("Values", schema, blocks)))
}

fn are_distinct(columns: &[ColumnSchema]) -> bool {
    let mut seen = std::collections::HashSet::new();
    columns.iter().all(|column| seen.insert(&*column.name))
}

/// The columns that rows have values for.
fn given_of(schema: &TableSchema) -> Vec<ColumnSchema> {
    schema.columns.iter().filter(|column| column.in_star()).cloned().collect()
}

/// Columns `c1`, `c2` of the common types of rows that are of one length.
fn common_columns(cells: &[Vec<(Value, DataType)>]) -> Result<Schema> {
    let column = |i: usize| {
        let types: Vec<DataType> = cells.iter().map(|row| row[i].1.clone()).collect();
        Ok((format!("c{}", i + 1), chalet_types::supertype::common_supertype(&types)?))
    };
    (0..cells[0].len()).map(column).collect()
}

/// A written value as the declared type. Unlike a cast it loses nothing.
fn converted(
    cast: &chalet_formats::input::Cast,
    value: &Value,
    from: &DataType,
    to: &DataType,
) -> Result<Value> {
    ensure!(!value.is_null() || to.is_nullable(), TYPE_MISMATCH, "Cannot convert NULL to {to}");
    let given = Column::of_value(value, from, 1)?;
    // To a Nullable type a text that does not parse would be NULL.
    let to = if value.is_null() { to } else { to.bare() };
    if to.alternatives().is_some_and(|types| types.reads_text_of(from)) {
        let text = cast(&given, from, &DataType::String)?;
        return Ok(cast(&text, &DataType::String, to)?.value(0));
    }
    let column = cast(&given, from, to).map_err(|error| match value.as_bytes() {
        Some(text) if from.is_string() && is_refused_as_text(to) => {
            let text = String::from_utf8_lossy(text);
            err!(TYPE_MISMATCH, "Cannot convert string '{text}' to type {to}")
        }
        None if matches!(from.bare(), DataType::Tuple(_)) && to.is_number() => {
            err!(TYPE_MISMATCH, "Type mismatch in IN or VALUES section. Expected: {to}. Got: Tuple")
        }
        _ => error,
    })?;
    // Every integer is a Bool.
    let is_bool = *innermost(to) == DataType::Bool && innermost(from).is_integer();
    if innermost(from).is_number() && innermost(to).is_integer() && !is_bool {
        ensure!(
            column.value(0).compare(value).is_eq(),
            ARGUMENT_OUT_OF_BOUND,
            "Cannot convert value '{}' from {from}: it cannot be represented as {to}",
            setting_text(value, from)
        );
    }
    Ok(column.value(0))
}

/// Types whose texts that do not parse are mismatches of types to the kernel; others have errors of their own.
fn is_refused_as_text(ty: &DataType) -> bool {
    ty.is_integer() || matches!(ty, DataType::Date | DataType::Date32 | DataType::Decimal { .. })
}

/// The type of what is in arrays and behind NULL.
fn innermost(ty: &DataType) -> &DataType {
    match ty.bare() {
        DataType::Array(element) => innermost(element),
        bare => bare,
    }
}
