//! Generated files are up to date, and `docs/adding-an-agent.md` names every file that depends on the agent.

use std::path::{Path, PathBuf};

use interlingua_snapshots::coverage::Coverage;
use interlingua_snapshots::generate::Generator;

use crate::corpus;

#[test]
fn every_generated_file_is_up_to_date() {
    let coverage = Coverage::from_corpus(corpus());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = Generator::ALL.into_iter().flat_map(|generator| generator.generate(&coverage).unwrap());
    let is_current = |path: &str, text: &str| std::fs::read_to_string(root.join(path)).is_ok_and(|found| found == text);
    let stale: Vec<&str> = files.filter(|file| !is_current(file.path, &file.text)).map(|file| file.path).collect();
    assert!(stale.is_empty(), "generated files are stale: {stale:?}; run `cargo xtask generate` and commit them");
}

/// Finds the Rust files below a folder that name the agent `Amp` outside of unit tests and comments.
fn find_agent_specific_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                find_agent_specific_files(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let is_code = |line: &&str| !line.trim_start().starts_with("//");
            if code.lines().filter(is_code).any(|line| line.contains("Agent::Amp") || line.contains("Self::Amp")) {
                files.push(path);
            }
        }
    }
}

#[test]
fn the_page_on_adding_an_agent_names_every_file_that_matches_on_the_agent() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/adding-an-agent.md")).unwrap();
    let mut files = Vec::new();
    for folder in ["crates", "snapshots", "xtask"] {
        find_agent_specific_files(&root.join(folder), &mut files);
    }
    let is_exempt = |path: &Path| {
        let name = path.display().to_string();
        name.contains("/amp/")
            || path.file_name().is_some_and(|name| name == "amp.rs")
            || name.ends_with("snapshots/tests/it/generated.rs")
            || name.contains("/crates/runtime/tests/")
            || name.contains("/crates/envelope/tests/")
            || name.contains("/crates/replay/tests/")
            || path.file_name().is_some_and(|name| name == "tests.rs")
            || name.contains("/src/play/tests")
    };
    let missing: Vec<String> = files
        .iter()
        .filter(|path| !is_exempt(path))
        .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
        .filter(|path| !page.contains(&format!("`{path}`")))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/adding-an-agent.md does not name these files, which match on the agent: {missing:?}"
    );
    let named = page.split('`').skip(1).step_by(2).filter(|word| word.contains(".rs") && !word.contains("toy"));
    let missing_files: Vec<&str> = named.filter(|path| path.contains('/') && !root.join(path).is_file()).collect();
    assert!(missing_files.is_empty(), "docs/adding-an-agent.md names files that do not exist: {missing_files:?}");
}
