//! SHOW and EXISTS.

use super::output::{Output, print_rows};
use crate::patterns::passes_pattern;
use crate::query_context::QueryContext;
use crate::settings;
use crate::system::{self, names, names::is_system};
use crate::system::{ColumnsOfKeys, listed};
use crate::tables;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_storage::DefaultKind;
use chalet_storage::catalog::quoted;
use chalet_syntax::ast::{self, ObjectKind, ShowFilter, ShowKind};
use chalet_syntax::print::write_string;
use chalet_types::{DataType, Value};

pub(crate) fn run(
    show: &ast::Show,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let text = DataType::String;
    match &show.kind {
        ShowKind::Databases => {
            let mut names = ctx.database.shared.catalog.database_names();
            names.extend(names::NAMES.iter().map(|n| n.to_string()));
            names.sort();
            list("name", names, show, statement, ctx, output)
        }
        ShowKind::Tables { temporary, from, full } => {
            let database = from.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
            if !is_system(database) && !*temporary {
                // The error of a database that is not there.
                ctx.database.shared.catalog.tables(database)?;
            }
            tables(database, *temporary, *full, show, statement, ctx, output)
        }
        ShowKind::Create { kind, temporary, name } => {
            let sql = create_sql(*kind, *temporary, name, ctx)?;
            print_rows(&[("statement", text)], vec![vec![Value::from(&*sql)]], statement, ctx, output)
        }
        ShowKind::Settings { changed } => settings_list(*changed, show, statement, ctx, output),
        ShowKind::Setting(name) => {
            let value = ctx.state.settings.get(&name.name);
            let value = value.ok_or_else(|| err!(UNKNOWN_SETTING, "Unknown setting '{}'", name.name))?;
            print_rows(&[("value", text)], vec![vec![Value::from(value.as_str())]], statement, ctx, output)
        }
        ShowKind::Functions => {
            selected(&filtered("SELECT * FROM system.functions", "WHERE", "", show), statement, ctx, output)
        }
        ShowKind::Columns { table, full, .. } => columns(table, *full, show, statement, ctx, output),
        ShowKind::Indexes { table, .. } => indexes(table, show, statement, ctx, output),
        ShowKind::Processlist => processlist(statement, ctx, output),
        ShowKind::Engines => {
            selected("SELECT * FROM system.table_engines ORDER BY name", statement, ctx, output)
        }
        ShowKind::Dictionaries { from } => {
            let database = from.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
            let tables = ctx.database.shared.catalog.tables(database)?;
            let names =
                tables.into_iter().filter(|(_, entry)| entry.kind == "DICTIONARY").map(|(name, _)| name);
            list("name", names.collect(), show, statement, ctx, output)
        }
        ShowKind::Clusters => {
            let clusters = crate::remote::cluster::all(ctx)?.into_iter();
            let mut names: Vec<String> = clusters.map(|cluster| cluster.name).collect();
            names.sort();
            list("cluster", names, show, statement, ctx, output)
        }
        ShowKind::Merges => {
            let number = DataType::Float64;
            let header = [
                ("table", text.clone()),
                ("database", text.clone()),
                ("estimate_complete", number.clone().nullable()),
                ("elapsed", number.clone()),
                ("progress", number),
                ("is_mutation", DataType::UInt8),
                ("size_compressed", text.clone()),
                ("memory_usage", text),
            ];
            print_rows(&header, Vec::new(), statement, ctx, output)
        }
        ShowKind::Grants { names, .. } => {
            let user = ctx.functions.user.as_str();
            let is_user = |name: &str| name == user || name.eq_ignore_ascii_case("CURRENT_USER");
            if let Some(other) = names.iter().find(|name| !is_user(&name.name)) {
                bail!(UNKNOWN_ROLE, "There is no role `{}` in `user directories`", other.name);
            }
            let rows = GRANTS
                .iter()
                .map(|(rights, on)| vec![Value::from(format!("GRANT {rights} ON {on} TO {user}").as_str())]);
            print_rows(&[("GRANTS", text)], rows.collect(), statement, ctx, output)
        }
        ShowKind::Access(what) if what.trim().eq_ignore_ascii_case("PRIVILEGES") => {
            selected("SELECT * FROM system.privileges", statement, ctx, output)
        }
        ShowKind::Cluster(name) => selected(&servers_of(name), statement, ctx, output),
        ShowKind::Access(what) => match nothing_of(what) {
            Some(header) => print_rows(&header, Vec::new(), statement, ctx, output),
            None => Err(show_access(what)),
        },
    }
}

