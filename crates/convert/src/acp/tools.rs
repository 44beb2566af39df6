//! Tool calls: objects that updates change until they are completed or failed.
//!
//! The first mention of a call may be a `tool_call`, an update or a permission request. A call is *settled*, which means
//! that its arguments are final, when the agent runs it, asks for a permission, or goes on with something else.

mod known_calls;

use interlingua_agents::AcpDialect;
use interlingua_native::Json;
use interlingua_native::acp::{
    SessionUpdate, ToolCallContent, ToolCallLocation, ToolCallSessionUpdate, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateSessionUpdate, ToolKind as NativeKind,
};
use interlingua_schema::ToolKind;

use super::content::Meta;
use super::messages::finish_message;
use super::tool_input::{self, CallDescription, Described, ToolIdentity};
use super::tool_names::{McpTool, mcp_tool, tool_name};
use super::tool_output::{self, FinishedCall, Progress};
use super::{ACP, AcpConverter};
use crate::{Drafts, Key, Note, SessionDrafts, ToolCall};
pub(super) use known_calls::KnownCalls;

/// Drop reason for an update that changes nothing that a client sees: only `_meta`, a title or locations.
const NO_CHANGE: &str = "an update that changes nothing";
/// Drop reason for an update of a call that has its result.
const FINISHED: &str = "an update of a finished call";
/// Drop reason for what a sub-agent does, which its own calls report.
const SUB_AGENT_PROGRESS: &str = "the progress of a sub-agent";
/// Drop reason for the failure of a call that the model writes anew, which follows under the same id.
const DISCARDED: &str = "a call that the model writes anew";
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

    /// The texts of the content.
    pub(super) fn texts(&self) -> Vec<String> {
        self.content.iter().flatten().filter_map(tool_input::description_text).collect()
    }

    /// Whether the update ends the call.
    fn ends_call(&self) -> bool {
        matches!(self.status, Some(ToolCallStatus::Completed | ToolCallStatus::Failed))
    }

    /// A content of a type that the schema does not list.
    fn unknown_content(&self) -> Option<String> {
        self.content.iter().flatten().find_map(|content| match content {
            ToolCallContent::Unknown { tag, .. } => Some(tag.clone()),
            _ => None,
        })
    }
}

fn has_value(json: &Json) -> bool {
    json.get().trim() != "null"
}

/// How far a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its arguments may still change.
    #[default]
    Open,
    /// Its arguments are final.
    Settled,
    /// It has a result.
    Finished,
}

/// A tool call.
#[derive(Debug)]
pub(super) struct Tool {
    /// Order in which the calls were mentioned.
    order: u64,
    key: Key,
    parent: Option<Key>,
    phase: Phase,
    dialect: AcpDialect,
    sends_arguments: bool,
    name: Option<String>,
    mcp: Option<McpTool>,
    pub(super) described: Described,
    progress: Progress,
    /// The user denied the permission of the call.
    is_denied: bool,
    /// Its failure was inferred from a denial. The agent may still report the result.
    is_inferred: bool,
}

impl Tool {
    fn new(order: u64, key: Key, parent: Option<Key>, dialect: AcpDialect) -> Self {
        Self {
            order,
            key,
            parent,
            phase: Phase::Open,
            dialect,
            sends_arguments: false,
            name: None,
            mcp: None,
            described: Described::default(),
            progress: Progress::default(),
            is_denied: false,
            is_inferred: false,
        }
    }

    /// The call that started the sub-agent that makes this call.
    pub(super) fn parent(&self) -> Option<&Key> {
        self.parent.as_ref()
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    fn merge(&mut self, fields: &mut ToolFields, is_first: bool, servers: &[String], sends_arguments: bool) {
        if fields.meta.claude_code.tool_name.is_some() {
            self.dialect = AcpDialect::Claude;
        }
        self.sends_arguments = sends_arguments;
        self.name = tool_name(self.dialect, fields, is_first).or(self.name.take());
        self.mcp = mcp_tool(self.name.as_deref(), fields.title.as_deref(), servers).or(self.mcp.take());
        self.described.merge(fields, self.phase != Phase::Open);
    }

    fn identity(&self) -> ToolIdentity<'_> {
        let (name, mcp) = (self.name.as_deref(), self.mcp.as_ref());
        ToolIdentity { dialect: self.dialect, name, mcp, sends_arguments: self.sends_arguments }
    }

