//! The user's message with its attachments: images as content if the agent takes them, other files as links.

use std::path::Path;

use interlingua_native::new;
use interlingua_protocol::acp::acp::{
    ContentBlock, ImageContentBlock, PromptCapabilities, ResourceLinkContentBlock, TextContentBlock,
};
use interlingua_schema::{Attachment, Message};

use crate::attachments::{self, PromptAttachment};

/// Reads the attachments of a message. The error says which of them cannot be read.
pub(super) async fn read_prompt(
    message: Message,
    capabilities: Option<&PromptCapabilities>,
) -> Result<Vec<ContentBlock>, String> {
    let takes_images = capabilities.and_then(|capabilities| capabilities.image) == Some(true);
    let accepted: &[&str] = if takes_images { &["image/"] } else { &[] };
    let mut blocks: Vec<ContentBlock> = Vec::new();
    if !message.text.is_empty() {
        blocks.push(new!(TextContentBlock { text: message.text }).into());
    }
    for attachment in &message.attachments {
        blocks.push(match attachments::read(attachment, accepted).await? {
            PromptAttachment::Content { mime, base64 } => {
                new!(ImageContentBlock { data: base64, mime_type: mime }).into()
            }
            PromptAttachment::Path(_) => link(attachment).into(),
        });
    }
    Ok(blocks)
}

/// Every agent takes links.
fn link(attachment: &Attachment) -> ResourceLinkContentBlock {
    let file_name = || Path::new(&attachment.path).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = attachment.filename.clone().or_else(file_name).unwrap_or_else(|| attachment.path.clone());
    ResourceLinkContentBlock {
        mime_type: attachment.mime.clone(),
        ..new!(ResourceLinkContentBlock { name: name, uri: format!("file://{}", attachment.path) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_image_is_sent_if_the_agent_takes_images_and_linked_if_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dot.png");
        std::fs::write(&path, [1, 2, 3]).unwrap();
        let path = path.to_str().unwrap().to_owned();
        let message = || Message::new("look").attachments(vec![Attachment::new(path.clone())]);
        let capabilities = PromptCapabilities { image: Some(true), ..PromptCapabilities::new() };
        let sent = read_prompt(message(), Some(&capabilities)).await.unwrap();
        assert!(matches!(&sent[1], ContentBlock::Image(image) if image.data.as_deref() == Some("AQID")));
        let linked = read_prompt(message(), None).await.unwrap();
        let ContentBlock::ResourceLink(link) = &linked[1] else { panic!("{linked:?}") };
        assert_eq!(link.uri, Some(format!("file://{path}")));
    }
}
