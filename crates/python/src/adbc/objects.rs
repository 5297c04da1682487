//! The tree of databases, tables and columns, as nested Arrow arrays: one catalog without a name, whose schemas are the
//! databases.

use super::connection::Asker;
use super::info::{TABLE, VIEW, one};
use adbc_core::error::Result;
use adbc_core::options::ObjectDepth;
use adbc_core::schemas::{
    COLUMN_SCHEMA, CONSTRAINT_SCHEMA, GET_OBJECTS_SCHEMA, OBJECTS_DB_SCHEMA_SCHEMA, TABLE_SCHEMA,
};
use arrow_array::{
    ArrayRef, BooleanArray, Int16Array, Int32Array, ListArray, RecordBatch, RecordBatchReader, StringArray,
    StructArray, new_empty_array, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use std::sync::Arc;

/// What is asked for; patterns are those of LIKE.
pub struct Wanted<'a> {
    pub depth: ObjectDepth,
    pub catalog: Option<&'a str>,
    pub database: Option<&'a str>,
    pub table: Option<&'a str>,
    pub kinds: Option<Vec<&'a str>>,
    pub column: Option<&'a str>,
}

struct Table {
    database: String,
    name: String,
    kind: &'static str,
}

struct Column {
    database: String,
    table: String,
    name: String,
    ty: String,
    position: u64,
    default_kind: String,
    default: String,
    comment: String,
}

const DATABASES: &str = "SELECT name FROM system.databases WHERE name LIKE {d:String} ORDER BY name";
const TABLES: &str = "SELECT database, name, engine FROM system.tables WHERE database LIKE {d:String} AND \
                      database != '' AND name LIKE {t:String} ORDER BY database, name";
const COLUMNS: &str = "SELECT database, table, name, type, position, default_kind, default_expression, comment \
                       FROM system.columns WHERE database LIKE {d:String} AND table LIKE {t:String} AND \
                       name LIKE {c:String} ORDER BY database, table, position";

/// The tree as one record for the catalog, none if its name is not asked for.
pub fn objects(asker: &Asker, wanted: &Wanted<'_>) -> Result<Box<dyn RecordBatchReader + Send + 'static>> {
    let (schemas, tables, columns) = match wanted.depth {
        ObjectDepth::Catalogs => (false, false, false),
        ObjectDepth::Schemas => (true, false, false),
        ObjectDepth::Tables => (true, true, false),
        ObjectDepth::All | ObjectDepth::Columns => (true, true, true),
    };
    let params = [
        ("d", wanted.database.unwrap_or("%")),
        ("t", wanted.table.unwrap_or("%")),
        ("c", wanted.column.unwrap_or("%")),
    ];
    let ask =
        |is_wanted: bool, sql: &str| if is_wanted { asker.values(sql, &params) } else { Ok(Vec::new()) };
    let databases: Vec<String> = ask(schemas, DATABASES)?.iter().map(|row| text(&row[0])).collect();
    let mut found: Vec<Table> = Vec::new();
    for row in ask(tables, TABLES)? {
        let kind = if text(&row[2]).ends_with("View") { VIEW } else { TABLE };
        if wanted.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind)) {
            found.push(Table { database: text(&row[0]), name: text(&row[1]), kind });
        }
    }
    let parts: Vec<Column> = ask(columns, COLUMNS)?.iter().map(|row| column(row)).collect();
    let catalogs = usize::from(wanted.catalog.is_none_or(|pattern| pattern.chars().all(|c| c == '%')));
    // From the leaves up.
    let of_table = |table: &Table| {
        parts.iter().filter(|c| c.database == table.database && c.table == table.name).count()
    };
    let known = |c: &&Column| found.iter().any(|t| t.database == c.database && t.name == c.table);
    let columns =
        columns.then(|| (columns_of(parts.iter().filter(known).collect()), found.iter().map(of_table)));
    let columns = columns.map(|(values, lengths)| (values, lengths.collect()));
    let in_database = |name: &String| found.iter().filter(|table| table.database == *name).count();
    let n_tables: Vec<usize> = databases.iter().map(in_database).collect();
    let tables = if tables { Some((tables_of(&found, columns)?, n_tables)) } else { None };
    let n_databases = vec![databases.len(); catalogs];
    let schemas =
        if schemas && catalogs > 0 { Some((schemas_of(&databases, tables)?, n_databases)) } else { None };
    let schema = GET_OBJECTS_SCHEMA.clone();
    let names: ArrayRef = Arc::new(StringArray::from(vec![""; catalogs]));
    let lists = nested(schema.field(1), schemas, catalogs)?;
    one(RecordBatch::try_new(schema, vec![names, lists])?)
}

fn text(value: &chalet_types::Value) -> String {
    String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned()
}

