//! Tool calls: objects that updates change until they are completed or failed.
//!
//! The first mention of a call may be a `tool_call`, an update or a permission request. A call is *settled*, which means
//! that its arguments are final, when the agent runs it, asks for a permission, or goes on with something else.

use interlingua_native::Json;
use interlingua_native::acp::{
    SessionUpdate, ToolCallContent, ToolCallLocation, ToolCallSessionUpdate, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateSessionUpdate, ToolKind as NativeKind,
};
use interlingua_schema::ToolKind;

use super::content::Meta;
use super::messages::finish_run;
use super::tool_input::{self, Described};
use super::tool_output::{self, Progress};
use super::{ACP, AcpConverter};
use crate::{Drafts, Key, SessionDrafts, ToolCall, ToolResult};

/// Drop reason for an update that adds nothing to a call.
const NO_NEWS: &str = "an update without news";
/// Drop reason for an update of a call that has its result.
const FINISHED: &str = "an update of a finished call";
/// Name of a tool if the agent sends neither its name nor its kind.
const UNNAMED: &str = "tool";

/// The fields of a call that an update sets. The schema has three types with the same fields.
#[derive(Debug)]
pub(super) struct ToolFields {
    pub(super) id: String,
    /// The update is a `tool_call`, which creates the call.
    creates: bool,
    pub(super) name: Option<String>,
    pub(super) kind: Option<NativeKind>,
    pub(super) title: Option<String>,
    pub(super) status: Option<ToolCallStatus>,
    pub(super) content: Option<Vec<ToolCallContent>>,
    pub(super) locations: Option<Vec<ToolCallLocation>>,
    pub(super) raw_input: Option<Json>,
    pub(super) raw_output: Option<Json>,
    pub(super) meta: Meta,
}

/// Takes the fields from one of the three types.
macro_rules! tool_fields {
    ($call:ident, $creates:literal) => {
        Self {
            id: $call.tool_call_id.unwrap_or_default(),
            creates: $creates,
            name: $call.name.filter(|name| !name.is_empty()),
            kind: $call.kind,
            title: $call.title.filter(|title| !title.trim().is_empty()),
            status: $call.status,
            content: $call.content,
            locations: $call.locations,
            raw_input: $call.raw_input.filter(has_value),
            raw_output: $call.raw_output.filter(has_value),
            meta: Meta::read($call.meta.as_ref()),
        }
    };
}

impl ToolFields {
    pub(super) fn new_call(call: ToolCallSessionUpdate) -> Self {
        tool_fields!(call, true)
    }

    pub(super) fn update(update: ToolCallUpdateSessionUpdate) -> Self {
        tool_fields!(update, false)
    }

    pub(super) fn requested(call: ToolCallUpdate) -> Self {
        tool_fields!(call, false)
    }
}

fn has_value(json: &Json) -> bool {
    json.get().trim() != "null"
}

/// How far a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Its arguments may still change.
    #[default]
    Open,
    /// Its arguments are final.
    Settled,
    /// It has a result.
    Finished,
}

/// A tool call.
#[derive(Debug, Default)]
pub(super) struct Tool {
    /// Order in which the calls were mentioned.
    order: u64,
    key: Option<Key>,
    parent: Option<String>,
    phase: Phase,
    name: Option<String>,
    pub(super) described: Described,
    pub(super) progress: Progress,
    /// The user denied the permission of the call.
    pub(super) is_denied: bool,
}

impl Tool {
    fn key(&self, id: &str) -> Key {
        self.key.clone().unwrap_or_else(|| Key::from(id))
    }

    /// The call that started the sub-agent that makes this call.
    pub(super) fn parent(&self) -> Option<&String> {
        self.parent.as_ref()
    }

    fn merge(&mut self, fields: &mut ToolFields) {
        self.name = fields.name.take().or_else(|| fields.meta.claude_code.tool_name.take()).or(self.name.take());
        self.described.merge(fields);
    }

    /// The call as it is known. Until its arguments are final, its title may be that of the tool.
    fn call(&self, id: &str, is_final: bool) -> ToolCall {
        let kind = self.described.kind();
        let name = self.name.as_deref().or(kind).unwrap_or(UNNAMED);
        let input = self.described.input(self.name.as_deref());
        let tool_kind = tool_input::tool_kind(kind, self.name.as_deref());
        let mut call = ToolCall::new(id, name)
            .kind(tool_kind)
            .json_arguments(self.described.arguments())
            .native_id(id)
            .input(input.clone());
        if let (None, Some(title), true) = (input, &self.described.title, is_final) {
            call = call.title(title.as_str());
        }
        call
    }

