//! Running somebody else's program so that nothing of this machine leaks into what it prints.
//!
//! The program sees an empty environment (but for where programs are found), a fresh home that is thrown away, no
//! standard input and that home as its directory. It cannot read the user's configuration or credentials.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// Longer than any of the programs takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs `program` and returns its standard output.
pub(crate) fn output<A: AsRef<OsStr>>(program: &Path, arguments: &[A]) -> Result<Vec<u8>> {
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    run(program, arguments).with_context(|| format!("{name} did not give its schema"))
}

fn run<A: AsRef<OsStr>>(program: &Path, arguments: &[A]) -> Result<Vec<u8>> {
    let home = tempfile::tempdir().context("cannot make a temporary folder")?;
    // Files rather than pipes: some runtimes lose what is still in a pipe when they exit.
    let stdout = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
    let stderr = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().current_dir(home.path());
    for needed in ["PATH", "SystemRoot", "TMPDIR", "TEMP"] {
        if let Some(value) = std::env::var_os(needed) {
            command.env(needed, value);
        }
    }
    for place in ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
        command.env(place, home.path());
    }
    command.stdin(Stdio::null()).stdout(stdout.reopen()?).stderr(stderr.reopen()?);

    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{} is not installed", program.display())
        }
        Err(error) => return Err(error).context("it cannot be started"),
    };
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            bail!("it was stopped after {} s", LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if !status.success() {
        let said = std::fs::read(stderr.path())?;
        bail!("{status}: {}", gist(&String::from_utf8_lossy(&said)));
    }
    Ok(std::fs::read(stdout.path())?)
}

/// The first lines of a complaint: enough to know what is wrong, not a whole stack trace.
fn gist(said: &str) -> String {
    let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    if lines.is_empty() { "it said nothing".to_owned() } else { lines.join(" / ") }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_program_sees_a_fresh_home_and_no_other_variables() {
        let text = output(
            Path::new("/bin/sh"),
            &["-c", "test -z \"$USER$CARGO\" && test -z \"$(ls -A $HOME)\" && echo clean"],
        );
        assert_eq!(text.unwrap(), b"clean\n");
    }

    #[test]
    fn a_failure_says_which_program_and_why() {
        let error = output(Path::new("/bin/sh"), &["-c", "echo broken >&2; exit 3"]).unwrap_err();
        let told = format!("{error:#}");
        assert!(told.starts_with("sh did not give its schema: exit status: 3: broken"), "{told}");
    }
}
