//! The transcript as one HTML file.

use interlingua_schema::{
    ChangeKind, EndReason, FileChange, Permission, PermissionStatus, PlanStep, Question, QuestionStatus, Role,
    SessionEnded, SessionStarted, StderrOutput, StepStatus, ToolInput, TurnEnded, TurnStatus, Usage,
};

use crate::commonmark;
use crate::entry::{Block, Entry, EntryBody, MessageEntry, ResultEntry, StatusEntry, ToolEntry};
use crate::text::{format_count, format_duration, push_escaped, sanitize, sanitize_line};
use crate::writer::Totals;

const STYLE: &str = include_str!("transcript.css");

/// Number of lines up to which a diff is shown without unfolding its tool call.
const MAX_UNFOLDED_DIFF_LINES: usize = 80;
/// Number of characters of reasoning that are shown beside the word.
const MAX_REASONING_PREVIEW_CHARS: usize = 90;
/// Types of images that are shown. SVG is not among them, because it can contain links and scripts.
const SHOWN_IMAGE_TYPES: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

/// HTML that is being built.
#[derive(Default)]
struct Html(String);

impl Html {
    /// Appends markup.
    fn tag(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text of several lines.
    fn text(&mut self, text: &str) -> &mut Self {
        push_escaped(&mut self.0, &sanitize(text));
        self
    }

    /// Appends text as one line.
    fn line(&mut self, text: &str) -> &mut Self {
        push_escaped(&mut self.0, &sanitize_line(text));
        self
    }

    /// Appends an element with text of one line.
    fn span(&mut self, class: &str, text: &str) -> &mut Self {
        self.tag("<span class=\"").tag(class).tag("\" dir=\"auto\">").line(text).tag("</span>")
    }

    /// Appends an element with text as it is.
    fn pre(&mut self, class: &str, text: &str) -> &mut Self {
        self.tag("<pre class=\"").tag(class).tag("\" dir=\"auto\">").text(text.trim_end_matches('\n')).tag("</pre>\n")
    }
}

pub(crate) fn header(title: &str) -> String {
    let mut html = Html::default();
    html.tag("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        .tag("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n")
        .tag("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .tag("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>")
        .line(title)
        .tag("</title>\n<style>\n")
        .tag(STYLE)
        .tag("</style>\n</head>\n<body>\n<main>\n<h1 dir=\"auto\">")
        .line(title)
        .tag("</h1>\n");
    html.0
}

pub(crate) fn session_heading(session: &str) -> String {
    let mut html = Html::default();
    html.tag("<h2 class=\"session\" dir=\"auto\">Session ").line(session).tag("</h2>\n");
    html.0
}

pub(crate) fn footer(totals: &Totals) -> String {
    let mut html = Html::default();
    html.tag("</main>\n<footer>");
    html.line(&totals.summary());
    html.tag("</footer>\n</body>\n</html>\n");
    html.0
}

pub(crate) fn entry(entry: &Entry) -> String {
    let mut html = Html::default();
    push_entry(&mut html, entry);
    html.0
}

fn push_entry(html: &mut Html, entry: &Entry) {
    match &entry.body {
        EntryBody::SessionStarted(data) => push_session_started(html, entry, data),
        EntryBody::SessionEnded(data) => push_session_ended(html, data),
        EntryBody::TurnStarted => {}
        EntryBody::TurnEnded(data) => push_turn_ended(html, data),
        EntryBody::Message(message) => push_message(html, entry, message),
        EntryBody::Tool(tool) => push_tool(html, entry, tool),
        EntryBody::LateResult { title, result } => {
            let state = if result.is_failed { "tool failed" } else { "tool" };
            html.tag("<details class=\"").tag(state).tag("\"><summary>").span("kind", "later").span("title", title);
            push_result_badges(html, result);
            html.tag("</summary>\n");
            push_result(html, result);
            html.tag("</details>\n");
        }
        EntryBody::Status(status) => push_status(html, status),
        EntryBody::Permission(permission) => push_permission(html, entry, permission),
        EntryBody::Question(question) => push_question(html, entry, question),
        EntryBody::Error(error) => {
            html.tag("<div class=\"note error\"").anchor(entry).tag("><strong>Error</strong> ");
            if let Some(code) = &error.code {
                html.span("badge", code.as_str());
            }
            html.tag("<p dir=\"auto\">").text(&error.message).tag("</p>");
            push_stderr(html, error.details.as_ref().and_then(|details| details.stderr.as_ref()));
            html.tag("</div>\n");
        }
        EntryBody::Unparsed(reason) => {
            html.tag("<div class=\"status\">Not understood: ").line(reason).tag("</div>\n");
        }
        EntryBody::Unknown(kind) => {
            html.tag("<div class=\"status\">Event of an unknown type: ").line(kind).tag("</div>\n");
        }
    }
}

impl Html {
    /// Appends the id that a link to the entry uses.
    fn anchor(&mut self, entry: &Entry) -> &mut Self {
        if entry.sequence == 0 {
            return self;
        }
        let id = format!(" id=\"e{}\"", entry.sequence);
        self.tag(&id)
    }
}

fn push_session_started(html: &mut Html, entry: &Entry, data: &SessionStarted) {
    let Some(metadata) = &data.metadata else { return };
    html.tag("<dl class=\"facts\">");
    let time = entry.time.to_string();
    let time = if entry.time == interlingua_schema::Timestamp::EPOCH { None } else { Some(time.as_str()) };
    for (name, value) in [
        ("Agent", Some(metadata.agent.as_str()).filter(|agent| !agent.is_empty())),
        ("Version", metadata.agent_version.as_deref()),
        ("Model", metadata.model.as_deref()),
        ("Mode", metadata.agent_mode.as_deref()),
        ("Permissions", metadata.permission_mode.as_deref()),
        ("Directory", metadata.cwd.as_deref()),
        ("Started", time),
    ] {
        if let Some(value) = value {
            html.tag("<div><dt>").tag(name).tag("</dt><dd dir=\"auto\">").line(value).tag("</dd></div>");
        }
    }
    html.tag("</dl>\n");
}

fn push_session_ended(html: &mut Html, data: &SessionEnded) {
    let (class, text) = match &data.reason {
        EndReason::Completed => ("turn-end", "The session ended.".to_owned()),
        EndReason::Terminated => ("turn-end", "The session was terminated.".to_owned()),
        EndReason::Error => ("note error", "The session ended with an error.".to_owned()),
        EndReason::Unknown(reason) => ("note error", format!("The session ended: {reason}.")),
    };
    html.tag("<div class=\"").tag(class).tag("\">").line(&text);
    if let Some(code) = data.exit_code {
        html.span("badge", &format!("exit code {code}"));
    }
    if let Some(message) = &data.message {
        html.tag("<p dir=\"auto\">").text(message).tag("</p>");
    }
    push_stderr(html, data.stderr.as_ref());
    html.tag("</div>\n");
}

/// Appends what the agent wrote to its standard error before it died.
fn push_stderr(html: &mut Html, stderr: Option<&StderrOutput>) {
    let Some(stderr) = stderr else { return };
    let lines = [stderr.head.as_deref(), stderr.tail.as_deref()];
    html.pre("output", &lines.into_iter().flatten().collect::<Vec<_>>().join("\n…\n"));
}

fn push_turn_ended(html: &mut Html, data: &TurnEnded) {
    let status = data.status.as_str();
    let class = match data.status {
        TurnStatus::Completed => "turn-end",
        TurnStatus::Failed | TurnStatus::Unknown(_) => "turn-end failed",
        TurnStatus::Interrupted => "turn-end interrupted",
    };
    html.tag("<div class=\"").tag(class).tag("\">");
    let mut parts = vec![status.to_owned()];
    if data.duration_ms > 0 {
        parts.push(format_duration(data.duration_ms));
    }
    parts.extend(data.usage.as_ref().map(usage_line));
    html.line(&parts.join(" · ")).tag("</div>\n");
}

fn push_message(html: &mut Html, entry: &Entry, message: &MessageEntry) {
    let (class, author) = match &message.role {
        Role::User => ("user", "You"),
        Role::Assistant => ("agent", "Agent"),
        Role::System => ("system", "System"),
        Role::Tool => ("system", "Tool"),
        Role::Unknown(_) => ("system", "Unknown author"),
    };
    let is_reasoning =
        !message.blocks.is_empty() && message.blocks.iter().all(|block| matches!(block, Block::Reasoning(_)));
    if is_reasoning {
        message.blocks.iter().for_each(|block| push_block(html, block, true));
        return;
    }
    html.tag("<article class=\"message ").tag(class).tag("\"").anchor(entry).tag("><h2>").tag(author).tag("</h2>\n");
    for block in &message.blocks {
        push_block(html, block, message.role != Role::User);
    }
    if message.is_open {
        html.tag("<p class=\"cut\">The log ends here.</p>");
    } else if message.is_failed {
        html.tag("<p class=\"cut\">The message was cut off.</p>");
    }
    html.tag("</article>\n");
}

fn push_block(html: &mut Html, block: &Block, is_markdown: bool) {
    match block {
        Block::Text(text) if is_markdown => {
            html.tag("<div class=\"text\" dir=\"auto\">\n").tag(&commonmark::render(text)).tag("</div>\n");
        }
        Block::Text(text) => {
            html.tag("<div class=\"text plain\" dir=\"auto\">").text(text).tag("</div>\n");
        }
        Block::Reasoning(text) if text.is_empty() => {
            html.tag("<p class=\"status\">Reasoning that the agent does not show.</p>\n");
        }
        Block::Reasoning(text) => {
            let preview: String = sanitize_line(text).chars().take(MAX_REASONING_PREVIEW_CHARS).collect();
            html.tag("<details class=\"reasoning\"><summary>Reasoning ")
                .span("preview", &preview)
                .tag("</summary><div class=\"text\" dir=\"auto\">\n")
                .tag(&commonmark::render(text))
                .tag("</div></details>\n");
        }
        Block::Json(json) => {
            html.pre("output", json);
        }
        Block::Image { path, mime } => push_image(html, path, mime.as_deref()),
        Block::File { path, diff } => {
            html.tag("<div class=\"file\"><div class=\"path\" dir=\"auto\">").line(path).tag("</div>");
            if let Some(diff) = diff {
                push_diff(html, diff);
            }
            html.tag("</div>\n");
        }
    }
}

fn push_image(html: &mut Html, path: &str, mime: Option<&str>) {
    let is_shown = SHOWN_IMAGE_TYPES.iter().any(|shown| {
        let rest = path.strip_prefix("data:").and_then(|rest| rest.strip_prefix(shown));
        rest.and_then(|rest| rest.strip_prefix(";base64,")).is_some_and(|data| data.bytes().all(is_base64))
    });
    if is_shown {
        html.tag("<img alt=\"Image\" src=\"");
        push_escaped(&mut html.0, path);
        html.tag("\">\n");
    } else {
        let name = if path.starts_with("data:") { mime.unwrap_or("embedded") } else { path };
        html.tag("<div class=\"path\" dir=\"auto\">Image: ").line(name).tag("</div>\n");
    }
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Appends a unified diff, one element per line.
fn push_diff(html: &mut Html, diff: &str) {
    html.tag("<pre class=\"diff\">");
    for line in sanitize(diff).lines() {
        let class = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "head",
            [b'+', ..] => "add",
            [b'-', ..] => "del",
            [b'@', ..] => "hunk",
            _ => "same",
        };
        html.tag("<span class=\"").tag(class).tag("\">");
        push_escaped(&mut html.0, line);
        html.tag("\n</span>");
    }
    html.tag("</pre>");
}

fn push_tool(html: &mut Html, entry: &Entry, tool: &ToolEntry) {
    let is_failed = tool.result.as_ref().is_some_and(|result| result.is_failed);
    let diff_lines: usize = tool.result.iter().flat_map(|result| &result.blocks).map(diff_line_count).sum();
    let is_unfolded = (1..=MAX_UNFOLDED_DIFF_LINES).contains(&diff_lines);
    html.tag("<details class=\"").tag(if is_failed { "tool failed" } else { "tool" }).tag("\"").anchor(entry);
    html.tag(if is_unfolded { " open><summary>" } else { "><summary>" });
    if let Some(label) = tool.label() {
        html.span("kind", label);
    }
    html.span("title", tool.headline());
    match &tool.result {
        Some(result) => push_result_badges(html, result),
        None => {
            html.span("badge", "no result");
        }
    }
    html.tag("</summary>\n");
    let has_diff = diff_lines > 0;
    match tool.input.as_deref() {
        Some(input) => push_input(html, input, has_diff),
        None if tool.title.is_none() && tool.arguments != "{}" => {
            html.pre("input", &tool.arguments);
        }
        None => {}
    }
    if !tool.children.is_empty() {
        html.tag("<div class=\"children\">\n");
        tool.children.iter().for_each(|child| push_entry(html, child));
        html.tag("</div>\n");
    }
    if let Some(result) = &tool.result {
        push_result(html, result);
    }
    html.tag("</details>\n");
}

fn diff_line_count(block: &Block) -> usize {
    match block {
        Block::File { diff: Some(diff), .. } => diff.lines().count(),
        _ => 0,
    }
}

fn push_result_badges(html: &mut Html, result: &ResultEntry) {
    if let Some(code) = result.exit_code.filter(|code| *code != 0) {
        html.span("badge bad", &format!("exit {code}"));
    } else if result.is_failed {
        html.span("badge bad", "failed");
    }
    if let Some(duration) = result.duration_ms {
        html.span("badge", &format_duration(duration));
    }
}

fn push_input(html: &mut Html, input: &ToolInput, has_diff: bool) {
    match input {
        ToolInput::Command(command) => {
            html.pre("input command", &command.command);
        }
        ToolInput::FileChange(change) if !has_diff => {
            change.changes.iter().for_each(|change| push_change(html, change));
        }
        ToolInput::SubAgent(sub_agent) => {
            html.tag("<div class=\"text plain\" dir=\"auto\">").text(&sub_agent.prompt).tag("</div>\n");
        }
        ToolInput::Mcp(mcp) => {
            html.pre("input", &format!("{:#}", mcp.arguments));
        }
        ToolInput::Plan(plan) => push_steps(html, &plan.steps),
        ToolInput::Unknown(value) => {
            html.pre("input", &format!("{value:#}"));
        }
        // The title says it.
        ToolInput::FileChange(_)
        | ToolInput::FileRead(_)
        | ToolInput::Search(_)
        | ToolInput::Web(_)
        | ToolInput::Question(_) => {}
    }
}

fn push_change(html: &mut Html, change: &FileChange) {
    let action = change.change.as_ref().map_or("change", ChangeKind::as_str);
    html.tag("<div class=\"file\"><div class=\"path\" dir=\"auto\">")
        .line(&format!("{action} {}", change.path))
        .tag("</div>");
    if let Some(diff) = &change.diff {
        push_diff(html, diff);
    }
    for edit in change.edits.iter().flatten() {
        let marked =
            |text: &str, mark: char| text.lines().map(|line| format!("{mark}{line}\n")).collect::<Vec<_>>().concat();
        push_diff(html, &(marked(&edit.old, '-') + &marked(&edit.new, '+')));
    }
    html.tag("</div>\n");
}

fn push_result(html: &mut Html, result: &ResultEntry) {
    if !result.output.is_empty() {
        html.pre("output", &result.output);
    }
    result.blocks.iter().for_each(|block| push_block(html, block, false));
}

fn push_steps(html: &mut Html, steps: &[PlanStep]) {
    html.tag("<ul class=\"plan\">");
    for step in steps {
        let (class, mark) = step_mark(&step.status);
        html.tag("<li class=\"")
            .tag(class)
            .tag("\"><span class=\"mark\">")
            .tag(mark)
            .tag("</span>")
            .line(&step.content)
            .tag("</li>");
    }
    html.tag("</ul>\n");
}

/// Class and mark of a step of a plan.
pub(crate) fn step_mark(status: &StepStatus) -> (&'static str, &'static str) {
    match status {
        StepStatus::Pending => ("pending", "○"),
        StepStatus::InProgress => ("running", "◐"),
        StepStatus::Completed => ("done", "✓"),
        StepStatus::Cancelled => ("cancelled", "✕"),
        StepStatus::Unknown(_) => ("pending", "?"),
    }
}

fn push_status(html: &mut Html, status: &StatusEntry) {
    html.tag("<div class=\"status\">").span("label", &status.label.replace('_', " "));
    if let Some(detail) = &status.detail {
        html.tag(" <span dir=\"auto\">").line(detail).tag("</span>");
    }
    if !status.steps.is_empty() {
        push_steps(html, &status.steps);
    }
    html.tag("</div>\n");
}

fn push_permission(html: &mut Html, entry: &Entry, permission: &Permission) {
    let (class, outcome) = match permission.status {
        PermissionStatus::Requested => ("note request", "not answered"),
        PermissionStatus::Approved => ("note request", "approved"),
        PermissionStatus::Denied => ("note request denied", "denied"),
        PermissionStatus::Unknown(_) => ("note request denied", "unknown decision"),
    };
    html.tag("<div class=\"").tag(class).tag("\"").anchor(entry).tag("><strong>Permission</strong> ");
    html.span("title", &permission.action).span("badge", outcome);
    if let Some(by) = permission.metadata.as_ref().and_then(|metadata| metadata.by.as_deref()) {
        html.span("badge", &format!("by {by}"));
    }
    html.tag("</div>\n");
}

fn push_question(html: &mut Html, entry: &Entry, question: &Question) {
    html.tag("<div class=\"note request\"")
        .anchor(entry)
        .tag("><strong>Question</strong><div class=\"text\" dir=\"auto\">\n");
    html.tag(&commonmark::render(&question.prompt)).tag("</div>");
    if !question.options.is_empty() {
        html.tag("<ul>");
        for option in &question.options {
            html.tag("<li dir=\"auto\">").line(option).tag("</li>");
        }
        html.tag("</ul>");
    }
    let response = question.response.as_deref().unwrap_or_default();
    let answer = match question.status {
        QuestionStatus::Requested => "Not answered".to_owned(),
        QuestionStatus::Answered => format!("Answer: {response}"),
        QuestionStatus::Rejected => format!("Rejected {response}"),
        QuestionStatus::Unknown(_) => format!("Unknown answer {response}"),
    };
    html.tag("<p class=\"answer\" dir=\"auto\">").line(&answer).tag("</p></div>\n");
}

/// The tokens and cost of a turn or session, in one line.
pub(crate) fn usage_line(usage: &Usage) -> String {
    let mut parts = vec![format!("{} in", format_count(usage.input_tokens))];
    let cached = usage.cached_input_tokens.filter(|cached| *cached > 0);
    parts.extend(cached.map(|cached| format!("{} cached", format_count(cached))));
    parts.push(format!("{} out", format_count(usage.output_tokens)));
    parts.extend(usage.cost_usd.map(|cost| format!("${cost:.4}")));
    parts.extend(usage.model.clone());
    parts.join(" · ")
}

impl Totals {
    /// What the end of a transcript says, in one line.
    pub(crate) fn summary(&self) -> String {
        let number = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        let mut parts = vec![number(self.turns, "turn", "turns"), number(self.events, "event", "events")];
        if let (Some(start), Some(end)) = (self.start, self.end) {
            parts.push(format_duration(end.millis_since(start)));
        }
        parts.extend(self.usage.as_ref().map(usage_line));
        if self.unparsed > 0 {
            parts.push(number(self.unparsed, "payload was not understood", "payloads were not understood"));
        }
        parts.join(" · ")
    }
}
