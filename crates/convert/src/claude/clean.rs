//! Strips what Claude Code adds to the output of a tool for the model.
//!
//! Each function strips one thing. The raw payload still has it.

use std::borrow::Cow;

/// Texts that mark an interrupt, in a `user` line or in place of a tool's output.
pub(super) const INTERRUPT_MARKERS: [&str; 2] =
    ["[Request interrupted by user]", "[Request interrupted by user for tool use]"];

/// Strips the notes that the agent appends: `<system-reminder>…</system-reminder>` at the end.
pub(super) fn strip_reminders(text: &str) -> &str {
    let mut text = text;
    while let Some(start) =
        text.trim_end().strip_suffix("</system-reminder>").and_then(|text| text.rfind("<system-reminder>"))
    {
        text = text[..start].trim_end_matches(['\n', '\r', ' ']);
    }
    text
}

/// Strips the markup around an error: `<tool_use_error>…</tool_use_error>`, `<error>…</error>`.
pub(super) fn strip_error_tags(text: &str) -> &str {
    let inner = |tag: &str| {
        let rest = text.trim().strip_prefix(&format!("<{tag}>"))?;
        Some(rest.strip_suffix(&format!("</{tag}>")).unwrap_or(rest))
    };
    inner("tool_use_error").or_else(|| inner("error")).unwrap_or(text)
}

/// Whether a text block of a result tells the model where the image before it is stored.
pub(super) fn is_image_note(text: &str) -> bool {
    text.starts_with("[Image: source: ") && text.ends_with(']')
}

/// Splits the line with the exit code of a failed command from the rest. Returns the code and the rest.
pub(super) fn split_exit_code(text: &str) -> (Option<i32>, &str) {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    match line.trim_end().strip_prefix("Exit code ").map(str::parse) {
        Some(Ok(code)) => (Some(code), rest),
        _ => (None, text),
    }
}

/// Strips the placeholder for the output of a command that printed nothing.
pub(super) fn strip_placeholder(text: &str) -> &str {
    match text.trim() {
        "(Bash completed with no output)"
        | "(PowerShell completed with no output)"
        | "(no output)"
        | "Tool ran without output or errors" => "",
        _ => text,
    }
}

/// Strips the note that the shell's working directory was reset after a command.
pub(super) fn strip_cwd_note(text: &str) -> &str {
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
    if last.starts_with("Shell cwd was reset to ") { before.trim_end_matches('\n') } else { text }
}

/// The preview of an output that was too long, without the markup around it.
pub(super) fn extract_preview(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("<persisted-output>")?;
    let inner = inner.strip_suffix("</persisted-output>").unwrap_or(inner);
    let (_, preview) = inner.split_once("Preview (")?;
    let (_, preview) = preview.split_once('\n')?;
    let preview = preview.trim_end_matches('\n');
    Some(preview.strip_suffix("\n...").unwrap_or(preview))
}

/// The first sentence of a text whose rest is instructions for the model.
pub(super) fn first_sentence(text: &str) -> &str {
    let end = text.match_indices(". ").map(|(index, _)| index + 1).chain(text.find('\n')).min();
    text[..end.unwrap_or(text.len())].trim_end()
}

/// Strips the line numbers of a file: `1\t…`, or `     1→…` in older versions. The text is unchanged unless every line
/// has a number and the numbers count up by one.
pub(super) fn strip_line_numbers(text: &str) -> Cow<'_, str> {
    let mut content = String::with_capacity(text.len());
    let mut expected: Option<u64> = None;
    for line in text.split('\n') {
        let Some((number, rest)) = line.split_once(['\t', '→']) else { return Cow::Borrowed(text) };
        let Ok(number) = number.trim_start_matches(' ').parse::<u64>() else { return Cow::Borrowed(text) };
        if expected.is_some_and(|expected| expected != number) {
            return Cow::Borrowed(text);
        }
        if expected.is_some() {
            content.push('\n');
        }
        content.push_str(rest);
        expected = number.checked_add(1);
    }
    Cow::Owned(content)
}

