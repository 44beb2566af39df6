//! MCP servers of a session.

mod config;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::environment::Environment;
use crate::error::Refusal;
pub(crate) use config::McpServerConfig;

/// Header that has a bearer token.
const AUTHORIZATION: &str = "Authorization";

/// Starts a program in another folder: `sh -c SCRIPT sh FOLDER PROGRAM ARGS…`.
const CHANGE_FOLDER: &str = r#"cd -- "$1" && shift && exec "$@""#;

/// The MCP servers of a session, by name. Cloning copies a pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServers(Arc<BTreeMap<String, McpServer>>);

impl McpServers {
    /// The names and servers.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &McpServer)> {
        self.0.iter().map(|(name, server)| (name.as_str(), server))
    }

    /// The servers as an agent is configured with them: without those that are switched off, with headers from variables
    /// of the session, and with programs that start in their own folders.
    pub(crate) fn resolve(&self, env: &Environment) -> Result<Self, Refusal> {
        let enabled = self.iter().filter(|(_, server)| server.options().enabled);
        let resolved = enabled.map(|(name, server)| Ok((name.to_owned(), server.resolve(name, env)?)));
        resolved.collect::<Result<BTreeMap<_, _>, _>>().map(|servers| Self(Arc::new(servers)))
    }

    /// Refuses options that an agent does not have.
    pub(crate) fn check_options(&self, agent: &str, supported: SupportedOptions) -> Result<(), Refusal> {
        for (name, server) in self.iter() {
            if server.options().timeout.is_some() && !supported.timeout {
                let detail = format!("{agent} has no timeout for a single MCP server: remove `timeoutMs` of `{name}`");
                return Err(Refusal::field("mcp", detail));
            }
            if matches!(server, McpServer::Remote { oauth: Some(McpOauth::Client { .. }), .. }) && !supported.oauth {
                let detail = format!("{agent} takes no OAuth client for an MCP server: remove `oauth` of `{name}`");
                return Err(Refusal::field("mcp", detail));
            }
        }
        Ok(())
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
        /// Folder in which the program starts; `None` for the agent's.
        cwd: Option<String>,
        /// Options of every server.
        options: McpOptions,
    },
    /// A server over HTTP: `{"type": "http", "url": "https://…", "headers": {…}}`.
    Remote {
        /// The server's URL.
        url: String,
        /// Whether it uses the older SSE transport (`"type": "sse"`) instead of streamable HTTP.
        sse: bool,
        /// Headers of every request. Kept in memory only.
        headers: Environment,
        /// Headers whose values are variables of the session's `env`, by header.
        header_variables: BTreeMap<String, String>,
        /// Variable of the session's `env` with a bearer token.
        bearer_token_variable: Option<String>,
        /// How the agent logs in; `None` if it decides by itself.
        oauth: Option<McpOauth>,
        /// Options of every server.
        options: McpOptions,
    },
}

/// Options of an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpOptions {
    /// Whether the agent uses the server.
    pub enabled: bool,
    /// How long the server may take to start and to answer; `None` for the agent's default.
    pub timeout: Option<Duration>,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self { enabled: true, timeout: None }
    }
}

/// How an agent logs in to an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpOauth {
    /// It does not.
    Off,
    /// As this OAuth client.
    Client {
        /// Id of the client; `None` if it registers itself.
        id: Option<String>,
        /// The scope that it asks for.
        scope: Option<String>,
    },
}

