//! A transcript of universal events for people.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

use interlingua_schema::{
    ContentPart, EndReason, EventData, Item, ItemId, ItemKind, ItemStatus, Permission, PermissionStatus, Question,
    QuestionStatus, Role, SessionEnded, SessionId, StatusData, StatusLabel, StepStatus, TurnEnded, TurnStatus,
    UniversalEvent, Usage,
};
use interlingua_transcript::sanitize;

use super::live::LiveMessage;
use super::style::{Styles, TextRole};

/// Maximum number of lines of a tool's output, unless all output is shown.
const MAX_BLOCK_LINES: usize = 12;
/// Maximum number of characters of a tool's arguments.
const MAX_ARGUMENT_CHARS: usize = 160;

/// Writes a transcript, event by event.
pub(crate) struct Transcript<W> {
    pub(super) out: W,
    pub(super) styles: Styles,
    /// Whether the output of tools is shown completely.
    full: bool,
    session: Option<SessionId>,
    /// Started messages with the text that was streamed so far.
    open: BTreeMap<ItemId, (Role, String)>,
    /// Indentation of each started item, for its children.
    pub(super) depths: HashMap<ItemId, usize>,
    total_usage: Option<Usage>,
    turns: u64,
    /// Whether messages are shown while they stream.
    pub(super) is_live: bool,
    /// The message that is shown while it streams.
    pub(super) live_message: Option<LiveMessage>,
    /// Started messages that are reasoning.
    pub(super) reasoning_items: HashSet<ItemId>,
    /// Whether requests are shown with their ids.
    shows_request_ids: bool,
    /// What was shown of each tool call, by its id.
    tool_calls: HashMap<String, String>,
    /// Id of the tool call that was shown last. Its result need not repeat it.
    last_tool_call: Option<String>,
    /// Id of the request that was shown last. Its result need not repeat what was asked.
    last_request: Option<String>,
}

impl<W: Write> Transcript<W> {
    pub(crate) fn new(out: W, styles: Styles, full: bool) -> Self {
        Self {
            out,
            styles,
            full,
            session: None,
            open: BTreeMap::new(),
            depths: HashMap::new(),
            total_usage: None,
            turns: 0,
            is_live: false,
            live_message: None,
            reasoning_items: HashSet::new(),
            shows_request_ids: false,
            tool_calls: HashMap::new(),
            last_tool_call: None,
            last_request: None,
        }
    }

    /// Shows messages while they stream, not only when they are complete.
    pub(crate) fn live(mut self) -> Self {
        self.is_live = true;
        self
    }

    /// Shows the id of each request, with which it can be answered.
    pub(crate) fn show_request_ids(&mut self) {
        self.shows_request_ids = true;
    }

    /// Notes that a prompt has shown a request.
    pub(crate) fn note_request(&mut self, id: &str) {
        self.last_request = Some(id.to_owned());
    }

    /// Writes one event.
    pub(crate) fn write_event(&mut self, event: &UniversalEvent) -> io::Result<()> {
        if self.session.as_ref() != Some(&event.session_id) {
            self.session = Some(event.session_id.clone());
            self.write_line(0, TextRole::Dim, &format!("── session {} ──", event.session_id))?;
        }
        match &event.data {
            EventData::ItemStarted(data) => {
                self.item_started(&data.item);
                Ok(())
            }
            EventData::ItemDelta(data) => {
                let Some((role, text)) = self.open.get_mut(&data.item_id) else { return Ok(()) };
                let is_first = text.is_empty();
                text.push_str(&data.delta);
                let role = role.clone();
                if self.is_live { self.write_delta(&data.item_id, &role, &data.delta, is_first) } else { Ok(()) }
            }
            EventData::ItemCompleted(data) => self.item_completed(&data.item),
            EventData::TurnEnded(data) => self.turn_ended(data),
            EventData::SessionEnded(data) => self.session_ended(data),
            EventData::PermissionRequested(data) | EventData::PermissionResolved(data) => self.write_permission(data),
            EventData::QuestionRequested(data) | EventData::QuestionResolved(data) => self.write_question(data),
            EventData::Error(data) => {
                let code = data.code.as_ref().and_then(|code| serde_json::to_value(code).ok());
                let code = code.as_ref().and_then(|code| code.as_str()).unwrap_or("error").to_owned();
                self.write_line(0, TextRole::Error, &format!("✗ {code}: {}", data.message))
            }
            EventData::AgentUnparsed(data) => self.write_unparsed(&data.error),
            EventData::SessionStarted(_) | EventData::TurnStarted(_) => Ok(()),
            other @ EventData::Unknown(_) => self.write_line(0, TextRole::Dim, &format!("· {}", other.kind())),
        }
    }

