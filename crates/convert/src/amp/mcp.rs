//! Content of an MCP result: a list of MCP content blocks.

use std::fmt::Write as _;

use interlingua_schema::{ContentPart, FileAction};
use serde::Deserialize;
use serde_json::Value;

/// The text of all blocks, joined by newlines, and the other parts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct McpContent {
    pub(super) text: String,
    pub(super) parts: Vec<ContentPart>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text { text: String },
    Image(Base64Data),
    Audio(Base64Data),
    ResourceLink { uri: String, name: Option<String>, title: Option<String> },
    Resource { resource: Resource },
}

/// Base64 data in the form of MCP, or in a `source` as in the API of the model's provider.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Base64Data {
    data: Option<String>,
    #[serde(rename = "mimeType", alias = "media_type")]
    mime: Option<String>,
    source: Option<Box<Base64Data>>,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    uri: String,
    #[serde(rename = "mimeType")]
    mime: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

impl McpContent {
    /// Parses a list of blocks; `None` for a list of anything else. A block of an unknown type is kept as JSON.
    pub(super) fn parse(blocks: &[Value]) -> Option<Self> {
        let is_block = |block: &Value| block.get("type").is_some_and(Value::is_string);
        if !blocks.iter().all(is_block) {
            return None;
        }
        let mut content = Self::default();
        for block in blocks {
            match Block::deserialize(block) {
                Ok(block) => content.push(block),
                Err(_) => content.parts.push(ContentPart::Json { json: block.clone() }),
            }
        }
        Some(content)
    }

    /// Whether all blocks are of a known type.
    pub(super) fn is_known(&self) -> bool {
        !self.parts.iter().any(|part| matches!(part, ContentPart::Json { .. }))
    }

    fn push(&mut self, block: Block) {
        match block {
            Block::Text { text } => self.push_text(&text),
            Block::Image(image) => match image.into_parts() {
                (Some(data), mime) => self.push_image(&data, mime),
                (None, mime) => self.push_placeholder("image", mime.as_deref()),
            },
            Block::Audio(audio) => self.push_placeholder("audio", audio.into_parts().1.as_deref()),
            Block::ResourceLink { uri, name, title } => {
                match title.or(name) {
                    Some(name) => self.push_text(&format!("{name} ({uri})")),
                    None => self.push_text(&uri),
                }
                self.push_file(uri);
            }
            Block::Resource { resource: Resource { uri, mime, text, blob } } => {
                let is_image = mime.as_deref().is_some_and(|mime| mime.starts_with("image/"));
                match (text, blob) {
                    (Some(text), _) => self.push_text(&text),
                    (None, Some(blob)) if is_image => self.push_image(&blob, mime),
                    (None, _) => self.push_placeholder("blob", mime.as_deref()),
                }
                if !uri.is_empty() {
                    self.push_file(uri);
                }
            }
        }
    }

    fn push_text(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// Adds a placeholder for data that has no content part: `[audio: audio/wav]`.
    fn push_placeholder(&mut self, kind: &str, mime: Option<&str>) {
        let mut text = format!("[{kind}");
        if let Some(mime) = mime {
            // Writing to a string does not fail.
            let _ = write!(text, ": {mime}");
        }
        text.push(']');
        self.push_text(&text);
    }

    fn push_image(&mut self, data: &str, mime: Option<String>) {
        self.parts.push(image(data, mime));
    }

    fn push_file(&mut self, path: String) {
        self.parts.push(ContentPart::FileRef { path, action: FileAction::Read, diff: None });
    }
}

impl Base64Data {
    /// The base64 text and the MIME type.
    fn into_parts(self) -> (Option<String>, Option<String>) {
        match self.source {
            Some(source) => (source.data, source.mime),
            None => (self.data, self.mime),
        }
    }
}

/// An image part of base64 data.
pub(super) fn image(data: &str, mime: Option<String>) -> ContentPart {
    let media_type = mime.as_deref().unwrap_or("application/octet-stream");
    ContentPart::Image { path: ["data:", media_type, ";base64,", data].concat(), mime }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(blocks: &Value) -> McpContent {
        McpContent::parse(blocks.as_array().unwrap()).unwrap()
    }

    fn file(path: &str) -> ContentPart {
        ContentPart::FileRef { path: path.to_owned(), action: FileAction::Read, diff: None }
    }

    #[test]
    fn every_block_has_text_or_a_part() {
        let content = parse(&json!([
            { "type": "text", "text": "one" },
            { "type": "resource", "resource": { "uri": "file:///a.md", "mimeType": "text/markdown", "text": "two" } },
            { "type": "resource_link", "uri": "file:///b.md", "name": "b", "title": "The notes" },
            { "type": "resource_link", "uri": "file:///c.md", "name": "c" },
            { "type": "audio", "data": "AA==", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "file:///d.bin", "blob": "AA==" } },
        ]));
        assert_eq!(content.text, "one\ntwo\nThe notes (file:///b.md)\nc (file:///c.md)\n[audio: audio/wav]\n[blob]");
        assert_eq!(content.parts, ["file:///a.md", "file:///b.md", "file:///c.md", "file:///d.bin"].map(file));
    }

    #[test]
    fn images_of_every_form_are_image_parts() {
        let png = ContentPart::Image { path: "data:image/png;base64,AA==".into(), mime: Some("image/png".into()) };
        for block in [
            json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }),
            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } }),
            json!({ "type": "resource", "resource": { "mimeType": "image/png", "blob": "AA==" } }),
        ] {
            assert_eq!(parse(&json!([block])), McpContent { text: String::new(), parts: vec![png.clone()] });
        }
    }

    #[test]
    fn unknown_blocks_are_kept_as_json() {
        let video = json!({ "type": "video", "url": "x" });
        let content = parse(&json!([{ "type": "text", "text": "a" }, video]));
        assert_eq!(content, McpContent { text: "a".into(), parts: vec![ContentPart::Json { json: video }] });
        assert_eq!(McpContent::parse(&[json!(1)]), None);
        assert_eq!(McpContent::parse(&[json!({ "name": "no block" })]), None);
    }
}
