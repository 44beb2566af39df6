//! The `interlingua-replay` binary. Called by the name of an agent, it is that agent's stand-in.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use interlingua_replay::{Agent, Fault, ReplayOptions, Speed, make_stand_ins, replay, run_stand_in};

/// Replays a recorded transcript as if it were the agent.
///
/// The agent's lines come in recorded order. Where the recording shows a message of the host, the stand-in waits until
/// the host sends a message with the same meaning.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  Talk to a recorded Codex yourself, or pipe a host to it:
    interlingua-replay play codex/approve_exec.jsonl
  Replay a recording in place of every `claude` that a program starts:
    interlingua-replay stand-ins /tmp/agents
    PATH=/tmp/agents:$PATH INTERLINGUA_REPLAY=perm-allow.jsonl my-host
  Exit with code 7 after the third line:
    interlingua-replay play text.jsonl --fault die-after=3:7
  Play one line for each newline written to a socket, which reports what was played:
    interlingua-replay play text.jsonl --speed step --step /tmp/steps";

#[derive(Subcommand)]
enum Command {
    /// Replays a recording on standard input and output, or over HTTP for OpenCode.
    Play(Play),
    /// Creates links named claude, codex, opencode, amp and acp to this program.
    ///
    /// Called by such a name, the program reads its settings from the environment: `INTERLINGUA_REPLAY` (a wirelog, or
    /// a folder of them), and `INTERLINGUA_REPLAY_SPEED`, `_FAULT` (separated by commas), `_STEP`, `_STATE`, `_TURN`,
    /// `_HOST_TIMEOUT` and `_JOURNAL`, which correspond to the options of `play`.
    StandIns {
        /// Folder to create the links in; put it first in PATH.
        folder: PathBuf,
    },
}

#[derive(Args)]
struct Play {
    /// A wirelog, or a folder whose recordings are played one after the other.
    recording: PathBuf,
    /// Speed of the replay.
    #[arg(long, value_enum, default_value = "fast")]
    speed: Speed,
    /// Fault to inject, and after how many lines: exit-at-start[:CODE], die-after=N[:CODE], hang-after=N[:deaf],
    /// garbage-after=N, long-line-after=N[:BYTES], invalid-utf8-after=N, half-line-after=N[:CODE]. May be repeated.
    #[arg(long, value_name = "FAULT")]
    fault: Vec<Fault>,
    /// Unix socket to create, for `--speed step`: each newline written to it plays one line.
    #[arg(long, value_name = "SOCKET")]
    step: Option<PathBuf>,
    /// File that stores how far the recording was played; the next process continues from there.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Turn to start at; the first is 1.
    #[arg(long, value_name = "N", conflicts_with = "state")]
    turn: Option<usize>,
    /// How long to wait for a message that a host may omit, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    host_timeout: u64,
    /// File to which the messages of the host and the reactions to them are appended.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// The agent's own command line, such as `serve --port 8080`; by default the recorded one.
    #[arg(last = true)]
    words: Vec<String>,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let outcome = match called_as() {
        Some(agent) => run_stand_in(agent, &std::env::args().skip(1).collect::<Vec<_>>()).await,
        None => run(Cli::parse()).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("interlingua-replay: {error}");
            ExitCode::from(2)
        }
    }
}

/// The agent by whose name this program was called.
fn called_as() -> Option<Agent> {
    std::env::args_os().next().and_then(|program| Agent::from_program(program.as_ref()))
}

async fn run(cli: Cli) -> Result<(), String> {
    match cli.command {
        Command::Play(args) => {
            let mut options = ReplayOptions::default();
            options.speed = args.speed;
            options.faults = args.fault;
            options.step_socket = args.step;
            options.state_file = args.state;
            options.start_turn = args.turn;
            options.host_timeout = Duration::from_millis(args.host_timeout);
            options.journal_file = args.journal;
            let arguments = (!args.words.is_empty()).then_some(args.words.as_slice());
            replay(&args.recording, None, arguments, options).await
        }
        Command::StandIns { folder } => {
            let program = std::env::current_exe().map_err(|error| error.to_string())?;
            let links = make_stand_ins(&program, &folder).map_err(|error| error.to_string())?;
            for link in links {
                println!("{}", link.display());
            }
            Ok(())
        }
    }
}
