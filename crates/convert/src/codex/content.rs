//! What users say and what tools give back, as parts.

use interlingua_native::Json;
use interlingua_native::codex::{
    DynamicToolCallOutputContentItem, FileUpdateChange, FunctionCallOutputBody, FunctionCallOutputContentItem,
    PatchChangeKind, UserInput,
};
use interlingua_schema::{ChangeKind, ContentPart, FileAction, FileChange};
use serde::Deserialize;
use serde_json::Value;

use crate::{ToolResult, unified_diff};

/// A user's input, as the host sends it and as the agent repeats it.
pub(super) fn user_parts(input: Vec<UserInput>) -> Vec<ContentPart> {
    input.into_iter().map(user_part).collect()
}

fn user_part(input: UserInput) -> ContentPart {
    match input {
        UserInput::Text(input) => ContentPart::text(input.text.unwrap_or_default()),
        UserInput::Image(input) => match input.url.or(input.file_id) {
            Some(url) => image(url),
            None => ContentPart::text(""),
        },
        UserInput::LocalImage(input) => image(input.path.unwrap_or_default()),
        UserInput::Audio(input) => file(input.url),
        UserInput::LocalAudio(input) => file(input.path),
        UserInput::Skill(input) => file(input.path.or(input.name)),
        UserInput::Mention(input) => file(input.path.or(input.name)),
        UserInput::Unknown { raw, .. } => ContentPart::Json { json: raw.to_value() },
    }
}

fn file(path: Option<String>) -> ContentPart {
    ContentPart::FileRef { path: path.unwrap_or_default(), action: FileAction::Read, diff: None }
}

