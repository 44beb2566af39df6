//! The MCP servers of a session in Amp's format.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use interlingua_protocol::amp::{self, McpTransport};

use crate::mcp::{McpServer, McpServers};

/// Number of the next file.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// The value of `--mcp-config`.
#[derive(Debug)]
pub(super) enum McpConfig {
    /// JSON text on the command line.
    Text(String),
    /// A file with secrets, which only the current user can read. It is removed when this is dropped.
    File(PathBuf),
}

impl McpConfig {
    /// Writes the configuration of MCP servers; `None` if there are none.
    pub(super) fn write(servers: &McpServers) -> io::Result<Option<Self>> {
        if servers.is_empty() {
            return Ok(None);
        }
        let text = to_config(servers).to_json();
        if servers.iter().all(|(_, server)| server.secrets().is_empty()) {
            return Ok(Some(Self::Text(text)));
        }
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("interlingua-mcp-{}-{serial}.json", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let config = Self::File(path);
        file.write_all(text.as_bytes())?;
        Ok(Some(config))
    }

    /// The value of `--mcp-config`.
    pub(super) fn value(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

impl Drop for McpConfig {
    fn drop(&mut self) {
        if let Self::File(path) = self
            && let Err(error) = std::fs::remove_file(&path)
        {
            let file = path.display();
            tracing::warn!(%file, %error, "cannot remove the MCP configuration; remove the file, it contains secrets");
        }
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

    fn servers(json: &str) -> McpServers {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn servers_without_secrets_are_passed_on_the_command_line() {
        let config = McpConfig::write(&servers(r#"{"tiny":{"command":"tool"}}"#)).unwrap().unwrap();
        assert_eq!(config.value(), r#"{"tiny":{"command":"tool","args":[],"env":{}}}"#);
    }

    #[test]
    fn secrets_are_in_a_private_file_that_is_removed_in_the_end() {
        let config = McpConfig::write(&servers(r#"{"far":{"url":"http://x","headers":{"Key":"s3cret"}}}"#));
        let config = config.unwrap().unwrap();
        let path = PathBuf::from(config.value());
        assert!(std::fs::read_to_string(&path).unwrap().contains("s3cret"));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(config);
        assert!(!path.exists());
    }
}
