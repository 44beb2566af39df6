//! Values of a session that may be secret: its environment variables, and the environment and headers of its MCP servers.
//!
//! Their names are stored with the session, their values are kept in memory only. After a restart of the server the
//! session waits until a client has supplied all values again: it does not run without them, and it does not run with
//! variables of the same name from the server's environment, which may have other values.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use interlingua_store::SessionKey;
use serde::Deserialize;

use crate::environment::Environment;
use crate::error::RuntimeError;
use crate::mcp::{McpServer, McpServerConfig, McpServers};

/// Values that a client supplies for a session. `Debug` shows names only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionSecrets {
    /// Environment variables of the agent's process.
    pub env: Environment,
    /// Values of MCP servers, by the name of the server.
    pub mcp: BTreeMap<String, McpSecrets>,
}

impl SessionSecrets {
    interlingua_schema::setters! {
        pub env: Environment,
        pub mcp: BTreeMap<String, McpSecrets>,
    }
}

/// Values of one MCP server. It is read from the object that a session is created with, `{"command", "args", "env"}` or
/// `{"url", "headers"}`, of which only `env` and `headers` count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpSecrets {
    /// Environment variables of a program.
    pub env: Environment,
    /// Headers of the requests to a URL.
    pub headers: Environment,
}

impl<'de> Deserialize<'de> for McpSecrets {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        McpServerConfig::deserialize(deserializer).map(McpServerConfig::into_secrets)
    }
}

/// The name of a value that may be secret. Its text is the value's path in the body that hands it in, without `env.` for
/// environment variables of the session: `OPENAI_API_KEY`, `mcp.github.env.TOKEN`, `mcp.docs.headers.Authorization`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SecretName {
    /// An environment variable of the session.
    Env(String),
    /// An environment variable of an MCP server.
    McpEnv { server: String, name: String },
    /// A header of the requests to an MCP server.
    McpHeader { server: String, name: String },
}

impl SecretName {
    /// The field of the API that has the value.
    fn field(&self) -> &'static str {
        match self {
            Self::Env(_) => "env",
            Self::McpEnv { .. } | Self::McpHeader { .. } => "mcp",
        }
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => f.write_str(name),
            Self::McpEnv { server, name } => write!(f, "mcp.{server}.env.{name}"),
            Self::McpHeader { server, name } => write!(f, "mcp.{server}.headers.{name}"),
        }
    }
}

/// The values of one session. They are never stored, and `Debug` shows their names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secrets(BTreeMap<SecretName, String>);

/// The secrets of all sessions, as long as the process lives.
pub(crate) type SecretsBySession = HashMap<SessionKey, Secrets>;

impl Secrets {
    /// The values that a session is created with.
    pub(crate) fn new(env: &Environment, mcp: &McpServers) -> Self {
        let mut secrets = Self::default();
        secrets.insert_all(env, SecretName::Env);
        for (server, config) in mcp.iter() {
            secrets.insert_mcp(server, config.secrets(), matches!(config, McpServer::Remote { .. }));
        }
        secrets
    }

    /// Checks values that a client supplies for a session that was created with these names.
    pub(crate) fn check(handed_in: &SessionSecrets, known: &BTreeSet<SecretName>) -> Result<Self, RuntimeError> {
        let mut secrets = Self::default();
        secrets.insert_all(&handed_in.env, SecretName::Env);
        for (server, values) in &handed_in.mcp {
            secrets.insert_mcp(server, &values.env, false);
            secrets.insert_mcp(server, &values.headers, true);
        }
        if let Some(unknown) = secrets.0.keys().find(|name| !known.contains(*name)) {
            let known: Vec<String> = known.iter().map(ToString::to_string).collect();
            let expected = match known.as_slice() {
                [] => "it has no such values".to_owned(),
                known => format!("expected some of {}", known.join(", ")),
            };
            let detail = format!("the session was not created with a value for {unknown}: {expected}");
            return Err(RuntimeError::field(unknown.field(), detail));
        }
        if let Some((name, _)) = secrets.0.iter().find(|(_, value)| value.contains('\0')) {
            return Err(RuntimeError::field(name.field(), format!("the value of {name} contains a NUL character")));
        }
        Ok(secrets)
    }

    fn insert_all(&mut self, values: &Environment, name: impl Fn(String) -> SecretName) {
        self.0.extend(values.iter().map(|(key, value)| (name(key.to_owned()), value.to_owned())));
    }

