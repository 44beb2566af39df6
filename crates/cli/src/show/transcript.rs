//! Universal events as lines for people.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

use interlingua_schema::{
    ContentPart, EndReason, EventData, Item, ItemId, ItemKind, ItemStatus, Permission, PermissionStatus, Question,
    QuestionStatus, Role, SessionEnded, SessionId, StatusData, StatusLabel, StepStatus, TurnEnded, TurnStatus,
    UniversalEvent, Usage,
};

use super::live::Speaking;
use super::paint::{Ink, Paint, tame};

/// How many lines of a tool's output are shown.
const MOST_LINES: usize = 12;
/// How much of a tool's arguments is shown.
const MAX_ARGUMENTS: usize = 160;

/// Writes a transcript as events come.
pub(crate) struct Transcript<W> {
    pub(super) out: W,
    pub(super) paint: Paint,
    full: bool,
    session: Option<SessionId>,
    /// Messages that are being said, with what was said so far.
    open: BTreeMap<ItemId, (Role, String)>,
    /// How deep an item is, for those that others may hang on.
    pub(super) depths: HashMap<ItemId, usize>,
    used: Option<Usage>,
    turns: u64,
    /// What is said is shown while it is said.
    pub(super) live: bool,
    /// The message that is being shown.
    pub(super) speaking: Option<Speaking>,
    /// Messages that are being said and are reasoning.
    pub(super) thoughts: HashSet<ItemId>,
}

impl<W: Write> Transcript<W> {
    pub(crate) fn new(out: W, paint: Paint, full: bool) -> Self {
        Self {
            out,
            paint,
            full,
            session: None,
            open: BTreeMap::new(),
            depths: HashMap::new(),
            used: None,
            turns: 0,
            live: false,
            speaking: None,
            thoughts: HashSet::new(),
        }
    }

    /// Shows what is said while it is said, not when it has been said.
    pub(crate) fn live(mut self) -> Self {
        self.live = true;
        self
    }

    /// Shows one event.
    pub(crate) fn event(&mut self, event: &UniversalEvent) -> io::Result<()> {
        if self.session.as_ref() != Some(&event.session_id) {
            self.session = Some(event.session_id.clone());
            self.line(0, Ink::Faint, &format!("── session {} ──", event.session_id))?;
        }
        match &event.data {
            EventData::ItemStarted(data) => {
                self.started(&data.item);
                Ok(())
            }
            EventData::ItemDelta(data) => {
                let Some((role, text)) = self.open.get_mut(&data.item_id) else { return Ok(()) };
                let is_first = text.is_empty();
                text.push_str(&data.delta);
                let role = role.clone();
                if self.live { self.speak(&data.item_id, &role, &data.delta, is_first) } else { Ok(()) }
            }
            EventData::ItemCompleted(data) => self.completed(&data.item),
            EventData::TurnEnded(data) => self.turn_ended(data),
            EventData::SessionEnded(data) => self.session_ended(data),
            EventData::PermissionRequested(data) | EventData::PermissionResolved(data) => self.permission(data),
            EventData::QuestionRequested(data) | EventData::QuestionResolved(data) => self.question(data),
            EventData::Error(data) => {
                let code = data.code.as_ref().and_then(|code| serde_json::to_value(code).ok());
                let code = code.as_ref().and_then(|code| code.as_str()).unwrap_or("error").to_owned();
                self.line(0, Ink::Bad, &format!("✗ {code}: {}", data.message))
            }
            EventData::AgentUnparsed(data) => self.unreadable(&data.error),
            EventData::SessionStarted(_) | EventData::TurnStarted(_) => Ok(()),
            other @ EventData::Unknown(_) => self.line(0, Ink::Faint, &format!("· {}", other.kind())),
        }
    }

    /// Shows that something could not be read.
    pub(crate) fn unreadable(&mut self, reason: &str) -> io::Result<()> {
        self.line(0, Ink::Faint, &format!("· not understood: {reason}"))
    }

