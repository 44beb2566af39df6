//! What an agent's own command line says that matters to a stand-in. Everything else in it is ignored.

use std::fmt::Write;

use crate::Agent;

/// What a program is asked to do instead of working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    Version,
    Help,
}

/// How an agent was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) probe: Option<Probe>,
    /// The session that the host wants to go on with, or chose the name of.
    pub(crate) session: Option<String>,
    /// Whether messages come over standard input, rather than one on the command line.
    pub(crate) talks: bool,
    /// Codex only: `app-server` or `exec`; absent when it is not said.
    pub(crate) mode: Option<&'static str>,
    /// OpenCode only: where to listen.
    pub(crate) hostname: Option<String>,
    pub(crate) port: Option<u16>,
}

impl Launch {
    /// Reads the words after the program's name.
    pub(crate) fn read(agent: Agent, words: &[String]) -> Self {
        let mut launch = Self { talks: agent == Agent::Codex, ..Self::default() };
        let mut words = words.iter().map(String::as_str).peekable();
        let mut forks = false;
        while let Some(word) = words.next() {
            if word == "--" {
                break;
            }
            let (flag, joined) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
                _ => (word, None),
            };
            let mut value = || joined.or_else(|| words.next_if(|next| !next.starts_with('-'))).map(str::to_owned);
            match (agent, flag) {
                (_, "--version") | (Agent::Codex | Agent::Amp, "-V") | (Agent::Claude | Agent::OpenCode, "-v") => {
                    launch.probe = Some(Probe::Version);
                }
                (_, "--help" | "-h") => launch.probe = Some(Probe::Help),
                (Agent::Claude, "--session-id" | "--resume" | "-r") | (Agent::Amp, "continue" | "c") => {
                    launch.session = value();
                }
                (Agent::Claude, "--fork-session") => forks = true,
                (Agent::Claude, "--input-format") => launch.talks = value().as_deref() == Some("stream-json"),
                (Agent::Amp, "--stream-json-input") => launch.talks = true,
                (Agent::Codex, "app-server") => launch.mode = launch.mode.or(Some("app-server")),
                (Agent::Codex, "exec" | "e") => launch.mode = launch.mode.or(Some("exec")),
                (Agent::OpenCode, "--port") => launch.port = value().and_then(|port| port.parse().ok()),
                (Agent::OpenCode, "--hostname") => launch.hostname = value(),
                _ => {}
            }
        }
        if forks {
            // The fork has an id that nobody knows beforehand.
            launch.session = None;
        }
        launch
    }

    /// What the agent prints for a probe.
    pub(crate) fn printed(agent: Agent, probe: Probe, version: &str) -> String {
        match (probe, agent) {
            (Probe::Version, Agent::Claude) => format!("{version} (Claude Code)"),
            (Probe::Version, Agent::Codex) => format!("codex-cli {version}"),
            (Probe::Version, Agent::OpenCode | Agent::Amp) => version.to_owned(),
            (Probe::Help, _) => help(agent),
        }
    }
}

/// The flags that hosts look for, in the layout that they look for them in.
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
    };
    let mut text = format!("Usage: {usage}\n");
    for (title, words) in [("Commands", commands), ("Options", flags)] {
        if !words.is_empty() {
            let _ = writeln!(text, "\n{title}:\n  {}", words.join("\n  "));
        }
    }
    text.push_str("\nThis is interlingua-replay, which plays a recording in place of the agent.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(agent: Agent, line: &str) -> Launch {
        Launch::read(agent, &line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn what_matters_is_found_among_what_does_not() {
        let claude = read(Agent::Claude, "-p --input-format stream-json --verbose --resume=abc --model opus");
        assert_eq!((claude.talks, claude.session.as_deref()), (true, Some("abc")));
        assert_eq!(read(Agent::Claude, "--resume abc --fork-session").session, None);
        assert_eq!(read(Agent::Claude, "--print -- --version").probe, None);
        let amp = read(Agent::Amp, "--no-ide threads continue T-1 -x go --stream-json");
        assert_eq!((amp.talks, amp.session.as_deref()), (false, Some("T-1")));
        let opencode = read(Agent::OpenCode, "serve --port 18000 --hostname=127.0.0.1");
        assert_eq!((opencode.port, opencode.hostname.as_deref()), (Some(18000), Some("127.0.0.1")));
        assert_eq!(read(Agent::Codex, "-c model=x app-server").mode, Some("app-server"));
        assert_eq!(read(Agent::Codex, "-V").probe, Some(Probe::Version));
    }

    #[test]
    fn a_version_looks_as_the_agent_prints_it() {
        let version = |agent| Launch::printed(agent, Probe::Version, "1.2.3");
        assert_eq!(version(Agent::Claude), "1.2.3 (Claude Code)");
        assert_eq!(version(Agent::Codex), "codex-cli 1.2.3");
        assert_eq!(version(Agent::OpenCode), "1.2.3");
    }
}