    /// Whether the arguments are known as far as the agent ever sends them.
    fn has_arguments(&self) -> bool {
        self.described.has_arguments()
    }

    /// Reports the final arguments.
    fn settle(&mut self, id: &str, drafts: &mut SessionDrafts<'_>) {
        if self.phase == Phase::Open {
            self.phase = Phase::Settled;
            drafts.tool_called(self.key(id), self.call(id, true));
        }
    }
}

impl AcpConverter {
    /// A call is created or changes.
    pub(super) fn handle_tool(&mut self, id: &str, mut fields: ToolFields, out: &mut Drafts) {
        let call_id = std::mem::take(&mut fields.id);
        let unknown = fields.content.iter().flatten().find_map(|content| match content {
            ToolCallContent::Unknown { tag, .. } => Some(tag.clone()),
            _ => None,
        });
        if let Some(tag) = unknown {
            self.drafts(id, out).unparsed(ACP, "unknown content", Some(tag));
        }
        if fields.creates {
            self.fail_denied_calls(id, out);
        }
        self.finish_unnamed_run(id, &call_id, out);
        self.mention_call(id, &call_id, &mut fields, out);
        let terminal = fields.content.as_deref().and_then(tool_output::terminal_id).map(str::to_owned);
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Some(tool) = session.tools.get_mut(&call_id) else { return };
        // A status of a later version is reported, so the update is not dropped.
        let is_odd = matches!(fields.status, Some(ToolCallStatus::Unknown(_)));
        if tool.phase == Phase::Finished {
            if !is_odd {
                out.dropped(FINISHED);
            }
            return;
        }
        let mut drafts = out.session(id).sub_agent_or_main(tool.parent.as_deref());
        let is_open = tool.phase == Phase::Open;
        let (is_running, is_done, failed) = match &fields.status {
            Some(ToolCallStatus::InProgress) => (true, false, false),
            Some(ToolCallStatus::Completed) => (true, true, false),
            Some(ToolCallStatus::Failed) => (true, true, true),
            Some(ToolCallStatus::Pending | ToolCallStatus::Unknown(_)) | None => (false, false, false),
        };
        tool.progress.observe(&mut fields, !is_open || is_done, terminal);
        if is_running {
            tool.settle(&call_id, &mut drafts);
        }
        if let Some(delta) = tool.progress.take_delta() {
            tool.settle(&call_id, &mut drafts);
            drafts.tool_output(tool.key(&call_id), delta);
        }
        if is_done {
            tool.phase = Phase::Finished;
            let terminal = tool.progress.terminal().and_then(|id| self.terminals.get(id));
            let result = tool.progress.result(failed, &tool.described, terminal);
            drafts.tool_finished(tool.key(&call_id), result);
        }
        if !is_odd && !out.has_input_drafts() {
            out.dropped(NO_NEWS);
        }
    }

    /// Adds a call that is mentioned for the first time, and takes over what the update says about it.
    fn mention_call(&mut self, id: &str, call_id: &str, fields: &mut ToolFields, out: &mut Drafts) {
        let mut drafts = self.drafts(id, out);
        let session = self.session(id);
        let known = session.tools.get(call_id).map(|tool| (tool.phase, tool.order));
        // An agent may use an id again for another call.
        let is_new = match known {
            None => true,
            Some((phase, _)) => phase == Phase::Finished && fields.creates,
        };
        if !is_new {
            if let Some(tool) = session.tools.get_mut(call_id).filter(|tool| tool.phase != Phase::Finished) {
                tool.merge(fields);
            }
            return;
        }
        let parent = fields.meta.claude_code.parent_tool_use_id.take();
        session.tool_count += 1;
        let order = session.tool_count;
        let key = known.map(|_| Key::numbered(call_id, order));
        let mut tool = Tool { order, key, parent, ..Tool::default() };
        tool.merge(fields);
        drafts = drafts.sub_agent_or_main(tool.parent.as_deref());
        finish_run(session, tool.parent.as_ref(), &mut drafts);
        drafts.tool_started(tool.key(call_id), tool.call(call_id, false));
        session.tools.insert(call_id.to_owned(), tool);
    }

