//! What the command line tells: the prompt of a one-shot run, whether prompts are repeated, whether a session goes on.

use crate::Launch;

/// What a process was started with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Started {
    /// The prompt of a one-shot run.
    pub(super) prompt: Option<String>,
    /// The agent repeats what it is told.
    pub(super) repeats_prompts: bool,
    /// An earlier session goes on, so that its totals do not begin at zero.
    pub(super) resumed: bool,
}

/// How many words a flag takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    None,
    One,
    /// One, if the next word is no flag.
    Perhaps,
    /// All words up to the next flag.
    Many,
}

pub(super) fn read(launch: &Launch) -> Started {
    let mut started = Started::default();
    let mut from_stdin = false;
    let mut positional = None;
    let mut words = launch.argv.iter().skip(1).map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            positional = positional.or_else(|| words.next());
            break;
        }
        if !word.starts_with('-') || word.len() == 1 {
            positional = positional.or(Some(word));
            continue;
        }
        let (flag, mut value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (word, None),
        };
        let takes = if value.is_some() { Takes::None } else { takes(flag) };
        match takes {
            Takes::None => {}
            Takes::One => value = words.next(),
            Takes::Perhaps => value = words.next_if(|word| !word.starts_with('-')),
            Takes::Many => while words.next_if(|word| !word.starts_with('-')).is_some() {},
        }
        match flag {
            "--replay-user-messages" => started.repeats_prompts = true,
            "--resume" | "-r" | "--continue" | "-c" | "--from-pr" | "--teleport" => started.resumed = true,
            "--input-format" => from_stdin = value == Some("stream-json"),
            _ => {}
        }
    }
    started.prompt = launch.prompt.clone().or_else(|| positional.filter(|_| !from_stdin).map(str::to_owned));
    started
}

fn takes(flag: &str) -> Takes {
    match flag {
        "--add-dir" | "--allowedTools" | "--allowed-tools" | "--betas" | "--channels" | "--disallowedTools"
        | "--disallowed-tools" | "--file" | "--mcp-config" | "--tools" => Takes::Many,
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
        | "-w" => Takes::Perhaps,
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
        | "--thinking-display" => Takes::One,
        _ => Takes::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(argv: &[&str]) -> Started {
        let argv = argv.iter().map(ToString::to_string).collect();
        read(&Launch { argv, ..Launch::default() })
    }

    fn prompt(argv: &[&str]) -> Option<String> {
        started(argv).prompt
    }

    #[test]
    fn the_prompt_is_the_word_that_belongs_to_no_flag() {
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
    fn with_stream_input_the_prompts_are_sent() {
        assert_eq!(prompt(&["claude", "--print", "--input-format", "stream-json", "--prompt-suggestions"]), None);
        assert_eq!(prompt(&["claude", "--input-format=stream-json", "x"]), None);
    }

    #[test]
    fn the_header_knows_the_prompt_better() {
        let launch = Launch { prompt: Some("from stdin".into()), ..Launch::default() };
        assert_eq!(read(&launch).prompt.as_deref(), Some("from stdin"));
    }

    #[test]
    fn resuming_and_repeating_are_seen() {
        assert!(started(&["claude", "-p", "--resume", "id", "hi"]).resumed);
        assert!(started(&["claude", "-p", "-c", "hi"]).resumed);
        assert!(!started(&["claude", "-p", "--session-id", "id", "hi"]).resumed);
        assert!(started(&["claude", "-p", "--replay-user-messages"]).repeats_prompts);
    }
}
