//! Opening threads and starting turns on them.

use std::collections::BTreeMap;
use std::time::Duration;

use interlingua_native::Json;
use interlingua_native::codex::{
    AskForApprovalText, CollaborationMode, ModeKind, SandboxMode, Settings, ThreadResumeParams, ThreadStartParams,
    TurnStartParams, UserInput,
};
use interlingua_native::new;
use semver::Version;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use super::request::HostRequest;
use super::{support, to_json};

/// Replacement for a secret in a redacted request.
const HIDDEN: &str = "[hidden]";

/// The options of a thread. `None` means the user's configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadOptions {
    /// The working directory, absolute.
    pub cwd: Option<String>,
    /// When Codex asks the user for approval.
    pub approval_policy: Option<AskForApprovalText>,
    /// What commands may do.
    pub sandbox: Option<SandboxMode>,
    /// The model.
    pub model: Option<String>,
    /// Overrides of the user's configuration.
    pub config: ConfigOverrides,
}

impl ThreadOptions {
    /// Starts a thread, or resumes the one with the given id.
    #[must_use]
    pub fn open(self, resumed: Option<&str>) -> HostRequest {
        match resumed {
            None => self.start().into(),
            Some(thread) => self.resume(thread).into(),
        }
    }

    /// Starts a thread.
    #[must_use]
    pub fn start(self) -> ThreadStartParams {
        ThreadStartParams {
            approval_policy: self.approval_policy.map(Into::into),
            config: self.config.into_json(),
            cwd: self.cwd,
            model: self.model,
            sandbox: self.sandbox,
            ..ThreadStartParams::new()
        }
    }

    /// Resumes a thread.
    #[must_use]
    pub fn resume(self, thread: &str) -> ThreadResumeParams {
        ThreadResumeParams {
            approval_policy: self.approval_policy.map(Into::into),
            config: self.config.into_json(),
            cwd: self.cwd,
            model: self.model,
            sandbox: self.sandbox,
            ..new!(ThreadResumeParams { thread_id: thread })
        }
    }

    /// A copy without secrets, which may be shown.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        for server in self.config.mcp_servers.values_mut() {
            let (McpTransport::Local { env: secrets, .. } | McpTransport::Remote { http_headers: secrets, .. }) =
                &mut server.transport;
            for secret in secrets.values_mut() {
                HIDDEN.clone_into(secret);
            }
        }
        self
    }
}

/// Overrides of the user's configuration for a thread. The schema allows any object for `config`; its keys are those of
/// `config.toml`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigOverrides {
    /// The reasoning effort of the model.
    pub reasoning_effort: Option<String>,
    /// MCP servers by name, in addition to those of the user.
    pub mcp_servers: BTreeMap<String, McpServer>,
}

/// An MCP server in the configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct McpServer {
    /// How Codex reaches it.
    #[serde(flatten)]
    pub transport: McpTransport,
    /// Seconds that it may take to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout_sec: Option<f64>,
    /// Seconds that one of its tools may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_timeout_sec: Option<f64>,
}

impl McpServer {
    /// A server with Codex's own timeouts.
    #[must_use]
    pub const fn new(transport: McpTransport) -> Self {
        Self { transport, startup_timeout_sec: None, tool_timeout_sec: None }
    }

    /// Sets how long the server may take to start, and each of its tools to answer.
    #[must_use]
    pub fn timeout(mut self, timeout: Option<Duration>) -> Self {
        let seconds = timeout.map(|timeout| timeout.as_secs_f64());
        (self.startup_timeout_sec, self.tool_timeout_sec) = (seconds, seconds);
        self
    }
}

/// How Codex reaches an MCP server.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum McpTransport {
    /// A program that Codex starts.
    Local {
        /// The program.
        command: String,
        /// The program's arguments.
        args: Vec<String>,
        /// Environment variables. The values are secret.
        env: BTreeMap<String, String>,
    },
    /// A server over HTTP.
    Remote {
        /// The server's URL.
        url: String,
        /// Headers of every request. The values are secret.
        http_headers: BTreeMap<String, String>,
    },
}

