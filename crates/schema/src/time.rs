//! Timestamps of events.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::tz::Offset;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time with millisecond precision, written as RFC 3339 in UTC with exactly three fractional digits and `Z`.
///
/// Only the years 0 to 9999 can be written in this format. Times outside of that range are clamped to the nearest time
/// that can be written and read again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// Length of a timestamp as text.
pub(crate) const TIMESTAMP_LEN: usize = 24;
/// [`Timestamp::EPOCH`] as text.
pub(crate) const EPOCH_TEXT: &[u8; TIMESTAMP_LEN] = b"1970-01-01T00:00:00.000Z";

impl Timestamp {
    /// 1970-01-01T00:00:00.000Z. Used for recordings without times.
    pub const EPOCH: Self = Self(0);
    const MIN: i64 = -62_167_219_200_000;
    /// The latest time that RFC 3339 parsers accept with any offset: 9999-12-30T22:00:00.999Z.
    const MAX: i64 = 253_402_207_200_999;

    /// The time that is `millis` milliseconds after 1970-01-01 UTC.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        if millis < Self::MIN {
            Self(Self::MIN)
        } else if millis > Self::MAX {
            Self(Self::MAX)
        } else {
            Self(millis)
        }
    }

    /// Milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The time that is `millis` milliseconds later.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to this time; 0 if `earlier` is later.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// Formats the time. Every event has one, so the digits are written one by one: that is faster than the printer of
    /// `jiff`, as the benchmark `timestamp` shows.
    pub(crate) fn to_text(self) -> [u8; TIMESTAMP_LEN] {
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let (second, millis) = (self.0.div_euclid(1000), self.0.rem_euclid(1000));
        // Whole seconds are always in the range of `jiff`; the last millisecond is not.
        let time = jiff::Timestamp::from_second(second).map(|time| Offset::UTC.to_datetime(time)).unwrap_or_default();
        let millis = i16::try_from(millis).unwrap_or(0);
        write_two_digits(&mut text, 0, time.year() / 100);
        write_two_digits(&mut text, 2, time.year() % 100);
        write_two_digits(&mut text, 5, time.month().into());
        write_two_digits(&mut text, 8, time.day().into());
        write_two_digits(&mut text, 11, time.hour().into());
        write_two_digits(&mut text, 14, time.minute().into());
        write_two_digits(&mut text, 17, time.second().into());
        write_two_digits(&mut text, 20, millis / 10);
        text[22] = digit(millis % 10);
        text
    }
}

/// Writes a number below 100 as two digits.
fn write_two_digits(text: &mut [u8; TIMESTAMP_LEN], at: usize, number: i16) {
    text[at] = digit(number / 10);
    text[at + 1] = digit(number % 10);
}

fn digit(number: i16) -> u8 {
    number.to_le_bytes()[0] + b'0'
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_text()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error for a string that is not an RFC 3339 time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseTimestampError(String);

impl fmt::Display for ParseTimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected an RFC 3339 time such as 2026-01-27T19:10:11.000Z, found {:?}", self.0)
    }
}

impl std::error::Error for ParseTimestampError {}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Parses any RFC 3339 time. Digits beyond milliseconds are dropped.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed: jiff::Timestamp = text.parse().map_err(|_| ParseTimestampError(text.to_owned()))?;
        Ok(Self::from_millis(parsed.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.to_text()).map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_with_three_fractional_digits_and_z() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1, "1970-01-01T00:00:00.001Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_794_786_891_164, "2026-11-15T23:54:51.164Z"),
            (i64::MAX, "9999-12-30T22:00:00.999Z"),
            (i64::MIN, "0000-01-01T00:00:00.000Z"),
        ] {
            let time = Timestamp::from_millis(millis);
            assert_eq!(time.to_string(), text);
            assert_eq!(text.parse(), Ok(time));
        }
    }

    #[test]
    fn times_on_days_of_every_month_round_trip() {
        const MILLIS_PER_DAY: i64 = 86_400_000;
        for day in (-40_000..80_000).step_by(13) {
            let millis = day * MILLIS_PER_DAY + 12_345_678;
            let time = Timestamp::from_millis(millis);
            assert_eq!(time.to_string().parse::<Timestamp>(), Ok(time));
        }
    }

    #[test]
    fn offsets_are_parsed_and_digits_beyond_milliseconds_are_dropped() {
        let time: Timestamp = "2026-01-27T20:10:11.123456+01:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-01-27T19:10:11.123Z");
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}
