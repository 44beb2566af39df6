//! The state of one session, and the rules that are about the session as a whole.

use super::items::Items;
use super::requests::Requests;
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
    has_user_message: bool,
    has_agent_item: bool,
}

#[derive(Debug)]
pub(super) struct Session {
    raw_mode: RawMode,
    sequence: u64,
    time: Option<Timestamp>,
    has_events: bool,
    is_ended: bool,
    turn: Option<Turn>,
    items: Items,
    tools: Tools,
    permissions: Requests,
    questions: Requests,
    /// Whether raw payloads are on, as the first agent event shows.
    detected_raw: Option<bool>,
}

impl Session {
    pub(super) fn new(raw_mode: RawMode) -> Self {
        Self {
            raw_mode,
            sequence: 0,
            time: None,
            has_events: false,
            is_ended: false,
            turn: None,
            items: Items::default(),
            tools: Tools::default(),
            permissions: Requests::new("permission"),
            questions: Requests::new("question"),
            detected_raw: None,
        }
    }

    pub(super) fn observe(&mut self, event: &UniversalEvent, report: &mut Report) {
        self.check_common_fields(event, report);
        self.items.check_completes_next(&event.data, report);
        match &event.data {
            EventData::SessionStarted(_) => {
                if self.has_events {
                    report.add(Rule::L2, "session.started is not the first event".to_owned());
                }
            }
            EventData::SessionEnded(_) => {
                if self.turn.take().is_some() {
                    report.add(Rule::L13, "the session ended during a turn".to_owned());
                }
                self.items.observe_session_end(report);
                self.check_no_pending_requests("the session", report);
                self.is_ended = true;
            }
            EventData::TurnStarted(data) => self.observe_turn_start(data, report),
            EventData::TurnEnded(data) => self.observe_turn_end(data, report),
            EventData::ItemStarted(data) => {
                self.check_user_message(&data.item, report);
                self.items.observe_started(&data.item, report);
                self.tools.observe_started(&data.item, report);
                status::check_data(&data.item, report);
            }
            EventData::ItemDelta(delta) => {
                self.items.observe_delta(delta, event.origin.source() == Source::Daemon, report);
            }
            EventData::ItemCompleted(data) => {
                self.items.observe_completed(&data.item, report);
                self.tools.observe_completed(&data.item, report);
                status::check_data(&data.item, report);
            }
            EventData::PermissionRequested(permission) => {
                self.permissions.observe_requested(
                    &permission.permission_id,
                    permission.status == PermissionStatus::Requested,
                    permission.status.as_str(),
                    report,
                );
                self.check_permission_metadata(permission, report);
            }
            EventData::PermissionResolved(permission) => {
                self.permissions.observe_resolved(
                    &permission.permission_id,
                    matches!(permission.status, PermissionStatus::Approved | PermissionStatus::Denied),
                    permission.status.as_str(),
                    report,
                );
            }
            EventData::QuestionRequested(question) => {
                self.questions.observe_requested(
                    &question.question_id,
                    question.status == QuestionStatus::Requested,
                    question.status.as_str(),
                    report,
                );
            }
            EventData::QuestionResolved(question) => {
                self.questions.observe_resolved(
                    &question.question_id,
                    matches!(question.status, QuestionStatus::Answered | QuestionStatus::Rejected),
                    question.status.as_str(),
                    report,
                );
            }
            EventData::Error(_) | EventData::AgentUnparsed(_) | EventData::Unknown(_) => {}
        }
        self.has_events = true;
    }

