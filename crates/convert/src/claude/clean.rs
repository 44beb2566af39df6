//! What Claude Code adds to the output of a tool for the model, and what a person would read instead.
//!
//! Each rule takes one thing away. What is taken away is still in the payload.

use std::borrow::Cow;

/// The marker of an interrupt, which also stands where a tool's output would.
pub(super) const INTERRUPTED: [&str; 2] =
    ["[Request interrupted by user]", "[Request interrupted by user for tool use]"];

/// Takes away notes that the agent appends: `<system-reminder>…</system-reminder>` at the end.
pub(super) fn without_reminders(text: &str) -> &str {
    let mut text = text;
    while let Some(start) =
        text.trim_end().strip_suffix("</system-reminder>").and_then(|text| text.rfind("<system-reminder>"))
    {
        text = text[..start].trim_end_matches(['\n', '\r', ' ']);
    }
    text
}

/// Takes the markup around an error away: `<tool_use_error>…</tool_use_error>`, `<error>…</error>`.
pub(super) fn without_error_tags(text: &str) -> &str {
    let inner = |tag: &str| {
        let rest = text.trim().strip_prefix(&format!("<{tag}>"))?;
        Some(rest.strip_suffix(&format!("</{tag}>")).unwrap_or(rest))
    };
    inner("tool_use_error").or_else(|| inner("error")).unwrap_or(text)
}

/// Takes the line with the exit code of a command that failed away. The code, and the rest.
pub(super) fn exit_code_line(text: &str) -> (Option<i32>, &str) {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    match line.trim_end().strip_prefix("Exit code ").map(str::parse) {
        Some(Ok(code)) => (Some(code), rest),
        _ => (None, text),
    }
}

/// Takes away what stands for the output of a command that printed nothing.
pub(super) fn without_placeholder(text: &str) -> &str {
    match text.trim() {
        "(Bash completed with no output)"
        | "(PowerShell completed with no output)"
        | "(no output)"
        | "Tool ran without output or errors" => "",
        _ => text,
    }
}

/// Takes away the note that a command could not leave the directory for good.
pub(super) fn without_cwd_note(text: &str) -> &str {
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
    if last.starts_with("Shell cwd was reset to ") { before.trim_end_matches('\n') } else { text }
}

/// The preview of an output that was too long to be shown, out of the markup around it.
pub(super) fn preview(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("<persisted-output>")?;
    let inner = inner.strip_suffix("</persisted-output>").unwrap_or(inner);
    let (_, preview) = inner.split_once("Preview (")?;
    let (_, preview) = preview.split_once('\n')?;
    let preview = preview.trim_end_matches('\n');
    Some(preview.strip_suffix("\n...").unwrap_or(preview))
}

/// The first sentence of a text whose rest tells the model how to go on.
pub(super) fn first_sentence(text: &str) -> &str {
    let end = text.match_indices(". ").map(|(at, _)| at + 1).chain(text.find('\n')).min();
    text[..end.unwrap_or(text.len())].trim_end()
}

/// Takes the line numbers in front of each line of a file away: `1\t…`, or `     1→…` of older versions. Nothing is
/// taken away unless every line has one and they count up.
pub(super) fn without_gutter(text: &str) -> Cow<'_, str> {
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

/// What a read says of a file that has nothing to show, instead of its content.
pub(super) fn is_empty_file_note(text: &str) -> bool {
    let text = text.trim().trim_start_matches("<system-reminder>");
    text.starts_with("Warning: the file exists but ")
}

/// Takes away the hint where the model is.
pub(super) fn without_directory_hint(text: &str) -> &str {
    let hints = [" Note: your current working directory is ", " Current working directory: "];
    let hint = hints.into_iter().find_map(|hint| text.find(hint).map(|start| &text[..start]));
    hint.unwrap_or(text)
}

/// Takes away what a search says of itself: that there are no matches, how many there are, how to narrow it.
pub(super) fn search_matches(text: &str) -> Cow<'_, str> {
    if matches!(text.trim(), "No files found" | "No matches found") {
        return Cow::Borrowed("");
    }
    let is_about_the_search = |line: &str| {
        line.starts_with("(Results are truncated")
            || line.starts_with("[Showing results with pagination")
            || line
                .strip_prefix("Found ")
                .and_then(|rest| rest.split_once(' '))
                .is_some_and(|(number, what)| number.parse::<u64>().is_ok() && what.starts_with("file"))
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let said = lines.len();
    if lines.first().is_some_and(|line| is_about_the_search(line)) {
        lines.remove(0);
    }
    while lines.last().is_some_and(|line| is_about_the_search(line) || line.is_empty()) {
        lines.pop();
    }
    if lines.len() == said { Cow::Borrowed(text) } else { Cow::Owned(lines.join("\n")) }
}

