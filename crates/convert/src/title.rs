//! Titles of tool calls: one line for a person, with the same wording for every agent.

use std::fmt::Write as _;

use interlingua_schema::{ChangeKind, FileChange, MAX_TITLE_CHARS, ToolInput};

use crate::paths::relative_path;

/// Title of a call without a name and input.
const UNNAMED: &str = "Unnamed tool";

/// Title of a call of the tool `name` with this input. Paths below `cwd` are relative to it.
pub(crate) fn call_title(name: &str, input: Option<&ToolInput>, cwd: Option<&str>) -> String {
    let text = match input {
        Some(ToolInput::Command(input)) => ["Run ", input.command.trim()].concat(),
        Some(ToolInput::FileRead(input)) => ["Read ", relative_path(&input.path, cwd)].concat(),
        Some(ToolInput::FileChange(input)) => file_change(&input.changes, cwd),
        Some(ToolInput::Search(input)) => {
            let directory = input.path.as_deref().map(|path| relative_path(path, cwd)).filter(|path| *path != ".");
            match directory {
                Some(directory) => ["Search \"", &input.query, "\" in ", directory].concat(),
                None => ["Search \"", &input.query, "\""].concat(),
            }
        }
        Some(ToolInput::Web(input)) => match (&input.url, &input.query) {
            (Some(url), _) => ["Fetch ", url].concat(),
            (None, Some(query)) => ["Search the web: ", query].concat(),
            (None, None) => name.to_owned(),
        },
        Some(ToolInput::Mcp(input)) => [&input.server, ": ", &input.tool].concat(),
        Some(ToolInput::SubAgent(input)) => ["Sub-agent: ", input.prompt.trim()].concat(),
        Some(ToolInput::Plan(input)) => match input.steps.len() {
            1 => "Plan 1 step".to_owned(),
            steps => format!("Plan {steps} steps"),
        },
        Some(ToolInput::Question(input)) => match input.questions.as_slice() {
            [] => name.to_owned(),
            [question] => ["Ask: ", &question.prompt].concat(),
            [question, more @ ..] => format!("Ask: {} and {} more", question.prompt, more.len()),
        },
        _ => name.to_owned(),
    };
    let title = if is_plain(&text) { text } else { one_line(&text) };
    if title.is_empty() { UNNAMED.to_owned() } else { title }
}

fn file_change(changes: &[FileChange], cwd: Option<&str>) -> String {
    let Some((first, more)) = changes.split_first() else { return "Edit".to_owned() };
    let all = |kind: &ChangeKind| changes.iter().all(|change| change.change.as_ref() == Some(kind));
    let path = relative_path(&first.path, cwd);
    let text = match &first.to {
        _ if all(&ChangeKind::Delete) => ["Delete ", path].concat(),
        Some(to) if all(&ChangeKind::Move) => ["Move ", path, " to ", relative_path(to, cwd)].concat(),
        _ => ["Edit ", path].concat(),
    };
    if more.is_empty() { text } else { format!("{text} and {} more", more.len()) }
}

/// Whether a text can be a title as it is: short, printable ASCII without surrounding white space.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= MAX_TITLE_CHARS
        && bytes.first() != Some(&b' ')
        && bytes.last() != Some(&b' ')
        && bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Puts a text on one line. Control characters are escaped, and a long text is truncated with `…`.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(MAX_TITLE_CHARS * 4));
    for character in text.trim().chars().take(MAX_TITLE_CHARS + 1) {
        match character {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            // Line and paragraph separators also break lines.
            character if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') => {
                // Writing to a string does not fail.
                let _ = write!(line, "\\u{{{:x}}}", u32::from(character));
            }
            character => line.push(character),
        }
    }
    if let Some((end, _)) = line.char_indices().nth(MAX_TITLE_CHARS) {
        let last = line[..end].char_indices().next_back().map_or(0, |(last, _)| last);
        line.truncate(last);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{
        AskedQuestion, CommandInput, FileChangeInput, FileReadInput, McpInput, QuestionInput, SearchInput,
        SubAgentInput, WebInput,
    };
    use serde_json::json;

    use super::*;

    fn changes(changes: &[(&str, Option<ChangeKind>)]) -> ToolInput {
        let change = |(path, kind): &(&str, Option<ChangeKind>)| {
            let mut change = FileChange::new(*path);
            change.change = kind.clone();
            change
        };
        ToolInput::FileChange(FileChangeInput::new(changes.iter().map(change).collect()))
    }

    #[test]
    fn every_kind_of_input_has_a_title() {
        let mut search = SearchInput::new("foo");
        search.path = Some("/w/src".to_owned());
        let question = |prompt: &str| AskedQuestion::new(prompt, Vec::new());
        for (input, expected) in [
            (ToolInput::Command(CommandInput::new("make test\n")), "Run make test"),
            (ToolInput::FileRead(FileReadInput::new("/w/src/lib.rs")), "Read src/lib.rs"),
            (ToolInput::FileRead(FileReadInput::new("/etc/hosts")), "Read /etc/hosts"),
            (changes(&[("/w/a", None)]), "Edit a"),
            (changes(&[("/w/a", None), ("b", None), ("c", Some(ChangeKind::Delete))]), "Edit a and 2 more"),
            (changes(&[("/w/a", Some(ChangeKind::Delete))]), "Delete a"),
            (ToolInput::Search(search), "Search \"foo\" in src"),
            (ToolInput::Search(SearchInput::new("foo")), "Search \"foo\""),
            (ToolInput::Mcp(McpInput::new("tiny", "add", json!({}))), "tiny: add"),
            (ToolInput::Web(WebInput::fetch("https://example.com")), "Fetch https://example.com"),
            (ToolInput::Web(WebInput::search("rust")), "Search the web: rust"),
            (ToolInput::SubAgent(SubAgentInput::new("Look\naround")), "Sub-agent: Look\\naround"),
            (ToolInput::Question(QuestionInput::new(vec![question("Which?")])), "Ask: Which?"),
            (
                ToolInput::Question(QuestionInput::new(vec![question("Which?"), question("Why?")])),
                "Ask: Which? and 1 more",
            ),
        ] {
            assert_eq!(call_title("tool", Some(&input), Some("/w")), expected);
        }
        assert_eq!(call_title("tool", None, None), "tool");
        assert_eq!(call_title(" ", None, None), UNNAMED);
    }

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(one_line("a\tb\u{1b}[1m"), "a\\tb\\u{1b}[1m");
        let long = one_line(&"é\n".repeat(500));
        assert_eq!(long.chars().count(), MAX_TITLE_CHARS);
        assert!(long.ends_with('…'));
        assert_eq!(one_line(&"x".repeat(120)), "x".repeat(120));
    }
}
