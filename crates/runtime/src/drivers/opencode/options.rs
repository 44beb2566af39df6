//! Options of a session: which of them OpenCode supports, and how it takes them.

use std::collections::BTreeMap;

use interlingua_protocol::opencode::{
    Config, McpServerConfig, PermissionAction, PermissionRule, PromptOptions, PromptPart, SessionOptions, file_part,
    local_mcp_server, oauth_client, parse_model, permission_rule, remote_mcp_server, text_part,
};
use interlingua_schema::{Attachment, Message};

use crate::attachments::{self, PromptAttachment};
use crate::driver::SessionSpec;
use crate::error::Refusal;
use crate::mcp::{McpOauth, McpServer, McpServers, SupportedOptions};
use crate::permission_mode::PermissionMode;

/// The modes of every OpenCode installation.
const BUILT_IN_MODES: [&str; 2] = ["build", "plan"];

/// Refuses options that OpenCode does not support. `listed` are its modes, if they were listed.
pub(super) fn check(spec: &SessionSpec, listed: Option<&[String]>) -> Result<(), Refusal> {
    if let Some(mode) = spec.agent_mode.as_deref() {
        let listed = listed.map(|modes| modes.iter().map(String::as_str).collect());
        let known: Vec<&str> = listed.unwrap_or_else(|| BUILT_IN_MODES.to_vec());
        if !known.contains(&mode) {
            return Err(Refusal::mode("agentMode", mode, &known));
        }
    }
    spec.mcp.check_options("OpenCode", SupportedOptions { timeout: true, oauth: true })?;
    match spec.model.as_deref() {
        Some(model) if parse_model(model).is_none() => {
            Err(Refusal::field("model", format!("expected `provider/model`, found {model:?}")))
        }
        _ => Ok(()),
    }
}

/// The options with which the session is created.
pub(super) fn session_options(spec: &SessionSpec) -> SessionOptions {
    SessionOptions { title: spec.title.clone(), permission: Some(permission_rules(spec.permission_mode)) }
}

/// The permissions of the session, in addition to the user's configuration. The last rule that matches counts.
fn permission_rules(mode: PermissionMode) -> Vec<PermissionRule> {
    use PermissionAction::{Allow, Ask, Deny};
    let rules = match mode {
        // OpenCode's own default rarely asks; with these rules it asks when the other agents do.
        PermissionMode::Default => vec![("edit", Ask), ("bash", Ask), ("webfetch", Ask)],
        PermissionMode::Plan => vec![("edit", Deny), ("bash", Deny)],
        PermissionMode::AcceptEdits => vec![("edit", Allow), ("bash", Ask), ("webfetch", Ask)],
        PermissionMode::Bypass => vec![("*", Allow)],
    };
    rules.into_iter().map(|(permission, action)| permission_rule(permission, action)).collect()
}

/// The options of every prompt of the session.
pub(super) fn prompt_options(spec: &SessionSpec) -> PromptOptions {
    PromptOptions {
        model: spec.model.as_deref().and_then(parse_model),
        agent: spec.agent_mode.clone(),
        variant: spec.variant.clone(),
    }
}

/// The parts of a message.
pub(super) async fn prompt_parts(message: &Message) -> Result<Vec<PromptPart>, String> {
    let mut parts = Vec::new();
    if !message.text.is_empty() {
        parts.push(text_part(message.text.as_str()));
    }
    for attachment in &message.attachments {
        parts.push(attachment_part(attachment).await?);
    }
    Ok(parts)
}

/// A file. OpenCode reads files of a known type; others are named by their paths.
async fn attachment_part(attachment: &Attachment) -> Result<PromptPart, String> {
    let is_text = |mime: &&str| mime.starts_with("text/");
    let mime = attachments::mime_type(attachment).or_else(|| attachment.mime.as_deref().filter(is_text));
    if let Some(mime) = mime {
        let url = reqwest::Url::from_file_path(&attachment.path)
            .map_err(|()| format!("attachment {} is not an absolute path", attachment.path))?;
        // `text/plain` is the only text type that OpenCode reads.
        let mime = if mime.starts_with("text/") { "text/plain" } else { mime };
        let name = attachment.filename.as_deref().or_else(|| attachment.path.rsplit('/').next());
        return Ok(file_part(mime, name, url.as_str()));
    }
    match attachments::read(attachment, &[]).await? {
        PromptAttachment::Path(named) => Ok(text_part(named)),
        PromptAttachment::Content { .. } => Err(format!("cannot send attachment {} by its path", attachment.path)),
    }
}

/// The configuration of MCP servers.
pub(super) fn mcp_configuration(servers: &McpServers) -> Config {
    let servers = servers.iter().map(|(name, server)| (name.to_owned(), mcp_server(server)));
    Config { mcp: Some(servers.collect()), ..Config::new() }
}

