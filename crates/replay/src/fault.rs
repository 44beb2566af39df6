//! Faults that a stand-in injects.

use std::fmt;
use std::str::FromStr;

/// Length of a long line if the fault gives none.
const DEFAULT_LONG_LINE_LEN: usize = 50 << 20;

/// An error to inject, and the number of lines on standard output, or payloads on the event stream, before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process exits before it has written anything.
    ExitAtStart {
        /// Exit code; a negative code is a signal.
        code: i32,
    },
    /// The process exits.
    DieAfter {
        /// Number of lines before the fault.
        lines: u64,
        /// Exit code; a negative code is a signal.
        code: i32,
    },
    /// The process writes nothing more and does not exit when its input ends.
    HangAfter {
        /// Number of lines before the fault.
        lines: u64,
        /// Whether it also ignores SIGTERM and SIGINT.
        ignores_signals: bool,
    },
    /// A line that is not JSON is inserted.
    GarbageAfter {
        /// Number of lines before the fault.
        lines: u64,
    },
    /// A very long line of JSON is inserted.
    LongLineAfter {
        /// Number of lines before the fault.
        lines: u64,
        /// Length of the line in bytes.
        bytes: usize,
    },
    /// A line that is not valid UTF-8 is inserted.
    InvalidUtf8After {
        /// Number of lines before the fault.
        lines: u64,
    },
    /// Only the first half of the next line is written, without a line break; then the process exits.
    HalfLineAfter {
        /// Number of lines before the fault.
        lines: u64,
        /// Exit code; a negative code is a signal.
        code: i32,
    },
}

impl Fault {
    /// Number of lines before the fault.
    pub(crate) fn lines_before(self) -> u64 {
        match self {
            Self::ExitAtStart { .. } => 0,
            Self::DieAfter { lines, .. }
            | Self::HangAfter { lines, .. }
            | Self::GarbageAfter { lines }
            | Self::LongLineAfter { lines, .. }
            | Self::InvalidUtf8After { lines }
            | Self::HalfLineAfter { lines, .. } => lines,
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |problem: &str| {
            format!(
                "fault `{text}`: {problem}; expected exit-at-start[:CODE], die-after=N[:CODE], hang-after=N[:deaf], \
                 garbage-after=N, long-line-after=N[:BYTES], invalid-utf8-after=N or half-line-after=N[:CODE]"
            )
        };
        let (head, detail) = text.split_once(':').map_or((text, None), |(head, detail)| (head, Some(detail)));
        let (name, lines) = head.split_once('=').map_or((head, None), |(name, lines)| (name, Some(lines)));
        let code = || match detail {
            None => Ok(1),
            Some(code) => code.parse().map_err(|_| wrong("the exit code is not a number")),
        };
        if name == "exit-at-start" && lines.is_none() {
            return Ok(Self::ExitAtStart { code: code()? });
        }
        let lines = lines
            .and_then(|lines| lines.parse().ok())
            .ok_or_else(|| wrong("the number of lines is missing or not a number"))?;
        match (name, detail) {
            ("die-after", _) => Ok(Self::DieAfter { lines, code: code()? }),
            ("half-line-after", _) => Ok(Self::HalfLineAfter { lines, code: code()? }),
            ("hang-after", None | Some("deaf")) => Ok(Self::HangAfter { lines, ignores_signals: detail.is_some() }),
            ("garbage-after", None) => Ok(Self::GarbageAfter { lines }),
            ("invalid-utf8-after", None) => Ok(Self::InvalidUtf8After { lines }),
            ("long-line-after", None) => Ok(Self::LongLineAfter { lines, bytes: DEFAULT_LONG_LINE_LEN }),
            ("long-line-after", Some(bytes)) => {
                let bytes = bytes.parse().map_err(|_| wrong("the length is not a number"))?;
                Ok(Self::LongLineAfter { lines, bytes })
            }
            _ => Err(wrong("unknown fault")),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExitAtStart { code } => write!(f, "exit-at-start:{code}"),
            Self::DieAfter { lines, code } => write!(f, "die-after={lines}:{code}"),
            Self::HangAfter { lines, ignores_signals: false } => write!(f, "hang-after={lines}"),
            Self::HangAfter { lines, ignores_signals: true } => write!(f, "hang-after={lines}:deaf"),
            Self::GarbageAfter { lines } => write!(f, "garbage-after={lines}"),
            Self::LongLineAfter { lines, bytes } => write!(f, "long-line-after={lines}:{bytes}"),
            Self::InvalidUtf8After { lines } => write!(f, "invalid-utf8-after={lines}"),
            Self::HalfLineAfter { lines, code } => write!(f, "half-line-after={lines}:{code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displayed_fault_parses_to_itself() {
        for text in [
            "exit-at-start:3",
            "die-after=0:1",
            "die-after=12:-9",
            "hang-after=2",
            "hang-after=2:deaf",
            "garbage-after=1",
            "long-line-after=4:100",
            "invalid-utf8-after=5",
            "half-line-after=6:1",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        assert_eq!("long-line-after=1".parse(), Ok(Fault::LongLineAfter { lines: 1, bytes: 50 << 20 }));
        assert_eq!("exit-at-start".parse(), Ok(Fault::ExitAtStart { code: 1 }));
    }

    #[test]
    fn an_unknown_fault_is_rejected_with_the_list_of_faults() {
        for text in ["die", "die-after", "die-after=x", "hang-after=1:2", "garbage-after=1:2", "melt-after=1"] {
            let error = text.parse::<Fault>().unwrap_err();
            assert!(error.contains(text) && error.contains("half-line-after=N"), "{error}");
        }
    }
}
