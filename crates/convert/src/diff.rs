//! Unified diffs from a file's text before and after.

use crate::paths::diff_header_path;
use similar::{Algorithm, TextDiff};

/// More lines than this on both sides together are not compared line by line.
const MOST_LINES: usize = 50_000;

/// The change of one file as a unified diff with three lines of context, under the headers `--- a/…` and `+++ b/…`.
/// `None` when nothing changed. A missing side means that the file is new or gone.
#[must_use]
pub fn unified_diff(path: &str, old: Option<&str>, new: Option<&str>) -> Option<String> {
    let (before, after) = (old.unwrap_or(""), new.unwrap_or(""));
    if before == after {
        return None;
    }
    let path = path.trim_start_matches('/');
    let from = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let to = if new.is_some() { format!("b/{path}") } else { "/dev/null".to_owned() };
    if before.lines().count() + after.lines().count() > MOST_LINES {
        return Some(replaced(&from, &to, before, after));
    }
    // Patience keeps to linear time on the long, mostly equal texts that edits are.
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(before, after);
    Some(diff.unified_diff().context_radius(3).header(&from, &to).to_string())
}

/// A diff of one file under the header that all diffs have: `--- a/<path>` and `+++ b/<path>`, relative to the session's
/// directory when the file is below it, `/dev/null` for a file that is new or gone. Whatever header it had gives way.
pub(crate) fn with_header(diff: &str, path: &str, to: Option<&str>, cwd: Option<&str>) -> String {
    let mut rest = diff;
    let (mut created, mut deleted) = (false, false);
    // A header ends where the first hunk begins; a text without one is only a header if it looks like one.
    while !rest.is_empty() && !rest.starts_with("@@") {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let is_header = [
            "--- ",
            "+++ ",
            "diff ",
            "index ",
            "Index: ",
            "===",
            "new file ",
            "deleted file ",
            "rename ",
            "similarity ",
        ]
        .iter()
        .any(|start| line.starts_with(start));
        if !is_header {
            break;
        }
        created |= line.starts_with("--- /dev/null");
        deleted |= line.starts_with("+++ /dev/null");
        rest = after;
    }
    let side = |sign: &str, path: &str, is_gone: bool| {
        if is_gone { "/dev/null".to_owned() } else { format!("{sign}/{}", diff_header_path(path, cwd)) }
    };
    let (from, to) = (side("a", path, created), side("b", to.unwrap_or(path), deleted));
    format!("--- {from}\n+++ {to}\n{rest}")
}

/// A diff that takes the whole file out and puts the new one in.
fn replaced(from: &str, to: &str, old: &str, new: &str) -> String {
    let side = |sign: &'static str, text| -> String { str::lines(text).flat_map(|line| [sign, line, "\n"]).collect() };
    let range = |text: &str| match text.lines().count() {
        0 => "0,0".to_owned(),
        lines => format!("1,{lines}"),
    };
    format!("--- {from}\n+++ {to}\n@@ -{} +{} @@\n{}{}", range(old), range(new), side("-", old), side("+", new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_a_new_file_and_no_change() {
        assert_eq!(
            unified_diff("/src/a.rs", Some("a\nb\n"), Some("a\nc\n")).unwrap(),
            "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        );
        assert_eq!(unified_diff("x", None, Some("hi\n")).unwrap(), "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+hi\n");
        assert_eq!(unified_diff("x", Some("same"), Some("same")), None);
    }

    #[test]
    fn every_diff_has_the_same_header() {
        let hunk = "@@ -1 +1 @@\n-a\n+b\n";
        for header in ["", "--- /w/src/a.rs\n+++ /w/src/a.rs\n", "Index: a.rs\n=====\n--- a.rs\told\n+++ a.rs\tnew\n"] {
            let diff = with_header(&format!("{header}{hunk}"), "/w/src/a.rs", None, Some("/w"));
            assert_eq!(diff, format!("--- a/src/a.rs\n+++ b/src/a.rs\n{hunk}"));
        }
        let created = with_header("--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+a\n", "/w/a", None, Some("/w"));
        assert_eq!(created, "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(with_header(hunk, "/etc/x", None, Some("/w")), format!("--- a/etc/x\n+++ b/etc/x\n{hunk}"));
        assert_eq!(with_header(hunk, "/w/a", Some("/w/b"), Some("/w")), format!("--- a/a\n+++ b/b\n{hunk}"));
    }

    #[test]
    fn a_huge_change_is_a_replacement() {
        let old = "x\n".repeat(MOST_LINES);
        let diff = unified_diff("x", Some(&old), Some("y\n")).unwrap();
        assert!(diff.starts_with("--- a/x\n+++ b/x\n@@ -1,50000 +1,1 @@\n-x\n"));
    }
}
