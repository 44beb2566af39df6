//! Finds the lines of converters and drivers that use a type, union member or field.
//!
//! xtask must build even if the generated types do not. So this is a text search: for the Rust name of a union member
//! (`::TurnStarted`), or for its tag as a string (`"turn/started"`); for the name of a field in the files that name its
//! type. The results are hints for a reader; they prove nothing.

use std::path::{Path, PathBuf};

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};

use crate::repository::Repository;

/// Maximum number of places per search.
const MAX_PLACES: usize = 3;

/// The source files of one agent's converter or driver.
pub(crate) struct SourceSearch {
    /// Path in the repository, and the lines.
    files: Vec<(String, Vec<String>)>,
}

impl SourceSearch {
    /// Reads the Rust files of an agent in the `folders`: `<agent>.rs`, `<agent>_*.rs` and everything below `<agent>/`.
    pub(crate) fn read(repository: &Repository, folders: &[PathBuf], agent: &str) -> Self {
        let mut paths = Vec::new();
        for folder in folders {
            let mut found = Vec::new();
            collect_rust_files(folder, &mut found);
            let belongs_to_agent = |path: &PathBuf| {
                let relative = path.strip_prefix(folder).unwrap_or(path);
                relative.components().next().is_some_and(|first| {
                    let first = first.as_os_str().to_string_lossy();
                    let rest = first.strip_prefix(agent);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
                })
            };
            found.retain(belongs_to_agent);
            found.sort();
            paths.extend(found);
        }
        let files = paths.iter().filter_map(|path| {
            let text = std::fs::read_to_string(path).ok()?;
            Some((repository.relative(path), text.lines().map(str::to_owned).collect()))
        });
        Self { files: files.collect() }
    }

    /// Whether the agent has no source files.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Finds the places (`file:line`) that name the member `tag` of a union that has one of the names `unions`.
    ///
    /// `Union::Member` is the best match. But converters import unions under other names, so the next candidates are
    /// the name of the member alone, and then the tag as a string.
    pub(crate) fn find_member(&self, unions: &[String], tag: &str) -> Vec<String> {
        let member = tag.to_upper_camel_case();
        let inner = tag.rsplit('/').next().unwrap_or(tag).to_upper_camel_case();
        let full_names = unions.iter().map(|union| format!("{}::{member}", union.to_upper_camel_case()));
        let short_names = [format!("::{member}"), format!("::{inner}"), format!("\"{tag}\"")];
        self.find_first(full_names.chain(short_names))
    }

    /// Finds the places that name a type that has one of `names`.
    pub(crate) fn find_type(&self, names: &[String]) -> Vec<String> {
        self.find_first(names.iter().map(|name| name.to_upper_camel_case()))
    }

    /// Finds the places that name the field at `path` of a type that has one of the names `types`. Searches only files
    /// that name the type.
    pub(crate) fn find_field(&self, types: &[String], path: &str) -> Vec<String> {
        let field = path.rsplit(['.', '>', ']', '}']).next().unwrap_or(path).to_snake_case();
        if field.is_empty() {
            return Vec::new();
        }
        let types: Vec<String> = types.iter().map(|name| name.to_upper_camel_case()).collect();
        let names_type = |lines: &[String]| lines.iter().any(|line| types.iter().any(|name| has_word(line, name)));
        let files = self.files.iter().filter(|(_, lines)| names_type(lines)).cloned().collect();
        Self { files }.search(&field)
    }

    /// The result of the first search that finds anything.
    fn find_first(&self, searches: impl Iterator<Item = String>) -> Vec<String> {
        let found = searches.map(|text| self.search(&text));
        found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn search(&self, text: &str) -> Vec<String> {
        let lines = self.files.iter().flat_map(|(file, lines)| lines.iter().zip(1..).map(move |line| (file, line)));
        lines
            .filter(|(_, (line, _))| !line.trim_start().starts_with("//") && has_word(line, text))
            .take(MAX_PLACES)
            .map(|(file, (_, number))| format!("{file}:{number}"))
            .collect()
    }
}

/// Whether `line` contains `text` as a whole word.
fn has_word(line: &str, text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(text).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + text.len()..].chars().next();
        let joined_before = text.starts_with(is_word) && before.is_some_and(is_word);
        let joined_after = text.ends_with(is_word) && after.is_some_and(is_word);
        !joined_before && !joined_after
    })
}

fn collect_rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect_rust_files(&path, found);
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
        let repository = Repository::containing(folder.path()).unwrap();
        (folder, repository)
    }

    #[test]
    fn a_member_is_found_by_its_full_name_its_short_name_or_its_tag() {
        let (_folder, repository) = repository();
        let converter = SourceSearch::read(&repository, &[repository.converter_sources()], "codex");
        let found = |union: &str, tag: &str| converter.find_member(&[union.to_owned()], tag);
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
        let driver = SourceSearch::read(&repository, &repository.driver_sources(), "codex");
        let found = |name: &str, field: &str| driver.find_field(&[name.to_owned()], field);
        assert_eq!(found("ThreadStartParams", "approvalPolicy"), ["crates/protocol/src/codex.rs:2"]);
        assert_eq!(found("TurnStartParams", "approvalPolicy"), [""; 0]);
        assert_eq!(found("ThreadStartParams", "cwd"), [""; 0]);
    }

    #[test]
    fn an_agent_without_a_converter_has_no_source_files() {
        let (_folder, repository) = repository();
        assert!(!SourceSearch::read(&repository, &[repository.converter_sources()], "codex").is_empty());
        assert!(SourceSearch::read(&repository, &[repository.converter_sources()], "amp").is_empty());
    }
}
