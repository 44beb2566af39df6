//! What releases before 0.99 said beside the notifications of today: everything, once more.

use serde::Deserialize;

use super::{CodexConverter, WHERE};
use crate::Drafts;

/// The names under which the older protocol said it.
pub(super) const PREFIX: &str = "codex/event/";

const TWICE: &str = "said once more in the older protocol";

/// A notification that the schema does not know.
pub(super) fn notification(tag: String, out: &mut Drafts) {
    match tag.as_str() {
        "authStatusChange" | "loginChatGptComplete" | "sessionConfigured" => out.dropped(TWICE),
        _ => out.current().unparsed(WHERE, format!("unknown notification `{tag}`"), Some(tag)),
    }
}

/// An event of the older protocol. These few had no notification yet.
pub(super) fn event(converter: &mut CodexConverter, name: &str, params: &str, out: &mut Drafts) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        conversation_id: Option<String>,
        msg: Message,
    }
    #[derive(Deserialize)]
    struct Message {
        message: Option<String>,
        #[serde(default)]
        failed: Vec<Failed>,
    }
    #[derive(Deserialize)]
    struct Failed {
        server: String,
        error: Option<String>,
    }
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    if !matches!(name, "warning" | "background_event" | "mcp_startup_complete") {
        return out.dropped(TWICE);
    }
    let Ok(Params { conversation_id, msg }) = serde_json::from_str::<Params>(params) else {
        return out.dropped(TWICE);
    };
    let failed = msg.failed.into_iter().map(|failed| {
        let why = failed.error.map(|error| format!(": {error}")).unwrap_or_default();
        format!("MCP server {} failed{why}", failed.server)
    });
    let notices: Vec<String> = msg.message.into_iter().chain(failed).collect();
    if notices.is_empty() {
        return out.dropped(TWICE);
    }
    for notice in notices {
        converter.notice(conversation_id.as_deref(), notice, out);
    }
}