/// Whether the output of a read is the note that the file is empty or has no lines to show.
pub(super) fn is_empty_file_note(text: &str) -> bool {
    let text = text.trim().trim_start_matches("<system-reminder>");
    text.starts_with("Warning: the file exists but ")
}

/// Strips the hint that names the working directory.
pub(super) fn strip_cwd_hint(text: &str) -> &str {
    let hints = [" Note: your current working directory is ", " Current working directory: "];
    let stripped = hints.into_iter().find_map(|hint| text.find(hint).map(|start| &text[..start]));
    stripped.unwrap_or(text)
}

/// Strips the notes around the matches of a search: no matches, the number of matches, how to narrow the search.
pub(super) fn strip_search_notes(text: &str) -> Cow<'_, str> {
    if matches!(text.trim(), "No files found" | "No matches found") {
        return Cow::Borrowed("");
    }
    let is_note = |line: &str| {
        line.starts_with("(Results are truncated")
            || line.starts_with("[Showing results with pagination")
            || line
                .strip_prefix("Found ")
                .and_then(|rest| rest.split_once(' '))
                .is_some_and(|(number, unit)| number.parse::<u64>().is_ok() && unit.starts_with("file"))
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let line_count = lines.len();
    if lines.first().is_some_and(|line| is_note(line)) {
        lines.remove(0);
    }
    while lines.last().is_some_and(|line| is_note(line) || line.is_empty()) {
        lines.pop();
    }
    if lines.len() == line_count { Cow::Borrowed(text) } else { Cow::Owned(lines.join("\n")) }
}

/// Strips the reminder of a web search that the model must name its sources.
pub(super) fn strip_source_reminder(text: &str) -> &str {
    text.find("\n\nREMINDER: You MUST include the sources").map_or(text, |start| text[..start].trim_end())
}

/// Why a tool was not allowed to run: the user's reason if there is one, else the agent's reason without the
/// instructions for the model. Empty for a tool that was denied without a reason or stopped while it ran; `None` if the
/// text is not a denial.
pub(super) fn refusal_reason(text: &str) -> Option<&str> {
    if INTERRUPT_MARKERS.contains(&text.trim()) {
        return Some("");
    }
    if text.starts_with("The user doesn't want to ") {
        let markers = ["the user said:\n", "The user provided the following reason for the rejection: "];
        if let Some((_, reason)) = markers.into_iter().find_map(|marker| text.split_once(marker)) {
            return Some(reason.trim());
        }
        return Some("");
    }
    let is_denied = text.starts_with("Permission to use ") || text.starts_with("Claude requested permissions to ");
    is_denied.then(|| text.split(" IMPORTANT: ").next().unwrap_or(text))
}

/// The report of a sub-agent, without the frame that tells the model where it comes from.
pub(super) fn extract_report(text: &str) -> Cow<'_, str> {
    let Some((_, framed)) = text.split_once("[Subagent hand-back]").and_then(|(_, rest)| rest.split_once("follows:\n"))
    else {
        return Cow::Borrowed(strip_agent_id(text));
    };
    // Every line of the report is indented; the lines after it are not.
    let lines = framed.lines().take_while(|line| line.is_empty() || line.starts_with("  "));
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    Cow::Owned(lines.join("\n").trim_end().to_owned())
}

/// Strips the note that tells the model how to resume a sub-agent. The note may be a separate block.
fn strip_agent_id(text: &str) -> &str {
    if text.starts_with("agentId: ") {
        return "";
    }
    text.find("\nagentId: ").map_or(text, |start| text[..start].trim_end())
}

