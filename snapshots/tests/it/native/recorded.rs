//! Every recorded line decodes, into the variant its tag says, and encodes again to what it was.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use interlingua::audit::{FileReport, audit};
use interlingua_snapshots::{Recording, recordings};

use super::LEGACY;
use crate::snapshots_in;

/// Every recording with what `interlingua audit` reports of it.
fn reports() -> &'static [(Recording, FileReport)] {
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
    for (recording, report) in reports() {
        for row in report.types.iter().filter(|row| !row.name.starts_with(LEGACY)) {
            lines += row.decoded;
            let losses = [&row.misfits, &row.missing, &row.unknown_values];
            let whole =
                losses.iter().all(|parts| parts.is_empty()) && row.lines == row.decoded + row.untyped + row.not_json;
            if !whole {
                problems.push(format!("{}: {row:?}", recording.name()));
            }
        }
    }
    println!("{lines} lines decode");
    assert!(lines > 5000, "only {lines} lines: where are the recordings?");
    assert!(problems.is_empty(), "{problems:#?}");
}

/// The list of what the types do not know is the drift between an agent and its declared schema.
#[test]
fn the_fields_that_the_types_do_not_know_are_these() {
    let mut unknown: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (recording, report) in reports() {
        let of_version = unknown.entry(format!("{}/{}", recording.agent, recording.version)).or_default();
        for row in &report.types {
            for path in row.unknown_fields.keys() {
                let paths = of_version.entry(row.name.clone()).or_default();
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
