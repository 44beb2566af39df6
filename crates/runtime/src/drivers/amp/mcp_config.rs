//! The MCP servers of a session in Amp's format.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use interlingua_protocol::amp::{self, McpTransport};

use crate::mcp::{McpServer, McpServers};

/// Number of the next file.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// The value of `--mcp-config`: a file that only the current user can read. Other users could read a command line, and
/// even arguments and URLs of MCP servers may contain secrets.
///
/// The file is locked while this exists, and removed when it is dropped.
#[derive(Debug)]
pub(super) struct McpConfig {
    path: PathBuf,
    _lock: File,
}

impl McpConfig {
    /// Writes the configuration of MCP servers; `None` if there are none.
    pub(super) fn write(folder: &Path, servers: &McpServers) -> io::Result<Option<Self>> {
        if servers.is_empty() {
            return Ok(None);
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let name = format!("{}-{}.json", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        // `sweep` ignores files of this name. Without the lock, it would remove a file that is just being written.
        let unlocked = folder.join(format!(".{name}"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unlocked)?;
        file.lock()?;
        let path = folder.join(name);
        fs::rename(&unlocked, &path)?;
        let text = to_config(servers).to_json();
        let written = file.write_all(text.as_bytes());
        let config = Self { path, _lock: file };
        written.map(|()| Some(config))
    }

    /// Removes the files that dead processes left.
    pub(super) fn sweep(folder: &Path) {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let written = files.filter(|file| !file.file_name().as_encoded_bytes().starts_with(b"."));
        for path in written.map(|file| file.path()) {
            let is_left = File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
            if is_left {
                remove(&path);
            }
        }
    }

    /// The value of `--mcp-config`.
    pub(super) fn value(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

impl Drop for McpConfig {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        let file = path.display();
        tracing::warn!(%file, %error, "cannot remove the MCP configuration; remove the file, it may contain secrets");
    }
}

fn to_config(servers: &McpServers) -> amp::McpServers {
    let to_config = |server: &McpServer| {
        let secrets = server.secrets().iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        match server {
            McpServer::Local { command, args, .. } => {
                amp::McpServer::Local { command: command.clone(), args: args.clone(), env: secrets }
            }
            McpServer::Remote { url, sse, .. } => {
                let transport = sse.then_some(McpTransport::Sse);
                amp::McpServer::Remote { url: url.clone(), transport, headers: secrets }
            }
        }
    };
    amp::McpServers(servers.iter().map(|(name, server)| (name.to_owned(), to_config(server))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn write(folder: &Path) -> McpConfig {
        let servers = r#"{"far":{"url":"http://x?key=s4cret","headers":{"Key":"s3cret"}},"near":{"command":"tool"}}"#;
        McpConfig::write(folder, &serde_json::from_str(servers).unwrap()).unwrap().unwrap()
    }

    #[test]
    fn the_configuration_is_a_private_file_that_is_removed_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("amp");
        assert!(McpConfig::write(&folder, &McpServers::default()).unwrap().is_none() && !folder.exists());
        let config = write(&folder);
        assert!(!config.value().contains("cret"));
        let path = PathBuf::from(config.value());
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("s3cret") && text.contains("http://x?key=s4cret") && text.contains("tool"), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        drop(config);
        assert!(!path.exists());
    }

    #[test]
    fn files_of_dead_processes_are_swept_and_files_in_use_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let used = write(folder.path());
        let left = folder.path().join("1-0.json");
        fs::write(&left, "{}").unwrap();
        McpConfig::sweep(folder.path());
        assert!(!left.exists() && Path::new(&used.value()).exists());
        McpConfig::sweep(&folder.path().join("missing"));
    }
}