/// The settings that pass the filter, or those of them that are changed.
fn settings_list(
    changed: bool,
    show: &ast::Show,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let header = ["name", "type", "value"].map(|name| (name, DataType::String));
    let current = &ctx.state.settings;
    let mut rows = Vec::new();
    for known in settings::all().iter().filter(|k| k.alias_for.is_empty()) {
        if (changed && !current.is_changed(known.name)) || !passes(known.name, show, ctx)? {
            continue;
        }
        let value = current.get(known.name).unwrap_or_default();
        rows.push([known.name, known.kind, &value].map(Value::from).to_vec());
    }
    print_rows(&header, rows, statement, ctx, output)
}

/// The query for the servers of a cluster.
fn servers_of(cluster: &str) -> String {
    let columns = "cluster, shard_num, replica_num, host_name, host_address, port";
    let mut sql = format!("SELECT {columns} FROM system.clusters WHERE cluster = ");
    write_string(&mut sql, cluster.as_bytes());
    sql
}

/// What the one user may do, and on what: all but to make and see other users.
const GRANTS: [(&str, &str); 5] = [
    ("SOURCES", "*.*"),
    ("TABLE ENGINE", "*"),
    (
        "CHECK, SHOW, SELECT, INSERT, ALTER, CREATE, DROP, UNDROP TABLE, TRUNCATE, OPTIMIZE, BACKUP, KILL QUERY, \
         KILL TRANSACTION, MOVE PARTITION BETWEEN SHARDS, SHOW HANDLERS, SYSTEM, dictGet, displaySecretsInShowAndSelect, \
         INTROSPECTION, CLUSTER, FILE, URL, REMOTE, MONGO, REDIS, MYSQL, POSTGRES, SQLITE, ODBC, JDBC, HDFS, S3, HIVE, AZURE, \
         KAFKA, NATS, RABBITMQ, YTSAURUS, ARROW FLIGHT, BIGQUERY, DISK, SOURCES",
        "*.*",
    ),
    ("SET DEFINER", "*"),
    (
        "ALTER NAMED COLLECTION, CREATE NAMED COLLECTION, DROP NAMED COLLECTION, SHOW NAMED COLLECTIONS, NAMED COLLECTION",
        "*",
    ),
];

