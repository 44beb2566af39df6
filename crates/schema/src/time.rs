//! The time of an event.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment, to the millisecond, written as RFC 3339 in UTC with exactly three fractional digits and `Z`.
///
/// Only the years 0 to 9999 can be written so; whatever lies outside is moved to the nearest moment that can also be
/// read again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

const MILLIS_PER_DAY: i64 = 86_400_000;
pub(crate) const EPOCH: &[u8; WRITTEN_LEN] = b"1970-01-01T00:00:00.000Z";
pub(crate) const WRITTEN_LEN: usize = 24;

impl Timestamp {
    /// 1970-01-01T00:00:00.000Z, the time of a log that does not say when it was recorded.
    pub const EPOCH: Self = Self(0);
    const MIN: i64 = -62_167_219_200_000;
    /// The last moment that RFC 3339 parsers read whatever the offset: 9999-12-30T22:00:00.999Z.
    const MAX: i64 = 253_402_207_200_999;

    /// The moment so many milliseconds after 1970-01-01 UTC.
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

    /// The moment so many milliseconds later.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// How many milliseconds after `earlier` it is; 0 if it is not.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// The moment as text. Every event has one, so this does without the formatting machinery.
    pub(crate) fn write(self) -> [u8; WRITTEN_LEN] {
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let (year, month, day) = civil(self.0.div_euclid(MILLIS_PER_DAY));
        let time = u32::try_from(self.0.rem_euclid(MILLIS_PER_DAY)).unwrap_or(0);
        let (seconds, millis) = (time / 1000, time % 1000);
        put(&mut text, 0, year / 100);
        put(&mut text, 2, year % 100);
        put(&mut text, 5, month);
        put(&mut text, 8, day);
        put(&mut text, 11, seconds / 3600);
        put(&mut text, 14, seconds / 60 % 60);
        put(&mut text, 17, seconds % 60);
        put(&mut text, 20, millis / 10);
        text[22] = digit(millis % 10);
        text
    }
}

/// Writes a number below 100 with two digits.
fn put(text: &mut [u8; WRITTEN_LEN], at: usize, number: u32) {
    text[at] = digit(number / 10);
    text[at + 1] = digit(number % 10);
}

fn digit(number: u32) -> u8 {
    number.to_le_bytes()[0] + b'0'
}

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar. Years are counted
/// from March so that the leap day is the last of its year, in eras of 400 years, which all have 146 097 days.
fn civil(day: i64) -> (u32, u32, u32) {
    // From the era before the year 0, so that nothing is negative.
    let shifted = u32::try_from(day + 719_468 + 146_097).unwrap_or(0);
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + u32::from(month <= 2) - 400, month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.write()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not an RFC 3339 time.
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

    /// Reads any RFC 3339 time; what is finer than a millisecond is cut off.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed: jiff::Timestamp = text.parse().map_err(|_| ParseTimestampError(text.to_owned()))?;
        Ok(Self::from_millis(parsed.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.write()).map_err(serde::ser::Error::custom)?)
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
    fn writes_three_digits_and_z() {
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
    fn agrees_with_jiff_on_every_month() {
        for day in (-40_000..80_000).step_by(13) {
            let millis = day * MILLIS_PER_DAY + 12_345_678;
            let time = Timestamp::from_millis(millis);
            assert_eq!(time.to_string().parse::<Timestamp>(), Ok(time));
        }
    }

    #[test]
    fn reads_offsets_and_cuts_what_is_finer_than_a_millisecond() {
        let time: Timestamp = "2026-01-27T20:10:11.123456+01:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-01-27T19:10:11.123Z");
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}
