//! The transcript as Markdown.

use interlingua_schema::{PermissionStatus, QuestionStatus, Role, SessionStarted, TurnStatus};

use crate::embedded::embed;
use crate::entry::{Block, Entry, EntryBody, MessageEntry, ResultEntry, StatusEntry, ToolEntry};
use crate::html::{step_mark, usage_line};
use crate::text::{format_duration, sanitize, sanitize_line};
use crate::writer::Totals;

pub(crate) fn header(title: &str) -> String {
    format!("# {}\n\n", escape_line(title))
}

pub(crate) fn session_heading(session: &str) -> String {
    format!("# Session {}\n\n", escape_line(session))
}

pub(crate) fn footer(totals: &Totals) -> String {
    format!("---\n\n{}\n", escape_line(&totals.summary()))
}

pub(crate) fn entry(entry: &Entry) -> String {
    match &entry.body {
        EntryBody::SessionStarted(data) => session_started(data),
        EntryBody::SessionEnded(data) => {
            let message = data.message.as_deref().map(|text| format!(": {}", escape_line(text))).unwrap_or_default();
            format!("*Session ended ({}){message}*\n\n", data.reason.as_str())
        }
        EntryBody::TurnStarted => String::new(),
        EntryBody::TurnEnded(data) => {
            let mut parts = Vec::new();
            if data.status != TurnStatus::Completed {
                parts.push(data.status.as_str().to_owned());
            }
            if data.duration_ms > 0 {
                parts.push(format_duration(data.duration_ms));
            }
            parts.extend(data.usage.as_ref().map(usage_line));
            if parts.is_empty() { String::new() } else { format!("*{}*\n\n", escape_line(&parts.join(" · "))) }
        }
        EntryBody::Message(message) => message_text(message),
        EntryBody::Tool(tool) => tool_text(tool),
        EntryBody::LateResult { title, result } => {
            format!("**Later result of {}**{}\n\n{}", escape_line(title), outcome(result), result_text(result))
        }
        EntryBody::Status(status) => status_text(status),
        EntryBody::Permission(permission) => {
            let outcome = match permission.status {
                PermissionStatus::Requested => "not answered",
                PermissionStatus::Approved => "approved",
                PermissionStatus::Denied => "denied",
                PermissionStatus::Unknown(_) => "unknown decision",
            };
            format!("> **Permission** {}: {outcome}\n\n", escape_line(&permission.action))
        }
        EntryBody::Question(question) => {
            let options: String = question
                .options
                .iter()
                .map(|option| format!("- {}\n", escape_line(option)))
                .collect::<Vec<_>>()
                .concat();
            let response = question.response.as_deref().unwrap_or_default();
            let answer = match question.status {
                QuestionStatus::Requested => "not answered".to_owned(),
                QuestionStatus::Answered => format!("answer: {}", escape_line(response)),
                QuestionStatus::Rejected | QuestionStatus::Unknown(_) => format!("rejected {}", escape_line(response)),
            };
            quote(&format!("**Question**\n\n{}\n{options}\n{answer}", embed(&question.prompt)))
        }
        EntryBody::Error(error) => {
            let code = error.code.as_ref().map(|code| format!(" ({})", escape_line(code.as_str()))).unwrap_or_default();
            quote(&format!("**Error{code}**\n\n{}", embed(&error.message)))
        }
        EntryBody::Unparsed(reason) => format!("*Not understood: {}*\n\n", escape_line(reason)),
        EntryBody::Unknown(kind) => format!("*Event of an unknown type: {}*\n\n", escape_line(kind)),
    }
}

fn session_started(data: &SessionStarted) -> String {
    let Some(metadata) = &data.metadata else { return String::new() };
    let facts = [
        ("Agent", Some(metadata.agent.as_str()).filter(|agent| !agent.is_empty())),
        ("Version", metadata.agent_version.as_deref()),
        ("Model", metadata.model.as_deref()),
        ("Mode", metadata.agent_mode.as_deref()),
        ("Permissions", metadata.permission_mode.as_deref()),
        ("Directory", metadata.cwd.as_deref()),
    ];
    let lines: String =
        facts.into_iter().filter_map(|(name, value)| Some(format!("- {name}: {}\n", escape_line(value?)))).collect();
    format!("{lines}\n")
}

