//! Prompts of the client as messages: text, and files by their paths.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use interlingua_client::{AttachedFile, MessageRequest};
use interlingua_native::acp::ContentBlock;
use interlingua_native::path_of_file_uri;
use tempfile::TempDir;

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
                ContentBlock::Text(block) => {
                    if !text.is_empty() && !text.ends_with('\n') {
                        text.push('\n');
                    }
                    text.push_str(&block.text.unwrap_or_default());
                }
                ContentBlock::Image(block) => {
                    let mime = block.mime_type.unwrap_or_else(|| "image/png".to_owned());
                    attachments.push(self.write(&block.data.unwrap_or_default(), mime)?);
                }
                ContentBlock::ResourceLink(block) => {
                    let uri = block.uri.unwrap_or_default();
                    let path = path_of_file_uri(&uri);
                    let is_whole = !uri.contains('#');
                    match path.filter(|path| Path::new(path).is_file()) {
                        Some(path) if is_whole => attachments.push(AttachedFile::new(path)),
                        // The lines that are meant are part of the link.
                        Some(path) => {
                            attachments.push(AttachedFile::new(path));
                            push_line(&mut text, &uri);
                        }
                        // A directory, or something on another machine: the agent gets the link.
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

#[cfg(test)]
mod tests {
    use interlingua_native::acp::{
        EmbeddedResourceResource, ImageContentBlock, ResourceContentBlock, ResourceLinkContentBlock, TextContentBlock,
    };
    use interlingua_native::{file_uri, new};

    use super::*;

    fn link(uri: &str) -> ContentBlock {
        new!(ResourceLinkContentBlock { name: "b", uri: uri }).into()
    }

    #[test]
    fn a_prompt_is_text_and_files() {
        let resource = EmbeddedResourceResource {
            uri: Some("file:///w/a.rs".to_owned()),
            text: Some("fn a() {}".to_owned()),
            ..EmbeddedResourceResource::default()
        };
        let prompt: Vec<ContentBlock> = vec![
            new!(TextContentBlock { text: "look" }).into(),
            new!(TextContentBlock { text: "here" }).into(),
            new!(ResourceContentBlock { resource: resource }).into(),
            new!(ImageContentBlock { data: "AQID", mime_type: "image/png" }).into(),
        ];
        let mut files = PromptFiles::default();
        let message = files.message("m", prompt).unwrap();
        assert_eq!(message.message, "look\nhere\nfile:///w/a.rs\n```\nfn a() {}\n```\n");
        assert_eq!(std::fs::read(&message.attachments[0].path).unwrap(), [1, 2, 3]);
    }

    #[test]
    fn a_link_to_a_file_is_attached_and_another_link_is_text() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("b c.rs");
        std::fs::write(&file, "x").unwrap();
        let path = file.to_str().unwrap();
        let uri = file_uri(path);
        let local = uri.replace("file://", "file://localhost");
        let lines = format!("{uri}#L3:5");
        let directory = file_uri(folder.path().to_str().unwrap());
        let prompt = [&uri, &local, &lines, &directory, "https://example.com/"].map(link);
        let message = PromptFiles::default().message("m", prompt.into()).unwrap();
        assert!(message.attachments.iter().map(|file| file.path.as_str()).eq([path; 3]), "{:?}", message.attachments);
        assert_eq!(message.message, format!("{lines}\n{directory}\nhttps://example.com/\n"));
    }
}
