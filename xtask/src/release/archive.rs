//! The program for one target, packed, and the checksums of a release.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::Args as ClapArgs;
use sha2::{Digest as _, Sha256};

use super::{execute, release_folder, version};
use crate::repository::Repository;
use crate::{cargo, console};

/// Files that are packed beside the program.
const DOCUMENTS: [&str; 5] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "NOTICE", "CHANGELOG.md"];

/// The shells with completion scripts, and the names under which they look for them.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "interlingua.bash"), ("zsh", "_interlingua"), ("fish", "interlingua.fish")];

#[derive(ClapArgs)]
pub(super) struct Args {
    /// The target triple, such as x86_64-unknown-linux-musl
    #[arg(long, value_name = "TRIPLE")]
    target: String,
    /// The cargo profile
    #[arg(long, default_value = "dist")]
    profile: String,
}

/// Builds the program and packs it with its manual pages and completion scripts as `interlingua-VERSION-TARGET.tar.gz`.
/// The program must run on this machine, because it writes them itself.
pub(super) fn run(repository: &Repository, args: &Args) -> Result<()> {
    let Args { target, profile } = args;
    let build = ["build", "--locked", "--package", "interlingua", "--profile", profile, "--target", target];
    execute(repository, "cargo", &build)?;
    let folder = if profile == "dev" { "debug" } else { profile };
    let program = cargo::target_folder(repository).join(target).join(folder).join("interlingua");
    pack(repository, &program, target)
}

/// Packs a program that was built.
fn pack(repository: &Repository, program: &Path, target: &str) -> Result<()> {
    let version = version::current(repository)?;
    let release = release_folder(repository)?;
    let name = format!("interlingua-{version}-{target}");
    let staging = tempfile::tempdir().context("cannot create a temporary folder")?;
    let content = staging.path().join(&name);
    std::fs::create_dir(&content).context("cannot create a temporary folder")?;
    let copy = |from: &Path, to: &Path| {
        std::fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
    };
    copy(program, &content.join("interlingua"))?;
    for document in DOCUMENTS {
        copy(&repository.root().join(document), &content.join(document))?;
    }
    write_shell_files(program, &content)?;
    let archive = release.join(format!("{name}.tar.gz"));
    let (archive_name, staging_name) = (archive.display().to_string(), staging.path().display().to_string());
    execute(repository, "tar", &["-czf", &archive_name, "-C", &staging_name, &name])?;
    console::print(format_args!("wrote {}\n", repository.relative(&archive)));
    Ok(())
}

/// Writes the manual pages to `man/man1` and the completion scripts to `completions`.
fn write_shell_files(program: &Path, folder: &Path) -> Result<()> {
    let man = folder.join("man/man1").display().to_string();
    output_of(program, &["man", &man])?;
    let completions = folder.join("completions");
    std::fs::create_dir(&completions).context("cannot create a temporary folder")?;
    for (shell, file) in COMPLETIONS {
        let script = output_of(program, &["completions", shell])?;
        std::fs::write(completions.join(file), script).with_context(|| format!("cannot write {file}"))?;
    }
    Ok(())
}

/// What the program prints.
fn output_of(program: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("cannot start {}; build it on its own platform", program.display()))?;
    ensure!(
        output.status.success(),
        "`interlingua {}` failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(output.stdout)
}

/// The SHA-256 of every file in a folder, as `sha256sum` prints them, without those of the file `except`.
pub(super) fn checksums(folder: &Path, except: &str) -> Result<String> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name != except));
    paths.sort();
    let mut sums = String::new();
    for path in paths {
        let content = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for byte in Sha256::digest(&content) {
            let _ = write!(sums, "{byte:02x}");
        }
        let _ = writeln!(sums, "  {}", path.file_name().unwrap_or_default().to_string_lossy());
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_sorted_and_leave_their_own_file_out() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("b", "abc"), ("a", ""), ("SHA256SUMS", "old")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        assert_eq!(
            checksums(folder.path(), "SHA256SUMS").unwrap(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n\
             ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n"
        );
    }
}
