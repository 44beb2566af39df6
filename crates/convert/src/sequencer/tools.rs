//! Tool calls and their results.

use interlingua_schema::{ContentPart, EventData, Item, ItemDelta, ItemId, ItemKind, Origin, Role, StatusLabel};

use super::excerpt::head;
use super::messages::outcome;
use super::moment::Scene;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::{Key, ToolCall, ToolResult, json_arguments};

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
    /// The arguments are not final.
    call_open: bool,
    parent: Option<ItemId>,
    call: ToolCall,
    /// The result, once there is output.
    result: Option<OpenResult>,
}

#[derive(Debug)]
struct OpenResult {
    item_id: ItemId,
    parent: Option<ItemId>,
    streamed: String,
}

/// What is remembered of a tool that is over.
#[derive(Debug)]
pub(super) struct ClosedTool {
    pub(super) call_item: ItemId,
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

    fn is_known_tool(&self, at: &ItemRef) -> bool {
        self.tools.contains_key(at) || self.closed_tools.get(at).is_some()
    }

    pub(super) fn tool_started(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, call: ToolCall) {
        if !self.is_known_tool(&at) {
            self.before_speech(scene, at.0, true);
            self.open_call(scene, at, origin, call);
        } else if let Some(tool) = self.tools.get_mut(&at).filter(|tool| tool.call_open) {
            tool.learn(call);
        }
    }

    pub(super) fn tool_arguments(&mut self, scene: &mut Scene<'_>, at: &ItemRef, origin: Origin, text: String) {
        if text.is_empty() {
            return;
        }
        if !self.is_known_tool(at) {
            let call = ToolCall::new(at.1.as_str(), NAMELESS);
            self.tool_started(scene, at.clone(), Origin::DAEMON, call);
        }
        let Some(tool) = self.tools.get_mut(at).filter(|tool| tool.call_open) else {
            return;
        };
        tool.call.arguments.get_or_insert_default().push_str(&text);
        let delta =
            ItemDelta { item_id: tool.call_item.clone(), native_item_id: tool.call.native_id.clone(), delta: text };
        self.emit(scene, origin, EventData::ItemDelta(delta));
    }

    pub(super) fn tool_called(&mut self, scene: &mut Scene<'_>, at: &ItemRef, origin: Origin, call: ToolCall) {
        if !self.is_known_tool(at) {
            self.before_speech(scene, at.0, true);
            self.open_call(scene, at.clone(), Origin::DAEMON, call);
        } else if let Some(tool) = self.tools.get_mut(at).filter(|tool| tool.call_open) {
            tool.learn(call);
        }
        self.complete_call(scene, at, origin, false);
    }

    pub(super) fn tool_output(&mut self, scene: &mut Scene<'_>, at: &ItemRef, origin: Origin, text: String) {
        if text.is_empty() || self.closed_tools.get(at).is_some() {
            return;
        }
        self.open_result(scene, at, None);
        let Some(tool) = self.tools.get_mut(at) else {
            return;
        };
        let Some(result) = &mut tool.result else {
            return;
        };
        let room = MOST_STREAMED.saturating_sub(result.streamed.len());
        result.streamed.push_str(head(&text, room));
        let delta =
            ItemDelta { item_id: result.item_id.clone(), native_item_id: tool.call.native_id.clone(), delta: text };
        self.emit(scene, origin, EventData::ItemDelta(delta));
    }

    pub(super) fn tool_finished(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, mut end: ToolResult) {
        if let Some(closed) = self.closed_tools.get_mut(&at) {
            if std::mem::take(&mut closed.cut_off) {
                let call_item = closed.call_item.clone();
                self.late_result(scene, origin, call_item, end);
            }
            return;
        }
        self.open_result(scene, &at, end.call.take());
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
        if tool.call_open {
            self.complete_call(scene, &at, Origin::DAEMON, true);
        } else if tool.result.is_none() && !cut_off {
            return;
        }
        self.open_result(scene, &at, None);
        let end = ToolResult::as_streamed().failed_if(true);
        self.complete_result(scene, at, Origin::DAEMON, end, true);
    }