/// An image at a path, or in a `data:` URI, which names its type.
pub(super) fn image(path: String) -> ContentPart {
    let in_uri = path.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next()).map(str::to_owned);
    let mime = in_uri.or_else(|| {
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

/// Puts a tool's output together: texts on lines of their own, other parts behind.
#[derive(Debug, Default)]
pub(super) struct Output {
    text: String,
    parts: Vec<ContentPart>,
}

impl Output {
    pub(super) fn say(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn show(&mut self, part: ContentPart) {
        self.parts.push(part);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.parts.is_empty()
    }

    pub(super) fn result(self) -> ToolResult {
        let mut result = ToolResult::ok(self.text);
        result.parts = self.parts;
        result
    }

    /// What an MCP tool gave back. Its structured form counts only where there is no other.
    pub(super) fn mcp<'a>(blocks: impl Iterator<Item = &'a Json>, structured: Option<&Json>) -> Self {
        let mut output = Self::default();
        blocks.for_each(|block| output.mcp_block(block));
        if output.is_empty()
            && let Some(structured) = structured
        {
            output.say(structured.get());
        }
        output
    }

    fn mcp_block(&mut self, block: &Json) {
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
            Ok(Block::Text { text }) => self.say(&text),
            Ok(Block::Image { data, mime_type }) => {
                let mime = mime_type.unwrap_or_else(|| "image/png".to_owned());
                self.show(ContentPart::Image { path: format!("data:{mime};base64,{data}"), mime: Some(mime) });
            }
            Ok(Block::ResourceLink { uri }) => self.show(file(Some(uri))),
            Ok(Block::Resource { resource }) => {
                if let Some(text) = &resource.text {
                    self.say(text);
                }
                self.show(file(Some(resource.uri)));
            }
            Err(_) => self.show(ContentPart::Json { json: block.to_value() }),
        }
    }

    /// What a tool of the host's gave back.
    pub(super) fn dynamic(items: Vec<DynamicToolCallOutputContentItem>) -> Self {
        let mut output = Self::default();
        for item in items {
            match item {
                DynamicToolCallOutputContentItem::InputText(item) => output.say(&item.text.unwrap_or_default()),
                DynamicToolCallOutputContentItem::InputImage(item) => {
                    output.show(image(item.image_url.unwrap_or_default()));
                }
                DynamicToolCallOutputContentItem::InputAudio(item) => output.show(file(item.audio_url)),
                DynamicToolCallOutputContentItem::Unknown { raw, .. } => {
                    output.show(ContentPart::Json { json: raw.to_value() });
                }
            }
        }
        output
    }

    /// A tool's output that the host gave to the agent.
    pub(super) fn function(body: Option<FunctionCallOutputBody>) -> Self {
        let mut output = Self::default();
        match body {
            Some(FunctionCallOutputBody::Text(text)) => output.say(&text),
            Some(FunctionCallOutputBody::List(items)) => items.into_iter().for_each(|item| output.function_item(item)),
            Some(FunctionCallOutputBody::Unknown(json)) => output.show(ContentPart::Json { json: json.to_value() }),
            None => {}
        }
        output
    }

    fn function_item(&mut self, item: FunctionCallOutputContentItem) {
        match item {
            FunctionCallOutputContentItem::InputText(item) => self.say(&item.text.unwrap_or_default()),
            FunctionCallOutputContentItem::InputImage(item) => {
                self.show(image(item.image_url.or(item.file_id).unwrap_or_default()));
            }
            FunctionCallOutputContentItem::InputAudio(item) => self.show(file(item.audio_url)),
            // Nobody but the model's provider can read it.
            FunctionCallOutputContentItem::EncryptedContent(_) => {}
            FunctionCallOutputContentItem::Unknown { raw, .. } => self.show(ContentPart::Json { json: raw.to_value() }),
        }
    }
}

/// The change of a file that a call asks for.
pub(super) fn change_input(change: &FileUpdateChange) -> FileChange {
    let mut input = FileChange::new(change.path.as_deref().unwrap_or_default());
    input.change = match &change.kind {
        Some(PatchChangeKind::Add(_)) => Some(ChangeKind::Create),
        Some(PatchChangeKind::Delete(_)) => Some(ChangeKind::Delete),
        Some(PatchChangeKind::Update(update)) if update.move_path.is_some() => Some(ChangeKind::Move),
        Some(PatchChangeKind::Update(_)) => Some(ChangeKind::Update),
        _ => None,
    };
    input.to = moved_to(change).map(str::to_owned);
    input.diff = diff_of(change);
    input
}

/// What became of a file.
pub(super) fn file_change(change: &FileUpdateChange) -> ContentPart {
    let path = moved_to(change).or(change.path.as_deref()).unwrap_or_default();
    let action = match &change.kind {
        Some(PatchChangeKind::Add(_)) => FileAction::Write,
        _ => FileAction::Patch,
    };
    ContentPart::FileRef { path: path.to_owned(), action, diff: diff_of(change) }
}

fn moved_to(change: &FileUpdateChange) -> Option<&str> {
    match &change.kind {
        Some(PatchChangeKind::Update(update)) => update.move_path.as_deref(),
        _ => None,
    }
}

/// The change as a unified diff. Codex gives a new or deleted file's whole text, and of a change the hunks.
fn diff_of(change: &FileUpdateChange) -> Option<String> {
    let path = change.path.as_deref().unwrap_or_default();
    let text = change.diff.as_deref()?;
    match &change.kind {
        Some(PatchChangeKind::Add(_)) => unified_diff(path, None, Some(text)),
        Some(PatchChangeKind::Delete(_)) => unified_diff(path, Some(text), None),
        _ => as_diff(path, moved_to(change), text),
    }
}

/// Hunks with the headers they lack; `None` for a text that has no hunks.
fn as_diff(path: &str, moved: Option<&str>, text: &str) -> Option<String> {
    if text.starts_with("--- ") || text.starts_with("diff --git ") {
        return Some(text.to_owned());
    }
    if !text.starts_with("@@") {
        return None;
    }
    // Where a file moves, a line for the reader follows the hunks.
    let hunks = match (moved, text.rfind("\n\nMoved to: ")) {
        (Some(_), Some(end)) => &text[..=end],
        _ => text,
    };
    let (from, to) = (path.trim_start_matches('/'), moved.unwrap_or(path).trim_start_matches('/'));
    Some(format!("--- a/{from}\n+++ b/{to}\n{}\n", hunks.trim_end_matches('\n')))
}

/// JSON of a native value; the types that are written here cannot fail.
pub(super) fn json<T: serde::Serialize>(value: T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(json: &str) -> (String, FileAction, Option<String>) {
        match file_change(&serde_json::from_str(json).unwrap()) {
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
    fn an_image_tells_its_type() {
        let mime = |path: &str| match image(path.to_owned()) {
            ContentPart::Image { mime, .. } => mime,
            _ => None,
        };
        assert_eq!(mime("data:image/gif;base64,AA==").as_deref(), Some("image/gif"));
        assert_eq!(mime("/w/dot.PNG").as_deref(), Some("image/png"));
        assert_eq!(mime("file-1"), None);
    }
}
