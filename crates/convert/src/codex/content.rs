//! Content parts of user messages and tool results.

use interlingua_native::Json;
use interlingua_native::codex::{
    DynamicToolCallOutputContentItem, FileUpdateChange, FunctionCallOutputBody, FunctionCallOutputContentItem,
    PatchChangeKind, UserInput,
};
use interlingua_schema::{ChangeKind, ContentPart, FileAction, FileChange};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{ToolResult, unified_diff};

/// Content of a user's input, as sent by the host and as echoed by the agent.
pub(super) fn user_parts(input: Vec<UserInput>) -> Vec<ContentPart> {
    input.into_iter().map(user_part).collect()
}

fn user_part(input: UserInput) -> ContentPart {
    match input {
        UserInput::Text(input) => ContentPart::text(input.text.unwrap_or_default()),
        UserInput::Image(input) => match input.url.or(input.file_id) {
            Some(url) => image_part(url),
            None => ContentPart::text(""),
        },
        UserInput::LocalImage(input) => image_part(input.path.unwrap_or_default()),
        UserInput::Audio(input) => file_ref(input.url.or(input.file_id)),
        UserInput::LocalAudio(input) => file_ref(input.path),
        UserInput::Skill(input) => file_ref(input.path.or(input.name)),
        UserInput::Mention(input) => file_ref(input.path.or(input.name)),
        UserInput::Unknown { raw, .. } => ContentPart::Json { json: raw.to_value() },
    }
}

fn file_ref(path: Option<String>) -> ContentPart {
    ContentPart::FileRef { path: path.unwrap_or_default(), action: FileAction::Read, diff: None }
}

/// Image at a path or in a `data:` URI. The type comes from the URI or the file extension.
pub(super) fn image_part(path: String) -> ContentPart {
    let from_uri = path.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next()).map(str::to_owned);
    let mime = from_uri.or_else(|| {
        let extension = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let kind = match extension.as_str() {
            "png" | "gif" | "webp" | "bmp" => extension.as_str(),
            "jpg" | "jpeg" => "jpeg",
            "svg" => "svg+xml",
            _ => return None,
        };
        Some(format!("image/{kind}"))
    });
    ContentPart::Image { path, mime }
}

/// Builds the output of a tool: the texts, each on its own lines, and then the other parts.
#[derive(Debug, Default)]
pub(super) struct Output {
    text: String,
    parts: Vec<ContentPart>,
}

impl Output {
    pub(super) fn push_text(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn push_part(&mut self, part: ContentPart) {
        self.parts.push(part);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.parts.is_empty()
    }

    pub(super) fn into_result(self) -> ToolResult {
        let mut result = ToolResult::ok(self.text);
        result.parts = self.parts;
        result
    }

    /// Output of an MCP tool. The structured content is used only if there is no other.
    pub(super) fn from_mcp<'a>(blocks: impl Iterator<Item = &'a Json>, structured: Option<&Json>) -> Self {
        let mut output = Self::default();
        blocks.for_each(|block| output.push_mcp_block(block));
        if output.is_empty()
            && let Some(structured) = structured
        {
            output.push_text(structured.get());
        }
        output
    }

    fn push_mcp_block(&mut self, block: &Json) {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Block {
            Text {
                text: String,
            },
            #[serde(rename_all = "camelCase")]
            Image {
                data: String,
                mime_type: Option<String>,
            },
            ResourceLink {
                uri: String,
            },
            Resource {
                resource: Resource,
            },
        }
        #[derive(Deserialize)]
        struct Resource {
            uri: String,
            text: Option<String>,
        }
        match block.decode::<Block>() {
            Ok(Block::Text { text }) => self.push_text(&text),
            Ok(Block::Image { data, mime_type }) => {
                let mime = mime_type.unwrap_or_else(|| "image/png".to_owned());
                self.push_part(ContentPart::Image { path: format!("data:{mime};base64,{data}"), mime: Some(mime) });
            }
            Ok(Block::ResourceLink { uri }) => self.push_part(file_ref(Some(uri))),
            Ok(Block::Resource { resource }) => {
                if let Some(text) = &resource.text {
                    self.push_text(text);
                }
                self.push_part(file_ref(Some(resource.uri)));
            }
            Err(_) => self.push_part(ContentPart::Json { json: block.to_value() }),
        }
    }

