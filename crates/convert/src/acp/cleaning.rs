//! What agents add to the output of a tool: for the model, or for a window that renders Markdown.
//!
//! Each rule is a function with a test, and names what it removes. [`clean_output`] is the table of the rules of each
//! dialect. Outputs of the tools of Claude Code and OpenCode are cleaned as on their own wires. The payload keeps
//! everything.

use interlingua_agents::AcpDialect;
use interlingua_schema::ToolKind;
use serde_json::Value;

/// An output without what does not belong to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CleanOutput {
    pub(super) text: String,
    /// The exit code in the removed text.
    pub(super) exit_code: Option<i32>,
}

impl CleanOutput {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), exit_code: None }
    }
}

/// The rules of each dialect, for the output of a tool of this kind.
pub(super) fn clean_output(dialect: AcpDialect, kind: &ToolKind, text: &str) -> CleanOutput {
    match (dialect, kind) {
        (AcpDialect::Copilot, ToolKind::Command) => split_shell_state(text),
        (AcpDialect::Copilot, ToolKind::Search) => CleanOutput::new(strip_empty_search(text)),
        (AcpDialect::Qwen | AcpDialect::Gemini, ToolKind::Command) => split_shell_report(text),
        (AcpDialect::Qwen | AcpDialect::Gemini, ToolKind::Search) => CleanOutput::new(strip_search_frame(text)),
        (AcpDialect::Qwen | AcpDialect::Gemini, ToolKind::Mcp) => CleanOutput::new(clean_mcp_output(text)),
        (AcpDialect::Qwen | AcpDialect::Gemini, ToolKind::Question) => CleanOutput::new(strip_answer_heading(text)),
        (AcpDialect::Qwen | AcpDialect::Gemini, ToolKind::Plan) => CleanOutput::new(strip_plan_advice(text)),
        (AcpDialect::Claude, ToolKind::Command) => split_terminal_report(text),
        (AcpDialect::Standard, ToolKind::Command) => split_exit_line(text),
        _ => CleanOutput::new(text),
    }
}

/// Whether an agent of this dialect describes a successful change of a file in words, beside its diff.
pub(super) fn describes_changes(dialect: AcpDialect) -> bool {
    matches!(dialect, AcpDialect::Copilot | AcpDialect::Gemini | AcpDialect::Qwen)
}

/// The text in a Markdown fence, if there is nothing else.
pub(super) fn strip_fence(text: &str) -> Option<&str> {
    let (open, rest) = text.split_once('\n')?;
    let ticks = open.bytes().take_while(|byte| *byte == b'`').count();
    let fence = open.get(..ticks).filter(|_| ticks >= 3)?;
    let language = &open[ticks..];
    if !language.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-_#.".contains(&byte)) {
        return None;
    }
    let inner = rest.strip_suffix('\n').unwrap_or(rest).strip_suffix(fence)?;
    // A fence that closes earlier is part of the text.
    let closes_earlier = inner.lines().any(|line| line.trim_end() == fence);
    let inner = if inner.is_empty() { "" } else { inner.strip_suffix('\n')? };
    (!closes_earlier).then_some(inner)
}

/// Removes the state of the shell after the output of Copilot CLI: `<shellId: 0 completed with exit code 3>`.
fn split_shell_state(text: &str) -> CleanOutput {
    let Some((output, state)) = text.trim_end().rsplit_once("<shellId: ") else { return CleanOutput::new(text) };
    let Some(state) = state.strip_suffix('>').filter(|state| !state.contains('\n')) else {
        return CleanOutput::new(text);
    };
    let exit_code = state.rsplit_once("exit code ").and_then(|(_, code)| code.trim().parse().ok());
    let output = if output == "\n" { "" } else { output };
    CleanOutput { text: output.to_owned(), exit_code }
}

/// Removes the sentence that stands for no results.
fn strip_empty_search(text: &str) -> &str {
    match text.trim() {
        "No files matched the pattern." | "No matches found." => "",
        _ => text,
    }
}

/// The output in the report of a command: `Command: …`, `Directory: …`, `Output: …`, `Error: …`, `Exit Code: …` and so on.
/// A command that was cancelled has sentences around its output.
fn split_shell_report(text: &str) -> CleanOutput {
    let cancelled = ["Command cancelled by user.", "Command was cancelled"];
    if cancelled.iter().any(|sentence| text.starts_with(sentence)) {
        let heads = ["Output before cancellation:\n", "Below is the output before it was cancelled:\n"];
        let output = heads.iter().find_map(|head| text.split_once(head)).map(|(_, output)| output);
        return CleanOutput::new(output.unwrap_or_default());
    }
    let start =
        if text.starts_with("Command: ") || text.starts_with("Directory: ") { text.find("\nOutput: ") } else { None };
    let Some(output) = start.map(|start| &text[start + "\nOutput: ".len()..]) else { return CleanOutput::new(text) };
    let Some((output, fields)) = output.rsplit_once("\nError: ") else { return CleanOutput::new(text) };
    let field = |name: &str| fields.lines().find_map(|line| line.strip_prefix(name));
    let output = if output == "(empty)" { "" } else { output };
    CleanOutput { text: output.to_owned(), exit_code: field("Exit Code: ").and_then(|code| code.trim().parse().ok()) }
}

