//! Command line of `codex exec`.

/// Options of `codex exec` that take a value.
const OPTIONS_WITH_VALUE: &[&str] = &[
    "-a",
    "-c",
    "-i",
    "-o",
    "-p",
    "-s",
    "--add-dir",
    "--ask-for-approval",
    "--color",
    "--config",
    "--disable",
    "--enable",
    "--image",
    "--local-provider",
    "--output-last-message",
    "--output-schema",
    "--profile",
    "--sandbox",
];

/// Arguments of `codex exec` that describe the run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) prompt: Option<String>,
    pub(super) is_resumed: bool,
    pub(super) model: Option<String>,
    pub(super) cwd: Option<String>,
}

impl Arguments {
    pub(super) fn parse(arguments: &[String]) -> Self {
        let mut positional: Vec<&str> = Vec::new();
        let mut resumes_last = false;
        let (mut model, mut cwd) = (None, None);
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            match argument {
                "--" => positional.extend(arguments.by_ref()),
                "--last" => resumes_last = true,
                "-m" | "--model" => model = arguments.next().map(str::to_owned),
                "-C" | "--cd" => cwd = arguments.next().filter(|path| path.starts_with('/')).map(str::to_owned),
                argument if OPTIONS_WITH_VALUE.contains(&argument) => {
                    arguments.next();
                }
                argument if argument.len() > 1 && argument.starts_with('-') => {}
                argument => positional.push(argument),
            }
        }
        let is_resumed = positional.first() == Some(&"resume");
        // `resume` is followed by the id of a thread, unless `--last` is given.
        let prompt_index = match (is_resumed, resumes_last) {
            (true, true) => 1,
            (true, false) => 2,
            (false, _) => 0,
        };
        let prompt = positional.get(prompt_index).filter(|prompt| **prompt != "-").map(|prompt| (*prompt).to_owned());
        Self { prompt, is_resumed, model, cwd }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Arguments {
        Arguments::parse(&line.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn prompt_model_and_directory_come_from_the_command_line() {
        let prompt = |prompt: &str| Arguments { prompt: Some(prompt.to_owned()), ..Arguments::default() };
        let (model, cwd) = (Some("gpt".to_owned()), Some("/w".to_owned()));
        let both = Arguments { model, cwd, ..prompt("fix it") };
        assert_eq!(parse(&["--json", "-m", "gpt", "--cd", "/w", "fix it"]), both);
        assert_eq!(parse(&["--json", "--", "--odd"]), prompt("--odd"));
        assert_eq!(parse(&["--json"]), Arguments::default());
        assert_eq!(parse(&["--json", "-"]), Arguments::default());
        assert_eq!(parse(&["resume", "id", "go on"]), Arguments { is_resumed: true, ..prompt("go on") });
        assert_eq!(parse(&["resume", "--last", "go on"]), Arguments { is_resumed: true, ..prompt("go on") });
    }
}
