//! What the installed version can be told.

use std::collections::BTreeSet;

/// The flags that an installed version lists. One that says nothing is told only what every version knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Help(BTreeSet<String>);

impl Help {
    /// It does not look for an editor.
    pub(super) const NO_IDE: &str = "--no-ide";
    /// It makes no sounds.
    pub(super) const NO_NOTIFICATIONS: &str = "--no-notifications";
    /// It shows its thoughts.
    pub(super) const THINKING: &str = "--stream-json-thinking";
    /// It reads messages from its standard input.
    pub(super) const READS_MESSAGES: &str = "--stream-json-input";
    /// The thread is not put away after its first turn.
    pub(super) const KEEPS_THREAD: &str = "--no-archive-after-execute";

    /// Reads what it prints for `--help`.
    pub(super) fn read(text: &str) -> Self {
        let words = text.split(|letter: char| letter.is_whitespace() || letter == ',');
        Self(words.filter(|word| word.starts_with("--")).map(str::to_owned).collect())
    }

    /// Whether it lists a flag.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.0.contains(flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_flags_that_are_listed_are_known() {
        let help = Help::read("Options:\n  --ide, --no-ide\n      Connect\n  --stream-json-thinking\n");
        assert!(help.has(Help::NO_IDE) && help.has(Help::THINKING));
        assert!(!help.has(Help::READS_MESSAGES));
    }
}