    fn insert_mcp(&mut self, server: &str, values: &Environment, are_headers: bool) {
        self.insert_all(values, |name| {
            let server = server.to_owned();
            if are_headers { SecretName::McpHeader { server, name } } else { SecretName::McpEnv { server, name } }
        });
    }

    /// Adds values. Values of the same names are replaced.
    pub(crate) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names without a value.
    pub(crate) fn missing(&self, names: &BTreeSet<SecretName>) -> Vec<String> {
        names.iter().filter(|name| !self.0.contains_key(*name)).map(ToString::to_string).collect()
    }

    /// The environment variables of the session.
    pub(crate) fn env(&self) -> Environment {
        self.select(|name| match name {
            SecretName::Env(name) => Some(name),
            _ => None,
        })
    }

    /// The environment variables of an MCP server.
    pub(crate) fn mcp_env(&self, of: &str) -> Environment {
        self.select(|name| match name {
            SecretName::McpEnv { server, name } if server == of => Some(name),
            _ => None,
        })
    }

    /// The headers of an MCP server.
    pub(crate) fn mcp_headers(&self, of: &str) -> Environment {
        self.select(|name| match name {
            SecretName::McpHeader { server, name } if server == of => Some(name),
            _ => None,
        })
    }

    fn select<'a>(&'a self, name: impl Fn(&'a SecretName) -> Option<&'a String>) -> Environment {
        self.0.iter().filter_map(|(key, value)| Some((name(key)?.clone(), value.clone()))).collect()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(values: &[(&str, &str)]) -> Environment {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn created() -> Secrets {
        let mcp = serde_json::from_str(
            r#"{"github":{"command":"gh","env":{"TOKEN":"s3cret-1"}},"docs":{"url":"http://x","headers":{"Auth":"s3cret-2"}}}"#,
        );
        Secrets::new(&env(&[("KEY", "s3cret-3")]), &mcp.unwrap())
    }

    fn known_names() -> BTreeSet<SecretName> {
        created().0.into_keys().collect()
    }

    fn mcp(json: &str) -> SessionSecrets {
        SessionSecrets::default().mcp(serde_json::from_str::<BTreeMap<String, McpSecrets>>(json).unwrap())
    }

    #[test]
    fn names_are_the_paths_of_the_values() {
        let known = known_names();
        assert_eq!(Secrets::default().missing(&known), ["KEY", "mcp.github.env.TOKEN", "mcp.docs.headers.Auth"]);
        assert_eq!(created().missing(&known), [""; 0]);
        assert!(!format!("{:?}", created()).contains("s3cret"));
    }

    #[test]
    fn what_was_created_can_be_handed_in_in_parts() {
        let known = known_names();
        let mut values = Secrets::check(&SessionSecrets::default().env(env(&[("KEY", "new")])), &known).unwrap();
        assert_eq!(values.missing(&known), ["mcp.github.env.TOKEN", "mcp.docs.headers.Auth"]);
        // The object that the session was created with, and the values alone.
        let rest = r#"{"github":{"command":"gh","env":{"TOKEN":"1"}},"docs":{"headers":{"Auth":"2"}}}"#;
        values.merge(Secrets::check(&mcp(rest), &known).unwrap());
        assert_eq!(values.missing(&known), [""; 0]);
        assert_eq!(values.env().get("KEY"), Some("new"));
        assert_eq!(values.mcp_env("github").get("TOKEN"), Some("1"));
        assert_eq!(values.mcp_headers("docs").get("Auth"), Some("2"));
        assert!(values.mcp_env("docs").is_empty());
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        let known = known_names();
        for handed_in in [
            SessionSecrets::default().env(env(&[("OTHER", "s3cret")])),
            mcp(r#"{"github":{"env":{"OTHER":"s3cret"}}}"#),
            mcp(r#"{"github":{"headers":{"TOKEN":"s3cret"}}}"#),
            mcp(r#"{"other":{"env":{"TOKEN":"s3cret"}}}"#),
        ] {
            let error = Secrets::check(&handed_in, &known).unwrap_err().to_string();
            assert!(error.contains("mcp.docs.headers.Auth") && !error.contains("s3cret"), "{error}");
        }
        let error = Secrets::check(&SessionSecrets::default().env(env(&[("KEY", "a\0b")])), &known).unwrap_err();
        assert!(error.to_string().contains("NUL"), "{error}");
        let none = Secrets::check(&SessionSecrets::default().env(env(&[("KEY", "a")])), &BTreeSet::new());
        assert!(none.unwrap_err().to_string().contains("no such values"));
    }
}
