//! Where the converters handle what, and where the drivers send what.
//!
//! xtask must build while the generated types do not, so this is a text search in the source: for the Rust name of a
//! union member (`::TurnStarted`), else for its tag as a string (`"turn/started"`); for a field by its name in the files
//! that name its type. It points a person at a line; it proves nothing.

use std::path::{Path, PathBuf};

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};

use crate::repository::Repository;

/// How many places are named per question.
const NAMED: usize = 3;

/// The source of one agent's converter, or of its driver.
pub(crate) struct Arms {
    /// Path in the repository and lines.
    files: Vec<(String, Vec<String>)>,
}

impl Arms {
    /// Reads `<folder>/<agent>*.rs` and everything below a folder of that name.
    pub(crate) fn read(repository: &Repository, folders: &[PathBuf], agent: &str) -> Self {
        let mut paths = Vec::new();
        for folder in folders {
            let mut found = Vec::new();
            rust_files(folder, &mut found);
            let of_agent = |path: &PathBuf| {
                let below = path.strip_prefix(folder).unwrap_or(path);
                below.components().next().is_some_and(|first| {
                    let first = first.as_os_str().to_string_lossy();
                    let rest = first.strip_prefix(agent);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
                })
            };
            found.retain(of_agent);
            found.sort();
            paths.extend(found);
        }
        let files = paths.iter().filter_map(|path| {
            let text = std::fs::read_to_string(path).ok()?;
            Some((repository.relative(path), text.lines().map(str::to_owned).collect()))
        });
        Self { files: files.collect() }
    }

    /// Whether there is a converter at all.
    pub(crate) fn exist(&self) -> bool {
        !self.files.is_empty()
    }

    /// The places (`file:line`) that name the member `tag` of a union that may be called any of `unions`.
    ///
    /// The name with its union in front is the surest; but converters rename and shorten the union, so without one
    /// the member's name alone counts, and at last the tag as text.
    pub(crate) fn of_member(&self, unions: &[String], tag: &str) -> Vec<String> {
        let member = tag.to_upper_camel_case();
        let inner = tag.rsplit('/').next().unwrap_or(tag).to_upper_camel_case();
        let full = unions.iter().map(|union| format!("{}::{member}", union.to_upper_camel_case()));
        let short = [format!("::{member}"), format!("::{inner}"), format!("\"{tag}\"")];
        self.first(full.chain(short))
    }

    /// The places that name a type that may be called any of `names`.
    pub(crate) fn of_type(&self, names: &[String]) -> Vec<String> {
        self.first(names.iter().map(|name| name.to_upper_camel_case()))
    }

    /// The places that name the field at `path` of a type that may be called any of `types`, in the files that name the
    /// type.
    pub(crate) fn of_field(&self, types: &[String], path: &str) -> Vec<String> {
        let field = path.rsplit(['.', '>', ']', '}']).next().unwrap_or(path).to_snake_case();
        if field.is_empty() {
            return Vec::new();
        }
        let types: Vec<String> = types.iter().map(|name| name.to_upper_camel_case()).collect();
        let names_type = |lines: &[String]| lines.iter().any(|line| types.iter().any(|name| has_word(line, name)));
        let files = self.files.iter().filter(|(_, lines)| names_type(lines)).cloned().collect();
        Self { files }.search(&field)
    }

    /// What the first search finds that finds anything.
    fn first(&self, searches: impl Iterator<Item = String>) -> Vec<String> {
        let found = searches.map(|wanted| self.search(&wanted));
        found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn search(&self, wanted: &str) -> Vec<String> {
        let lines = self.files.iter().flat_map(|(file, lines)| lines.iter().zip(1..).map(move |line| (file, line)));
        lines
            .filter(|(_, (line, _))| !line.trim_start().starts_with("//") && has_word(line, wanted))
            .take(NAMED)
            .map(|(file, (_, number))| format!("{file}:{number}"))
            .collect()
    }
}

/// Whether `line` has `wanted` as whole words.
fn has_word(line: &str, wanted: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(wanted).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + wanted.len()..].chars().next();
        let joined_before = wanted.starts_with(word) && before.is_some_and(word);
        let joined_after = wanted.ends_with(word) && after.is_some_and(word);
        !joined_before && !joined_after
    })
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> (tempfile::TempDir, Repository) {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("crates/convert/src");
        std::fs::create_dir_all(source.join("codex")).unwrap();
        std::fs::create_dir_all(folder.path().join("agent-schemas")).unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        let main = "match event {\n    // N::TurnStarted is first\n    N::TurnStarted(turn) => {}\n    _ => \"turn/failed\",\n}\n";
        std::fs::write(source.join("codex.rs"), main).unwrap();
        std::fs::write(source.join("codex/items.rs"), "ThreadItem::Plan(p) => {}\nThreadItem::PlanUpdate(p) => {}\n")
            .unwrap();
        std::fs::write(source.join("codexfoo.rs"), "ThreadItem::Elsewhere => {}\n").unwrap();
        let repository = Repository::above(folder.path()).unwrap();
        (folder, repository)
    }

    #[test]
    fn an_arm_is_found_by_its_member_its_short_name_or_its_tag() {
        let (_folder, repository) = repository();
        let arms = Arms::read(&repository, &[repository.converters()], "codex");
        let found = |union: &str, tag: &str| arms.of_member(&[union.to_owned()], tag);
        assert_eq!(found("ServerNotification", "turn/started"), ["crates/convert/src/codex.rs:3"]);
        assert_eq!(found("ServerNotification", "turn/failed"), ["crates/convert/src/codex.rs:4"]);
        assert_eq!(found("ThreadItem", "plan"), ["crates/convert/src/codex/items.rs:1"]);
        assert_eq!(found("ThreadItem", "elsewhere"), [""; 0]);
    }

    #[test]
    fn a_field_is_found_where_its_type_is_named() {
        let (folder, repository) = repository();
        let protocol = folder.path().join("crates/protocol/src");
        std::fs::create_dir_all(&protocol).unwrap();
        let code = "let mut params = ThreadStartParams::new();\nparams.approval_policy = Some(policy);\n";
        std::fs::write(protocol.join("codex.rs"), code).unwrap();
        std::fs::write(protocol.join("amp.rs"), code).unwrap();
        let senders = Arms::read(&repository, &repository.senders(), "codex");
        let found = |name: &str, field: &str| senders.of_field(&[name.to_owned()], field);
        assert_eq!(found("ThreadStartParams", "approvalPolicy"), ["crates/protocol/src/codex.rs:2"]);
        assert_eq!(found("TurnStartParams", "approvalPolicy"), [""; 0]);
        assert_eq!(found("ThreadStartParams", "cwd"), [""; 0]);
    }

    #[test]
    fn an_agent_without_a_converter_has_no_arms() {
        let (_folder, repository) = repository();
        assert!(Arms::read(&repository, &[repository.converters()], "codex").exist());
        assert!(!Arms::read(&repository, &[repository.converters()], "amp").exist());
    }
}
