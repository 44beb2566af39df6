//! What the user says, as Amp can hear it.

use interlingua_schema::Message;
use serde_json::json;

use super::help::Help;
use crate::attached::{self, Attached};

/// The longest word that a command line can hold, with some room.
const LONGEST_WORD: usize = 120 << 10;

/// What the user says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Prompt {
    /// A line for its standard input.
    Line(String),
    /// A word for its command line.
    Word(String),
}

impl Prompt {
    /// The message in the best way that this version understands, or why there is none.
    pub(super) async fn of(message: &Message, help: &Help) -> Result<Self, String> {
        let mut text = message.text.clone();
        let mut blocks = Vec::new();
        let takes: &[&str] = if help.has(Help::READS_MESSAGES) { &["image/"] } else { &[] };
        for attachment in &message.attachments {
            match attached::read(attachment, takes).await? {
                Attached::Bytes { mime, base64 } => {
                    blocks.push(
                        json!({"type": "image", "source": {"type": "base64", "media_type": mime, "data": base64}}),
                    );
                }
                Attached::Named(named) => {
                    if !text.is_empty() {
                        text.push_str("\n\n");
                    }
                    text.push_str(&named);
                }
            }
        }
        if help.has(Help::READS_MESSAGES) {
            if !text.is_empty() {
                blocks.insert(0, json!({"type": "text", "text": text}));
            }
            return Ok(Self::Line(json!({"type": "user", "message": {"role": "user", "content": blocks}}).to_string()));
        }
        if text.len() > LONGEST_WORD {
            return Err(format!(
                "this version of Amp takes messages of at most {LONGEST_WORD} bytes, this one has {}",
                text.len()
            ));
        }
        // A word that begins like a flag would be taken for one.
        Ok(Self::Word(if text.starts_with('-') { format!(" {text}") } else { text }))
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
        let prompt = Prompt::of(&message("look", Some("/notes.txt")), &help).await.unwrap();
        let line = r#"{"message":{"content":[{"text":"look\n\nAttached file: /notes.txt","type":"text"}],"role":"user"},"type":"user"}"#;
        assert_eq!(prompt, Prompt::Line(line.to_owned()));
    }

    #[tokio::test]
    async fn another_gets_a_word_that_is_no_flag() {
        let prompt = Prompt::of(&message("--help me", Some("/dot.png")), &Help::default()).await.unwrap();
        assert_eq!(prompt, Prompt::Word(" --help me\n\nAttached file: /dot.png".to_owned()));
        let long = message(&"x".repeat(LONGEST_WORD + 1), None);
        assert!(Prompt::of(&long, &Help::default()).await.is_err());
    }
}