    /// Output of a tool of the host.
    pub(super) fn from_dynamic(items: Vec<DynamicToolCallOutputContentItem>) -> Self {
        let mut output = Self::default();
        for item in items {
            match item {
                DynamicToolCallOutputContentItem::InputText(item) => output.push_text(&item.text.unwrap_or_default()),
                DynamicToolCallOutputContentItem::InputImage(item) => {
                    output.push_part(image_part(item.image_url.unwrap_or_default()));
                }
                DynamicToolCallOutputContentItem::InputAudio(item) => output.push_part(file_ref(item.audio_url)),
                DynamicToolCallOutputContentItem::Unknown { raw, .. } => {
                    output.push_part(ContentPart::Json { json: raw.to_value() });
                }
            }
        }
        output
    }

    /// Output of a function call that the host passed to the agent.
    pub(super) fn from_function(body: Option<FunctionCallOutputBody>) -> Self {
        let mut output = Self::default();
        match body {
            Some(FunctionCallOutputBody::Text(text)) => output.push_text(&text),
            Some(FunctionCallOutputBody::List(items)) => {
                for item in items {
                    output.push_function_item(item);
                }
            }
            Some(FunctionCallOutputBody::Unknown(json)) => {
                output.push_part(ContentPart::Json { json: json.to_value() });
            }
            None => {}
        }
        output
    }

    fn push_function_item(&mut self, item: FunctionCallOutputContentItem) {
        match item {
            FunctionCallOutputContentItem::InputText(item) => self.push_text(&item.text.unwrap_or_default()),
            FunctionCallOutputContentItem::InputImage(item) => {
                self.push_part(image_part(item.image_url.or(item.file_id).unwrap_or_default()));
            }
            FunctionCallOutputContentItem::InputAudio(item) => {
                self.push_part(file_ref(item.audio_url.or(item.file_id)));
            }
            // Only the model's provider can decrypt it.
            FunctionCallOutputContentItem::EncryptedContent(_) => {}
            FunctionCallOutputContentItem::Unknown { raw, .. } => {
                self.push_part(ContentPart::Json { json: raw.to_value() });
            }
        }
    }
}

/// File change as input of a call.
pub(super) fn change_input(change: &FileUpdateChange) -> FileChange {
    let mut input = FileChange::new(change.path.as_deref().unwrap_or_default());
    input.change = match &change.kind {
        Some(PatchChangeKind::Add(_)) => Some(ChangeKind::Create),
        Some(PatchChangeKind::Delete(_)) => Some(ChangeKind::Delete),
        Some(PatchChangeKind::Update(update)) if update.move_path.is_some() => Some(ChangeKind::Move),
        Some(PatchChangeKind::Update(_)) => Some(ChangeKind::Update),
        _ => None,
    };
    input.to = move_target(change).map(str::to_owned);
    input.diff = change_diff(change);
    input
}

/// File change as part of a result.
pub(super) fn file_change_part(change: &FileUpdateChange) -> ContentPart {
    let path = move_target(change).or(change.path.as_deref()).unwrap_or_default();
    let action = match &change.kind {
        Some(PatchChangeKind::Add(_)) => FileAction::Write,
        _ => FileAction::Patch,
    };
    ContentPart::FileRef { path: path.to_owned(), action, diff: change_diff(change) }
}

fn move_target(change: &FileUpdateChange) -> Option<&str> {
    match &change.kind {
        Some(PatchChangeKind::Update(update)) => update.move_path.as_deref(),
        _ => None,
    }
}

