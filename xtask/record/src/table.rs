//! A table of results: one row per scenario or flow, one column per agent.

use std::fmt::Write as _;

/// One cell of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The result in a word; empty if the note says everything.
    pub text: String,
    /// A note below the table. Equal notes are printed once.
    pub note: Option<String>,
}

/// Renders the table: one line per row, then the notes. `row_title` is the title of the first column; `columns` are the
/// agents as `NAME@VERSION`.
#[must_use]
pub fn render(row_title: &str, columns: &[String], rows: &[(String, Vec<Cell>)]) -> String {
    let mut notes: Vec<String> = Vec::new();
    let mut lines = vec![std::iter::once(row_title.to_owned()).chain(columns.iter().cloned()).collect::<Vec<_>>()];
    for (row, cells) in rows {
        let mut line = vec![row.clone()];
        for (cell, agent) in cells.iter().zip(columns) {
            let mut text = cell.text.clone();
            if let Some(note) = &cell.note {
                let name = agent.split('@').next().unwrap_or(agent);
                let note = format!("{name}: {note}");
                let known = notes.iter().position(|other| *other == note);
                let number = known.unwrap_or_else(|| {
                    notes.push(note);
                    notes.len() - 1
                });
                let _ = write!(text, "{}[{}]", if text.is_empty() { "" } else { " " }, number + 1);
            }
            line.push(text);
        }
        lines.push(line);
    }
    let widths: Vec<usize> = (0..=columns.len())
        .map(|at| lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in lines {
        let padded: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "{}", padded.join("  ").trim_end());
    }
    for (note, number) in notes.iter().zip(1..) {
        let _ = writeln!(text, "[{number}] {note}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_notes_are_printed_once_with_their_number() {
        let agents = ["claude@2".to_owned(), "codex@0.1".to_owned()];
        let cell = |text: &str, note: Option<&str>| Cell { text: text.to_owned(), note: note.map(str::to_owned) };
        let rows = [
            ("one".to_owned(), vec![cell("same", None), cell("", Some("it cannot"))]),
            ("another".to_owned(), vec![cell("FAILED", None), cell("", Some("it cannot"))]),
            ("third".to_owned(), vec![cell("pass", Some("nearly")), cell("pass", None)]),
        ];
        assert_eq!(
            render("scenario", &agents, &rows),
            "scenario  claude@2  codex@0.1\none       same      [1]\nanother   FAILED    [1]\nthird     pass [2]  pass\n\
             [1] codex: it cannot\n[2] claude: nearly\n"
        );
    }
}