    /// L1, L2, L10, L11 and L14: the fields that all events have.
    fn check_common_fields(&mut self, event: &UniversalEvent, report: &mut Report) {
        let expected = self.sequence + 1;
        if event.sequence != expected {
            report.add(Rule::L1, format!("expected sequence {expected}, found {}", event.sequence));
        }
        self.sequence = event.sequence;
        if !self.has_events && !matches!(event.data, EventData::SessionStarted(_)) {
            report.add(Rule::L2, format!("the first event is {}, not session.started", event.data.kind()));
        }
        if self.is_ended {
            report.add(Rule::L2, format!("{} after session.ended", event.data.kind()));
        }
        if !event.origin.is_consistent() {
            let source = event.origin.source().as_str();
            let synthetic = event.origin.is_synthetic();
            report.add(Rule::L10, format!("source is {source} but synthetic is {synthetic}"));
        }
        if event.origin.source() == Source::Agent {
            let has_raw = event.raw.is_some();
            let expected = self.raw_mode == RawMode::On || *self.detected_raw.get_or_insert(has_raw);
            if expected && !has_raw {
                report.add(Rule::L11, "an agent event has no raw payload although raw payloads are on".to_owned());
            } else if has_raw && !expected {
                report.add(Rule::L11, "an agent event has a raw payload although raw payloads are off".to_owned());
            }
        }
        if let Some(time) = self.time.filter(|time| event.time < *time) {
            report.add(Rule::L14, format!("time {} is earlier than {time} of the previous event", event.time));
        }
        self.time = Some(event.time);
    }

    /// L12: the user's message comes first in its turn.
    fn check_user_message(&mut self, item: &Item, report: &mut Report) {
        // Items below a tool call belong to a sub-agent, and the turns of a sub-agent are not turns of the session.
        if item.parent_id.as_ref().is_some_and(|parent| self.items.is_in_sub_agent(parent)) {
            return;
        }
        let is_user = item.kind == ItemKind::Message && item.role == Some(Role::User);
        match &mut self.turn {
            None if is_user => report.add(Rule::L12, format!("user message {} is outside a turn", item.item_id)),
            Some(turn) if is_user => {
                if turn.has_agent_item && !turn.has_user_message {
                    let message = format!("user message {} comes after an item of the agent in its turn", item.item_id);
                    report.add(Rule::L12, message);
                }
                turn.has_user_message = true;
            }
            Some(turn) => {
                turn.has_agent_item |=
                    matches!(item.kind, ItemKind::Message | ItemKind::ToolCall | ItemKind::ToolResult);
            }
            None => {}
        }
    }

    /// L13 and L16 at the start of a turn.
    fn observe_turn_start(&mut self, data: &TurnStarted, report: &mut Report) {
        if data.turn_id.is_empty() {
            report.add(Rule::L16, "turn.started has no turn_id".to_owned());
        }
        let turn = Turn { id: data.turn_id.clone(), ..Turn::default() };
        if self.turn.replace(turn).is_some() {
            report.add(Rule::L13, "a turn started while another was running".to_owned());
        }
    }

    /// L4, L9, L13 and L16 at the end of a turn.
    fn observe_turn_end(&mut self, data: &TurnEnded, report: &mut Report) {
        match self.turn.take() {
            None => report.add(Rule::L13, "a turn ended although none was running".to_owned()),
            Some(turn) if turn.id != data.turn_id => {
                let message = format!("turn.ended has turn_id {:?}, turn.started has {:?}", data.turn_id, turn.id);
                report.add(Rule::L16, message);
            }
            Some(_) => {}
        }
        self.tools.observe_turn_end(&data.status);
        self.items.observe_turn_end(&data.status, &self.tools, report);
        self.check_no_pending_requests("the turn", report);
    }

    /// L17: the metadata of a requested permission.
    fn check_permission_metadata(&self, permission: &Permission, report: &mut Report) {
        let id = &permission.permission_id;
        let Some(metadata) = &permission.metadata else {
            return report.add(Rule::L17, format!("permission {id} has no metadata"));
        };
        if metadata.scopes.iter().all(|scope| matches!(scope, ApprovalScope::Unknown(_))) {
            report.add(Rule::L17, format!("the metadata of permission {id} has no scopes"));
        }
        if let Some(call_id) = metadata.call_id.as_ref().filter(|call_id| !self.tools.was_called(call_id)) {
            report.add(Rule::L17, format!("permission {id} names call {call_id}, which has not started"));
        }
    }

    /// L9 at the end of a turn or session.
    fn check_no_pending_requests(&mut self, ended: &str, report: &mut Report) {
        self.permissions.check_none_pending(ended, report);
        self.questions.check_none_pending(ended, report);
    }
}
