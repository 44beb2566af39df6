//! The table of an audit for people.

use std::io::{self, Write};

use super::report::{FileReport, PartReport, TypeReport, truncate};

/// Maximum width of the first column. Names come from the agent and may have any length.
const MAX_NAME_WIDTH: usize = 120;

const COLUMNS: [&str; 5] = ["type", "lines", "decoded", "unknown tag", "malformed"];

/// Writes the table of one file.
pub(super) fn write(report: &FileReport, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} ({})", report.file, report.agent)?;
    if report.types.is_empty() {
        return writeln!(out, "  no payloads of the agent\n");
    }
    let longest = report.types.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let width = longest.clamp(COLUMNS[0].len(), MAX_NAME_WIDTH);
    let [name, lines, decoded, unknown_tag, malformed] = COLUMNS;
    writeln!(out, "  {name:<width$}  {lines:>6}  {decoded:>7}  {unknown_tag:>11}  {malformed:>9}")?;
    for row in &report.types {
        write_row(row, width, out)?;
    }
    let sum = |count: fn(&TypeReport) -> u64| report.types.iter().map(count).sum::<u64>();
    let total = TypeReport {
        name: "total".to_owned(),
        lines: sum(|row| row.lines),
        decoded: sum(|row| row.decoded),
        unknown_tag: sum(|row| row.unknown_tag),
        malformed: sum(|row| row.malformed),
        ..TypeReport::default()
    };
    write_row(&total, width, out)?;
    writeln!(out)
}

fn write_row(row: &TypeReport, width: usize, out: &mut impl Write) -> io::Result<()> {
    let TypeReport { lines, decoded, unknown_tag, malformed, .. } = row;
    let name = truncate(&row.name, MAX_NAME_WIDTH);
    write!(out, "  {name:<width$}  {lines:>6}  {decoded:>7}  {unknown_tag:>11}  {malformed:>9}")?;
    if row.untyped > 0 {
        write!(out, "  {} untyped", row.untyped)?;
    }
    if row.not_json > 0 {
        write!(out, "  {} not JSON", row.not_json)?;
    }
    writeln!(out)?;
    for reason in &row.reasons {
        writeln!(out, "    ! {reason}")?;
    }
    for PartReport { path, reason, count } in &row.misfits {
        writeln!(out, "    ~ {path} left out: {reason} ({count}x)")?;
    }
    for PartReport { path, reason, count } in &row.missing {
        writeln!(out, "    - {path}: {reason} ({count}x)")?;
    }
    for PartReport { path, reason, count } in &row.unknown_values {
        writeln!(out, "    ? {path}: {reason} ({count}x)")?;
    }
    for (path, example) in &row.unknown_fields {
        writeln!(out, "    + {path} = {example}")?;
    }
    Ok(())
}
