//! Dates and times.

mod add;
mod change;
mod date_diff;
mod day_numbers;
mod format_date_time;
mod format_pattern;
mod from_unix_timestamp;
mod interval_start;
mod interval_tuples;
mod iso8601_duration;
mod make;
mod names;
mod now;
mod parse_date_time;
mod parsed_timestamp;
mod parts_of_date;
mod parts_of_time;
mod relative;
mod snowflake;
mod starts_of_date;
mod starts_of_time;
mod time_series;
mod time_slots;
mod timestamp;
pub mod timestamps;
mod weeks;
mod windows;
mod zone;
pub mod zones_of_rows;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&iso8601_duration::FUNCTION);
    registry.add_scalar(&time_series::RANGE);
    registry.add_scalar(&time_series::FROM_GRID);
    registry.add_scalar(&timestamp::FUNCTION);
    snowflake::register(registry);
    add::register(registry);
    change::register(registry);
    date_diff::register(registry);
    day_numbers::register(registry);
    format_date_time::register(registry);
    from_unix_timestamp::register(registry);
    interval_start::register(registry);
    interval_tuples::register(registry);
    make::register(registry);
    names::register(registry);
    now::register(registry);
    parse_date_time::register(registry);
    parts_of_date::register(registry);
    parts_of_time::register(registry);
    relative::register(registry);
    starts_of_date::register(registry);
    starts_of_time::register(registry);
    time_slots::register(registry);
    weeks::register(registry);
    windows::register(registry);
    zone::register(registry);
}
