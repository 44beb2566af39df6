//! Inputs from titles, for agents that send no arguments: Gemini CLI, and those made from it.

use interlingua_schema::{SearchInput, SearchTarget, ToolInput, WebInput};
use serde_json::{Map, Value};

/// The command in a title. A title without quotes is a command only if the agent sends no arguments.
pub(super) fn command(title: &str, sends_arguments: bool) -> Option<String> {
    let quoted = title.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).filter(|command| !command.is_empty());
    match quoted {
        Some(command) => Some(command.to_owned()),
        None => (!sends_arguments && !title.trim().is_empty()).then(|| title.to_owned()),
    }
}

/// Directory and purpose of a command: `[current working directory /w] (print fruit)`.
pub(super) fn arguments_in_texts(texts: &[String]) -> Map<String, Value> {
    let mut arguments = Map::new();
    for text in texts {
        let Some((directory, rest)) =
            text.strip_prefix("[current working directory ").and_then(|text| text.split_once(']'))
        else {
            continue;
        };
        arguments.insert("cwd".to_owned(), directory.into());
        let purpose = rest.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        arguments.extend(purpose.map(|purpose| ("description".to_owned(), purpose.into())));
    }
    arguments
}

/// A search: `'hello'`, `'hello' in *.md within src`.
pub(super) fn search(name: &str, title: &str) -> Option<ToolInput> {
    let target = match name {
        "grep_search" | "search_file_content" => SearchTarget::Contents,
        "glob" => SearchTarget::Names,
        _ => return None,
    };
    let (query, rest) = title.strip_prefix('\'')?.rsplit_once('\'')?;
    let (glob, path) = match rest.split_once(" within ") {
        Some((glob, path)) => (glob, Some(path)),
        None => (rest, None),
    };
    let glob = glob.trim().strip_prefix("in ");
    let input = SearchInput::new(query).target(Some(target));
    Some(ToolInput::Search(input.path(path.map(str::to_owned)).glob(glob.map(str::to_owned))))
}

/// A web search: `Searching the web for: "rust"`.
pub(super) fn web_search(title: &str) -> Option<ToolInput> {
    let query = title.strip_prefix("Searching the web for: ")?.trim_matches('"');
    Some(ToolInput::Web(WebInput::search(query)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_title_is_a_command_if_the_agent_sends_no_arguments() {
        assert_eq!(command("ls -la", false).as_deref(), Some("ls -la"));
        assert_eq!(command("Run Shell", true), None);
        assert_eq!(command("`ls -la`", true).as_deref(), Some("ls -la"));
    }

    #[test]
    fn the_texts_of_gemini_have_directory_and_purpose() {
        let texts = ["[current working directory /w] (print fruit)".to_owned()];
        assert_eq!(Value::Object(arguments_in_texts(&texts)), json!({ "cwd": "/w", "description": "print fruit" }));
        assert!(arguments_in_texts(&["other".to_owned()]).is_empty());
    }

    #[test]
    fn a_title_of_gemini_has_the_query() {
        let found = |name, title| search(name, title).map(|input| serde_json::to_value(input).unwrap());
        assert_eq!(found("grep_search", "'it's'"), Some(json!({ "query": "it's", "in": "contents" })));
        assert_eq!(
            found("grep_search", "'x' in *.md within src"),
            Some(json!({ "query": "x", "in": "contents", "path": "src", "glob": "*.md" }))
        );
        assert_eq!(found("glob", "'**/*.txt'"), Some(json!({ "query": "**/*.txt", "in": "names" })));
        assert_eq!(found("list_directory", "."), None);
        let web = serde_json::to_value(web_search("Searching the web for: \"rust\"")).unwrap();
        assert_eq!(web, json!({ "query": "rust" }));
    }
}
