//! The difference of two texts, short enough to read.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// Lines around a change.
const CONTEXT: usize = 2;

/// The unified difference of `old` and `new`, cut after `limit` lines; empty when there is none.
pub(crate) fn bounded(name: &str, old: &str, new: &str, limit: usize) -> String {
    if old == new {
        return String::new();
    }
    // A schema can be rewritten from top to bottom; past the deadline the difference gets coarser, not wrong.
    let diff = TextDiff::configure().timeout(Duration::from_secs(5)).diff_lines(old, new);
    let mut lines = vec![format!("--- {name} (committed)"), format!("+++ {name} (pulled)")];
    let (mut added, mut removed) = (0_usize, 0_usize);
    for group in diff.grouped_ops(CONTEXT) {
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
    let hidden = lines.len().saturating_sub(limit);
    if hidden > 0 {
        lines.truncate(limit);
        lines.push(format!("… {hidden} more lines of difference (in all {added} lines added, {removed} removed)"));
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::bounded;

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(bounded("a", "x\n", "x\n", 10), "");
    }

    #[test]
    fn a_changed_line_is_shown_with_its_surroundings() {
        let old = "1\n2\n3\n4\n5\n6\n7\n";
        let new = "1\n2\n3\nfour\n5\n6\n7\n";
        assert_eq!(
            bounded("schema.json", old, new, 40),
            "--- schema.json (committed)\n+++ schema.json (pulled)\n@@ line 2 @@\n 2\n 3\n-4\n+four\n 5\n 6\n"
        );
    }

    #[test]
    fn a_long_difference_is_cut_and_counted() {
        let new: Vec<_> = (0..100).map(|n| format!("{n}\n")).collect();
        let diff = bounded("schema.json", "", &new.concat(), 10);
        assert_eq!(diff.lines().count(), 11);
        assert!(diff.ends_with("… 93 more lines of difference (in all 100 lines added, 0 removed)\n"), "{diff}");
    }
}