/// Change as a unified diff. Codex sends the whole text of an added or deleted file, and the hunks of an updated one.
fn change_diff(change: &FileUpdateChange) -> Option<String> {
    let path = change.path.as_deref().unwrap_or_default();
    let text = change.diff.as_deref()?;
    match &change.kind {
        Some(PatchChangeKind::Add(_)) => unified_diff(path, None, Some(text)),
        Some(PatchChangeKind::Delete(_)) => unified_diff(path, Some(text), None),
        _ => with_diff_headers(path, move_target(change), text),
    }
}

/// Adds the missing headers to hunks; `None` for a text without hunks.
fn with_diff_headers(path: &str, move_target: Option<&str>, text: &str) -> Option<String> {
    if text.starts_with("--- ") || text.starts_with("diff --git ") {
        return Some(text.to_owned());
    }
    if !text.starts_with("@@") {
        return None;
    }
    // For a moved file, Codex appends this line after the hunks.
    let hunks = match (move_target, text.rfind("\n\nMoved to: ")) {
        (Some(_), Some(end)) => &text[..=end],
        _ => text,
    };
    let (from, to) = (path.trim_start_matches('/'), move_target.unwrap_or(path).trim_start_matches('/'));
    Some(format!("--- a/{from}\n+++ b/{to}\n{}\n", hunks.trim_end_matches('\n')))
}

/// Converts a native value to JSON. The types that are passed here always serialize.
pub(super) fn to_json<T: serde::Serialize>(value: T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Inserts a text if there is one.
pub(super) fn insert_text(fields: &mut Map<String, Value>, key: &str, text: Option<impl Into<String>>) {
    if let Some(text) = text {
        fields.insert(key.to_owned(), Value::String(text.into()));
    }
}

/// Inserts a native value if there is one.
pub(super) fn insert_json<T: serde::Serialize>(fields: &mut Map<String, Value>, key: &str, value: Option<T>) {
    if let Some(value) = value {
        fields.insert(key.to_owned(), to_json(value));
    }
}

/// The fields as an object; `None` if there are none.
pub(super) fn non_empty(fields: Map<String, Value>) -> Option<Value> {
    (!fields.is_empty()).then_some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(json: &str) -> (String, FileAction, Option<String>) {
        match file_change_part(&serde_json::from_str(json).unwrap()) {
            ContentPart::FileRef { path, action, diff } => (path, action, diff),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_change_is_a_unified_diff() {
        let (_, action, diff) = change(r#"{"path":"/w/a","kind":{"type":"add"},"diff":"one\ntwo\n"}"#);
        assert_eq!(action, FileAction::Write);
        assert_eq!(diff.unwrap(), "--- /dev/null\n+++ b/w/a\n@@ -0,0 +1,2 @@\n+one\n+two\n");
        let (_, _, diff) = change(r#"{"path":"/w/a","kind":{"type":"delete"},"diff":"one\n"}"#);
        assert_eq!(diff.unwrap(), "--- a/w/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n");
        let (_, _, diff) = change(r#"{"path":"/w/a","kind":{"type":"update"},"diff":"@@ -1 +1 @@\n-one\n+two\n"}"#);
        assert_eq!(diff.unwrap(), "--- a/w/a\n+++ b/w/a\n@@ -1 +1 @@\n-one\n+two\n");
    }

    #[test]
    fn a_moved_file_has_both_names() {
        let (path, _, diff) = change(
            r#"{"path":"/w/a","kind":{"type":"update","move_path":"/w/b"},"diff":"@@ -1 +1 @@\n-x\n+y\n\n\nMoved to: /w/b"}"#,
        );
        assert_eq!(path, "/w/b");
        assert_eq!(diff.unwrap(), "--- a/w/a\n+++ b/w/b\n@@ -1 +1 @@\n-x\n+y\n");
    }

    #[test]
    fn the_type_of_an_image_comes_from_its_uri_or_extension() {
        let mime = |path: &str| match image_part(path.to_owned()) {
            ContentPart::Image { mime, .. } => mime,
            _ => None,
        };
        assert_eq!(mime("data:image/gif;base64,AA==").as_deref(), Some("image/gif"));
        assert_eq!(mime("/w/dot.PNG").as_deref(), Some("image/png"));
        assert_eq!(mime("file-1"), None);
    }
}