fn message_text(message: &MessageEntry) -> String {
    let author = match &message.role {
        Role::User => "You",
        Role::Assistant => "Agent",
        Role::System => "System",
        Role::Tool => "Tool",
        Role::Unknown(_) => "Unknown author",
    };
    let blocks: String = message.blocks.iter().map(block_text).collect();
    let is_reasoning = message.blocks.iter().all(|block| matches!(block, Block::Reasoning(_)));
    let heading = if is_reasoning { String::new() } else { format!("## {author}\n\n") };
    let remark = match (message.is_open, message.is_failed) {
        (true, _) => "*The log ends here.*\n\n",
        (_, true) => "*The message was cut off.*\n\n",
        _ => "",
    };
    format!("{heading}{blocks}{remark}")
}

fn block_text(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("{}\n", embed(text)),
        Block::Reasoning(text) if text.is_empty() => "*Reasoning that the agent does not show.*\n\n".to_owned(),
        Block::Reasoning(text) => details("Reasoning", &format!("{}\n", embed(text))),
        Block::Json(json) => fenced(json, "json"),
        Block::Image { path, mime } => {
            let name = if path.starts_with("data:") { mime.as_deref().unwrap_or("embedded") } else { path };
            format!("*Image: {}*\n\n", escape_line(name))
        }
        Block::File { path, diff: Some(diff) } => format!("{}\n\n{}", escape_line(path), fenced(diff, "diff")),
        Block::File { path, diff: None } => format!("{}\n\n", escape_line(path)),
    }
}

fn tool_text(tool: &ToolEntry) -> String {
    let label = tool.label().map(|label| format!("{label}: ")).unwrap_or_default();
    let title = format!(
        "{label}{}{}",
        escape_html(&sanitize_line(tool.headline())),
        tool.result.as_ref().map(outcome).unwrap_or_default()
    );
    let arguments = match (&tool.title, &tool.result) {
        (None, _) if tool.arguments != "{}" => fenced(&tool.arguments, "json"),
        _ => String::new(),
    };
    let children: String = tool.children.iter().map(entry).collect();
    let children = if children.is_empty() { children } else { quote(&children) };
    let result = tool.result.as_ref().map(result_text).unwrap_or_default();
    let body = format!("{arguments}{children}{result}");
    if body.is_empty() { format!("**{}**\n\n", escape_line(&title)) } else { details(&title, &body) }
}

fn outcome(result: &ResultEntry) -> String {
    let mut parts = Vec::new();
    match result.exit_code {
        Some(code) if code != 0 => parts.push(format!("exit code {code}")),
        _ if result.is_failed => parts.push("failed".to_owned()),
        _ => {}
    }
    parts.extend(result.duration_ms.map(format_duration));
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn result_text(result: &ResultEntry) -> String {
    let output = if result.output.is_empty() { String::new() } else { fenced(&result.output, "text") };
    let blocks: String = result.blocks.iter().map(block_text).collect();
    format!("{output}{blocks}")
}

fn status_text(status: &StatusEntry) -> String {
    let detail = status.detail.as_deref().map(|detail| format!(": {}", escape_line(detail))).unwrap_or_default();
    let steps: String = status
        .steps
        .iter()
        .map(|step| format!("- {} {}\n", step_mark(&step.status).1, escape_line(&step.content)))
        .collect::<Vec<_>>()
        .concat();
    format!("*{}{detail}*\n\n{steps}{}", escape_line(&status.label), if steps.is_empty() { "" } else { "\n" })
}

/// A folded section.
fn details(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{body}</details>\n\n")
}

/// Text as a code block. The fence is longer than every fence in the text.
fn fenced(text: &str, language: &str) -> String {
    let text = sanitize(text);
    let fence = "`".repeat(longest_run(&text, '`').max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n\n", text.trim_end_matches('\n'))
}

fn longest_run(text: &str, wanted: char) -> usize {
    text.split(|character| character != wanted).map(str::len).max().unwrap_or(0)
}

fn quote(text: &str) -> String {
    let lines: String = text.trim_end().lines().map(|line| format!("> {line}\n")).collect::<Vec<_>>().concat();
    format!("{lines}\n")
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text as one line without meaning in Markdown.
fn escape_line(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in sanitize_line(text).chars() {
        match character {
            // A viewer that does not know the escape would see a tag.
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '>' | '#' | '|' | '!' => escaped.extend(['\\', character]),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_those_in_the_text() {
        assert_eq!(fenced("a\n````\nb\n", "text"), "`````text\na\n````\nb\n`````\n\n");
    }

    #[test]
    fn a_line_has_no_meaning_in_markdown() {
        assert_eq!(escape_line("a *b*\n# c <x>"), "a \\*b\\* \\# c &lt;x\\>");
    }
}
