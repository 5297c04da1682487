//! The mode in which the database is on disk: statements that make tables in memory make tables that are kept, answers name
//! their engine, and the database is the same one when it has been closed and opened again.

use chalet_base::Result;
use chalet_engine::{Database, RunOptions};

const IN_MEMORY: &str = "ENGINE = Memory";

/// The statement with tables that are kept.
pub fn statement(sql: &str) -> String {
    let is_of_database = sql.trim_start().to_ascii_uppercase().starts_with("CREATE DATABASE");
    sql.replace(IN_MEMORY, if is_of_database { "ENGINE = Atomic" } else { "ENGINE = Log" })
}

/// A recorded answer and one of this mode, in the same words.
#[allow(clippy::ptr_arg, reason = "the runner wants a function of this type")]
pub fn answer(text: &String) -> String {
    text.replace("Memory", "Log").replace("Atomic", "Log")
}

/// What there is in a database, as text.
pub fn outline(path: &str) -> Result<String> {
    const ASKED: [&str; 3] = [
        "SELECT database, name, engine, create_table_query, as_select, comment, if(engine = 'Memory', 0, total_rows) AS n
         FROM system.tables WHERE database NOT IN ('', 'system') ORDER BY ALL",
        "SELECT * FROM system.columns WHERE database NOT IN ('', 'system') ORDER BY ALL",
        "SELECT name, create_query FROM system.functions WHERE origin = 'SQLUserDefined' ORDER BY ALL",
    ];
    let session = Database::open(path)?.session();
    let answers = ASKED.map(|sql| {
        let options = RunOptions { format: Some("TSVRaw".into()), ..RunOptions::default() };
        session.run(sql, options).map(|answer| String::from_utf8_lossy(&answer.bytes).into_owned())
    });
    Ok(answers.into_iter().collect::<Result<Vec<_>>>()?.join("\n"))
}
