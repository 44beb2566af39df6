//! Runs a vendor's program so that the state of this machine does not affect its output.
//!
//! The program gets an environment with little more than `PATH`, a new home folder that is deleted afterwards, no
//! standard input, and the home folder as its working directory. So it does not find the user's configuration or
//! credentials.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// Deadline of a program. Longer than any of them takes on a slow machine.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Runs `program` and returns its standard output.
pub(crate) fn output<A: AsRef<OsStr>>(program: &Path, arguments: &[A]) -> Result<Vec<u8>> {
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    run(program, arguments).with_context(|| format!("running {name} failed"))
}

fn run<A: AsRef<OsStr>>(program: &Path, arguments: &[A]) -> Result<Vec<u8>> {
    let home = tempfile::tempdir().context("cannot create a temporary folder")?;
    // Files instead of pipes: some runtimes lose output that is still in a pipe when they exit.
    let stdout = tempfile::NamedTempFile::new().context("cannot create a temporary file")?;
    let stderr = tempfile::NamedTempFile::new().context("cannot create a temporary file")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().current_dir(home.path());
    for variable in ["PATH", "SystemRoot", "TMPDIR", "TEMP"] {
        if let Some(value) = std::env::var_os(variable) {
            command.env(variable, value);
        }
    }
    for variable in ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
        command.env(variable, home.path());
    }
    command.stdin(Stdio::null()).stdout(stdout.reopen()?).stderr(stderr.reopen()?);

    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{} is not installed", program.display())
        }
        Err(error) => return Err(error).context("it could not be started"),
    };
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > TIMEOUT {
            child.kill()?;
            child.wait()?;
            bail!("it did not exit within {} s and was killed", TIMEOUT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if !status.success() {
        let stderr = std::fs::read(stderr.path())?;
        bail!("{status}: {}", first_lines(&String::from_utf8_lossy(&stderr)));
    }
    Ok(std::fs::read(stdout.path())?)
}

/// The first lines of an error message. They usually contain the reason; a stack trace follows.
fn first_lines(stderr: &str) -> String {
    let lines: Vec<_> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    if lines.is_empty() { "it printed no error message".to_owned() } else { lines.join(" / ") }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_an_empty_home_and_no_other_variables() {
        let text = output(
            Path::new("/bin/sh"),
            &["-c", "test -z \"$USER$CARGO\" && test -z \"$(ls -A $HOME)\" && echo clean"],
        );
        assert_eq!(text.unwrap(), b"clean\n");
    }

    #[test]
    fn an_error_names_the_program_and_the_reason() {
        let error = output(Path::new("/bin/sh"), &["-c", "echo broken >&2; exit 3"]).unwrap_err();
        let message = format!("{error:#}");
        assert!(message.starts_with("running sh failed: exit status: 3: broken"), "{message}");
    }
}
