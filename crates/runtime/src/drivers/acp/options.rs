//! Options of a session: which of them an agent supports, and the changes that set them.

use interlingua_agents::AcpProfile;
use interlingua_protocol::acp::acp::{AgentCapabilities, McpServer as WireMcpServer};
use interlingua_protocol::acp::{ModeChange, OpenedSession, http_server, stdio_server};

use crate::agents::Mode;
use crate::driver::SessionSpec;
use crate::error::Refusal;
use crate::mcp::{McpServer, SupportedOptions};
use crate::permission_mode::PermissionMode;

/// The mode of a session that was created without one.
const BUILD: &str = "build";
const PLAN: &str = "plan";

/// Refuses what is known to be unsupported before the agent runs.
pub(super) fn check(profile: &AcpProfile, spec: &SessionSpec) -> Result<(), Refusal> {
    let is_supported =
        |mode: &PermissionMode| *mode == PermissionMode::Default || native_mode(profile, *mode).is_some();
    if !is_supported(&spec.permission_mode) {
        let known: Vec<&str> =
            PermissionMode::ALL.iter().filter(|mode| is_supported(mode)).map(|mode| mode.name()).collect();
        return Err(Refusal::mode("permissionMode", spec.permission_mode.name(), &known));
    }
    spec.mcp.check_options("an ACP agent", SupportedOptions::default())?;
    if let Some(mode) = spec.agent_mode.as_deref().filter(|mode| !matches!(*mode, BUILD))
        && spec.permission_mode != PermissionMode::Default
    {
        let detail = format!("an ACP agent has one mode: use either `agentMode` (`{mode}`) or `permissionMode`");
        return Err(Refusal::field("agentMode", detail));
    }
    Ok(())
}

/// The agent's mode for a permission mode.
fn native_mode(profile: &AcpProfile, mode: PermissionMode) -> Option<&'static str> {
    match mode {
        PermissionMode::Default => profile.permission_modes.default,
        PermissionMode::Plan => profile.permission_modes.plan,
        PermissionMode::Bypass => profile.permission_modes.bypass,
        PermissionMode::AcceptEdits => profile.permission_modes.accept_edits,
    }
}

/// The modes that an agent offers.
pub(super) fn modes(opened: &OpenedSession) -> Vec<Mode> {
    let build = Mode::new(BUILD, "Build", "The agent's default mode");
    let own = opened.modes().map(|(modes, _)| modes).unwrap_or_default();
    let own = own.into_iter().filter(|(id, _)| id != BUILD).map(|(id, name)| Mode::new(id, name, ""));
    std::iter::once(build).chain(own).collect()
}

/// The changes that set the mode, the model and the effort of a session.
///
/// # Errors
/// Says what the agent does not offer, and what it does.
pub(super) fn changes(
    profile: &AcpProfile,
    spec: &SessionSpec,
    opened: &OpenedSession,
) -> Result<Vec<ModeChange>, String> {
    let mut changes = Vec::new();
    match spec.agent_mode.as_deref() {
        None | Some(BUILD) => {
            let mode = native_mode(profile, spec.permission_mode);
            // The mode in which a session starts is a default if the agent does not offer the known one.
            let is_offered =
                |mode: &str| opened.modes().is_some_and(|(modes, _)| modes.iter().any(|(id, _)| id == mode));
            if let Some(mode) = mode.filter(|mode| spec.permission_mode != PermissionMode::Default || is_offered(mode))
            {
                changes.extend(opened.choose_mode(mode)?);
            }
        }
        Some(PLAN) => changes.extend(opened.choose_mode(profile.permission_modes.plan.unwrap_or(PLAN))?),
        Some(mode) => changes.extend(opened.choose_mode(mode)?),
    }
    if let Some(model) = &spec.model {
        changes.extend(opened.choose_model(model)?);
    }
    if let Some(variant) = &spec.variant {
        changes.extend(opened.choose_effort(variant)?);
    }
    Ok(changes)
}

