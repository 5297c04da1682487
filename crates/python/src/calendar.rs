//! Days and seconds since 1970 as the calendar's numbers, for Python's date and datetime.

/// Year, month and day of a day number (the algorithm of days in 400-year eras that begin in March).
pub fn civil(days: i64) -> (i32, u8, u8) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as u8, day as u8)
}

/// Hour, minute and second of a number of seconds since midnight or since 1970.
pub fn clock(seconds: i64) -> (u8, u8, u8) {
    let of_day = seconds.rem_euclid(86_400);
    ((of_day / 3_600) as u8, (of_day / 60 % 60) as u8, (of_day % 60) as u8)
}
