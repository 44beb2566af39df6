//! The environment of an agent's process. It is built from a list of names, so that nothing of the server's environment
//! reaches an agent by accident, least of all the server's token.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::environment::Environment;

/// Variables that every program gets: paths, home, language, network proxies and certificates.
const COMMON_VARIABLES: [&str; 27] = [
    "ALL_PROXY",
    "COLORTERM",
    "CURL_CA_BUNDLE",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    // Settings of the stand-ins that replay a recording.
    "INTERLINGUA_REPLAY*",
    "LANG",
    "LC_*",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_*",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The `PATH` if the server has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment of an agent's process. The server's environment provides the common variables and those in
/// `inherited`; the driver sets the `fixed` ones; the session adds its variables. Later ones win.
///
/// A name in `inherited` that ends in `*` stands for all names with that prefix.
pub(crate) fn process_environment(
    inherited: &[&str],
    fixed: &[(&str, &str)],
    session: &Environment,
) -> Vec<(OsString, OsString)> {
    let from_server = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        COMMON_VARIABLES.iter().chain(inherited).any(|pattern| matches(pattern, &name))
    });
    let mut all = BTreeMap::from([("PATH".into(), DEFAULT_PATH.into())]);
    all.extend(from_server);
    all.extend(fixed.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    all.extend(session.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    all.into_iter().collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_pass_and_the_session_overrides_the_driver() {
        let session = Environment::from_iter([("SET".to_owned(), "by the session".to_owned())]);
        let all = process_environment(&["CARGO_PKG_*"], &[("SET", "by the driver"), ("ALSO", "set")], &session);
        let get = |name: &str| all.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str());
        assert_eq!((get("SET"), get("ALSO")), (Some("by the session"), Some("set")));
        assert!(get("PATH").is_some());
        // Cargo sets both for tests.
        assert_eq!(get("CARGO_PKG_NAME"), Some("interlingua-runtime"));
        assert_eq!(get("CARGO_MANIFEST_DIR"), None);
    }
}
