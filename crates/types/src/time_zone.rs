//! Named time zones. Rules come from the bundled IANA database, so that no machine differs.

use chalet_base::hash::HashMap;
use chalet_base::{Result, err};
use std::fmt;
use std::sync::{Arc, LazyLock, RwLock};

/// A zone of the IANA database; equal when the names are.
#[derive(Clone)]
pub struct TimeZone(Arc<Zone>);

struct Zone {
    name: String,
    rules: jiff::tz::TimeZone,
}

static KNOWN: LazyLock<RwLock<HashMap<String, TimeZone>>> = LazyLock::new(Default::default);

impl TimeZone {
    pub fn utc() -> TimeZone {
        static UTC: LazyLock<TimeZone> =
            LazyLock::new(|| TimeZone(Arc::new(Zone { name: "UTC".into(), rules: jiff::tz::TimeZone::UTC })));
        UTC.clone()
    }

    /// Looks a zone up by name; names are case-sensitive as in the kernel.
    pub fn named(name: &str) -> Result<TimeZone> {
        if name == "UTC" {
            return Ok(TimeZone::utc());
        }
        if let Some(zone) = KNOWN.read().unwrap_or_else(|e| e.into_inner()).get(name) {
            return Ok(zone.clone());
        }
        let rules = jiff::tz::TimeZone::get(name)
            .ok()
            .filter(|rules| rules.iana_name() == Some(name))
            .ok_or_else(|| err!(BAD_ARGUMENTS, "Cannot load time zone {name}"))?;
        let zone = TimeZone(Arc::new(Zone { name: name.to_string(), rules }));
        KNOWN.write().unwrap_or_else(|e| e.into_inner()).insert(name.to_string(), zone.clone());
        Ok(zone)
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn is_utc(&self) -> bool {
        self.0.name == "UTC"
    }

    /// The rules, for calendar arithmetic.
    pub fn rules(&self) -> &jiff::tz::TimeZone {
        &self.0.rules
    }

    /// Seconds east of UTC at a moment given in seconds since 1970-01-01 UTC.
    pub fn offset_at(&self, unix_seconds: i64) -> i32 {
        if self.is_utc() {
            return 0;
        }
        let moment = jiff::Timestamp::from_second(unix_seconds).unwrap_or(if unix_seconds < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        });
        self.0.rules.to_offset(moment).seconds()
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.name == other.0.name
    }
}

impl Eq for TimeZone {}

impl std::hash::Hash for TimeZone {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}
