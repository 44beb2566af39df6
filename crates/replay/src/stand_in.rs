//! A process that passes for an agent.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedSender};

use crate::ids::Ids;
use crate::launch::Launch;
use crate::mouth::{Mouth, leave};
use crate::options::RECORDING;
use crate::performer::{Performer, Progress};
use crate::play::Play;
use crate::said::{Role, Said};
use crate::script::{Act, Script};
use crate::source::{Source, SourceError, State, start_after, start_of_turn};
use crate::stage::{Http, Incoming, Stage, Stdio};
use crate::{Agent, Fault, ReplayOptions};

/// Passes for an agent, set up by the environment, until it is time to leave. `words` is the agent's command line
/// without its first word.
///
/// # Errors
///
/// When there is nothing to play, or not that way; the text is for the user.
pub async fn run_stand_in(agent: Agent, words: &[String]) -> Result<(), String> {
    let variable = |name: &str| std::env::var_os(name);
    let path = variable(RECORDING).filter(|path| !path.is_empty()).ok_or_else(|| {
        format!("no recording: set {RECORDING} to a wirelog of {agent}, or to a folder with one (this is a stand-in for `{agent}`)")
    })?;
    let options = ReplayOptions::from_env(variable)?;
    replay(Path::new(&path), Some(agent), Some(words), options).await
}

/// Plays a recording, or the recordings of an agent in a folder, on this process's own input and output, and leaves
/// as the agent did. Without `words` the agent counts as started the way it was recorded.
///
/// # Errors
///
/// When it cannot be played; the text is for the user.
pub async fn replay(
    path: &Path,
    agent: Option<Agent>,
    words: Option<&[String]>,
    options: ReplayOptions,
) -> Result<(), String> {
    options.validate()?;
    let launch = match (agent, words) {
        (Some(agent), Some(words)) => Launch::read(agent, words),
        _ => Launch::default(),
    };
    let source = Source::open(path, agent, &launch).map_err(|error| error.to_string())?;
    let first = &source.recordings[0];
    let recorded = Launch::read(first.agent, first.header.argv.get(1..).unwrap_or_default());
    let launch = match words {
        Some(words) => Launch::read(first.agent, words),
        None => recorded.clone(),
    };
    let mut scripts = source.scripts();
    if let Some(probe) = launch.probe {
        println!("{}", Launch::printed(first.agent, probe, &scripts[0].version));
        return Ok(());
    }
    for fault in &options.faults {
        if let Fault::ExitAtStart { code } = fault {
            eprintln!("{}: fault {fault}", first.agent);
            leave(*code);
        }
    }
    let (process, step, ids) = start(&scripts, &options).map_err(|error| error.to_string())?;
    let script = scripts.swap_remove(process);
    let progress = options.state_file.clone().map(|path| Progress { path, process });
    let (send, incoming) = mpsc::unbounded_channel();
    heed_signals(&send).map_err(|error| format!("cannot heed signals: {error}"))?;
    let agent = script.agent;
    let greeting = script.greeting.clone();
    let credentials = Http::credentials(|name| std::env::var(name).ok()).filter(|_| agent == Agent::OpenCode);
    let play = set(script, step, ids, &launch, recorded.session.as_deref(), credentials.is_some());
    let stage = if agent == Agent::OpenCode {
        let http = Http::open(&launch, credentials, greeting, send).await;
        Stage::Http(http.map_err(|error| format!("cannot listen: {error}"))?)
    } else {
        Stage::Stdio(Stdio::open(agent, send))
    };
    let mouth = Mouth::new(agent, stage, options.faults.clone());
    let performer = Performer::new(agent, play, mouth, incoming, options, progress);
    let performer = performer.map_err(|error| format!("cannot open the step socket or the journal: {error}"))?;
    leave(performer.perform().await)
}

