//! What the checker knows of one session.

use super::asked::Asked;
use super::items::Items;
use super::tools::Tools;
use super::{RawMode, Report, Rule, status};
use crate::{
    ApprovalScope, EventData, Item, ItemKind, Permission, PermissionStatus, QuestionStatus, Role, Source, Timestamp,
    TurnEnded, TurnStarted, UniversalEvent,
};

/// A turn that is running.
#[derive(Debug, Default)]
struct Turn {
    id: String,
    user_spoke: bool,
    agent_spoke: bool,
}

#[derive(Debug)]
pub(super) struct Session {
    raw: RawMode,
    sequence: u64,
    time: Option<Timestamp>,
    begun: bool,
    ended: bool,
    turn: Option<Turn>,
    items: Items,
    tools: Tools,
    permissions: Asked,
    questions: Asked,
    /// Whether raw payloads are on, once an agent event has shown it.
    raw_seen: Option<bool>,
}

impl Session {
    pub(super) fn new(raw: RawMode) -> Self {
        Self {
            raw,
            sequence: 0,
            time: None,
            begun: false,
            ended: false,
            turn: None,
            items: Items::default(),
            tools: Tools::default(),
            permissions: Asked::new("permission"),
            questions: Asked::new("question"),
            raw_seen: None,
        }
    }

    pub(super) fn push(&mut self, event: &UniversalEvent, report: &mut Report) {
        self.envelope(event, report);
        self.items.expect_completion(&event.data, report);
        match &event.data {
            EventData::SessionStarted(_) => {
                if self.begun {
                    report.add(Rule::L2, "the session started before".to_owned());
                }
            }
            EventData::SessionEnded(_) => {
                if self.turn.take().is_some() {
                    report.add(Rule::L13, "the session ended in the middle of a turn".to_owned());
                }
                self.items.session_ended(report);
                self.close_requests("the session", report);
                self.ended = true;
            }
            EventData::TurnStarted(data) => self.turn_started(data, report),
            EventData::TurnEnded(data) => self.turn_ended(data, report),
            EventData::ItemStarted(data) => {
                self.speaker(&data.item, report);
                self.items.started(&data.item, report);
                self.tools.started(&data.item, report);
                status::check_data(&data.item, report);
            }
            EventData::ItemDelta(delta) => {
                self.items.delta(delta, event.origin.source() == Source::Daemon, report);
            }
            EventData::ItemCompleted(data) => {
                self.items.completed(&data.item, report);
                self.tools.completed(&data.item, report);
                status::check_data(&data.item, report);
            }
            EventData::PermissionRequested(permission) => {
                self.permissions.requested(
                    &permission.permission_id,
                    permission.status == PermissionStatus::Requested,
                    report,
                );
                self.permission_metadata(permission, report);
            }
            EventData::PermissionResolved(permission) => {
                self.permissions.resolved(
                    &permission.permission_id,
                    matches!(permission.status, PermissionStatus::Approved | PermissionStatus::Denied),
                    permission.status.as_str(),
                    report,
                );
            }
            EventData::QuestionRequested(question) => {
                self.questions.requested(&question.question_id, question.status == QuestionStatus::Requested, report);
            }
            EventData::QuestionResolved(question) => {
                self.questions.resolved(
                    &question.question_id,
                    matches!(question.status, QuestionStatus::Answered | QuestionStatus::Rejected),
                    question.status.as_str(),
                    report,
                );
            }
            EventData::Error(_) | EventData::AgentUnparsed(_) | EventData::Unknown(_) => {}
        }
        self.begun = true;
    }

