//! `cargo xtask generate`: the files of this repository that are made from others.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args as ClapArgs;
use serde_json::Value;

use crate::repository::Repository;
use crate::start::capture;
use crate::{say, whole_file};

/// Write the generated files of this repository
///
/// Each file is written whole or not at all. The generators:
///
///   universal-schema   crates/schema/schema.json, the JSON Schema of the universal event
///   envelope-schema    crates/envelope/schema.json, the JSON Schema of the envelope
///   capabilities       docs/envelope-capabilities.md, what the envelope is advertised for
///   coverage           docs/coverage.md and crates/convert/src/coverage/proven.rs, what the recordings prove
#[derive(ClapArgs)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Run it after adding or replacing recordings, after a change of a converter or of the event types, and
after adding a feature to crates/convert/src/coverage.rs. It needs no agent and no network.

Examples:
  cargo xtask generate                     write what is out of date
  cargo xtask generate universal-schema    only the files of one generator
  cargo xtask generate --check             write nothing; exit 1 if a file is out of date"
)]
pub(crate) struct Args {
    #[command(flatten)]
    check: Check,
    /// The generators to run; all of them if none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// Write what the recordings prove each agent can do (`generate coverage`)
#[derive(ClapArgs)]
pub(crate) struct CoverageArgs {
    #[command(flatten)]
    check: Check,
}

#[derive(ClapArgs, Clone, Copy)]
struct Check {
    /// Compare instead of writing; exit 1 if a file is out of date
    #[arg(long)]
    check: bool,
}

/// A file as its generator makes it.
struct GeneratedFile {
    generator: String,
    path: String,
    text: String,
}

/// Runs `generate`.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    generate(args.check, &names)
}

/// Runs `coverage`.
pub(crate) fn run_coverage(args: &CoverageArgs) -> Result<ExitCode> {
    generate(args.check, &["coverage"])
}

fn generate(Check { check }: Check, names: &[&str]) -> Result<ExitCode> {
    let repository = Repository::find()?;
    let Some(output) = capture("interlingua-snapshots", "generate", names)? else {
        return Ok(ExitCode::FAILURE);
    };
    let stale = find_stale(repository.root(), parse(&output)?);
    if check {
        for file in &stale {
            let GeneratedFile { generator, path, .. } = file;
            say::note(format_args!(
                "error: {path} is out of date; run `cargo xtask generate {generator}` and commit it"
            ));
        }
        return Ok(if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let paths: Vec<_> = stale.iter().map(|file| repository.root().join(&file.path)).collect();
    whole_file::write(paths.iter().zip(&stale).map(|(path, file)| (path.as_path(), file.text.as_str())))?;
    for file in &stale {
        say::note(format_args!("wrote {}", file.path));
    }
    if stale.is_empty() {
        say::note(format_args!("nothing changed"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The files that the program printed as JSON.
fn parse(output: &[u8]) -> Result<Vec<GeneratedFile>> {
    let files: Vec<Value> = serde_json::from_slice(output).context("the generators printed no JSON list")?;
    let parsed = files.iter().map(|file| {
        let text = |key: &str| file[key].as_str().map(str::to_owned).with_context(|| format!("a file has no `{key}`"));
        Ok(GeneratedFile { generator: text("generator")?, path: text("path")?, text: text("text")? })
    });
    parsed.collect()
}

/// The files that are not on disk as they should be.
fn find_stale(root: &Path, mut files: Vec<GeneratedFile>) -> Vec<GeneratedFile> {
    files.retain(|file| !std::fs::read_to_string(root.join(&file.path)).is_ok_and(|found| found == file.text));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_stale_when_it_is_missing_or_differs() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("same"), "text").unwrap();
        std::fs::write(folder.path().join("other"), "old").unwrap();
        let file = |path: &str| format!(r#"{{"generator":"g","path":"{path}","text":"text"}}"#);
        let output = format!("[{},{},{}]", file("same"), file("other"), file("missing"));
        let stale = find_stale(folder.path(), parse(output.as_bytes()).unwrap());
        assert_eq!(stale.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["other", "missing"]);
    }

    #[test]
    fn output_that_is_not_a_list_of_files_is_refused() {
        assert!(parse(b"").is_err());
        assert!(parse(br#"[{"path":"a","text":"b"}]"#).is_err());
    }
}
