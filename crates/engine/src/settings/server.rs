//! Settings of the process, which ClickHouse calls server settings: given when a database is opened, the same for all that
//! the process has open. Shown by `system.server_settings`.

use chalet_base::{Result, err};
use chalet_memory::process;

/// One setting of the process.
pub struct ServerSetting {
    pub name: &'static str,
    /// The type's name, as ClickHouse shows it.
    pub kind: &'static str,
    pub default: &'static str,
    pub description: &'static str,
    /// Its value now, as text.
    pub value: fn() -> String,
    /// Sets it. Fails where the text is no value of the type.
    pub set: fn(&str) -> Result<()>,
}

/// All of them, by name.
pub const ALL: &[ServerSetting] = &[
    ServerSetting {
        name: "max_server_memory_usage",
        kind: "UInt64",
        default: "0",
        description: "The most resident memory that the process may use, the host's own included, in bytes. 0: what \
                      max_server_memory_usage_to_ram_ratio allows",
        value: || process::limit().unwrap_or(0).to_string(),
        set: |text| {
            let bytes = text.parse().map_err(|_| {
                err!(
                    CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                    "Cannot parse input: expected 'eof' before: '{text}'"
                )
            })?;
            process::set_limit(bytes);
            Ok(())
        },
    },
    ServerSetting {
        name: "max_server_memory_usage_to_ram_ratio",
        kind: "Double",
        default: "0.9",
        description: "The part of RAM, or of the limit of the control group, that the process may use. 0: no limit by RAM",
        value: || process::ram_ratio().to_string(),
        set: |text| {
            let ratio: Option<f64> =
                text.parse().ok().filter(|ratio: &f64| *ratio >= 0.0 && ratio.is_finite());
            let ratio = ratio.ok_or_else(|| err!(CANNOT_PARSE_NUMBER, "Cannot parse number: '{text}'"))?;
            process::set_ram_ratio(ratio);
            Ok(())
        },
    },
];

/// A setting of the process by name; `None` for other names.
pub fn find(name: &str) -> Option<&'static ServerSetting> {
    ALL.iter().find(|setting| setting.name == name)
}
