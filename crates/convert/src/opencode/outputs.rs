//! Cleans tool outputs: removes markup, line numbers, placeholders and notes to the model.
//!
//! Each rule is a function with a test. The payload keeps everything that is removed.

use interlingua_schema::ToolKind;

/// Output of a successful tool. `is_truncated`: OpenCode has truncated it and tells the model where the rest is.
pub(super) fn clean_output(tool: &str, kind: Option<&ToolKind>, mut output: String, is_truncated: bool) -> String {
    if is_truncated {
        output = without_truncation_advice(&output).unwrap_or(output);
    }
    let cleaned = match (kind, tool) {
        // `kind` is that of the tool that the model named.
        (_, "invalid") => Some(invalid_call_reason(&output).to_owned()),
        // The result has the files with their diffs.
        (Some(ToolKind::FileChange), _) => Some(String::new()),
        (Some(ToolKind::Command), _) => Some(without_shell_notes(&output)),
        (_, "read") => without_file_markup(&output),
        (_, "glob" | "grep" | "list") => Some(without_search_notes(&output).to_owned()),
        (_, "task" | "subagent") => Some(task_result(&output).to_owned()),
        // The plan is the input of the call, and a status item.
        (_, "todowrite") => Some(String::new()),
        (_, "question") => question_answers(&output).map(str::to_owned),
        (_, "plan_exit" | "plan_enter") => output.strip_suffix(WAIT_NOTE).map(str::to_owned),
        _ => None,
    };
    cleaned.unwrap_or(output)
}

/// Error of a failed tool, without notes to the model.
pub(super) fn clean_error(kind: Option<&ToolKind>, error: &str) -> String {
    // Up to 1.1, the error begins with the name of the exception. Errors of MCP servers are kept unchanged.
    let error = match kind {
        Some(ToolKind::Mcp) => error,
        _ => error.strip_prefix("Error: ").unwrap_or(error),
    };
    let error = error.strip_suffix("\nPlease rewrite the input so it satisfies the expected schema.").unwrap_or(error);
    user_feedback(error).unwrap_or(error).to_owned()
}

/// Whether the output of a `task` reports a failed sub-agent.
pub(super) fn task_failed(output: &str) -> bool {
    let tag = output.strip_prefix("<task ").and_then(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    let state = tag.and_then(|tag| tag.split_once("state=\"")).and_then(|(_, rest)| rest.split_once('"'));
    state.is_some_and(|(state, _)| !matches!(state, "completed" | "running"))
}

const WAIT_NOTE: &str = " Wait for further instructions.";

/// Feedback of a user who denied a permission, without the sentence around it.
fn user_feedback(error: &str) -> Option<&str> {
    let (_, feedback) = error
        .strip_prefix("The user rejected permission to use this specific tool call")?
        .split_once("with the following feedback: ")?;
    Some(feedback).filter(|feedback| !feedback.is_empty())
}

/// Removes the paragraph for the model about the file with the rest. The line that marks the truncation stays.
fn without_truncation_advice(output: &str) -> Option<String> {
    let (before, after) = output.split_once("truncated...\n\n")?;
    let is_line = before.rsplit('\n').next()?.starts_with("...");
    let is_advice = ["The tool call succeeded but", "Full output "].iter().any(|start| after.starts_with(start));
    if !is_line || !is_advice {
        return None;
    }
    let rest = after.split_once("\n\n").map(|(_, rest)| format!("\n\n{rest}")).unwrap_or_default();
    Some(format!("{before}truncated...{rest}"))
}

/// Output of a command, without the metadata block for the model. A timeout stays as the sentence of the block, because
/// nothing else reports it. `(no output)` becomes an empty output.
fn without_shell_notes(output: &str) -> String {
    let mut printed = output;
    let mut reason = None;
    for (start, end) in [("<shell_metadata>\n", "\n</shell_metadata>"), ("<bash_metadata>\n", "\n</bash_metadata>")] {
        let block = output.strip_suffix(end).and_then(|rest| rest.rsplit_once(start));
        if let Some((before, notes)) = block {
            printed = before.strip_suffix("\n\n").unwrap_or(before);
            let timeout = notes.lines().find(|note| note.contains("exceeding timeout"));
            reason = timeout.map(|note| note.split(". ").next().unwrap_or(note));
        }
    }
    if printed == "(no output)" {
        printed = "";
    }
    match reason {
        Some(reason) if printed.is_empty() || printed.ends_with('\n') => format!("{printed}{reason}"),
        Some(reason) => format!("{printed}\n{reason}"),
        None => printed.to_owned(),
    }
}

/// Content of a file or entries of a directory, without the markup of `read`, line numbers and the note about the
/// length. `None` for any other output.
fn without_file_markup(output: &str) -> Option<String> {
    if matches!(output, "Image read successfully" | "PDF read successfully") {
        // The file follows as an attachment.
        return Some(String::new());
    }
    let (open, close) = [("<content>\n", "\n</content>"), ("<entries>\n", "\n</entries>"), ("<file>\n", "\n</file>")]
        .into_iter()
        .find(|(open, _)| output.starts_with("<path>") && output.contains(open) || output.starts_with(open))?;
    let (_, rest) = output.split_once(open)?;
    // Lines of the file begin with their number, so none of them equals the markup. Instructions may follow the
    // content.
    let (inside, _) = rest.split_once(close)?;
    let text = match inside.rsplit_once("\n\n(") {
        Some((text, note)) if note.ends_with(')') && !note.contains('\n') => text,
        _ => inside,
    };
    if open == "<entries>\n" {
        return Some(text.to_owned());
    }
    let lines: Vec<&str> = text.split('\n').map(without_line_number).collect();
    Some(lines.join("\n"))
}

/// A line without its number: `00001| `, or `1: ` since 1.2.
fn without_line_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == line.len() {
        return line;
    }
    rest.strip_prefix("| ").or_else(|| rest.strip_prefix(": ")).unwrap_or(match rest {
        "|" | ":" => "",
        _ => line,
    })
}