    pub(super) fn describe(&self) -> CallDescription {
        self.described.describe(self.identity())
    }

    /// Why the agent asks for a permission: the texts of the request that the arguments do not repeat.
    pub(super) fn reason(&self, texts: Vec<String>) -> Option<String> {
        let arguments = self.described.arguments();
        let is_repeated = |text: &String| {
            let quoted = serde_json::Value::from(text.as_str()).to_string();
            arguments.as_ref().is_some_and(|arguments| arguments.get().contains(quoted.trim_matches('"')))
        };
        // The texts of an agent that sends no arguments stand for them.
        let texts: Vec<String> = texts.into_iter().filter(|text| self.sends_arguments && !is_repeated(text)).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// The call as it is known. Until its arguments are final, its title may be that of the tool.
    fn call(&self, id: &str, is_final: bool) -> ToolCall {
        let CallDescription { kind, input, title } = self.describe();
        let native_kind = self.described.native_kind().map(NativeKind::as_str);
        let name = self.name.as_deref().or(native_kind).unwrap_or(UNNAMED);
        let arguments = self.described.arguments();
        let call = ToolCall::new(id, name).kind(kind).json_arguments(arguments.as_ref()).native_id(id).input(input);
        match title.filter(|_| is_final) {
            Some(title) => call.title(title),
            None => call,
        }
    }

    /// Reports the final arguments.
    fn settle(&mut self, id: &str, drafts: &mut SessionDrafts<'_>) {
        if self.phase == Phase::Open {
            self.phase = Phase::Settled;
            drafts.tool_called(&self.key, self.call(id, true));
        }
    }
}

impl AcpConverter {
    /// A call is created or changes.
    pub(super) fn handle_tool(&mut self, id: &str, mut fields: ToolFields, out: &mut Drafts) {
        let call_id = std::mem::take(&mut fields.id);
        if let Some(tag) = fields.unknown_content() {
            self.drafts(id, out).unparsed(ACP, "unknown content", Some(tag));
        }
        if fields.creates {
            self.fail_denied_calls(id, out);
        }
        if fields.meta.is_sub_agent_progress {
            return out.dropped(SUB_AGENT_PROGRESS);
        }
        if fields.meta.is_discarded {
            return out.dropped(DISCARDED);
        }
        self.finish_unnamed_message(id, &call_id, out);
        // A status of a later version is reported, so the update is not dropped.
        let has_unknown_status = matches!(fields.status, Some(ToolCallStatus::Unknown(_)));
        let is_new_call = fields.creates;
        if !is_new_call && self.session(id).calls.is_past(&call_id) {
            return self.handle_update_of_past_call(id, &call_id, fields, out);
        }
        self.mention_call(id, &call_id, &mut fields, is_new_call, out);
        let terminal = fields.content.as_deref().and_then(tool_output::terminal_id).map(str::to_owned);
        let Some(session) = self.sessions.get_mut(id) else { return };
        if fields.ends_call() {
            // What the sub-agent of the call has said is complete, too.
            let key = session.calls.key(&call_id);
            finish_message(session, id, Some(&key), out);
        }
        let Some(tool) = session.calls.get_mut(&call_id) else { return };
        let mut drafts = out.session(id).sub_agent_or_main(tool.parent.as_ref());
        if tool.is_finished() && !tool.is_inferred {
            tool.report_late_text(fields, &mut drafts);
            if !has_unknown_status && !out.has_input_drafts() {
                out.dropped(FINISHED);
            }
            return;
        }
        let (is_done, failed) = (fields.ends_call(), fields.status == Some(ToolCallStatus::Failed));
        let is_output = tool.phase != Phase::Open || is_done;
        tool.progress.observe_raw(fields.raw_output.take(), &mut fields.meta, terminal);
        if let Some(content) = fields.content.take().filter(|_| is_output) {
            tool.progress.observe_content(content);
        }
        if is_done || fields.status == Some(ToolCallStatus::InProgress) {
            tool.settle(&call_id, &mut drafts);
        }
        if is_done {
            let terminal = tool.progress.terminal().and_then(|id| self.terminals.get(id));
            let (kind, name) = (tool.describe().kind, tool.name.as_deref());
            let (dialect, described) = (tool.dialect, &tool.described);
            let call = FinishedCall { dialect, name, kind: &kind, described, terminal, failed };
            let result = tool.progress.result(call);
            (tool.phase, tool.is_inferred) = (Phase::Finished, false);
            drafts.tool_finished(&tool.key, result);
        } else if let Some(delta) = tool.progress.take_delta() {
            tool.settle(&call_id, &mut drafts);
            drafts.tool_output(&tool.key, delta);
        }
        if !has_unknown_status && !out.has_input_drafts() {
            out.dropped(NO_CHANGE);
        }
    }

