//! Units of time in seconds.

/// Seconds of a minute.
pub const MINUTE: u64 = 60;

/// Seconds of an hour.
pub const HOUR: u64 = 60 * MINUTE;

/// Seconds of a day.
pub const DAY: u64 = 24 * HOUR;

/// Seconds of a hundred years of 365 days: longer than any process runs.
pub const CENTURY: u64 = 100 * 365 * DAY;
