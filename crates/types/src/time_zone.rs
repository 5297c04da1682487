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
    /// The offsets in each stretch of the timestamps that a DateTime has, made on first use; none where there is one offset alone.
    stretches: OnceLock<Arc<[Stretch]>>,
}

impl Zone {
    fn new(name: &str, rules: jiff::tz::TimeZone) -> Zone {
        Zone { name: name.into(), rules, spans: OnceLock::new(), stretches: OnceLock::new() }
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

impl TimeZone {
    /// Has the clock always been as far from UTC, and will it?
    pub fn is_fixed(&self) -> bool {
        self.offset_spans().len() == 1
    }

    /// Is no change of the clock between two timestamps such that the day before begins again?
    pub fn repeats_no_day(&self, first: i64, last: i64) -> bool {
        let day = |timestamp: i64, offset: i32| (timestamp + i64::from(offset)).div_euclid(86_400);
        self.offset_spans().windows(2).all(|spans| match spans {
            [(_, before), (change, after)] if (first..=last).contains(change) => {
                day(change - 1, *before) <= day(*change, *after)
            }
            _ => true,
        })
    }
}

/// Seconds of a stretch as a power of two, about twelve days: seldom are there two changes in one.
pub const STRETCH: u32 = 20;

/// So far around a stretch changes count as its own: no clock is as far from UTC, nor moves as far at once.
const AROUND: i64 = 2 * 86_400;

/// The offsets in a stretch and around it.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// From this timestamp on the second offset holds.
    pub change: i64,
    pub before: i32,
    pub after: i32,
}

impl Stretch {
    /// What stands for a stretch with more than one change.
    const CHANGEFUL: Stretch = Stretch { change: i64::MIN, before: i32::MIN, after: i32::MIN };

    #[inline(always)]
    pub fn has_two_offsets_at_most(self) -> bool {
        self.before != i32::MIN
    }
}

impl TimeZone {
    /// The offsets of all stretches from 1970 on. Moments of a column may be far apart, so that no step of a search could be guessed:
    /// one look at a table tells nearly all.
    pub fn stretches(&self) -> Arc<[Stretch]> {
        let made = self.0.stretches.get_or_init(|| {
            let spans = self.offset_spans();
            if spans.len() == 1 {
                return Arc::from([]);
            }
            // The number of the span before the stretch: it grows from stretch to stretch.
            let mut number = 0;
            let stretch = |stretch: u32| {
                let start = (i64::from(stretch) << STRETCH) - AROUND;
                let end = start + (1 << STRETCH) + 2 * AROUND;
                while spans.get(number + 1).is_some_and(|next| next.0 <= start) {
                    number += 1;
                }
                let n_changes = spans[number + 1..].iter().take_while(|next| next.0 < end).count();
                let before = spans[number].1;
                match n_changes {
                    0 => Stretch { change: i64::MIN, before, after: before },
                    1 => Stretch { change: spans[number + 1].0, before, after: spans[number + 1].1 },
                    _ => Stretch::CHANGEFUL,
                }
            };
            (0..=u32::MAX >> STRETCH).map(stretch).collect()
        });
        made.clone()
    }

    /// The number of the span of [`offset_spans`](Self::offset_spans) that a timestamp is in.
    pub fn span_number(&self, timestamp: i64) -> usize {
        self.offset_spans().partition_point(|span| span.0 <= timestamp).saturating_sub(1)
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
    fn stretches_have_the_offsets_of_spans() {
        let mut n_changeful = 0;
        for name in [
            "Europe/Berlin",
            "America/New_York",
            "Africa/Casablanca",
            "Antarctica/Troll",
            "Asia/Hebron",
            "Pacific/Apia",
            "Asia/Kolkata",
            "UTC",
        ] {
            let zone = TimeZone::named(name).unwrap();
            let (spans, stretches) = (zone.offset_spans(), zone.stretches());
            assert_eq!(stretches.is_empty(), spans.len() == 1, "{name}");
            for (number, stretch) in stretches.iter().enumerate() {
                let start = (number as i64) << STRETCH;
                let changes =
                    [stretch.change.saturating_sub(1), stretch.change, stretch.change.saturating_add(1)];
                let ends =
                    [start - AROUND, start, start + (1 << STRETCH) - 1, start + (1 << STRETCH) + AROUND - 1];
                for timestamp in changes.into_iter().chain(ends) {
                    if !stretch.has_two_offsets_at_most() {
                        n_changeful += 1;
                    } else if (ends[0]..=ends[3]).contains(&timestamp) {
                        let offset = if timestamp < stretch.change { stretch.before } else { stretch.after };
                        assert_eq!(offset, spans[zone.span_number(timestamp)].1, "{name} {timestamp}");
                    }
                }
            }
        }
        assert!(n_changeful > 0 && n_changeful < 1000, "{n_changeful}");
    }
}
