//! Moments as other programs read them.

/// Seconds since 1970 as a date and time of UTC, `2023-11-14T22:13:20`; nothing for moments beyond the year 9999, which
/// the formats cannot say.
pub(crate) fn utc(seconds: u64) -> Option<String> {
    const LAST: u64 = 253_402_300_799;
    if seconds > LAST {
        return None;
    }
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years are counted from March, so that the leap day is their last one; 719,468 days lie between 1 March 0 and 1970.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (month, day) = (if month < 10 { month + 3 } else { month - 9 }, day - (153 * month + 2) / 5 + 1);
    let year = era * 400 + year + u64::from(month <= 2);
    Some(format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60))
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_400, "2000-02-29T00:00:00"),
            (951_868_800, "2000-03-01T00:00:00"),
            (1_700_000_000, "2023-11-14T22:13:20"),
            (1_709_164_800, "2024-02-29T00:00:00"),
            (4_107_542_400, "2100-03-01T00:00:00"),
            (253_402_300_799, "9999-12-31T23:59:59"),
        ] {
            assert_eq!(utc(seconds).as_deref(), Some(text));
        }
        assert_eq!(utc(253_402_300_800), None);
        assert_eq!(utc(u64::MAX), None);
    }
}
