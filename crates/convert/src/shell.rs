//! Commands without the shell in which agents wrap them.

use std::borrow::Cow;

use shlex::Shlex;

/// Shells that may wrap a command.
const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];

/// Command without its shell: `/bin/bash -lc 'cat a.txt'` becomes `cat a.txt`. Any other command is returned unchanged.
pub(crate) fn unwrap_shell(command: &str) -> Cow<'_, str> {
    let Some((shell, rest)) = command.split_once(' ') else {
        return Cow::Borrowed(command);
    };
    let name = shell.rsplit('/').next().unwrap_or(shell);
    let Some((flag, script)) = rest.trim_start().split_once(' ') else {
        return Cow::Borrowed(command);
    };
    if !SHELLS.contains(&name) || !matches!(flag, "-c" | "-lc") {
        return Cow::Borrowed(command);
    }
    parse_single_word(script.trim_start()).map_or(Cow::Borrowed(command), Cow::Owned)
}

/// Parses a text that is exactly one shell word and removes its quotes; `None` for anything else.
fn parse_single_word(text: &str) -> Option<String> {
    let mut words = Shlex::new(text);
    let word = words.next()?;
    (words.next().is_none() && !words.had_error).then_some(word)
}

/// Joins the words of a command to one line, without its shell.
pub(crate) fn join_words(words: &[String]) -> String {
    match words {
        [shell, flag, script]
            if matches!(flag.as_str(), "-c" | "-lc")
                && SHELLS.contains(&shell.rsplit('/').next().unwrap_or_default()) =>
        {
            script.clone()
        }
        words => words.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_command_is_unwrapped() {
        for (wrapped, command) in [
            ("/bin/bash -lc 'echo a; echo b >&2'", "echo a; echo b >&2"),
            ("/bin/bash -lc ls", "ls"),
            (r#"/usr/bin/zsh -lc "python3 -c \"print('x')\"""#, r#"python3 -c "print('x')""#),
            (r"bash -c 'it'\''s'", "it's"),
            (r#"bash -lc "a\\n\b""#, r"a\n\b"),
        ] {
            assert_eq!(unwrap_shell(wrapped), command);
        }
    }

    #[test]
    fn a_command_without_a_known_shell_is_unchanged() {
        for command in
            ["ls", "git status -s", "bash script.sh arg", "bash -lc 'a' b", "bash -lc 'open", "python -c 'x'"]
        {
            assert_eq!(unwrap_shell(command), command);
        }
    }
}