/// Takes away what a search of the web reminds the model of.
pub(super) fn without_source_reminder(text: &str) -> &str {
    text.find("\n\nREMINDER: You MUST include the sources").map_or(text, |start| text[..start].trim_end())
}

/// What a tool that was not allowed to run says: the user's own words where there are any, else the agent's reason
/// without the instructions for the model. Nothing for a tool that was refused without a word or stopped while it ran.
pub(super) fn refusal(text: &str) -> Option<&str> {
    if INTERRUPTED.contains(&text.trim()) {
        return Some("");
    }
    if text.starts_with("The user doesn't want to ") {
        let said = ["the user said:\n", "The user provided the following reason for the rejection: "];
        if let Some((_, words)) = said.into_iter().find_map(|mark| text.split_once(mark)) {
            return Some(words.trim());
        }
        return Some("");
    }
    let denied = text.starts_with("Permission to use ") || text.starts_with("Claude requested permissions to ");
    denied.then(|| text.split(" IMPORTANT: ").next().unwrap_or(text))
}

/// The report of a sub-agent, out of the frame that tells the model whose words they are.
pub(super) fn report(text: &str) -> Cow<'_, str> {
    let Some((_, framed)) = text.split_once("[Subagent hand-back]").and_then(|(_, rest)| rest.split_once("follows:\n"))
    else {
        return Cow::Borrowed(without_agent_id(text));
    };
    // Every line of the report is indented; what follows it is not.
    let lines = framed.lines().take_while(|line| line.is_empty() || line.starts_with("  "));
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    Cow::Owned(lines.join("\n").trim_end().to_owned())
}

/// Takes away how the model goes on with a sub-agent, which may be a block of its own.
fn without_agent_id(text: &str) -> &str {
    if text.starts_with("agentId: ") {
        return "";
    }
    text.find("\nagentId: ").map_or(text, |start| text[..start].trim_end())
}