    /// A permission request mentions a call, and settles it. Returns the call that started its sub-agent.
    pub(super) fn mention_requested_call(
        &mut self,
        id: &str,
        mut fields: ToolFields,
        out: &mut Drafts,
    ) -> Option<String> {
        let call_id = std::mem::take(&mut fields.id);
        // The input of a request is a description for a person. It counts if the call itself has none.
        let request_input = fields.raw_input.take();
        let is_new = !self.session(id).tools.contains_key(&call_id);
        if !is_new {
            // So is its title, and its kind and status are those of the call.
            (fields.title, fields.name, fields.status) = (None, None, None);
        }
        self.mention_call(id, &call_id, &mut fields, out);
        let session = self.sessions.get_mut(id)?;
        let tool = session.tools.get_mut(&call_id)?;
        let parent = tool.parent.clone();
        let mut drafts = out.session(id).sub_agent_or_main(parent.as_deref());
        if tool.phase == Phase::Open {
            let name = tool.name.clone();
            tool.described.complete_with(request_input, name.as_deref());
            tool.settle(&call_id, &mut drafts);
        }
        parent
    }

    /// Settles the open calls of a session whose arguments have come, because the agent goes on with `update`.
    pub(super) fn settle_calls(&mut self, id: &str, update: &SessionUpdate, out: &mut Drafts) {
        let current = match update {
            SessionUpdate::ToolCall(call) => call.tool_call_id.as_deref(),
            SessionUpdate::ToolCallUpdate(update) => update.tool_call_id.as_deref(),
            SessionUpdate::Unknown { .. } => return,
            _ => None,
        };
        let Some(session) = self.sessions.get_mut(id) else { return };
        let is_due = |(call_id, tool): &(&String, &Tool)| {
            tool.phase == Phase::Open && tool.has_arguments() && current != Some(call_id.as_str())
        };
        let mut due: Vec<(u64, String)> =
            session.tools.iter().filter(is_due).map(|(call_id, tool)| (tool.order, call_id.clone())).collect();
        due.sort_unstable();
        for (_, call_id) in due {
            if let Some(tool) = session.tools.get_mut(&call_id) {
                let mut drafts = out.session(id).sub_agent_or_main(tool.parent.as_deref()).synthetic();
                tool.settle(&call_id, &mut drafts);
            }
        }
    }

    /// Notes that the user denied the permission for a call.
    pub(super) fn call_denied(&mut self, id: &str, call_id: &str) {
        let session = self.sessions.get_mut(id);
        if let Some(tool) = session.and_then(|session| session.tools.get_mut(call_id)) {
            tool.is_denied = tool.phase != Phase::Finished;
        }
    }

    /// Fails the denied calls for which the agent has sent no result, because it goes on without one.
    pub(super) fn fail_denied_calls(&mut self, id: &str, out: &mut Drafts) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let is_due = |(_, tool): &(&String, &Tool)| tool.is_denied && tool.phase != Phase::Finished;
        let mut due: Vec<(u64, String)> =
            session.tools.iter().filter(is_due).map(|(call_id, tool)| (tool.order, call_id.clone())).collect();
        due.sort_unstable();
        for (_, call_id) in due {
            if let Some(tool) = session.tools.get_mut(&call_id) {
                tool.phase = Phase::Finished;
                let mut drafts = out.session(id).sub_agent_or_main(tool.parent.as_deref()).synthetic();
                drafts.tool_finished(tool.key(&call_id), ToolResult::failed(""));
            }
        }
    }

    /// Forgets the finished calls of a session whose turn has ended.
    pub(super) fn forget_finished_calls(&mut self, id: &str) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.tools.retain(|_, tool| tool.phase != Phase::Finished);
        }
    }

    /// The only open call of a session that starts a sub-agent.
    pub(super) fn only_open_sub_agent_call(&self, id: &str) -> Option<Key> {
        let session = self.sessions.get(id)?;
        let starts_sub_agent = |(_, tool): &(&String, &Tool)| {
            let kind = tool_input::tool_kind(tool.described.kind(), tool.name.as_deref());
            let input = tool.described.input(tool.name.as_deref());
            tool.phase != Phase::Finished
                && input.as_ref().and_then(interlingua_schema::ToolInput::kind).unwrap_or(kind) == ToolKind::SubAgent
        };
        let mut calls = session.tools.iter().filter(starts_sub_agent);
        let (call_id, tool) = calls.next()?;
        calls.next().is_none().then(|| tool.key(call_id))
    }
}
