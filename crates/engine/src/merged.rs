//! The engine Merge and the table function `merge`: all tables whose names match, one behind the other, as a query.

use crate::patterns::passes_pattern;
use crate::query_context::QueryContext;
use chalet_base::{Result, bail, ensure};
use chalet_binder::{REGEXP, TableArgument};
use chalet_storage::catalog::quoted;
use chalet_storage::{ColumnSchema, DefaultKind, Entry, Scan, ScanRequest, Table, TableSchema};
use chalet_syntax::print::string_literal;
use chalet_types::supertype::pair;
use chalet_types::variant::variant_of;
use chalet_types::{DataType, Value};
use std::any::Any;
use std::sync::Arc;

/// Which tables are meant.
#[derive(Clone)]
pub(crate) struct Matching {
    /// A name, or a pattern for names.
    database: String,
    is_pattern: bool,
    tables: String,
}

/// ENGINE = Merge. Its tables are looked up when it is read.
pub(crate) struct MergeEngine {
    pub schema: TableSchema,
    pub matching: Matching,
}

/// The tables that a statement found, as a query over them.
struct Merged {
    /// With the names of database and table behind the columns.
    schema: TableSchema,
    query: String,
}

impl Matching {
    /// Of the arguments of the engine or the function. The database may be left out of those of the function.
    pub fn new(args: &[TableArgument], ctx: &QueryContext) -> Result<Matching> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (database, tables) = match args {
            [tables] => (None, tables),
            [database, tables] => (Some(database), tables),
            _ => bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Merge requires exactly 2 parameters - name of source database and regexp for table names"
            ),
        };
        let (database, is_pattern) = match database {
            None => (Some(ctx.state.database.clone()), false),
            Some(TableArgument::Named(name, pattern, _)) if name == REGEXP => (text(pattern), true),
            Some(TableArgument::Value(name, _)) => (text(name), false),
            Some(TableArgument::Word(name)) => (Some(name.clone()), false),
            Some(TableArgument::Named(..) | TableArgument::Table(_) | TableArgument::Written(_)) => {
                (None, false)
            }
        };
        let tables = match tables {
            TableArgument::Value(pattern, _) => text(pattern),
            _ => None,
        };
        let (Some(database), Some(tables)) = (database, tables) else {
            bail!(BAD_ARGUMENTS, "Merge takes the name of a database or REGEXP and a regexp for table names");
        };
        let database = if database.is_empty() { ctx.state.database.clone() } else { database };
        Ok(Matching { database, is_pattern, tables })
    }

    /// The arguments as SHOW CREATE prints them.
    pub fn shown(&self) -> String {
        let database = string_literal(&self.database);
        let database = if self.is_pattern { format!("{REGEXP}({database})") } else { database };
        format!("{database}, {}", string_literal(&self.tables))
    }

    /// The tables that there are now, with their databases, but not `own`.
    fn find(&self, own: Option<&Arc<dyn Table>>, ctx: &QueryContext) -> Result<Vec<(String, String, Entry)>> {
        let catalog = &ctx.database.shared.catalog;
        let matches =
            |name: &str, pattern: &str| passes_pattern("match", name, pattern.as_bytes(), &ctx.functions);
        let mut databases = Vec::new();
        if self.is_pattern {
            for name in catalog.database_names() {
                if matches(&name, &self.database)? {
                    databases.push(name);
                }
            }
        } else {
            databases.push(self.database.clone());
        }
        let mut found = Vec::new();
        for database in databases {
            for (name, entry) in catalog.tables(&database)? {
                let is_own = own.is_some_and(|own| Arc::ptr_eq(own, &entry.table));
                if !is_own && matches(&name, &self.tables)? {
                    found.push((database.clone(), name, entry));
                }
            }
        }
        Ok(found)
    }

    /// The columns of all tables: those of one name in their common type, or in a Variant where they have none. A column that the
    /// tables before lack stands behind the one that it stands behind in its table.
    pub fn schema(&self, ctx: &QueryContext) -> Result<TableSchema> {
        let mut columns: Vec<ColumnSchema> = Vec::new();
        for (_, _, entry) in self.find(None, ctx)? {
            let mut before = None;
            for column in entry.table.schema().columns.iter().filter(|column| !column.is_virtual) {
                let at = match columns.iter().position(|known| known.name == column.name) {
                    Some(at) => at,
                    None => {
                        let at = before.map_or(columns.len(), |before| before + 1);
                        columns.insert(
                            at,
                            ColumnSchema {
                                // What `*` leaves out of a table it leaves out here.
                                default: column.default.clone(),
                                ..ColumnSchema::new(column.name.clone(), column.ty.clone())
                            },
                        );
                        at
                    }
                };
                let known = &mut columns[at].ty;
                if *known != column.ty {
                    *known = match pair(known, &column.ty) {
                        Some(common) => common,
                        None => variant_of(&[known.clone(), column.ty.clone()])?,
                    };
                }
                before = Some(at);
            }
        }
        ensure!(
            !columns.is_empty(),
            CANNOT_EXTRACT_TABLE_STRUCTURE,
            "There are no tables satisfied provided regexp, you must specify table structure manually"
        );
        Ok(TableSchema::new(columns))
    }
}

