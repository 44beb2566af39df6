//! Options of a session: which of them Claude Code supports, and the command line.

use std::ffi::OsString;

use interlingua_convert::Agent;
use interlingua_protocol::claude::{
    self, EFFORT, Effort, McpServerConfigForProcessTransport, McpServerConfigForProcessTransportType, McpServers,
    Permissions, SessionOptions, XHIGH_EFFORT,
};
use semver::Version;

use crate::agents::Mode;
use crate::driver::SessionSpec;
use crate::drivers::refuse_unsupported;
use crate::error::Refusal;
use crate::mcp::{McpServer, SupportedOptions};
use crate::permission_mode::PermissionMode;

/// The efforts of a model.
const EFFORTS: [Effort; 5] = [Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh, Effort::Max];
/// The mode of a session that was created without one.
pub(super) const BUILD: &str = "build";
const PLAN: &str = "plan";

/// Prefix of the variables that pass values of MCP servers to the agent. Other users can read a command line.
const SECRET_PREFIX: &str = "INTERLINGUA_MCP_SECRET_";

/// The modes of a Claude Code session.
pub(super) fn modes() -> Vec<Mode> {
    vec![
        Mode::new(BUILD, "Build", "Works on the task, within its permissions"),
        Mode::new(PLAN, "Plan", "Explores, writes a plan, and carries it out after approval"),
    ]
}

/// Refuses options that a version does not support.
pub(super) fn check(spec: &SessionSpec, version: Option<&Version>) -> Result<(), Refusal> {
    if let Some(mode) = spec.agent_mode.as_deref().filter(|mode| ![BUILD, PLAN].contains(mode)) {
        return Err(Refusal::mode("agentMode", mode, &[BUILD, PLAN]));
    }
    let bypasses = spec.permission_mode == PermissionMode::Bypass;
    if spec.agent_mode.as_deref() == Some(PLAN) && bypasses {
        let detail = "Claude Code does not support permissionMode `bypass` in mode `plan`: expected `default`, `plan` or `acceptEdits`";
        return Err(Refusal::field("permissionMode", detail));
    }
    if bypasses && rustix::process::geteuid().is_root() && !is_sandbox(spec) {
        let detail = "Claude Code refuses permissionMode `bypass` for root: run the server as another user, or set \
                      IS_SANDBOX=1 in `env` if nothing can be broken here";
        return Err(Refusal::field("permissionMode", detail));
    }
    if let Some(variant) = &spec.variant {
        check_effort(variant, version)?;
    }
    spec.mcp.check_options("Claude Code", SupportedOptions { timeout: true, ..SupportedOptions::default() })?;
    match spec.model.as_deref() {
        Some(model) if model.trim().is_empty() || model.starts_with('-') => {
            Err(Refusal::field("model", format!("expected the name of a model, found {model:?}")))
        }
        _ => Ok(()),
    }
}

fn check_effort(effort: &str, version: Option<&Version>) -> Result<(), Refusal> {
    if !EFFORTS.iter().any(|known| known.as_str() == effort) {
        let known = EFFORTS.map(|effort| effort.to_string()).join(", ");
        let detail = format!("Claude Code has no effort `{effort}`: expected one of {known}");
        return Err(Refusal::field("variant", detail));
    }
    let support = if effort == Effort::Xhigh.as_str() { XHIGH_EFFORT } else { EFFORT };
    refuse_unsupported(Agent::Claude, "variant", effort, &support, version)
}

fn is_sandbox(spec: &SessionSpec) -> bool {
    spec.env.get("IS_SANDBOX").map_or_else(|| std::env::var_os("IS_SANDBOX").is_some(), |value| !value.is_empty())
}

/// The command line of a session, and the variables to which it refers.
pub(super) fn command_line(spec: &SessionSpec, version: Option<&Version>) -> (Vec<String>, Vec<(OsString, OsString)>) {
    let is_plan = spec.agent_mode.as_deref() == Some(PLAN);
    let permissions = match spec.permission_mode {
        PermissionMode::Plan => Permissions::Mode(claude::PermissionMode::Plan),
        _ if is_plan => Permissions::Mode(claude::PermissionMode::Plan),
        PermissionMode::Default => Permissions::Default,
        PermissionMode::AcceptEdits => Permissions::Mode(claude::PermissionMode::AcceptEdits),
        PermissionMode::Bypass => Permissions::Bypass,
    };
    let (mcp_servers, secrets) = mcp_servers(&spec.mcp);
    let options = SessionOptions {
        permissions,
        model: spec.model.as_deref(),
        effort: spec.variant.as_deref(),
        resume: spec.native_session_id.as_ref().map(interlingua_schema::NativeSessionId::as_str),
        mcp_servers,
        ..SessionOptions::default()
    };
    (claude::command_line(&options, version), secrets)
}

/// The permission mode after an approved plan; `None` for the agent's default.
pub(super) fn mode_after_plan(spec: &SessionSpec) -> Option<claude::PermissionMode> {
    (spec.permission_mode == PermissionMode::AcceptEdits).then_some(claude::PermissionMode::AcceptEdits)
}

