//! What a session wants, as OpenCode is told.

use interlingua_schema::{Attachment, Message};
use serde_json::{Map, Value, json};

use crate::attached::{self, Attached};
use crate::driver::SessionSpec;
use crate::error::Refusal;
use crate::mcp::{McpServer, McpServers};
use crate::modes::PermissionMode;

/// The modes that every OpenCode has.
pub(super) const BUILT_IN: [&str; 2] = ["build", "plan"];

/// Refuses what it cannot honour. `said` are the modes that it has, if it was asked.
pub(super) fn check(spec: &SessionSpec, said: Option<&[String]>) -> Result<(), Refusal> {
    if let Some(mode) = spec.agent_mode.as_deref() {
        let known: Vec<&str> = said.map_or(BUILT_IN.to_vec(), |said| said.iter().map(String::as_str).collect());
        if !known.contains(&mode) {
            return Err(Refusal::mode("agentMode", mode, &known));
        }
    }
    match spec.model.as_deref() {
        Some(model) if provider_and_model(model).is_none() => {
            Err(Refusal::field("model", format!("expected `provider/model`, found {model:?}")))
        }
        _ => Ok(()),
    }
}

fn provider_and_model(model: &str) -> Option<(&str, &str)> {
    model.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
}

/// What a session is made with.
pub(super) fn session(spec: &SessionSpec) -> Value {
    let mut body = Map::new();
    if let Some(title) = &spec.title {
        body.insert("title".to_owned(), title.as_str().into());
    }
    let rules = rules(spec.permission_mode);
    if !rules.is_empty() {
        body.insert("permission".to_owned(), rules.into());
    }
    body.into()
}

/// What the session may do, on top of the user's own configuration. The last rule that fits counts.
fn rules(mode: PermissionMode) -> Vec<Value> {
    let rule = |permission: &str, action: &str| json!({"permission": permission, "pattern": "*", "action": action});
    match mode {
        // Its own default asks next to nothing; this is what the others ask.
        PermissionMode::Default => vec![rule("edit", "ask"), rule("bash", "ask"), rule("webfetch", "ask")],
        PermissionMode::Plan => vec![rule("edit", "deny"), rule("bash", "deny")],
        PermissionMode::AcceptEdits => vec![rule("edit", "allow"), rule("bash", "ask"), rule("webfetch", "ask")],
        PermissionMode::Bypass => vec![rule("*", "allow")],
    }
}

/// A message for the agent.
pub(super) async fn prompt(spec: &SessionSpec, message: &Message) -> Result<Value, String> {
    let mut parts = Vec::new();
    if !message.text.is_empty() {
        parts.push(json!({"type": "text", "text": message.text}));
    }
    for attachment in &message.attachments {
        parts.push(part(attachment).await?);
    }
    let mut body = Map::from_iter([("parts".to_owned(), Value::from(parts))]);
    if let Some((provider, model)) = spec.model.as_deref().and_then(provider_and_model) {
        body.insert("model".to_owned(), json!({"providerID": provider, "modelID": model}));
    }
    if let Some(agent) = &spec.agent_mode {
        body.insert("agent".to_owned(), agent.as_str().into());
    }
    if let Some(variant) = &spec.variant {
        body.insert("variant".to_owned(), variant.as_str().into());
    }
    Ok(body.into())
}

/// A file: it reads those itself whose kind it knows, and is told where the others are.
async fn part(attachment: &Attachment) -> Result<Value, String> {
    let is_text = |mime: &&str| mime.starts_with("text/");
    let mime = attached::mime(attachment).or_else(|| attachment.mime.as_deref().filter(is_text));
    if let Some(mime) = mime {
        let url = reqwest::Url::from_file_path(&attachment.path)
            .map_err(|()| format!("attachment {} has no absolute path", attachment.path))?;
        // What text there is, it reads as plain text alone.
        let mime = if mime.starts_with("text/") { "text/plain" } else { mime };
        let name = attachment.filename.as_deref().or_else(|| attachment.path.rsplit('/').next());
        return Ok(json!({"type": "file", "mime": mime, "filename": name, "url": url.as_str()}));
    }
    match attached::read(attachment, &[]).await? {
        Attached::Named(named) => Ok(json!({"type": "text", "text": named})),
        Attached::Bytes { .. } => Err(format!("attachment {} cannot be named", attachment.path)),
    }
}

/// OpenCode's configuration with these MCP servers in it.
pub(super) fn with_servers(configuration: Option<&str>, servers: &McpServers) -> String {
    let configuration = configuration.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let mut configuration = configuration.filter(Value::is_object).unwrap_or_else(|| json!({}));
    for (name, server) in servers.iter() {
        let secrets: Map<String, Value> =
            server.secrets().iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        configuration["mcp"][name] = match server {
            McpServer::Local { command, args, .. } => {
                let words: Vec<&String> = std::iter::once(command).chain(args).collect();
                json!({"type": "local", "command": words, "environment": secrets, "enabled": true})
            }
            // It finds out by itself which of the two transports is spoken.
            McpServer::Remote { url, .. } => {
                json!({"type": "remote", "url": url, "headers": secrets, "enabled": true})
            }
        };
    }
    configuration.to_string()
}

#[cfg(test)]
mod tests {
    use interlingua_convert::Agent;

    use super::*;

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
        assert_eq!(check(&spec, None).is_ok(), Agent::OpenCode.descriptor().has_model_variants);
    }

    #[test]
    fn a_mode_is_one_that_it_has() {
        let named = |mode: &str| SessionSpec { agent_mode: Some(mode.to_owned()), ..spec() };
        assert_eq!(check(&named("plan"), None), Ok(()));
        assert!(check(&named("review"), None).is_err());
        assert_eq!(check(&named("review"), Some(&["build".to_owned(), "review".to_owned()])), Ok(()));
        assert!(check(&SessionSpec { model: Some("gpt".to_owned()), ..spec() }, None).is_err());
    }

    #[test]
    fn permission_modes_are_rules_of_the_session() {
        let asked: Vec<Value> = ["edit", "bash", "webfetch"]
            .map(|permission| json!({"permission": permission, "pattern": "*", "action": "ask"}))
            .to_vec();
        assert_eq!(session(&spec()), json!({"permission": asked}));
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
        let body = prompt(&spec, &message).await.unwrap();
        assert_eq!(body["model"], json!({"providerID": "lab", "modelID": "one/two"}));
        assert_eq!((&body["agent"], &body["variant"]), (&json!("plan"), &json!("high")));
        let image = json!({"type": "file", "mime": "image/png", "filename": "a b.png", "url": "file:///a%20b.png"});
        assert_eq!(body["parts"][1], image);
        assert_eq!(body["parts"][2]["mime"], "text/plain");
        assert_eq!(body["parts"][3]["text"], "Attached file: /x.bin");
    }

    #[test]
    fn mcp_servers_are_added_to_the_configuration_there_is() {
        let servers = serde_json::from_str(r#"{"tiny":{"command":"tiny","args":["-x"],"env":{"KEY":"s"}}}"#).unwrap();
        let text = with_servers(Some(r#"{"model":"lab/x","mcp":{"other":{"type":"remote"}}}"#), &servers);
        let configuration: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(configuration["model"], "lab/x");
        assert_eq!(configuration["mcp"]["other"]["type"], "remote");
        assert_eq!(configuration["mcp"]["tiny"]["command"], json!(["tiny", "-x"]));
        assert_eq!(configuration["mcp"]["tiny"]["environment"]["KEY"], "s");
    }
}