/// Search results without their count and notes. `No files found` becomes an empty output.
fn without_search_notes(output: &str) -> &str {
    if matches!(output.trim_end(), "No files found" | "No matches found") {
        return "";
    }
    let mut found = match output.split_once('\n') {
        Some((first, rest)) if first.starts_with("Found ") && first.contains(" match") => rest,
        _ => output,
    };
    while let Some((before, note)) = found.trim_end().rsplit_once("\n\n(") {
        if !note.ends_with(')') || note.contains('\n') {
            break;
        }
        found = before;
    }
    found
}

/// Report of a sub-agent without its markup.
fn task_result(output: &str) -> &str {
    if let Some((_, rest)) = output.split_once("<task_result>\n")
        && let Some((result, _)) = rest.rsplit_once("\n</task_result>")
    {
        return result;
    }
    if let Some((_, rest)) = output.split_once("<task_error>\n")
        && let Some((result, _)) = rest.rsplit_once("\n</task_error>")
    {
        return result;
    }
    match output.rsplit_once("\n\n<task_metadata>") {
        Some((result, rest)) if rest.ends_with("</task_metadata>") => result,
        _ => output,
    }
}

/// Questions and answers, without the sentences around them.
fn question_answers(output: &str) -> Option<&str> {
    let answers = output.strip_prefix("User has answered your questions: ")?;
    answers.strip_suffix(". You can now continue with the user's answers in mind.")
}

