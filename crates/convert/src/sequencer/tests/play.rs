//! Plays drafts and writes down the events, one short line each.

use interlingua_schema::{
    Checker, ContentPart, EventData, Item, ItemStatus, Origin, SessionMetadata, Timestamp, UniversalEvent,
};

use crate::sequencer::{Moment, Sequencer, StreamEnd};
use crate::{CountingIds, Drafts, PermissionDraft, SessionDrafts};

/// A permission to do what the title says.
pub(super) fn ask(title: &str) -> PermissionDraft {
    PermissionDraft { title: Some(title.to_owned()), ..PermissionDraft::default() }
}

pub(super) struct Play {
    sequencer: Sequencer,
    drafts: Drafts,
    pub(super) events: Vec<UniversalEvent>,
    seen: usize,
    clock: i64,
}

impl Play {
    pub(super) fn new() -> Self {
        Self {
            sequencer: Sequencer::new("toy", Box::new(CountingIds::default())),
            drafts: Drafts::default(),
            events: Vec::new(),
            seen: 0,
            clock: 0,
        }
    }

    /// A play whose session "s" has begun.
    pub(super) fn begun() -> Self {
        let mut play = Self::new();
        play.agent(|s| s.started(SessionMetadata::default())).shows(&["session.started"]);
        play
    }

    /// The agent says something of session "s".
    pub(super) fn agent(&mut self, say: impl FnOnce(&mut SessionDrafts<'_>)) -> &mut Self {
        self.agent_drafts(|drafts| say(&mut drafts.session("s")))
    }

    pub(super) fn agent_drafts(&mut self, say: impl FnOnce(&mut Drafts)) -> &mut Self {
        say(&mut self.drafts);
        self.settle(true)
    }

    /// The host does something in session "s".
    pub(super) fn host(&mut self, say: impl FnOnce(&mut SessionDrafts<'_>)) -> &mut Self {
        say(&mut self.drafts.session("s"));
        self.settle(false)
    }

    /// The host asks for an interrupt.
    pub(super) fn interrupt(&mut self) -> &mut Self {
        self.drafts.session("s").interrupt_requested();
        self.settle(false)
    }

    pub(super) fn stderr(&mut self, line: &str) -> &mut Self {
        self.sequencer.stderr(line);
        self
    }

    pub(super) fn exit(&mut self, code: i32) -> &mut Self {
        let moment = self.moment(false);
        self.sequencer.exit(&moment, Some(code), &mut self.events);
        self
    }

    pub(super) fn finish(&mut self, end: StreamEnd) -> &mut Self {
        let moment = self.moment(false);
        self.sequencer.finish(&moment, end, &mut self.events);
        self
    }

    fn settle(&mut self, from_agent: bool) -> &mut Self {
        let moment = self.moment(from_agent);
        for mut draft in self.drafts.list.drain(..) {
            self.sequencer.apply(&moment, &mut draft, &mut self.events);
        }
        self
    }

    fn moment(&mut self, from_agent: bool) -> Moment {
        self.clock += 1;
        Moment { time: Some(Timestamp::from_millis(self.clock)), from_agent, raw: None }
    }

    /// What came since the last look is exactly this, and breaks no rule.
    #[track_caller]
    pub(super) fn shows(&mut self, expected: &[&str]) -> &mut Self {
        let shown: Vec<String> = self.events[self.seen..].iter().map(line).collect();
        assert_eq!(shown, expected, "\n{}", shown.join("\n"));
        self.seen = self.events.len();
        let mut checker = Checker::new();
        let broken: Vec<_> = self.events.iter().flat_map(|event| checker.push(event)).collect();
        assert!(broken.is_empty(), "{broken:?}");
        self
    }

    /// Forgets what came until now.
    pub(super) fn skip(&mut self) -> &mut Self {
        self.seen = self.events.len();
        self
    }
}

/// `*` marks what is synthetic. Items are numbered as they come: `+1` starts, `~1` goes on, `=1` ends, `<2` is the
/// parent, `!` is failed.
fn line(event: &UniversalEvent) -> String {
    let star = if event.origin == Origin::DAEMON { "*" } else { "" };
    let rest = match &event.data {
        EventData::ItemStarted(data) => format!("+{}", describe(&data.item)),
        EventData::ItemDelta(delta) => {
            format!("~{} {}", number(delta.item_id.as_str()), delta.delta)
        }
        EventData::ItemCompleted(data) => format!("={}", describe(&data.item)),
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

fn describe(item: &Item) -> String {
    let parent = item.parent_id.as_ref().map(|id| format!("<{}", number(id.as_str()))).unwrap_or_default();
    let role = item.role.clone().map(|role| format!("/{role:?}").to_lowercase()).unwrap_or_default();
    let failed = if item.status == ItemStatus::Failed { "!" } else { "" };
    let kind = format!("{:?}", item.kind).to_lowercase();
    let content: String = item.content.iter().map(part).collect();
    format!("{}{parent} {kind}{role}{failed}{content}", number(item.item_id.as_str()))
}

fn part(part: &ContentPart) -> String {
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
