//! What the user says, as a line. Images and PDF files go along.

use interlingua_schema::Message;
use serde_json::{Value, json};

use crate::attached::{self, Attached};

const PDF: &str = "application/pdf";

/// The line that says it, or why there is none.
pub(super) async fn line(message: &Message) -> Result<String, String> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let content = if message.attachments.is_empty() {
        Value::from(message.text.as_str())
    } else {
        let mut blocks = Vec::new();
        if !message.text.is_empty() {
            blocks.push(text(&message.text));
        }
        for attachment in &message.attachments {
            blocks.push(match attached::read(attachment, &["image/", PDF]).await? {
                Attached::Named(named) => text(&named),
                Attached::Bytes { mime, base64 } => {
                    let kind = if mime == PDF { "document" } else { "image" };
                    json!({"type": kind, "source": {"type": "base64", "media_type": mime, "data": base64}})
                }
            });
        }
        Value::from(blocks)
    };
    Ok(json!({"type": "user", "message": {"role": "user", "content": content}}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use interlingua_schema::Attachment;

    #[tokio::test]
    async fn words_alone_are_text() {
        let line = line(&Message::new("hi")).await.unwrap();
        assert_eq!(line, r#"{"message":{"content":"hi","role":"user"},"type":"user"}"#);
    }

    #[tokio::test]
    async fn a_document_goes_along_and_another_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["plan.pdf", "notes.txt"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
        std::fs::write(&paths[0], [1, 2, 3]).unwrap();
        let attachments = paths.clone().map(Attachment::new).to_vec();
        let line = line(&Message::new("look").attachments(attachments)).await.unwrap();
        let content = serde_json::from_str::<Value>(&line).unwrap()["message"]["content"].take();
        let source = json!({"type": "base64", "media_type": PDF, "data": "AQID"});
        let named = format!("Attached file: {}", paths[1]);
        assert_eq!(
            content,
            json!([{"type": "text", "text": "look"}, {"type": "document", "source": source}, {"type": "text", "text": named}])
        );
    }
}
