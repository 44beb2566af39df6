//! Tool calls and their results.

use interlingua_schema::{
    ContentPart, EventData, EventDataRef, Item, ItemId, ItemKind, NativeItemId, Origin, Role, StatusLabel, ToolInput,
    ToolKind,
};

use super::messages::{goes_on, outcome};
use super::moment::Scene;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use super::stderr::head;
use crate::arguments::Arguments;
use crate::paths::{normalize_input, normalize_part};
use crate::title::{one_line, title};
use crate::{Key, ToolCall, ToolResult};

/// So many calls may go without a result; then the oldest gets an empty one.
const MOST_OPEN: usize = 4096;
/// No more than this is kept of an output that streams. The result's final text is the truth; this stands in for it
/// where there is none.
const MOST_STREAMED: usize = 4 << 20;
/// What a tool is called that nobody named.
const NAMELESS: &str = "unknown";

/// A tool that has no result yet.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) serial: u64,
    call_item: ItemId,
    parent: Option<ItemId>,
    call_id: String,
    native_id: Option<NativeItemId>,
    of: Option<Key>,
    /// What is called, once that is final.
    pub(super) about: CallData,
    /// The turn that it was called in ended well while it ran.
    background: bool,
    /// The call, while its arguments are not final.
    call: Option<OpenCall>,
    /// The result, once there is output.
    result: Option<OpenResult>,
}

/// What may yet be learned of a call.
#[derive(Clone, Debug)]
struct OpenCall {
    name: String,
    kind: Option<ToolKind>,
    arguments: Option<Arguments>,
    input: Option<ToolInput>,
    title: Option<String>,
}

/// What a request for a permission needs to know of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct CallData {
    pub(super) kind: Option<ToolKind>,
    pub(super) input: Option<Box<ToolInput>>,
    pub(super) title: Option<String>,
}

