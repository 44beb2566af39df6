//! How a session is told on the command line.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use crate::agents::Mode;
use crate::driver::SessionSpec;
use crate::error::Refusal;
use crate::mcp::{McpServer, McpServers};
use crate::modes::PermissionMode;

/// What makes it speak as we want it to.
pub(super) const WIRE: [&str; 9] = [
    "--print",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--input-format",
    "stream-json",
    "--permission-prompt-tool",
    "stdio",
];

/// How hard it can be told to think.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];
const BUILD: &str = "build";
const PLAN: &str = "plan";

/// Variables through which the secrets of MCP servers reach the agent: other processes can read a command line.
const SECRET: &str = "INTERLINGUA_MCP_SECRET_";

/// The modes of its sessions.
pub(super) fn modes() -> Vec<Mode> {
    vec![
        Mode::new(BUILD, "Build", "Does what it is told, within its permissions"),
        Mode::new(PLAN, "Plan", "Looks around, writes a plan, and goes to work when that is approved"),
    ]
}

/// Refuses what it cannot honour.
pub(super) fn check(spec: &SessionSpec) -> Result<(), Refusal> {
    if let Some(mode) = spec.agent_mode.as_deref().filter(|mode| ![BUILD, PLAN].contains(mode)) {
        return Err(Refusal::mode("agentMode", mode, &[BUILD, PLAN]));
    }
    let bypasses = spec.permission_mode == PermissionMode::Bypass;
    if spec.agent_mode.as_deref() == Some(PLAN) && bypasses {
        let detail =
            "Claude Code cannot plan with permissionMode `bypass`: expected `default`, `plan` or `acceptEdits`";
        return Err(Refusal::field("permissionMode", detail));
    }
    if bypasses && rustix::process::geteuid().is_root() && !is_sandbox(spec) {
        let detail = "Claude Code refuses permissionMode `bypass` for root: run the server as another user, or set \
                      IS_SANDBOX=1 in `env` if nothing can be broken here";
        return Err(Refusal::field("permissionMode", detail));
    }
    if let Some(variant) = spec.variant.as_deref().filter(|variant| !EFFORTS.contains(variant)) {
        let detail = format!("Claude Code has no effort `{variant}`: expected one of {}", EFFORTS.join(", "));
        return Err(Refusal::field("variant", detail));
    }
    match spec.model.as_deref() {
        Some(model) if model.trim().is_empty() || model.starts_with('-') => {
            Err(Refusal::field("model", format!("expected the name of a model, found {model:?}")))
        }
        _ => Ok(()),
    }
}

fn is_sandbox(spec: &SessionSpec) -> bool {
    spec.env.get("IS_SANDBOX").map_or_else(|| std::env::var_os("IS_SANDBOX").is_some(), |value| !value.is_empty())
}

/// The command line of a session, and variables that it refers to.
pub(super) fn of(spec: &SessionSpec) -> (Vec<String>, Vec<(OsString, OsString)>) {
    let mut args = WIRE.map(str::to_owned).to_vec();
    let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    let is_plan = spec.agent_mode.as_deref() == Some(PLAN);
    match spec.permission_mode {
        PermissionMode::Plan => add(&["--permission-mode", "plan"]),
        _ if is_plan => add(&["--permission-mode", "plan"]),
        PermissionMode::Default => {}
        PermissionMode::AcceptEdits => add(&["--permission-mode", "acceptEdits"]),
        PermissionMode::Bypass => add(&["--dangerously-skip-permissions"]),
    }
    if let Some(model) = &spec.model {
        add(&["--model", model]);
    }
    if let Some(effort) = &spec.variant {
        add(&["--effort", effort]);
    }
    if let Some(native) = &spec.native {
        add(&["--resume", native.as_str()]);
    }
    let mut secrets = Vec::new();
    if !spec.mcp.is_empty() {
        let servers = mcp_servers(&spec.mcp, &mut secrets);
        add(&["--mcp-config", &json!({"mcpServers": servers}).to_string()]);
    }
    (args, secrets)
}

/// What it may do without asking once a plan is approved; `None` if it goes back to its default.
pub(super) fn plan_leads_to(spec: &SessionSpec) -> Option<&'static str> {
    (spec.permission_mode == PermissionMode::AcceptEdits).then_some("acceptEdits")
}

