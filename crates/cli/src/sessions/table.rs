//! Sessions as a table for people.

use std::io::{self, Write};

use interlingua_client::SessionInfo;
use interlingua_schema::Timestamp;

use crate::show::tame;

/// Writes sessions, one a line.
pub(super) fn write(sessions: &[SessionInfo], output: &mut impl Write) -> io::Result<()> {
    if sessions.is_empty() {
        return writeln!(output, "no sessions");
    }
    let rows: Vec<[String; 6]> = sessions.iter().map(row).collect();
    let head = ["SESSION", "AGENT", "STATE", "EVENTS", "UPDATED", "TITLE"].map(str::to_owned);
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    });
    for row in [&head].into_iter().chain(&rows) {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(output, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn row(session: &SessionInfo) -> [String; 6] {
    let text = |text: &str| tame(text).replace('\n', " ");
    [
        text(&session.session_id),
        text(&session.agent),
        if session.ended { "ended" } else { "open" }.to_owned(),
        session.event_count.to_string(),
        Timestamp::from_millis(session.updated_at).to_string(),
        text(session.title.as_deref().unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_line_up_and_nothing_reaches_the_terminal_but_text() {
        let session = |id: &str, agent: &str, ended: bool, updated_at: i64, title: Option<&str>| -> SessionInfo {
            serde_json::from_value(json!({
                "sessionId": id, "agent": agent, "ended": ended, "eventCount": 9 + updated_at, "createdAt": 0,
                "updatedAt": updated_at, "title": title,
            }))
            .unwrap()
        };
        let sessions =
            [session("a", "mock", false, 0, None), session("longer", "claude", true, 1, Some("x\u{1b}[2Jy"))];
        let mut out = Vec::new();
        write(&sessions, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "SESSION  AGENT   STATE  EVENTS  UPDATED                   TITLE\n\
             a        mock    open   9       1970-01-01T00:00:00.000Z\n\
             longer   claude  ended  10      1970-01-01T00:00:00.001Z  xy\n"
        );
    }
}
