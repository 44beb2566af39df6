//! Options of a session: which of them Codex supports, as options of a thread and its turns.

use interlingua_convert::Agent;
use interlingua_native::codex::{AskForApprovalText, LocalImageUserInput, SandboxMode, TextUserInput, UserInput};
use interlingua_native::new;
use interlingua_protocol::codex::{self, ConfigOverrides, PlanMode, ThreadOptions, support};
use interlingua_schema::Message;
use semver::Version;

use crate::agents::Mode;
use crate::attachments::{self, PromptAttachment};
use crate::driver::SessionSpec;
use crate::drivers::refuse_unsupported;
use crate::error::Refusal;
use crate::mcp::{McpServer, SupportedOptions};
use crate::permission_mode::PermissionMode;

/// The mode of a session that was created without one.
pub(super) const BUILD: &str = "build";
const PLAN: &str = "plan";
/// Efforts that older versions do not support.
const HIGHEST_EFFORTS: [&str; 2] = ["max", "ultra"];

/// The modes of a Codex session.
pub(super) fn modes() -> Vec<Mode> {
    vec![
        Mode::new(BUILD, "Build", "Works on the task, within its permissions"),
        Mode::new(PLAN, "Plan", "Explores, asks questions, and proposes a plan"),
    ]
}

/// Refuses options that a version does not support.
pub(super) fn check(spec: &SessionSpec, version: Option<&Version>) -> Result<(), Refusal> {
    if let Some(mode) = spec.agent_mode.as_deref().filter(|mode| ![BUILD, PLAN].contains(mode)) {
        return Err(Refusal::mode("agentMode", mode, &[BUILD, PLAN]));
    }
    if spec.agent_mode.as_deref() == Some(PLAN) {
        refuse_unsupported(Agent::Codex, "agentMode", PLAN, &support::COLLABORATION_MODE, version)?;
    }
    // The efforts depend on the model, and the list of models changes.
    if let Some(variant) = spec.variant.as_deref().filter(|variant| !is_word(variant)) {
        return Err(Refusal::field("variant", format!("expected an effort such as `high`, found {variant:?}")));
    }
    if let Some(variant) = spec.variant.as_deref().filter(|variant| HIGHEST_EFFORTS.contains(variant)) {
        refuse_unsupported(Agent::Codex, "variant", variant, &support::HIGHEST_EFFORTS, version)?;
    }
    if let Some(model) = spec.model.as_deref().filter(|model| model.trim().is_empty()) {
        return Err(Refusal::field("model", format!("expected the name of a model, found {model:?}")));
    }
    spec.mcp.check_options("Codex", SupportedOptions { timeout: true, ..SupportedOptions::default() })?;
    for (name, server) in spec.mcp.iter() {
        if !is_word(name) {
            let detail = format!("expected an MCP server name of letters, digits, `-` and `_`, found {name:?}");
            return Err(Refusal::field("mcp", detail));
        }
        if matches!(server, McpServer::Remote { sse: true, .. }) {
            let detail = format!("Codex does not support SSE for MCP server `{name}`: expected `http` or `stdio`");
            return Err(Refusal::field("mcp", detail));
        }
    }
    Ok(())
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
}

/// The options of the session's thread.
pub(super) fn thread_options(spec: &SessionSpec) -> ThreadOptions {
    let (approval_policy, sandbox) = match spec.permission_mode {
        // Codex's own defaults: it works in its directory, and asks for anything else.
        PermissionMode::Default | PermissionMode::AcceptEdits => {
            (AskForApprovalText::OnRequest, SandboxMode::WorkspaceWrite)
        }
        PermissionMode::Plan => (AskForApprovalText::Never, SandboxMode::ReadOnly),
        PermissionMode::Bypass => (AskForApprovalText::Never, SandboxMode::DangerFullAccess),
    };
    let mcp_servers = spec.mcp.iter().map(|(name, server)| (name.to_owned(), mcp_server(server)));
    ThreadOptions {
        cwd: Some(spec.directory.to_string_lossy().into_owned()),
        approval_policy: Some(approval_policy),
        sandbox: Some(sandbox),
        model: spec.model.clone(),
        config: ConfigOverrides { reasoning_effort: spec.variant.clone(), mcp_servers: mcp_servers.collect() },
    }
}

fn mcp_server(server: &McpServer) -> codex::McpServer {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let secrets = server.secrets().iter().map(owned).collect();
    let transport = match server {
        McpServer::Local { command, args, .. } => {
            codex::McpTransport::Local { command: command.clone(), args: args.clone(), env: secrets }
        }
        McpServer::Remote { url, .. } => codex::McpTransport::Remote { url: url.clone(), http_headers: secrets },
    };
    codex::McpServer::new(transport).timeout(server.options().timeout)
}

