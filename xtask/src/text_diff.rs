//! A short unified diff of two texts.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// Number of unchanged lines around a change.
const CONTEXT_LINES: usize = 2;

/// The unified diff of `old` and `new`, truncated to `max_lines`. Empty if the texts are equal.
pub(crate) fn unified_diff(name: &str, old: &str, new: &str, max_lines: usize) -> String {
    if old == new {
        return String::new();
    }
    // A schema may be completely rewritten. After the timeout the diff gets coarser, but stays correct.
    let diff = TextDiff::configure().timeout(Duration::from_secs(5)).diff_lines(old, new);
    let mut lines = vec![format!("--- {name} (committed)"), format!("+++ {name} (pulled)")];
    let (mut added, mut removed) = (0_usize, 0_usize);
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let first = group.first().map_or(1, |op| op.old_range().start + 1);
        lines.push(format!("@@ line {first} @@"));
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => {
                    removed += 1;
                    '-'
                }
                ChangeTag::Insert => {
                    added += 1;
                    '+'
                }
                ChangeTag::Equal => ' ',
            };
            lines.push(format!("{sign}{}", change.value().trim_end_matches(['\n', '\r'])));
        }
    }
    let hidden = lines.len().saturating_sub(max_lines);
    if hidden > 0 {
        lines.truncate(max_lines);
        lines.push(format!("… {hidden} more lines ({added} lines added and {removed} removed in total)"));
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::unified_diff;

    #[test]
    fn equal_texts_have_an_empty_diff() {
        assert_eq!(unified_diff("a", "x\n", "x\n", 10), "");
    }

    #[test]
    fn a_changed_line_is_shown_with_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n";
        let new = "1\n2\n3\nfour\n5\n6\n7\n";
        assert_eq!(
            unified_diff("schema.json", old, new, 40),
            "--- schema.json (committed)\n+++ schema.json (pulled)\n@@ line 2 @@\n 2\n 3\n-4\n+four\n 5\n 6\n"
        );
    }

    #[test]
    fn a_long_diff_is_truncated_and_counted() {
        let new: Vec<_> = (0..100).map(|n| format!("{n}\n")).collect();
        let diff = unified_diff("schema.json", "", &new.concat(), 10);
        assert_eq!(diff.lines().count(), 11);
        assert!(diff.ends_with("… 93 more lines (100 lines added and 0 removed in total)\n"), "{diff}");
    }
}