/// Reason why a call is invalid, without the list of available tools.
fn invalid_call_reason(output: &str) -> &str {
    let reason = output.strip_prefix("The arguments provided to the tool are invalid: ").unwrap_or(output);
    match reason.split_once(" Available tools: ") {
        Some((reason, _)) if reason.starts_with("Model tried to call unavailable tool") => reason,
        _ => reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_command_has_no_placeholders_or_metadata() {
        for (output, expected) in [
            ("a\n", "a\n"),
            ("(no output)", ""),
            ("begin\n\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>", "begin\n"),
            (
                "\n\n<bash_metadata>\nbash tool terminated command after exceeding timeout 400 ms\n</bash_metadata>",
                "bash tool terminated command after exceeding timeout 400 ms",
            ),
            (
                "(no output)\n\n<shell_metadata>\nshell tool terminated command after exceeding timeout 400 ms. If this command is expected to take longer, retry.\n</shell_metadata>",
                "shell tool terminated command after exceeding timeout 400 ms",
            ),
            ("say <shell_metadata>\n", "say <shell_metadata>\n"),
        ] {
            assert_eq!(clean_output("bash", Some(&ToolKind::Command), output.to_owned(), false), expected);
        }
    }

    #[test]
    fn a_file_is_read_without_markup_and_line_numbers() {
        for (output, expected) in [
            (
                "<file>\n00001| alpha\n00002| \n00003| 1: x\n00004| \n\n(End of file - total 4 lines)\n</file>",
                "alpha\n\n1: x\n",
            ),
            (
                "<path>/w/a</path>\n<type>file</type>\n<content>\n9: # demo\n10: (x)\n\n(Showing lines 9-10 of 12. Use offset=11 to continue.)\n</content>",
                "# demo\n(x)",
            ),
            (
                "<path>/w/a</path>\n<type>file</type>\n<content>\n1: a\n\n(End of file - total 1 lines)\n</content>\n\n<system-reminder>\nRules.\n</system-reminder>",
                "a",
            ),
            ("<path>/w/a</path>\n<type>file</type>\n<content>\n\n\n(End of file - total 0 lines)\n</content>", ""),
            ("<path>/w</path>\n<type>directory</type>\n<entries>\na.py\nsrc/\n\n(2 entries)\n</entries>", "a.py\nsrc/"),
            ("Image read successfully", ""),
            ("something else", "something else"),
        ] {
            assert_eq!(clean_output("read", Some(&ToolKind::FileRead), output.to_owned(), false), expected);
        }
    }

    #[test]
    fn search_results_have_no_counts_or_notes() {
        for (output, expected) in [
            ("Found 1 matches\n/w/a:\n  Line 2: beta\n", "/w/a:\n  Line 2: beta\n"),
            (
                "Found 1 matches (more matches available)\n/w/a:\n  Line 2: x\n\n(Results truncated. Use a path.)",
                "/w/a:\n  Line 2: x",
            ),
            ("/w/a\n/w/b\n\n(Results are truncated. Consider using a more specific path or pattern.)", "/w/a\n/w/b"),
            ("No files found", ""),
            ("/w/a", "/w/a"),
        ] {
            assert_eq!(clean_output("grep", Some(&ToolKind::Search), output.to_owned(), false), expected);
        }
    }

    #[test]
    fn the_report_of_a_sub_agent_has_no_markup() {
        for (output, expected) in [
            ("<task id=\"ses_1\" state=\"completed\">\n<task_result>\nIt is 42.\n</task_result>\n</task>", "It is 42."),
            ("task_id: ses_1 (for resuming)\n\n<task_result>\nIt is 42.\n</task_result>", "It is 42."),
            ("It is 42.\n\n<task_metadata>\nsession_id: ses_1\n</task_metadata>", "It is 42."),
            ("It is 42.", "It is 42."),
        ] {
            assert_eq!(clean_output("task", Some(&ToolKind::SubAgent), output.to_owned(), false), expected);
            assert!(!task_failed(output));
        }
        assert!(task_failed("<task id=\"ses_1\" state=\"error\">\n<task_error>\nno\n</task_error>\n</task>"));
        assert_eq!(task_result("<task state=\"error\">\n<task_error>\nno\n</task_error>\n</task>"), "no");
    }

    #[test]
    fn notes_to_the_model_are_removed() {
        let clean = |tool, kind, output: &str| clean_output(tool, Some(&kind), output.to_owned(), false);
        assert_eq!(clean("edit", ToolKind::FileChange, "Edit applied successfully."), "");
        assert_eq!(clean("todowrite", ToolKind::Plan, "[]"), "");
        assert_eq!(
            clean(
                "question",
                ToolKind::Question,
                "User has answered your questions: \"Which?\"=\"A\". You can now continue with the user's answers in mind."
            ),
            "\"Which?\"=\"A\""
        );
        assert_eq!(
            clean(
                "invalid",
                ToolKind::FileChange,
                "The arguments provided to the tool are invalid: Model tried to call unavailable tool 'x'. Available tools: bash."
            ),
            "Model tried to call unavailable tool 'x'."
        );
        assert_eq!(
            clean("plan_exit", ToolKind::Plan, "User approved. Wait for further instructions."),
            "User approved."
        );
        assert_eq!(clean("tiny_add", ToolKind::Mcp, "42"), "42");
    }

    #[test]
    fn a_truncated_text_keeps_its_marker_without_the_advice() {
        let hint = "The tool call succeeded but the output was truncated. Full output saved to: /x\nUse Grep.";
        for (output, expected) in [
            (format!("a\n\n...3 lines truncated...\n\n{hint}"), "a\n\n...3 lines truncated..."),
            (format!("...3 bytes truncated...\n\n{hint}\n\nz"), "...3 bytes truncated...\n\nz"),
            ("...output truncated...\n\nFull output saved to: /x\n\nz\n".to_owned(), "...output truncated...\n\nz\n"),
            ("is truncated...\n\nFull output saved to: /x".to_owned(), "is truncated...\n\nFull output saved to: /x"),
        ] {
            assert_eq!(clean_output("webfetch", Some(&ToolKind::Web), output, true), expected);
        }
    }

    #[test]
    fn an_error_has_the_feedback_of_the_user_without_the_sentence_around_it() {
        for (error, expected) in [
            ("Error: File not found: /w/a", "File not found: /w/a"),
            (
                "The user rejected permission to use this specific tool call.",
                "The user rejected permission to use this specific tool call.",
            ),
            (
                "Error: The user rejected permission to use this specific tool call with the following feedback: Not now.",
                "Not now.",
            ),
            ("Invalid.\nPlease rewrite the input so it satisfies the expected schema.", "Invalid."),
        ] {
            assert_eq!(clean_error(Some(&ToolKind::Command), error), expected);
        }
        assert_eq!(clean_error(Some(&ToolKind::Mcp), "Error: x"), "Error: x");
    }
}
