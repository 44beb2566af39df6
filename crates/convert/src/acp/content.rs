//! Content blocks as content parts, and what adapters put into `_meta`.

use interlingua_native::Json;
use interlingua_native::acp::{ContentBlock, EmbeddedResourceResource};
use interlingua_schema::{ContentPart, FileAction};
use serde::Deserialize;

/// Prefix of the URI of a local file.
const FILE_SCHEME: &str = "file://";

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
        ContentBlock::ResourceLink(block) => Some(file(local_path(&block.uri.or(block.name)?).to_owned())),
        ContentBlock::Resource(block) => resource_part(block.resource?),
        ContentBlock::Unknown { .. } => None,
    }
}

/// A block of the user's as a part. A file that the host embeds in a prompt is a file, as with other agents.
pub(super) fn prompt_part(block: ContentBlock) -> Option<ContentPart> {
    match block {
        ContentBlock::Resource(block) => match block.resource? {
            EmbeddedResourceResource { uri: Some(uri), .. } => Some(file(local_path(&uri).to_owned())),
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
            Some(file(resource.uri.map_or_else(|| data_uri(&mime, &blob), |uri| local_path(&uri).to_owned())))
        }
        (None, None) => Some(file(local_path(&resource.uri?).to_owned())),
    }
}

fn data_uri(mime: &str, base64: &str) -> String {
    format!("data:{mime};base64,{base64}")
}

fn file(path: String) -> ContentPart {
    ContentPart::FileRef { path, action: FileAction::Read, diff: None }
}

/// The path of a URI of a local file; other URIs stay as they are.
fn local_path(uri: &str) -> &str {
    uri.strip_prefix(FILE_SCHEME).unwrap_or(uri)
}

/// Text of blocks, joined; other blocks are left out.
pub(super) fn blocks_text(blocks: Vec<ContentBlock>) -> String {
    let texts = blocks.into_iter().filter_map(content_part).filter_map(|part| match part {
        ContentPart::Text { text } => Some(text),
        _ => None,
    });
    texts.collect()
}

/// What adapters put into `_meta` of updates. The protocol has no place for it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Meta {
    #[serde(rename = "claudeCode")]
    pub(super) claude_code: ClaudeMeta,
    pub(super) terminal_output_delta: TerminalDelta,
    pub(super) terminal_output: TerminalDelta,
    pub(super) terminal_exit: TerminalExit,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ClaudeMeta {
    /// Name of the tool.
    pub(super) tool_name: Option<String>,
    /// Call of the sub-agent that makes this call.
    pub(super) parent_tool_use_id: Option<String>,
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
}

/// Key of the call that started the sub-agent that an update is about.
pub(super) fn parent_call(meta: &Json) -> Option<String> {
    Meta::read(Some(meta)).claude_code.parent_tool_use_id
}