/// MCP servers as it wants them, with every secret replaced by the name of a variable.
fn mcp_servers(servers: &McpServers, secrets: &mut Vec<(OsString, OsString)>) -> Map<String, Value> {
    let mut hide = |value: &str| {
        let name = format!("{SECRET}{}", secrets.len());
        secrets.push((OsString::from(&name), OsString::from(value)));
        format!("${{{name}}}")
    };
    let mut hidden = |server: &McpServer| -> Map<String, Value> {
        server.secrets().iter().map(|(name, value)| (name.to_owned(), hide(value).into())).collect()
    };
    let written = |server: &McpServer, secrets: Map<String, Value>| match server {
        McpServer::Local { command, args, .. } => json!({"command": command, "args": args, "env": secrets}),
        McpServer::Remote { url, sse, .. } => {
            json!({"type": if *sse { "sse" } else { "http" }, "url": url, "headers": secrets})
        }
    };
    servers
        .iter()
        .map(|(name, server)| {
            let secrets = hidden(server);
            (name.to_owned(), written(server, secrets))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use interlingua_convert::Agent;

    use super::*;
    use crate::environment::Environment;

    fn spec() -> SessionSpec {
        SessionSpec {
            session_id: "s".into(),
            native: None,
            directory: "/".into(),
            agent_mode: None,
            permission_mode: PermissionMode::Default,
            model: None,
            variant: None,
            agent_version: None,
            title: None,
            env: Environment::default(),
            mcp: McpServers::default(),
        }
    }

    fn flags(spec: &SessionSpec) -> String {
        of(spec).0[WIRE.len()..].join(" ")
    }

    #[test]
    fn variants_are_taken_as_declared() {
        let spec = SessionSpec { variant: Some("high".into()), ..spec() };
        assert_eq!(check(&spec).is_ok(), Agent::Claude.descriptor().has_model_variants);
    }

    #[test]
    fn modes_are_flags() {
        assert_eq!(flags(&spec()), "");
        let with = |permission_mode| SessionSpec { permission_mode, ..spec() };
        assert_eq!(flags(&with(PermissionMode::Plan)), "--permission-mode plan");
        assert_eq!(flags(&with(PermissionMode::AcceptEdits)), "--permission-mode acceptEdits");
        assert_eq!(flags(&with(PermissionMode::Bypass)), "--dangerously-skip-permissions");
        let plan = SessionSpec { agent_mode: Some("plan".into()), ..with(PermissionMode::AcceptEdits) };
        assert_eq!((flags(&plan).as_str(), plan_leads_to(&plan)), ("--permission-mode plan", Some("acceptEdits")));
    }

    #[test]
    fn a_session_that_has_a_name_is_resumed() {
        let spec = SessionSpec {
            native: Some("abc".into()),
            model: Some("opus".into()),
            variant: Some("low".into()),
            ..spec()
        };
        assert_eq!(flags(&spec), "--model opus --effort low --resume abc");
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        assert_eq!(check(&spec()), Ok(()));
        for refused in [
            SessionSpec { agent_mode: Some("custom".into()), ..spec() },
            SessionSpec { agent_mode: Some("plan".into()), permission_mode: PermissionMode::Bypass, ..spec() },
            SessionSpec { variant: Some("huge".into()), ..spec() },
            SessionSpec { model: Some("--help".into()), ..spec() },
        ] {
            assert!(check(&refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn secrets_of_mcp_servers_are_not_on_the_command_line() {
        let servers = r#"{"far":{"url":"http://x","headers":{"Authorization":"s3cret"}},
                          "near":{"command":"tool","args":["a"],"env":{"KEY":"s4cret"}}}"#;
        let spec = SessionSpec { mcp: serde_json::from_str(servers).unwrap(), ..spec() };
        let (args, secrets) = of(&spec);
        let config: Value = serde_json::from_str(args.last().unwrap()).unwrap();
        assert_eq!(
            config,
            json!({"mcpServers": {
                "far": {"type": "http", "url": "http://x",
                        "headers": {"Authorization": "${INTERLINGUA_MCP_SECRET_0}"}},
                "near": {"command": "tool", "args": ["a"], "env": {"KEY": "${INTERLINGUA_MCP_SECRET_1}"}},
            }})
        );
        let named = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let expected = [named("INTERLINGUA_MCP_SECRET_0", "s3cret"), named("INTERLINGUA_MCP_SECRET_1", "s4cret")];
        assert_eq!(secrets, expected);
    }
}