/// The output in the result of a tool that reads a command's output, without the markup around it.
pub(super) fn extract_command_output(text: &str) -> Option<String> {
    let between = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner.trim_matches('\n'))
    };
    if !text.contains("<status>") && !text.contains("<retrieval_status>") {
        return None;
    }
    let outputs = [between("output"), between("stdout"), between("stderr")].into_iter().flatten();
    Some(outputs.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// The answers (`"Which?"="A", …`), without the sentence around them and the advice after them.
pub(super) fn extract_answers(text: &str) -> &str {
    let advice = [" You can now continue with ", " Read the answers carefully"];
    let text = advice.into_iter().find_map(|advice| text.rfind(advice)).map_or(text, |start| &text[..start]);
    let sentences =
        ["Your questions have been answered: ", "User has answered your questions: ", "The user answered: "];
    match sentences.into_iter().find_map(|sentence| text.strip_prefix(sentence)) {
        Some(answers) => answers.strip_suffix('.').unwrap_or(answers),
        None => text,
    }
}

/// The summary of a compaction, without the instructions for the model. `None` if the text is not such a summary.
pub(super) fn extract_summary(text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix(SUMMARY_PREFIX)?;
    let (_, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut rest = rest.trim_start();
    if let Some((_, after)) =
        rest.strip_prefix("<system-reminder>").and_then(|rest| rest.split_once("</system-reminder>"))
    {
        rest = after.trim_start();
    }
    let ends = [
        "\n\nIf you need specific details from before compaction",
        "\nPlease continue the conversation from where we left",
        "\nContinue the conversation from where it left off",
        "\nRecent messages are preserved verbatim",
    ];
    let end = ends.into_iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    let summary = rest[..end].trim();
    Some(summary.strip_prefix("Summary:\n").unwrap_or(summary).trim().to_owned())
}

/// First words of the summary of a compaction.
const SUMMARY_PREFIX: &str = "This session is being continued from a previous conversation";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reminders_at_the_end_are_stripped() {
        let text = "hi\n\n<system-reminder>\na\n</system-reminder>\n<system-reminder>b</system-reminder>\n";
        assert_eq!(strip_reminders(text), "hi");
        assert_eq!(
            strip_reminders("<system-reminder>x</system-reminder> hi"),
            "<system-reminder>x</system-reminder> hi"
        );
        assert_eq!(strip_reminders("hi\n"), "hi\n");
    }

    #[test]
    fn errors_lose_their_tags() {
        assert_eq!(strip_error_tags("<tool_use_error>no</tool_use_error>"), "no");
        assert_eq!(
            strip_error_tags("<error>Command was aborted before completion</error>"),
            "Command was aborted before completion"
        );
        assert_eq!(strip_error_tags("a <error> b"), "a <error> b");
    }

    #[test]
    fn the_place_of_an_image_is_a_note_to_the_model() {
        assert!(is_image_note("[Image: source: /home/agent/tool-results/a.png]"));
        assert!(!is_image_note("[Image: source: a] and more"));
    }

    #[test]
    fn a_command_has_neither_an_exit_code_line_nor_a_placeholder() {
        assert_eq!(split_exit_code("Exit code 3\noops\n"), (Some(3), "oops\n"));
        assert_eq!(split_exit_code("Exit code 137"), (Some(137), ""));
        assert_eq!(split_exit_code("Exit code unknown\nx"), (None, "Exit code unknown\nx"));
        assert_eq!(strip_placeholder("(Bash completed with no output)"), "");
        assert_eq!(strip_placeholder("x"), "x");
        assert_eq!(strip_cwd_note("hi\nShell cwd was reset to /w"), "hi");
        assert_eq!(strip_cwd_note("Shell cwd was reset to /w"), "");
        assert_eq!(strip_cwd_note("hi\n"), "hi\n");
        let long = "<persisted-output>\nOutput too large (9KB). Full output saved to: /x\n\nPreview (first 2KB):\na\nb\n...\n</persisted-output>";
        assert_eq!(extract_preview(long), Some("a\nb"));
        assert_eq!(extract_preview("a"), None);
    }

    #[test]
    fn the_output_of_a_background_command_is_one_sentence() {
        let text = "Command running in background with ID: b1. Output is being written to: /x. You will be notified.";
        assert_eq!(first_sentence(text), "Command running in background with ID: b1.");
        assert_eq!(first_sentence("Launched.\nagentId: x"), "Launched.");
        assert_eq!(
            first_sentence("Command running in background with ID: b1"),
            "Command running in background with ID: b1"
        );
    }

    #[test]
    fn a_file_loses_its_line_numbers_only_if_all_lines_have_them() {
        assert_eq!(strip_line_numbers("1\ta\n2\t\n3\t  b\tc\n4\t"), "a\n\n  b\tc\n");
        assert_eq!(strip_line_numbers("     9→a\n    10→b"), "a\nb");
        assert_eq!(strip_line_numbers("1\ta\n3\tb"), "1\ta\n3\tb");
        assert_eq!(strip_line_numbers("1\ta\nb"), "1\ta\nb");
        assert!(is_empty_file_note(
            "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
        ));
        assert!(!is_empty_file_note("1\tx"));
        let missing = "File does not exist. Note: your current working directory is /w.";
        assert_eq!(strip_cwd_hint(missing), "File does not exist.");
    }

    #[test]
    fn a_search_shows_only_its_matches() {
        assert_eq!(strip_search_notes("No files found"), "");
        assert_eq!(strip_search_notes("Found 2 files\n/a\n/b"), "/a\n/b");
        assert_eq!(
            strip_search_notes("/a\n(Results are truncated. Consider using a more specific path or pattern.)"),
            "/a"
        );
        assert_eq!(strip_search_notes("a:1:Found 2 files\n"), "a:1:Found 2 files\n");
        assert_eq!(strip_source_reminder("Links: []\n\n\nREMINDER: You MUST include the sources above"), "Links: []");
    }

    #[test]
    fn a_refusal_is_the_users_reason_or_the_agents() {
        let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file).";
        let stop = format!("{refused} STOP what you are doing and wait for the user to tell you how to proceed.");
        assert_eq!(refusal_reason(&stop), Some(""));
        let with_reason = format!("{refused} To tell you how to proceed, the user said:\nUse tabs.");
        assert_eq!(refusal_reason(&with_reason), Some("Use tabs."));
        let stopped = format!(
            "{stop} Correction to the text above: this call was stopped while running, not refused before it ran."
        );
        assert_eq!(refusal_reason(&stopped), Some(""));
        assert_eq!(refusal_reason("[Request interrupted by user for tool use]"), Some(""));
        let denied = "Permission to use Bash with command rm has been denied. IMPORTANT: You *may* attempt";
        assert_eq!(refusal_reason(denied), Some("Permission to use Bash with command rm has been denied."));
        assert_eq!(refusal_reason("Not now."), None);
    }

    #[test]
    fn a_report_has_no_frame() {
        let text = "  <tools-used-before-summary>Bash</tools-used-before-summary>\n  \n[Subagent hand-back] The text below. The report follows:\n  Two\n\n  lines.\nagentId: a1 (use SendMessage)\n<usage>x</usage>";
        assert_eq!(extract_report(text), "Two\n\nlines.");
        assert_eq!(extract_report("Done.\nagentId: a1 (for resuming)"), "Done.");
        assert_eq!(extract_report("agentId: a1 (for resuming)"), "");
        assert_eq!(extract_report("Done."), "Done.");
    }

    #[test]
    fn command_output_and_answers_have_no_markup() {
        let text = "<status>running</status>\n\n<stdout>\nhi\n</stdout>\n\n<timestamp>x</timestamp>";
        assert_eq!(extract_command_output(text).as_deref(), Some("hi"));
        let text = "<retrieval_status>success</retrieval_status>\n\n<task_id>b</task_id>\n\n<status>completed</status>\n\n<output>\nhi\n</output>";
        assert_eq!(extract_command_output(text).as_deref(), Some("hi"));
        assert_eq!(extract_command_output("hi"), None);
        let text =
            "Your questions have been answered: \"Which?\"=\"A\". You can now continue with these answers in mind.";
        assert_eq!(extract_answers(text), "\"Which?\"=\"A\"");
        assert_eq!(extract_answers("The user answered: \"a?\"=\"b.\"."), "\"a?\"=\"b.\"");
        assert_eq!(extract_answers("The user did not answer the questions."), "The user did not answer the questions.");
    }

    #[test]
    fn a_summary_has_no_instructions() {
        let text = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion.\n\n<system-reminder>\nx\n</system-reminder>\nSummary:\nWe said hi.\n\nIf you need specific details from before compaction, read y\nContinue the conversation from where it left off";
        assert_eq!(extract_summary(text).as_deref(), Some("We said hi."));
        assert_eq!(extract_summary("hello"), None);
    }
}
