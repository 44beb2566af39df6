//! Standard error output of an agent, bounded in size.

use std::collections::VecDeque;

use interlingua_schema::StderrOutput;

/// Number of first lines that are kept.
const HEAD_LINES: usize = 20;
/// Number of last lines that are kept.
const TAIL_LINES: usize = 50;
/// Maximum length of a kept line, in bytes.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// The first and the last lines of the output.
#[derive(Debug, Default)]
pub(crate) struct StderrBuffer {
    head: Vec<String>,
    tail: VecDeque<String>,
    total: u64,
}

impl StderrBuffer {
    pub(crate) fn push(&mut self, line: &str) {
        let line = truncate_bytes(line, MAX_LINE_BYTES);
        self.total += 1;
        if self.head.len() < HEAD_LINES {
            self.head.push(line.to_owned());
            return;
        }
        self.tail.push_back(line.to_owned());
        if self.tail.len() > TAIL_LINES {
            self.tail.pop_front();
        }
    }

    /// The whole output if it has at most 70 lines, else its head and tail; `None` if there is no output.
    pub(crate) fn output(&self) -> Option<StderrOutput> {
        if self.total == 0 {
            return None;
        }
        let truncated = self.total > (HEAD_LINES + TAIL_LINES) as u64;
        let tail = || self.tail.iter().map(String::as_str);
        let head = self.head.iter().map(String::as_str);
        let output = StderrOutput::new(truncated)
            .head(if truncated { join(head) } else { join(head.chain(tail())) })
            .tail(truncated.then(|| join(tail())))
            .total_lines(self.total);
        Some(output)
    }
}

fn join<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

/// The longest prefix of a text that has at most this number of bytes.
pub(super) fn truncate_bytes(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(lines: u64) -> StderrOutput {
        let mut stderr = StderrBuffer::default();
        for line in 1..=lines {
            stderr.push(&line.to_string());
        }
        stderr.output().unwrap()
    }

    #[test]
    fn seventy_lines_are_kept_and_more_are_truncated() {
        let whole = output(70);
        assert!(!whole.truncated);
        assert_eq!(whole.tail, None);
        assert!(whole.head.unwrap().ends_with("69\n70"));
        let cut = output(71);
        assert!(cut.truncated);
        assert_eq!(cut.total_lines, Some(71));
        assert!(cut.head.unwrap().ends_with("19\n20"));
        assert!(cut.tail.unwrap().starts_with("22\n23"));
    }
}
