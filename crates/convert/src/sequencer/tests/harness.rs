//! A sequencer under test: applies drafts, and compares the events as short lines.

use interlingua_schema::{
    Checker, ContentPart, EventData, Item, ItemStatus, Origin, SessionMetadata, Timestamp, UniversalEvent,
};

use crate::sequencer::{Provenance, Sequencer, StreamEnd};
use crate::{CountingIds, Drafts, PermissionDraft, SessionDrafts};

/// A permission request with this title.
pub(super) fn permission(title: &str) -> PermissionDraft {
    PermissionDraft { title: Some(title.to_owned()), ..PermissionDraft::default() }
}

pub(super) struct Harness {
    sequencer: Sequencer,
    drafts: Drafts,
    pub(super) events: Vec<UniversalEvent>,
    /// Number of events that were compared or skipped.
    checked: usize,
    clock: i64,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self {
            sequencer: Sequencer::new("toy", Box::new(CountingIds::default())),
            drafts: Drafts::default(),
            events: Vec::new(),
            checked: 0,
            clock: 0,
        }
    }

    /// A sequencer whose session "s" has started.
    pub(super) fn with_session() -> Self {
        let mut harness = Self::new();
        harness.agent(|s| s.started(SessionMetadata::default())).assert_events(&["session.started"]);
        harness
    }

    /// Applies drafts of session "s" that come from the agent.
    pub(super) fn agent(&mut self, write: impl FnOnce(&mut SessionDrafts<'_>)) -> &mut Self {
        self.agent_drafts(|drafts| write(&mut drafts.session("s")))
    }

    /// Applies drafts of any session that come from the agent.
    pub(super) fn agent_drafts(&mut self, write: impl FnOnce(&mut Drafts)) -> &mut Self {
        write(&mut self.drafts);
        self.apply_drafts(true)
    }

    /// Applies drafts of session "s" that come from the host.
    pub(super) fn host(&mut self, write: impl FnOnce(&mut SessionDrafts<'_>)) -> &mut Self {
        write(&mut self.drafts.session("s"));
        self.apply_drafts(false)
    }

    /// The host requests an interrupt of session "s".
    pub(super) fn interrupt(&mut self) -> &mut Self {
        self.drafts.session("s").interrupt_requested();
        self.apply_drafts(false)
    }

    pub(super) fn stderr(&mut self, line: &str) -> &mut Self {
        self.sequencer.push_stderr(line);
        self
    }

    pub(super) fn exit(&mut self, code: i32) -> &mut Self {
        let provenance = self.next_provenance(false);
        self.sequencer.process_exited(&provenance, Some(code), &mut self.events);
        self
    }

    pub(super) fn finish(&mut self, end: StreamEnd) -> &mut Self {
        let provenance = self.next_provenance(false);
        self.sequencer.finish(&provenance, end, &mut self.events);
        self
    }

    fn apply_drafts(&mut self, from_agent: bool) -> &mut Self {
        let provenance = self.next_provenance(from_agent);
        for mut draft in self.drafts.list.drain(..) {
            self.sequencer.apply(&provenance, &mut draft, &mut self.events);
        }
        self
    }

    fn next_provenance(&mut self, from_agent: bool) -> Provenance {
        self.clock += 1;
        Provenance { time: Some(Timestamp::from_millis(self.clock)), from_agent, raw: None }
    }

    /// Asserts that the events since the last check are exactly these, and that the whole stream is valid.
    #[track_caller]
    pub(super) fn assert_events(&mut self, expected: &[&str]) -> &mut Self {
        let actual: Vec<String> = self.events[self.checked..].iter().map(render_event).collect();
        assert_eq!(actual, expected, "\n{}", actual.join("\n"));
        self.checked = self.events.len();
        let mut checker = Checker::new();
        let violations: Vec<_> = self.events.iter().flat_map(|event| checker.push(event)).collect();
        assert!(violations.is_empty(), "{violations:?}");
        self
    }

    /// Skips the events since the last check.
    pub(super) fn skip_events(&mut self) -> &mut Self {
        self.checked = self.events.len();
        self
    }
}

/// One event as a short line. `*` marks synthetic events. Items are numbered in order: `+1` is the start of item 1,
/// `~1` a delta, `=1` the completion; `<2` names the parent, `!` marks a failed item.
fn render_event(event: &UniversalEvent) -> String {
    let star = if event.origin == Origin::DAEMON { "*" } else { "" };
    let rest = match &event.data {
        EventData::ItemStarted(data) => format!("+{}", render_item(&data.item)),
        EventData::ItemDelta(delta) => {
            format!("~{} {}", number(delta.item_id.as_str()), delta.delta)
        }
        EventData::ItemCompleted(data) => format!("={}", render_item(&data.item)),
        EventData::TurnEnded(data) => format!("turn.ended {:?}", data.status),
        EventData::SessionEnded(data) => {
            format!("session.ended {:?} {:?}", data.reason, data.terminated_by)
        }
        EventData::PermissionRequested(data) | EventData::PermissionResolved(data) => {
            format!("permission {} {:?}", data.permission_id, data.status)
        }
        EventData::QuestionRequested(data) | EventData::QuestionResolved(data) => {
            format!("question {} {:?} {:?}", data.question_id, data.status, data.response)
        }
        EventData::Error(data) => format!("error {}", data.message),
        data => data.kind().to_owned(),
    };
    format!("{star}{rest}")
}

fn number(id: &str) -> &str {
    id.trim_start_matches("itm_").trim_start_matches('0')
}

fn render_item(item: &Item) -> String {
    let parent = item.parent_id.as_ref().map(|id| format!("<{}", number(id.as_str()))).unwrap_or_default();
    let role = item.role.clone().map(|role| format!("/{role:?}").to_lowercase()).unwrap_or_default();
    let failed = if item.status == ItemStatus::Failed { "!" } else { "" };
    let kind = format!("{:?}", item.kind).to_lowercase();
    let content: String = item.content.iter().map(render_part).collect();
    format!("{}{parent} {kind}{role}{failed}{content}", number(item.item_id.as_str()))
}

fn render_part(part: &ContentPart) -> String {
    match part {
        ContentPart::Text { text } => format!(" {text}"),
        ContentPart::Reasoning { text, .. } => format!(" ({text})"),
        ContentPart::ToolCall { name, arguments, .. } => format!(" {name}{arguments}"),
        ContentPart::ToolResult { output, exit_code, .. } => {
            format!(" [{output}]{}", exit_code.map(|code| format!(" exit {code}")).unwrap_or_default())
        }
        ContentPart::Status { label, .. } => format!(" {label:?}"),
        ContentPart::Image { path, .. } | ContentPart::FileRef { path, .. } => format!(" <{path}>"),
        other => format!(" {other:?}"),
    }
}
