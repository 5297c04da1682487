//! Which memory limit a request exceeded, as ClickHouse words it.

use chalet_base::events::{self, Event};
use chalet_base::{Error, err};

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// One statement: `max_memory_usage`.
    Query,
    /// All statements of a session: `max_memory_usage_for_user`.
    User,
    /// The process: `max_server_memory_usage`, cgroup, RLIMIT_AS or RAM.
    Process,
    /// The system refused although no limit says so.
    System,
}

/// A request for memory that was refused. All sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub level: Level,
    /// What would be in use if the request had been served.
    pub would_use: u64,
    /// The size of the request, 0 where the use was found to be over the limit afterwards.
    pub chunk: u64,
    /// 0 where nobody knows one.
    pub limit: u64,
    /// What the query itself uses and what the process does.
    pub query: u64,
    pub resident: u64,
    /// The operator and the function at work, empty for none.
    pub operator: &'static str,
    pub function: &'static str,
}

impl Exceeded {
    /// `MEMORY_LIMIT_EXCEEDED`, with the figures of the query and the process.
    #[cold]
    pub fn into_error(self) -> Error {
        events::count(match self.level {
            Level::Query | Level::User => Event::QueryMemoryLimitExceeded,
            Level::Process | Level::System => Event::GlobalMemoryLimitExceeded,
        });
        let Exceeded { would_use, chunk, limit, query, resident, operator, function, .. } = self;
        let attempt = match chunk {
            0 => String::new(),
            chunk => format!(" (attempt to allocate chunk of {})", readable(chunk)),
        };
        let mut message = match self.level {
            Level::Query => format!(
                "Query memory limit exceeded: would use {}{attempt}, current RSS: {}, maximum: {}",
                readable(would_use),
                readable(resident),
                readable(limit)
            ),
            Level::User => format!(
                "User memory limit exceeded: would use {}{attempt}, current RSS: {}, maximum: {}",
                readable(would_use),
                readable(resident),
                readable(limit)
            ),
            Level::Process => format!(
                "(total) memory limit exceeded: would use {}{attempt}, current RSS: {}, query: {}, maximum: {}",
                readable(would_use),
                readable(resident),
                readable(query),
                readable(limit)
            ),
            Level::System => format!(
                "Cannot allocate memory{attempt}: the system has no more, current RSS: {}, query: {}",
                readable(resident),
                readable(query)
            ),
        };
        if !operator.is_empty() {
            message.push_str(&format!(": While executing {operator}"));
        }
        if !function.is_empty() {
            message.push_str(&format!(": while executing FUNCTION {function}"));
        }
        err!(MEMORY_LIMIT_EXCEEDED, "{message}")
    }
}

/// Bytes with a binary unit and two digits, as ClickHouse's `formatReadableSize`.
fn readable(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_clickhouse() {
        let exceeded = Exceeded {
            level: Level::Query,
            would_use: 50_394_562,
            chunk: 32 << 20,
            limit: 50_000_000,
            query: 0,
            resident: 0,
            operator: "Aggregate",
            function: "",
        };
        assert_eq!(
            exceeded.into_error().message(),
            "Query memory limit exceeded: would use 48.06 MiB (attempt to allocate chunk of 32.00 MiB), current RSS: 0.00 B, \
             maximum: 47.68 MiB: While executing Aggregate"
        );
    }
}
