//! An ADBC driver over the engine, which driver managers of any language load as `AdbcDriverInit` of this library. No Python
//! runs here.
//!
//! - [`connection`]: a session, and what the driver manager asks of the database
//! - [`statement`]: queries, bound rows and ingestion
//! - [`bound`]: the rows that are bound to a statement, as a table or as parameters
//! - [`placeholders`]: `?` as parameters of the engine
//! - [`objects`]: the tree of databases, tables and columns
//! - [`info`]: what the driver says of itself
//! - [`failure`]: errors under the statuses of ADBC

mod bound;
mod connection;
mod failure;
mod info;
mod objects;
mod placeholders;
mod statement;

use adbc_core::error::{Error, Result, Status};
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use adbc_core::{Driver, Optionable};
use connection::Connection;
use failure::failed;
use std::collections::BTreeMap;

adbc_ffi::export_driver!(AdbcChaletInit, ChaletDriver);

#[derive(Default)]
pub struct ChaletDriver;

impl Driver for ChaletDriver {
    type DatabaseType = Database;

    fn new_database(&mut self) -> Result<Database> {
        self.new_database_with_opts([])
    }

    fn new_database_with_opts(
        &mut self,
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<Database> {
        let mut database = Database::default();
        for (option, value) in options {
            database.set_option(option, value)?;
        }
        // The options come all before the first connection.
        let settings = database.settings.iter().map(|(name, value)| (&**name, &**value));
        database.opened = Some(crate::engine::open_database(&database.path, settings).map_err(failed)?);
        Ok(database)
    }
}

/// A database and the settings of its connections.
#[derive(Default)]
pub struct Database {
    path: String,
    settings: BTreeMap<String, String>,
    opened: Option<chalet_engine::Database>,
}

impl Database {
    /// `:memory:`, a path, or `chalet:///path?setting=value`, with `mode=ro` to read only.
    fn set_uri(&mut self, uri: &str) {
        let (place, options) = uri.split_once('?').unwrap_or((uri, ""));
        let place =
            place.strip_prefix("chalet://").map_or(place, |rest| rest.strip_prefix('/').unwrap_or(rest));
        self.path = place.to_owned();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, "1"));
            match (name, value) {
                ("mode", "ro") => drop(self.settings.insert("readonly".to_owned(), "2".to_owned())),
                ("mode", "rw") => {}
                _ => drop(self.settings.insert(name.to_owned(), value.to_owned())),
            }
        }
    }
}

impl Optionable for Database {
    type Option = OptionDatabase;

    /// What is no option of ADBC is a setting of ClickHouse.
    fn set_option(&mut self, option: OptionDatabase, value: OptionValue) -> Result<()> {
        let value = text_of(value)?;
        match option {
            OptionDatabase::Uri => self.set_uri(&value),
            OptionDatabase::Username | OptionDatabase::Password => {}
            other => drop(self.settings.insert(other.as_ref().to_owned(), value)),
        }
        Ok(())
    }

    fn get_option_string(&self, option: OptionDatabase) -> Result<String> {
        match option {
            OptionDatabase::Uri => Ok(self.path.clone()),
            other => self.settings.get(other.as_ref()).cloned().ok_or_else(|| unknown(other.as_ref())),
        }
    }

    fn get_option_bytes(&self, option: OptionDatabase) -> Result<Vec<u8>> {
        self.get_option_string(option).map(String::into_bytes)
    }

    fn get_option_int(&self, option: OptionDatabase) -> Result<i64> {
        Err(unknown(option.as_ref()))
    }

    fn get_option_double(&self, option: OptionDatabase) -> Result<f64> {
        Err(unknown(option.as_ref()))
    }
}

impl adbc_core::Database for Database {
    type ConnectionType = Connection;

    fn new_connection(&self) -> Result<Connection> {
        self.new_connection_with_opts([])
    }

    fn new_connection_with_opts(
        &self,
        options: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<Connection> {
        let Some(opened) = &self.opened else {
            return Err(Error::with_message_and_status("The database is not open", Status::InvalidState));
        };
        let session = opened.session();
        self.settings.iter().try_for_each(|(name, value)| session.set(name, value)).map_err(failed)?;
        let mut connection = Connection::new(session);
        for (option, value) in options {
            connection.set_option(option, value)?;
        }
        Ok(connection)
    }
}

fn text_of(value: OptionValue) -> Result<String> {
    Ok(match value {
        OptionValue::String(text) => text,
        OptionValue::Int(number) => number.to_string(),
        OptionValue::Double(number) => number.to_string(),
        _ => return Err(Error::with_message_and_status("An option is a text", Status::InvalidArguments)),
    })
}

fn unknown(option: &str) -> Error {
    Error::with_message_and_status(format!("There is no option {option} to ask for"), Status::NotFound)
}
