//! REFRESH: when a materialized view is filled anew.

use super::{ObjectName, Setting};

/// `1 DAY 12 HOUR`: numbers of units, by the names that intervals have.
pub type TimeSpan = Vec<(u64, &'static str)>;

/// When the rows of a materialized view are made anew, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Refresh {
    pub period: RefreshPeriod,
    /// `RANDOMIZE FOR`; empty without it.
    pub randomize: TimeSpan,
    pub depends_on: Vec<ObjectName>,
    pub settings: Vec<Setting>,
    /// Rows are added to those that are there.
    pub append: bool,
}

/// What a refresh follows.
#[derive(Clone, Debug, PartialEq)]
pub enum RefreshPeriod {
    /// `EVERY period [OFFSET offset]`, by the calendar.
    Every { period: TimeSpan, offset: TimeSpan },
    /// `AFTER period`, from the end of the one before.
    After(TimeSpan),
    /// Those that the view depends on, alone.
    Dependencies,
}
