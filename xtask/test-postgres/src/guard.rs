//! A process that outlives this one, and cleans up after it.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Waits for the end of its input, which the other process holds open. Then it stops Postgres, whose process id is in
/// its folder, and removes the folder.
const SCRIPT: &str = r#"
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -INT "$pid" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.2
done
kill -KILL "$pid" 2>/dev/null
rm -rf "$1"
"#;

/// The guard of a folder. It acts when the value is dropped, or this process ends.
#[derive(Debug)]
pub(crate) struct Guard {
    process: Child,
    input: Option<ChildStdin>,
}

impl Guard {
    pub(crate) fn start(folder: &Path) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh"]).arg(folder);
        // Ctrl-C in a terminal goes to the whole process group.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn()?;
        let input = process.stdin.take();
        Ok(Self { process, input })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}
