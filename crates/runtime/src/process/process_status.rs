//! What `/proc` says about a process.

/// The parent of a process, and when it was started. Together with its id, the start tells a process from a later one
/// that got the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessStatus {
    pub(super) parent: u32,
    /// Time of the start, in clock ticks since the machine started.
    pub(super) started: u64,
}

impl ProcessStatus {
    /// Reads the status of a process; `None` if it does not exist, or the system has no `/proc`.
    pub(super) fn read(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses `/proc/PID/stat`. The name of the program comes second, in parentheses, and may contain any characters.
    fn parse(text: &[u8]) -> Option<Self> {
        let name_end = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&text[name_end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        // Fields 4 and 22 of the line; the first of `rest` is field 3.
        let parent = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(17)?.parse().ok()?;
        Some(Self { parent, started })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_parsed_whatever_the_name_of_the_program() {
        let text = b"7 (a) R 1 (b\xff) S 42 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 123456 1 2";
        assert_eq!(ProcessStatus::parse(text), Some(ProcessStatus { parent: 42, started: 123_456 }));
        assert_eq!(ProcessStatus::parse(b"7 (a) S"), None);
        if cfg!(target_os = "linux") {
            let own = ProcessStatus::read(std::process::id()).unwrap();
            assert_eq!(own.parent, std::os::unix::process::parent_id());
        }
    }
}