impl ConfigOverrides {
    fn into_json(self) -> Option<Json> {
        (self != Self::default()).then(|| to_json(&self))
    }
}

impl Serialize for ConfigOverrides {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(effort) = &self.reasoning_effort {
            map.serialize_entry("model_reasoning_effort", effort)?;
        }
        for (name, server) in &self.mcp_servers {
            // A dotted key adds to the table `mcp_servers` and keeps the user's other servers.
            map.serialize_entry(&format!("mcp_servers.{name}"), server)?;
        }
        map.end()
    }
}

/// Plan mode: Codex explores, asks questions, and proposes a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanMode {
    /// The model. The protocol requires it.
    pub model: String,
    /// The reasoning effort of the model.
    pub reasoning_effort: Option<String>,
}

/// Starts a turn. A `version` without plan mode runs it in the default mode.
#[must_use]
pub fn start_turn(
    thread: &str,
    input: Vec<UserInput>,
    plan: Option<PlanMode>,
    version: Option<&Version>,
) -> TurnStartParams {
    let plan = plan.filter(|_| support::COLLABORATION_MODE.includes(version));
    let collaboration_mode = plan.map(|PlanMode { model, reasoning_effort }| {
        // If the host gives no instructions, the mode uses its own.
        let settings = Settings { reasoning_effort, ..new!(Settings { model: model }) };
        new!(CollaborationMode { mode: ModeKind::Plan, settings: settings })
    });
    TurnStartParams { collaboration_mode, ..new!(TurnStartParams { input: input, thread_id: thread }) }
}

#[cfg(test)]
mod tests {
    use interlingua_native::codex::TextUserInput;
    use serde_json::json;

    use super::*;

    fn written(value: &impl Serialize) -> serde_json::Value {
        serde_json::to_value(value).unwrap()
    }

    #[test]
    fn a_redacted_request_has_no_secrets() {
        let secrets = || BTreeMap::from([("KEY".to_owned(), "s3cret".to_owned())]);
        let local = McpTransport::Local { command: "tiny".to_owned(), args: vec!["-v".to_owned()], env: secrets() };
        let remote = McpTransport::Remote { url: "http://x".to_owned(), http_headers: secrets() };
        let local = McpServer::new(local).timeout(Some(Duration::from_millis(1500)));
        let remote = McpServer::new(remote);
        let mcp_servers = BTreeMap::from([("far".to_owned(), remote), ("tiny".to_owned(), local)]);
        let config = ConfigOverrides { reasoning_effort: Some("high".to_owned()), mcp_servers };
        let options = ThreadOptions { config, ..ThreadOptions::default() };
        let sent = written(&options.clone().start());
        let config = json!({
            "model_reasoning_effort": "high",
            "mcp_servers.tiny": {
                "command": "tiny", "args": ["-v"], "env": {"KEY": "s3cret"}, "startup_timeout_sec": 1.5, "tool_timeout_sec": 1.5,
            },
            "mcp_servers.far": {"url": "http://x", "http_headers": {"KEY": "s3cret"}},
        });
        assert_eq!(sent, json!({ "config": config }));
        let shown = written(&options.redacted().resume("t")).to_string();
        assert!(!shown.contains("s3cret") && shown.contains("[hidden]"), "{shown}");
    }

    #[test]
    fn plan_mode_is_sent_to_versions_that_support_it() {
        let input = || vec![new!(TextUserInput { text: "hi" }).into()];
        let plan = || Some(PlanMode { model: "m".to_owned(), reasoning_effort: Some("low".to_owned()) });
        let settings = json!({"mode": "plan", "settings": {"model": "m", "reasoning_effort": "low"}});
        assert_eq!(written(&start_turn("t", input(), plan(), None))["collaborationMode"], settings);
        let old = written(&start_turn("t", input(), plan(), Some(&Version::new(0, 77, 0))));
        assert_eq!(old, json!({"threadId": "t", "input": [{"type": "text", "text": "hi"}]}));
    }
}
