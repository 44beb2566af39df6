//! Files that go with a message.

use std::path::{Path, PathBuf};

use interlingua_schema::Message;

use crate::error::RuntimeError;

/// The message with the paths of its attachments made absolute, if it says anything and they are all there.
pub(crate) fn found(mut message: Message, directory: Option<&str>) -> Result<Message, RuntimeError> {
    if message.text.trim().is_empty() && message.attachments.is_empty() {
        return Err(RuntimeError::field("message", "the message is empty and has no attachments"));
    }
    for attachment in &mut message.attachments {
        let path = directory.map_or_else(PathBuf::new, PathBuf::from).join(&attachment.path);
        attachment.path = file(&path)?;
    }
    Ok(message)
}

fn file(path: &Path) -> Result<String, RuntimeError> {
    let refused = |detail: String| Err(RuntimeError::field("attachments", detail));
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => match path.to_str() {
            Some(path) => Ok(path.to_owned()),
            None => refused(format!("the path of attachment {} is not UTF-8", path.display())),
        },
        Ok(_) => refused(format!("attachment {} is not a file", path.display())),
        Err(error) => refused(format!("attachment {} cannot be used: {error}", path.display())),
    }
}
