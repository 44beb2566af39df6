//! Attachments of messages: files that an agent gets with a message. Some are sent with their content; others are named
//! by their path, and the agent reads them itself.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use interlingua_schema::{Attachment, Message};

use crate::error::{Refusal, RuntimeError};

/// The types of files that can be sent with their content, by file extension.
const MIME_TYPES: [(&str, &str); 8] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("pdf", "application/pdf"),
    ("wav", "audio/wav"),
    ("mp3", "audio/mpeg"),
];
/// Maximum size of a file that is sent with its content: what a request to a model may hold.
const MAX_FILE_BYTES: u64 = 20 << 20;

/// An attachment as it is sent to an agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PromptAttachment {
    /// The content of the file.
    Content {
        /// The MIME type.
        mime: String,
        /// The bytes of the file.
        base64: String,
    },
    /// A text that names the file.
    Path(String),
}

/// Makes the paths of a message's attachments absolute. Refuses an empty message, and attachments that are not files.
pub(crate) fn resolve(mut message: Message, directory: Option<&str>) -> Result<Message, RuntimeError> {
    if message.text.trim().is_empty() && message.attachments.is_empty() {
        return Err(RuntimeError::field("message", "the message is empty and has no attachments"));
    }
    for attachment in &mut message.attachments {
        let path = directory.map_or_else(PathBuf::new, PathBuf::from).join(&attachment.path);
        attachment.path = check_file(&path)?;
    }
    Ok(message)
}

fn check_file(path: &Path) -> Result<String, RuntimeError> {
    let refuse = |detail: String| Err(RuntimeError::field("attachments", detail));
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => match path.to_str() {
            Some(path) => Ok(path.to_owned()),
            None => refuse(format!("the path of attachment {} is not UTF-8", path.display())),
        },
        Ok(_) => refuse(format!("attachment {} is not a file", path.display())),
        Err(error) => refuse(format!("cannot open attachment {}: {error}", path.display())),
    }
}

/// Refuses a message with a file that is too large to be sent.
pub(crate) fn check_sizes(message: &Message) -> Result<(), Refusal> {
    for attachment in &message.attachments {
        let size = std::fs::metadata(&attachment.path).map_or(0, |file| file.len());
        if mime_type(attachment).is_some() && size > MAX_FILE_BYTES {
            let path = &attachment.path;
            let detail = format!("attachment {path} has {size} bytes: expected at most {MAX_FILE_BYTES}");
            return Err(Refusal::field("attachments", detail));
        }
    }
    Ok(())
}

/// Reads a file whose MIME type starts with one of `accepted`. Any other file is named by its path.
pub(crate) async fn read(attachment: &Attachment, accepted: &[&str]) -> Result<PromptAttachment, String> {
    let path = &attachment.path;
    let is_accepted = |mime: &&str| accepted.iter().any(|prefix| mime.starts_with(prefix));
    let Some(mime) = mime_type(attachment).filter(is_accepted) else {
        return Ok(PromptAttachment::Path(match &attachment.filename {
            Some(name) => format!("Attached file {name}: {path}"),
            None => format!("Attached file: {path}"),
        }));
    };
    let file = path.clone();
    let read = tokio::task::spawn_blocking(move || std::fs::read(file)).await.map_err(std::io::Error::other);
    let bytes = read.flatten().map_err(|error| format!("cannot read attachment {path}: {error}"))?;
    Ok(PromptAttachment::Content { mime: mime.to_owned(), base64: STANDARD.encode(bytes) })
}

/// The MIME type of a file that can be sent with its content; `None` for any other file.
pub(crate) fn mime_type(attachment: &Attachment) -> Option<&str> {
    if let Some(mime) = attachment.mime.as_deref() {
        return MIME_TYPES.iter().any(|(_, known)| *known == mime).then_some(mime);
    }
    let extension = Path::new(&attachment.path).extension()?.to_str()?.to_ascii_lowercase();
    MIME_TYPES.iter().find(|(known, _)| *known == extension).map(|(_, mime)| *mime)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(path: &Path) -> Attachment {
        Attachment::new(path.to_str().unwrap())
    }

    #[tokio::test]
    async fn an_accepted_file_is_sent_and_any_other_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (image, notes) = (folder.path().join("dot.PNG"), folder.path().join("notes.txt"));
        std::fs::write(&image, [1, 2, 3]).unwrap();
        let content = PromptAttachment::Content { mime: "image/png".to_owned(), base64: "AQID".to_owned() };
        assert_eq!(read(&attachment(&image), &["image/"]).await, Ok(content));
        let named = |path: &Path| Ok(PromptAttachment::Path(format!("Attached file: {}", path.display())));
        assert_eq!(read(&attachment(&image), &[]).await, named(&image));
        assert_eq!(read(&attachment(&notes), &["image/"]).await, named(&notes));
    }

    #[tokio::test]
    async fn the_error_names_a_missing_file() {
        let error = read(&attachment(Path::new("/gone.pdf")), &["application/pdf"]).await.unwrap_err();
        assert!(error.contains("/gone.pdf"), "{error}");
    }
}