/// Plan mode, if the session uses it. `model` is the model of the thread.
pub(super) fn plan_mode(spec: &SessionSpec, model: Option<&str>) -> Result<Option<PlanMode>, String> {
    if spec.agent_mode.as_deref() != Some(PLAN) {
        return Ok(None);
    }
    let Some(model) = model else {
        return Err("plan mode needs a model, and Codex reported none: create the session with `model`".to_owned());
    };
    Ok(Some(PlanMode { model: model.to_owned(), reasoning_effort: spec.variant.clone() }))
}

/// A message as the input of a turn. Images are attached; other files are named by their paths.
pub(super) async fn user_input(message: &Message) -> Result<Vec<UserInput>, String> {
    let mut input = Vec::new();
    if !message.text.is_empty() {
        input.push(new!(TextUserInput { text: &*message.text }).into());
    }
    for attachment in &message.attachments {
        if attachments::mime_type(attachment).is_some_and(|mime| mime.starts_with("image/")) {
            input.push(new!(LocalImageUserInput { path: &*attachment.path }).into());
        } else if let PromptAttachment::Path(named) = attachments::read(attachment, &[]).await? {
            input.push(new!(TextUserInput { text: named }).into());
        }
    }
    Ok(input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::SessionSpec;
    use crate::mcp::McpServers;
    use interlingua_schema::Attachment;

    fn spec() -> SessionSpec {
        SessionSpec {
            session_id: "s".into(),
            native_session_id: None,
            directory: "/work".into(),
            agent_mode: None,
            permission_mode: PermissionMode::Default,
            model: None,
            variant: None,
            agent_version: None,
            title: None,
            env: crate::environment::Environment::default(),
            mcp: McpServers::default(),
        }
    }

    #[test]
    fn variants_are_accepted_as_the_descriptor_declares() {
        let spec = SessionSpec { variant: Some("high".into()), ..spec() };
        assert_eq!(check(&spec, None).is_ok(), Agent::Codex.descriptor().has_model_variants);
    }

    #[test]
    fn permission_modes_are_policies_and_sandboxes() {
        let options = |permission_mode| {
            let options = thread_options(&SessionSpec { permission_mode, ..spec() });
            (options.approval_policy.unwrap(), options.sandbox.unwrap())
        };
        let default = (AskForApprovalText::OnRequest, SandboxMode::WorkspaceWrite);
        assert_eq!(options(PermissionMode::Default), default);
        assert_eq!(options(PermissionMode::Plan), (AskForApprovalText::Never, SandboxMode::ReadOnly));
        assert_eq!(options(PermissionMode::Bypass), (AskForApprovalText::Never, SandboxMode::DangerFullAccess));
    }

    #[test]
    fn secrets_of_mcp_servers_are_sent_and_redacted_in_the_stream() {
        let mcp = serde_json::from_str(r#"{"tiny":{"command":"tiny","env":{"KEY":"s3cret"}}}"#).unwrap();
        let options = thread_options(&SessionSpec { mcp, variant: Some("high".to_owned()), ..spec() });
        let sent = options.clone().open(None).into_line(1);
        assert!(sent.contains("s3cret") && sent.contains("high"), "{sent}");
        let shown = options.redacted().open(None).into_line(1);
        assert!(!shown.contains("s3cret") && shown.contains("KEY"), "{shown}");
    }

    #[test]
    fn unsupported_options_are_refused() {
        assert!(check(&SessionSpec { agent_mode: Some("custom".to_owned()), ..spec() }, None).is_err());
        assert!(check(&SessionSpec { variant: Some("very high".to_owned()), ..spec() }, None).is_err());
        let mcp = serde_json::from_str(r#"{"far":{"type":"sse","url":"http://x"}}"#).unwrap();
        assert!(check(&SessionSpec { mcp, ..spec() }, None).is_err());
        assert_eq!(check(&SessionSpec { agent_mode: Some("plan".to_owned()), ..spec() }, None), Ok(()));
    }

    #[tokio::test]
    async fn images_are_attached_and_other_files_are_named() {
        let file = |path: &str| Attachment::new(path);
        let message = Message::new("look").attachments(vec![file("/a.png"), file("/b.txt")]);
        let (text, named) =
            (new!(TextUserInput { text: "look" }), new!(TextUserInput { text: "Attached file: /b.txt" }));
        let input = [text.into(), new!(LocalImageUserInput { path: "/a.png" }).into(), named.into()];
        assert_eq!(user_input(&message).await.unwrap(), input);
    }

    #[test]
    fn plan_mode_needs_a_model() {
        let planning = SessionSpec { agent_mode: Some("plan".to_owned()), ..spec() };
        let plan = PlanMode { model: "m".to_owned(), reasoning_effort: None };
        assert_eq!(plan_mode(&planning, Some("m")), Ok(Some(plan)));
        assert!(plan_mode(&planning, None).is_err());
        assert_eq!(plan_mode(&spec(), None), Ok(None));
    }
}