/// Options of MCP servers that an agent has. It has all others, because they are resolved before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SupportedOptions {
    pub(crate) timeout: bool,
    pub(crate) oauth: bool,
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

    /// Options of every server.
    #[must_use]
    pub fn options(&self) -> &McpOptions {
        match self {
            Self::Local { options, .. } | Self::Remote { options, .. } => options,
        }
    }

    /// The server as an agent is configured with it.
    fn resolve(&self, name: &str, env: &Environment) -> Result<Self, Refusal> {
        match self.clone() {
            Self::Local { command, args, env, cwd: Some(folder), options } => {
                let start = ["-c", CHANGE_FOLDER, "sh", &folder, &command].map(str::to_owned);
                let args = start.into_iter().chain(args).collect();
                Ok(Self::Local { command: "/bin/sh".to_owned(), args, env, cwd: None, options })
            }
            local @ Self::Local { .. } => Ok(local),
            Self::Remote { url, sse, headers, header_variables, bearer_token_variable, oauth, options } => {
                let mut all: BTreeMap<String, String> =
                    headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                let find = |variable: &str, field: &str| {
                    env.get(variable).map(str::to_owned).ok_or_else(|| {
                        let detail = format!(
                            "`{field}` of the MCP server `{name}` names the variable {variable}, which the session's `env` \
                             does not have: add it there"
                        );
                        Refusal::field("mcp", detail)
                    })
                };
                for (header, variable) in header_variables {
                    all.insert(header, find(&variable, "envHeaders")?);
                }
                if let Some(variable) = bearer_token_variable {
                    all.insert(AUTHORIZATION.to_owned(), format!("Bearer {}", find(&variable, "bearerTokenEnvVar")?));
                }
                Ok(Self::Remote {
                    url,
                    sse,
                    headers: all.into_iter().collect(),
                    header_variables: BTreeMap::new(),
                    bearer_token_variable: None,
                    oauth,
                    options,
                })
            }
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
        let McpServer::Local { command, args, env, .. } = &program else { panic!("{program:?}") };
        assert_eq!((command.as_str(), args.as_slice()), ("npx", &["-y".to_owned(), "tool".to_owned()][..]));
        assert_eq!(env.get("KEY"), Some("s3cret"));
        assert!(matches!(parse(r#"{"type":"sse","url":"http://x"}"#), Ok(McpServer::Remote { sse: true, .. })));
    }

    #[test]
    fn a_server_with_conflicting_or_unknown_fields_is_refused() {
        for json in [
            r#"{"command":"a","url":"http://x"}"#,
            r#"{"command":"a","headers":{"a":"b"}}"#,
            r#"{"command":"a","disabled":true}"#,
            r#"{"command":"a","transport":"http"}"#,
            r#"{"command":"a","timeoutMs":0}"#,
            r#"{"command":[]}"#,
            r#"{"url":"http://x","cwd":"/"}"#,
            r#"{"url":"http://x","type":"sse","transport":"http"}"#,
            r#"{"url":"http://x","oauth":true}"#,
            r#"{"url":"http://x","oauth":{"clientSecret":"s3cret"}}"#,
            "{}",
        ] {
            assert!(parse(json).is_err(), "{json}");
        }
    }

    fn resolve(json: &str) -> Result<Option<McpServer>, Refusal> {
        let servers = McpServers::from_iter([("x".to_owned(), parse(json).unwrap())]);
        let env = Environment::from_iter([("TOKEN".to_owned(), "s3cret".to_owned())]);
        Ok(servers.resolve(&env)?.iter().next().map(|(_, server)| server.clone()))
    }

    #[test]
    fn a_server_that_is_off_is_left_out() {
        assert_eq!(resolve(r#"{"command":"a","enabled":false}"#), Ok(None));
        assert!(resolve(r#"{"command":"a","enabled":true}"#).unwrap().is_some());
    }

    #[test]
    fn a_program_starts_in_its_folder() {
        let server =
            resolve(r#"{"command":["sh","-c","pwd; echo \"$0\""],"args":["a b"],"cwd":"/"}"#).unwrap().unwrap();
        let McpServer::Local { command, args, .. } = server else { panic!("{server:?}") };
        let output = std::process::Command::new(command).args(args).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "/\na b\n");
    }

    #[test]
    fn headers_come_from_variables_of_the_session() {
        let json =
            r#"{"url":"http://x","headers":{"A":"b"},"envHeaders":{"X-Key":"TOKEN"},"bearerTokenEnvVar":"TOKEN"}"#;
        let server = resolve(json).unwrap().unwrap();
        let headers = server.secrets();
        assert_eq!(headers.get("A"), Some("b"));
        assert_eq!((headers.get("X-Key"), headers.get("Authorization")), (Some("s3cret"), Some("Bearer s3cret")));
        for json in
            [r#"{"url":"http://x","envHttpHeaders":{"X":"OTHER"}}"#, r#"{"url":"http://x","bearerTokenEnvVar":"HOME"}"#]
        {
            let refusal = format!("{:?}", resolve(json).unwrap_err());
            assert!(refusal.contains("session's `env`"), "{refusal}");
        }
    }

    #[test]
    fn every_option_survives_a_restart() {
        for json in [
            r#"{"type":"stdio","command":"a","args":["b"],"cwd":"/w","enabled":false,"timeoutMs":1500}"#,
            r#"{"type":"sse","url":"http://x","envHeaders":{"X":"V"},"bearerTokenEnvVar":"T","oauth":{"clientId":"c","scope":"s"}}"#,
            r#"{"type":"http","url":"http://x","oauth":false}"#,
        ] {
            let server = parse(json).unwrap();
            let stored = serde_json::to_string(&server.without_secrets()).unwrap();
            assert_eq!(parse(&stored).unwrap(), server, "{stored}");
        }
        let remote = parse(r#"{"type":"remote","url":"http://x","transport":"sse"}"#).unwrap();
        assert!(matches!(remote, McpServer::Remote { sse: true, .. }));
    }

    #[test]
    fn options_that_an_agent_lacks_are_refused_by_name() {
        let check = |json: &str, supported| {
            let servers = McpServers::from_iter([("x".to_owned(), parse(json).unwrap())]);
            servers.check_options("Agent", supported).map_err(|refusal| format!("{refusal:?}"))
        };
        let none = SupportedOptions::default();
        let timeout = r#"{"command":"a","timeoutMs":5}"#;
        assert!(check(timeout, none).unwrap_err().contains("`timeoutMs` of `x`"));
        assert!(check(timeout, SupportedOptions { timeout: true, ..none }).is_ok());
        let oauth = r#"{"url":"http://x","oauth":{"clientId":"c"}}"#;
        assert!(check(oauth, none).unwrap_err().contains("`oauth` of `x`"));
        assert!(check(oauth, SupportedOptions { oauth: true, ..none }).is_ok());
        assert!(check(r#"{"url":"http://x","oauth":false}"#, none).is_ok());
    }

    #[test]
    fn secrets_are_neither_shown_nor_stored() {
        let remote = parse(r#"{"url":"http://x","headers":{"Authorization":"s3cret"}}"#).unwrap();
        assert!(!format!("{remote:?}").contains("s3cret"));
        let stored = serde_json::to_string(&remote.without_secrets()).unwrap();
        assert_eq!(stored, r#"{"type":"http","url":"http://x"}"#);
    }
}
