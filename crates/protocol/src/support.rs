//! Version ranges in which an agent supports something.

use semver::Version;

/// A field, method or flag that only some versions of an agent support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// Its name on the wire, such as `turn/start.collaborationMode`.
    pub name: &'static str,
    /// The first version that supports it; `None` if all older versions do.
    pub since: Option<Version>,
    /// The first version that does not support it any more; `None` if the newest does.
    pub until: Option<Version>,
    /// What proves it: a recording, or the agent's refusal.
    pub evidence: &'static str,
}

impl Support {
    /// Whether a version of the agent supports it. An unknown version counts as the newest.
    #[must_use]
    pub fn includes(&self, version: Option<&Version>) -> bool {
        let Some(version) = version else { return self.until.is_none() };
        self.since.as_ref().is_none_or(|since| version >= since)
            && self.until.as_ref().is_none_or(|until| version < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_includes_its_first_version_and_excludes_its_end() {
        let support = Support {
            name: "method.field",
            since: Some(Version::new(0, 98, 0)),
            until: Some(Version::new(0, 145, 0)),
            evidence: "",
        };
        let includes = |text: &str| support.includes(Some(&Version::parse(text).unwrap()));
        assert_eq!(["0.97.9", "0.98.0", "0.144.1", "0.145.0"].map(includes), [false, true, true, false]);
    }

    #[test]
    fn an_unknown_version_counts_as_the_newest() {
        let support = |since, until| Support { name: "flag", since, until, evidence: "" };
        assert!(support(Some(Version::new(1, 0, 0)), None).includes(None));
        assert!(!support(None, Some(Version::new(1, 0, 0))).includes(None));
    }
}
