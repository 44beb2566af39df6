//! MCP servers as clients write them, and as they are stored.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{McpOauth, McpOptions, McpServer};
use crate::secrets::McpSecrets;

/// An MCP server as clients write it. It is also stored in this form, without the values that may be secret.
#[derive(Clone, Default, Serialize, Deserialize)]
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
    #[serde(
        default,
        rename = "envHeaders",
        alias = "envHttpHeaders",
        alias = "env_http_headers",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    env_headers: BTreeMap<String, String>,
    #[serde(
        default,
        rename = "bearerTokenEnvVar",
        alias = "bearer_token_env_var",
        skip_serializing_if = "Option::is_none"
    )]
    bearer_token_env_var: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    oauth: Option<OauthField>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transport: Option<HttpTransport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(default, rename = "timeoutMs", alias = "timeout", skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

/// `transport` of a server over HTTP, for clients that write `"type": "remote"`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum HttpTransport {
    Http,
    Sse,
}

/// `false`, or an OAuth client.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum OauthField {
    Switch(bool),
    Client(OauthClient),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OauthClient {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    /// Never stored: a configuration with one is refused.
    #[serde(default, skip_serializing)]
    client_secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
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
    pub(crate) fn into_server(self) -> Result<McpServer, String> {
        let options = self.options()?;
        match (self.kind, &self.command, &self.url) {
            (None | Some(Transport::Stdio), Some(_), None) => self.into_local(options),
            (None | Some(Transport::Http | Transport::Sse), None, Some(_)) => self.into_remote(options),
            _ => Err("expected either `command` (with `args`, `env` and `cwd`) or `url` (with `headers`)".to_owned()),
        }
    }

    fn options(&self) -> Result<McpOptions, String> {
        if self.timeout_ms == Some(0) {
            return Err("`timeoutMs` is 0; expected at least 1".to_owned());
        }
        Ok(McpOptions { enabled: self.enabled.unwrap_or(true), timeout: self.timeout_ms.map(Duration::from_millis) })
    }

    fn into_local(self, options: McpOptions) -> Result<McpServer, String> {
        self.refuse_fields(
            "a server with `command`",
            &[
                ("headers", !self.headers.is_empty()),
                ("envHeaders", !self.env_headers.is_empty()),
                ("bearerTokenEnvVar", self.bearer_token_env_var.is_some()),
                ("oauth", self.oauth.is_some()),
                ("transport", self.transport.is_some()),
            ],
        )?;
        let (command, mut args) = match self.command {
            None => return Err("expected `command`".to_owned()),
            Some(CommandField::Program(program)) => (program, Vec::new()),
            Some(CommandField::Words(words)) => {
                let mut words = words.into_iter();
                (words.next().ok_or("expected a program in `command`, found an empty list")?, words.collect())
            }
        };
        args.extend(self.args);
        Ok(McpServer::Local { command, args, env: self.env.into_iter().collect(), cwd: self.cwd, options })
    }

    fn into_remote(self, options: McpOptions) -> Result<McpServer, String> {
        self.refuse_fields(
            "a server with `url`",
            &[("args", !self.args.is_empty()), ("env", !self.env.is_empty()), ("cwd", self.cwd.is_some())],
        )?;
        let sse = match (self.kind, self.transport) {
            (Some(Transport::Sse), Some(HttpTransport::Http)) => {
                return Err("`type` is `sse` and `transport` is `http`; expected the same".to_owned());
            }
            (kind, transport) => matches!(kind, Some(Transport::Sse)) || transport == Some(HttpTransport::Sse),
        };
        let oauth = match self.oauth {
            None => None,
            Some(OauthField::Switch(false)) => Some(McpOauth::Off),
            Some(OauthField::Switch(true)) => return Err("expected `oauth` to be false or an object".to_owned()),
            Some(OauthField::Client(OauthClient { client_secret: Some(_), .. })) => {
                return Err("`oauth.clientSecret` is not supported: log in with the agent itself".to_owned());
            }
            Some(OauthField::Client(client)) => Some(McpOauth::Client { id: client.client_id, scope: client.scope }),
        };
        Ok(McpServer::Remote {
            url: self.url.ok_or("expected `url`")?,
            sse,
            headers: self.headers.into_iter().collect(),
            header_variables: self.env_headers,
            bearer_token_variable: self.bearer_token_env_var,
            oauth,
            options,
        })
    }

    /// Refuses fields of the other kind of server.
    #[expect(clippy::unused_self, reason = "the fields are those of this configuration")]
    fn refuse_fields(&self, kind: &str, fields: &[(&str, bool)]) -> Result<(), String> {
        match fields.iter().find(|(_, is_given)| *is_given) {
            Some((field, _)) => Err(format!("{kind} has no `{field}`")),
            None => Ok(()),
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
    /// The form in which it is stored: without the values that may be secret.
    pub(crate) fn without_secrets(&self) -> McpServerConfig {
        let McpOptions { enabled, timeout } = *self.options();
        let common = McpServerConfig {
            enabled: (!enabled).then_some(false),
            timeout_ms: timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok()),
            ..McpServerConfig::default()
        };
        match self {
            Self::Local { command, args, cwd, .. } => McpServerConfig {
                kind: Some(Transport::Stdio),
                command: Some(CommandField::Program(command.clone())),
                args: args.clone(),
                cwd: cwd.clone(),
                ..common
            },
            Self::Remote { url, sse, header_variables, bearer_token_variable, oauth, .. } => McpServerConfig {
                kind: Some(if *sse { Transport::Sse } else { Transport::Http }),
                url: Some(url.clone()),
                env_headers: header_variables.clone(),
                bearer_token_env_var: bearer_token_variable.clone(),
                oauth: oauth.as_ref().map(|oauth| match oauth {
                    McpOauth::Off => OauthField::Switch(false),
                    McpOauth::Client { id, scope } => OauthField::Client(OauthClient {
                        client_id: id.clone(),
                        client_secret: None,
                        scope: scope.clone(),
                    }),
                }),
                ..common
            },
        }
    }
}
