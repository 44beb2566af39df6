//! Files that a host sends to an agent with a message.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::agent_dirs::AgentDirs;

/// Supported file types: extension and MIME type.
const TYPES: [(&str, &str); 3] = [("png", "image/png"), ("pdf", "application/pdf"), ("txt", "text/plain")];

/// A file that is attached to a message.
#[derive(Debug)]
pub(crate) struct AttachedFile {
    /// Path of the file.
    pub(crate) path: PathBuf,
    /// MIME type of the file.
    pub(crate) mime: &'static str,
    bytes: Vec<u8>,
}

impl AttachedFile {
    /// Reads a file of the workspace.
    pub(crate) fn read(dirs: &AgentDirs, name: &str) -> Result<Self> {
        let path = dirs.workspace.join(name);
        let mime = mime_type(&path).with_context(|| {
            let extensions = TYPES.map(|(extension, _)| extension).join(", ");
            format!("cannot attach {name:?}: unknown file type, expected one of {extensions}")
        })?;
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {name}"))?;
        Ok(Self { path, mime, bytes })
    }

    pub(crate) fn is_image(&self) -> bool {
        self.mime.starts_with("image/")
    }

    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Its content, if it is a text file.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|_| self.mime.starts_with("text/"))
    }

    /// Its content in base64.
    pub(crate) fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}

fn mime_type(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    TYPES.iter().find(|(known, _)| *known == extension).map(|(_, mime)| *mime)
}
