//! The user's message with its attachments: with their content if the agent takes it, else as links.

use std::path::Path;

use interlingua_native::{file_uri, new};
use interlingua_protocol::acp::acp::{
    AudioContentBlock, ContentBlock, EmbeddedResourceResource, ImageContentBlock, PromptCapabilities,
    ResourceContentBlock, ResourceLinkContentBlock, TextContentBlock,
};
use interlingua_schema::{Attachment, Message};

use crate::attachments::{self, PromptAttachment};

/// Maximum size of a text file that is embedded in the prompt. The agent reads a larger one by itself.
const MAX_EMBEDDED_TEXT_BYTES: u64 = 256 << 10;

/// Reads the attachments of a message. The error says which of them cannot be read.
pub(super) async fn read_prompt(
    message: Message,
    capabilities: Option<&PromptCapabilities>,
) -> Result<Vec<ContentBlock>, String> {
    let takes = |capability: fn(&PromptCapabilities) -> Option<bool>| capabilities.and_then(capability) == Some(true);
    let takes_files = takes(|capabilities| capabilities.embedded_context);
    let accepted: Vec<&str> = [
        (takes(|capabilities| capabilities.image), "image/"),
        (takes(|capabilities| capabilities.audio), "audio/"),
        (takes_files, "application/"),
    ]
    .into_iter()
    .filter_map(|(is_taken, prefix)| is_taken.then_some(prefix))
    .collect();
    let mut blocks: Vec<ContentBlock> = Vec::new();
    if !message.text.is_empty() {
        blocks.push(new!(TextContentBlock { text: message.text }).into());
    }
    for attachment in &message.attachments {
        blocks.push(match attachments::read(attachment, &accepted).await? {
            PromptAttachment::Content { mime, base64 } if mime.starts_with("image/") => {
                new!(ImageContentBlock { data: base64, mime_type: mime }).into()
            }
            PromptAttachment::Content { mime, base64 } if mime.starts_with("audio/") => {
                new!(AudioContentBlock { data: base64, mime_type: mime }).into()
            }
            PromptAttachment::Content { mime, base64 } => embedded(attachment, Some(mime), None, Some(base64)),
            PromptAttachment::Path(_) => match read_text(attachment).await.filter(|_| takes_files) {
                Some(text) => embedded(attachment, attachment.mime.clone(), Some(text), None),
                None => link(attachment).into(),
            },
        });
    }
    Ok(blocks)
}

/// The text of a small text file.
async fn read_text(attachment: &Attachment) -> Option<String> {
    let path = attachment.path.clone();
    let read = move || {
        let is_small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= MAX_EMBEDDED_TEXT_BYTES);
        is_small.then(|| std::fs::read_to_string(&path).ok()).flatten()
    };
    tokio::task::spawn_blocking(read).await.ok().flatten()
}

fn embedded(attachment: &Attachment, mime: Option<String>, text: Option<String>, blob: Option<String>) -> ContentBlock {
    let resource = EmbeddedResourceResource {
        uri: Some(uri(attachment)),
        mime_type: mime,
        text,
        blob,
        ..EmbeddedResourceResource::default()
    };
    new!(ResourceContentBlock { resource: resource }).into()
}

/// Every agent takes links.
fn link(attachment: &Attachment) -> ResourceLinkContentBlock {
    let file_name = || Path::new(&attachment.path).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = attachment.filename.clone().or_else(file_name).unwrap_or_else(|| attachment.path.clone());
    ResourceLinkContentBlock {
        mime_type: attachment.mime.clone(),
        ..new!(ResourceLinkContentBlock { name: name, uri: uri(attachment) })
    }
}

fn uri(attachment: &Attachment) -> String {
    file_uri(&attachment.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sent(name: &str, content: &[u8], capabilities: Option<PromptCapabilities>) -> ContentBlock {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let message = Message::new("look").attachments(vec![Attachment::new(path.to_str().unwrap())]);
        read_prompt(message, capabilities.as_ref()).await.unwrap().remove(1)
    }

    #[tokio::test]
    async fn a_file_is_sent_as_the_agent_takes_it() {
        let all = PromptCapabilities {
            image: Some(true),
            audio: Some(true),
            embedded_context: Some(true),
            ..PromptCapabilities::new()
        };
        let image = sent("dot.png", &[1, 2, 3], Some(all.clone())).await;
        assert!(matches!(image, ContentBlock::Image(image) if image.data.as_deref() == Some("AQID")));
        let sound = sent("beep.wav", &[1, 2, 3], Some(all.clone())).await;
        assert!(matches!(sound, ContentBlock::Audio(sound) if sound.mime_type.as_deref() == Some("audio/wav")));
        let ContentBlock::Resource(text) = sent("a.rs", b"fn a() {}", Some(all.clone())).await else { panic!() };
        let resource = text.resource.unwrap();
        assert_eq!(resource.text.as_deref(), Some("fn a() {}"));
        assert!(resource.uri.unwrap().ends_with("/a.rs"));
        let large = vec![b'x'; usize::try_from(MAX_EMBEDDED_TEXT_BYTES).unwrap() + 1];
        assert!(matches!(sent("large.txt", &large, Some(all)).await, ContentBlock::ResourceLink(_)));
    }

    #[tokio::test]
    async fn a_file_that_the_agent_does_not_take_is_linked() {
        for (name, content) in [("dot.png", &[1_u8, 2, 3][..]), ("beep.wav", &[1]), ("a.rs", b"fn a() {}")] {
            let ContentBlock::ResourceLink(link) = sent(name, content, None).await else { panic!("{name}") };
            let uri = link.uri.unwrap();
            assert!(uri.starts_with("file:///") && uri.ends_with(name), "{uri}");
        }
    }
}
