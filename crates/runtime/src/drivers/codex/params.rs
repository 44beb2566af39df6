//! What a session wants, as the app server is told.

use interlingua_schema::Message;
use serde_json::{Map, Value, json};

use crate::agents::Mode;
use crate::attached::{self, Attached};
use crate::driver::SessionSpec;
use crate::error::Refusal;
use crate::mcp::McpServer;
use crate::modes::PermissionMode;

const BUILD: &str = "build";
const PLAN: &str = "plan";
/// What stands for a secret where others can see it.
const HIDDEN: &str = "[hidden]";

/// The modes of its sessions.
pub(super) fn modes() -> Vec<Mode> {
    vec![
        Mode::new(BUILD, "Build", "Does what it is told, within its permissions"),
        Mode::new(PLAN, "Plan", "Looks around, asks, and proposes a plan"),
    ]
}

/// Refuses what it cannot honour.
pub(super) fn check(spec: &SessionSpec) -> Result<(), Refusal> {
    if let Some(mode) = spec.agent_mode.as_deref().filter(|mode| ![BUILD, PLAN].contains(mode)) {
        return Err(Refusal::mode("agentMode", mode, &[BUILD, PLAN]));
    }
    // Which efforts there are depends on the model, and models come and go.
    if let Some(variant) = spec.variant.as_deref().filter(|variant| !is_word(variant)) {
        return Err(Refusal::field("variant", format!("expected an effort such as `high`, found {variant:?}")));
    }
    if let Some(model) = spec.model.as_deref().filter(|model| model.trim().is_empty()) {
        return Err(Refusal::field("model", format!("expected the name of a model, found {model:?}")));
    }
    for (name, server) in spec.mcp.iter() {
        if !is_word(name) {
            let detail = format!("expected an MCP server's name of letters, digits, `-` and `_`, found {name:?}");
            return Err(Refusal::field("mcp", detail));
        }
        if matches!(server, McpServer::Remote { sse: true, .. }) {
            let detail = format!("Codex cannot reach MCP server `{name}` by SSE: expected `http` or `stdio`");
            return Err(Refusal::field("mcp", detail));
        }
    }
    Ok(())
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
}

/// The request that opens a session's thread: as it is sent, and as it may be seen.
pub(super) fn opening(spec: &SessionSpec) -> (&'static str, [Value; 2]) {
    let (approval, sandbox) = match spec.permission_mode {
        // Codex's own defaults: it works in its directory, and asks where that does not do.
        PermissionMode::Default | PermissionMode::AcceptEdits => ("on-request", "workspace-write"),
        PermissionMode::Plan => ("never", "read-only"),
        PermissionMode::Bypass => ("never", "danger-full-access"),
    };
    let mut params = Map::new();
    params.insert("cwd".to_owned(), spec.directory.to_string_lossy().into());
    params.insert("approvalPolicy".to_owned(), approval.into());
    params.insert("sandbox".to_owned(), sandbox.into());
    if let Some(model) = &spec.model {
        params.insert("model".to_owned(), model.as_str().into());
    }
    let method = match &spec.native {
        None => "thread/start",
        Some(thread) => {
            params.insert("threadId".to_owned(), thread.as_str().into());
            "thread/resume"
        }
    };
    let with_config = |is_hidden: bool| {
        let mut params = params.clone();
        let config = config(spec, is_hidden);
        if !config.is_empty() {
            params.insert("config".to_owned(), config.into());
        }
        Value::Object(params)
    };
    (method, [with_config(false), with_config(true)])
}

/// What overrides the user's own configuration.
fn config(spec: &SessionSpec, is_hidden: bool) -> Map<String, Value> {
    let mut config = Map::new();
    if let Some(effort) = &spec.variant {
        config.insert("model_reasoning_effort".to_owned(), effort.as_str().into());
    }
    let secret = |(name, value): (&str, &str)| (name.to_owned(), Value::from(if is_hidden { HIDDEN } else { value }));
    for (name, server) in spec.mcp.iter() {
        let secrets: Map<String, Value> = server.secrets().iter().map(secret).collect();
        let server = match server {
            McpServer::Local { command, args, .. } => json!({"command": command, "args": args, "env": secrets}),
            McpServer::Remote { url, .. } => json!({"url": url, "http_headers": secrets}),
        };
        // By its own key, so that the user's other servers stay.
        config.insert(format!("mcp_servers.{name}"), server);
    }
    config
}

