//! Where the converters handle what.
//!
//! xtask must build while the generated types do not, so this is a text search in the converter's source: for the
//! Rust name of a union member (`::TurnStarted`), else for its tag as a string (`"turn/started"`). It points a person
//! at a line; it proves nothing.

use std::path::{Path, PathBuf};

use heck::ToUpperCamelCase as _;

use crate::repository::Repository;

/// How many places are named per question.
const NAMED: usize = 3;

/// The source of one agent's converter.
pub(crate) struct Arms {
    /// Path in the repository and lines.
    files: Vec<(String, Vec<String>)>,
}

impl Arms {
    /// Reads `crates/convert/src/<agent>*.rs` and everything below a folder of that name.
    pub(crate) fn read(repository: &Repository, agent: &str) -> Self {
        let mut paths = Vec::new();
        rust_files(&repository.converters(), &mut paths);
        let of_agent = |path: &PathBuf| {
            let below = path.strip_prefix(repository.converters()).unwrap_or(path);
            below.components().next().is_some_and(|first| {
                let first = first.as_os_str().to_string_lossy();
                let rest = first.strip_prefix(agent);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
            })
        };
        paths.retain(of_agent);
        paths.sort();
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
        let arms = Arms::read(&repository, "codex");
        let found = |union: &str, tag: &str| arms.of_member(&[union.to_owned()], tag);
        assert_eq!(found("ServerNotification", "turn/started"), ["crates/convert/src/codex.rs:3"]);
        assert_eq!(found("ServerNotification", "turn/failed"), ["crates/convert/src/codex.rs:4"]);
        assert_eq!(found("ThreadItem", "plan"), ["crates/convert/src/codex/items.rs:1"]);
        assert_eq!(found("ThreadItem", "elsewhere"), [""; 0]);
    }

    #[test]
    fn an_agent_without_a_converter_has_no_arms() {
        let (_folder, repository) = repository();
        assert!(Arms::read(&repository, "codex").exist());
        assert!(!Arms::read(&repository, "amp").exist());
    }
}