fn mcp_server(server: &McpServer) -> McpServerConfig {
    let secrets: BTreeMap<String, String> =
        server.secrets().iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let config = match server {
        McpServer::Local { command, args, .. } => {
            local_mcp_server(std::iter::once(command).chain(args).cloned().collect(), secrets)
        }
        McpServer::Remote { url, oauth, .. } => McpServerConfig {
            oauth: oauth.clone().map(|oauth| match oauth {
                McpOauth::Off => false.into(),
                McpOauth::Client { id, scope } => oauth_client(id, scope),
            }),
            ..remote_mcp_server(url, secrets)
        },
    };
    let timeout = server.options().timeout.and_then(|timeout| i64::try_from(timeout.as_millis()).ok());
    McpServerConfig { timeout, ..config }
}

#[cfg(test)]
mod tests {
    use interlingua_convert::Agent;
    use interlingua_protocol::opencode::{Request, Requests};
    use serde_json::{Value, json};

    use super::*;

    /// The body of a request.
    fn body(request: impl Into<Request>) -> Value {
        serde_json::from_str(&request.into().to_call(None).body.unwrap()).unwrap()
    }

    fn session(spec: &SessionSpec) -> Value {
        body(Requests::new().create_session(session_options(spec)))
    }

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
        assert_eq!(check(&spec, None).is_ok(), Agent::OpenCode.descriptor().has_model_variants);
    }

    #[test]
    fn an_unknown_mode_or_model_is_refused() {
        let named = |mode: &str| SessionSpec { agent_mode: Some(mode.to_owned()), ..spec() };
        assert_eq!(check(&named("plan"), None), Ok(()));
        assert!(check(&named("review"), None).is_err());
        assert_eq!(check(&named("review"), Some(&["build".to_owned(), "review".to_owned()])), Ok(()));
        assert!(check(&SessionSpec { model: Some("gpt".to_owned()), ..spec() }, None).is_err());
    }

    #[test]
    fn permission_modes_are_rules_of_the_session() {
        let ask_rules: Vec<Value> = ["edit", "bash", "webfetch"]
            .map(|permission| json!({"permission": permission, "pattern": "*", "action": "ask"}))
            .to_vec();
        assert_eq!(session(&spec()), json!({"permission": ask_rules}));
        let plan = session(&SessionSpec { permission_mode: PermissionMode::Plan, ..spec() });
        assert_eq!(plan["permission"][0], json!({"permission": "edit", "pattern": "*", "action": "deny"}));
        let bypass = session(&SessionSpec { permission_mode: PermissionMode::Bypass, ..spec() });
        assert_eq!(bypass["permission"], json!([{"permission": "*", "pattern": "*", "action": "allow"}]));
    }

    #[tokio::test]
    async fn a_prompt_has_its_model_mode_and_files() {
        let file = |path: &str, mime: Option<&str>| Attachment::new(path).mime(mime.map(str::to_owned));
        let attachments = vec![file("/a b.png", None), file("/n.md", Some("text/markdown")), file("/x.bin", None)];
        let message = Message::new("look").attachments(attachments);
        let spec = SessionSpec {
            model: Some("lab/one/two".to_owned()),
            agent_mode: Some("plan".to_owned()),
            variant: Some("high".to_owned()),
            ..spec()
        };
        let parts = prompt_parts(&message).await.unwrap();
        let body = body(Requests::new().prompt("ses_1", parts, prompt_options(&spec)));
        assert_eq!(body["model"], json!({"providerID": "lab", "modelID": "one/two"}));
        assert_eq!((&body["agent"], &body["variant"]), (&json!("plan"), &json!("high")));
        let image = json!({"type": "file", "mime": "image/png", "filename": "a b.png", "url": "file:///a%20b.png"});
        assert_eq!(body["parts"][1], image);
        assert_eq!(body["parts"][2]["mime"], "text/plain");
        assert_eq!(body["parts"][3]["text"], "Attached file: /x.bin");
    }

    #[test]
    fn mcp_servers_have_their_commands_urls_and_secrets() {
        let servers = r#"{"tiny":{"command":"tiny","args":["-x"],"env":{"KEY":"s"},"timeoutMs":500},
            "far":{"type":"sse","url":"http://far","headers":{"Authorization":"t"},"oauth":{"clientId":"c"}},
            "open":{"url":"http://open","oauth":false}}"#;
        let configuration = mcp_configuration(&serde_json::from_str(servers).unwrap());
        let expected = json!({"mcp": {
            "tiny": {
                "type": "local", "command": ["tiny", "-x"], "environment": {"KEY": "s"}, "enabled": true, "timeout": 500,
            },
            "far": {
                "type": "remote", "url": "http://far", "headers": {"Authorization": "t"}, "enabled": true,
                "oauth": {"clientId": "c"},
            },
            "open": {"type": "remote", "url": "http://open", "headers": {}, "enabled": true, "oauth": false},
        }});
        assert_eq!(serde_json::to_value(configuration).unwrap(), expected);
    }
}
