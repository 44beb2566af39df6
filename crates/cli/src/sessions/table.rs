//! The table of `interlingua sessions list`.

use std::io::{self, Write};

use interlingua_client::SessionInfo;
use interlingua_schema::Timestamp;

use super::show::request_text;
use crate::show::{sanitize, truncate};

/// Maximum number of characters of a request.
const MAX_REQUEST_CHARS: usize = 60;

/// Writes a table with one session per line.
pub(super) fn write(sessions: &[SessionInfo], output: &mut impl Write) -> io::Result<()> {
    if sessions.is_empty() {
        return writeln!(output, "no sessions");
    }
    let rows: Vec<[String; 7]> = sessions.iter().map(table_row).collect();
    let header = ["SESSION", "AGENT", "STATE", "EVENTS", "UPDATED", "TITLE", "WAITS FOR"].map(str::to_owned);
    let widths: [usize; 7] = std::array::from_fn(|column| {
        let cells = rows.iter().chain([&header]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    });
    for row in [&header].into_iter().chain(&rows) {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(output, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn table_row(session: &SessionInfo) -> [String; 7] {
    let one_line = |text: &str| sanitize(text).replace('\n', " ");
    [
        one_line(&session.session_id),
        one_line(&session.agent),
        one_line(&session.state.to_string()),
        session.event_count.to_string(),
        Timestamp::from_millis(session.updated_at).to_string(),
        one_line(session.title.as_deref().unwrap_or_default()),
        waits_for(session),
    ]
}

/// The oldest open request and the number of further ones, or the values that are missing.
fn waits_for(session: &SessionInfo) -> String {
    let Some(oldest) = session.pending.first() else { return session.secrets_missing.join(", ") };
    let text = truncate(&sanitize(request_text(oldest)).replace('\n', " "), MAX_REQUEST_CHARS);
    match session.pending.len() {
        1 => text,
        count => format!("{text} (+{})", count - 1),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_aligned_and_escape_sequences_are_removed() {
        let session = |id: &str, agent: &str, state: &str, updated_at: i64, title: Option<&str>| -> SessionInfo {
            serde_json::from_value(json!({
                "sessionId": id, "agent": agent, "state": state, "ended": false, "eventCount": 9 + updated_at, "createdAt": 0,
                "updatedAt": updated_at, "title": title,
            }))
            .unwrap()
        };
        let mut sessions =
            [session("a", "mock", "waiting", 0, None), session("longer", "claude", "ended", 1, Some("x\u{1b}[2Jy"))];
        for action in ["Run\nmake", "Edit x"] {
            let request = json!({ "kind": "permission", "permission_id": "p", "action": action });
            sessions[0].pending.push(serde_json::from_value(request).unwrap());
        }
        let mut out = Vec::new();
        write(&sessions, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "SESSION  AGENT   STATE    EVENTS  UPDATED                   TITLE  WAITS FOR\n\
             a        mock    waiting  9       1970-01-01T00:00:00.000Z         Run make (+1)\n\
             longer   claude  ended    10      1970-01-01T00:00:00.001Z  xy\n"
        );
    }
}
