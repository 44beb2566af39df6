//! Plans, notices, compactions, sub-agents in sessions of their own, and messages between sessions.

use std::collections::btree_map::Entry;

use interlingua_native::acp::{
    CompactionStatus, CompactionSummaryChunkSessionUpdate, CompactionUpdateSessionUpdate, NoticeSessionUpdate,
    PlanEntry, PlanEntryStatus, PlanUpdateContent, SessionMessageChunkSessionUpdate, SessionMessageSessionUpdate,
    StateUpdate, SubagentUpdateSessionUpdate,
};
use interlingua_schema::{Compaction, ContentPart, Task, TaskState};

use super::content::{blocks_text, content_part};
use super::{ACP, AcpConverter};
use crate::draft::UNCHANGED_PLAN;
use crate::drop_reason::STATE_ECHO;
use crate::{Drafts, Note, plan_step};

impl AcpConverter {
    /// The plan, as a whole.
    pub(super) fn handle_plan(&mut self, id: &str, entries: Vec<PlanEntry>, out: &mut Drafts) {
        let step = |entry: PlanEntry| {
            plan_step(entry.content.unwrap_or_default(), entry.status.as_ref().map(PlanEntryStatus::as_str))
        };
        let steps: Vec<_> = entries.into_iter().map(step).collect();
        if !self.session(id).plan.update(&steps) {
            return out.dropped(UNCHANGED_PLAN);
        }
        self.drafts(id, out).note(Note::plan(steps));
    }

    /// A plan in one of several forms. Only a list has steps; the others are shown as they are.
    pub(super) fn handle_plan_update(&mut self, id: &str, plan: Option<PlanUpdateContent>, out: &mut Drafts) {
        match plan {
            Some(PlanUpdateContent::Items(items)) => self.handle_plan(id, items.entries.unwrap_or_default(), out),
            Some(PlanUpdateContent::Markdown(plan)) => {
                self.drafts(id, out).note(Note::notice(format!("Plan:\n{}", plan.content.unwrap_or_default())));
            }
            Some(PlanUpdateContent::File(plan)) => {
                self.drafts(id, out).note(Note::notice(format!("Plan: {}", plan.uri.unwrap_or_default())));
            }
            Some(PlanUpdateContent::Unknown { tag, .. }) => {
                self.drafts(id, out).unparsed(ACP, "unknown plan", Some(tag));
            }
            None => out.dropped(STATE_ECHO),
        }
    }

    pub(super) fn handle_notice(&mut self, id: &str, notice: NoticeSessionUpdate, out: &mut Drafts) {
        let title = notice.title.unwrap_or_default();
        let text = match notice.description.filter(|description| !description.is_empty()) {
            Some(description) => format!("{title}: {description}"),
            None => title,
        };
        self.drafts(id, out).note(Note::notice(text));
    }

    pub(super) fn handle_compaction(&mut self, id: &str, update: CompactionUpdateSessionUpdate, out: &mut Drafts) {
        let key = update.compaction_id.unwrap_or_default();
        let session = self.session(id);
        let mut summary = session.compactions.remove(&key).unwrap_or_default();
        if let Some(blocks) = update.summary {
            summary = blocks_text(blocks);
        }
        let mut compaction = Compaction::new();
        compaction.summary = Some(summary.clone()).filter(|summary| !summary.is_empty());
        let is_running = match &update.status {
            Some(CompactionStatus::Completed | CompactionStatus::Failed | CompactionStatus::Cancelled) => false,
            Some(CompactionStatus::InProgress | CompactionStatus::Unknown(_)) | None => true,
        };
        if is_running {
            session.compactions.insert(key.clone(), summary);
            return self.drafts(id, out).note_started(key, Note::compacting(Compaction::new()));
        }
        let mut drafts = self.drafts(id, out);
        match &update.status {
            Some(CompactionStatus::Completed) => drafts.note_finished(key, Note::compaction(compaction), false),
            Some(CompactionStatus::Cancelled) => {
                drafts.note_finished(key, Note::compaction_failed(compaction, Some("cancelled")), true);
            }
            _ => drafts.note_finished(key, Note::compaction_failed(compaction, update.error.as_deref()), true),
        }
    }

    /// The first mention of a compaction starts it.
    pub(super) fn handle_compaction_summary(
        &mut self,
        id: &str,
        chunk: CompactionSummaryChunkSessionUpdate,
        out: &mut Drafts,
    ) {
        let key = chunk.compaction_id.unwrap_or_default();
        let text = chunk.content.map(|block| blocks_text(vec![block])).unwrap_or_default();
        let is_new = match self.session(id).compactions.entry(key.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(text);
                true
            }
            Entry::Occupied(mut entry) => {
                entry.get_mut().push_str(&text);
                false
            }
        };
        if is_new {
            return self.drafts(id, out).note_started(key, Note::compacting(Compaction::new()));
        }
        // The end of the compaction has the whole summary.
        out.dropped(STATE_ECHO);
    }

    /// A sub-agent has a session of its own.
    pub(super) fn handle_sub_agent(&mut self, id: &str, update: SubagentUpdateSessionUpdate, out: &mut Drafts) {
        let child = update.session_id.unwrap_or_default();
        let mut calls = self.session(id).calls.open_sub_agent_calls();
        let call = calls.next().map(|(call_id, tool)| (call_id.to_owned(), tool.key().clone()));
        let (call_id, call) = call.filter(|_| calls.next().is_none()).unzip();
        drop(calls);
        // The parent starts first, if it has not started.
        let _ = self.drafts(id, out);
        if !std::mem::replace(&mut self.session(&child).is_announced, true) {
            out.session(&child).child_of(id);
            if let Some(call) = &call {
                out.session(&child).spawned_by(id, call);
            }
        }
        let state = match update.state {
            Some(StateUpdate::Running(_) | StateUpdate::RequiresAction(_)) => TaskState::Running,
            Some(StateUpdate::Idle(idle)) => match (idle.stop_reason.as_deref(), idle.error) {
                (_, Some(_)) | (Some("error"), None) => TaskState::Failed,
                (Some("cancelled"), None) => TaskState::Stopped,
                _ => TaskState::Completed,
            },
            Some(StateUpdate::Unknown2(_) | StateUpdate::Unknown { .. }) | None => TaskState::Started,
        };
        let mut task = Task::new(child, state);
        task.call_id = call_id;
        let description = update.title.or(update.description);
        out.session(id).note(Note::task(task, description.as_deref(), call));
    }

    /// A message to or from another session.
    pub(super) fn handle_session_message(&mut self, id: &str, message: SessionMessageSessionUpdate, out: &mut Drafts) {
        let Some(blocks) = message.content else { return out.dropped(STATE_ECHO) };
        let text = blocks_text(blocks);
        let key = message.message_id.unwrap_or_default();
        let before = self.session(id).status_messages.insert(key, text.clone());
        if text.is_empty() || before.as_ref() == Some(&text) {
            return out.dropped(STATE_ECHO);
        }
        self.drafts(id, out).note(Note::system(text));
    }

    pub(super) fn handle_session_message_chunk(
        &mut self,
        id: &str,
        chunk: SessionMessageChunkSessionUpdate,
        out: &mut Drafts,
    ) {
        let Some(ContentPart::Text { text }) = chunk.content.and_then(content_part) else {
            return out.dropped(STATE_ECHO);
        };
        let key = chunk.message_id.unwrap_or_default();
        self.session(id).status_messages.entry(key).or_default().push_str(&text);
        self.drafts(id, out).note(Note::system(text));
    }
}