/// Removes the heading of search results, the rules between them, and the sentence that stands for no results.
fn strip_search_frame(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("No files found") || first.starts_with("No matches found") {
        return String::new();
    }
    if !first.starts_with("Found ") {
        return text.to_owned();
    }
    let is_frame = |line: &str| line == "---" || (line.trim_start().starts_with('[') && line.contains("truncated"));
    let lines: Vec<&str> = text.lines().skip(1).filter(|line| !is_frame(line)).collect();
    lines.join("\n")
}

/// Removes the notes about images, which the model gets beside the text, and the frame around the error of a server.
fn clean_mcp_output(text: &str) -> String {
    if let Some(error) = mcp_error(text) {
        return error;
    }
    let is_note =
        |line: &str| line.starts_with("[Tool '") && line.ends_with(']') && line.contains("provided the following");
    let lines: Vec<&str> = text.lines().filter(|line| !is_note(line)).collect();
    if lines.len() == text.lines().count() { text.to_owned() } else { lines.join("\n") }
}

/// The error of a server: `MCP tool 'fail' reported tool error for function call: {…} with response: […]`.
fn mcp_error(text: &str) -> Option<String> {
    let (_, response) = text.strip_prefix("MCP tool '")?.split_once(" with response: ")?;
    let response: Value = serde_json::from_str(response).ok()?;
    let response = response.get(0)?.get("functionResponse")?.get("response")?;
    let texts_in = |value: &Value| {
        let blocks = value.get("content")?.as_array()?;
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    let error = response.get("error");
    let message = || Some(error?.get("message")?.as_str()?.to_owned());
    texts_in(response).or_else(|| texts_in(error?)).or_else(message)
}

/// Removes the heading of the answers to questions.
fn strip_answer_heading(text: &str) -> &str {
    let answers = text.strip_prefix("User has provided the following answers:\n\n").unwrap_or(text);
    if answers == "No valid answers were provided." { "" } else { answers }
}

/// Removes what the model should do after a plan was approved.
fn strip_plan_advice(text: &str) -> &str {
    text.split_once(" You can now start coding").map_or(text, |(sentence, _)| sentence)
}

/// The output in the report of a terminal of the host: `Exited with code 3.Final output:`.
fn split_terminal_report(text: &str) -> CleanOutput {
    let report = || {
        let (state, output) = text.split_once("Final output:\n\n")?;
        let (_, code) = state.split_once("Exited with code ")?;
        let code = code.trim_end().strip_suffix('.')?.parse().ok()?;
        Some(CleanOutput { text: output.to_owned(), exit_code: Some(code) })
    };
    report().unwrap_or_else(|| CleanOutput::new(text))
}

/// Removes a first or last line that says nothing but how the command has ended, and a placeholder for no output.
fn split_exit_line(text: &str) -> CleanOutput {
    let trimmed = text.trim_end();
    let (first, after) = trimmed.split_once('\n').unwrap_or((trimmed, ""));
    if let Some(code) = exit_line(first) {
        return CleanOutput { text: without_placeholder(after).to_owned(), exit_code: Some(code) };
    }
    let (before, last) = trimmed.rsplit_once('\n').unwrap_or(("", trimmed));
    if let Some(code) = exit_line(last) {
        return CleanOutput { text: without_placeholder(before).to_owned(), exit_code: Some(code) };
    }
    CleanOutput::new(without_placeholder(text))
}

fn without_placeholder(text: &str) -> &str {
    match text.trim() {
        "(no output)" | "<no output>" | "(empty)" | "[no output]" => "",
        _ => text,
    }
}

/// The code in a line such as `Exit code: 3`, `[exit code 3]` or `Process exited with code 3.`.
fn exit_line(line: &str) -> Option<i32> {
    let line =
        line.trim().trim_start_matches(['[', '(', '<']).trim_end_matches([']', ')', '>', '.']).to_ascii_lowercase();
    let phrases = ["exit code:", "exit code", "exited with code", "exited with exit code"];
    let subjects = ["process ", "command ", "command failed with ", ""];
    let rest = subjects.iter().filter_map(|subject| line.strip_prefix(subject));
    let mut code = rest.flat_map(|rest| phrases.iter().filter_map(move |phrase| rest.strip_prefix(phrase)));
    code.find_map(|code| code.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(dialect: AcpDialect, kind: &ToolKind, text: &str) -> (String, Option<i32>) {
        let CleanOutput { text, exit_code } = clean_output(dialect, kind, text);
        (text, exit_code)
    }

    #[test]
    fn a_fence_around_all_of_the_text_is_removed() {
        for (text, inner) in [
            ("```\na\nb\n```", Some("a\nb")),
            ("```console\na\n```\n", Some("a")),
            ("````\n```\n````", Some("```")),
            ("```\n```", Some("")),
            ("```\na\n```\nb\n```", None),
            ("a\n```\nb\n```", None),
            ("```\na", None),
            ("plain", None),
        ] {
            assert_eq!(strip_fence(text), inner, "{text}");
        }
    }

    #[test]
    fn a_command_of_copilot_has_no_state_of_its_shell() {
        for (text, expected) in [
            ("a\nb\n<shellId: 0 completed with exit code 3>", ("a\nb\n", Some(3))),
            ("\n<shellId: 2 completed with exit code 0>", ("", Some(0))),
            ("a\n<shellId: 1 is still running>", ("a\n", None)),
            ("say <shellId: x> twice", ("say <shellId: x> twice", None)),
        ] {
            let found = clean(AcpDialect::Copilot, &ToolKind::Command, text);
            assert_eq!((found.0.as_str(), found.1), expected, "{text}");
        }
        assert_eq!(clean(AcpDialect::Copilot, &ToolKind::Search, "No files matched the pattern.").0, "");
    }

    #[test]
    fn a_command_of_qwen_has_only_its_output() {
        let report = |output: &str| {
            format!(
                "Command: make\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 7"
            )
        };
        for (text, expected) in [
            (report("a\nError: x\nb"), ("a\nError: x\nb", Some(2))),
            (report("(empty)"), ("", Some(2))),
            ("Output: not a report".to_owned(), ("Output: not a report", None)),
            ("Command cancelled by user.\n\nOutput before cancellation:\nbegin".to_owned(), ("begin", None)),
            (
                "Command was cancelled by user before it could complete. There was no output before it was cancelled."
                    .to_owned(),
                ("", None),
            ),
        ] {
            let found = clean(AcpDialect::Qwen, &ToolKind::Command, &text);
            assert_eq!((found.0.as_str(), found.1), expected, "{text}");
        }
    }

    #[test]
    fn a_search_of_qwen_has_only_its_results() {
        for (text, expected) in [
            (
                "Found 1 match for pattern \"hello\" in the workspace directory:\n---\nFile: README.md\nL2: hello world\n---",
                "File: README.md\nL2: hello world",
            ),
            ("Found 2 file(s) matching \"*\" in .:\n---\n/w/a\n/w/b\n---\n[3 files truncated] ...", "/w/a\n/w/b"),
            ("No files found matching pattern \"x\" in the workspace directory", ""),
            ("other", "other"),
        ] {
            assert_eq!(clean(AcpDialect::Qwen, &ToolKind::Search, text).0, expected, "{text}");
        }
    }

    #[test]
    fn the_output_of_a_server_has_no_notes_and_no_frame() {
        for (text, expected) in [
            ("5\n[Tool 'add' provided the following image data with mime-type: image/png]", "5"),
            (
                r#"MCP tool 'fail' reported tool error for function call: {"name":"fail"} with response: [{"functionResponse":{"name":"fail","response":{"error":{"content":[{"type":"text","text":"tiny broke"}]},"content":[{"type":"text","text":"tiny broke"}]}}}]"#,
                "tiny broke",
            ),
            (
                r#"MCP tool 'add' reported tool error for function call: {} with response: [{"functionResponse":{"response":{"error":{"message":"invalid","isError":true}}}}]"#,
                "invalid",
            ),
            ("plain", "plain"),
        ] {
            assert_eq!(clean(AcpDialect::Gemini, &ToolKind::Mcp, text).0, expected, "{text}");
        }
    }

    #[test]
    fn answers_and_approvals_have_no_advice() {
        let answers = "User has provided the following answers:\n\n**Colour**: Red";
        assert_eq!(clean(AcpDialect::Qwen, &ToolKind::Question, answers).0, "**Colour**: Red");
        let none = "User has provided the following answers:\n\nNo valid answers were provided.";
        assert_eq!(clean(AcpDialect::Qwen, &ToolKind::Question, none).0, "");
        let approved = "User approved. You can now start coding. Start with updating your todo list if applicable.";
        assert_eq!(clean(AcpDialect::Qwen, &ToolKind::Plan, approved).0, "User approved.");
    }

    #[test]
    fn the_report_of_a_terminal_is_its_output() {
        let text = "Timed out. Exited with code 3.Final output:\n\nbad\n";
        assert_eq!(clean(AcpDialect::Claude, &ToolKind::Command, text), ("bad\n".to_owned(), Some(3)));
        assert_eq!(clean(AcpDialect::Claude, &ToolKind::Command, "Final output:\n\nx").0, "Final output:\n\nx");
    }

    #[test]
    fn a_line_that_only_says_how_a_command_ended_is_removed() {
        for (text, expected) in [
            ("Exit code 3\nbad", ("bad", Some(3))),
            ("a\nb\nExit code: 0", ("a\nb", Some(0))),
            ("a\n[exit code 127]\n", ("a", Some(127))),
            ("Process exited with code 1.", ("", Some(1))),
            ("(no output)", ("", None)),
            ("the exit code 3 is odd\n", ("the exit code 3 is odd\n", None)),
        ] {
            let found = clean(AcpDialect::Standard, &ToolKind::Command, text);
            assert_eq!((found.0.as_str(), found.1), expected, "{text}");
        }
    }
}
