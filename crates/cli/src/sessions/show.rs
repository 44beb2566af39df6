//! `interlingua sessions show`.

use std::io::{self, Write};

use interlingua_client::{Client, PendingRequest, SessionInfo};
use interlingua_schema::Timestamp;

use super::print;
use super::server_args::client_error;
use crate::Outcome;
use crate::output::Output;
use crate::show::sanitize;

pub(super) async fn show(client: &Client, id: &str, json: bool) -> anyhow::Result<Outcome> {
    let session = client.session(id).await.map_err(client_error)?;
    if json {
        return print(&serde_json::to_value(&session)?.to_string());
    }
    let mut output = Output::new();
    write(&session, &mut output)?;
    output.flush()?;
    Ok(Outcome::Success)
}

/// Writes one line per fact, and leaves out what is not known.
fn write(session: &SessionInfo, output: &mut impl Write) -> io::Result<()> {
    let mut line = |name: &str, value: &str| {
        let value = sanitize(value).replace('\n', " ");
        if value.is_empty() { Ok(()) } else { writeln!(output, "{name:<12} {value}") }
    };
    let or_empty = |value: &Option<String>| value.clone().unwrap_or_default();
    line("session", &session.session_id)?;
    line("title", &or_empty(&session.title))?;
    line("agent", &session.agent)?;
    line("model", &session.model)?;
    line("variant", &or_empty(&session.variant))?;
    line("mode", &session.agent_mode)?;
    line("permissions", &or_empty(&session.permission_mode))?;
    line("directory", &or_empty(&session.directory))?;
    line("native id", &or_empty(&session.native_session_id))?;
    line("state", &session.state.to_string())?;
    line("last turn", &or_empty(&session.last_turn_status))?;
    for request in &session.pending {
        let id = request.id().unwrap_or_default();
        line("waits for", &format!("{}: {} [{id}]", request.kind, request_text(request)))?;
    }
    line("needs", &session.secrets_missing.join(", "))?;
    line("queued", &session.queued.to_string())?;
    line("events", &session.event_count.to_string())?;
    if let Some(usage) = &session.usage {
        let cost = usage.cost_usd.map(|cost| format!(", ${cost}")).unwrap_or_default();
        line("usage", &format!("{} input tokens, {} output tokens{cost}", usage.input_tokens, usage.output_tokens))?;
    }
    let labels: Vec<String> = session.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    line("labels", &labels.join(" "))?;
    line("created", &Timestamp::from_millis(session.created_at).to_string())?;
    line("updated", &Timestamp::from_millis(session.updated_at).to_string())
}

/// What a request asks.
pub(super) fn request_text(request: &PendingRequest) -> &str {
    ["action", "prompt"].iter().find_map(|key| request.data.get(*key)?.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_known_fact_is_one_line_without_escape_sequences() {
        let session: SessionInfo = serde_json::from_value(json!({
            "sessionId": "s", "agent": "mock", "agentMode": "build", "model": "mock", "state": "waiting", "ended": false,
            "eventCount": 7, "createdAt": 0, "updatedAt": 1, "title": "two\nlines\u{1b}[2J", "queued": 1,
            "pending": [{ "kind": "permission", "permission_id": "p1", "action": "Run make" }],
            "usage": { "input_tokens": 3, "output_tokens": 4, "cost_usd": 0.5 }, "labels": { "team": "core" },
        }))
        .unwrap();
        let mut out = Vec::new();
        write(&session, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "session      s\ntitle        two lines\nagent        mock\nmodel        mock\nmode         build\n\
             state        waiting\nwaits for    permission: Run make [p1]\nqueued       1\nevents       7\n\
             usage        3 input tokens, 4 output tokens, $0.5\nlabels       team=core\n\
             created      1970-01-01T00:00:00.000Z\nupdated      1970-01-01T00:00:00.001Z\n"
        );
    }
}