fn column(row: &[chalet_types::Value]) -> Column {
    Column {
        database: text(&row[0]),
        table: text(&row[1]),
        name: text(&row[2]),
        ty: text(&row[3]),
        position: row[4].as_u64().unwrap_or_default(),
        default_kind: text(&row[5]),
        default: text(&row[6]),
        comment: text(&row[7]),
    }
}

/// A list for each of `n` parents, of values and how many each has; NULL where they are not asked for.
fn nested(field: &Field, given: Option<(ArrayRef, Vec<usize>)>, n: usize) -> Result<ArrayRef> {
    let DataType::List(item) = field.data_type() else {
        return Ok(new_null_array(field.data_type(), n));
    };
    let Some((values, lengths)) = given else { return Ok(new_null_array(field.data_type(), n)) };
    Ok(Arc::new(ListArray::try_new(item.clone(), OffsetBuffer::from_lengths(lengths), values, None)?))
}

/// A struct with some of its columns; the others are NULL.
fn record(ty: &DataType, n: usize, given: Vec<(&str, ArrayRef)>) -> Result<ArrayRef> {
    let DataType::Struct(fields) = ty else { return Ok(new_null_array(ty, n)) };
    let arrays = fields.iter().map(|field| {
        let known = given.iter().find(|(name, _)| name == field.name());
        known.map_or_else(|| new_null_array(field.data_type(), n), |(_, array)| array.clone())
    });
    Ok(Arc::new(StructArray::try_new(fields.clone(), arrays.collect(), None)?))
}

fn list_field<'a>(ty: &'a DataType, name: &str) -> Option<&'a Field> {
    let DataType::Struct(fields) = ty else { return None };
    fields.iter().find(|field| field.name() == name).map(|field| &**field)
}

fn columns_of(columns: Vec<&Column>) -> ArrayRef {
    let texts = |get: fn(&Column) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(columns.iter().map(|c| get(c))))
    };
    let known = |get: fn(&Column) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter(columns.iter().map(|c| Some(get(c)).filter(|text| !text.is_empty()))))
    };
    let nullable =
        |c: &&&Column| c.ty.starts_with("Nullable(") || c.ty.starts_with("LowCardinality(Nullable(");
    let given = vec![
        ("column_name", texts(|c| &c.name)),
        (
            "ordinal_position",
            Arc::new(Int32Array::from_iter_values(columns.iter().map(|c| c.position as i32))) as ArrayRef,
        ),
        ("remarks", known(|c| &c.comment)),
        ("xdbc_type_name", texts(|c| &c.ty)),
        (
            "xdbc_nullable",
            Arc::new(Int16Array::from_iter_values(columns.iter().map(|c| i16::from(nullable(&c))))),
        ),
        (
            "xdbc_is_nullable",
            Arc::new(StringArray::from_iter_values(
                columns.iter().map(|c| if nullable(&c) { "YES" } else { "NO" }),
            )),
        ),
        ("xdbc_column_def", known(|c| &c.default)),
        (
            "xdbc_is_generatedcolumn",
            Arc::new(BooleanArray::from_iter(
                columns.iter().map(|c| Some(matches!(&*c.default_kind, "MATERIALIZED" | "ALIAS"))),
            )),
        ),
    ];
    record(&COLUMN_SCHEMA, columns.len(), given).unwrap_or_else(|_| new_empty_array(&COLUMN_SCHEMA))
}

fn tables_of(tables: &[Table], columns: Option<(ArrayRef, Vec<usize>)>) -> Result<ArrayRef> {
    let n = tables.len();
    let mut given: Vec<(&str, ArrayRef)> = vec![
        ("table_name", Arc::new(StringArray::from_iter_values(tables.iter().map(|t| &t.name)))),
        ("table_type", Arc::new(StringArray::from_iter_values(tables.iter().map(|t| t.kind)))),
    ];
    if let (Some(field), Some(columns)) = (list_field(&TABLE_SCHEMA, "table_columns"), columns) {
        given.push(("table_columns", nested(field, Some(columns), n)?));
        // Keys there are none.
        if let Some(field) = list_field(&TABLE_SCHEMA, "table_constraints") {
            let none = (new_empty_array(&CONSTRAINT_SCHEMA), vec![0; n]);
            given.push(("table_constraints", nested(field, Some(none), n)?));
        }
    }
    record(&TABLE_SCHEMA, n, given)
}

fn schemas_of(names: &[String], tables: Option<(ArrayRef, Vec<usize>)>) -> Result<ArrayRef> {
    let mut given: Vec<(&str, ArrayRef)> =
        vec![("db_schema_name", Arc::new(StringArray::from_iter_values(names)))];
    if let Some(field) = list_field(&OBJECTS_DB_SCHEMA_SCHEMA, "db_schema_tables") {
        given.push(("db_schema_tables", nested(field, tables, names.len())?));
    }
    record(&OBJECTS_DB_SCHEMA_SCHEMA, names.len(), given)
}