/// What a user without roles may see, and there is none of it.
fn nothing_of(what: &str) -> Option<Vec<(&'static str, DataType)>> {
    let words: Vec<String> = what.split_whitespace().map(str::to_ascii_uppercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let flag = DataType::UInt8;
    let role = [("role_name", DataType::String), ("with_admin_option", flag.clone())];
    Some(match words[..] {
        ["CURRENT", "ROLES"] => [&role[..], &[("is_default", flag)]].concat(),
        ["ENABLED", "ROLES"] => [&role[..], &[("is_current", flag.clone()), ("is_default", flag)]].concat(),
        ["FILESYSTEM", "CACHES"] => vec![("Caches", DataType::String)],
        _ => return None,
    })
}

/// Users, roles and what belongs to them are not kept; nobody has the right to see them.
fn show_access(what: &str) -> Error {
    let what = what.to_ascii_uppercase();
    let names = |word: &&str| what.split_whitespace().any(|w| w.trim_end_matches('S') == *word);
    let right =
        match ["USER", "ROLE", "POLICY", "POLICIE", "QUOTA", "PROFILE", "ACCE"].iter().find(|w| names(w)) {
            Some(&"USER") => "SHOW USERS",
            Some(&"ROLE") if !what.starts_with("CURRENT") && !what.starts_with("ENABLED") => "SHOW ROLES",
            Some(&("POLICY" | "POLICIE")) => "SHOW ROW POLICIES",
            Some(&"QUOTA") => "SHOW QUOTAS",
            Some(&"PROFILE") => "SHOW SETTINGS PROFILES",
            Some(&"ACCE") => "SHOW ACCESS",
            _ => return err!(NOT_IMPLEMENTED, "SHOW {what} is not supported"),
        };
    err!(
        ACCESS_DENIED,
        "default: Not enough privileges. To execute this query, it's necessary to have the grant {right} ON *.*"
    )
}

/// Does a name pass LIKE?
fn passes(name: &str, show: &ast::Show, ctx: &QueryContext) -> Result<bool> {
    match &show.filter {
        None => Ok(true),
        Some(ShowFilter::Like { not, case_insensitive, pattern }) => {
            let function = if *case_insensitive { "ilike" } else { "like" };
            Ok(passes_pattern(function, name, pattern, &ctx.functions)? != *not)
        }
        // `narrowed` asks all of a row.
        Some(ShowFilter::Where(_)) => Ok(true),
    }
}

fn list(
    header: &str,
    names: Vec<String>,
    show: &ast::Show,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let mut rows = Vec::new();
    for name in names {
        if passes(&name, show, ctx)? {
            rows.push(vec![Value::from(name.as_str())]);
        }
    }
    narrowed(&[(header, DataType::String)], rows, show, statement, ctx, output)
}

/// The rows that pass WHERE, as many as LIMIT says.
fn narrowed(
    header: &[(&str, DataType)],
    mut rows: Vec<Vec<Value>>,
    show: &ast::Show,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    if let Some(ShowFilter::Where(_)) = &show.filter {
        return selected(&filtered(&values_of(header, &rows), "WHERE", "", show), statement, ctx, output);
    }
    if let Some(limit) = &show.limit {
        let literal = chalet_binder::table_columns::bind_constant(limit, ctx, &ctx.ids)?;
        rows.truncate(literal.value().as_u64().unwrap_or(u64::MAX) as usize);
    }
    print_rows(header, rows, statement, ctx, output)
}

/// A query that gives the rows.
fn values_of(header: &[(&str, DataType)], rows: &[Vec<Value>]) -> String {
    let columns: Vec<String> = header.iter().map(|(name, ty)| format!("{} {ty}", quoted(name))).collect();
    let function = if rows.is_empty() { "null" } else { "values" };
    let mut sql = format!("SELECT * FROM {function}(");
    write_string(&mut sql, columns.join(", ").as_bytes());
    for row in rows {
        sql.push_str(", (");
        for (i, value) in row.iter().enumerate() {
            if i > 0 {
                sql.push_str(", ");
            }
            match value {
                Value::UInt(number) => sql.push_str(&number.to_string()),
                value => match value.as_bytes() {
                    Some(bytes) => write_string(&mut sql, bytes),
                    None => sql.push_str("NULL"),
                },
            }
        }
        sql.push(')');
    }
    sql.push(')');
    sql
}

/// The query, which ends where a condition can be put behind `word`, with what SHOW asks of the column `name`, or of all of
/// a row.
fn filtered(query: &str, word: &str, order_by: &str, show: &ast::Show) -> String {
    let mut sql = query.to_string();
    match &show.filter {
        None => {}
        Some(ShowFilter::Like { not, case_insensitive, pattern }) => {
            sql.push_str(&format!(" {word} name {}", if *not { "NOT " } else { "" }));
            sql.push_str(if *case_insensitive { "ILIKE " } else { "LIKE " });
            write_string(&mut sql, pattern);
        }
        Some(ShowFilter::Where(condition)) => sql.push_str(&format!(" {word} ({condition})")),
    }
    sql.push_str(order_by);
    if let Some(limit) = &show.limit {
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    sql
}

fn create_sql(
    kind: ObjectKind,
    temporary: bool,
    name: &ast::ObjectName,
    ctx: &QueryContext,
) -> Result<String> {
    let table = &name.name.name;
    if kind == ObjectKind::Database {
        let Some(comment) = ctx.database.shared.catalog.database_comment(table) else {
            bail!(UNKNOWN_DATABASE, "Database {table} does not exist");
        };
        let mut sql = format!("CREATE DATABASE {}\nENGINE = {}", quoted(table), ctx.database.engine(table));
        if !comment.is_empty() {
            sql.push_str("\nCOMMENT ");
            write_string(&mut sql, comment.as_bytes());
        }
        return Ok(sql);
    }
    if name.database.is_none()
        && let Some(entry) = ctx.state.temporary.get(table)
    {
        return Ok(entry.create_sql(None, table));
    }
    ensure!(!temporary, UNKNOWN_TABLE, "Temporary table {table} doesn't exist");
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    if is_system(database)
        && let Some(sql) = system::create_sql(database, table)?
    {
        return Ok(sql);
    }
    ensure!(
        !is_system(database),
        UNKNOWN_TABLE,
        "There is no metadata of table {table} in database {database}"
    );
    let catalog = &ctx.database.shared.catalog;
    // One that is detached can still be shown.
    let detached = || catalog.find_detached(database, table).map(|detached| detached.entry);
    let entry = catalog.find(database, table).or_else(detached);
    let entry = entry.ok_or_else(|| err!(CANNOT_GET_CREATE_TABLE_QUERY, "Table `{table}` doesn't exist"))?;
    ensure!(
        kind != ObjectKind::Dictionary || entry.kind == "DICTIONARY",
        BAD_ARGUMENTS,
        "`{database}`.`{table}` is not a DICTIONARY"
    );
    ensure!(
        kind != ObjectKind::View || entry.table.view_query().is_some() || entry.kind.contains("VIEW"),
        BAD_ARGUMENTS,
        "`{database}`.`{table}` is not a VIEW"
    );
    Ok(entry.create_sql(Some(database), table))
}

fn processlist(statement: &ast::Statement, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    selected("SELECT * FROM system.processes ORDER BY elapsed DESC", statement, ctx, output)
}

/// The rows of a query, in the place of the statement's own.
fn selected(sql: &str, statement: &ast::Statement, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    let parsed = chalet_syntax::parse_statements(sql)?;
    match parsed.first().map(|parsed| &parsed.kind) {
        Some(ast::StatementKind::Query(query)) => super::query::run(query, &statement.output, ctx, output),
        _ => Ok(()),
    }
}

/// The tables of a database: those rows of `system.tables` that pass the filter.
fn tables(
    database: &str,
    temporary: bool,
    full: bool,
    show: &ast::Show,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let shown = if full { "name, engine" } else { "name" };
    let mut sql = format!("SELECT {shown} FROM system.tables WHERE ");
    if temporary {
        sql.push_str("is_temporary");
    } else {
        sql.push_str("database = ");
        write_string(&mut sql, database.as_bytes());
    }
    selected(&filtered(&sql, "AND", " ORDER BY name", show), statement, ctx, output)
}

fn columns(
    table: &ast::ObjectName,
    full: bool,
    show: &ast::Show,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    // A table that is not there has no columns.
    let database = table.database.as_ref().map(|database| database.name.as_str());
    let found = tables::find(ctx, database, &table.name.name)?.map(|(found, _)| found);
    let text = DataType::String;
    let mut header = vec![
        ("field", text.clone()),
        ("type", text.clone()),
        ("null", text.clone()),
        ("key", text.clone()),
        ("default", text.clone().nullable()),
        ("extra", text.clone()),
    ];
    if full {
        let nothing = DataType::Nothing.nullable();
        header.extend([("collation", nothing), ("comment", text.clone()), ("privileges", text)]);
    }
    let keys = ColumnsOfKeys::of(found.as_ref().and_then(|found| found.keys()));
    let mut rows = Vec::new();
    let schema = found.as_ref().map(|found| found.schema()).unwrap_or_default();
    let mut columns: Vec<_> = schema.columns.iter().filter(|c| !c.is_virtual).collect();
    columns.sort_by(|a, b| a.name.cmp(&b.name));
    for column in columns {
        if !passes(&column.name, show, ctx)? {
            continue;
        }
        let default = match &column.default {
            Some((kind, text)) if *kind != DefaultKind::Ephemeral => Value::from(&**text),
            _ => Value::Null,
        };
        let is_nullable = column.ty.is_nullable() && column.simple_aggregate.is_none();
        let null = if is_nullable { "YES" } else { "NO" };
        let ty = column.declared_type();
        let key = match (keys.primary.contains(&*column.name), keys.sorting.contains(&*column.name)) {
            (true, _) => "PRI SOR",
            (false, true) => "SOR",
            (false, false) => "",
        };
        let mut row = vec![
            Value::from(&*column.name),
            Value::from(ty.as_str()),
            Value::from(null),
            Value::from(key),
            default,
            Value::from(""),
        ];
        if full {
            row.extend([Value::Null, Value::from(&*column.comment), Value::from("")]);
        }
        rows.push(row);
    }
    narrowed(&header, rows, show, statement, ctx, output)
}

/// The primary key and the indexes of a table, by their types; nothing of a table that is not there.
fn indexes(
    table: &ast::ObjectName,
    show: &ast::Show,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let text = DataType::String;
    let nothing = DataType::Nothing.nullable();
    let header = [
        ("table", text.clone()),
        ("non_unique", DataType::UInt8),
        ("key_name", text.clone()),
        ("seq_in_index", DataType::UInt64),
        ("pk_col", text.clone()),
        ("collation", text.clone().nullable()),
        ("cardinality", DataType::UInt8),
        ("sub_part", nothing.clone()),
        ("packed", nothing.clone()),
        ("null", nothing),
        ("index_type", text.clone()),
        ("comment", text.clone()),
        ("index_comment", text.clone()),
        ("visible", text.clone()),
        ("expression", text),
    ];
    let database = table.database.as_ref().map(|database| database.name.as_str());
    let Some((found, _)) = tables::find(ctx, database, &table.name.name)? else {
        return narrowed(&header, Vec::new(), show, statement, ctx, output);
    };
    let row = |name: &str, at: usize, column: &str, collation: Value, ty: &str, expression: &str| {
        vec![
            Value::from(table.name.name.as_str()),
            Value::from(true),
            Value::from(name),
            Value::UInt(at as u64),
            Value::from(column),
            collation,
            Value::UInt(0),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::from(ty),
            Value::from(""),
            Value::from(""),
            Value::from("YES"),
            Value::from(expression),
        ]
    };
    let mut rows: Vec<(String, String, usize, Vec<Value>)> = Vec::new();
    let primary = found.keys().map_or(Vec::new(), |keys| keys.sorting[..keys.n_primary].to_vec());
    // The text of the key is divided at its commas, wherever they are.
    let mut columns: Vec<&str> = primary.iter().flat_map(|key| key.expr.split(", ")).collect();
    if columns.is_empty() {
        columns.push("");
    }
    for (i, column) in columns.into_iter().enumerate() {
        let shown = row("PRIMARY", i + 1, column, Value::from("A"), "PRIMARY", "");
        rows.push(("PRIMARY".into(), String::new(), i, shown));
    }
    for index in found.schema().indexes.iter() {
        let (ty, expression) = (index.kind_name().to_ascii_uppercase(), listed(&index.expr));
        let shown = row(&index.name, 1, "", Value::Null, &ty, &expression);
        rows.push((ty, expression, 0, shown));
    }
    rows.sort_by(|a, b| (&a.0, &a.1, a.2).cmp(&(&b.0, &b.1, b.2)));
    let rows = rows.into_iter().map(|row| row.3).collect();
    narrowed(&header, rows, show, statement, ctx, output)
}

pub(crate) fn exists(kind: ObjectKind, temporary: bool, name: &ast::ObjectName, ctx: &QueryContext) -> bool {
    let table = &name.name.name;
    let catalog = &ctx.database.shared.catalog;
    let in_temporary = name.database.is_none() && ctx.state.temporary.contains_key(table);
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    match kind {
        ObjectKind::Database => catalog.database_exists(table) || is_system(table),
        ObjectKind::Function => ctx.database.shared.functions.all().contains_key(table),
        ObjectKind::Dictionary => catalog.find(database, table).is_some_and(|e| e.kind == "DICTIONARY"),
        ObjectKind::View if temporary => in_temporary,
        ObjectKind::View => {
            catalog.find(database, table).is_some_and(|e| e.table.view_query().is_some())
                || is_system(database)
                    && database != names::SYSTEM
                    && system::names_of(database).contains(&table.as_str())
        }
        ObjectKind::Table if temporary => in_temporary,
        ObjectKind::Table => {
            in_temporary
                || catalog.find(database, table).is_some()
                || is_system(database) && system::names_of(database).contains(&table.as_str())
        }
    }
}
