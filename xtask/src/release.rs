//! `cargo xtask release`: everything that a release consists of.
//!
//! A maintainer prepares a release with one command, which moves the version, closes the changelog and makes a commit and
//! a tag. The workflow `.github/workflows/release.yml` then runs the other commands and publishes what they make.

mod archive;
mod npm;
mod sbom;
mod sdk;
mod version;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use clap::{Args as ClapArgs, Subcommand};

use self::version::Bump;
use crate::repository::Repository;
use crate::{atomic_write, console};

/// Folder below the root with everything that is published.
const RELEASE_FILES: &str = "target/release-files";
/// Name of the file with the checksums of the others.
const CHECKSUMS: &str = "SHA256SUMS";

/// Prepare a release, or make the files that are published
///
/// `cargo xtask release minor` sets the version of all packages, closes the section `Unreleased` of CHANGELOG.md, and
/// makes a commit and a tag. Pushing the tag starts the workflow that builds and publishes the release. With --dry-run,
/// it changes nothing in the repository, but writes the changed files to target/release-files/plan/, the notes, the
/// checksums and the SBOM to target/release-files/, and prints what it would do. It refuses uncommitted changes, a tag that
/// exists and a version that is not newer.
#[derive(ClapArgs)]
#[command(
    after_long_help = "\
Examples:
  cargo xtask release --dry-run                                  the next minor release
  cargo xtask release minor && git push --follow-tags
  cargo xtask release build --target x86_64-unknown-linux-musl   one archive with the program
  cargo xtask release npm                                        npm packages with the debug build of this machine
  cargo xtask release files                                      notes, SBOM and checksums of what was built

The policy for versions is in docs/releases.md.",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Option<Task>,
    /// Which part of the version grows, or the new version
    #[arg(value_name = "major|minor|patch|VERSION", required_unless_present = "dry_run")]
    bump: Option<Bump>,
    /// Change nothing in the repository; write the result to target/release-files/plan/
    #[arg(long)]
    dry_run: bool,
}

#[derive(Subcommand)]
enum Task {
    /// Build the program for a target and pack it
    Build(archive::Args),
    /// Make the npm packages: the launcher, the TypeScript SDK, and one per platform with the program
    Npm(npm::Args),
    /// Write notes, SBOM and checksums
    Files,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let repository = Repository::find()?;
    match (&args.task, &args.bump) {
        (Some(Task::Build(args)), _) => archive::run(&repository, args)?,
        (Some(Task::Npm(args)), _) => npm::run(&repository, args)?,
        (Some(Task::Files), _) => write_files(&repository, &version::current(&repository)?)?,
        (None, Some(bump)) => prepare(&repository, bump, args.dry_run)?,
        (None, None) => prepare(&repository, &Bump::Minor, args.dry_run)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder with everything that is published. Creates it.
fn release_folder(repository: &Repository) -> Result<PathBuf> {
    let folder = repository.root().join(RELEASE_FILES);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// Sets the version, closes the changelog, and makes a commit and a tag.
fn prepare(repository: &Repository, bump: &Bump, dry_run: bool) -> Result<()> {
    let old = version::current(repository)?;
    let new = bump.apply(&old)?;
    match version::check_release(repository, &old, &new) {
        Err(error) if dry_run => console::print(format_args!("the release would be refused: {error:#}\n")),
        checked => checked?,
    }
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let files = version::changed_files(repository, &old, &new, &date)?;
    let tag = format!("v{new}");
    console::print(format_args!("{old} → {new}, tag {tag}\n"));
    let root = if dry_run { release_folder(repository)?.join("plan") } else { repository.root().to_owned() };
    let paths: Vec<PathBuf> = files.iter().map(|(path, _)| root.join(path)).collect();
    atomic_write::write_files(paths.iter().zip(&files).map(|(path, (_, text))| (path.as_path(), text.as_str())))?;
    for path in &paths {
        console::print(format_args!("wrote {}\n", repository.relative(path)));
    }
    if dry_run {
        write_files(repository, &new)?;
        console::print(format_args!("would commit `release: {new}` and create the tag {tag}\n"));
        return Ok(());
    }
    let message = format!("release: {new}");
    let commit = ["commit", "--quiet", "--message", &message, "--"];
    let changed: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    execute(repository, "git", &[&commit[..], &changed].concat())?;
    execute(repository, "git", &["tag", "--annotate", &tag, "--message", &tag])?;
    console::print(format_args!("created the tag {tag}; publish it with `git push --follow-tags`\n"));
    Ok(())
}

/// Writes the notes of the release, the SBOM, and the checksums of everything in the folder.
fn write_files(repository: &Repository, version: &str) -> Result<()> {
    let folder = release_folder(repository)?;
    let notes = version::release_notes(repository, version)?;
    let sbom = sbom::render(repository, version)?;
    let sbom_path = folder.join(format!("interlingua-{version}.cdx.json"));
    let files = [(folder.join("notes.md"), notes), (sbom_path, sbom), copy_of_installer(repository, &folder)?];
    atomic_write::write_files(files.iter().map(|(path, text)| (path.as_path(), text.as_str())))?;
    let sums = archive::checksums(&folder, CHECKSUMS)?;
    atomic_write::write_files([(folder.join(CHECKSUMS).as_path(), sums.as_str())])?;
    for line in sums.lines() {
        console::print(format_args!("{line}\n"));
    }
    Ok(())
}

fn copy_of_installer(repository: &Repository, folder: &std::path::Path) -> Result<(PathBuf, String)> {
    let source = repository.root().join("packaging/install.sh");
    let text = std::fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
    Ok((folder.join("install.sh"), text))
}

/// Runs a program in the root of the repository.
fn execute(repository: &Repository, program: &str, arguments: &[&str]) -> Result<()> {
    let status = Command::new(program).args(arguments).current_dir(repository.root()).status();
    let status = status.with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("`{program} {}` failed", arguments.join(" "));
    }
    Ok(())
}
