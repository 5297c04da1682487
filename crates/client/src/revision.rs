//! Revisions of the protocol: what each of them added. Both ends speak the lower of their revisions.

/// The oldest that is spoken: what servers of 18.16 have.
pub const OLDEST: u64 = 54412;
/// The newest that is spoken. From the next on servers may send columns that they compressed on their own.
pub const NEWEST: u64 = 54477;

/// Progress and profile tell rows and bytes that were written.
pub const WRITTEN_ROWS: u64 = 54420;
/// Settings are text with flags.
pub const SETTINGS_AS_TEXT: u64 = 54429;
pub const INTERSERVER_SECRET: u64 = 54441;
pub const OPEN_TELEMETRY: u64 = 54442;
pub const FORWARDED_FOR: u64 = 54443;
pub const REFERER: u64 = 54447;
pub const DISTRIBUTED_DEPTH: u64 = 54448;
pub const QUERY_START_TIME: u64 = 54449;
pub const PARALLEL_REPLICAS: u64 = 54453;
/// Columns say how they are serialised.
pub const SERIALIZATION_KINDS: u64 = 54454;
/// A server tells of each block of an INSERT what it has counted, and clients wait for it.
pub const PROFILE_EVENTS_IN_INSERT: u64 = 54456;
/// The client sends an addendum after the greeting.
pub const ADDENDUM: u64 = 54458;
pub const PARAMETERS: u64 = 54459;
pub const ELAPSED_IN_PROGRESS: u64 = 54460;
pub const PASSWORD_RULES: u64 = 54461;
pub const INTERSERVER_NONCE: u64 = 54462;
pub const TOTAL_BYTES_IN_PROGRESS: u64 = 54463;
pub const ROWS_BEFORE_AGGREGATION: u64 = 54469;
/// Packets may be cut into chunks that say their length.
pub const CHUNKS: u64 = 54470;
pub const VERSIONED_PARALLEL_REPLICAS: u64 = 54471;
pub const EXTERNAL_ROLES: u64 = 54472;
pub const SERVER_SETTINGS: u64 = 54474;
pub const SCRIPT_LINES: u64 = 54475;
pub const TOKEN_IN_CLIENT_INFO: u64 = 54476;
pub const PLAN_SERIALIZATION: u64 = 54477;

/// Of the protocol between replicas of one table, which only servers speak.
pub const PARALLEL_REPLICAS_VERSION: u64 = 4;
