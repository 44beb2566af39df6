//! What is wrong with a history.

use interlingua_history::HistoryReport;

use crate::Outcome;

/// Prints what is damaged. Records of unknown types only count if the command is strict.
pub(crate) fn outcome(report: &HistoryReport, is_strict: bool) -> Outcome {
    eprint!("{}", report_text(report));
    Outcome::issues_if(report.damaged > 0 || (is_strict && report.unparsed > 0))
}

/// What is damaged, one line each.
fn report_text(report: &HistoryReport) -> String {
    let mut lines: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
    let untold = report.damaged.saturating_sub(report.problems.len() as u64);
    if untold > 0 {
        lines.push(format!("and {untold} more problems"));
    }
    if report.damaged > 0 {
        let plural = if report.damaged == 1 { "" } else { "s" };
        lines.push(format!("{} problem{plural} in {} records", report.damaged, report.records));
    }
    // Each line ends with a line break.
    lines.push(String::new());
    lines.join("\n")
}
