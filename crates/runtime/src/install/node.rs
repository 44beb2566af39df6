//! Checks that the Node.js of this machine can run a package.

use semver::{Version, VersionReq};

/// Checks that the Node.js of this machine, of which `printed` is the version, is one that a package can use. A
/// requirement that cannot be parsed is not checked.
pub(super) fn check_node(spec: &str, required: &str, printed: Option<&str>) -> Result<(), String> {
    let remedy = format!("{spec} needs Node.js {required}");
    let Some(found) = printed.map(|text| text.trim().trim_start_matches('v')) else {
        return Err(format!("{remedy}, but there is no node on the PATH: install it"));
    };
    let Ok(version) = Version::parse(found) else { return Ok(()) };
    let ranges =
        required.split("||").map(|range| VersionReq::parse(&range.split_whitespace().collect::<Vec<_>>().join(",")));
    let Ok(ranges) = ranges.collect::<Result<Vec<_>, _>>() else { return Ok(()) };
    if ranges.iter().any(|range| range.matches(&version)) {
        return Ok(());
    }
    Err(format!("{remedy}, but node on the PATH has version {found}: install a matching one, or an older agent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_the_package_does_not_support_is_reported_with_both_versions() {
        for required in [">=22.0.0", ">=16 <18", "^18.2 || >=22"] {
            let error = check_node("a@1", required, Some("v20.20.2\n")).unwrap_err();
            assert!(error.contains(required) && error.contains("20.20.2"), "{error}");
        }
        for required in [">=16", ">=20.1.0 <21", "^18.2 || ^20", "not a range"] {
            check_node("a@1", required, Some("v20.20.2\n")).unwrap();
        }
        let error = check_node("a@1", ">=22", None).unwrap_err();
        assert!(error.contains("no node on the PATH"), "{error}");
    }
}
