//! Types of the HTTP API as types of the protocol, and the other way round.

use interlingua_client::SessionInfo;
use interlingua_native::acp::{McpServer, McpServerType, SessionInfo as WireSessionInfo};
use interlingua_native::new;
use interlingua_schema::Timestamp;
use serde_json::{Map, Value, json};

use crate::updates::meta;

/// A session of the server as an entry of `session/list`.
pub(crate) fn to_wire_session(session: SessionInfo) -> WireSessionInfo {
    let directory = session.directory.unwrap_or_default();
    let mut wire = new!(WireSessionInfo { cwd: directory, session_id: session.session_id });
    wire.title = session.title;
    wire.updated_at = Some(Timestamp::from_millis(session.updated_at).to_string());
    wire.meta = Some(meta(&json!({ "agent": session.agent, "state": session.state })));
    wire
}

/// The values of these servers that a session of the server waits for, by the paths of their names; `None` if it waits for
/// none of them.
pub(crate) fn missing_secrets(servers: Vec<McpServer>, missing: &[String]) -> Option<Value> {
    let is_missing = |path: String| missing.contains(&path);
    let mut found = Map::new();
    for server in servers {
        let name = server.name.unwrap_or_default();
        let env = server.env.unwrap_or_default().into_iter();
        let env: Map<String, Value> = env
            .filter_map(|variable| Some((variable.name?, Value::from(variable.value?))))
            .filter(|(variable, _)| is_missing(format!("mcp.{name}.env.{variable}")))
            .collect();
        let headers = server.headers.unwrap_or_default().into_iter();
        let headers: Map<String, Value> = headers
            .filter_map(|header| Some((header.name?, Value::from(header.value?))))
            .filter(|(header, _)| is_missing(format!("mcp.{name}.headers.{header}")))
            .collect();
        let values = [("env", env), ("headers", headers)].into_iter().filter(|(_, values)| !values.is_empty());
        let values: Map<String, Value> = values.map(|(key, values)| (key.to_owned(), values.into())).collect();
        if !values.is_empty() {
            found.insert(name, values.into());
        }
    }
    (!found.is_empty()).then_some(Value::Object(found))
}

/// The servers in the form of the HTTP API; `None` if there are none.
pub(crate) fn mcp_config(servers: Vec<McpServer>) -> Option<Value> {
    let mut config = Map::new();
    for server in servers {
        let name = server.name.unwrap_or_default();
        let is_remote = matches!(server.type_, Some(McpServerType::Http | McpServerType::Sse));
        let entry = if let Some(url) = server.url.filter(|_| is_remote) {
            let headers = server.headers.unwrap_or_default().into_iter();
            let headers: Map<String, Value> =
                headers.filter_map(|header| Some((header.name?, header.value?.into()))).collect();
            json!({ "type": server.type_.as_ref().map(McpServerType::as_str), "url": url, "headers": headers })
        } else {
            let variables = server.env.unwrap_or_default().into_iter();
            let env: Map<String, Value> =
                variables.filter_map(|variable| Some((variable.name?, variable.value?.into()))).collect();
            json!({ "command": server.command, "args": server.args.unwrap_or_default(), "env": env })
        };
        config.insert(name, entry);
    }
    (!config.is_empty()).then_some(Value::Object(config))
}