    /// A call that was finished in an earlier turn has its result.
    fn handle_update_of_past_call(&mut self, id: &str, call_id: &str, mut fields: ToolFields, out: &mut Drafts) {
        let failed = fields.status == Some(ToolCallStatus::Failed);
        let ends_call = fields.ends_call();
        let late = self.session(id).calls.take_inferred(call_id).filter(|_| ends_call);
        let Some((key, parent)) = late else { return out.dropped(FINISHED) };
        let mut progress = Progress::default();
        progress.observe_raw(fields.raw_output.take(), &mut fields.meta, None);
        progress.observe_content(fields.content.take().unwrap_or_default());
        let (kind, described) = (ToolKind::Other, Described::default());
        let dialect = AcpDialect::Standard;
        let call = FinishedCall { dialect, name: None, kind: &kind, described: &described, terminal: None, failed };
        out.session(id).sub_agent_or_main(parent).tool_finished(key, progress.result(call));
    }

    /// Adds a call that is mentioned for the first time, and takes over what the update says about it.
    fn mention_call(&mut self, id: &str, call_id: &str, fields: &mut ToolFields, is_new_call: bool, out: &mut Drafts) {
        // Announces the session, if this is the first that is heard of it.
        let _ = self.drafts(id, out);
        self.sends_arguments |= fields.raw_input.is_some();
        let (dialect, sends_arguments) = (self.dialect, self.sends_arguments);
        let parent = self.parent_call(id, &mut fields.meta);
        let session = self.session(id);
        // An agent may use an id again for another call.
        let known = session.calls.get(call_id).filter(|tool| !(is_new_call && tool.is_finished()));
        if known.is_some() {
            let servers = std::mem::take(&mut session.mcp_servers);
            if let Some(tool) = session.calls.get_mut(call_id).filter(|tool| !tool.is_finished()) {
                tool.merge(fields, false, &servers, sends_arguments);
            }
            session.mcp_servers = servers;
            return;
        }
        let (order, key) = session.calls.next_key(call_id);
        let mut tool = Tool::new(order, key, parent, dialect);
        call_id.clone_into(&mut fields.id);
        tool.merge(fields, true, &session.mcp_servers, sends_arguments);
        finish_message(session, id, tool.parent.as_ref(), out);
        let mut drafts = out.session(id).sub_agent_or_main(tool.parent.as_ref());
        drafts.tool_started(&tool.key, tool.call(call_id, false));
        session.calls.insert(call_id, tool);
    }

    /// A permission request mentions a call, and settles it.
    pub(super) fn mention_requested_call(&mut self, id: &str, mut fields: ToolFields, out: &mut Drafts) {
        let call_id = std::mem::take(&mut fields.id);
        // The input of a request is a description for a person. It counts if the call itself has none.
        let request_input = fields.raw_input.take();
        let calls = &self.session(id).calls;
        // An agent asks for a call that has not run, so this is another call with the id of a finished one.
        let is_new_call = calls.is_past(&call_id) || calls.get(&call_id).is_some_and(Tool::is_finished);
        if calls.get(&call_id).is_some() && !is_new_call {
            // So is its title, and its kind and status are those of the call.
            (fields.title, fields.name, fields.status) = (None, None, None);
        }
        self.sends_arguments |= request_input.is_some();
        self.mention_call(id, &call_id, &mut fields, is_new_call, out);
        let sends_arguments = self.sends_arguments;
        let Some(tool) = self.sessions.get_mut(id).and_then(|session| session.calls.get_mut(&call_id)) else { return };
        tool.sends_arguments = sends_arguments;
        let mut drafts = out.session(id).sub_agent_or_main(tool.parent.as_ref());
        if tool.phase == Phase::Open {
            let (name, mcp) = (tool.name.as_deref(), tool.mcp.as_ref());
            let identity = ToolIdentity { dialect: tool.dialect, name, mcp, sends_arguments };
            tool.described.complete_with(request_input, identity);
            tool.settle(&call_id, &mut drafts);
        }
    }

