//! Patches in the `*** Begin Patch` form.

use interlingua_schema::{ChangeKind, ContentPart, FileAction, FileChange};

use crate::unified_diff;

/// One file of a patch.
#[derive(Debug, PartialEq)]
pub(super) struct PatchedFile {
    path: String,
    change: ChangeKind,
    /// New path of a moved file.
    to: Option<String>,
    /// `None` if the patch has no hunks for the file: it is deleted, or only moved.
    diff: Option<String>,
}

impl PatchedFile {
    /// The change for the input of the call.
    pub(super) fn into_change(self) -> FileChange {
        let mut change = FileChange::new(self.path);
        change.change = Some(self.change);
        change.to = self.to;
        change.diff = self.diff;
        change
    }

    /// The file part of the result. A moved file has its new path.
    pub(super) fn into_part(self) -> ContentPart {
        let action = if self.change == ChangeKind::Create { FileAction::Write } else { FileAction::Patch };
        ContentPart::FileRef { path: self.to.unwrap_or(self.path), action, diff: self.diff }
    }
}

/// Parses the files of a patch. Text that is not a patch has no files.
pub(super) fn parse(text: &str) -> Vec<PatchedFile> {
    let mut files: Vec<PatchedFile> = Vec::new();
    let mut body = String::new();
    for line in text.lines() {
        let headers = [
            ("*** Add File: ", ChangeKind::Create),
            ("*** Update File: ", ChangeKind::Update),
            ("*** Delete File: ", ChangeKind::Delete),
        ];
        let header =
            headers.iter().find_map(|(prefix, change)| Some((line.strip_prefix(prefix)?.trim(), change.clone())));
        if let Some((path, change)) = header {
            finish_file(files.last_mut(), &mut body);
            files.push(PatchedFile { path: path.to_owned(), change, to: None, diff: None });
        } else if let (Some(to), Some(file)) = (line.strip_prefix("*** Move to: "), files.last_mut()) {
            file.change = ChangeKind::Move;
            file.to = Some(to.trim().to_owned());
        } else if !line.starts_with("*** ") {
            // `*** Begin Patch`, `*** End Patch` and `*** End of File` are not part of a hunk.
            body.push_str(line);
            body.push('\n');
        }
    }
    finish_file(files.last_mut(), &mut body);
    files
}

/// Sets the diff of a file from the lines of its section.
fn finish_file(file: Option<&mut PatchedFile>, body: &mut String) {
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
    fn every_file_of_a_patch_is_parsed() {
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Update File: b.txt\n@@ fn\n-x\n+y\n*** End of File\n*** Delete File: c.txt\n*** Update File: d.txt\n*** Move to: e.txt\n@@\n-x\n+y\n*** End Patch\n";
        let files = parse(patch);
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
        assert_eq!(parse("no patch"), []);
    }
}
