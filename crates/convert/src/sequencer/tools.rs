//! Tool calls and their results.

use interlingua_schema::{
    ContentPart, EventData, EventDataRef, Item, ItemId, ItemKind, NativeItemId, Origin, Role, StatusLabel, ToolInput,
    ToolKind,
};

use super::emitter::EmitContext;
use super::messages::{item_delta, outcome};
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use super::stderr_buffer::truncate_bytes;
use crate::arguments::Arguments;
use crate::paths::{normalize_input, normalize_part};
use crate::title::{call_title, one_line};
use crate::{Key, ToolCall, ToolResult};

/// Maximum number of calls without a result. With one more, the oldest gets an empty result.
const MAX_OPEN_TOOLS: usize = 4096;
/// Maximum number of bytes kept of streamed output. It is only used if the result has no final text of its own.
const MAX_STREAMED_OUTPUT: usize = 4 << 20;
/// Name of a tool if the agent never names it.
const UNKNOWN_TOOL: &str = "unknown";

/// A tool call that has no result yet.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) serial: u64,
    call_item: ItemId,
    parent: Option<ItemId>,
    call_id: String,
    native_id: Option<NativeItemId>,
    native_message: Option<Key>,
    /// Description of the call, once it is final.
    pub(super) call_data: CallData,
    /// The call is still running although its turn has completed.
    background: bool,
    /// The call, while its arguments are not final.
    call: Option<OpenCall>,
    /// The result, once there is output of the tool.
    result: Option<OpenResult>,
}

/// The part of a call that may still change.
#[derive(Clone, Debug)]
struct OpenCall {
    name: String,
    kind: Option<ToolKind>,
    arguments: Option<Arguments>,
    input: Option<ToolInput>,
    title: Option<String>,
}

/// The part of a call that a permission request shows.
#[derive(Clone, Debug, Default)]
pub(super) struct CallData {
    pub(super) kind: Option<ToolKind>,
    pub(super) input: Option<Box<ToolInput>>,
    pub(super) title: Option<String>,
}

impl CallData {
    fn from_item(item: Item) -> Self {
        match item.content.into_iter().next() {
            Some(ContentPart::ToolCall { tool_kind, input, title, .. }) => Self { kind: tool_kind, input, title },
            _ => Self::default(),
        }
    }
}

#[derive(Debug)]
struct OpenResult {
    item: Item,
    streamed: String,
}

/// What is remembered of a tool call that has a result.
#[derive(Debug)]
pub(super) struct ClosedTool {
    pub(super) call_item: ItemId,
    call_id: String,
    /// The sequencer closed it, so the agent may still report its end.
    cut_off: bool,
}

impl Session {
    /// Item of a call, if the call is known.
    pub(super) fn call_item(&self, scope: ScopeId, key: &Key) -> Option<ItemId> {
        let item_ref = (scope, key.clone());
        let open = self.tools.get(&item_ref).map(|tool| &tool.call_item);
        open.or_else(|| self.closed_tools.get(&item_ref).map(|tool| &tool.call_item)).cloned()
    }

    /// Item of a call in this scope, or else in any other: the main agent may report a task of a sub-agent.
    pub(super) fn find_call_item(&self, scope: ScopeId, key: &Key) -> Option<ItemId> {
        self.call_item(scope, key).or_else(|| self.scope_ids().find_map(|scope| self.call_item(scope, key)))
    }

    /// Native id of a call that has no result yet.
    pub(super) fn open_call_id(&self, item_ref: &ItemRef) -> Option<&str> {
        self.tools.get(item_ref).map(|tool| tool.call_id.as_str())
    }

    fn is_known_tool(&self, item_ref: &ItemRef) -> bool {
        self.tools.contains_key(item_ref) || self.closed_tools.get(item_ref).is_some()
    }

