//! MCP servers of a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::secrets::McpSecrets;

/// The MCP servers of a session, by name. Cloning copies a pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServers(Arc<BTreeMap<String, McpServer>>);

impl McpServers {
    /// The names and servers.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &McpServer)> {
        self.0.iter().map(|(name, server)| (name.as_str(), server))
    }

    /// Whether there are no servers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for McpServers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(|servers| Self(Arc::new(servers)))
    }
}

impl FromIterator<(String, McpServer)> for McpServers {
    fn from_iter<I: IntoIterator<Item = (String, McpServer)>>(servers: I) -> Self {
        Self(Arc::new(servers.into_iter().collect()))
    }
}

/// An MCP server. Unknown fields are refused rather than ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpServer {
    /// A program that communicates over its standard input and output: `{"command": "tool", "args": […], "env": {…}}`.
    Local {
        /// The program.
        command: String,
        /// The program's arguments.
        args: Vec<String>,
        /// Environment variables, in addition to the agent's. Kept in memory only.
        env: Environment,
    },
    /// A server over HTTP: `{"type": "http", "url": "https://…", "headers": {…}}`.
    Remote {
        /// The server's URL.
        url: String,
        /// Whether it uses the older SSE transport (`"type": "sse"`) instead of streamable HTTP.
        sse: bool,
        /// Headers of every request. Kept in memory only.
        headers: Environment,
    },
}

/// An MCP server as clients write it. It is also stored in this form, without the values that may be secret.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpServerConfig {
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<Transport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<CommandField>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(default, alias = "environment", skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    #[serde(alias = "local")]
    Stdio,
    #[serde(alias = "remote")]
    Http,
    Sse,
}

/// A program, or a program and its arguments.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum CommandField {
    Program(String),
    Words(Vec<String>),
}

impl<'de> Deserialize<'de> for McpServer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        McpServerConfig::deserialize(deserializer)?.into_server().map_err(serde::de::Error::custom)
    }
}

impl McpServerConfig {
    /// Decides which kind of server the fields describe.
    pub(crate) fn into_server(self) -> Result<McpServer, &'static str> {
        match (self.kind, self.command, self.url) {
            (None | Some(Transport::Stdio), Some(command), None) if self.headers.is_empty() => {
                let (command, mut args) = match command {
                    CommandField::Program(program) => (program, Vec::new()),
                    CommandField::Words(words) => {
                        let mut words = words.into_iter();
                        (words.next().ok_or("expected a program in `command`, found an empty list")?, words.collect())
                    }
                };
                args.extend(self.args);
                Ok(McpServer::Local { command, args, env: self.env.into_iter().collect() })
            }
            (kind @ (None | Some(Transport::Http | Transport::Sse)), None, Some(url)) if self.env.is_empty() => {
                let sse = matches!(kind, Some(Transport::Sse));
                Ok(McpServer::Remote { url, sse, headers: self.headers.into_iter().collect() })
            }
            _ => Err("expected either `command` (with `args` and `env`) or `url` (with `headers`)"),
        }
    }
}

impl McpServerConfig {
    /// Whether it describes a server over HTTP.
    pub(crate) fn is_remote(&self) -> bool {
        self.url.is_some()
    }

    /// Only the values that may be secret.
    pub(crate) fn into_secrets(self) -> McpSecrets {
        McpSecrets { env: self.env.into_iter().collect(), headers: self.headers.into_iter().collect() }
    }
}

impl McpServer {
    /// The values that may be secret: the environment of a program, or the headers of requests.
    #[must_use]
    pub fn secrets(&self) -> &Environment {
        match self {
            Self::Local { env, .. } => env,
            Self::Remote { headers, .. } => headers,
        }
    }

    /// The form in which it is stored: without the values that may be secret.
    pub(crate) fn without_secrets(&self) -> McpServerConfig {
        let empty = McpServerConfig {
            kind: None,
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            url: None,
            headers: BTreeMap::new(),
        };
        match self {
            Self::Local { command, args, .. } => McpServerConfig {
                kind: Some(Transport::Stdio),
                command: Some(CommandField::Program(command.clone())),
                args: args.clone(),
                ..empty
            },
            Self::Remote { url, sse, .. } => McpServerConfig {
                kind: Some(if *sse { Transport::Sse } else { Transport::Http }),
                url: Some(url.clone()),
                ..empty
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<McpServer, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_server_is_a_program_or_a_url() {
        let program = parse(r#"{"command":["npx","-y"],"args":["tool"],"env":{"KEY":"s3cret"}}"#).unwrap();
        let McpServer::Local { command, args, env } = &program else { panic!("{program:?}") };
        assert_eq!((command.as_str(), args.as_slice()), ("npx", &["-y".to_owned(), "tool".to_owned()][..]));
        assert_eq!(env.get("KEY"), Some("s3cret"));
        assert!(matches!(parse(r#"{"type":"sse","url":"http://x"}"#), Ok(McpServer::Remote { sse: true, .. })));
    }

    #[test]
    fn a_server_with_conflicting_or_unknown_fields_is_refused() {
        for json in [
            r#"{"command":"a","url":"http://x"}"#,
            r#"{"command":"a","headers":{"a":"b"}}"#,
            r#"{"command":"a","enabled":false}"#,
            r#"{"command":[]}"#,
            "{}",
        ] {
            assert!(parse(json).is_err(), "{json}");
        }
    }

    #[test]
    fn secrets_are_neither_shown_nor_stored() {
        let remote = parse(r#"{"url":"http://x","headers":{"Authorization":"s3cret"}}"#).unwrap();
        assert!(!format!("{remote:?}").contains("s3cret"));
        let stored = serde_json::to_string(&remote.without_secrets()).unwrap();
        assert_eq!(stored, r#"{"type":"http","url":"http://x"}"#);
    }
}