    /// Writes that an input could not be parsed.
    pub(crate) fn write_unparsed(&mut self, reason: &str) -> io::Result<()> {
        self.write_line(0, TextRole::Dim, &format!("· not parsed: {reason}"))
    }

    /// Writes incomplete messages and the total usage.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.end_live_line()?;
        for (role, text) in std::mem::take(&mut self.open).into_values() {
            if !text.is_empty() {
                self.write_message(0, &role, &text, false)?;
                self.write_line(1, TextRole::Dim, "(the log ends here)")?;
            }
        }
        if let Some(total) = self.total_usage.take() {
            let turns = if self.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", self.turns) };
            self.write_line(0, TextRole::Dim, &format!("── {turns}: {} ──", format_usage(&total)))?;
        }
        self.out.flush()
    }

    fn item_started(&mut self, item: &Item) {
        let depth = self.depth(item);
        self.depths.insert(item.item_id.clone(), depth);
        if item.kind == ItemKind::Message {
            self.track_reasoning(item);
            self.open.insert(item.item_id.clone(), (item.role.clone().unwrap_or(Role::Assistant), String::new()));
        }
    }

    /// Indentation of an item. Items of a sub-agent are indented below the tool call that started it.
    fn depth(&self, item: &Item) -> usize {
        let parent_depth = item.parent_id.as_ref().and_then(|parent| self.depths.get(parent)).copied();
        match (&item.kind, parent_depth) {
            (_, None) => 0,
            (ItemKind::ToolCall | ItemKind::ToolResult, Some(parent)) => parent,
            (
                ItemKind::Message | ItemKind::Status | ItemKind::System | ItemKind::Unknown | ItemKind::Unlisted(_),
                Some(parent),
            ) => parent + 1,
        }
    }

    fn item_completed(&mut self, item: &Item) -> io::Result<()> {
        self.open.remove(&item.item_id);
        let is_shown = self.finish_live_message(item)?;
        let depth = self.depths.get(&item.item_id).copied().unwrap_or(0);
        let failed = matches!(item.status, ItemStatus::Failed | ItemStatus::Unknown(_));
        for part in &item.content {
            match part {
                ContentPart::Text { .. } | ContentPart::Reasoning { .. } if is_shown => {}
                ContentPart::Text { text } if item.kind == ItemKind::Message => {
                    self.write_message(depth, item.role.as_ref().unwrap_or(&Role::Assistant), text, failed)?;
                }
                ContentPart::Text { text } => self.write_block(depth + 1, TextRole::Dim, text)?,
                ContentPart::Reasoning { text, .. } if text.is_empty() => {
                    self.write_line(depth, TextRole::Reasoning, "(reasoning is not shown)")?;
                }
                ContentPart::Reasoning { text, .. } => self.write_block(depth, TextRole::Reasoning, text)?,
                ContentPart::ToolCall { name, arguments, title, call_id, .. } => {
                    let call = match title {
                        Some(title) => title.clone(),
                        None => format!("{name} {}", truncate(arguments, MAX_ARGUMENT_CHARS)),
                    };
                    self.write_line(
                        depth,
                        if failed { TextRole::Error } else { TextRole::Tool },
                        &format!("⏺ {call}"),
                    )?;
                    self.last_tool_call = Some(call_id.clone());
                    self.tool_calls.insert(call_id.clone(), call);
                }
                ContentPart::ToolResult { call_id, output, exit_code, .. } => {
                    // If the output is the same diff as the file reference that follows, it is shown once.
                    let is_diff = |part: &ContentPart| matches!(part, ContentPart::FileRef { diff: Some(diff), .. } if diff == output);
                    let output = if item.content.iter().any(is_diff) { "" } else { output };
                    if failed || !output.is_empty() || exit_code.is_some_and(|code| code != 0) {
                        self.write_result_subject(depth, call_id)?;
                    }
                    self.write_tool_result(depth, output, *exit_code, failed)?;
                }
                ContentPart::FileRef { path, diff, .. } => self.write_file(depth + 1, path, diff.as_deref())?,
                ContentPart::Image { path, .. } => {
                    self.write_line(depth + 1, TextRole::Dim, &format!("[image {}]", truncate(path, 60)))?;
                }
                ContentPart::Status { label, detail } => {
                    let label = serde_json::to_value(label).unwrap_or_default();
                    let detail = detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
                    self.write_line(
                        depth,
                        TextRole::Dim,
                        &format!("· {}{detail}", label.as_str().unwrap_or("status")),
                    )?;
                }
                // The detail of a status has the same information as its data, except for the steps of a plan.
                ContentPart::Json { json } if item.status_label() == Some(&StatusLabel::Plan) => {
                    self.write_plan_steps(depth + 1, json)?;
                }
                ContentPart::Json { .. } if item.kind == ItemKind::Status => {}
                ContentPart::Json { json } => {
                    self.write_line(depth + 1, TextRole::Dim, &truncate(&json.to_string(), MAX_ARGUMENT_CHARS))?;
                }
                ContentPart::Unknown(_) => self.write_line(depth, TextRole::Dim, "· unknown content")?,
            }
        }
        Ok(())
    }

    fn write_message(&mut self, depth: usize, role: &Role, text: &str, failed: bool) -> io::Result<()> {
        self.write_role(depth, role, if failed { " (cut off)" } else { "" })?;
        for line in sanitize(text).lines() {
            writeln!(self.out, "{}{line}", indent(depth + 1))?;
        }
        Ok(())
    }

    /// Writes the line above a message: the role and a remark.
    pub(super) fn write_role(&mut self, depth: usize, role: &Role, remark: &str) -> io::Result<()> {
        let (label, style) = match role {
            Role::User => ("you", TextRole::User),
            Role::Assistant => ("agent", TextRole::Agent),
            Role::System => ("system", TextRole::Dim),
            Role::Tool => ("tool", TextRole::Tool),
            Role::Unknown(_) => ("unknown", TextRole::Dim),
        };
        self.write_line(depth, style, &format!("{label}{remark}:"))
    }

    /// Writes which call a result belongs to, unless that was the last one to be shown. Tools may run at the same time.
    fn write_result_subject(&mut self, depth: usize, call_id: &str) -> io::Result<()> {
        if self.last_tool_call.as_deref() == Some(call_id) {
            return Ok(());
        }
        let Some(call) = self.tool_calls.get(call_id).cloned() else { return Ok(()) };
        self.last_tool_call = Some(call_id.to_owned());
        self.write_line(depth, TextRole::Dim, &format!("↳ {call}"))
    }

    fn write_tool_result(
        &mut self,
        depth: usize,
        output: &str,
        exit_code: Option<i32>,
        failed: bool,
    ) -> io::Result<()> {
        match (exit_code, failed) {
            (Some(code), _) if code != 0 => {
                self.write_line(depth + 1, TextRole::Error, &format!("✗ exit code {code}"))?;
            }
            (_, true) => self.write_line(depth + 1, TextRole::Error, "✗ failed")?,
            _ => {}
        }
        self.write_block(depth + 1, TextRole::Dim, output)
    }

    fn write_file(&mut self, depth: usize, path: &str, diff: Option<&str>) -> io::Result<()> {
        self.write_line(depth, TextRole::Dim, path)?;
        for line in diff.map(sanitize).unwrap_or_default().lines() {
            let style = match line.as_bytes() {
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => TextRole::Dim,
                [b'+', ..] => TextRole::Added,
                [b'-', ..] => TextRole::Removed,
                [b'@', ..] => TextRole::Hunk,
                _ => TextRole::Dim,
            };
            writeln!(self.out, "{}{}", indent(depth), self.styles.apply(style, line))?;
        }
        Ok(())
    }

    /// Writes the steps of a plan, one per line; nothing for invalid data.
    fn write_plan_steps(&mut self, depth: usize, json: &serde_json::Value) -> io::Result<()> {
        let Some(Ok(StatusData::Plan(plan))) = StatusData::decode(&StatusLabel::Plan, json) else { return Ok(()) };
        for step in plan.steps {
            let checkbox = match step.status {
                StepStatus::Pending => "[ ]",
                StepStatus::InProgress => "[>]",
                StepStatus::Completed => "[x]",
                StepStatus::Cancelled => "[-]",
                StepStatus::Unknown(_) => "[?]",
            };
            self.write_line(depth, TextRole::Dim, &format!("{checkbox} {}", step.content))?;
        }
        Ok(())
    }

    fn write_permission(&mut self, permission: &Permission) -> io::Result<()> {
        let (id, action) = (permission.permission_id.as_str(), permission.action.as_str());
        let (style, result) = match permission.status {
            PermissionStatus::Requested => return self.write_request(id, &format!("allow: {action}")),
            PermissionStatus::Approved => (TextRole::Added, "✓ approved"),
            PermissionStatus::Denied => (TextRole::Removed, "✗ denied"),
            PermissionStatus::Unknown(_) => (TextRole::Removed, "✗ unknown decision"),
        };
        let subject = self.request_subject(id, action);
        self.write_line(1, style, &format!("{result}{subject}"))
    }

    fn write_question(&mut self, question: &Question) -> io::Result<()> {
        let (id, prompt) = (question.question_id.as_str(), question.prompt.as_str());
        let response = question.response.as_deref().unwrap_or_default();
        let (style, result) = match question.status {
            QuestionStatus::Requested => {
                self.write_request(id, prompt)?;
                for option in &question.options {
                    self.write_line(1, TextRole::Dim, &format!("- {option}"))?;
                }
                return Ok(());
            }
            QuestionStatus::Answered => (TextRole::User, format!("→ {response}")),
            QuestionStatus::Rejected => (TextRole::Removed, format!("✗ not answered {response}").trim_end().to_owned()),
            QuestionStatus::Unknown(_) => (TextRole::Removed, "✗ unknown answer".to_owned()),
        };
        let subject = self.request_subject(id, prompt);
        self.write_line(1, style, &format!("{result}{subject}"))
    }

    fn write_request(&mut self, id: &str, text: &str) -> io::Result<()> {
        self.last_request = Some(id.to_owned());
        let id = if self.shows_request_ids { format!(" [{id}]") } else { String::new() };
        self.write_line(0, TextRole::Request, &format!("? {text}{id}"))
    }

    /// What a result is about, unless that was the last request to be shown.
    fn request_subject(&mut self, id: &str, text: &str) -> String {
        if self.last_request.as_deref() == Some(id) { String::new() } else { format!(": {text}") }
    }

    fn turn_ended(&mut self, end: &TurnEnded) -> io::Result<()> {
        self.turns += 1;
        let mut parts = Vec::new();
        let style = match end.status {
            TurnStatus::Completed => TextRole::Dim,
            TurnStatus::Failed => {
                parts.push("failed".to_owned());
                TextRole::Error
            }
            TurnStatus::Interrupted => {
                parts.push("interrupted".to_owned());
                TextRole::Request
            }
            TurnStatus::Unknown(_) => {
                parts.push("unknown outcome".to_owned());
                TextRole::Error
            }
        };
        if end.duration_ms > 0 {
            parts.push(format!("{}.{} s", end.duration_ms / 1000, end.duration_ms % 1000 / 100));
        }
        if let Some(usage) = &end.usage {
            parts.push(format_usage(usage));
            match &mut self.total_usage {
                Some(total) => *total += usage.clone(),
                none => *none = Some(usage.clone()),
            }
        }
        if parts.is_empty() {
            Ok(())
        } else {
            self.write_line(0, style, &format!("── {} ──", parts.join(", ")))
        }
    }

    fn session_ended(&mut self, end: &SessionEnded) -> io::Result<()> {
        let reason = match end.reason {
            EndReason::Completed => return Ok(()),
            EndReason::Error => "ended with an error",
            EndReason::Terminated => "terminated",
            EndReason::Unknown(_) => "ended for an unknown reason",
        };
        let message = end.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
        self.write_line(0, TextRole::Error, &format!("── session {reason}{message} ──"))
    }

    /// Writes a text of several lines. Long texts are shortened unless `full` is set.
    fn write_block(&mut self, depth: usize, style: TextRole, text: &str) -> io::Result<()> {
        self.end_live_line()?;
        let text = sanitize(text);
        let count = text.lines().count();
        let shown = if self.full || count <= MAX_BLOCK_LINES + 1 { count } else { MAX_BLOCK_LINES };
        for line in text.lines().take(shown) {
            writeln!(self.out, "{}{}", indent(depth), self.styles.apply(style, line))?;
        }
        if shown < count {
            let more = format!("… {} more lines (use --full to show them)", count - shown);
            writeln!(self.out, "{}{}", indent(depth), self.styles.apply(TextRole::Dim, more))?;
        }
        Ok(())
    }

    pub(super) fn write_line(&mut self, depth: usize, style: TextRole, text: &str) -> io::Result<()> {
        self.end_live_line()?;
        let text = sanitize(text).replace('\n', " ");
        writeln!(self.out, "{}{}", indent(depth), self.styles.apply(style, text))
    }
}