/// Where to start. With a state file, that much is taken: the next process starts after it.
fn start(scripts: &[Script], options: &ReplayOptions) -> Result<(usize, usize, Ids), SourceError> {
    if let Some(turn) = options.start_turn {
        let (process, step) = start_of_turn(scripts, turn)?;
        return Ok((process, step, Ids::default()));
    }
    let Some(path) = &options.state_file else {
        return Ok((0, 0, Ids::default()));
    };
    let started = State::update(path, |state| {
        let start = match &state {
            None => Some((0, 0)),
            Some(state) => start_after(scripts, state),
        };
        let ids = state.map(|state| state.ids).unwrap_or_default();
        match start {
            Some((process, step)) => (Some(State { process, step, ids: ids.clone() }), Some((process, step, ids))),
            None => (None, None),
        }
    })?;
    started.ok_or_else(|| SourceError::Over { path: path.clone() })
}

/// Sets the play up for the way in which the agent was started.
fn set(
    mut script: Script,
    step: usize,
    mut ids: Ids,
    launch: &Launch,
    recorded_session: Option<&str>,
    has_password: bool,
) -> Play {
    let agent = script.agent;
    if let Some(session) = &launch.session {
        let first = script.steps.iter().find_map(|step| match &step.act {
            Act::Say(line) => line.sense.session.as_deref(),
            _ => None,
        });
        if let Some(recorded) = recorded_session.or(first) {
            ids.bind(recorded, session);
        }
    }
    if has_password {
        script.without_refusals();
    }
    if agent.descriptor().process_model.is_shared() {
        return Play::new(script, step, ids);
    }
    if launch.talks && script.is_one_shot() {
        script.wait_for_message();
    }
    let prompt_sent = !launch.talks && !script.is_one_shot();
    let mut play = Play::new(script, step, ids);
    if prompt_sent {
        // The message is on the command line, and there will be no other.
        play.hear(Said { begins_turn: true, ..Said::new("message", Role::Flow) });
        play.end_input();
    }
    play
}

fn heed_signals(incoming: &UnboundedSender<Incoming>) -> io::Result<()> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut terminations = signal(SignalKind::terminate())?;
    let incoming = incoming.clone();
    tokio::spawn(async move {
        loop {
            let sent = tokio::select! {
                _ = interrupts.recv() => incoming.send(Incoming::Interrupted),
                _ = terminations.recv() => incoming.send(Incoming::Terminated),
            };
            if sent.is_err() {
                break;
            }
        }
    });
    Ok(())
}

/// Makes stand-ins for all agents in a folder: links with their names to `program`, which must be the
/// `interlingua-replay` binary. With the folder first in `PATH` and `INTERLINGUA_REPLAY` set, whoever starts `claude`
/// gets a stand-in. Links that are there already are replaced; a file that is no link is not.
///
/// # Errors
///
/// When the folder or a link cannot be made.
pub fn make_stand_ins(program: &Path, folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let program = fs::canonicalize(program)?;
    let mut made = Vec::new();
    for agent in Agent::ALL {
        let link = folder.join(agent.id());
        match fs::symlink_metadata(&link) {
            Ok(found) if found.is_symlink() => fs::remove_file(&link)?,
            Ok(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    format!("{} is there and is no link; it was left alone", link.display()),
                ));
            }
            Err(_) => {}
        }
        std::os::unix::fs::symlink(&program, &link)?;
        made.push(link);
    }
    Ok(made)
}

/// The environment for a stand-in: the variables that make it play a recording in a certain way.
#[must_use]
pub fn stand_in_environment(path: &Path, options: &ReplayOptions) -> Vec<(String, OsString)> {
    let mut variables = vec![(RECORDING.to_owned(), path.as_os_str().to_owned())];
    let mut add = |name: &str, value: OsString| variables.push((format!("{RECORDING}_{name}"), value));
    add("SPEED", format!("{:?}", options.speed).to_lowercase().into());
    add("PATIENCE", options.host_timeout.as_millis().to_string().into());
    if !options.faults.is_empty() {
        let faults: Vec<String> = options.faults.iter().map(ToString::to_string).collect();
        add("FAULT", faults.join(",").into());
    }
    for (name, path) in
        [("STEP", &options.step_socket), ("STATE", &options.state_file), ("JOURNAL", &options.journal_file)]
    {
        if let Some(path) = path {
            add(name, path.clone().into());
        }
    }
    if let Some(turn) = options.start_turn {
        add("TURN", turn.to_string().into());
    }
    variables
}
