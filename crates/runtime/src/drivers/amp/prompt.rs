//! The user's message with its attachments. Images are sent if the version supports it; other files are named.

use interlingua_protocol::amp::{Image, Prompt};
use interlingua_schema::Message;

use super::supported_flags::SupportedFlags;
use crate::attachments::{self, PromptAttachment};

/// Maximum length of a message on the command line, a little less than the system's limit for an argument.
const MAX_ARGUMENT_BYTES: usize = 120 << 10;

/// How the message of a turn reaches the agent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// As a line on standard input.
    Line(String),
    /// As an argument of the command line.
    Argument(String),
}

impl Delivery {
    /// Prepares a message in the best way that a version supports. The error says why it cannot be delivered.
    pub(super) async fn new(message: &Message, flags: &SupportedFlags) -> Result<Self, String> {
        let reads_messages = flags.contains(SupportedFlags::MESSAGE_INPUT);
        let accepted: &[&str] = if reads_messages { &["image/"] } else { &[] };
        let mut prompt = Prompt { text: message.text.clone(), images: Vec::new() };
        for attachment in &message.attachments {
            match attachments::read(attachment, accepted).await? {
                PromptAttachment::Content { mime, base64 } => prompt.images.push(Image { media_type: mime, base64 }),
                PromptAttachment::Path(text) => {
                    if !prompt.text.is_empty() {
                        prompt.text.push_str("\n\n");
                    }
                    prompt.text.push_str(&text);
                }
            }
        }
        if reads_messages {
            return Ok(Self::Line(prompt.into_line()));
        }
        let text = prompt.text;
        if text.len() > MAX_ARGUMENT_BYTES {
            return Err(format!(
                "this version of Amp takes messages of at most {MAX_ARGUMENT_BYTES} bytes, found {}: install a newer version",
                text.len()
            ));
        }
        // Amp would take an argument with a leading dash for a flag.
        Ok(Self::Argument(if text.starts_with('-') { format!(" {text}") } else { text }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interlingua_schema::Attachment;

    fn message(text: &str, path: Option<&str>) -> Message {
        Message::new(text).attachments(path.into_iter().map(Attachment::new).collect())
    }

    #[tokio::test]
    async fn a_version_that_reads_messages_gets_a_line() {
        let flags = SupportedFlags::parse(SupportedFlags::MESSAGE_INPUT);
        let delivery = Delivery::new(&message("look", Some("/notes.txt")), &flags).await.unwrap();
        let line = Prompt { text: "look\n\nAttached file: /notes.txt".to_owned(), images: Vec::new() }.into_line();
        assert_eq!(delivery, Delivery::Line(line));
    }

    #[tokio::test]
    async fn any_other_version_gets_an_argument_that_is_not_a_flag() {
        let flags = SupportedFlags::default();
        let delivery = Delivery::new(&message("--help me", Some("/dot.png")), &flags).await.unwrap();
        assert_eq!(delivery, Delivery::Argument(" --help me\n\nAttached file: /dot.png".to_owned()));
        let long = message(&"x".repeat(MAX_ARGUMENT_BYTES + 1), None);
        assert!(Delivery::new(&long, &flags).await.is_err());
    }
}
