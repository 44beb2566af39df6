//! Which scenario was played on which agent.

use std::fmt::Write as _;

/// What became of a scenario on an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// There was no recording of it.
    New,
    /// The recording was as the one before.
    Same,
    /// The recording was different and was replaced.
    Changed,
    /// It could not be played.
    Failed,
    /// It is not for this agent, for a reason.
    Absent(String),
}

/// The table as text: one line per scenario, then the reasons for what is missing.
pub(crate) fn render(agents: &[String], rows: &[(String, Vec<Cell>)]) -> String {
    let mut reasons: Vec<String> = Vec::new();
    let mut lines = vec![std::iter::once("scenario".to_owned()).chain(agents.iter().cloned()).collect::<Vec<_>>()];
    for (scenario, cells) in rows {
        let mut line = vec![scenario.clone()];
        for (cell, agent) in cells.iter().zip(agents) {
            line.push(match cell {
                Cell::New => "new".to_owned(),
                Cell::Same => "same".to_owned(),
                Cell::Changed => "changed".to_owned(),
                Cell::Failed => "FAILED".to_owned(),
                Cell::Absent(reason) => {
                    let name = agent.split('@').next().unwrap_or(agent);
                    let reason = format!("{name}: {reason}");
                    let known = reasons.iter().position(|other| *other == reason);
                    let number = known.unwrap_or_else(|| {
                        reasons.push(reason);
                        reasons.len() - 1
                    });
                    format!("[{}]", number + 1)
                }
            });
        }
        lines.push(line);
    }
    let columns = agents.len() + 1;
    let widths: Vec<usize> =
        (0..columns).map(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for line in lines {
        let padded: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "{}", padded.join("  ").trim_end());
    }
    for (reason, number) in reasons.iter().zip(1..) {
        let _ = writeln!(text, "[{number}] {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cell_has_a_reason_that_is_said_once() {
        let agents = ["claude@2".to_owned(), "codex@0.1".to_owned()];
        let absent = Cell::Absent("it cannot".to_owned());
        let rows =
            [("one".to_owned(), vec![Cell::Same, absent.clone()]), ("another".to_owned(), vec![Cell::Failed, absent])];
        assert_eq!(
            render(&agents, &rows),
            "scenario  claude@2  codex@0.1\none       same      [1]\nanother   FAILED    [1]\n[1] codex: it cannot\n"
        );
    }
}
