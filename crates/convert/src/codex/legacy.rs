//! Events of the older protocol. Up to 0.98, Codex sends them beside the notifications and mostly repeats those.

use serde::Deserialize;

use super::notifications::describe_outcome;
use super::{CodexConverter, LOCATION};
use crate::Drafts;

/// Prefix of the methods of the older protocol.
pub(super) const PREFIX: &str = "codex/event/";

const DUPLICATE: &str = "duplicate in the legacy protocol";

/// Handles a notification that is not in the schema.
pub(super) fn unknown_notification(tag: String, out: &mut Drafts) {
    match tag.as_str() {
        "authStatusChange" | "loginChatGptComplete" | "sessionConfigured" => out.dropped(DUPLICATE),
        _ => out.current_session().unparsed(LOCATION, format!("unknown notification `{tag}`"), Some(tag)),
    }
}

/// Fields that are read from an event.
#[derive(Deserialize)]
struct LegacyMessage {
    message: Option<String>,
    server_name: Option<String>,
    success: Option<bool>,
    #[serde(default)]
    failed: Vec<FailedServer>,
}

/// MCP server that failed to start.
#[derive(Deserialize)]
struct FailedServer {
    server: String,
    error: Option<String>,
}

/// Function that builds the notices of an event; `None` if a notification carries the same content.
fn notice_builder(name: &str) -> Option<fn(LegacyMessage) -> Vec<String>> {
    match name.strip_prefix(PREFIX).unwrap_or(name) {
        "warning" | "background_event" => Some(|msg| msg.message.into_iter().collect()),
        "mcp_startup_complete" => Some(failed_servers),
        "elicitation_request" => Some(|msg| vec![elicitation_notice(msg)]),
        "undo_completed" => {
            Some(|msg| vec![msg.message.unwrap_or_else(|| describe_outcome("undo", msg.success, None))])
        }
        _ => None,
    }
}

/// Whether an event may lead to notices. Otherwise its parameters need no parsing.
pub(super) fn has_notices(name: &str) -> bool {
    notice_builder(name).is_some()
}

/// Converts an event of the older protocol.
pub(super) fn handle_event(converter: &mut CodexConverter, name: &str, params: &str, out: &mut Drafts) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        conversation_id: Option<String>,
        msg: LegacyMessage,
    }
    let Some(build) = notice_builder(name) else {
        return out.dropped(DUPLICATE);
    };
    let Ok(Params { conversation_id, msg }) = serde_json::from_str::<Params>(params) else {
        return out.dropped(DUPLICATE);
    };
    let notices = build(msg);
    if notices.is_empty() {
        return out.dropped(DUPLICATE);
    }
    for notice in notices {
        converter.notice(conversation_id.as_deref(), notice, out);
    }
}

/// One notice for each server that failed to start.
fn failed_servers(msg: LegacyMessage) -> Vec<String> {
    let failed = msg.failed.into_iter().map(|failed| {
        let reason = failed.error.map(|error| format!(": {error}")).unwrap_or_default();
        format!("MCP server {} failed{reason}", failed.server)
    });
    failed.collect()
}

/// Notice of a question of an MCP server. These releases do not pass the question to the host, so it cannot be
/// answered.
fn elicitation_notice(msg: LegacyMessage) -> String {
    format!("MCP server {} asks: {}", msg.server_name.unwrap_or_default(), msg.message.unwrap_or_default())
}
