//! The user's message with its attachments. Images are sent where the version takes them, other files are named.

use interlingua_protocol::amp::{Image, Prompt};
use interlingua_schema::Message;

use super::help::Help;
use crate::attached::{self, Attached};

/// Length limit of a message on the command line: a little less than what an argument can hold.
const MAX_ARGUMENT: usize = 120 << 10;

/// How the message of a turn reaches the agent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// As a line on its standard input.
    Line(String),
    /// As an argument of its command line.
    Argument(String),
}

impl Delivery {
    /// Delivers a message in the best way that a version takes. The error says why it cannot be delivered.
    pub(super) async fn read(message: &Message, help: &Help) -> Result<Self, String> {
        let reads_messages = help.has(Help::READS_MESSAGES);
        let types: &[&str] = if reads_messages { &["image/"] } else { &[] };
        let mut prompt = Prompt { text: message.text.clone(), images: Vec::new() };
        for attachment in &message.attachments {
            match attached::read(attachment, types).await? {
                Attached::Bytes { mime, base64 } => prompt.images.push(Image { media_type: mime, base64 }),
                Attached::Named(named) => {
                    if !prompt.text.is_empty() {
                        prompt.text.push_str("\n\n");
                    }
                    prompt.text.push_str(&named);
                }
            }
        }
        if reads_messages {
            return Ok(Self::Line(prompt.into_line()));
        }
        let text = prompt.text;
        if text.len() > MAX_ARGUMENT {
            return Err(format!(
                "this version of Amp takes messages of at most {MAX_ARGUMENT} bytes, this one has {}",
                text.len()
            ));
        }
        // An argument that begins like a flag would be taken for one.
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
        let help = Help::read(Help::READS_MESSAGES);
        let delivery = Delivery::read(&message("look", Some("/notes.txt")), &help).await.unwrap();
        let line = Prompt { text: "look\n\nAttached file: /notes.txt".to_owned(), images: Vec::new() }.into_line();
        assert_eq!(delivery, Delivery::Line(line));
    }

    #[tokio::test]
    async fn another_gets_an_argument_that_is_no_flag() {
        let delivery = Delivery::read(&message("--help me", Some("/dot.png")), &Help::default()).await.unwrap();
        assert_eq!(delivery, Delivery::Argument(" --help me\n\nAttached file: /dot.png".to_owned()));
        let long = message(&"x".repeat(MAX_ARGUMENT + 1), None);
        assert!(Delivery::read(&long, &Help::default()).await.is_err());
    }
}
