//! A process that takes the place of an agent.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedSender};

use crate::command_line::CommandLine;
use crate::faulty_output::{FaultyOutput, exit_process};
use crate::id_map::IdMap;
use crate::message::HostMessage;
use crate::options::RECORDING_VARIABLE;
use crate::player::{Player, StateFile};
use crate::script::{Action, Script};
use crate::source::{SavedState, Source, SourceError, find_next_start, find_turn};
use crate::state::ReplayState;
use crate::transport::{Http, Incoming, Stdio, Transport};
use crate::{Agent, Fault, ReplayOptions};

/// Takes the place of an agent until its process has to exit. The environment configures it. `arguments` is the agent's
/// command line without the program.
///
/// # Errors
///
/// When there is no recording to replay, or the configuration is invalid. The message is for the user.
pub async fn run_stand_in(agent: Agent, arguments: &[String]) -> Result<(), String> {
    let variable = |name: &str| std::env::var_os(name);
    let path = variable(RECORDING_VARIABLE).filter(|path| !path.is_empty()).ok_or_else(|| {
        format!(
            "no recording: set {RECORDING_VARIABLE} to a wirelog of {agent}, or to a folder with one \
             (this is a stand-in for `{agent}`)"
        )
    })?;
    let options = ReplayOptions::from_env(variable)?;
    replay(Path::new(&path), Some(agent), Some(arguments), options).await
}

/// Replays a recording, or the recordings of an agent in a folder, on this process's own input and output, and exits as
/// the agent did. Without `arguments` the recorded command line counts.
///
/// # Errors
///
/// When it cannot be replayed. The message is for the user.
pub async fn replay(
    path: &Path,
    agent: Option<Agent>,
    arguments: Option<&[String]>,
    options: ReplayOptions,
) -> Result<(), String> {
    options.validate()?;
    let command_line = match (agent, arguments) {
        (Some(agent), Some(arguments)) => CommandLine::parse(agent, arguments),
        _ => CommandLine::default(),
    };
    let source = Source::open(path, agent, &command_line).map_err(|error| error.to_string())?;
    let first = &source.recordings[0];
    let recorded = CommandLine::parse(first.agent, first.header.argv.get(1..).unwrap_or_default());
    let command_line = match arguments {
        Some(arguments) => CommandLine::parse(first.agent, arguments),
        None => recorded.clone(),
    };
    let mut scripts = source.scripts();
    if let Some(probe) = command_line.probe {
        println!("{}", CommandLine::probe_output(first.agent, probe, &scripts[0].version));
        return Ok(());
    }
    for fault in &options.faults {
        if let Fault::ExitAtStart { code } = fault {
            eprintln!("{}: fault {fault}", first.agent);
            exit_process(*code);
        }
    }
    let (process, step, ids) = find_start(&scripts, &options).map_err(|error| error.to_string())?;
    let script = scripts.swap_remove(process);
    let state_file = options.state_file.clone().map(|path| StateFile { path, process });
    let (sender, incoming) = mpsc::unbounded_channel();
    forward_signals(&sender).map_err(|error| format!("cannot handle signals: {error}"))?;
    let agent = script.agent;
    let greeting = script.greeting.clone();
    let credentials = Http::credentials(|name| std::env::var(name).ok()).filter(|_| agent == Agent::OpenCode);
    let state = build_state(script, step, ids, &command_line, recorded.session.as_deref(), credentials.is_some());
    let transport = if agent == Agent::OpenCode {
        let http = Http::open(&command_line, credentials, greeting, sender).await;
        Transport::Http(http.map_err(|error| format!("cannot listen: {error}"))?)
    } else {
        Transport::Stdio(Stdio::open(agent, sender))
    };
    let output = FaultyOutput::new(agent, transport, options.faults.clone());
    let player = Player::new(agent, state, output, incoming, options, state_file);
    let player = player.map_err(|error| format!("cannot open the step socket or the journal: {error}"))?;
    exit_process(player.run().await)
}

