//! Parses the patch format of `apply_patch`.

use interlingua_schema::{ChangeKind, FileChange};

use crate::unified_diff;

/// Changes of a patch, in order. Its hunks have no line numbers and are kept unchanged.
pub(super) fn parse_patch(text: &str) -> Vec<FileChange> {
    let mut changes = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((kind, path)) = file_header(line) else { continue };
        let mut change = FileChange::new(path);
        change.change = Some(kind.clone());
        if let Some(to) = lines.next_if(|line| line.starts_with(MOVE)).and_then(|line| line.strip_prefix(MOVE)) {
            change.change = Some(ChangeKind::Move);
            change.to = Some(to.trim().to_owned());
        }
        let mut hunks = String::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("*** ") || *line == END_OF_FILE) {
            if line != END_OF_FILE {
                hunks.push_str(line);
                hunks.push('\n');
            }
        }
        change.diff = match kind {
            ChangeKind::Create => unified_diff(path, None, Some(&added(&hunks))),
            ChangeKind::Update if !hunks.is_empty() => Some(with_hunk_header(hunks)),
            _ => None,
        };
        changes.push(change);
    }
    changes
}

const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

fn file_header(line: &str) -> Option<(ChangeKind, &str)> {
    let headers = [
        ("*** Add File: ", ChangeKind::Create),
        ("*** Update File: ", ChangeKind::Update),
        ("*** Delete File: ", ChangeKind::Delete),
    ];
    headers.into_iter().find_map(|(header, kind)| Some((kind, line.strip_prefix(header)?.trim())))
}

/// Content of an added file.
fn added(lines: &str) -> String {
    lines.lines().filter_map(|line| line.strip_prefix('+')).flat_map(|line| [line, "\n"]).collect()
}

/// Adds the `@@` that the first hunk may lack.
fn with_hunk_header(hunks: String) -> String {
    if hunks.starts_with("@@") { hunks } else { format!("@@\n{hunks}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_one_change_for_each_file() {
        let text = "*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** Update File: a.py\n*** Move to: b.py\n@@ def f():\n-    return 1\n+    return 2\n*** End of File\n*** Update File: c.py\n a\n-b\n*** Delete File: old.txt\n*** End Patch";
        let changes = parse_patch(text);
        let kinds: Vec<_> = changes.iter().map(|change| (change.path.as_str(), change.change.clone())).collect();
        assert_eq!(
            kinds,
            [
                ("new.txt", Some(ChangeKind::Create)),
                ("a.py", Some(ChangeKind::Move)),
                ("c.py", Some(ChangeKind::Update)),
                ("old.txt", Some(ChangeKind::Delete)),
            ]
        );
        assert_eq!(changes[0].diff.as_deref(), Some("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"));
        assert_eq!(changes[1].to.as_deref(), Some("b.py"));
        assert_eq!(changes[1].diff.as_deref(), Some("@@ def f():\n-    return 1\n+    return 2\n"));
        assert_eq!(changes[2].diff.as_deref(), Some("@@\n a\n-b\n"));
        assert_eq!(changes[3].diff, None);
        assert!(parse_patch("no patch").is_empty());
    }
}