impl CallData {
    /// Takes them from the item of a call.
    fn take(item: Item) -> Self {
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

/// What is remembered of a tool that is over.
#[derive(Debug)]
pub(super) struct ClosedTool {
    pub(super) call_item: ItemId,
    call_id: String,
    /// We closed it ourselves: the agent may still end it.
    cut_off: bool,
}

impl Session {
    /// The item of a call, if there was one.
    pub(super) fn call_item(&self, scope: ScopeId, key: &Key) -> Option<ItemId> {
        let at = (scope, key.clone());
        let open = self.tools.get(&at).map(|tool| &tool.call_item);
        open.or_else(|| self.closed_tools.get(&at).map(|tool| &tool.call_item)).cloned()
    }

    /// The item of a call that this agent made, or else any other: a sub-agent's task may be told of by the agent.
    pub(super) fn call_item_near(&self, scope: ScopeId, key: &Key) -> Option<ItemId> {
        self.call_item(scope, key).or_else(|| self.scope_list().find_map(|scope| self.call_item(scope, key)))
    }

    /// The agent's id of a call that has no result yet.
    pub(super) fn open_call_id(&self, at: &ItemRef) -> Option<&str> {
        self.tools.get(at).map(|tool| tool.call_id.as_str())
    }

    fn is_known_tool(&self, at: &ItemRef) -> bool {
        self.tools.contains_key(at) || self.closed_tools.get(at).is_some()
    }

    pub(super) fn tool_started(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, call: ToolCall) {
        if !self.is_known_tool(&at) {
            self.before_speech(scene, at.0, true);
            self.open_call(scene, at, origin, call);
        } else if let Some(tool) = self.tools.get_mut(&at) {
            tool.learn(call);
        }
    }

    pub(super) fn tool_arguments(&mut self, scene: &mut Scene<'_>, at: &ItemRef, origin: Origin, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.is_known_tool(at) {
            let call = ToolCall::new(at.1.as_str(), NAMELESS);
            self.tool_started(scene, at.clone(), Origin::DAEMON, call);
        }
        let Some(tool) = self.tools.get_mut(at) else {
            return;
        };
        let Some(call) = &mut tool.call else {
            return;
        };
        call.arguments.get_or_insert_with(|| String::new().into()).push_str(text);
        let (item_id, native_item_id) = (&tool.call_item, tool.native_id.as_ref());
        self.voice.say(scene, origin, EventDataRef::ItemDelta { item_id, native_item_id, delta: text });
    }

    pub(super) fn tool_called(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, call: ToolCall) {
        if !self.is_known_tool(&at) {
            self.before_speech(scene, at.0, true);
            return self.whole_call(scene, at, origin, call);
        }
        if let Some(tool) = self.tools.get_mut(&at) {
            tool.learn(call);
        }
        self.complete_call(scene, &at, origin, false);
    }

    pub(super) fn tool_output(&mut self, scene: &mut Scene<'_>, at: &ItemRef, origin: Origin, text: &str) {
        if text.is_empty() || self.closed_tools.get(at).is_some() {
            return;
        }
        let named = if let Some(tool) = self.tools.get(at) {
            tool.is_named()
        } else {
            // What is called may yet be told.
            self.before_speech(scene, at.0, true);
            self.open_call(scene, at.clone(), Origin::DAEMON, ToolCall::new(at.1.as_str(), NAMELESS));
            false
        };
        self.open_result(scene, at, None, named);
        let Some(result) = self.tools.get_mut(at).and_then(|tool| tool.result.as_mut()) else {
            return;
        };
        let room = MOST_STREAMED.saturating_sub(result.streamed.len());
        result.streamed.push_str(head(text, room));
        self.voice.say(scene, origin, goes_on(&result.item, text));
    }

    pub(super) fn tool_finished(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, mut end: ToolResult) {
        if let Some(closed) = self.closed_tools.get_mut(&at) {
            if std::mem::take(&mut closed.cut_off) {
                let call_item = closed.call_item.clone();
                self.late_result(scene, origin, call_item, end);
            }
            return;
        }
        if end.failed {
            self.refuse_pending_of(scene, &at);
        }
        if end.call_cut_off {
            self.complete_call(scene, &at, Origin::DAEMON, true);
        }
        self.open_result(scene, &at, end.call.take(), true);
        self.complete_result(scene, at, origin, end, false);
    }

    pub(super) fn tool_abandoned(&mut self, scene: &mut Scene<'_>, at: &ItemRef) {
        self.cut_off_tool(scene, at.clone(), true);
    }

    /// Closes what the agent left open of a tool. Where the tool itself was cut off, a call without a result gets a
    /// failed one; else its result may still come.
    pub(super) fn cut_off_tool(&mut self, scene: &mut Scene<'_>, at: ItemRef, cut_off: bool) {
        let Some(tool) = self.tools.get(&at) else {
            return;
        };
        if tool.call.is_some() {
            self.complete_call(scene, &at, Origin::DAEMON, true);
        } else if tool.result.is_none() && !cut_off {
            return;
        }
        self.open_result(scene, &at, None, true);
        let end = ToolResult::as_streamed().failed_if(true);
        self.complete_result(scene, at, Origin::DAEMON, end, true);
    }

    /// A command whose call is final goes on in the background when its turn ends well.
    pub(super) fn continues_in_background(&mut self, at: &ItemRef) -> bool {
        let Some(tool) = self.tools.get_mut(at) else { return false };
        let continues = tool.call.is_none() && tool.about.kind == Some(ToolKind::Command);
        tool.background |= continues;
        continues
    }

    /// The call that a permission is about: the one with this id, or else the oldest one without a result that has this
    /// kind and input and that no pending request is about.
    pub(super) fn find_call(
        &self,
        call_id: Option<&str>,
        kind: Option<&ToolKind>,
        input: Option<&ToolInput>,
    ) -> Option<&Tool> {
        if let Some(call_id) = call_id {
            return self.tools.values().find(|tool| tool.call_id == call_id).map(|tool| &**tool);
        }
        let fits = |tool: &&Tool| {
            tool.result.is_none()
                && tool.about.kind.is_some()
                && tool.about.kind.as_ref() == kind
                && is_same_call(tool.about.input.as_deref(), input)
                && !self.is_asked_for(&tool.call_id)
        };
        self.tools.values().map(|tool| &**tool).filter(fits).min_by_key(|tool| tool.serial)
    }

    /// Whether a call with this id was started.
    pub(super) fn is_known_call(&self, call_id: &str) -> bool {
        self.tools.values().any(|tool| tool.call_id == call_id)
            || self.closed_tools.values().any(|tool| tool.call_id == call_id)
    }

    /// A call whose arguments may yet change.
    fn open_call(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, call: ToolCall) {
        let (mut tool, call) = self.new_tool(scene, at.0, call);
        self.voice.say(scene, origin, EventDataRef::ItemStarted(&tool.started_item(&call)));
        tool.call = Some(call);
        self.tools.insert(at, Box::new(tool));
    }

    /// A call from beginning to end.
    fn whole_call(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, call: ToolCall) {
        let (mut tool, call) = self.new_tool(scene, at.0, call);
        let item = tool.final_item(call, self.cwd.as_deref());
        self.voice.say(scene, Origin::DAEMON, EventDataRef::ItemStarted(&item));
        self.voice.say(scene, origin, EventDataRef::ItemCompleted(&item, outcome(false)));
        tool.about = CallData::take(item);
        self.tools.insert(at, Box::new(tool));
    }

    fn new_tool(&mut self, scene: &mut Scene<'_>, scope: ScopeId, call: ToolCall) -> (Tool, OpenCall) {
        self.make_room(scene);
        let ToolCall { call_id, name, kind, arguments, input, title, native_id, of } = call;
        let tool = Tool {
            serial: self.next_serial(),
            call_item: scene.ids.next_item_id(),
            parent: self.tool_parent(scope, of.as_ref()),
            call_id,
            native_id,
            of,
            about: CallData::default(),
            background: false,
            call: None,
            result: None,
        };
        self.spoken(scope, &Role::Assistant);
        (tool, OpenCall { name, kind, arguments, input, title })
    }

    fn make_room(&mut self, scene: &mut Scene<'_>) {
        if self.tools.len() >= MOST_OPEN {
            let oldest = self.tools.iter().min_by_key(|(_, tool)| tool.serial).map(|(at, _)| at.clone());
            if let Some(oldest) = oldest {
                self.cut_off_tool(scene, oldest, true);
            }
        }
    }

    fn complete_call(&mut self, scene: &mut Scene<'_>, at: &ItemRef, origin: Origin, failed: bool) {
        let Some(tool) = self.tools.get_mut(at) else {
            return;
        };
        if let Some(call) = tool.call.take() {
            let item = tool.final_item(call, self.cwd.as_deref());
            self.voice.say(scene, origin, EventDataRef::ItemCompleted(&item, outcome(failed)));
            tool.about = CallData::take(item);
        }
    }

    /// Starts the result of a tool, after its call if that is final.
    fn open_result(&mut self, scene: &mut Scene<'_>, at: &ItemRef, told: Option<ToolCall>, final_call: bool) {
        let known = self.tools.contains_key(at);
        self.before_speech(scene, at.0, !known);
        if known {
            if let (Some(tool), Some(call)) = (self.tools.get_mut(at), told) {
                tool.learn(call);
            }
            if final_call {
                self.complete_call(scene, at, Origin::DAEMON, false);
            }
        } else {
            let call = told.unwrap_or_else(|| ToolCall::new(at.1.as_str(), NAMELESS));
            self.whole_call(scene, at.clone(), Origin::DAEMON, call);
        }
        let Some(tool) = self.tools.get(at).filter(|tool| tool.result.is_none()) else {
            return;
        };
        // A call from before the first message has no parent; its result may have one.
        let parent = tool.parent.clone().or_else(|| self.tool_parent(at.0, tool.of.as_ref()));
        let item = tool.result_item(scene.ids.next_item_id(), parent);
        self.spoken(at.0, &Role::Tool);
        self.voice.say(scene, Origin::DAEMON, EventDataRef::ItemStarted(&item));
        if let Some(tool) = self.tools.get_mut(at) {
            tool.result = Some(OpenResult { item, streamed: String::new() });
        }
    }

    fn complete_result(
        &mut self,
        scene: &mut Scene<'_>,
        at: ItemRef,
        origin: Origin,
        mut end: ToolResult,
        cut_off: bool,
    ) {
        let Some(tool) = self.tools.remove(&at) else {
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
        item.content.extend(end.parts.into_iter().filter(is_no_tool));
        self.closed_tools.insert(at, ClosedTool { call_item, call_id, cut_off });
        self.emit(scene, origin, EventData::item_completed(item, outcome(failed)));
    }

    /// A result for a call that already has one, because we closed it.
    fn late_result(&mut self, scene: &mut Scene<'_>, origin: Origin, call_item: ItemId, end: ToolResult) {
        let detail = end.exit_code.map(|code| format!("exit code {code}"));
        let mut content = vec![ContentPart::Status { label: StatusLabel::LateResult, detail }];
        content.extend(end.output.map(ContentPart::text));
        content.extend(end.parts);
        self.status(scene, origin, call_item, end.native_id, content);
    }
}

impl Tool {
    /// Takes what a later draft knows better, unless the call is final. Arguments that streamed give way to final ones;
    /// the call id stays.
    fn learn(&mut self, told: ToolCall) {
        let Some(call) = &mut self.call else {
            return;
        };
        call.name = told.name;
        call.kind = told.kind.or(call.kind.take());
        call.arguments = told.arguments.or(call.arguments.take());
        call.input = told.input.or(call.input.take());
        call.title = told.title.or(call.title.take());
        self.native_id = told.native_id.or(self.native_id.take());
    }

    /// Whether it was told what is called.
    fn is_named(&self) -> bool {
        self.call.as_ref().is_none_or(|call| call.name != NAMELESS)
    }

    /// Whether it runs on although its turn is over.
    pub(super) fn is_background(&self) -> bool {
        self.background
    }

    /// The agent's id of the call.
    pub(super) fn call_id(&self) -> &str {
        &self.call_id
    }

    /// The call while its arguments may yet change.
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

    /// The call with final arguments: paths are absolute, and it has a title.
    fn final_item(&self, call: OpenCall, cwd: Option<&str>) -> Item {
        let OpenCall { name, kind, arguments, mut input, title: told } = call;
        if let Some(input) = &mut input {
            normalize_input(input, cwd);
        }
        let title = told.map_or_else(|| title(&name, input.as_ref(), cwd), |told| one_line(&told));
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

    /// The result, as long as nothing is known of it.
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

/// Whether a request with the input `asked` is about a call with the input `called`. A request for an MCP tool need not
/// repeat its arguments.
fn is_same_call(called: Option<&ToolInput>, asked: Option<&ToolInput>) -> bool {
    match (called, asked) {
        (Some(ToolInput::Mcp(called)), Some(ToolInput::Mcp(asked))) => {
            called.server == asked.server && called.tool == asked.tool
        }
        (called, asked) => called == asked,
    }
}

/// A call has one result, so a result holds no other.
fn is_no_tool(part: &ContentPart) -> bool {
    !matches!(part, ContentPart::ToolCall { .. } | ContentPart::ToolResult { .. })
}
