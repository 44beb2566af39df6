//! Damaged histories: cut off, repeated, reordered, corrupt. Reading them never fails and never breaks a rule.

use std::fs;
use std::path::{Path, PathBuf};

use interlingua_schema::Checker;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{Imported, committed, entries, import};

/// Session files with different formats.
const FILES: [&str; 4] = [
    "claude/2.1.326/subagent/home/.claude/projects/-workspace",
    "claude/1.0.80/subagent/home/.claude/projects/-workspace",
    "codex/0.169.0/new-parallel_one_denied/codex_home/sessions/2026/11/18",
    "codex/0.130.0/exec_basic/codex_home/sessions/2026/11/18",
];

/// What happens to a file.
#[derive(Clone, Debug)]
enum Damage {
    /// The file ends within a line.
    Cut(Index),
    /// A line is there twice.
    Repeat(Index),
    /// Two lines change their places.
    Swap(Index, Index),
    /// A line is lost.
    Remove(Index),
    /// A line has a byte that is not UTF-8.
    Corrupt(Index, Index),
    /// A line is of a type that no version has.
    UnknownType(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<Index>;
    prop_oneof![
        index().prop_map(Damage::Cut),
        index().prop_map(Damage::Repeat),
        (index(), index()).prop_map(|(a, b)| Damage::Swap(a, b)),
        index().prop_map(Damage::Remove),
        (index(), index()).prop_map(|(line, byte)| Damage::Corrupt(line, byte)),
        index().prop_map(Damage::UnknownType),
    ]
}

fn apply(damage: &Damage, lines: &mut Vec<Vec<u8>>) {
    if lines.is_empty() {
        return;
    }
    let count = lines.len();
    match damage {
        Damage::Cut(at) => {
            let mut bytes = lines.join(&b'\n');
            bytes.truncate(at.index(bytes.len().max(1)));
            *lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        }
        Damage::Repeat(line) => lines.push(lines[line.index(count)].clone()),
        Damage::Swap(a, b) => lines.swap(a.index(count), b.index(count)),
        Damage::Remove(line) => _ = lines.remove(line.index(count)),
        Damage::Corrupt(line, byte) => {
            let line = &mut lines[line.index(count)];
            if !line.is_empty() {
                let byte = byte.index(line.len());
                line[byte] = 0xff;
            }
        }
        Damage::UnknownType(line) => {
            lines.insert(
                line.index(count),
                br#"{"type":"of-the-future","timestamp":"2026-11-18T01:00:00.000Z"}"#.to_vec(),
            );
        }
    }
}

/// Copies a folder and damages its first session file.
fn damaged(folder: &Path, damages: &[Damage]) -> (tempfile::TempDir, PathBuf) {
    let copy = tempfile::tempdir().unwrap();
    let mut first = None;
    for path in entries(folder).into_iter().filter(|path| path.is_file()) {
        let target = copy.path().join(path.file_name().unwrap());
        fs::copy(&path, &target).unwrap();
        first.get_or_insert(target);
    }
    let file = first.unwrap();
    let mut lines: Vec<Vec<u8>> = fs::read(&file).unwrap().split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for damage in damages {
        apply(damage, &mut lines);
    }
    fs::write(&file, lines.join(&b'\n')).unwrap();
    (copy, file)
}

fn violations(imported: &Imported) -> Vec<String> {
    let mut checker = Checker::new();
    imported.events.iter().flat_map(|event| checker.push(event)).map(|violation| violation.to_string()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_is_read_and_obeys_the_rules(
        file in 0..FILES.len(),
        damages in prop::collection::vec(damage(), 1..6),
    ) {
        let (_copy, path) = damaged(&committed().join(FILES[file]), &damages);
        let imported = import(&path);
        prop_assert!(violations(&imported).is_empty(), "{:?}", violations(&imported));
    }
}

#[test]
fn a_file_that_is_cut_within_a_line_is_reported_with_its_line() {
    let folder = committed().join(FILES[0]);
    let file = entries(&folder).into_iter().find(|path| path.is_file()).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let cut = copy.path().join(file.file_name().unwrap());
    fs::write(&cut, &text[..text.rfind("\"cost-state\"").unwrap()]).unwrap();
    let imported = import(&cut);
    assert_eq!(imported.report.damaged, 1);
    let problem = imported.report.problems[0].to_string();
    assert!(problem.ends_with(":30: expected a complete line, found the end of the file"), "{problem}");
}

#[test]
fn an_unknown_line_is_unparsed_with_its_type() {
    let (_copy, path) = damaged(&committed().join(FILES[0]), &[Damage::UnknownType(some_index())]);
    let imported = import(&path);
    assert_eq!(imported.report.unparsed, 1);
    assert_eq!(imported.report.damaged, 0);
}

/// An index of some line.
fn some_index() -> Index {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    any::<Index>().new_tree(&mut runner).unwrap().current()
}

#[test]
fn a_database_of_an_unknown_schema_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.resize(4096, 0);
    fs::write(&path, bytes).unwrap();
    let imported = import(&path);
    assert_eq!((imported.events.len(), imported.report.damaged), (0, 1));
}

/// Compresses the rollout of a recorded thread into a folder.
fn compressed(folder: &Path) -> (PathBuf, PathBuf) {
    let rollout = entries(&committed().join(FILES[2])).remove(0);
    let bytes = ruzstd::encoding::compress_to_vec(
        fs::File::open(&rollout).unwrap(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let name = format!("{}.zst", rollout.file_name().unwrap().to_str().unwrap());
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    (rollout, path)
}

#[test]
fn a_compressed_rollout_gives_the_same_events() {
    let folder = tempfile::tempdir().unwrap();
    let (rollout, path) = compressed(folder.path());
    assert_eq!(import(&path).events, import(&rollout).events);
}

#[test]
fn a_corrupt_frame_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (_, path) = compressed(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    fs::write(&path, bytes).unwrap();
    let imported = import(&path);
    assert!(imported.report.damaged > 0, "{:?}", imported.report);
    assert!(violations(&imported).is_empty());
}
