//! Content blocks as content parts, and what agents put into `_meta`.

use interlingua_native::acp::{ContentBlock, EmbeddedResourceResource};
use interlingua_native::{Json, path_of_file_uri};
use interlingua_schema::{ContentPart, FileAction};
use serde::Deserialize;

/// A block as a part; `None` if it has no content, or is of an unknown type.
pub(super) fn content_part(block: ContentBlock) -> Option<ContentPart> {
    match block {
        ContentBlock::Text(block) => Some(ContentPart::text(block.text?)),
        ContentBlock::Image(block) => {
            let mime = block.mime_type;
            let path = match (block.data.filter(|data| !data.is_empty()), block.uri) {
                (Some(data), _) => data_uri(mime.as_deref().unwrap_or("image/png"), &data),
                (None, uri) => uri?,
            };
            Some(ContentPart::Image { path, mime })
        }
        ContentBlock::Audio(block) => {
            Some(file(data_uri(block.mime_type.as_deref().unwrap_or("audio/wav"), &block.data?)))
        }
        ContentBlock::ResourceLink(block) => Some(file(local_path(&block.uri.or(block.name)?))),
        ContentBlock::Resource(block) => resource_part(block.resource?),
        ContentBlock::Unknown { .. } => None,
    }
}

/// A block of the user's as a part. A file that the host embeds in a prompt is a file, as with other agents.
pub(super) fn prompt_part(block: ContentBlock) -> Option<ContentPart> {
    match block {
        ContentBlock::Resource(block) => match block.resource? {
            EmbeddedResourceResource { uri: Some(uri), .. } => Some(file(local_path(&uri))),
            resource => resource_part(resource),
        },
        block => content_part(block),
    }
}

/// The text of an embedded resource is text of the message, as the model sees it.
fn resource_part(resource: EmbeddedResourceResource) -> Option<ContentPart> {
    match (resource.text, resource.blob) {
        (Some(text), _) => Some(ContentPart::text(text)),
        (None, Some(blob)) => {
            let mime = resource.mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
            if mime.starts_with("image/") {
                return Some(ContentPart::Image { path: data_uri(&mime, &blob), mime: Some(mime) });
            }
            Some(file(resource.uri.map_or_else(|| data_uri(&mime, &blob), |uri| local_path(&uri))))
        }
        (None, None) => Some(file(local_path(&resource.uri?))),
    }
}

fn data_uri(mime: &str, base64: &str) -> String {
    format!("data:{mime};base64,{base64}")
}

fn file(path: String) -> ContentPart {
    ContentPart::FileRef { path, action: FileAction::Read, diff: None }
}

/// The path of a URI of a local file; other URIs stay as they are.
fn local_path(uri: &str) -> String {
    path_of_file_uri(uri).unwrap_or_else(|| uri.to_owned())
}

/// Text of blocks, one below the other; other blocks are left out.
pub(super) fn blocks_text(blocks: Vec<ContentBlock>) -> String {
    let texts = blocks.into_iter().filter_map(content_part).filter_map(|part| match part {
        ContentPart::Text { text } => Some(text),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What agents put into `_meta` of updates. The protocol has no place for it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Meta {
    #[serde(rename = "claudeCode")]
    pub(super) claude_code: ClaudeMeta,
    #[serde(rename = "github.com/copilot")]
    pub(super) copilot: CopilotMeta,
    /// Name of the tool, of Qwen Code.
    #[serde(rename = "toolName")]
    pub(super) tool_name: Option<String>,
    /// Call of the sub-agent that this is about, of Qwen Code.
    #[serde(rename = "parentToolCallId")]
    parent_call: Option<String>,
    /// The content of the update says what a sub-agent does. It is no output.
    #[serde(rename = "subagentProgress")]
    pub(super) is_sub_agent_progress: bool,
    /// The model writes the call anew.
    #[serde(rename = "preparationDiscarded")]
    pub(super) is_discarded: bool,
    pub(super) terminal_output_delta: TerminalDelta,
    pub(super) terminal_output: TerminalDelta,
    pub(super) terminal_exit: TerminalExit,
}

/// `_meta.claudeCode` of the adapters of Claude Code.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ClaudeMeta {
    /// Name of the tool.
    pub(super) tool_name: Option<String>,
    /// Call of the sub-agent that makes this call.
    parent_tool_use_id: Option<String>,
    /// The structured result of the tool.
    pub(super) tool_response: Option<Json>,
}

/// `_meta["github.com/copilot"]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CopilotMeta {
    /// Id of the sub-agent that this is about. It is not the id of a call.
    pub(super) agent_id: Option<String>,
}

/// Output of a command that the agent runs itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TerminalDelta {
    pub(super) data: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TerminalExit {
    pub(super) exit_code: Option<i32>,
}

impl Meta {
    /// Reads what is known. Anything else in `_meta` is left alone.
    pub(super) fn read(meta: Option<&Json>) -> Self {
        meta.and_then(|meta| meta.decode().ok()).unwrap_or_default()
    }

    /// The call that started the sub-agent that the update is about, if `_meta` names it.
    pub(super) fn take_parent_call(&mut self) -> Option<String> {
        self.claude_code.parent_tool_use_id.take().or_else(|| self.parent_call.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uri_of_a_local_file_is_a_path() {
        for (uri, path) in [
            ("file:///w/b%20c.rs", "/w/b c.rs"),
            ("file://localhost/w/a", "/w/a"),
            ("file:///w/a.rs#L3:5", "/w/a.rs"),
            ("https://example.com/a%20b#c", "https://example.com/a%20b#c"),
        ] {
            assert_eq!(local_path(uri), path);
        }
    }
}
