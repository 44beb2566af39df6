//! Messages of the user.

use interlingua_native::claude::{
    Base64ImageSource, Base64ImageSourceMediaType, Base64PdfSourceParam, Base64PdfSourceParamMediaType,
    ContentBlockParam, DocumentBlockParam, DocumentBlockParamSource, ImageBlockParam, MessageContentParam,
    PlainTextSourceParam, PlainTextSourceParamMediaType, TextBlockParam, UserMessage, UserMessageParam,
};
use interlingua_native::new;

/// A message of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The text. May be empty if there are attachments.
    pub text: String,
    /// The attachments, which come after the text.
    pub attachments: Vec<Attachment>,
}

/// An attachment of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// More text, such as the path of a file that the agent can read itself.
    Text(String),
    /// An image.
    Image {
        /// The MIME type, such as `image/png`.
        media_type: String,
        /// The content.
        base64: String,
    },
    /// A PDF document.
    Pdf {
        /// The content.
        base64: String,
    },
    /// A plain-text document.
    PlainText {
        /// The title.
        title: String,
        /// The content.
        text: String,
    },
}

impl Prompt {
    /// A message without attachments.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), attachments: Vec::new() }
    }

    pub(super) fn into_message(self) -> UserMessage {
        let content: MessageContentParam = if self.attachments.is_empty() {
            self.text.into()
        } else {
            let text = Some(self.text).filter(|text| !text.is_empty()).map(Attachment::Text);
            text.into_iter().chain(self.attachments).map(ContentBlockParam::from).collect::<Vec<_>>().into()
        };
        new!(UserMessage { message: new!(UserMessageParam { content: content }).into(), parent_tool_use_id: None })
    }
}

impl From<Attachment> for ContentBlockParam {
    fn from(attachment: Attachment) -> Self {
        match attachment {
            Attachment::Text(text) => new!(TextBlockParam { text: text }).into(),
            Attachment::Image { media_type, base64 } => {
                let media_type = Base64ImageSourceMediaType::from(&*media_type);
                new!(ImageBlockParam {
                    source: new!(Base64ImageSource { data: base64, media_type: media_type }).into()
                })
                .into()
            }
            Attachment::Pdf { base64 } => {
                let source = new!(Base64PdfSourceParam {
                    data: base64,
                    media_type: Base64PdfSourceParamMediaType::ApplicationPdf
                });
                new!(DocumentBlockParam { source: source.into() }).into()
            }
            Attachment::PlainText { title, text } => {
                let source =
                    new!(PlainTextSourceParam { data: text, media_type: PlainTextSourceParamMediaType::TextPlain });
                let source = DocumentBlockParamSource::from(source);
                DocumentBlockParam { title: Some(title), ..new!(DocumentBlockParam { source: source }) }.into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::claude::HostMessage;

    fn content(prompt: Prompt) -> Value {
        let line = HostMessage::Prompt(prompt).into_line();
        let mut line: Value = serde_json::from_str(&line).unwrap();
        let content = line["message"]["content"].take();
        let message = json!({"role": "user", "content": null});
        assert_eq!(line, json!({"type": "user", "message": message, "parent_tool_use_id": null}));
        content
    }

    #[test]
    fn text_alone_is_a_string() {
        assert_eq!(content(Prompt::new("hi")), json!("hi"));
    }

    #[test]
    fn attachments_are_blocks_after_the_text() {
        let base64 = || "AQID".to_owned();
        let image = Attachment::Image { media_type: "image/png".to_owned(), base64: base64() };
        let attachments = vec![image, Attachment::Pdf { base64: base64() }, Attachment::Text("and".to_owned())];
        let blocks = json!([
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}},
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AQID"}},
            {"type": "text", "text": "and"},
        ]);
        assert_eq!(content(Prompt { text: String::new(), attachments: attachments.clone() }), blocks);
        let with_text = content(Prompt { text: "look".to_owned(), attachments });
        assert_eq!((&with_text[0], &with_text[1]), (&json!({"type": "text", "text": "look"}), &blocks[0]));
    }
}
