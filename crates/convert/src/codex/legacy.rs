//! What releases before 0.99 said beside the notifications of today: everything, once more.

use serde::Deserialize;

use super::notifications::outcome;
use super::{CodexConverter, WHERE};
use crate::Drafts;

/// The names under which the older protocol said it.
pub(super) const PREFIX: &str = "codex/event/";

const TWICE: &str = "said once more in the older protocol";

/// A notification that the schema does not know.
pub(super) fn notification(tag: String, out: &mut Drafts) {
    match tag.as_str() {
        "authStatusChange" | "loginChatGptComplete" | "sessionConfigured" => out.dropped(TWICE),
        _ => out.current_session().unparsed(WHERE, format!("unknown notification `{tag}`"), Some(tag)),
    }
}

/// What an event says, as far as it is looked into.
#[derive(Deserialize)]
struct Told {
    message: Option<String>,
    server_name: Option<String>,
    success: Option<bool>,
    #[serde(default)]
    failed: Vec<Failed>,
}

/// An MCP server that did not start.
#[derive(Deserialize)]
struct Failed {
    server: String,
    error: Option<String>,
}

/// How the notices of an event are made; `None` for one that a notification tells as well.
fn teller(name: &str) -> Option<fn(Told) -> Vec<String>> {
    match name.strip_prefix(PREFIX).unwrap_or(name) {
        "warning" | "background_event" => Some(|msg| msg.message.into_iter().collect()),
        "mcp_startup_complete" => Some(servers),
        "elicitation_request" => Some(|msg| vec![elicitation(msg)]),
        "undo_completed" => Some(|msg| vec![msg.message.unwrap_or_else(|| outcome("undo", msg.success, None))]),
        _ => None,
    }
}

/// Whether no notification tells this event. Only then its parameters are of use.
pub(super) fn is_news(name: &str) -> bool {
    teller(name).is_some()
}

/// An event of the older protocol.
pub(super) fn event(converter: &mut CodexConverter, name: &str, params: &str, out: &mut Drafts) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        conversation_id: Option<String>,
        msg: Told,
    }
    let Some(tell) = teller(name) else {
        return out.dropped(TWICE);
    };
    let Ok(Params { conversation_id, msg }) = serde_json::from_str::<Params>(params) else {
        return out.dropped(TWICE);
    };
    let notices = tell(msg);
    if notices.is_empty() {
        return out.dropped(TWICE);
    }
    for notice in notices {
        converter.notice(conversation_id.as_deref(), notice, out);
    }
}

/// The servers that did not start.
fn servers(msg: Told) -> Vec<String> {
    let failed = msg.failed.into_iter().map(|failed| {
        let why = failed.error.map(|error| format!(": {error}")).unwrap_or_default();
        format!("MCP server {} failed{why}", failed.server)
    });
    failed.collect()
}

/// A server asks the user. The host was not asked and cannot answer, so this is all that is ever heard of it.
fn elicitation(msg: Told) -> String {
    format!("MCP server {} asks: {}", msg.server_name.unwrap_or_default(), msg.message.unwrap_or_default())
}
