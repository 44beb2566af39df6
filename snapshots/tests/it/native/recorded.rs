//! Every recorded line decodes into the variant that its tag selects, and encodes to the same JSON again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use interlingua::audit::{FileReport, TypeReport, audit};
use interlingua_convert::Agent;
use interlingua_snapshots::{Recording, recordings};

use super::LEGACY_METHOD_PREFIX;
use crate::snapshots_in;

/// Every recording with its report by `interlingua audit`.
fn audit_reports() -> &'static [(Recording, FileReport)] {
    static REPORTS: LazyLock<Vec<(Recording, FileReport)>> = LazyLock::new(|| {
        let report = |recording: Recording| {
            let report = audit(&recording.name(), &mut recording.reader().unwrap(), recording.agent).unwrap();
            (recording, report)
        };
        recordings().unwrap().into_iter().map(report).collect()
    });
    &REPORTS
}

#[test]
fn every_line_fits_its_type() {
    let mut problems = Vec::new();
    let mut lines = 0;
    for (recording, report) in audit_reports() {
        // An ACP agent may have methods of its own, which the schema cannot know.
        let is_vendor_method = |row: &TypeReport| recording.agent == Agent::Acp && row.unknown_tag == row.lines;
        let of_schema = |row: &&TypeReport| !row.name.starts_with(LEGACY_METHOD_PREFIX) && !is_vendor_method(row);
        for row in report.types.iter().filter(of_schema) {
            lines += row.decoded;
            let losses = [&row.misfits, &row.missing, &row.unknown_values];
            let is_complete =
                losses.iter().all(|parts| parts.is_empty()) && row.lines == row.decoded + row.untyped + row.not_json;
            if !is_complete {
                problems.push(format!("{}: {row:?}", recording.name()));
            }
        }
    }
    println!("{lines} lines decoded");
    assert!(lines > 5000, "only {lines} lines; are recordings missing?");
    assert!(problems.is_empty(), "types whose lines do not decode completely:\n{}", problems.join("\n"));
}

/// The snapshot lists the fields that agents send and their schemas do not declare. Review changes with `cargo insta
/// review`.
#[test]
fn the_fields_that_the_schemas_do_not_declare_match_their_snapshot() {
    let mut unknown: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (recording, report) in audit_reports() {
        let types = unknown.entry(format!("{}/{}", recording.agent, recording.version)).or_default();
        for row in &report.types {
            for path in row.unknown_fields.keys() {
                let paths = types.entry(row.name.clone()).or_default();
                if !paths.contains(path) {
                    paths.push(path.clone());
                }
            }
        }
    }
    let mut list = String::new();
    for (version, types) in unknown {
        let _ = writeln!(list, "{version}");
        for (name, mut paths) in types {
            paths.sort();
            let _ = writeln!(list, "  {name}");
            for path in paths {
                let _ = writeln!(list, "    {path}");
            }
        }
    }
    snapshots_in("native").bind(|| insta::assert_snapshot!("unknown_fields", list));
}
