//! Things that go wrong with agents, on demand.

use std::fmt;
use std::str::FromStr;

/// How long a long line is, unless said otherwise.
const LONG: usize = 50 << 20;

/// What goes wrong, and after how many lines on standard output or payloads on the event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The agent leaves before it has said anything.
    ExitAtStart {
        /// Its exit code; a negative one is a signal.
        code: i32,
    },
    /// The agent leaves.
    DieAfter {
        /// After so many lines.
        lines: u64,
        /// Its exit code; a negative one is a signal.
        code: i32,
    },
    /// The agent says nothing more and does not leave when its input ends.
    HangAfter {
        /// After so many lines.
        lines: u64,
        /// Whether it does not heed SIGTERM and SIGINT either.
        ignores_signals: bool,
    },
    /// A line that is not JSON; then it goes on.
    GarbageAfter {
        /// After so many lines.
        lines: u64,
    },
    /// A line of JSON that is very long; then it goes on.
    LongLineAfter {
        /// After so many lines.
        lines: u64,
        /// Its length.
        bytes: usize,
    },
    /// A line with bytes in it that are not UTF-8; then it goes on.
    InvalidUtf8After {
        /// After so many lines.
        lines: u64,
    },
    /// The first half of the next line, without a line break, and the agent is gone.
    HalfLineAfter {
        /// After so many lines.
        lines: u64,
        /// Its exit code; a negative one is a signal.
        code: i32,
    },
}

impl Fault {
    /// After how many lines it happens.
    pub(crate) fn after(self) -> u64 {
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
        let wrong = |what: &str| {
            format!(
                "fault `{text}`: {what}; expected exit-at-start[:CODE], die-after=N[:CODE], hang-after=N[:deaf], \
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
        let lines = lines.and_then(|lines| lines.parse().ok()).ok_or_else(|| wrong("no number of lines"))?;
        match (name, detail) {
            ("die-after", _) => Ok(Self::DieAfter { lines, code: code()? }),
            ("half-line-after", _) => Ok(Self::HalfLineAfter { lines, code: code()? }),
            ("hang-after", None | Some("deaf")) => Ok(Self::HangAfter { lines, ignores_signals: detail.is_some() }),
            ("garbage-after", None) => Ok(Self::GarbageAfter { lines }),
            ("invalid-utf8-after", None) => Ok(Self::InvalidUtf8After { lines }),
            ("long-line-after", None) => Ok(Self::LongLineAfter { lines, bytes: LONG }),
            ("long-line-after", Some(bytes)) => {
                let bytes = bytes.parse().map_err(|_| wrong("the length is not a number"))?;
                Ok(Self::LongLineAfter { lines, bytes })
            }
            _ => Err(wrong("there is no such fault")),
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
    fn a_fault_is_read_as_it_is_written() {
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
    fn a_fault_that_does_not_exist_is_refused_with_the_list() {
        for text in ["die", "die-after", "die-after=x", "hang-after=1:2", "garbage-after=1:2", "melt-after=1"] {
            let error = text.parse::<Fault>().unwrap_err();
            assert!(error.contains(text) && error.contains("half-line-after=N"), "{error}");
        }
    }
}
