//! The command line: the prompt of a one-shot run, whether prompts are echoed, whether a session is resumed.

use crate::Launch;

/// What the converter needs of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LaunchArguments {
    /// The prompt of a one-shot run.
    pub(super) prompt: Option<String>,
    /// The agent echoes prompts.
    pub(super) echoes_prompts: bool,
    /// An earlier session is resumed, so the usage totals do not start at zero.
    pub(super) resumes: bool,
}

/// How many values a flag takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlagValues {
    None,
    One,
    /// The next argument, unless it is a flag.
    Optional,
    /// All arguments up to the next flag.
    Many,
}

/// Parses the command line of a process.
pub(super) fn parse(launch: &Launch) -> LaunchArguments {
    let mut arguments = LaunchArguments::default();
    let mut from_stdin = false;
    let mut positional = None;
    let mut args = launch.argv.iter().skip(1).map(String::as_str).peekable();
    while let Some(arg) = args.next() {
        if arg == "--" {
            positional = positional.or_else(|| args.next());
            break;
        }
        if !arg.starts_with('-') || arg.len() == 1 {
            positional = positional.or(Some(arg));
            continue;
        }
        let (flag, mut value) = match arg.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (arg, None),
        };
        let values = if value.is_some() { FlagValues::None } else { flag_values(flag) };
        match values {
            FlagValues::None => {}
            FlagValues::One => value = args.next(),
            FlagValues::Optional => value = args.next_if(|arg| !arg.starts_with('-')),
            FlagValues::Many => while args.next_if(|arg| !arg.starts_with('-')).is_some() {},
        }
        match flag {
            "--replay-user-messages" => arguments.echoes_prompts = true,
            "--resume" | "-r" | "--continue" | "-c" | "--from-pr" | "--teleport" => arguments.resumes = true,
            "--input-format" => from_stdin = value == Some("stream-json"),
            _ => {}
        }
    }
    arguments.prompt = launch.prompt.clone().or_else(|| positional.filter(|_| !from_stdin).map(str::to_owned));
    arguments
}

fn flag_values(flag: &str) -> FlagValues {
    match flag {
        "--add-dir" | "--allowedTools" | "--allowed-tools" | "--betas" | "--channels" | "--disallowedTools"
        | "--disallowed-tools" | "--file" | "--mcp-config" | "--tools" => FlagValues::Many,
        "--debug"
        | "-d"
        | "--from-pr"
        | "--prompt-suggestions"
        | "--remote-control"
        | "--resume"
        | "-r"
        | "--teleport"
        | "--tmux"
        | "--worktree"
        | "-w" => FlagValues::Optional,
        "--agent"
        | "--agents"
        | "--append-system-prompt"
        | "--append-system-prompt-file"
        | "--debug-file"
        | "--effort"
        | "--fallback-model"
        | "--input-format"
        | "--json-schema"
        | "--max-budget-usd"
        | "--max-thinking-tokens"
        | "--max-turns"
        | "--model"
        | "--name"
        | "-n"
        | "--output-format"
        | "--permission-mode"
        | "--permission-prompt-tool"
        | "--plugin-dir"
        | "--resume-session-at"
        | "--session-id"
        | "--setting-sources"
        | "--settings"
        | "--system-prompt"
        | "--system-prompt-file"
        | "--thinking"
        | "--thinking-display" => FlagValues::One,
        _ => FlagValues::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_argv(argv: &[&str]) -> LaunchArguments {
        let argv = argv.iter().map(ToString::to_string).collect();
        parse(&Launch { argv, ..Launch::default() })
    }

    fn prompt(argv: &[&str]) -> Option<String> {
        parse_argv(argv).prompt
    }

    #[test]
    fn the_prompt_is_the_first_argument_that_is_not_a_flag_or_its_value() {
        assert_eq!(
            prompt(&["claude", "-p", "--output-format", "stream-json", "--verbose", "hi"]).as_deref(),
            Some("hi")
        );
        assert_eq!(prompt(&["claude", "hi", "--print"]).as_deref(), Some("hi"));
        assert_eq!(prompt(&["claude", "--print", "--allowedTools", "Bash", "Read", "--", "go"]).as_deref(), Some("go"));
        assert_eq!(prompt(&["claude", "--print", "--model=opus", "--no-such-flag", "hi"]).as_deref(), Some("hi"));
        assert_eq!(prompt(&["claude", "--print", "--resume", "some-id", "hi"]).as_deref(), Some("hi"));
        assert_eq!(prompt(&["claude", "--print", "--", "-- dashes"]).as_deref(), Some("-- dashes"));
        assert_eq!(prompt(&["claude", "--print"]), None);
        assert_eq!(prompt(&[]), None);
    }

    #[test]
    fn with_stream_json_input_the_command_line_has_no_prompt() {
        assert_eq!(prompt(&["claude", "--print", "--input-format", "stream-json", "--prompt-suggestions"]), None);
        assert_eq!(prompt(&["claude", "--input-format=stream-json", "x"]), None);
    }

    #[test]
    fn the_prompt_of_the_launch_takes_precedence() {
        let launch = Launch { prompt: Some("from stdin".into()), ..Launch::default() };
        assert_eq!(parse(&launch).prompt.as_deref(), Some("from stdin"));
    }

    #[test]
    fn resume_and_replay_flags_are_recognized() {
        assert!(parse_argv(&["claude", "-p", "--resume", "id", "hi"]).resumes);
        assert!(parse_argv(&["claude", "-p", "-c", "hi"]).resumes);
        assert!(!parse_argv(&["claude", "-p", "--session-id", "id", "hi"]).resumes);
        assert!(parse_argv(&["claude", "-p", "--replay-user-messages"]).echoes_prompts);
    }
}
