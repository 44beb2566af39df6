//! Durations on the command line: `30s`, `10m`, `2h`, `7d`, `4w`.

use std::time::Duration;

/// Parses a number and a unit: `ms`, `s`, `m`, `h`, `d` or `w`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected a number and a unit such as 30s, 10m, 2h or 7d, found {text:?}");
    let unit_start = text.find(|character: char| !character.is_ascii_digit()).ok_or_else(expected)?;
    let (number, unit) = text.split_at(unit_start);
    let number: u64 = number.parse().map_err(|_| expected())?;
    let seconds = match unit {
        "ms" => return Ok(Duration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return Err(expected()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| format!("{text:?} is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        for (text, seconds) in [("0s", 0), ("90s", 90), ("10m", 600), ("2h", 7200), ("7d", 604_800), ("4w", 2_419_200)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        for text in ["", "10", "m", "-1s", "1.5h", "10 m", "1y", "99999999999999999999s", "9999999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