pub(super) fn indent(depth: usize) -> String {
    "  ".repeat(depth.min(10))
}

/// The first `max_chars` characters of a text.
pub(crate) fn truncate(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    text.chars().take(max_chars).chain(['…']).collect()
}

fn format_usage(usage: &Usage) -> String {
    let mut parts = vec![format!("{} tokens in", usage.input_tokens)];
    parts.extend(usage.cached_input_tokens.filter(|cached| *cached > 0).map(|cached| format!("{cached} cached")));
    parts.push(format!("{} out", usage.output_tokens));
    parts.extend(usage.cost_usd.map(|cost| format!("${cost:.4}")));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{ItemOutcome, Origin, Timestamp};

    use super::*;

    #[test]
    fn the_results_of_tools_that_run_at_the_same_time_name_their_calls() {
        let mut out = Vec::new();
        let mut transcript = Transcript::new(&mut out, Styles::plain(), false);
        let parts = [
            r#"{"type":"tool_call","name":"sh","arguments":"{}","call_id":"1","title":"cargo test"}"#,
            r#"{"type":"tool_call","name":"sh","arguments":"{}","call_id":"2","title":"cargo fmt"}"#,
            r#"{"type":"tool_result","call_id":"1","output":"12 passed"}"#,
            r#"{"type":"tool_result","call_id":"2","output":"","exit_code":1}"#,
            r#"{"type":"tool_call","name":"sh","arguments":"{}","call_id":"3","title":"ls"}"#,
            r#"{"type":"tool_result","call_id":"3","output":"a.txt"}"#,
        ];
        for (number, part) in parts.iter().enumerate() {
            let mut item = Item::new(format!("itm_{number}"), ItemKind::ToolCall);
            item.content.push(serde_json::from_str(part).unwrap());
            let data = EventData::item_completed(item, ItemOutcome::Completed);
            let event = UniversalEvent::new("evt_1", 1, Timestamp::EPOCH, "s", Origin::AGENT, data);
            transcript.write_event(&event).unwrap();
        }
        transcript.finish().unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "── session s ──\n⏺ cargo test\n⏺ cargo fmt\n↳ cargo test\n  12 passed\n↳ cargo fmt\n  ✗ exit code 1\n⏺ ls\n  a.txt\n"
        );
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        let mut out = Vec::new();
        let mut transcript = Transcript::new(&mut out, Styles::plain(), false);
        let mut item = Item::new("itm_1", ItemKind::Message);
        item.role = Some(Role::Assistant);
        item.content.push(ContentPart::text("a\u{1b}[2Jb\u{7}\nc"));
        let data = EventData::item_completed(item, ItemOutcome::Completed);
        transcript.write_event(&UniversalEvent::new("evt_1", 1, Timestamp::EPOCH, "s", Origin::AGENT, data)).unwrap();
        transcript.finish().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "── session s ──\nagent:\n  ab\n  c\n");
    }
}
