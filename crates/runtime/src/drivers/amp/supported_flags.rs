//! The command-line flags that the installed version supports.

use std::collections::BTreeSet;

/// The flags that the installed version lists. The default is for a version whose list is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SupportedFlags(BTreeSet<String>);

impl SupportedFlags {
    /// Does not look for an editor.
    pub(super) const NO_IDE: &str = "--no-ide";
    /// Makes no sounds.
    pub(super) const NO_NOTIFICATIONS: &str = "--no-notifications";
    /// Prints reasoning.
    pub(super) const THINKING: &str = "--stream-json-thinking";
    /// Reads messages from standard input.
    pub(super) const MESSAGE_INPUT: &str = "--stream-json-input";
    /// Does not archive the thread after the first turn.
    pub(super) const NO_ARCHIVE: &str = "--no-archive-after-execute";

    /// Parses the output of `--help`.
    pub(super) fn parse(text: &str) -> Self {
        let words = text.split(|letter: char| letter.is_whitespace() || letter == ',');
        Self(words.filter(|word| word.starts_with("--")).map(str::to_owned).collect())
    }

    /// Whether the version lists a flag.
    pub(super) fn contains(&self, flag: &str) -> bool {
        self.0.contains(flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_flags_are_supported() {
        let flags = SupportedFlags::parse("Options:\n  --ide, --no-ide\n      Connect\n  --stream-json-thinking\n");
        assert!(flags.contains(SupportedFlags::NO_IDE) && flags.contains(SupportedFlags::THINKING));
        assert!(!flags.contains(SupportedFlags::MESSAGE_INPUT));
    }
}
