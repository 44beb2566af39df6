//! The parts of an agent's command line that matter to a stand-in. All other arguments are ignored.

use std::fmt::Write;

use crate::Agent;

/// A request for information instead of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    Version,
    Help,
}

/// An agent's command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandLine {
    pub(crate) probe: Option<Probe>,
    /// Id of the session to resume, or the id that the host chose for a new one.
    pub(crate) session: Option<String>,
    /// Whether messages come over standard input instead of one on the command line.
    pub(crate) reads_messages: bool,
    /// Codex only: `app-server` or `exec`; `None` if neither is given.
    pub(crate) mode: Option<&'static str>,
    /// OpenCode only: host name to listen on.
    pub(crate) hostname: Option<String>,
    /// OpenCode only: port to listen on.
    pub(crate) port: Option<u16>,
}

impl CommandLine {
    /// Parses the arguments after the program's name.
    pub(crate) fn parse(agent: Agent, arguments: &[String]) -> Self {
        let mut command_line = Self { reads_messages: matches!(agent, Agent::Codex | Agent::Acp), ..Self::default() };
        let mut arguments = arguments.iter().map(String::as_str).peekable();
        let mut is_fork = false;
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                break;
            }
            let (flag, joined) = match argument.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
                _ => (argument, None),
            };
            let mut value = || joined.or_else(|| arguments.next_if(|next| !next.starts_with('-'))).map(str::to_owned);
            match (agent, flag) {
                (_, "--version") | (Agent::Codex | Agent::Amp, "-V") | (Agent::Claude | Agent::OpenCode, "-v") => {
                    command_line.probe = Some(Probe::Version);
                }
                (_, "--help" | "-h") => command_line.probe = Some(Probe::Help),
                (Agent::Claude, "--session-id" | "--resume" | "-r") | (Agent::Amp, "continue" | "c") => {
                    command_line.session = value();
                }
                (Agent::Claude, "--fork-session") => is_fork = true,
                (Agent::Claude, "--input-format") => {
                    command_line.reads_messages = value().as_deref() == Some("stream-json");
                }
                (Agent::Amp, "--stream-json-input") => command_line.reads_messages = true,
                (Agent::Codex, "app-server") => command_line.mode = command_line.mode.or(Some("app-server")),
                (Agent::Codex, "exec" | "e") => command_line.mode = command_line.mode.or(Some("exec")),
                (Agent::OpenCode, "--port") => command_line.port = value().and_then(|port| port.parse().ok()),
                (Agent::OpenCode, "--hostname") => command_line.hostname = value(),
                _ => {}
            }
        }
        if is_fork {
            // The id of a fork is not known in advance.
            command_line.session = None;
        }
        command_line
    }

    /// What the agent prints for a probe.
    pub(crate) fn probe_output(agent: Agent, probe: Probe, version: &str) -> String {
        match (probe, agent) {
            (Probe::Version, Agent::Claude) => format!("{version} (Claude Code)"),
            (Probe::Version, Agent::Codex) => format!("codex-cli {version}"),
            (Probe::Version, Agent::OpenCode | Agent::Amp | Agent::Acp) => version.to_owned(),
            (Probe::Help, _) => help(agent),
        }
    }
}

/// Help text with the flags that hosts look for, in the layout that they expect.
fn help(agent: Agent) -> String {
    let (usage, commands, flags): (&str, &[&str], &[&str]) = match agent {
        Agent::Claude => (
            "claude [options] [command] [prompt]",
            &[],
            &[
                "-p, --print",
                "--input-format <format>",
                "--output-format <format>",
                "--include-partial-messages",
                "--verbose",
                "--permission-mode <mode>",
                "--permission-prompt-tool <tool>",
                "--replay-user-messages",
                "--model <model>",
                "--fallback-model <model>",
                "--mcp-config <configs...>",
                "--settings <file-or-json>",
                "--allowedTools <tools...>",
                "--add-dir <directories...>",
                "--session-id <uuid>",
                "-r, --resume [value]",
                "--fork-session",
                "--dangerously-skip-permissions",
                "-v, --version",
                "-h, --help",
            ],
        ),
        Agent::Codex => (
            "codex [OPTIONS] [PROMPT]\n       codex [OPTIONS] <COMMAND> [ARGS]",
            &["exec", "app-server", "login", "help"],
            &["-c, --config <key=value>", "-m, --model <MODEL>", "-C, --cd <DIR>", "-h, --help", "-V, --version"],
        ),
        Agent::OpenCode => (
            "opencode [command] [options]",
            &["serve", "run [message..]", "models [provider]"],
            &["-h, --help", "-v, --version", "--port", "--hostname", "--print-logs", "--log-level"],
        ),
        Agent::Amp => (
            "amp [options] [command]",
            &["threads", "threads continue", "version"],
            &[
                "-V, --version",
                "-x, --execute",
                "-m, --mode <value>",
                "--stream-json",
                "--stream-json-thinking",
                "--stream-json-input",
                "--mcp-config <value>",
                "--settings-file <value>",
                "--log-level <value>",
                "--log-file <value>",
                "--no-ide",
                "--no-notifications",
                "--no-color",
                "-h, --help",
            ],
        ),
        Agent::Acp => ("acp [options]", &[], &["-h, --help", "--version"]),
    };
    let mut text = format!("Usage: {usage}\n");
    for (title, entries) in [("Commands", commands), ("Options", flags)] {
        if !entries.is_empty() {
            let _ = writeln!(text, "\n{title}:\n  {}", entries.join("\n  "));
        }
    }
    text.push_str("\nThis is interlingua-replay, which replays a recording in place of the agent.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(agent: Agent, line: &str) -> CommandLine {
        CommandLine::parse(agent, &line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_relevant_arguments_are_found_among_others() {
        let claude = parse(Agent::Claude, "-p --input-format stream-json --verbose --resume=abc --model opus");
        assert_eq!((claude.reads_messages, claude.session.as_deref()), (true, Some("abc")));
        assert_eq!(parse(Agent::Claude, "--resume abc --fork-session").session, None);
        assert_eq!(parse(Agent::Claude, "--print -- --version").probe, None);
        let amp = parse(Agent::Amp, "--no-ide threads continue T-1 -x go --stream-json");
        assert_eq!((amp.reads_messages, amp.session.as_deref()), (false, Some("T-1")));
        let opencode = parse(Agent::OpenCode, "serve --port 18000 --hostname=127.0.0.1");
        assert_eq!((opencode.port, opencode.hostname.as_deref()), (Some(18000), Some("127.0.0.1")));
        assert_eq!(parse(Agent::Codex, "-c model=x app-server").mode, Some("app-server"));
        assert_eq!(parse(Agent::Codex, "-V").probe, Some(Probe::Version));
    }

    #[test]
    fn a_version_is_printed_in_the_format_of_the_agent() {
        let version = |agent| CommandLine::probe_output(agent, Probe::Version, "1.2.3");
        assert_eq!(version(Agent::Claude), "1.2.3 (Claude Code)");
        assert_eq!(version(Agent::Codex), "codex-cli 1.2.3");
        assert_eq!(version(Agent::OpenCode), "1.2.3");
    }
}