    /// Settles the open calls of a session whose arguments have come, because the agent goes on with `update`.
    pub(super) fn settle_calls(&mut self, id: &str, update: &SessionUpdate, out: &mut Drafts) {
        let current = match update {
            SessionUpdate::ToolCall(call) => call.tool_call_id.as_deref(),
            SessionUpdate::ToolCallUpdate(update) => update.tool_call_id.as_deref(),
            SessionUpdate::Unknown { .. } => return,
            _ => None,
        };
        self.settle_all_but(id, current, out);
    }

    /// Settles the calls of a turn that ends whose arguments have come.
    pub(super) fn settle_all_calls(&mut self, id: &str, out: &mut Drafts) {
        self.settle_all_but(id, None, out);
    }

    fn settle_all_but(&mut self, id: &str, current: Option<&str>, out: &mut Drafts) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let is_due = |call_id: &str, tool: &Tool| {
            tool.phase == Phase::Open && tool.described.has_arguments() && current != Some(call_id)
        };
        for (call_id, tool) in session.calls.select_mut(is_due) {
            let mut drafts = out.session(id).sub_agent_or_main(tool.parent.as_ref()).synthetic();
            tool.settle(call_id, &mut drafts);
        }
    }

    /// Notes that the user denied the permission for a call.
    pub(super) fn call_denied(&mut self, id: &str, call_id: &str) {
        let tool = self.sessions.get_mut(id).and_then(|session| session.calls.get_mut(call_id));
        if let Some(tool) = tool {
            tool.is_denied = !tool.is_finished();
        }
    }

    /// Fails the denied calls for which the agent has sent no result, because it goes on without one. A result that comes
    /// later is a late one.
    pub(super) fn fail_denied_calls(&mut self, id: &str, out: &mut Drafts) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        for (_, tool) in session.calls.select_mut(|_, tool| tool.is_denied && !tool.is_finished()) {
            (tool.phase, tool.is_inferred) = (Phase::Finished, true);
            out.session(id).sub_agent_or_main(tool.parent.as_ref()).synthetic().tool_abandoned(&tool.key);
        }
    }

    /// Forgets the finished calls of a session whose turn has ended.
    pub(super) fn forget_finished_calls(&mut self, id: &str) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.calls.forget_finished();
        }
    }

    /// The call that started the sub-agent that an update is about, if the update says so.
    pub(super) fn parent_call(&mut self, id: &str, meta: &mut Meta) -> Option<Key> {
        let session = self.session(id);
        if let Some(call) = meta.take_parent_call() {
            return Some(session.calls.key(&call));
        }
        let agent = meta.copilot.agent_id.take()?;
        if let Some(call) = session.sub_agents.get(&agent) {
            return Some(call.clone());
        }
        // The agent has an id of its own: the only call of a sub-agent that no other agent belongs to has started it.
        let is_taken = |key: &Key| session.sub_agents.values().any(|known| known == key);
        let mut free = session.calls.open_sub_agent_calls().map(|(_, tool)| tool.key()).filter(|key| !is_taken(key));
        let call = free.next().filter(|_| free.next().is_none())?.clone();
        session.sub_agents.insert(agent, call.clone());
        Some(call)
    }
}

impl Tool {
    /// Reports a text that comes after the result and differs from it.
    fn report_late_text(&mut self, mut fields: ToolFields, drafts: &mut SessionDrafts<'_>) {
        let before = self.progress.content_text().map(str::to_owned);
        let Some(content) = fields.content.take() else { return };
        self.progress.observe_content(content);
        let text = self.progress.content_text().filter(|text| before.as_deref() != Some(*text));
        if let Some(text) = text.map(str::to_owned) {
            drafts.note(Note::late_result(text).with_call(&self.key));
        }
    }
}
