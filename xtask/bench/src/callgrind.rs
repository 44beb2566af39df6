//! Counting instructions: the benchmark runs itself again under callgrind, once per agent and task.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::Task;

/// Whether callgrind can be run.
pub(crate) fn is_installed() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Counts the instructions of a task: runs this program under callgrind with `--count`.
pub(crate) fn count(agent: &str, task: &str, versions: &[String]) -> Result<u64> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let profile = folder.path().join("profile");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet", "--error-exitcode=0"]);
    // Counts only inside `run_once`, whatever prefix the compiler gives to its symbol.
    command.args(["--collect-atstart=no", "--toggle-collect=*interlingua_bench*callgrind*run_once*"]);
    command.arg(format!("--callgrind-out-file={}", profile.display()));
    command.arg(std::env::current_exe()?).args(["--count", agent, task]);
    if !versions.is_empty() {
        command.arg("--versions").arg(versions.join(","));
    }
    let output = command.stdin(Stdio::null()).output().context("cannot start valgrind")?;
    if !output.status.success() {
        bail!("valgrind failed on `{task}` of {agent}:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let profile = std::fs::read_to_string(&profile).context("callgrind has written no profile")?;
    match parse_total(&profile) {
        Some(total) if total > 0 => Ok(total),
        _ => bail!("callgrind has counted no instructions of `{task}`: is the program stripped?"),
    }
}

/// Runs a task twice. Only the second run is counted, so that what is initialised once does not count.
pub(crate) fn run_counted_task(task: &mut Task) {
    (task.work)();
    run_once(&mut *task.work);
}

/// Callgrind counts while this function runs.
#[inline(never)]
fn run_once(work: &mut dyn FnMut()) {
    work();
    // Work after the call, so that it is not a jump out of this function.
    std::hint::black_box(());
}

/// The number of instructions in a profile.
fn parse_total(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("summary:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::parse_total;

    #[test]
    fn the_total_is_read_from_a_profile() {
        assert_eq!(
            parse_total("# callgrind format\nversion: 1\nevents: Ir\nsummary: 123456\n\nfn=x\n1 2\n"),
            Some(123_456)
        );
        assert_eq!(parse_total("# callgrind format\n"), None);
    }
}
