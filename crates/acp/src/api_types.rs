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
