//! Tool calls and their results as one tool call of the protocol.

use std::collections::HashMap;

use interlingua_native::acp::{
    ContentToolCallContent, DiffToolCallContent, SessionUpdate, ToolCallContent, ToolCallLocation,
    ToolCallSessionUpdate, ToolCallStatus, ToolCallUpdateSessionUpdate, ToolKind as WireKind,
};
use interlingua_native::{Json, new};
use interlingua_schema::{ChangeKind, ContentPart, FileChange, Item, ToolInput, ToolKind};
use serde_json::json;

use crate::updates::{meta, other_block, text_block};

/// Output is sent again when it has grown by this factor, because every update replaces all of it.
const GROWTH_PERCENT: usize = 125;
/// Maximum number of bytes of output that are sent while a tool runs.
const MAX_LIVE_OUTPUT: usize = 256 << 10;

/// The tool calls of a session.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls {
    /// Id of the call of each item.
    by_item: HashMap<String, String>,
    open: HashMap<String, OpenCall>,
}

#[derive(Debug, Default)]
struct OpenCall {
    /// Diffs of the call, which stay part of its content.
    diffs: Vec<ToolCallContent>,
    output: String,
    /// Bytes of the output that were sent.
    sent: usize,
}

impl ToolCalls {
    /// Id of the call that an item is.
    pub(crate) fn call_of_item(&self, item: &str) -> Option<String> {
        self.by_item.get(item).cloned()
    }

    /// Id of the call that an item is the result of.
    pub(crate) fn result_call(item: &Item) -> Option<String> {
        item.content.iter().find_map(|part| match part {
            ContentPart::ToolResult { call_id, .. } => Some(call_id.clone()),
            _ => None,
        })
    }

    /// Forgets the calls of a turn that was cut off.
    pub(crate) fn forget(&mut self) {
        self.open.clear();
    }

    pub(crate) fn started(&mut self, item: &Item, parent: Option<String>) -> Vec<SessionUpdate> {
        let Some(ContentPart::ToolCall { name, call_id, tool_kind, title, .. }) = item.content.first() else {
            return Vec::new();
        };
        self.by_item.insert(item.item_id.as_str().to_owned(), call_id.clone());
        self.open.insert(call_id.clone(), OpenCall::default());
        let title = title.clone().unwrap_or_else(|| name.clone());
        let update = ToolCallSessionUpdate {
            name: Some(name.clone()),
            kind: Some(wire_kind(tool_kind.as_ref(), None)),
            status: Some(ToolCallStatus::Pending),
            meta: parent.map(|parent| meta(&json!({ "parentToolCallId": parent }))),
            ..new!(ToolCallSessionUpdate { title: title, tool_call_id: call_id.as_str() })
        };
        vec![update.into()]
    }

    /// The arguments of a call are final.
    pub(crate) fn called(&mut self, item: &Item) -> Vec<SessionUpdate> {
        let Some(ContentPart::ToolCall { name, call_id, arguments, tool_kind, title, input }) = item.content.first()
        else {
            return Vec::new();
        };
        let input = input.as_deref();
        let diffs = input.map(diffs).unwrap_or_default();
        let mut update = new!(ToolCallUpdateSessionUpdate { tool_call_id: call_id.as_str() });
        update.name = Some(name.clone());
        update.title.clone_from(title);
        update.kind = Some(wire_kind(tool_kind.as_ref(), input));
        update.status = Some(ToolCallStatus::InProgress);
        update.raw_input = Json::from_text(arguments.clone()).ok();
        update.locations = Some(input.map(locations).unwrap_or_default()).filter(|locations| !locations.is_empty());
        update.content = Some(diffs.clone()).filter(|diffs| !diffs.is_empty());
        if let Some(open) = self.open.get_mut(call_id) {
            open.diffs = diffs;
        }
        vec![update.into()]
    }

    /// More output of a call.
    pub(crate) fn output(&mut self, call: &str, text: &str) -> Vec<SessionUpdate> {
        let Some(open) = self.open.get_mut(call) else { return Vec::new() };
        open.output.push_str(text);
        let length = open.output.len();
        if length * 100 < open.sent * GROWTH_PERCENT || length > MAX_LIVE_OUTPUT {
            return Vec::new();
        }
        open.sent = length;
        let mut update = new!(ToolCallUpdateSessionUpdate { tool_call_id: call });
        update.content = Some(open.content(&open.output));
        vec![update.into()]
    }

