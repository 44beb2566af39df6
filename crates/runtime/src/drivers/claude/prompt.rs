//! The user's message with its attachments. Images and PDF files are sent, other files are named.

use interlingua_protocol::claude::{Attachment, Prompt};
use interlingua_schema::Message;

use crate::attachments::{self, PromptAttachment};

const PDF: &str = "application/pdf";

/// Reads the attachments of a message. The error says which of them cannot be read.
pub(super) async fn read_prompt(message: Message) -> Result<Prompt, String> {
    let mut attachments = Vec::with_capacity(message.attachments.len());
    for attachment in &message.attachments {
        attachments.push(match attachments::read(attachment, &["image/", PDF]).await? {
            PromptAttachment::Path(named) => Attachment::Text(named),
            PromptAttachment::Content { mime, base64 } if mime == PDF => Attachment::Pdf { base64 },
            PromptAttachment::Content { mime, base64 } => Attachment::Image { media_type: mime, base64 },
        });
    }
    Ok(Prompt { text: message.text, attachments })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_document_is_sent_and_another_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["plan.pdf", "dot.png", "notes.txt"].map(|name| folder.path().join(name));
        let paths = paths.map(|path| path.to_str().unwrap().to_owned());
        std::fs::write(&paths[0], [1, 2, 3]).unwrap();
        std::fs::write(&paths[1], [1, 2, 3]).unwrap();
        let attachment = |path: String| interlingua_schema::Attachment::new(path);
        let attachments = paths.clone().map(attachment).to_vec();
        let prompt = read_prompt(Message::new("look").attachments(attachments)).await.unwrap();
        let base64 = "AQID".to_owned();
        let expected = [
            Attachment::Pdf { base64: base64.clone() },
            Attachment::Image { media_type: "image/png".to_owned(), base64 },
            Attachment::Text(format!("Attached file: {}", paths[2])),
        ];
        assert_eq!(prompt, Prompt { text: "look".to_owned(), attachments: expected.to_vec() });
    }
}