    fn open_call(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, call: ToolCall) {
        self.make_room(scene);
        let tool = Tool {
            serial: self.next_serial(),
            call_item: scene.ids.item(),
            call_open: true,
            parent: self.tool_parent(at.0, call.of.as_ref()),
            call,
            result: None,
        };
        self.spoken(at.0, Role::Assistant);
        let item = tool.call_item(tool.call.arguments.clone());
        self.tools.insert(at, Box::new(tool));
        self.emit(scene, origin, EventData::item_started(item));
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
        let Some(tool) = self.tools.get_mut(at).filter(|tool| tool.call_open) else {
            return;
        };
        tool.call_open = false;
        let arguments = tool.call.arguments.take();
        let item = tool.call_item(arguments);
        self.emit(scene, origin, EventData::item_completed(item, outcome(failed)));
    }

    /// Starts the result of a tool, after its call is complete.
    fn open_result(&mut self, scene: &mut Scene<'_>, at: &ItemRef, told: Option<ToolCall>) {
        let known = self.tools.contains_key(at);
        self.before_speech(scene, at.0, !known);
        if !known {
            let call = told.unwrap_or_else(|| ToolCall::new(at.1.as_str(), NAMELESS));
            self.open_call(scene, at.clone(), Origin::DAEMON, call);
        } else if let (Some(tool), Some(call)) = (self.tools.get_mut(at).filter(|tool| tool.call_open), told) {
            tool.learn(call);
        }
        self.complete_call(scene, at, Origin::DAEMON, false);
        let Some(tool) = self.tools.get(at).filter(|tool| tool.result.is_none()) else {
            return;
        };
        // A call from before the first message has no parent; its result may have one.
        let parent = tool.parent.clone().or_else(|| self.tool_parent(at.0, tool.call.of.as_ref()));
        let item = tool.result_item(scene.ids.item(), parent, ToolResult::default());
        let result =
            OpenResult { item_id: item.item_id.clone(), parent: item.parent_id.clone(), streamed: String::new() };
        self.spoken(at.0, Role::Tool);
        if let Some(tool) = self.tools.get_mut(at) {
            tool.result = Some(result);
        }
        self.emit(scene, Origin::DAEMON, EventData::item_started(item));
    }

    fn complete_result(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, end: ToolResult, cut_off: bool) {
        let Some(mut tool) = self.tools.remove(&at) else {
            return;
        };
        let Some(result) = tool.result.take() else {
            return;
        };
        let failed = end.failed || end.exit_code.is_some_and(|code| code != 0);
        let end = ToolResult { output: Some(end.output.unwrap_or(result.streamed)), ..end };
        let item = tool.result_item(result.item_id, result.parent, end);
        self.closed_tools.insert(at, ClosedTool { call_item: tool.call_item, cut_off });
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
    /// Takes what a later draft knows better. Arguments that streamed give way to final ones; the call id stays.
    fn learn(&mut self, call: ToolCall) {
        self.call.name = call.name;
        self.call.kind = call.kind.or(self.call.kind.take());
        self.call.native_id = call.native_id.or(self.call.native_id.take());
        self.call.arguments = call.arguments.or(self.call.arguments.take());
    }

    fn call_item(&self, arguments: Option<String>) -> Item {
        let mut item = Item::new(self.call_item.clone(), ItemKind::ToolCall);
        item.native_item_id.clone_from(&self.call.native_id);
        item.parent_id.clone_from(&self.parent);
        item.role = Some(Role::Assistant);
        item.content = vec![ContentPart::ToolCall {
            name: self.call.name.clone(),
            arguments: json_arguments(arguments.unwrap_or_default()),
            call_id: self.call.call_id.clone(),
            tool_kind: self.call.kind.clone(),
        }];
        item
    }

    fn result_item(&self, item_id: ItemId, parent: Option<ItemId>, end: ToolResult) -> Item {
        let mut item = Item::new(item_id, ItemKind::ToolResult);
        item.native_item_id = end.native_id.or_else(|| self.call.native_id.clone());
        item.parent_id = parent;
        item.role = Some(Role::Tool);
        item.content.push(ContentPart::ToolResult {
            call_id: self.call.call_id.clone(),
            output: end.output.unwrap_or_default(),
            exit_code: end.exit_code,
            duration_ms: end.duration_ms,
            stderr_bytes: end.stderr_bytes,
        });
        item.content.extend(end.parts.into_iter().filter(is_no_tool));
        item
    }
}

/// A call has one result, so a result holds no other.
fn is_no_tool(part: &ContentPart) -> bool {
    !matches!(part, ContentPart::ToolCall { .. } | ContentPart::ToolResult { .. })
}
