//! `Plain`: a scalar function as two free functions and a record, for those that need nothing more.

use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Context, Grows, Record, ScalarFunction};
use chalet_types::{DataType, TimeZone};
use std::any::Any;

pub struct Plain {
    pub record: Record,
    /// Gets the function's name, so that several functions can share it.
    pub bind: fn(&'static str, &[Argument], &Context) -> Result<Bound>,
    pub execute: fn(&Call) -> Result<Column>,
}

impl ScalarFunction for &'static Plain {
    fn record(&self) -> &'static Record {
        let function: &'static Plain = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        (self.bind)(self.record.name, args, ctx)
    }

    fn never_falls(
        &self,
        from: &DataType,
        _: &DataType,
        state: Option<&(dyn Any + Send + Sync)>,
        _: &Context,
    ) -> bool {
        let zone = state.and_then(|state| state.downcast_ref::<TimeZone>());
        zone.is_some_and(|zone| follows_clock(self.record.grows, from, zone))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        (self.execute)(call)
    }
}

/// Does what grows so never fall over all values of a type, by the clock of a zone?
pub fn follows_clock(grows: Grows, from: &DataType, zone: &TimeZone) -> bool {
    let (first, last) = match from {
        DataType::Date => return grows == Grows::WithDays || grows == Grows::WithMoments && zone.is_fixed(),
        DataType::DateTime(_) => (0, i64::from(u32::MAX)),
        // Years 1677 to 2262: moments of fewer digits may be of years that results do not hold.
        DataType::DateTime64(9, _) => (i64::MIN / 1_000_000_000, i64::MAX / 1_000_000_000),
        _ => return false,
    };
    match grows {
        Grows::No => false,
        Grows::WithDays => zone.repeats_no_day(first, last),
        Grows::WithMoments => zone.is_fixed(),
    }
}