/// The parameters of a turn. `model` is the one that the thread has.
pub(super) async fn turn(
    spec: &SessionSpec,
    thread: &str,
    model: Option<&str>,
    message: &Message,
) -> Result<Value, String> {
    let mut params = json!({"threadId": thread, "input": input(message).await?});
    if spec.agent_mode.as_deref() == Some(PLAN) {
        let settings = json!({"model": model, "reasoning_effort": spec.variant, "developer_instructions": null});
        params["collaborationMode"] = json!({"mode": "plan", "settings": settings});
    }
    Ok(params)
}

/// What the user says. Images go along; of other files it is told where they are.
async fn input(message: &Message) -> Result<Vec<Value>, String> {
    let mut input = Vec::new();
    if !message.text.is_empty() {
        input.push(json!({"type": "text", "text": message.text}));
    }
    for attachment in &message.attachments {
        if attached::mime(attachment).is_some_and(|mime| mime.starts_with("image/")) {
            input.push(json!({"type": "localImage", "path": attachment.path}));
        } else if let Attached::Named(named) = attached::read(attachment, &[]).await? {
            input.push(json!({"type": "text", "text": named}));
        }
    }
    Ok(input)
}

#[cfg(test)]
mod tests {
    use interlingua_convert::Agent;

    use super::*;
    use crate::driver::SessionSpec;
    use crate::mcp::McpServers;
    use interlingua_schema::Attachment;

    fn spec() -> SessionSpec {
        SessionSpec {
            session_id: "s".into(),
            native: None,
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
    fn variants_are_taken_as_declared() {
        let spec = SessionSpec { variant: Some("high".into()), ..spec() };
        assert_eq!(check(&spec).is_ok(), Agent::Codex.descriptor().has_model_variants);
    }

    #[test]
    fn permission_modes_are_policies_and_sandboxes() {
        let of = |permission_mode| {
            let (_, [params, _]) = opening(&SessionSpec { permission_mode, ..spec() });
            (params["approvalPolicy"].clone(), params["sandbox"].clone())
        };
        assert_eq!(of(PermissionMode::Default), (json!("on-request"), json!("workspace-write")));
        assert_eq!(of(PermissionMode::Plan), (json!("never"), json!("read-only")));
        assert_eq!(of(PermissionMode::Bypass), (json!("never"), json!("danger-full-access")));
    }

    #[test]
    fn secrets_of_mcp_servers_are_sent_and_not_seen() {
        let mcp = serde_json::from_str(r#"{"tiny":{"command":"tiny","env":{"KEY":"s3cret"}}}"#).unwrap();
        let (_, [sent, seen]) = opening(&SessionSpec { mcp, variant: Some("high".to_owned()), ..spec() });
        assert_eq!(sent["config"]["mcp_servers.tiny"]["env"]["KEY"], "s3cret");
        assert_eq!(sent["config"]["model_reasoning_effort"], "high");
        assert!(!seen.to_string().contains("s3cret"), "{seen}");
    }

    #[test]
    fn what_it_cannot_honour_is_refused() {
        assert!(check(&SessionSpec { agent_mode: Some("custom".to_owned()), ..spec() }).is_err());
        assert!(check(&SessionSpec { variant: Some("very high".to_owned()), ..spec() }).is_err());
        let mcp = serde_json::from_str(r#"{"far":{"type":"sse","url":"http://x"}}"#).unwrap();
        assert!(check(&SessionSpec { mcp, ..spec() }).is_err());
        assert_eq!(check(&SessionSpec { agent_mode: Some("plan".to_owned()), ..spec() }), Ok(()));
    }

    #[tokio::test]
    async fn images_go_along_and_other_files_are_named() {
        let file = |path: &str| Attachment::new(path);
        let message = Message::new("look").attachments(vec![file("/a.png"), file("/b.txt")]);
        let planning = SessionSpec { agent_mode: Some("plan".to_owned()), ..spec() };
        let params = turn(&planning, "t", Some("m"), &message).await.unwrap();
        assert_eq!(params["input"][1], json!({"type": "localImage", "path": "/a.png"}));
        assert_eq!(params["input"][2], json!({"type": "text", "text": "Attached file: /b.txt"}));
        assert_eq!(params["collaborationMode"]["settings"]["model"], "m");
    }
}
