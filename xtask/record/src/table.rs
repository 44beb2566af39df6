//! A table of what was played on which agent.

use std::fmt::Write as _;

/// What became of something on an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// In a word; empty where the remark says it all.
    pub word: String,
    /// What else there is to say, which stands below the table, once.
    pub remark: Option<String>,
}

/// The table as text: one line per row, then the remarks. `first` is what the rows are, and `columns` are the agents as
/// `NAME@VERSION`.
#[must_use]
pub fn render(first: &str, columns: &[String], rows: &[(String, Vec<Entry>)]) -> String {
    let mut remarks: Vec<String> = Vec::new();
    let mut lines = vec![std::iter::once(first.to_owned()).chain(columns.iter().cloned()).collect::<Vec<_>>()];
    for (row, entries) in rows {
        let mut line = vec![row.clone()];
        for (entry, agent) in entries.iter().zip(columns) {
            let mut cell = entry.word.clone();
            if let Some(remark) = &entry.remark {
                let name = agent.split('@').next().unwrap_or(agent);
                let remark = format!("{name}: {remark}");
                let known = remarks.iter().position(|other| *other == remark);
                let number = known.unwrap_or_else(|| {
                    remarks.push(remark);
                    remarks.len() - 1
                });
                let _ = write!(cell, "{}[{}]", if cell.is_empty() { "" } else { " " }, number + 1);
            }
            line.push(cell);
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
    for (remark, number) in remarks.iter().zip(1..) {
        let _ = writeln!(text, "[{number}] {remark}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_is_numbered_and_said_once() {
        let agents = ["claude@2".to_owned(), "codex@0.1".to_owned()];
        let entry =
            |word: &str, remark: Option<&str>| Entry { word: word.to_owned(), remark: remark.map(str::to_owned) };
        let rows = [
            ("one".to_owned(), vec![entry("same", None), entry("", Some("it cannot"))]),
            ("another".to_owned(), vec![entry("FAILED", None), entry("", Some("it cannot"))]),
            ("third".to_owned(), vec![entry("pass", Some("nearly")), entry("pass", None)]),
        ];
        assert_eq!(
            render("scenario", &agents, &rows),
            "scenario  claude@2  codex@0.1\none       same      [1]\nanother   FAILED    [1]\nthird     pass [2]  pass\n\
             [1] codex: it cannot\n[2] claude: nearly\n"
        );
    }
}