/// The table function.
pub(crate) fn function(args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let matching = Matching::new(args, ctx)?;
    let schema = matching.schema(ctx)?;
    merged(&matching, schema, None, ctx)
}

/// The rows of a table of the engine Merge.
pub(crate) fn read(own: &Arc<dyn Table>, engine: &MergeEngine, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    merged(&engine.matching, engine.schema.clone(), Some(own), ctx)
}

fn merged(
    matching: &Matching,
    schema: TableSchema,
    own: Option<&Arc<dyn Table>>,
    ctx: &QueryContext,
) -> Result<Arc<dyn Table>> {
    let mut columns = schema.columns.to_vec();
    let name = DataType::String.low_cardinality();
    for known in ["_database", "_table"] {
        if !columns.iter().any(|column| &*column.name == known) {
            columns.push(ColumnSchema::virtual_column(known, name.clone()));
        }
    }
    let mut selects = Vec::new();
    for (database, table, entry) in matching.find(own, ctx)? {
        let of_table = entry.table.schema();
        let exprs = columns.iter().map(|column| match of_table.index_of(&column.name) {
            Some(at) if of_table.columns[at].default_kind() == Some(DefaultKind::Ephemeral) => {
                missing(column)
            }
            Some(at) if !of_table.columns[at].is_virtual && of_table.columns[at].ty == column.ty => {
                quoted(&column.name)
            }
            Some(at) if !of_table.columns[at].is_virtual => cast(&quoted(&column.name), column),
            // Rows that it has of other tables bring the names of those.
            _ if column.is_virtual && entry.table.as_any().is::<MergeEngine>() => {
                cast(&quoted(&column.name), column)
            }
            _ if &*column.name == "_table" => cast(&string_literal(&table), column),
            _ if &*column.name == "_database" => cast(&string_literal(&database), column),
            Some(_) if column.is_virtual => cast(&quoted(&column.name), column),
            _ => missing(column),
        });
        let exprs = exprs.collect::<Vec<_>>().join(", ");
        selects.push(format!("SELECT {exprs} FROM {}.{}", quoted(&database), quoted(&table)));
    }
    if selects.is_empty() {
        let exprs = columns.iter().map(missing).collect::<Vec<_>>().join(", ");
        selects.push(format!("SELECT {exprs} WHERE 0"));
    }
    Ok(Arc::new(Merged { schema: TableSchema::new(columns), query: selects.join(" UNION ALL ") }))
}

fn cast(value: &str, column: &ColumnSchema) -> String {
    format!("CAST({value}, {}) AS {}", string_literal(column.ty.to_string()), quoted(&column.name))
}

/// The value of a column that a table has not.
fn missing(column: &ColumnSchema) -> String {
    cast(&format!("defaultValueOfTypeName({})", string_literal(column.ty.to_string())), column)
}

impl Table for Merged {
    fn engine(&self) -> &str {
        "Merge"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "Merged tables are read through a query")
    }

    fn view_query(&self) -> Option<&str> {
        Some(&self.query)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for MergeEngine {
    fn engine(&self) -> &str {
        "Merge"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "Merged tables are read through a query")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
