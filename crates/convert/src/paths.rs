//! Paths: absolute in data, relative to the session's directory in titles and diff headers.

use std::borrow::Cow;

use interlingua_schema::{ContentPart, ToolInput};

use crate::diff;

/// Makes a path absolute, if the session's directory is known. `None` if the path stays as it is: it is absolute
/// already, a URI, or relative to the home directory.
pub(crate) fn absolute_path(path: &str, cwd: Option<&str>) -> Option<String> {
    let cwd = cwd.filter(|cwd| is_absolute(cwd))?;
    if path.is_empty() || is_absolute(path) || is_uri(path) || path.starts_with('~') {
        return None;
    }
    let mut steps: Vec<&str> = cwd.split('/').filter(|step| !step.is_empty()).collect();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    Some(format!("/{}", steps.join("/")))
}

/// Makes a path below the session's directory relative to it; `.` for the directory itself. Other paths stay as they
/// are.
pub(crate) fn relative_path<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let Some(cwd) = cwd.map(|cwd| cwd.trim_end_matches('/')).filter(|cwd| !cwd.is_empty()) else { return path };
    match path.strip_prefix(cwd) {
        Some("" | "/") => ".",
        Some(rest) => rest.strip_prefix('/').unwrap_or(path),
        None => path,
    }
}

fn is_absolute(path: &str) -> bool {
    let is_drive = |bytes: &[u8]| {
        bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'/' | b'\\')
    };
    path.starts_with(['/', '\\']) || is_drive(path.as_bytes())
}

/// Whether a path is a URI: `data:…`, `https://…`.
fn is_uri(path: &str) -> bool {
    path.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.len() > 1
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && (scheme == "data" || rest.starts_with("//"))
    })
}

fn make_absolute(path: &mut String, cwd: Option<&str>) {
    if let Some(absolute) = absolute_path(path, cwd) {
        *path = absolute;
    }
}

/// Makes the paths of an input absolute and the headers of its diffs uniform.
pub(crate) fn normalize_input(input: &mut ToolInput, cwd: Option<&str>) {
    match input {
        ToolInput::Command(input) => {
            if let Some(directory) = &mut input.cwd {
                make_absolute(directory, cwd);
            }
        }
        ToolInput::FileRead(input) => make_absolute(&mut input.path, cwd),
        ToolInput::FileChange(input) => {
            for change in &mut input.changes {
                make_absolute(&mut change.path, cwd);
                if let Some(to) = &mut change.to {
                    make_absolute(to, cwd);
                }
                if let Some(diff) = &mut change.diff {
                    *diff = diff::with_header(diff, &change.path, change.to.as_deref(), cwd);
                }
            }
        }
        ToolInput::Search(input) => {
            if let Some(path) = &mut input.path {
                make_absolute(path, cwd);
            }
        }
        _ => {}
    }
}

/// Makes the path of a file part absolute and the header of its diff uniform.
pub(crate) fn normalize_part(part: &mut ContentPart, cwd: Option<&str>) {
    if let ContentPart::FileRef { path, diff, .. } = part {
        make_absolute(path, cwd);
        if let Some(diff) = diff {
            *diff = diff::with_header(diff, path, None, cwd);
        }
    }
}

/// Path of a file as it appears in the header of a diff.
pub(crate) fn diff_header_path<'a>(path: &'a str, cwd: Option<&str>) -> Cow<'a, str> {
    Cow::Borrowed(relative_path(path, cwd).trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute_if_the_directory_is_known() {
        for (path, expected) in [
            ("src/a.rs", Some("/w/src/a.rs")),
            ("./a", Some("/w/a")),
            ("../b", Some("/b")),
            ("/etc/hosts", None),
            ("C:/x", None),
            ("data:text/plain,x", None),
            ("https://example.com", None),
            ("~/x", None),
            ("", None),
        ] {
            assert_eq!(absolute_path(path, Some("/w")).as_deref(), expected, "{path}");
        }
        assert_eq!(absolute_path("a", None), None);
    }

    #[test]
    fn paths_below_the_directory_become_relative() {
        assert_eq!(relative_path("/w/src/a.rs", Some("/w")), "src/a.rs");
        assert_eq!(relative_path("/w/src/a.rs", Some("/w/")), "src/a.rs");
        assert_eq!(relative_path("/work/a", Some("/w")), "/work/a");
        assert_eq!(relative_path("/w", Some("/w")), ".");
        assert_eq!(relative_path("/w/a", None), "/w/a");
    }
}
