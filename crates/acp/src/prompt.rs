//! Prompts of the client as messages: text, and files by their paths.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use interlingua_client::{AttachedFile, MessageRequest};
use interlingua_native::acp::ContentBlock;
use tempfile::TempDir;

/// Prefix of the URI of a local file.
const FILE_SCHEME: &str = "file://";

/// Files that were made of contents in prompts. They are removed when the connection ends.
#[derive(Debug, Default)]
pub(crate) struct PromptFiles {
    folder: Option<TempDir>,
    count: u64,
}

impl PromptFiles {
    /// Makes a message of a prompt.
    ///
    /// # Errors
    /// Says which content cannot be sent.
    pub(crate) fn message(&mut self, id: &str, prompt: Vec<ContentBlock>) -> Result<MessageRequest, String> {
        let mut text = String::new();
        let mut attachments = Vec::new();
        for block in prompt {
            match block {
                ContentBlock::Text(block) => text.push_str(&block.text.unwrap_or_default()),
                ContentBlock::Image(block) => {
                    let mime = block.mime_type.unwrap_or_else(|| "image/png".to_owned());
                    attachments.push(self.write(&block.data.unwrap_or_default(), mime)?);
                }
                ContentBlock::ResourceLink(block) => {
                    let uri = block.uri.unwrap_or_default();
                    match uri.strip_prefix(FILE_SCHEME) {
                        Some(path) => attachments.push(AttachedFile::new(percent_decode(path))),
                        None => push_line(&mut text, &uri),
                    }
                }
                ContentBlock::Resource(block) => {
                    let resource = block.resource.unwrap_or_default();
                    let uri = resource.uri.unwrap_or_default();
                    match (resource.text, resource.blob) {
                        (Some(content), _) => push_line(&mut text, &format!("{uri}\n```\n{content}\n```")),
                        (None, Some(blob)) => {
                            let mime = resource.mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                            attachments.push(self.write(&blob, mime)?);
                        }
                        (None, None) => push_line(&mut text, &uri),
                    }
                }
                ContentBlock::Audio(_) => return Err("audio is not supported".to_owned()),
                ContentBlock::Unknown { tag, .. } => return Err(format!("content of type `{tag}` is not supported")),
            }
        }
        let mut message = MessageRequest::new(text).id(id);
        message.attachments = attachments;
        Ok(message)
    }

    /// Writes a content into a file.
    fn write(&mut self, base64: &str, mime: String) -> Result<AttachedFile, String> {
        let bytes = STANDARD.decode(base64).map_err(|error| format!("content is not base64: {error}"))?;
        let failed = |error: std::io::Error| format!("cannot write a temporary file: {error}");
        let folder = match &mut self.folder {
            Some(folder) => folder,
            folder @ None => folder.insert(TempDir::with_prefix("interlingua-acp-").map_err(failed)?),
        };
        self.count += 1;
        let extension = mime.rsplit('/').next().unwrap_or("bin");
        let path = folder.path().join(format!("{}.{extension}", self.count));
        std::fs::write(&path, bytes).map_err(failed)?;
        let mut file = AttachedFile::new(path.to_string_lossy());
        file.mime = Some(mime);
        Ok(file)
    }
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
    text.push('\n');
}

/// Decodes `%20` and the like. Text that is not encoded stays as it is.
fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let decoded = (byte == b'%')
            .then(|| after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(byte));
        rest = if decoded.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use interlingua_native::acp::{
        EmbeddedResourceResource, ImageContentBlock, ResourceContentBlock, ResourceLinkContentBlock, TextContentBlock,
    };
    use interlingua_native::new;

    use super::*;

    #[test]
    fn a_prompt_is_text_and_files() {
        let resource = EmbeddedResourceResource {
            uri: Some("file:///w/a.rs".to_owned()),
            text: Some("fn a() {}".to_owned()),
            ..EmbeddedResourceResource::default()
        };
        let prompt: Vec<ContentBlock> = vec![
            new!(TextContentBlock { text: "look" }).into(),
            new!(ResourceContentBlock { resource: resource }).into(),
            new!(ResourceLinkContentBlock { name: "b", uri: "file:///w/b%20c.rs" }).into(),
            new!(ImageContentBlock { data: "AQID", mime_type: "image/png" }).into(),
        ];
        let mut files = PromptFiles::default();
        let message = files.message("m", prompt).unwrap();
        assert_eq!(message.message, "look\nfile:///w/a.rs\n```\nfn a() {}\n```\n");
        assert_eq!(message.attachments[0].path, "/w/b c.rs");
        assert_eq!(std::fs::read(&message.attachments[1].path).unwrap(), [1, 2, 3]);
    }
}