/// The MCP servers with every value that may be secret replaced by a reference to a variable, and those variables.
/// Arguments and URLs often contain keys too. Claude Code replaces the references when it reads the configuration.
fn mcp_servers(servers: &crate::mcp::McpServers) -> (McpServers, Vec<(OsString, OsString)>) {
    let mut secrets = Vec::new();
    let mut hide = |value: &str| {
        let name = format!("{SECRET_PREFIX}{}", secrets.len());
        secrets.push((OsString::from(&name), OsString::from(value)));
        format!("${{{name}}}")
    };
    let mut configured = McpServers::default();
    for (name, server) in servers.iter() {
        let hidden = server.secrets().iter().map(|(name, value)| (name.to_owned(), hide(value))).collect();
        let timeout = server.options().timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok());
        let timeout = timeout.map(serde_json::Number::from);
        let config = McpServerConfigForProcessTransport { timeout, ..McpServerConfigForProcessTransport::new() };
        let config = match server {
            McpServer::Local { command, args, .. } => McpServerConfigForProcessTransport {
                command: Some(command.clone()),
                args: Some(args.iter().map(|arg| hide(arg)).collect()),
                env: Some(hidden),
                ..config
            },
            McpServer::Remote { url, sse, .. } => McpServerConfigForProcessTransport {
                type_: Some(if *sse {
                    McpServerConfigForProcessTransportType::Sse
                } else {
                    McpServerConfigForProcessTransportType::Http
                }),
                url: Some(hide(url)),
                headers: Some(hidden),
                ..config
            },
        };
        configured.mcp_servers.insert(name.to_owned(), config);
    }
    (configured, secrets)
}

#[cfg(test)]
mod tests {
    use interlingua_convert::Agent;
    use interlingua_protocol::claude::WIRE_FLAGS;
    use serde_json::{Value, json};

    use super::*;
    use crate::environment::Environment;

    fn spec() -> SessionSpec {
        SessionSpec {
            session_id: "s".into(),
            native_session_id: None,
            directory: "/".into(),
            agent_mode: None,
            permission_mode: PermissionMode::Default,
            model: None,
            variant: None,
            agent_version: None,
            title: None,
            env: Environment::default(),
            mcp: crate::mcp::McpServers::default(),
        }
    }

    fn flags(spec: &SessionSpec) -> String {
        command_line(spec, None).0[WIRE_FLAGS.len()..].join(" ")
    }

    #[test]
    fn variants_are_accepted_as_the_descriptor_declares() {
        let spec = SessionSpec { variant: Some("high".into()), ..spec() };
        assert_eq!(check(&spec, None).is_ok(), Agent::Claude.descriptor().has_model_variants);
    }

    #[test]
    fn modes_are_flags() {
        assert_eq!(flags(&spec()), "");
        let with = |permission_mode| SessionSpec { permission_mode, ..spec() };
        assert_eq!(flags(&with(PermissionMode::Plan)), "--permission-mode plan");
        assert_eq!(flags(&with(PermissionMode::AcceptEdits)), "--permission-mode acceptEdits");
        assert_eq!(flags(&with(PermissionMode::Bypass)), "--dangerously-skip-permissions");
        let plan = SessionSpec { agent_mode: Some("plan".into()), ..with(PermissionMode::AcceptEdits) };
        assert_eq!(flags(&plan), "--permission-mode plan");
        assert_eq!(mode_after_plan(&plan), Some(claude::PermissionMode::AcceptEdits));
        assert_eq!(mode_after_plan(&with(PermissionMode::Plan)), None);
    }

    #[test]
    fn a_session_with_a_native_id_is_resumed() {
        let spec = SessionSpec {
            native_session_id: Some("abc".into()),
            model: Some("opus".into()),
            variant: Some("low".into()),
            ..spec()
        };
        assert_eq!(flags(&spec), "--model opus --effort low --resume abc");
    }

    #[test]
    fn unsupported_options_are_refused() {
        assert_eq!(check(&spec(), None), Ok(()));
        for refused in [
            SessionSpec { agent_mode: Some("custom".into()), ..spec() },
            SessionSpec { agent_mode: Some("plan".into()), permission_mode: PermissionMode::Bypass, ..spec() },
            SessionSpec { variant: Some("huge".into()), ..spec() },
            SessionSpec { model: Some("--help".into()), ..spec() },
        ] {
            assert!(check(&refused, None).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn an_effort_is_refused_if_the_version_does_not_support_it() {
        let spec = SessionSpec { variant: Some("high".into()), ..spec() };
        let refusal = check(&spec, Some(&Version::new(2, 0, 30))).unwrap_err();
        assert!(format!("{refusal:?}").contains("2.0.30"), "{refusal:?}");
        assert_eq!(check(&spec, Some(&Version::new(2, 1, 325))), Ok(()));
    }

    #[test]
    fn secrets_arguments_and_urls_of_mcp_servers_are_not_on_the_command_line() {
        let servers = r#"{"far":{"url":"http://x?key=s5cret","headers":{"Authorization":"s3cret"}},
                          "near":{"command":"tool","args":["--key=s6cret"],"env":{"KEY":"s4cret"}}}"#;
        let spec = SessionSpec { mcp: serde_json::from_str(servers).unwrap(), ..spec() };
        let (args, secrets) = command_line(&spec, None);
        let config: Value = serde_json::from_str(args.last().unwrap()).unwrap();
        assert_eq!(
            config,
            json!({"mcpServers": {
                "far": {"type": "http", "url": "${INTERLINGUA_MCP_SECRET_1}",
                        "headers": {"Authorization": "${INTERLINGUA_MCP_SECRET_0}"}},
                "near": {"command": "tool", "args": ["${INTERLINGUA_MCP_SECRET_3}"],
                         "env": {"KEY": "${INTERLINGUA_MCP_SECRET_2}"}},
            }})
        );
        let named = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let expected = [
            named("INTERLINGUA_MCP_SECRET_0", "s3cret"),
            named("INTERLINGUA_MCP_SECRET_1", "http://x?key=s5cret"),
            named("INTERLINGUA_MCP_SECRET_2", "s4cret"),
            named("INTERLINGUA_MCP_SECRET_3", "--key=s6cret"),
        ];
        assert_eq!(secrets, expected);
    }
}
