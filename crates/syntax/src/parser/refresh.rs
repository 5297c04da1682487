//! REFRESH: when a materialized view is filled anew.

use super::{Fail, Parse, Parser};
use crate::ast::{Refresh, RefreshPeriod, TimeSpan};
use crate::lexer::TokenKind;
use chalet_base::err;

impl Parser<'_> {
    /// `REFRESH EVERY 1 HOUR ... [APPEND]`, if it is there.
    pub(crate) fn refresh(&mut self) -> Parse<Option<Refresh>> {
        if self.accept_keyword("REFRESH") { self.behind_refresh().map(Some) } else { Ok(None) }
    }

    /// What follows the word REFRESH.
    pub(crate) fn behind_refresh(&mut self) -> Parse<Refresh> {
        let period = if self.accept_keyword("EVERY") {
            let period = self.time_span()?;
            let offset = if self.accept_keyword("OFFSET") { self.time_span()? } else { TimeSpan::new() };
            RefreshPeriod::Every { period, offset }
        } else if self.accept_keyword("AFTER") {
            RefreshPeriod::After(self.time_span()?)
        } else if self.at_keyword("DEPENDS ON") {
            RefreshPeriod::Dependencies
        } else {
            return Err(self.expect_here("AFTER or EVERY"));
        };
        let randomize =
            if self.accept_keyword("RANDOMIZE FOR") { self.time_span()? } else { TimeSpan::new() };
        let depends_on = match self.accept_keyword("DEPENDS ON") {
            true => self.comma_list(|p| p.object_name())?,
            false => Vec::new(),
        };
        let settings = if self.accept_keyword("SETTINGS") { self.settings_list()? } else { Vec::new() };
        let append = self.accept_keyword("APPEND");
        if append && self.at_keyword("INCREMENTAL") {
            return Err(Fail::Error(err!(
                NOT_IMPLEMENTED,
                "REFRESH ... APPEND INCREMENTAL is not supported"
            )));
        }
        Ok(Refresh { period, randomize, depends_on, settings, append })
    }

    /// `1 DAY 12 HOURS`, in the units that the kernel prints.
    fn time_span(&mut self) -> Parse<TimeSpan> {
        let (mut months, mut seconds) = (0u64, 0u64);
        let mut others = TimeSpan::new();
        loop {
            let number = self.unsigned()?;
            let Some(unit) = self.interval_unit() else { return Err(self.expect_here("time unit")) };
            let part = |size: u64| number.saturating_mul(size);
            match unit {
                "Quarter" => months = months.saturating_add(part(3)),
                _ => match (size_of(&MONTHS, unit), size_of(&SECONDS, unit)) {
                    (Some(size), _) => months = months.saturating_add(part(size)),
                    (_, Some(size)) => seconds = seconds.saturating_add(part(size)),
                    _ => others.push((number, unit)),
                },
            }
            if !self.at(TokenKind::Number) {
                break;
            }
        }
        let mut span = TimeSpan::new();
        for (mut left, units) in [(months, &MONTHS[..]), (seconds, &SECONDS[..])] {
            for (unit, size) in units {
                if left >= *size {
                    span.push((left / size, *unit));
                    left %= size;
                }
            }
        }
        span.extend(others);
        if span.is_empty() {
            span.push((0, "Second"));
        }
        Ok(span)
    }
}

/// The longest first.
const MONTHS: [(&str, u64); 2] = [("Year", 12), ("Month", 1)];
const SECONDS: [(&str, u64); 5] =
    [("Week", 604_800), ("Day", 86_400), ("Hour", 3600), ("Minute", 60), ("Second", 1)];

fn size_of(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units.iter().find(|(known, _)| *known == unit).map(|(_, size)| *size)
}
