//! The table of `interlingua sessions list`.

use std::io::{self, Write};

use interlingua_client::SessionInfo;
use interlingua_schema::Timestamp;

use crate::show::sanitize;

/// Writes a table with one session per line.
pub(super) fn write(sessions: &[SessionInfo], output: &mut impl Write) -> io::Result<()> {
    if sessions.is_empty() {
        return writeln!(output, "no sessions");
    }
    let rows: Vec<[String; 6]> = sessions.iter().map(table_row).collect();
    let header = ["SESSION", "AGENT", "STATE", "EVENTS", "UPDATED", "TITLE"].map(str::to_owned);
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let cells = rows.iter().chain([&header]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    });
    for row in [&header].into_iter().chain(&rows) {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(output, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn table_row(session: &SessionInfo) -> [String; 6] {
    let one_line = |text: &str| sanitize(text).replace('\n', " ");
    [
        one_line(&session.session_id),
        one_line(&session.agent),
        one_line(&session.state.to_string()),
        session.event_count.to_string(),
        Timestamp::from_millis(session.updated_at).to_string(),
        one_line(session.title.as_deref().unwrap_or_default()),
    ]
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
        let sessions =
            [session("a", "mock", "idle", 0, None), session("longer", "claude", "ended", 1, Some("x\u{1b}[2Jy"))];
        let mut out = Vec::new();
        write(&sessions, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "SESSION  AGENT   STATE  EVENTS  UPDATED                   TITLE\n\
             a        mock    idle   9       1970-01-01T00:00:00.000Z\n\
             longer   claude  ended  10      1970-01-01T00:00:00.001Z  xy\n"
        );
    }
}
