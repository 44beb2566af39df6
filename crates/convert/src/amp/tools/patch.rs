//! Patches in the `*** Begin Patch` form.

use interlingua_schema::{ChangeKind, ContentPart, FileAction, FileChange};

use crate::unified_diff;

/// One file of a patch.
#[derive(Debug, PartialEq)]
pub(super) struct PatchedFile {
    path: String,
    change: ChangeKind,
    /// Where it is moved to.
    to: Option<String>,
    /// Absent where the patch does not show what changes: a file that is deleted, or only moved.
    diff: Option<String>,
}

impl PatchedFile {
    /// What the call is to do with the file.
    pub(super) fn into_change(self) -> FileChange {
        let mut change = FileChange::new(self.path);
        change.change = Some(self.change);
        change.to = self.to;
        change.diff = self.diff;
        change
    }

    /// What became of the file. A file that was moved is where it is now.
    pub(super) fn into_part(self) -> ContentPart {
        let action = if self.change == ChangeKind::Create { FileAction::Write } else { FileAction::Patch };
        ContentPart::FileRef { path: self.to.unwrap_or(self.path), action, diff: self.diff }
    }
}

/// The files of a patch. A text that is none has no files.
pub(super) fn read(text: &str) -> Vec<PatchedFile> {
    let mut files: Vec<PatchedFile> = Vec::new();
    let mut body = String::new();
    for line in text.lines() {
        let head = [
            ("*** Add File: ", ChangeKind::Create),
            ("*** Update File: ", ChangeKind::Update),
            ("*** Delete File: ", ChangeKind::Delete),
        ];
        let begun = head.iter().find_map(|(head, change)| Some((line.strip_prefix(head)?.trim(), change.clone())));
        if let Some((path, change)) = begun {
            finish(files.last_mut(), &mut body);
            files.push(PatchedFile { path: path.to_owned(), change, to: None, diff: None });
        } else if let (Some(to), Some(file)) = (line.strip_prefix("*** Move to: "), files.last_mut()) {
            file.change = ChangeKind::Move;
            file.to = Some(to.trim().to_owned());
        } else if !line.starts_with("*** ") {
            // `*** Begin Patch`, `*** End Patch` and `*** End of File` stand outside the hunks.
            body.push_str(line);
            body.push('\n');
        }
    }
    finish(files.last_mut(), &mut body);
    files
}

/// Makes a diff of the lines that were read for a file.
fn finish(file: Option<&mut PatchedFile>, body: &mut String) {
    let body = std::mem::take(body);
    let Some(file) = file.filter(|_| !body.is_empty()) else { return };
    file.diff = match file.change {
        ChangeKind::Create => {
            let added: String =
                body.lines().filter_map(|line| line.strip_prefix('+')).flat_map(|line| [line, "\n"]).collect();
            unified_diff(&file.path, None, Some(&added))
        }
        ChangeKind::Delete => None,
        _ => Some(body),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_files() {
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Update File: b.txt\n@@ fn\n-x\n+y\n*** End of File\n*** Delete File: c.txt\n*** Update File: d.txt\n*** Move to: e.txt\n@@\n-x\n+y\n*** End Patch\n";
        let files = read(patch);
        let file = |path: &str, change, to: Option<&str>, diff: Option<&str>| PatchedFile {
            path: path.to_owned(),
            change,
            to: to.map(str::to_owned),
            diff: diff.map(str::to_owned),
        };
        assert_eq!(
            files,
            [
                file("a.txt", ChangeKind::Create, None, Some("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n")),
                file("b.txt", ChangeKind::Update, None, Some("@@ fn\n-x\n+y\n")),
                file("c.txt", ChangeKind::Delete, None, None),
                file("d.txt", ChangeKind::Move, Some("e.txt"), Some("@@\n-x\n+y\n")),
            ]
        );
        assert_eq!(read("no patch"), []);
    }
}