/// What a read of a command's output found, out of the markup around it.
pub(super) fn command_output(text: &str) -> Option<String> {
    let between = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner.trim_matches('\n'))
    };
    if !text.contains("<status>") && !text.contains("<retrieval_status>") {
        return None;
    }
    let found = [between("output"), between("stdout"), between("stderr")].into_iter().flatten();
    Some(found.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// What was answered (`"Which?"="A", …`), without the sentence around it and the advice how to read it.
pub(super) fn answers(text: &str) -> &str {
    let advice = [" You can now continue with ", " Read the answers carefully"];
    let text = advice.into_iter().find_map(|advice| text.rfind(advice)).map_or(text, |start| &text[..start]);
    let sentences =
        ["Your questions have been answered: ", "User has answered your questions: ", "The user answered: "];
    match sentences.into_iter().find_map(|sentence| text.strip_prefix(sentence)) {
        Some(answers) => answers.strip_suffix('.').unwrap_or(answers),
        None => text,
    }
}

/// The summary that stands in place of what was said, without what it tells the model to do with it.
pub(super) fn summary(text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix(CONTINUED)?;
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

/// How the summary of a compaction begins.
const CONTINUED: &str = "This session is being continued from a previous conversation";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reminders_at_the_end_are_taken_away() {
        let text = "hi\n\n<system-reminder>\na\n</system-reminder>\n<system-reminder>b</system-reminder>\n";
        assert_eq!(without_reminders(text), "hi");
        assert_eq!(
            without_reminders("<system-reminder>x</system-reminder> hi"),
            "<system-reminder>x</system-reminder> hi"
        );
        assert_eq!(without_reminders("hi\n"), "hi\n");
    }

    #[test]
    fn errors_lose_their_tags() {
        assert_eq!(without_error_tags("<tool_use_error>no</tool_use_error>"), "no");
        assert_eq!(
            without_error_tags("<error>Command was aborted before completion</error>"),
            "Command was aborted before completion"
        );
        assert_eq!(without_error_tags("a <error> b"), "a <error> b");
    }

    #[test]
    fn a_command_has_neither_an_exit_code_line_nor_a_placeholder() {
        assert_eq!(exit_code_line("Exit code 3\noops\n"), (Some(3), "oops\n"));
        assert_eq!(exit_code_line("Exit code 137"), (Some(137), ""));
        assert_eq!(exit_code_line("Exit code unknown\nx"), (None, "Exit code unknown\nx"));
        assert_eq!(without_placeholder("(Bash completed with no output)"), "");
        assert_eq!(without_placeholder("x"), "x");
        assert_eq!(without_cwd_note("hi\nShell cwd was reset to /w"), "hi");
        assert_eq!(without_cwd_note("Shell cwd was reset to /w"), "");
        assert_eq!(without_cwd_note("hi\n"), "hi\n");
        let long = "<persisted-output>\nOutput too large (9KB). Full output saved to: /x\n\nPreview (first 2KB):\na\nb\n...\n</persisted-output>";
        assert_eq!(preview(long), Some("a\nb"));
        assert_eq!(preview("a"), None);
    }

    #[test]
    fn a_background_command_says_one_sentence() {
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
        assert_eq!(without_gutter("1\ta\n2\t\n3\t  b\tc\n4\t"), "a\n\n  b\tc\n");
        assert_eq!(without_gutter("     9→a\n    10→b"), "a\nb");
        assert_eq!(without_gutter("1\ta\n3\tb"), "1\ta\n3\tb");
        assert_eq!(without_gutter("1\ta\nb"), "1\ta\nb");
        assert!(is_empty_file_note(
            "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
        ));
        assert!(!is_empty_file_note("1\tx"));
        let missing = "File does not exist. Note: your current working directory is /w.";
        assert_eq!(without_directory_hint(missing), "File does not exist.");
    }

    #[test]
    fn a_search_shows_only_what_it_found() {
        assert_eq!(search_matches("No files found"), "");
        assert_eq!(search_matches("Found 2 files\n/a\n/b"), "/a\n/b");
        assert_eq!(
            search_matches("/a\n(Results are truncated. Consider using a more specific path or pattern.)"),
            "/a"
        );
        assert_eq!(search_matches("a:1:Found 2 files\n"), "a:1:Found 2 files\n");
        assert_eq!(without_source_reminder("Links: []\n\n\nREMINDER: You MUST include the sources above"), "Links: []");
    }

    #[test]
    fn a_refusal_is_the_users_words_or_the_reason() {
        let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file).";
        let stop = format!("{refused} STOP what you are doing and wait for the user to tell you how to proceed.");
        assert_eq!(refusal(&stop), Some(""));
        let words = format!("{refused} To tell you how to proceed, the user said:\nUse tabs.");
        assert_eq!(refusal(&words), Some("Use tabs."));
        let stopped = format!(
            "{stop} Correction to the text above: this call was stopped while running, not refused before it ran."
        );
        assert_eq!(refusal(&stopped), Some(""));
        assert_eq!(refusal("[Request interrupted by user for tool use]"), Some(""));
        let denied = "Permission to use Bash with command rm has been denied. IMPORTANT: You *may* attempt";
        assert_eq!(refusal(denied), Some("Permission to use Bash with command rm has been denied."));
        assert_eq!(refusal("Not now."), None);
    }

    #[test]
    fn a_report_is_out_of_its_frame() {
        let text = "  <tools-used-before-summary>Bash</tools-used-before-summary>\n  \n[Subagent hand-back] The text below. The report follows:\n  Two\n\n  lines.\nagentId: a1 (use SendMessage)\n<usage>x</usage>";
        assert_eq!(report(text), "Two\n\nlines.");
        assert_eq!(report("Done.\nagentId: a1 (for resuming)"), "Done.");
        assert_eq!(report("agentId: a1 (for resuming)"), "");
        assert_eq!(report("Done."), "Done.");
    }

    #[test]
    fn reads_of_a_commands_output_and_answers_are_plain() {
        let text = "<status>running</status>\n\n<stdout>\nhi\n</stdout>\n\n<timestamp>x</timestamp>";
        assert_eq!(command_output(text).as_deref(), Some("hi"));
        let text = "<retrieval_status>success</retrieval_status>\n\n<task_id>b</task_id>\n\n<status>completed</status>\n\n<output>\nhi\n</output>";
        assert_eq!(command_output(text).as_deref(), Some("hi"));
        assert_eq!(command_output("hi"), None);
        let text =
            "Your questions have been answered: \"Which?\"=\"A\". You can now continue with these answers in mind.";
        assert_eq!(answers(text), "\"Which?\"=\"A\"");
        assert_eq!(answers("The user answered: \"a?\"=\"b.\"."), "\"a?\"=\"b.\"");
        assert_eq!(answers("The user did not answer the questions."), "The user did not answer the questions.");
    }

    #[test]
    fn a_summary_is_what_was_said() {
        let text = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion.\n\n<system-reminder>\nx\n</system-reminder>\nSummary:\nWe said hi.\n\nIf you need specific details from before compaction, read y\nContinue the conversation from where it left off";
        assert_eq!(summary(text).as_deref(), Some("We said hi."));
        assert_eq!(summary("hello"), None);
    }
}
