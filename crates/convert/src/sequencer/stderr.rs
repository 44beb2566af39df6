//! What an agent wrote to its standard error.

use std::collections::VecDeque;

use interlingua_schema::StderrOutput;

const HEAD: usize = 20;
const TAIL: usize = 50;
/// No more than this is kept of a line.
const LONGEST: usize = 16 * 1024;

/// The first 20 and the last 50 lines.
#[derive(Debug, Default)]
pub(crate) struct Stderr {
    head: Vec<String>,
    tail: VecDeque<String>,
    total: u64,
}

impl Stderr {
    pub(crate) fn push(&mut self, line: &str) {
        let line = head(line, LONGEST);
        self.total += 1;
        if self.head.len() < HEAD {
            self.head.push(line.to_owned());
            return;
        }
        self.tail.push_back(line.to_owned());
        if self.tail.len() > TAIL {
            self.tail.pop_front();
        }
    }

    /// All of it up to 70 lines, else head and tail; `None` when nothing was written.
    pub(crate) fn output(&self) -> Option<StderrOutput> {
        if self.total == 0 {
            return None;
        }
        let truncated = self.total > (HEAD + TAIL) as u64;
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

/// As much of a text as fits into so many bytes.
pub(super) fn head(text: &str, bytes: usize) -> &str {
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
        let mut stderr = Stderr::default();
        for line in 1..=lines {
            stderr.push(&line.to_string());
        }
        stderr.output().unwrap()
    }

    #[test]
    fn seventy_lines_are_whole_and_more_are_cut() {
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