/// The MCP servers of a session.
///
/// # Errors
/// If the agent does not support the transport of one.
pub(super) fn mcp_servers(
    spec: &SessionSpec,
    capabilities: Option<&AgentCapabilities>,
) -> Result<Vec<WireMcpServer>, String> {
    let transports = capabilities.and_then(|capabilities| capabilities.mcp_capabilities.as_ref());
    let mut servers = Vec::new();
    for (name, server) in spec.mcp.iter() {
        servers.push(match server {
            McpServer::Local { command, args, env, .. } => stdio_server(name, command, args, env.iter()),
            McpServer::Remote { url, sse, headers, .. } => {
                let supported = transports.and_then(|transports| if *sse { transports.sse } else { transports.http });
                if supported != Some(true) {
                    let transport = if *sse { "SSE" } else { "HTTP" };
                    return Err(format!("the agent does not support MCP over {transport}, which `{name}` needs"));
                }
                http_server(name, url, *sse, headers.iter())
            }
        });
    }
    Ok(servers)
}

#[cfg(test)]
mod tests {
    use interlingua_protocol::acp::acp::NewSessionResponse;

    use super::*;

    fn profile(id: &str) -> &'static AcpProfile {
        AcpProfile::from_id(id).unwrap()
    }

    fn opened(json: &str) -> OpenedSession {
        serde_json::from_str::<NewSessionResponse>(json).unwrap().into()
    }

    fn spec() -> SessionSpec {
        SessionSpec {
            session_id: "s".into(),
            native_session_id: None,
            directory: "/w".into(),
            agent_mode: None,
            permission_mode: PermissionMode::Default,
            model: None,
            variant: None,
            agent_version: None,
            title: None,
            env: crate::environment::Environment::default(),
            mcp: crate::mcp::McpServers::default(),
        }
    }

    #[test]
    fn a_permission_mode_is_the_agents_own_mode() {
        let gemini = opened(
            r#"{"sessionId":"s","modes":{"currentModeId":"default","availableModes":[
            {"id":"default","name":"Default"},{"id":"yolo","name":"Yolo"}]}}"#,
        );
        assert_eq!(changes(profile("gemini"), &spec(), &gemini), Ok(vec![]));
        let bypass = SessionSpec { permission_mode: PermissionMode::Bypass, ..spec() };
        assert_eq!(changes(profile("gemini"), &bypass, &gemini), Ok(vec![ModeChange::Mode("yolo".to_owned())]));
        assert!(check(profile("copilot"), &bypass).is_err());
        let plan = SessionSpec { agent_mode: Some("plan".into()), ..spec() };
        let error = changes(profile("gemini"), &plan, &gemini).unwrap_err();
        assert_eq!(error, "the agent has no mode `plan`; expected one of default, yolo");
    }

    #[test]
    fn models_and_efforts_are_options_or_have_a_request_of_their_own() {
        let with_options = opened(
            r#"{"sessionId":"s","configOptions":[
            {"id":"m","name":"Model","category":"model","type":"select","currentValue":"a","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]},
            {"id":"e","name":"Effort","category":"thought_level","type":"select","currentValue":"low","options":[{"value":"low","name":"Low"},{"value":"high","name":"High"}]}]}"#,
        );
        let wanted = SessionSpec { model: Some("b".into()), variant: Some("high".into()), ..spec() };
        let option =
            |option: &str, value: &str| ModeChange::Option { option: option.to_owned(), value: value.to_owned() };
        assert_eq!(changes(profile("goose"), &wanted, &with_options), Ok(vec![option("m", "b"), option("e", "high")]));
        let with_models = opened(
            r#"{"sessionId":"s","models":{"currentModelId":"a","availableModels":[
            {"modelId":"a","name":"A"},{"modelId":"b","name":"B"}]}}"#,
        );
        let wanted = SessionSpec { model: Some("b".into()), ..spec() };
        assert_eq!(changes(profile("goose"), &wanted, &with_models), Ok(vec![ModeChange::Model("b".to_owned())]));
    }
}
