//! What tools give, as a person would see it: without markup, line numbers, placeholders and notes to the model.
//!
//! Each rule is a function with a test. What it takes away is still in the payload.

use interlingua_schema::ToolKind;

/// What a tool gave that went well. `truncated`: OpenCode cut it off, and tells the model where the rest is.
pub(super) fn clean_output(tool: &str, kind: Option<&ToolKind>, mut output: String, truncated: bool) -> String {
    if truncated {
        output = without_truncation_advice(&output).unwrap_or(output);
    }
    let cleaned = match (kind, tool) {
        // Its kind is that of the tool that was meant.
        (_, "invalid") => Some(invalid_call(&output).to_owned()),
        // The files come with their diffs.
        (Some(ToolKind::FileChange), _) => Some(String::new()),
        (Some(ToolKind::Command), _) => Some(without_shell_notes(&output)),
        (_, "read") => without_file_markup(&output),
        (_, "glob" | "grep" | "list") => Some(without_search_notes(&output).to_owned()),
        (_, "task" | "subagent") => Some(task_result(&output).to_owned()),
        // The plan is the call's input, and a status of its own.
        (_, "todowrite") => Some(String::new()),
        (_, "question") => answers(&output).map(str::to_owned),
        (_, "plan_exit" | "plan_enter") => output.strip_suffix(WAIT).map(str::to_owned),
        _ => None,
    };
    cleaned.unwrap_or(output)
}

/// Why a tool failed, without what is said to the model about it.
pub(super) fn clean_error(kind: Option<&ToolKind>, error: &str) -> String {
    // Up to 1.1 the name of the exception comes first. What a server says is its own.
    let error = match kind {
        Some(ToolKind::Mcp) => error,
        _ => error.strip_prefix("Error: ").unwrap_or(error),
    };
    let error = error.strip_suffix("\nPlease rewrite the input so it satisfies the expected schema.").unwrap_or(error);
    feedback(error).unwrap_or(error).to_owned()
}

/// Whether the output of a `task` says that the sub-agent failed.
pub(super) fn task_failed(output: &str) -> bool {
    let tag = output.strip_prefix("<task ").and_then(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    let state = tag.and_then(|tag| tag.split_once("state=\"")).and_then(|(_, rest)| rest.split_once('"'));
    state.is_some_and(|(state, _)| !matches!(state, "completed" | "running"))
}

const WAIT: &str = " Wait for further instructions.";

/// The words of a user who refused a permission, instead of the sentence that tells the model of them.
fn feedback(error: &str) -> Option<&str> {
    let (_, words) = error
        .strip_prefix("The user rejected permission to use this specific tool call")?
        .split_once("with the following feedback: ")?;
    Some(words).filter(|words| !words.is_empty())
}

/// A text that OpenCode cut off says so in a line of its own. The paragraph after it, about the file with the rest, is
/// for the model.
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

/// What a command printed, without the block that tells the model how it ended. That it took too long is said in the
/// block's own words, since nothing else says so. `(no output)` stands for nothing.
fn without_shell_notes(output: &str) -> String {
    let mut printed = output;
    let mut reason = None;
    for (start, end) in [("<shell_metadata>\n", "\n</shell_metadata>"), ("<bash_metadata>\n", "\n</bash_metadata>")] {
        let block = output.strip_suffix(end).and_then(|rest| rest.rsplit_once(start));
        if let Some((before, notes)) = block {
            printed = before.strip_suffix("\n\n").unwrap_or(before);
            let late = notes.lines().find(|note| note.contains("exceeding timeout"));
            reason = late.map(|note| note.split(". ").next().unwrap_or(note));
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

/// The content of a file or the entries of a directory, out of the markup that `read` puts around it, without line
/// numbers and without the note on how much there is. `None` for something else.
fn without_file_markup(output: &str) -> Option<String> {
    if matches!(output, "Image read successfully" | "PDF read successfully") {
        // It follows as a file.
        return Some(String::new());
    }
    let (open, close) = [("<content>\n", "\n</content>"), ("<entries>\n", "\n</entries>"), ("<file>\n", "\n</file>")]
        .into_iter()
        .find(|(open, _)| output.starts_with("<path>") && output.contains(open) || output.starts_with(open))?;
    let (_, rest) = output.split_once(open)?;
    // A line of the file has its number first, so it is not the markup. Instructions that come with the file follow.
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

/// A line without its number: `00001| `, and since 1.2 `1: `.
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

/// What was found, without the line that counts it and the notes below it. `No files found` stands for nothing.
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

/// What a sub-agent reports, out of the markup around it.
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

/// The questions with their answers, out of the sentence that tells the model of them.
fn answers(output: &str) -> Option<&str> {
    let answers = output.strip_prefix("User has answered your questions: ")?;
    answers.strip_suffix(". You can now continue with the user's answers in mind.")
}

/// Why a call is not valid, without the list of the tools there are.
fn invalid_call(output: &str) -> &str {
    let why = output.strip_prefix("The arguments provided to the tool are invalid: ").unwrap_or(output);
    match why.split_once(" Available tools: ") {
        Some((why, _)) if why.starts_with("Model tried to call unavailable tool") => why,
        _ => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_printed_what_it_printed() {
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
    fn what_is_found_comes_without_its_count() {
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
    fn a_sub_agent_reports_in_its_own_words() {
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
    fn notes_to_the_model_are_taken_away() {
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
    fn a_text_that_was_cut_off_says_so_without_advice() {
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
    fn a_refusal_is_in_the_users_words() {
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
