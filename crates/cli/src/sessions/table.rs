//! Sessions as a table for people.

use std::io::{self, Write};

use interlingua_schema::Timestamp;
use serde_json::Value;

use crate::show::tame;

/// Writes the sessions of a list, one a line.
pub(super) fn write(list: &Value, output: &mut impl Write) -> io::Result<()> {
    let sessions = list["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
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

fn row(session: &Value) -> [String; 6] {
    let text = |name: &str| tame(session[name].as_str().unwrap_or_default()).replace('\n', " ");
    let time = session["updatedAt"].as_i64().map(|time| Timestamp::from_millis(time).to_string());
    let state = if session["ended"] == true { "ended" } else { "open" };
    let count = session["eventCount"].as_u64().unwrap_or_default().to_string();
    [text("sessionId"), text("agent"), state.to_owned(), count, time.unwrap_or_default(), text("title")]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_line_up_and_nothing_reaches_the_terminal_but_text() {
        let list = json!({ "sessions": [
            { "sessionId": "a", "agent": "mock", "ended": false, "eventCount": 9, "updatedAt": 0, "title": null },
            { "sessionId": "longer", "agent": "claude", "ended": true, "eventCount": 10, "updatedAt": 1, "title": "x\u{1b}[2Jy" },
        ]});
        let mut out = Vec::new();
        write(&list, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "SESSION  AGENT   STATE  EVENTS  UPDATED                   TITLE\n\
             a        mock    open   9       1970-01-01T00:00:00.000Z\n\
             longer   claude  ended  10      1970-01-01T00:00:00.001Z  xy\n"
        );
    }
}