    pub(super) fn tool_started(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: ItemRef,
        origin: Origin,
        call: ToolCall,
    ) {
        if !self.is_known_tool(&item_ref) {
            self.show_prompt_before_output(ctx, item_ref.0, true);
            self.open_call(ctx, item_ref, origin, call);
        } else if let Some(tool) = self.tools.get_mut(&item_ref) {
            tool.update(call);
        }
    }

    pub(super) fn tool_arguments(&mut self, ctx: &mut EmitContext<'_>, item_ref: &ItemRef, origin: Origin, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.is_known_tool(item_ref) {
            let call = ToolCall::new(item_ref.1.as_str(), UNKNOWN_TOOL);
            self.tool_started(ctx, item_ref.clone(), Origin::DAEMON, call);
        }
        let Some(tool) = self.tools.get_mut(item_ref) else {
            return;
        };
        let Some(call) = &mut tool.call else {
            return;
        };
        call.arguments.get_or_insert_with(|| String::new().into()).push_str(text);
        let (item_id, native_item_id) = (&tool.call_item, tool.native_id.as_ref());
        self.emitter.emit(ctx, origin, EventDataRef::ItemDelta { item_id, native_item_id, delta: text });
    }

    pub(super) fn tool_called(&mut self, ctx: &mut EmitContext<'_>, item_ref: ItemRef, origin: Origin, call: ToolCall) {
        if !self.is_known_tool(&item_ref) {
            self.show_prompt_before_output(ctx, item_ref.0, true);
            return self.emit_whole_call(ctx, item_ref, origin, call);
        }
        if let Some(tool) = self.tools.get_mut(&item_ref) {
            tool.update(call);
        }
        self.complete_call(ctx, &item_ref, origin, false);
    }

    pub(super) fn tool_output(&mut self, ctx: &mut EmitContext<'_>, item_ref: &ItemRef, origin: Origin, text: &str) {
        if text.is_empty() || self.closed_tools.get(item_ref).is_some() {
            return;
        }
        let is_call_final = if let Some(tool) = self.tools.get(item_ref) {
            tool.is_named()
        } else {
            // A later draft may name the tool.
            self.show_prompt_before_output(ctx, item_ref.0, true);
            self.open_call(ctx, item_ref.clone(), Origin::DAEMON, ToolCall::new(item_ref.1.as_str(), UNKNOWN_TOOL));
            false
        };
        self.open_result(ctx, item_ref, None, is_call_final);
        let Some(result) = self.tools.get_mut(item_ref).and_then(|tool| tool.result.as_mut()) else {
            return;
        };
        let room = MAX_STREAMED_OUTPUT.saturating_sub(result.streamed.len());
        result.streamed.push_str(truncate_bytes(text, room));
        self.emitter.emit(ctx, origin, item_delta(&result.item, text));
    }

    pub(super) fn tool_finished(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: ItemRef,
        origin: Origin,
        mut end: ToolResult,
    ) {
        if let Some(closed) = self.closed_tools.get_mut(&item_ref) {
            if std::mem::take(&mut closed.cut_off) {
                let call_item = closed.call_item.clone();
                self.emit_late_result(ctx, origin, call_item, end);
            }
            return;
        }
        if end.failed {
            self.deny_requests_for_call(ctx, &item_ref);
        }
        if end.call_cut_off {
            self.complete_call(ctx, &item_ref, Origin::DAEMON, true);
        }
        self.open_result(ctx, &item_ref, end.call.take(), true);
        self.complete_result(ctx, item_ref, origin, end, false);
    }

    pub(super) fn tool_abandoned(&mut self, ctx: &mut EmitContext<'_>, item_ref: &ItemRef) {
        self.cut_off_tool(ctx, item_ref.clone(), true);
    }

    /// Closes a tool call that the agent left open. If the tool itself was cut off, a call without a result gets a
    /// failed one; otherwise its result may still come.
    pub(super) fn cut_off_tool(&mut self, ctx: &mut EmitContext<'_>, item_ref: ItemRef, cut_off: bool) {
        let Some(tool) = self.tools.get(&item_ref) else {
            return;
        };
        if tool.call.is_some() {
            self.complete_call(ctx, &item_ref, Origin::DAEMON, true);
        } else if tool.result.is_none() && !cut_off {
            return;
        }
        self.open_result(ctx, &item_ref, None, true);
        let end = ToolResult::as_streamed().failed_if(true);
        self.complete_result(ctx, item_ref, Origin::DAEMON, end, true);
    }

    /// Lets a command whose call is final continue in the background after its turn completed. Returns whether it does.
    pub(super) fn move_to_background(&mut self, item_ref: &ItemRef) -> bool {
        let Some(tool) = self.tools.get_mut(item_ref) else { return false };
        let continues = tool.call.is_none() && tool.call_data.kind == Some(ToolKind::Command);
        tool.background |= continues;
        continues
    }

    /// The call that a permission is for: the one with this id, or else the oldest one without output that has this
    /// kind and input and no pending permission.
    pub(super) fn find_call(
        &self,
        call_id: Option<&str>,
        kind: Option<&ToolKind>,
        input: Option<&ToolInput>,
    ) -> Option<&Tool> {
        if let Some(call_id) = call_id {
            return self.tools.values().find(|tool| tool.call_id == call_id).map(|tool| &**tool);
        }
        let is_match = |tool: &&Tool| {
            tool.result.is_none()
                && tool.call_data.kind.is_some()
                && tool.call_data.kind.as_ref() == kind
                && is_same_call(tool.call_data.input.as_deref(), input)
                && !self.has_pending_permission(&tool.call_id)
        };
        self.tools.values().map(|tool| &**tool).filter(is_match).min_by_key(|tool| tool.serial)
    }

    /// Whether a call with this native id was started.
    pub(super) fn is_known_call(&self, call_id: &str) -> bool {
        self.tools.values().any(|tool| tool.call_id == call_id)
            || self.closed_tools.values().any(|tool| tool.call_id == call_id)
    }

    /// Starts a call whose arguments may still change.
    fn open_call(&mut self, ctx: &mut EmitContext<'_>, item_ref: ItemRef, origin: Origin, call: ToolCall) {
        let (mut tool, call) = self.new_tool(ctx, item_ref.0, call);
        self.emitter.emit(ctx, origin, EventDataRef::ItemStarted(&tool.started_item(&call)));
        tool.call = Some(call);
        self.tools.insert(item_ref, Box::new(tool));
    }

    /// Emits a call from its start to its completion.
    fn emit_whole_call(&mut self, ctx: &mut EmitContext<'_>, item_ref: ItemRef, origin: Origin, call: ToolCall) {
        let (mut tool, call) = self.new_tool(ctx, item_ref.0, call);
        let item = tool.final_item(call, self.cwd.as_deref());
        self.emitter.emit(ctx, Origin::DAEMON, EventDataRef::ItemStarted(&item));
        self.emitter.emit(ctx, origin, EventDataRef::ItemCompleted(&item, outcome(false)));
        tool.call_data = CallData::from_item(item);
        self.tools.insert(item_ref, Box::new(tool));
    }

    fn new_tool(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId, call: ToolCall) -> (Tool, OpenCall) {
        self.limit_open_tools(ctx);
        let ToolCall { call_id, name, kind, arguments, input, title, native_id, native_message } = call;
        let tool = Tool {
            serial: self.next_serial(),
            call_item: ctx.ids.next_item_id(),
            parent: self.tool_parent(scope, native_message.as_ref()),
            call_id,
            native_id,
            native_message,
            call_data: CallData::default(),
            background: false,
            call: None,
            result: None,
        };
        self.mark_participant(scope, &Role::Assistant);
        (tool, OpenCall { name, kind, arguments, input, title })
    }

    /// Closes the oldest call if there are too many calls without a result.
    fn limit_open_tools(&mut self, ctx: &mut EmitContext<'_>) {
        if self.tools.len() >= MAX_OPEN_TOOLS {
            let oldest = self.tools.iter().min_by_key(|(_, tool)| tool.serial).map(|(item_ref, _)| item_ref.clone());
            if let Some(oldest) = oldest {
                self.cut_off_tool(ctx, oldest, true);
            }
        }
    }

    fn complete_call(&mut self, ctx: &mut EmitContext<'_>, item_ref: &ItemRef, origin: Origin, failed: bool) {
        let Some(tool) = self.tools.get_mut(item_ref) else {
            return;
        };
        if let Some(call) = tool.call.take() {
            let item = tool.final_item(call, self.cwd.as_deref());
            self.emitter.emit(ctx, origin, EventDataRef::ItemCompleted(&item, outcome(failed)));
            tool.call_data = CallData::from_item(item);
        }
    }

    /// Starts the result of a tool. Completes the call first, if `is_call_final`.
    fn open_result(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: &ItemRef,
        call: Option<ToolCall>,
        is_call_final: bool,
    ) {
        let is_known = self.tools.contains_key(item_ref);
        self.show_prompt_before_output(ctx, item_ref.0, !is_known);
        if is_known {
            if let (Some(tool), Some(call)) = (self.tools.get_mut(item_ref), call) {
                tool.update(call);
            }
            if is_call_final {
                self.complete_call(ctx, item_ref, Origin::DAEMON, false);
            }
        } else {
            let call = call.unwrap_or_else(|| ToolCall::new(item_ref.1.as_str(), UNKNOWN_TOOL));
            self.emit_whole_call(ctx, item_ref.clone(), Origin::DAEMON, call);
        }
        let Some(tool) = self.tools.get(item_ref).filter(|tool| tool.result.is_none()) else {
            return;
        };
        // A call that came before the first message has no parent, but its result may have one.
        let parent = tool.parent.clone().or_else(|| self.tool_parent(item_ref.0, tool.native_message.as_ref()));
        let item = tool.result_item(ctx.ids.next_item_id(), parent);
        self.mark_participant(item_ref.0, &Role::Tool);
        self.emitter.emit(ctx, Origin::DAEMON, EventDataRef::ItemStarted(&item));
        if let Some(tool) = self.tools.get_mut(item_ref) {
            tool.result = Some(OpenResult { item, streamed: String::new() });
        }
    }

    fn complete_result(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: ItemRef,
        origin: Origin,
        mut end: ToolResult,
        cut_off: bool,
    ) {
        let Some(tool) = self.tools.remove(&item_ref) else {
            return;
        };
        let cwd = self.cwd.as_deref();
        end.parts.iter_mut().for_each(|part| normalize_part(part, cwd));
        let Tool { call_item, call_id, result: Some(OpenResult { mut item, streamed }), .. } = *tool else {
            return;
        };
        let failed = end.failed || end.exit_code.is_some_and(|code| code != 0);
        if end.native_id.is_some() {
            item.native_item_id = end.native_id;
        }
        item.content.clear();
        item.content.push(ContentPart::ToolResult {
            call_id: call_id.clone(),
            output: end.output.unwrap_or(streamed),
            exit_code: end.exit_code,
            duration_ms: end.duration_ms,
            stderr_bytes: end.stderr_bytes,
        });
        item.content.extend(end.parts.into_iter().filter(is_not_tool_part));
        self.closed_tools.insert(item_ref, ClosedTool { call_item, call_id, cut_off });
        self.emit(ctx, origin, EventData::item_completed(item, outcome(failed)));
    }

    /// Emits a result for a call that the sequencer has already closed with another one.
    fn emit_late_result(&mut self, ctx: &mut EmitContext<'_>, origin: Origin, call_item: ItemId, end: ToolResult) {
        let detail = end.exit_code.map(|code| format!("exit code {code}"));
        let mut content = vec![ContentPart::Status { label: StatusLabel::LateResult, detail }];
        content.extend(end.output.map(ContentPart::text));
        content.extend(end.parts);
        self.emit_status(ctx, origin, call_item, end.native_id, content);
    }
}

