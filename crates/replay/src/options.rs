//! Options of a replay.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::Fault;

/// Speed of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Speed {
    /// With the recorded pauses.
    Recorded,
    /// Without pauses.
    #[default]
    Fast,
    /// One line for each request on the step socket.
    Step,
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        <Self as clap::ValueEnum>::from_str(text, false)
            .map_err(|_| format!("speed `{text}`: expected recorded, fast or step"))
    }
}

/// Options of a replay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReplayOptions {
    /// Speed of the replay.
    pub speed: Speed,
    /// Faults to inject.
    pub faults: Vec<Fault>,
    /// Path of the Unix socket to create. Each newline written to it plays one line. Required for [`Speed::Step`].
    pub step_socket: Option<PathBuf>,
    /// File that stores how far the recording was played, so that the next process continues from there. Without it
    /// every process starts at the beginning.
    pub state_file: Option<PathBuf>,
    /// Turn to start at; the first is 1. Conflicts with `state_file`.
    pub start_turn: Option<usize>,
    /// How long to wait for a message that a host may omit.
    pub host_timeout: Duration,
    /// File to which the messages of the host and the reactions to them are appended.
    pub journal_file: Option<PathBuf>,
}

impl Default for ReplayOptions {
    /// Fast, from the start, without faults, with a host timeout of one second.
    fn default() -> Self {
        Self {
            speed: Speed::Fast,
            faults: Vec::new(),
            step_socket: None,
            state_file: None,
            start_turn: None,
            host_timeout: Duration::from_secs(1),
            journal_file: None,
        }
    }
}

/// Environment variable with the path of a recording, or of a folder of recordings. Prefix of all other variables.
pub(crate) const RECORDING_VARIABLE: &str = "INTERLINGUA_REPLAY";

impl ReplayOptions {
    /// Reads the options from the environment: `INTERLINGUA_REPLAY_SPEED`, `_FAULT` (separated by commas), `_STEP`,
    /// `_STATE`, `_TURN`, `_HOST_TIMEOUT` (milliseconds) and `_JOURNAL`.
    ///
    /// # Errors
    ///
    /// When a variable has an invalid value. The message names the variable and the expected value.
    pub fn from_env(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let get = |name: &str| variable(&format!("{RECORDING_VARIABLE}_{name}")).filter(|value| !value.is_empty());
        let text = |name: &str| get(name).map(|value| value.to_string_lossy().into_owned());
        let number = |name: &str| {
            text(name)
                .map(|value| {
                    value
                        .parse()
                        .map_err(|_| format!("{RECORDING_VARIABLE}_{name}: expected a number, found `{value}`"))
                })
                .transpose()
        };
        let mut options = Self::default();
        if let Some(speed) = text("SPEED") {
            options.speed = speed.parse().map_err(|error| format!("{RECORDING_VARIABLE}_SPEED: {error}"))?;
        }
        for fault in text("FAULT").iter().flat_map(|faults| faults.split(',')) {
            options.faults.push(fault.trim().parse().map_err(|error| format!("{RECORDING_VARIABLE}_FAULT: {error}"))?);
        }
        options.step_socket = get("STEP").map(PathBuf::from);
        options.state_file = get("STATE").map(PathBuf::from);
        options.journal_file = get("JOURNAL").map(PathBuf::from);
        options.start_turn = number("TURN")?.and_then(|turn: u64| usize::try_from(turn).ok());
        if let Some(milliseconds) = number("HOST_TIMEOUT")? {
            options.host_timeout = Duration::from_millis(milliseconds);
        }
        options.validate()?;
        Ok(options)
    }

    /// Checks that the options do not conflict.
    ///
    /// # Errors
    ///
    /// When they do. The message says why.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self { speed: Speed::Step, step_socket: None, .. } => {
                Err(format!("speed `step` needs a socket: give --step SOCKET, or {RECORDING_VARIABLE}_STEP=SOCKET"))
            }
            Self { state_file: Some(_), start_turn: Some(_), .. } => {
                Err("--state and --turn both set the starting point; use only one".to_owned())
            }
            Self { start_turn: Some(0), .. } => Err("turn 0: the first turn is 1".to_owned()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options_from(variables: &[(&str, &str)]) -> Result<ReplayOptions, String> {
        ReplayOptions::from_env(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn options_are_read_from_the_environment() {
        let options = options_from(&[
            ("INTERLINGUA_REPLAY_SPEED", "recorded"),
            ("INTERLINGUA_REPLAY_FAULT", "die-after=3:7, garbage-after=1"),
            ("INTERLINGUA_REPLAY_TURN", "2"),
            ("INTERLINGUA_REPLAY_HOST_TIMEOUT", "50"),
        ])
        .unwrap();
        assert_eq!(options.speed, Speed::Recorded);
        assert_eq!(options.faults, [Fault::DieAfter { lines: 3, code: 7 }, Fault::GarbageAfter { lines: 1 }]);
        assert_eq!((options.start_turn, options.host_timeout), (Some(2), Duration::from_millis(50)));
    }

    #[test]
    fn an_invalid_value_is_rejected_with_what_was_expected() {
        for (name, value, expected) in [
            ("INTERLINGUA_REPLAY_SPEED", "slow", "recorded, fast or step"),
            ("INTERLINGUA_REPLAY_SPEED", "step", "INTERLINGUA_REPLAY_STEP=SOCKET"),
            ("INTERLINGUA_REPLAY_FAULT", "melt", "half-line-after"),
            ("INTERLINGUA_REPLAY_TURN", "first", "expected a number, found `first`"),
            ("INTERLINGUA_REPLAY_TURN", "0", "the first turn is 1"),
        ] {
            let error = options_from(&[(name, value)]).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
