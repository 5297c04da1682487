//! Named time zones. Rules come from the bundled IANA database, so that no machine differs.

use chalet_base::forks::PerProcess;
use chalet_base::hash::HashMap;
use chalet_base::{Result, err};
use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock, RwLock};

/// A zone of the IANA database; equal when the names are.
#[derive(Clone)]
pub struct TimeZone(Arc<Zone>);

struct Zone {
    name: String,
    rules: jiff::tz::TimeZone,
    /// From when on which offset holds, made on first use.
    spans: OnceLock<Vec<(i64, i32)>>,
    /// Of each stretch of the timestamps that a DateTime has, the number of the span of its first one, made on first use.
    of_stretches: OnceLock<Vec<u16>>,
}

impl Zone {
    fn new(name: &str, rules: jiff::tz::TimeZone) -> Zone {
        Zone { name: name.into(), rules, spans: OnceLock::new(), of_stretches: OnceLock::new() }
    }
}

static KNOWN: PerProcess<RwLock<HashMap<String, TimeZone>>> = PerProcess::new(|_| RwLock::default());

impl TimeZone {
    pub fn utc() -> TimeZone {
        static UTC: LazyLock<TimeZone> =
            LazyLock::new(|| TimeZone(Arc::new(Zone::new("UTC", jiff::tz::TimeZone::UTC))));
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
        let known = || jiff::tz::TimeZone::get(name).ok().filter(|rules| rules.iana_name() == Some(name));
        let rules = fixed_offset(name)
            .map(jiff::tz::TimeZone::fixed)
            .or_else(known)
            .ok_or_else(|| err!(BAD_ARGUMENTS, "Cannot load time zone {name}"))?;
        let zone = TimeZone(Arc::new(Zone::new(name, rules)));
        KNOWN.write().unwrap_or_else(|e| e.into_inner()).insert(name.to_string(), zone.clone());
        Ok(zone)
    }

    /// The names of all zones, sorted.
    pub fn names() -> Vec<String> {
        let mut names: Vec<String> =
            jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect();
        names.sort();
        names
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

    /// Seconds east of UTC at a timestamp given in seconds since 1970-01-01 UTC.
    pub fn offset_at(&self, unix_seconds: i64) -> i32 {
        if self.is_utc() {
            return 0;
        }
        let timestamp = jiff::Timestamp::from_second(unix_seconds).unwrap_or(if unix_seconds < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        });
        self.0.rules.to_offset(timestamp).seconds()
    }
}

/// Rules are repeated until this year; later timestamps keep the last offset.
const LAST_YEAR: i32 = 2700;

impl TimeZone {
    /// Timestamps from which on an offset holds, ascending; the first entry also serves all timestamps before it.
    pub fn offset_spans(&self) -> &[(i64, i32)] {
        self.0.spans.get_or_init(|| {
            let first = jiff::Timestamp::MIN;
            let mut spans = vec![(i64::MIN, self.0.rules.to_offset(first).seconds())];
            let last = i64::from(crate::calendar::Civil::new(LAST_YEAR, 1, 1).days()) * 86_400;
            for change in self.0.rules.following(first) {
                let timestamp = change.timestamp().as_second();
                if timestamp > last {
                    break;
                }
                let offset = change.offset().seconds();
                if spans.last().is_none_or(|span| span.1 != offset) {
                    spans.push((timestamp, offset));
                }
            }
            spans
        })
    }
}

/// Seconds of a stretch as a power of two, about twelve days: seldom are there two changes in one.
const STRETCH: u32 = 20;

impl TimeZone {
    /// The number of the span of [`offset_spans`](Self::offset_spans) that a timestamp is in. Those of moments of a column may be far
    /// apart, so that no step of a search could be guessed: one look at a table tells nearly all.
    #[inline]
    pub fn span_number(&self, timestamp: i64) -> usize {
        let spans = self.offset_spans();
        let Ok(of_table) = u32::try_from(timestamp) else {
            return spans.partition_point(|span| span.0 <= timestamp).saturating_sub(1);
        };
        let stretches = self.0.of_stretches.get_or_init(|| {
            let first = |stretch: u32| {
                let start = i64::from(stretch) << STRETCH;
                spans.partition_point(|span| span.0 <= start).saturating_sub(1) as u16
            };
            (0..=u32::MAX >> STRETCH).map(first).collect()
        });
        let mut number = usize::from(stretches[(of_table >> STRETCH) as usize]);
        while spans.get(number + 1).is_some_and(|next| next.0 <= timestamp) {
            number += 1;
        }
        number
    }
}

/// The offset of a zone named `Fixed/UTC+hh:mm:ss`, as Arrow data with a bare offset gets it.
fn fixed_offset(name: &str) -> Option<jiff::tz::Offset> {
    let offset = name.strip_prefix("Fixed/UTC")?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let parts: Option<Vec<i32>> =
        offset.strip_prefix(['+', '-'])?.split(':').map(|p| p.parse().ok()).collect();
    match parts?[..] {
        [h, m, s] if (0..60).contains(&m) && (0..60).contains(&s) && (0..=24).contains(&h) => {
            jiff::tz::Offset::from_seconds(sign * (h * 3600 + m * 60 + s)).ok()
        }
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_those_of_a_search() {
        for name in [
            "Europe/Berlin",
            "America/New_York",
            "Africa/Casablanca",
            "Antarctica/Troll",
            "Asia/Kolkata",
            "UTC",
        ] {
            let zone = TimeZone::named(name).unwrap();
            let spans = zone.offset_spans();
            let changes = spans[1..].iter().flat_map(|span| [span.0 - 1, span.0, span.0 + 1]);
            let steps = (-40..6000).map(|n| n * 1_000_003);
            for timestamp in changes.chain(steps).chain([i64::MIN, i64::MAX, 0, -1, (1 << 32) - 1, 1 << 32]) {
                let expected = spans.partition_point(|span| span.0 <= timestamp).saturating_sub(1);
                assert_eq!(zone.span_number(timestamp), expected, "{name} {timestamp}");
            }
        }
    }
}