    /// Shows what was left unsaid, and the sum of it all.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.fall_silent()?;
        for (role, text) in std::mem::take(&mut self.open).into_values() {
            if !text.is_empty() {
                self.said(0, &role, &text, false)?;
                self.line(1, Ink::Faint, "(the log ends here)")?;
            }
        }
        if let Some(used) = self.used.take() {
            let turns = if self.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", self.turns) };
            self.line(0, Ink::Faint, &format!("── {turns}: {} ──", usage(&used)))?;
        }
        self.out.flush()
    }

    fn started(&mut self, item: &Item) {
        let depth = self.depth(item);
        self.depths.insert(item.item_id.clone(), depth);
        if item.kind == ItemKind::Message {
            self.note_thought(item);
            self.open.insert(item.item_id.clone(), (item.role.clone().unwrap_or(Role::Assistant), String::new()));
        }
    }

    /// What a sub-agent says hangs on a tool call, and is shown to the right of it.
    fn depth(&self, item: &Item) -> usize {
        let above = item.parent_id.as_ref().and_then(|parent| self.depths.get(parent)).copied();
        match (&item.kind, above) {
            (_, None) => 0,
            (ItemKind::ToolCall | ItemKind::ToolResult, Some(above)) => above,
            (
                ItemKind::Message | ItemKind::Status | ItemKind::System | ItemKind::Unknown | ItemKind::Unlisted(_),
                Some(above),
            ) => above + 1,
        }
    }

    fn completed(&mut self, item: &Item) -> io::Result<()> {
        self.open.remove(&item.item_id);
        let spoken = self.has_spoken(item)?;
        let depth = self.depths.get(&item.item_id).copied().unwrap_or(0);
        let failed = matches!(item.status, ItemStatus::Failed | ItemStatus::Unknown(_));
        for part in &item.content {
            match part {
                ContentPart::Text { .. } | ContentPart::Reasoning { .. } if spoken => {}
                ContentPart::Text { text } if item.kind == ItemKind::Message => {
                    self.said(depth, item.role.as_ref().unwrap_or(&Role::Assistant), text, failed)?;
                }
                ContentPart::Text { text } => self.block(depth + 1, Ink::Faint, text)?,
                ContentPart::Reasoning { text, .. } if text.is_empty() => {
                    self.line(depth, Ink::Thought, "(thinks, and does not show it)")?;
                }
                ContentPart::Reasoning { text, .. } => self.block(depth, Ink::Thought, text)?,
                ContentPart::ToolCall { name, arguments, title, .. } => {
                    let call = match title {
                        Some(title) => format!("⏺ {title}"),
                        None => format!("⏺ {name} {}", shortened(arguments, MAX_ARGUMENTS)),
                    };
                    self.line(depth, if failed { Ink::Bad } else { Ink::Tool }, &call)?;
                }
                ContentPart::ToolResult { output, exit_code, .. } => {
                    // Where the output is the diff that follows, once is enough.
                    let is_diff = |part: &ContentPart| matches!(part, ContentPart::FileRef { diff: Some(diff), .. } if diff == output);
                    let output = if item.content.iter().any(is_diff) { "" } else { output };
                    self.result(depth, output, *exit_code, failed)?;
                }
                ContentPart::FileRef { path, diff, .. } => self.file(depth + 1, path, diff.as_deref())?,
                ContentPart::Image { path, .. } => {
                    self.line(depth + 1, Ink::Faint, &format!("[image {}]", shortened(path, 60)))?;
                }
                ContentPart::Status { label, detail } => {
                    let label = serde_json::to_value(label).unwrap_or_default();
                    let detail = detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
                    self.line(depth, Ink::Faint, &format!("· {}{detail}", label.as_str().unwrap_or("status")))?;
                }
                // The detail of a status says what its data does, apart from the steps of a plan.
                ContentPart::Json { json } if item.kind == ItemKind::Status => self.steps(depth + 1, json)?,
                ContentPart::Json { json } => {
                    self.line(depth + 1, Ink::Faint, &shortened(&json.to_string(), MAX_ARGUMENTS))?;
                }
                ContentPart::Unknown(_) => self.line(depth, Ink::Faint, "· something this version does not know")?,
            }
        }
        Ok(())
    }

    fn said(&mut self, depth: usize, role: &Role, text: &str, failed: bool) -> io::Result<()> {
        self.speaker(depth, role, if failed { " (cut off)" } else { "" })?;
        for line in tame(text).lines() {
            writeln!(self.out, "{}{line}", indent(depth + 1))?;
        }
        Ok(())
    }

    pub(super) fn speaker(&mut self, depth: usize, role: &Role, remark: &str) -> io::Result<()> {
        let (mark, ink) = match role {
            Role::User => ("you", Ink::User),
            Role::Assistant => ("agent", Ink::Agent),
            Role::System => ("system", Ink::Faint),
            Role::Tool => ("tool", Ink::Tool),
            Role::Unknown(_) => ("unknown", Ink::Faint),
        };
        self.line(depth, ink, &format!("{mark}{remark}:"))
    }

    fn result(&mut self, depth: usize, output: &str, exit_code: Option<i32>, failed: bool) -> io::Result<()> {
        match (exit_code, failed) {
            (Some(code), _) if code != 0 => self.line(depth + 1, Ink::Bad, &format!("✗ exit code {code}"))?,
            (_, true) => self.line(depth + 1, Ink::Bad, "✗ failed")?,
            _ => {}
        }
        self.block(depth + 1, Ink::Faint, output)
    }

    fn file(&mut self, depth: usize, path: &str, diff: Option<&str>) -> io::Result<()> {
        self.line(depth, Ink::Faint, path)?;
        for line in diff.map(tame).unwrap_or_default().lines() {
            let ink = match line.as_bytes() {
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Ink::Faint,
                [b'+', ..] => Ink::Added,
                [b'-', ..] => Ink::Removed,
                [b'@', ..] => Ink::Hunk,
                _ => Ink::Faint,
            };
            writeln!(self.out, "{}{}", indent(depth), self.paint.ink(ink, line))?;
        }
        Ok(())
    }

    /// The steps of a plan, one a line; other JSON on one line.
    fn steps(&mut self, depth: usize, json: &serde_json::Value) -> io::Result<()> {
        let Some(Ok(StatusData::Plan(plan))) = StatusData::decode(&StatusLabel::Plan, json) else { return Ok(()) };
        for step in plan.steps {
            let mark = match step.status {
                StepStatus::Pending => "[ ]",
                StepStatus::InProgress => "[>]",
                StepStatus::Completed => "[x]",
                StepStatus::Cancelled => "[-]",
                StepStatus::Unknown(_) => "[?]",
            };
            self.line(depth, Ink::Faint, &format!("{mark} {}", step.content))?;
        }
        Ok(())
    }

    fn permission(&mut self, permission: &Permission) -> io::Result<()> {
        let action = &permission.action;
        match permission.status {
            PermissionStatus::Requested => self.line(0, Ink::Asked, &format!("? allow: {action}")),
            PermissionStatus::Approved => self.line(1, Ink::Added, "✓ approved"),
            PermissionStatus::Denied => self.line(1, Ink::Removed, "✗ denied"),
            PermissionStatus::Unknown(_) => self.line(1, Ink::Removed, "✗ unknown decision"),
        }
    }

    fn question(&mut self, question: &Question) -> io::Result<()> {
        let response = question.response.as_deref().unwrap_or_default();
        match question.status {
            QuestionStatus::Requested => {
                self.line(0, Ink::Asked, &format!("? {}", question.prompt))?;
                for option in &question.options {
                    self.line(1, Ink::Faint, &format!("- {option}"))?;
                }
                Ok(())
            }
            QuestionStatus::Answered => self.line(1, Ink::User, &format!("→ {response}")),
            QuestionStatus::Rejected => self.line(1, Ink::Removed, &format!("✗ not answered {response}")),
            QuestionStatus::Unknown(_) => self.line(1, Ink::Removed, "✗ unknown answer"),
        }
    }

    fn turn_ended(&mut self, end: &TurnEnded) -> io::Result<()> {
        self.turns += 1;
        let mut words = Vec::new();
        let ink = match end.status {
            TurnStatus::Completed => Ink::Faint,
            TurnStatus::Failed => {
                words.push("failed".to_owned());
                Ink::Bad
            }
            TurnStatus::Interrupted => {
                words.push("interrupted".to_owned());
                Ink::Asked
            }
            TurnStatus::Unknown(_) => {
                words.push("unknown outcome".to_owned());
                Ink::Bad
            }
        };
        if end.duration_ms > 0 {
            words.push(format!("{}.{} s", end.duration_ms / 1000, end.duration_ms % 1000 / 100));
        }
        if let Some(used) = &end.usage {
            words.push(usage(used));
            match &mut self.used {
                Some(total) => *total += used.clone(),
                none => *none = Some(used.clone()),
            }
        }
        if words.is_empty() { Ok(()) } else { self.line(0, ink, &format!("── {} ──", words.join(", "))) }
    }

    fn session_ended(&mut self, end: &SessionEnded) -> io::Result<()> {
        let how = match end.reason {
            EndReason::Completed => return Ok(()),
            EndReason::Error => "ended with an error",
            EndReason::Terminated => "terminated",
            EndReason::Unknown(_) => "ended for an unknown reason",
        };
        let message = end.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
        self.line(0, Ink::Bad, &format!("── session {how}{message} ──"))
    }

    /// Several lines, as many as are wanted.
    fn block(&mut self, depth: usize, ink: Ink, text: &str) -> io::Result<()> {
        self.fall_silent()?;
        let text = tame(text);
        let count = text.lines().count();
        let shown = if self.full || count <= MOST_LINES + 1 { count } else { MOST_LINES };
        for line in text.lines().take(shown) {
            writeln!(self.out, "{}{}", indent(depth), self.paint.ink(ink, line))?;
        }
        if shown < count {
            let more = format!("… {} more lines (--full shows them)", count - shown);
            writeln!(self.out, "{}{}", indent(depth), self.paint.ink(Ink::Faint, more))?;
        }
        Ok(())
    }

    pub(super) fn line(&mut self, depth: usize, ink: Ink, text: &str) -> io::Result<()> {
        self.fall_silent()?;
        let text = tame(text).replace('\n', " ");
        writeln!(self.out, "{}{}", indent(depth), self.paint.ink(ink, text))
    }
}

pub(super) fn indent(depth: usize) -> String {
    "  ".repeat(depth.min(10))
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most).chain(['…']).collect()
}

fn usage(usage: &Usage) -> String {
    let mut words = vec![format!("{} tokens in", usage.input_tokens)];
    words.extend(usage.cached_input_tokens.filter(|cached| *cached > 0).map(|cached| format!("{cached} cached")));
    words.push(format!("{} out", usage.output_tokens));
    words.extend(usage.cost_usd.map(|cost| format!("${cost:.4}")));
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{ItemOutcome, Origin, Timestamp};

    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        let mut out = Vec::new();
        let mut transcript = Transcript::new(&mut out, Paint::plain(), false);
        let mut item = Item::new("itm_1", ItemKind::Message);
        item.role = Some(Role::Assistant);
        item.content.push(ContentPart::text("a\u{1b}[2Jb\u{7}\nc"));
        let data = EventData::item_completed(item, ItemOutcome::Completed);
        transcript.event(&UniversalEvent::new("evt_1", 1, Timestamp::EPOCH, "s", Origin::AGENT, data)).unwrap();
        transcript.finish().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "── session s ──\nagent:\n  ab\n  c\n");
    }
}