/// Finds the process, the step and the ids to start with. A state file is advanced to the start, so that the next
/// process starts after it.
fn find_start(scripts: &[Script], options: &ReplayOptions) -> Result<(usize, usize, IdMap), SourceError> {
    if let Some(turn) = options.start_turn {
        let (process, step) = find_turn(scripts, turn)?;
        return Ok((process, step, IdMap::default()));
    }
    let Some(path) = &options.state_file else {
        return Ok((0, 0, IdMap::default()));
    };
    let start = SavedState::update(path, |state| {
        let start = match &state {
            None => Some((0, 0)),
            Some(state) => find_next_start(scripts, state),
        };
        let ids = state.map(|state| state.ids).unwrap_or_default();
        match start {
            Some((process, step)) => (Some(SavedState { process, step, ids: ids.clone() }), Some((process, step, ids))),
            None => (None, None),
        }
    })?;
    start.ok_or_else(|| SourceError::AllPlayed { path: path.clone() })
}

/// Builds the state of a replay for the command line with which the stand-in was started.
fn build_state(
    mut script: Script,
    step: usize,
    mut ids: IdMap,
    command_line: &CommandLine,
    recorded_session: Option<&str>,
    has_password: bool,
) -> ReplayState {
    let agent = script.agent;
    if let Some(session) = &command_line.session {
        let first = script.steps.iter().find_map(|step| match &step.action {
            Action::Send(line) => line.info.session.as_deref(),
            _ => None,
        });
        if let Some(recorded) = recorded_session.or(first) {
            ids.bind(recorded, session);
        }
    }
    if has_password {
        script.remove_unauthorized_requests();
    }
    if agent.descriptor().process_model.is_shared() {
        return ReplayState::new(script, step, ids);
    }
    if command_line.reads_messages && script.is_one_shot() {
        script.expect_prompt();
    }
    let has_prompt = !command_line.reads_messages && !script.is_one_shot();
    let mut state = ReplayState::new(script, step, ids);
    if has_prompt {
        // The prompt is on the command line, and no other message follows.
        state.push(HostMessage::prompt());
        state.end_input();
    }
    state
}

/// Forwards SIGINT and SIGTERM to the player.
fn forward_signals(incoming: &UnboundedSender<Incoming>) -> io::Result<()> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut terminations = signal(SignalKind::terminate())?;
    let incoming = incoming.clone();
    tokio::spawn(async move {
        loop {
            let sent = tokio::select! {
                _ = interrupts.recv() => incoming.send(Incoming::Interrupt),
                _ = terminations.recv() => incoming.send(Incoming::Terminate),
            };
            if sent.is_err() {
                break;
            }
        }
    });
    Ok(())
}

/// Creates stand-ins for all agents in a folder: links with their names to `program`, which must be the
/// `interlingua-replay` binary. With the folder first in `PATH` and `INTERLINGUA_REPLAY` set, starting `claude` starts
/// a stand-in. Existing links are replaced; other existing files are not.
///
/// # Errors
///
/// When the folder or a link cannot be created, or a file that is not a link has the name of an agent.
pub fn make_stand_ins(program: &Path, folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let program = fs::canonicalize(program)?;
    let mut links = Vec::new();
    for agent in Agent::ALL {
        let link = folder.join(agent.id());
        match fs::symlink_metadata(&link) {
            Ok(found) if found.is_symlink() => fs::remove_file(&link)?,
            Ok(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    format!("{} exists and is not a link; it was not replaced", link.display()),
                ));
            }
            Err(_) => {}
        }
        std::os::unix::fs::symlink(&program, &link)?;
        links.push(link);
    }
    Ok(links)
}

/// The environment variables that configure a stand-in to replay a recording with these options.
#[must_use]
pub fn stand_in_environment(path: &Path, options: &ReplayOptions) -> Vec<(String, OsString)> {
    let mut variables = vec![(RECORDING_VARIABLE.to_owned(), path.as_os_str().to_owned())];
    let mut add = |name: &str, value: OsString| variables.push((format!("{RECORDING_VARIABLE}_{name}"), value));
    add("SPEED", format!("{:?}", options.speed).to_lowercase().into());
    add("HOST_TIMEOUT", options.host_timeout.as_millis().to_string().into());
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