impl Tool {
    /// Updates a call that is not final from a later draft. Final arguments replace streamed ones; the call id stays.
    fn update(&mut self, newer: ToolCall) {
        let Some(call) = &mut self.call else {
            return;
        };
        call.name = newer.name;
        // The earlier input has the keys of the earlier kind.
        let keeps_kind = newer.kind.is_none() || newer.kind == call.kind;
        call.kind = newer.kind.or(call.kind.take());
        call.arguments = newer.arguments.or(call.arguments.take());
        call.input = newer.input.or(call.input.take().filter(|_| keeps_kind));
        call.title = newer.title.or(call.title.take());
        self.native_id = newer.native_id.or(self.native_id.take());
    }

    /// Whether the name of the tool is known.
    fn is_named(&self) -> bool {
        self.call.as_ref().is_none_or(|call| call.name != UNKNOWN_TOOL)
    }

    /// Whether the call is still running although its turn has completed.
    pub(super) fn is_background(&self) -> bool {
        self.background
    }

    /// Native id of the call.
    pub(super) fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Item of a call whose arguments may still change.
    fn started_item(&self, call: &OpenCall) -> Item {
        self.item(ContentPart::ToolCall {
            name: call.name.clone(),
            arguments: call.arguments.clone().unwrap_or_default().into_json(),
            call_id: self.call_id.clone(),
            tool_kind: call.kind.clone(),
            title: None,
            input: None,
        })
    }

