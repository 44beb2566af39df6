//! `cargo xtask generate`: writes the generated files of this repository.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args as ClapArgs;
use serde_json::Value;

use crate::repository::Repository;
use crate::{atomic_write, cargo, console};

/// Write the generated files of this repository
///
/// Files are replaced atomically. The generators:
///
///   universal-schema   crates/schema/schema.json, the JSON Schema of the universal event
///   envelope-schema    crates/envelope/schema.json, the JSON Schema of the envelope
///   capabilities       docs/envelope-capabilities.md, the capabilities of the envelope
///   coverage           docs/coverage.md and crates/convert/src/coverage/proven.rs, the features that
///                      recordings prove
///   typescript         sdks/typescript/src/generated/types.ts, the types of the TypeScript SDK
#[derive(ClapArgs)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Run it after you add or replace recordings, change a converter or the event types, or add a
feature to crates/convert/src/coverage.rs. It needs no agent and no network.

Examples:
  cargo xtask generate                     write all stale files
  cargo xtask generate universal-schema    only the files of one generator
  cargo xtask generate --check             write nothing; exit 1 if a file is stale"
)]
pub(crate) struct Args {
    #[command(flatten)]
    check: CheckArg,
    /// The generators to run; default: all
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// Write which features the recordings prove for each agent; same as `generate coverage`
#[derive(ClapArgs)]
pub(crate) struct CoverageArgs {
    #[command(flatten)]
    check: CheckArg,
}

#[derive(ClapArgs, Clone, Copy)]
struct CheckArg {
    /// Write nothing; exit 1 if a file is stale
    #[arg(long)]
    check: bool,
}

/// A file with the text that its generator makes.
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

fn generate(CheckArg { check }: CheckArg, names: &[&str]) -> Result<ExitCode> {
    let repository = Repository::find()?;
    let Some(output) = cargo::capture("interlingua-snapshots", "generate", names)? else {
        return Ok(ExitCode::FAILURE);
    };
    let stale = find_stale(repository.root(), parse_files(&output)?);
    if check {
        for file in &stale {
            let GeneratedFile { generator, path, .. } = file;
            console::log(format_args!("error: {path} is stale; run `cargo xtask generate {generator}` and commit it"));
        }
        return Ok(if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let paths: Vec<_> = stale.iter().map(|file| repository.root().join(&file.path)).collect();
    atomic_write::write_files(paths.iter().zip(&stale).map(|(path, file)| (path.as_path(), file.text.as_str())))?;
    for file in &stale {
        console::log(format_args!("wrote {}", file.path));
    }
    if stale.is_empty() {
        console::log(format_args!("all generated files are up to date"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Parses the JSON that the generators print.
fn parse_files(output: &[u8]) -> Result<Vec<GeneratedFile>> {
    let files: Vec<Value> =
        serde_json::from_slice(output).context("the output of the generators is not a JSON list")?;
    let parsed = files.iter().map(|file| {
        let field = |key: &str| {
            file[key]
                .as_str()
                .map(str::to_owned)
                .with_context(|| format!("a file in the output of the generators has no `{key}`"))
        };
        Ok(GeneratedFile { generator: field("generator")?, path: field("path")?, text: field("text")? })
    });
    parsed.collect()
}

/// The files whose content on disk differs from the generated text.
fn find_stale(root: &Path, mut files: Vec<GeneratedFile>) -> Vec<GeneratedFile> {
    files.retain(|file| !std::fs::read_to_string(root.join(&file.path)).is_ok_and(|found| found == file.text));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_stale_if_it_is_missing_or_differs() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("same"), "text").unwrap();
        std::fs::write(folder.path().join("other"), "old").unwrap();
        let file = |path: &str| format!(r#"{{"generator":"g","path":"{path}","text":"text"}}"#);
        let output = format!("[{},{},{}]", file("same"), file("other"), file("missing"));
        let stale = find_stale(folder.path(), parse_files(output.as_bytes()).unwrap());
        assert_eq!(stale.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["other", "missing"]);
    }

    #[test]
    fn output_that_is_not_a_list_of_files_is_an_error() {
        assert!(parse_files(b"").is_err());
        assert!(parse_files(br#"[{"path":"a","text":"b"}]"#).is_err());
    }
}
