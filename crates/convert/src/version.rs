//! Versions of agents.

use semver::Version;

/// Major and minor number of a version; `None` if it is not a semantic version. Text after the version, such as
/// `(Claude Code)`, is ignored.
pub(crate) fn parse_release(version: &str) -> Option<(u64, u64)> {
    let version = Version::parse(version.split_whitespace().next()?).ok()?;
    Some((version.major, version.minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_in_order() {
        assert!(parse_release("0.98.0") < parse_release("0.130.0-alpha.2"));
        assert_eq!(parse_release("2.1.9 (Claude Code)"), Some((2, 1)));
        for none in ["", "2", "latest", "v1.2.0"] {
            assert_eq!(parse_release(none), None, "{none}");
        }
    }
}