    /// Item of a call with final arguments. Paths are absolute, and there is a title.
    fn final_item(&self, call: OpenCall, cwd: Option<&str>) -> Item {
        let OpenCall { name, kind, arguments, mut input, title: given_title } = call;
        if let Some(input) = &mut input {
            normalize_input(input, cwd);
        }
        let title =
            given_title.map_or_else(|| call_title(&name, input.as_ref(), cwd), |given_title| one_line(&given_title));
        self.item(ContentPart::ToolCall {
            name,
            arguments: arguments.unwrap_or_default().into_json(),
            call_id: self.call_id.clone(),
            tool_kind: kind,
            title: Some(title),
            input: input.map(Box::new),
        })
    }

    fn item(&self, call: ContentPart) -> Item {
        let mut item = Item::new(self.call_item.clone(), ItemKind::ToolCall);
        item.native_item_id.clone_from(&self.native_id);
        item.parent_id.clone_from(&self.parent);
        item.role = Some(Role::Assistant);
        item.content = vec![call];
        item
    }

    /// Item of a result that has no output yet.
    fn result_item(&self, item_id: ItemId, parent: Option<ItemId>) -> Item {
        let mut item = Item::new(item_id, ItemKind::ToolResult);
        item.native_item_id.clone_from(&self.native_id);
        item.parent_id = parent;
        item.role = Some(Role::Tool);
        item.content = vec![ContentPart::ToolResult {
            call_id: self.call_id.clone(),
            output: String::new(),
            exit_code: None,
            duration_ms: None,
            stderr_bytes: None,
        }];
        item
    }
}

/// Whether a permission for the input `requested` is for a call with the input `called`. A permission for an MCP tool
/// need not repeat the arguments.
fn is_same_call(called: Option<&ToolInput>, requested: Option<&ToolInput>) -> bool {
    match (called, requested) {
        (Some(ToolInput::Mcp(called)), Some(ToolInput::Mcp(requested))) => {
            called.server == requested.server && called.tool == requested.tool
        }
        (called, requested) => called == requested,
    }
}

/// Whether a part may be in a tool result. Tool parts may not, because a call has exactly one result.
fn is_not_tool_part(part: &ContentPart) -> bool {
    !matches!(part, ContentPart::ToolCall { .. } | ContentPart::ToolResult { .. })
}
