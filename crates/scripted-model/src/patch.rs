//! The patch format of `apply_patch`.

use std::fmt::Write as _;

use crate::scenario::FileChange;

/// Renders a patch with these changes.
pub(crate) fn render(changes: &[FileChange]) -> String {
    let mut patch = "*** Begin Patch\n".to_owned();
    for change in changes {
        match change {
            FileChange::Add { add, content } => {
                let _ = writeln!(patch, "*** Add File: {add}");
                push_lines(&mut patch, '+', content);
            }
            FileChange::Update { update, old, new } => {
                let _ = writeln!(patch, "*** Update File: {update}\n@@");
                push_lines(&mut patch, '-', old);
                push_lines(&mut patch, '+', new);
            }
            FileChange::Delete { delete } => {
                let _ = writeln!(patch, "*** Delete File: {delete}");
            }
        }
    }
    patch + "*** End Patch"
}

fn push_lines(patch: &mut String, sign: char, text: &str) {
    for line in text.lines() {
        let _ = writeln!(patch, "{sign}{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_each_file_and_its_lines() {
        let changes = [
            FileChange::Add { add: "new.txt".to_owned(), content: "one\ntwo\n".to_owned() },
            FileChange::Update { update: "a.txt".to_owned(), old: "x\n".to_owned(), new: "y\n".to_owned() },
            FileChange::Delete { delete: "gone.txt".to_owned() },
        ];
        assert_eq!(
            render(&changes),
            "*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** Update File: a.txt\n@@\n-x\n+y\n\
             *** Delete File: gone.txt\n*** End Patch"
        );
    }
}
