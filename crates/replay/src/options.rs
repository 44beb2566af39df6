//! How a recording is played.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::Fault;

/// How fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Speed {
    /// With the pauses that were recorded.
    Recorded,
    /// Without a pause.
    #[default]
    Fast,
    /// One line at a time, each when it is asked for on the step socket.
    Step,
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        <Self as clap::ValueEnum>::from_str(text, false)
            .map_err(|_| format!("speed `{text}`: expected recorded, fast or step"))
    }
}

/// How a recording is played.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReplayOptions {
    /// How fast.
    pub speed: Speed,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Where a Unix socket is made that takes a newline for each line to be played; needed for [`Speed::Step`].
    pub step_socket: Option<PathBuf>,
    /// Where it is kept how far the recording has been played, so that the next process goes on from there. Without
    /// one every process starts at the beginning.
    pub state_file: Option<PathBuf>,
    /// The turn to start at; the first is 1. Not to be had together with `state`.
    pub start_turn: Option<usize>,
    /// How long to wait for something that a host may leave out.
    pub host_timeout: Duration,
    /// A file to which is added what the host said and what was made of it.
    pub journal_file: Option<PathBuf>,
}

impl Default for ReplayOptions {
    /// Fast, from the start, without faults, with a second's patience.
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

/// The environment variable that names the recording, or a folder of recordings.
pub(crate) const RECORDING: &str = "INTERLINGUA_REPLAY";

impl ReplayOptions {
    /// Takes the options from the environment: `INTERLINGUA_REPLAY_SPEED`, `_FAULT` (several with commas), `_STEP`,
    /// `_STATE`, `_TURN`, `_PATIENCE` (milliseconds) and `_JOURNAL`.
    ///
    /// # Errors
    ///
    /// When a variable has a value that means nothing; the text says which, and what was expected.
    pub fn from_env(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let get = |name: &str| variable(&format!("{RECORDING}_{name}")).filter(|value| !value.is_empty());
        let text = |name: &str| get(name).map(|value| value.to_string_lossy().into_owned());
        let number = |name: &str| {
            text(name)
                .map(|value| {
                    value.parse().map_err(|_| format!("{RECORDING}_{name}: expected a number, found `{value}`"))
                })
                .transpose()
        };
        let mut options = Self::default();
        if let Some(speed) = text("SPEED") {
            options.speed = speed.parse().map_err(|error| format!("{RECORDING}_SPEED: {error}"))?;
        }
        for fault in text("FAULT").iter().flat_map(|faults| faults.split(',')) {
            options.faults.push(fault.trim().parse().map_err(|error| format!("{RECORDING}_FAULT: {error}"))?);
        }
        options.step_socket = get("STEP").map(PathBuf::from);
        options.state_file = get("STATE").map(PathBuf::from);
        options.journal_file = get("JOURNAL").map(PathBuf::from);
        options.start_turn = number("TURN")?.and_then(|turn: u64| usize::try_from(turn).ok());
        if let Some(patience) = number("PATIENCE")? {
            options.host_timeout = Duration::from_millis(patience);
        }
        options.validate()?;
        Ok(options)
    }

    /// Whether the options go together.
    ///
    /// # Errors
    ///
    /// When they do not; the text says why.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self { speed: Speed::Step, step_socket: None, .. } => Err(format!(
                "speed step needs a socket to take the steps from: --step SOCKET, or {RECORDING}_STEP=SOCKET"
            )),
            Self { state_file: Some(_), start_turn: Some(_), .. } => {
                Err("a state file says where to start, and so does a turn: give one of them".to_owned())
            }
            Self { start_turn: Some(0), .. } => Err("turn 0: the first turn is 1".to_owned()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(variables: &[(&str, &str)]) -> Result<ReplayOptions, String> {
        ReplayOptions::from_env(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_environment_says_how_to_play() {
        let options = from(&[
            ("INTERLINGUA_REPLAY_SPEED", "recorded"),
            ("INTERLINGUA_REPLAY_FAULT", "die-after=3:7, garbage-after=1"),
            ("INTERLINGUA_REPLAY_TURN", "2"),
            ("INTERLINGUA_REPLAY_PATIENCE", "50"),
        ])
        .unwrap();
        assert_eq!(options.speed, Speed::Recorded);
        assert_eq!(options.faults, [Fault::DieAfter { lines: 3, code: 7 }, Fault::GarbageAfter { lines: 1 }]);
        assert_eq!((options.start_turn, options.host_timeout), (Some(2), Duration::from_millis(50)));
    }

    #[test]
    fn a_wrong_value_is_refused_by_its_name() {
        for (name, value, says) in [
            ("INTERLINGUA_REPLAY_SPEED", "slow", "recorded, fast or step"),
            ("INTERLINGUA_REPLAY_SPEED", "step", "INTERLINGUA_REPLAY_STEP=SOCKET"),
            ("INTERLINGUA_REPLAY_FAULT", "melt", "half-line-after"),
            ("INTERLINGUA_REPLAY_TURN", "first", "expected a number, found `first`"),
            ("INTERLINGUA_REPLAY_TURN", "0", "the first turn is 1"),
        ] {
            let error = from(&[(name, value)]).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