    /// L1, L2, L10, L11 and L14, which are about the envelope.
    fn envelope(&mut self, event: &UniversalEvent, report: &mut Report) {
        let expected = self.sequence + 1;
        if event.sequence != expected {
            report.add(Rule::L1, format!("expected sequence {expected}, found {}", event.sequence));
        }
        self.sequence = event.sequence;
        if !self.begun && !matches!(event.data, EventData::SessionStarted(_)) {
            report.add(Rule::L2, format!("the first event is {}, not session.started", event.data.kind()));
        }
        if self.ended {
            report.add(Rule::L2, format!("{} after session.ended", event.data.kind()));
        }
        if !event.origin.is_consistent() {
            let source = event.origin.source().as_str();
            let synthetic = event.origin.is_synthetic();
            report.add(Rule::L10, format!("source is {source} but synthetic is {synthetic}"));
        }
        if event.origin.source() == Source::Agent {
            let has_raw = event.raw.is_some();
            let expected = self.raw == RawMode::On || *self.raw_seen.get_or_insert(has_raw);
            if expected && !has_raw {
                report.add(Rule::L11, "an agent event without its payload although raw is on".to_owned());
            } else if has_raw && !expected {
                report.add(Rule::L11, "a payload although raw is off".to_owned());
            }
        }
        if let Some(time) = self.time.filter(|time| event.time < *time) {
            report.add(Rule::L14, format!("{} is earlier than {time} before it", event.time));
        }
        self.time = Some(event.time);
    }

    /// L12: who speaks where.
    fn speaker(&mut self, item: &Item, report: &mut Report) {
        // What happens inside a tool call is a sub-agent's, whose turns are not turns of the session.
        if item.parent_id.as_ref().is_some_and(|parent| self.items.is_in_sub_agent(parent)) {
            return;
        }
        let is_user = item.kind == ItemKind::Message && item.role == Some(Role::User);
        match &mut self.turn {
            None if is_user => report.add(Rule::L12, format!("user message {} outside a turn", item.item_id)),
            Some(turn) if is_user => {
                if turn.agent_spoke && !turn.user_spoke {
                    let message = format!("user message {} after the agent spoke in its turn", item.item_id);
                    report.add(Rule::L12, message);
                }
                turn.user_spoke = true;
            }
            Some(turn) => {
                turn.agent_spoke |= matches!(item.kind, ItemKind::Message | ItemKind::ToolCall | ItemKind::ToolResult);
            }
            None => {}
        }
    }

    /// L13 and L16 at the start of a turn.
    fn turn_started(&mut self, data: &TurnStarted, report: &mut Report) {
        if data.turn_id.is_empty() {
            report.add(Rule::L16, "turn.started has no turn_id".to_owned());
        }
        let turn = Turn { id: data.turn_id.clone(), ..Turn::default() };
        if self.turn.replace(turn).is_some() {
            report.add(Rule::L13, "a turn started while another was running".to_owned());
        }
    }

    /// L4, L9, L13 and L16 at the end of a turn.
    fn turn_ended(&mut self, data: &TurnEnded, report: &mut Report) {
        match self.turn.take() {
            None => report.add(Rule::L13, "a turn ended that had not started".to_owned()),
            Some(turn) if turn.id != data.turn_id => {
                let message = format!("turn.ended has turn_id {:?}, its start has {:?}", data.turn_id, turn.id);
                report.add(Rule::L16, message);
            }
            Some(_) => {}
        }
        self.tools.turn_ended(&data.status);
        self.items.turn_ended(&data.status, &self.tools, report);
        self.close_requests("the turn", report);
    }

    /// L17: what is known of a permission when it is requested.
    fn permission_metadata(&self, permission: &Permission, report: &mut Report) {
        let id = &permission.permission_id;
        let Some(metadata) = &permission.metadata else {
            return report.add(Rule::L17, format!("permission {id} has no metadata"));
        };
        if metadata.scopes.iter().all(|scope| matches!(scope, ApprovalScope::Unknown(_))) {
            report.add(Rule::L17, format!("the metadata of permission {id} has no scopes"));
        }
        if let Some(call_id) = metadata.call_id.as_ref().filter(|call_id| !self.tools.was_called(call_id)) {
            report.add(Rule::L17, format!("permission {id} is for call {call_id}, which was never called"));
        }
    }

    /// L9 at the end of a turn or session.
    fn close_requests(&mut self, what: &str, report: &mut Report) {
        self.permissions.close(what, report);
        self.questions.close(what, report);
    }
}
