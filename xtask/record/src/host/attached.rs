//! Files that a host sends to an agent with a message.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::place::Place;

/// What files may be, by the ends of their names.
const TYPES: [(&str, &str); 3] = [("png", "image/png"), ("pdf", "application/pdf"), ("txt", "text/plain")];

/// A file that goes with a message.
#[derive(Debug)]
pub(crate) struct Attached {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What it is.
    pub(crate) mime: &'static str,
    bytes: Vec<u8>,
}

impl Attached {
    /// The file of that name in the workspace.
    pub(crate) fn read(place: &Place, name: &str) -> Result<Self> {
        let path = place.workspace.join(name);
        let mime = mime(&path).with_context(|| {
            format!("nobody knows how to attach {name:?}: it should end in {}", TYPES.map(|(end, _)| end).join(", "))
        })?;
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {name}"))?;
        Ok(Self { path, mime, bytes })
    }

    pub(crate) fn is_image(&self) -> bool {
        self.mime.starts_with("image/")
    }

    /// What it is called.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What it holds, if that is a text.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|_| self.mime.starts_with("text/"))
    }

    /// What it holds, whatever that is.
    pub(crate) fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}

fn mime(path: &Path) -> Option<&'static str> {
    let end = path.extension()?.to_str()?;
    TYPES.iter().find(|(known, _)| *known == end).map(|(_, mime)| *mime)
}
