//! Files that go to an agent with a message: some as they are, of others it is told where they are and reads them
//! itself.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use interlingua_schema::{Attachment, Message};

use crate::error::Refusal;

/// What can go along, by the ends of names.
const KNOWN: [(&str, &str); 6] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("pdf", "application/pdf"),
];
/// The largest file that goes along: what a request to a model may hold.
const LARGEST: u64 = 20 << 20;

/// A file on its way to an agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Attached {
    /// It goes along.
    Bytes {
        /// Its type.
        mime: String,
        /// What it holds.
        base64: String,
    },
    /// It is spoken of.
    Named(String),
}

/// Refuses a message with a file that is too large to go along.
pub(crate) fn check(message: &Message) -> Result<(), Refusal> {
    for attachment in &message.attachments {
        let size = std::fs::metadata(&attachment.path).map_or(0, |file| file.len());
        if mime(attachment).is_some() && size > LARGEST {
            let detail = format!("{} has {size} bytes, of at most {LARGEST} that can go along", attachment.path);
            return Err(Refusal::field("attachments", detail));
        }
    }
    Ok(())
}

/// Reads a file whose type begins like one of these, and names any other.
pub(crate) async fn read(attachment: &Attachment, takes: &[&str]) -> Result<Attached, String> {
    let path = &attachment.path;
    let Some(mime) = mime(attachment).filter(|mime| takes.iter().any(|taken| mime.starts_with(taken))) else {
        return Ok(Attached::Named(match &attachment.filename {
            Some(name) => format!("Attached file {name}: {path}"),
            None => format!("Attached file: {path}"),
        }));
    };
    let file = path.clone();
    let read = tokio::task::spawn_blocking(move || std::fs::read(file)).await.map_err(std::io::Error::other);
    let bytes = read.flatten().map_err(|error| format!("attachment {path} cannot be read: {error}"))?;
    Ok(Attached::Bytes { mime: mime.to_owned(), base64: STANDARD.encode(bytes) })
}

/// The type of a file that can go along; `None` for any other.
pub(crate) fn mime(attachment: &Attachment) -> Option<&str> {
    let ending = || Path::new(&attachment.path).extension()?.to_str().map(str::to_ascii_lowercase);
    if let Some(mime) = attachment.mime.as_deref() {
        return KNOWN.iter().any(|(_, known)| *known == mime).then_some(mime);
    }
    let ending = ending()?;
    KNOWN.iter().find(|(known, _)| *known == ending).map(|(_, mime)| *mime)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path) -> Attachment {
        Attachment::new(path.to_str().unwrap())
    }

    #[tokio::test]
    async fn what_an_agent_takes_goes_along_and_the_rest_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (image, notes) = (folder.path().join("dot.PNG"), folder.path().join("notes.txt"));
        std::fs::write(&image, [1, 2, 3]).unwrap();
        let bytes = Attached::Bytes { mime: "image/png".to_owned(), base64: "AQID".to_owned() };
        assert_eq!(read(&file(&image), &["image/"]).await, Ok(bytes));
        let named = |path: &Path| Ok(Attached::Named(format!("Attached file: {}", path.display())));
        assert_eq!(read(&file(&image), &[]).await, named(&image));
        assert_eq!(read(&file(&notes), &["image/"]).await, named(&notes));
    }

    #[tokio::test]
    async fn a_file_that_is_gone_is_said_to_be() {
        let error = read(&file(Path::new("/gone.pdf")), &["application/pdf"]).await.unwrap_err();
        assert!(error.contains("/gone.pdf"), "{error}");
    }
}
