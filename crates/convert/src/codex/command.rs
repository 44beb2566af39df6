//! The command inside the shell that Codex wraps it in.

use std::borrow::Cow;

use interlingua_native::codex::CommandAction;
use shlex::Shlex;

/// Shells that a command may be wrapped in.
const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];

/// What is run, without the shell around it: `/bin/bash -lc 'cat a.txt'` runs `cat a.txt`. Anything else is the
/// command itself.
pub(super) fn unwrapped(command: &str) -> Cow<'_, str> {
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
    only_word(script.trim_start()).map_or(Cow::Borrowed(command), Cow::Owned)
}

/// The command as a person would type it. Where its shell is not known, Codex may have found the command in it; what it
/// finds is only a part where there are pipes, so it counts only if it is the one command there is.
pub(super) fn as_typed(command: &str, actions: &[CommandAction]) -> Option<String> {
    let typed = unwrapped(command);
    if matches!(typed, Cow::Borrowed(_))
        && let [CommandAction::Unknown2(action)] = actions
        && let Some(found) = action.command.as_deref().filter(|found| !found.is_empty())
        && command.contains(found)
    {
        return Some(found.to_owned());
    }
    Some(typed.into_owned()).filter(|typed| !typed.is_empty())
}

/// The one shell word that a text is, without its quotes; `None` if it is not exactly one.
fn only_word(text: &str) -> Option<String> {
    let mut words = Shlex::new(text);
    let word = words.next()?;
    (words.next().is_none() && !words.had_error).then_some(word)
}

/// A command given as words, as one line.
pub(super) fn joined(words: &[String]) -> String {
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
            assert_eq!(unwrapped(wrapped), command);
        }
    }

    #[test]
    fn anything_else_stays() {
        for command in
            ["ls", "git status -s", "bash script.sh arg", "bash -lc 'a' b", "bash -lc 'open", "python -c 'x'"]
        {
            assert_eq!(unwrapped(command), command);
        }
    }
}
