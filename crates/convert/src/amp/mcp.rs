//! The content of an MCP result: a list of blocks, as the protocol has them.

use std::fmt::Write as _;

use interlingua_schema::{ContentPart, FileAction};
use serde::Deserialize;
use serde_json::Value;

/// What a list of blocks says: text on lines of its own, other parts behind.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) parts: Vec<ContentPart>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text { text: String },
    Image(Bytes),
    Audio(Bytes),
    ResourceLink { uri: String, name: Option<String>, title: Option<String> },
    Resource { resource: Resource },
}

/// Bytes in base64: as MCP writes them, or in a `source` as a model's provider does.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Bytes {
    data: Option<String>,
    #[serde(rename = "mimeType", alias = "media_type")]
    mime: Option<String>,
    source: Option<Box<Bytes>>,
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

impl Content {
    /// Reads a list of blocks; `None` for a list of anything else. A block of an unknown type is kept as JSON.
    pub(super) fn read(blocks: &[Value]) -> Option<Self> {
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
            Block::Text { text } => self.say(&text),
            Block::Image(bytes) => match bytes.read() {
                (Some(data), mime) => self.show_image(&data, mime),
                (None, mime) => self.say_bytes("image", mime.as_deref()),
            },
            Block::Audio(bytes) => self.say_bytes("audio", bytes.read().1.as_deref()),
            Block::ResourceLink { uri, name, title } => {
                match title.or(name) {
                    Some(name) => self.say(&format!("{name} ({uri})")),
                    None => self.say(&uri),
                }
                self.show_file(uri);
            }
            Block::Resource { resource: Resource { uri, mime, text, blob } } => {
                let is_image = mime.as_deref().is_some_and(|mime| mime.starts_with("image/"));
                match (text, blob) {
                    (Some(text), _) => self.say(&text),
                    (None, Some(blob)) if is_image => self.show_image(&blob, mime),
                    (None, _) => self.say_bytes("blob", mime.as_deref()),
                }
                if !uri.is_empty() {
                    self.show_file(uri);
                }
            }
        }
    }

    fn say(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// Names bytes that there is no part for.
    fn say_bytes(&mut self, what: &str, mime: Option<&str>) {
        let mut word = format!("[{what}");
        if let Some(mime) = mime {
            // Writing to a string does not fail.
            let _ = write!(word, ": {mime}");
        }
        word.push(']');
        self.say(&word);
    }

    fn show_image(&mut self, data: &str, mime: Option<String>) {
        self.parts.push(image(data, mime));
    }

    fn show_file(&mut self, path: String) {
        self.parts.push(ContentPart::FileRef { path, action: FileAction::Read, diff: None });
    }
}

impl Bytes {
    fn read(self) -> (Option<String>, Option<String>) {
        match self.source {
            Some(source) => (source.data, source.mime),
            None => (self.data, self.mime),
        }
    }
}

/// An image of bytes in base64.
pub(super) fn image(data: &str, mime: Option<String>) -> ContentPart {
    let named = mime.as_deref().unwrap_or("application/octet-stream");
    ContentPart::Image { path: ["data:", named, ";base64,", data].concat(), mime }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(blocks: &Value) -> Content {
        Content::read(blocks.as_array().unwrap()).unwrap()
    }

    fn file(path: &str) -> ContentPart {
        ContentPart::FileRef { path: path.to_owned(), action: FileAction::Read, diff: None }
    }

    #[test]
    fn every_block_is_readable() {
        let content = read(&json!([
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
    fn images_are_parts_however_they_are_written() {
        let png = ContentPart::Image { path: "data:image/png;base64,AA==".into(), mime: Some("image/png".into()) };
        for block in [
            json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }),
            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } }),
            json!({ "type": "resource", "resource": { "mimeType": "image/png", "blob": "AA==" } }),
        ] {
            assert_eq!(read(&json!([block])), Content { text: String::new(), parts: vec![png.clone()] });
        }
    }

    #[test]
    fn what_is_not_known_is_kept() {
        let video = json!({ "type": "video", "url": "x" });
        let content = read(&json!([{ "type": "text", "text": "a" }, video]));
        assert_eq!(content, Content { text: "a".into(), parts: vec![ContentPart::Json { json: video }] });
        assert_eq!(Content::read(&[json!(1)]), None);
        assert_eq!(Content::read(&[json!({ "name": "no block" })]), None);
    }
}