    pub(crate) fn finished(&mut self, item: &Item, failed: bool) -> Vec<SessionUpdate> {
        let Some(ContentPart::ToolResult { call_id, output, exit_code, duration_ms, stderr_bytes }) =
            item.content.first()
        else {
            return Vec::new();
        };
        let open = self.open.remove(call_id).unwrap_or_default();
        let mut content = open.content(output);
        let result_diffs = item.content.iter().filter_map(|part| match part {
            ContentPart::FileRef { path, diff: Some(diff), .. } => Some(diff_content(path, diff)),
            _ => None,
        });
        let result_diffs: Vec<ToolCallContent> = result_diffs.collect();
        if !result_diffs.is_empty() {
            content.retain(|content| !matches!(content, ToolCallContent::Diff(_)));
            content.extend(result_diffs);
        }
        let images = item.content.iter().filter(|part| matches!(part, ContentPart::Image { .. }));
        let images = images.filter_map(other_block).map(|block| new!(ContentToolCallContent { content: block }).into());
        content.extend(images);
        let mut raw = serde_json::Map::new();
        raw.insert("output".to_owned(), output.as_str().into());
        for (key, value) in [
            ("exit_code", exit_code.map(i64::from)),
            ("duration_ms", duration_ms.and_then(|value| i64::try_from(value).ok())),
            ("stderr_bytes", stderr_bytes.and_then(|value| i64::try_from(value).ok())),
        ] {
            if let Some(value) = value {
                raw.insert(key.to_owned(), value.into());
            }
        }
        let mut update = new!(ToolCallUpdateSessionUpdate { tool_call_id: call_id.as_str() });
        update.status = Some(if failed { ToolCallStatus::Failed } else { ToolCallStatus::Completed });
        update.content = Some(content);
        update.raw_output = Some(serde_json::Value::Object(raw).into());
        vec![update.into()]
    }
}

impl OpenCall {
    /// The content of the call with this output.
    fn content(&self, output: &str) -> Vec<ToolCallContent> {
        let mut content = Vec::new();
        if !output.is_empty() {
            content.push(new!(ContentToolCallContent { content: text_block(output) }).into());
        }
        content.extend(self.diffs.iter().cloned());
        content
    }
}

/// The kind of a tool on the wire.
pub(crate) fn wire_kind(kind: Option<&ToolKind>, input: Option<&ToolInput>) -> WireKind {
    let changes_only = |wanted: &ChangeKind| match input {
        Some(ToolInput::FileChange(input)) => {
            !input.changes.is_empty() && input.changes.iter().all(|change| change.change.as_ref() == Some(wanted))
        }
        _ => false,
    };
    match kind {
        Some(ToolKind::Command) => WireKind::Execute,
        Some(ToolKind::FileRead) => WireKind::Read,
        Some(ToolKind::FileChange) if changes_only(&ChangeKind::Delete) => WireKind::Delete,
        Some(ToolKind::FileChange) if changes_only(&ChangeKind::Move) => WireKind::Move,
        Some(ToolKind::FileChange) => WireKind::Edit,
        Some(ToolKind::Search) => WireKind::Search,
        Some(ToolKind::Web) => WireKind::Fetch,
        Some(ToolKind::SubAgent | ToolKind::Plan) => WireKind::Think,
        _ => WireKind::Other,
    }
}

/// The files that a call is about.
pub(crate) fn locations(input: &ToolInput) -> Vec<ToolCallLocation> {
    let location = |path: &str| new!(ToolCallLocation { path: path });
    match input {
        ToolInput::FileRead(input) => {
            let line = input.offset.and_then(|offset| i64::try_from(offset).ok());
            vec![ToolCallLocation { line, ..location(&input.path) }]
        }
        ToolInput::FileChange(input) => input.changes.iter().map(|change| location(&change.path)).collect(),
        ToolInput::Search(input) => input.path.iter().map(|path| location(path)).collect(),
        _ => Vec::new(),
    }
}

/// The diffs of a file change.
pub(crate) fn diffs(input: &ToolInput) -> Vec<ToolCallContent> {
    let ToolInput::FileChange(input) = input else { return Vec::new() };
    let of_change = |change: &FileChange| match (&change.diff, &change.edits) {
        (Some(diff), _) => vec![diff_content(&change.path, diff)],
        (None, Some(edits)) => {
            edits.iter().map(|edit| diff_of_texts(&change.path, Some(edit.old.clone()), edit.new.clone())).collect()
        }
        (None, None) => Vec::new(),
    };
    input.changes.iter().flat_map(of_change).collect()
}

/// The hunks of a unified diff as an old and a new text: the protocol has no unified diffs.
fn diff_content(path: &str, diff: &str) -> ToolCallContent {
    let (mut old, mut new) = (String::new(), String::new());
    let is_new_file = diff.starts_with("--- /dev/null");
    let hunks = diff.lines().skip_while(|line| !line.starts_with("@@"));
    for line in hunks.filter(|line| !line.starts_with("@@") && !line.starts_with('\\')) {
        let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        if sign != "+" {
            old.extend([text, "\n"]);
        }
        if sign != "-" {
            new.extend([text, "\n"]);
        }
    }
    diff_of_texts(path, (!is_new_file).then_some(old), new)
}

fn diff_of_texts(path: &str, old: Option<String>, new: String) -> ToolCallContent {
    DiffToolCallContent { old_text: old, ..new!(DiffToolCallContent { new_text: new, path: path }) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unified_diff_is_an_old_and_a_new_text() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n";
        let ToolCallContent::Diff(content) = diff_content("/w/x", diff) else { panic!() };
        assert_eq!((content.old_text.as_deref(), content.new_text.as_deref()), (Some("a\nb\n"), Some("a\nc\n")));
        let created = diff_content("/w/x", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+hi\n");
        let ToolCallContent::Diff(content) = created else { panic!() };
        assert_eq!((content.old_text, content.new_text.as_deref()), (None, Some("hi\n")));
    }
}
