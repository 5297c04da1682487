//! Table functions of systems elsewhere: none of them is reached. Calls are refused as the kernel refuses them, those that are right
//! with the code of a system that does not answer.

use crate::table_argument::text;
use chalet_base::{Error, Result, bail, codes, ensure};
use chalet_binder::TableArgument;

/// Functions whose first argument is an address of object storage.
const OF_S3: &[&str] = &[
    "s3",
    "gcs",
    "oss",
    "cosn",
    "deltaLake",
    "deltaLakeS3",
    "hudi",
    "iceberg",
    "icebergS3",
    "paimon",
    "paimonS3",
];

/// Fails for a function of a system elsewhere.
pub(crate) fn check(name: &str, args: &[TableArgument]) -> Result<()> {
    check_arguments(name, args)?;
    let first = args.first().and_then(text).unwrap_or_default();
    unreachable(name, &first).map_or(Ok(()), Err)
}

/// What the kernel says where the system of such a function does not answer.
pub(crate) fn unreachable(name: &str, address: &str) -> Option<Error> {
    let code = match name {
        "mysql" => codes::ALL_CONNECTION_TRIES_FAILED,
        "postgresql" => codes::POSTGRESQL_CONNECTION_FAILURE,
        "mongodb" => codes::STD_EXCEPTION,
        "redis" => codes::POCO_EXCEPTION,
        "sqlite" => codes::SQLITE_ENGINE_ERROR,
        "odbc" | "jdbc" => codes::EXTERNAL_SERVER_IS_NOT_RESPONDING,
        "hdfs" => codes::HDFS_ERROR,
        "url" if is_here(address) => codes::POCO_EXCEPTION,
        "url" => codes::DNS_ERROR,
        _ if OF_S3.contains(&name) => codes::S3_ERROR,
        _ => return None,
    };
    Some(Error::new(code, format!("{name} is not supported: '{address}' is not connected to")))
}

/// Has an address the name of this machine, or a number, so that no name is to be looked up?
fn is_here(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', ':', '?']).next().unwrap_or_default();
    host == "localhost" || host.parse::<std::net::Ipv4Addr>().is_ok()
}

/// Fails for arguments that the function cannot have, whatever is at the other end.
fn check_arguments(name: &str, args: &[TableArgument]) -> Result<()> {
    let n = args.len();
    let first = args.first().and_then(text).unwrap_or_default();
    let takes = |fits: bool, usage: &str| -> Result<()> {
        ensure!(fits, NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "{usage}");
        Ok(())
    };
    match name {
        "mongodb" => takes(
            matches!(n, 3 | 4 | 6..=8),
            "Incorrect argument count for table function 'mongodb'. Usage: mongodb('host:port', database, collection, user, \
             password, structure[, options[, oid_columns]]) or mongodb(uri, collection, structure[, oid_columns])",
        ),
        "mysql" => takes(
            (5..=7).contains(&n),
            "Storage MySQL requires 5-7 parameters: MySQL('host:port' (or 'addresses_pattern'), database, table (or query), \
             'user', 'password'[, replace_query, 'on_duplicate_clause'])",
        ),
        "postgresql" => takes(
            (5..=7).contains(&n),
            "Storage PostgreSQL requires from 5 to 7 parameters: PostgreSQL('host:port', 'database', 'table' (or query), \
             'username', 'password' [, 'schema', 'ON CONFLICT ...'])",
        ),
        "sqlite" => {
            takes(n == 2, "SQLite database requires 2 arguments: database path, table name (or query)")
        }
        "executable" => {
            takes(
                n >= 3,
                "Table function 'executable' requires minimum 3 arguments: script_name, format, structure, [input_query...]",
            )?;
            bail!(UNSUPPORTED_METHOD, "Executable file {first} does not exist inside user scripts folder")
        }
        "redis" => {
            ensure!(n >= 3, BAD_ARGUMENTS, "Bad arguments count when creating Redis table function");
            Ok(())
        }
        "odbc" | "jdbc" => {
            ensure!(
                n != 1,
                BAD_ARGUMENTS,
                "Table function '{name}' has 1 argument, it is expected to be named collection"
            );
            Ok(())
        }
        "url" => {
            takes(
                n >= 1,
                "The signature of table function url shall be the following: uri[, format[, structure[, compression_method]]]",
            )?;
            ensure!(first.contains("://"), BAD_ARGUMENTS, "Empty protocol in the URL");
            Ok(())
        }
        "hdfs" => {
            ensure!(
                first.starts_with("hdfs://"),
                BAD_ARGUMENTS,
                "Bad HDFS URL: {first}. It should have the following structure 'hdfs://<host_name>:<port>/path'"
            );
            Ok(())
        }
        _ if OF_S3.contains(&name) => {
            takes(n >= 1, "Storage S3 requires 1 to 10 arguments")?;
            ensure!(first.contains("://"), BAD_ARGUMENTS, "Host is empty in S3 URI");
            Ok(())
        }
        _ => Ok(()),
    }
}
